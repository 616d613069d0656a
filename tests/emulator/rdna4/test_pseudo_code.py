"""Every operation of gfx1200 against the manual's pseudo-code, on special and random values; what differs is listed and explained."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import pytest
from emulator.rdna4 import pseudo_floats
from emulator.rdna4.pseudo_cases import cases, expected, result_width, shape_of
from emulator.rdna4.pseudo_code import TEXTS
from emulator.rdna4.pseudo_floats import Number

from autoclave.emulator.rdna4.arithmetic import RULES
from autoclave.emulator.rdna4.disagreements import DISAGREEMENTS, Disagreement
from autoclave.emulator.rdna4.lanewise import LANE_OPERATIONS, SCALAR_OPERATIONS

UNTOLD = {
    "v_cvt_off_f32_i4": "the text leaves its table out",
    "v_swap_b32": "it writes a source",
    "v_swap_b16": "it writes a source",
}
"""Operations that the pseudo-code cannot be compared for."""

LANES = [name for name in LANE_OPERATIONS if name in TEXTS and name not in UNTOLD and not name.startswith("v_dual_")]
SCALARS = [name for name in SCALAR_OPERATIONS if name in TEXTS]
COUNT = 24
"""Special values of each operation; half as many random ones come with them."""

Results = tuple[int, ...]


def lane_results(name: str, number: int, sources: Sequence[int]) -> tuple[Results, Results]:
    """Ours and the manual's."""
    operation, shape = LANE_OPERATIONS[name], shape_of(name)
    mask = number & 1 if shape.has_mask else 0
    signs = (bool(number & 2), bool(number & 4)) if operation.takes == "signs" else ()
    lane = number % 32
    operands = [*signs, *([lane] if operation.takes == "lane" else ()), *sources, *([mask] if shape.has_mask else ())]
    ours = operation.compute(*operands)
    state = expected(name, shape, sources, mask, signs, **({"laneId": lane} if operation.takes == "lane" else {}))
    return ours if isinstance(ours, tuple) else (ours,), _of_lane(name, state, isinstance(ours, tuple))


def _of_lane(name: str, state: dict[str, int], has_carry: bool) -> Results:
    if name.startswith("v_cmp"):
        return (state["EXEC" if name.startswith("v_cmpx") else "D0"] & 1,)
    first = state["D0"] >> 16 if name == "v_fma_mixhi_f16" else state["D0"]
    carry = (state["D1" if name.startswith("v_mad_co") else "VCC"] & 1,) if has_carry else ()
    return (first & (1 << result_width(name)) - 1, *carry)


def scalar_results(name: str, number: int, sources: Sequence[int]) -> tuple[Results, Results]:
    """The results and SCC."""
    operation, shape = SCALAR_OPERATIONS[name], shape_of(name)
    scc, exec_mask = number & 1, 0xF0F05AA5 * number & 0xFFFFFFFF
    given = [*sources, exec_mask] if operation.takes_exec else sources
    results, flag = operation.compute(scc, *given)
    state = expected(name, shape, sources, 0, (), SCC=scc, EXEC=exec_mask)
    manual = [state["D0"] & (1 << result_width(name)) - 1] if results else []
    if operation.takes_exec:
        manual.append(state["EXEC"])
    return (*results, scc if flag is None else flag), (*manual, state["SCC"])


def _form(name: str) -> str:
    return "F" + name[-2:]


def differs_by_payload(name: str, sources: Sequence[int], ours: Results, manual: Results) -> bool:
    """The same but for NaN, which are canonical here; in a word of two halves, in each of them."""
    halves = name.startswith("v_pk_") or "cvt_pk_rtz" in name
    written = re.search(r"\bD0(?:\[[^]]*\])?\.(b?f\d+)", TEXTS[name])
    if not halves and not written:
        return False
    form = "F16" if halves or not written else written[1].upper()
    width = pseudo_floats.WIDTH[form]
    parts = range(0, 32, 16) if halves else (0,)
    return ours[1:] == manual[1:] and all(
        _same_number(Number(form, ours[0] >> at & (1 << width) - 1), Number(form, manual[0] >> at & (1 << width) - 1))
        for at in parts
    )


def _same_number(ours: Number, manual: Number) -> bool:
    return ours == manual or (manual.is_nan and ours == pseudo_floats.nan(ours.form))


def _rounds_otherwise(name: str, sources: Sequence[int], ours: Results, manual: Results) -> bool:
    """By one in the last place."""
    return abs(ours[0] - manual[0]) == 1


def _is_off_by_a_half(name: str, sources: Sequence[int], ours: Results, manual: Results) -> bool:
    """Ours is the number rounded to nearest even; a NaN is canonical."""
    number = Number(_form(name), sources[0])
    return (
        ours[0] == pseudo_floats.rounded(number.form, pseudo_floats.Fraction(round(number.exact)), number.negative).bits
    )


def _rounds_up_to_one(name: str, sources: Sequence[int], ours: Results, manual: Results) -> bool:
    one = pseudo_floats.rounded(_form(name), pseudo_floats.Fraction(1)).bits
    return manual[0] == one and ours[0] == one - 1


def _is_of_a_small_number(name: str, sources: Sequence[int], ours: Results, manual: Results) -> bool:
    return Number(_form(name), sources[0]).field == 0


def _has_a_denormal(name: str, sources: Sequence[int], ours: Results, manual: Results) -> bool:
    return _is_of_a_small_number(name, sources, ours, manual) or Number("F32", manual[0]).is_denormal


def _has_a_far_power(name: str, sources: Sequence[int], ours: Results, manual: Results) -> bool:
    power = sources[1] - (sources[1] >> 15 << 16)
    return not -14 <= power <= 15


def _of_any(name: str, sources: Sequence[int], ours: Results, manual: Results) -> bool:
    return True


def _has_a_flag(name: str, sources: Sequence[int], ours: Results, manual: Results) -> bool:
    return ours != manual


def _is_of_a_lost_quotient(name: str, sources: Sequence[int], ours: Results, manual: Results) -> bool:
    return Number(_form(name), sources[0]).is_nan and Number(_form(name), ours[0]).is_infinite


Difference = Callable[[str, Sequence[int], Results, Results], bool]

EXAMPLES: dict[str, tuple[Difference, str, tuple[int, ...], Results, Results]] = {
    # What is allowed; then an operation, its sources, what it gives here, and what the pseudo-code gives.
    "payload": (differs_by_payload, "v_max_num_f32", (0xFFC00123, 0x7F800001), (0x7FC00000,), (0xFFC00123,)),
    # 1 + 2^-11 + 2^-36: the last term, lost in f32, is what makes it more than a tie.
    "mixed-half": (_rounds_otherwise, "v_fma_mixlo_f16", (0x2D800000, 0x3F800000, 0x3F801000), (0x3C01,), (0x3C00,)),
    "nearest-integral": (_is_off_by_a_half, "v_rndne_f32", (0x3EFFFFFF,), (0,), (0x3F800000,)),
    "fraction-below-one": (_rounds_up_to_one, "v_fract_f32", (0x80000001,), (0x3F7FFFFF,), (0x3F800000,)),
    "denormal-parts": (_is_of_a_small_number, "v_frexp_exp_i32_f32", (1,), (0xFFFFFF6C,), (0xFFFFFF82,)),
    "scale-of-half": (_has_a_far_power, "v_ldexp_f16", (0x0001, 24), (0x3C00,), (0x7C00,)),
    "denormal-elementary": (_has_a_denormal, "v_rcp_f32", (0x7F7FFFFF,), (0,), (0x00200000,)),
    "reciprocal-root": (_rounds_otherwise, "v_rsq_f16", (0x3C01,), (0x3BFF,), (0x3C00,)),
    # The reciprocal of 2^127 is a denormal: the denominator is scaled down.
    "division-steps": (_of_any, "v_div_scale_f32", (0x7F000000, 0x7F000000, 0x3F800000), (0x5F000000, 1), (0, 1)),
    "division-back": (_has_a_flag, "v_div_fmas_f32", (0, 0, 0x3F800000), (0x1F800000,), (0x4F800000,)),
    "division-of-numbers": (_is_of_a_lost_quotient, "v_div_fixup_f32", (0x7FC00000, 0x3F800000, 0x3F800000), (0x7F800000,), (0x7FC00000,)),
}  # fmt: skip


def explains(one: Disagreement, name: str, sources: Sequence[int], ours: Results, manual: Results) -> bool:
    """Whether a listed disagreement is of this operation and allows this difference."""
    return (not one.operations or name[2:] in one.operations) and EXAMPLES[one.name][0](name, sources, ours, manual)


@cache
def compared(name: str) -> tuple[tuple[str, ...], Counter[str]]:
    """Differences that nothing explains, and how often each listed one occurs."""
    results = lane_results if name in LANE_OPERATIONS else scalar_results
    unexplained, explained = [], Counter[str]()
    for number, sources in enumerate(cases(name, shape_of(name).widths, COUNT)):
        ours, manual = results(name, number, sources)
        if ours == manual:
            continue
        reasons = [one.name for one in DISAGREEMENTS if explains(one, name, sources, ours, manual)]
        explained.update(reasons)
        if not reasons:
            unexplained.append(f"{name} {[hex(one) for one in sources]}: {ours}, in the manual {manual}")
    return tuple(unexplained), explained


@pytest.mark.parametrize("names", [LANES[i::8] for i in range(8)] + [SCALARS[i::2] for i in range(2)])
def test_operations_do_what_the_pseudo_code_says(names: list[str]):
    assert [line for name in names for line in compared(name)[0]] == []


def test_every_operation_with_pseudo_code_is_compared():
    """But for control, indirect registers, other lanes' registers, 8-bit floats and matrices."""
    others = (
        "_movrel",
        "permlane",
        "readlane",
        "readfirst",
        "writelane",
        "swaprel",
        "fp8",
        "bf8",
        "wmma",
        "swmmac",
        "cube",
    )
    control = (
        "s_get",
        "s_set",
        "s_swap",
        "s_call",
        "s_rfe",
        "s_barrier",
        "s_version",
        "s_alloc",
        "v_trig_preop",
        "interp",
    )
    arithmetic = {
        name
        for name in TEXTS
        if name.startswith(("v_", "s_")) and not any(part in name for part in (*others, *control))
    }
    memory_and_flow = {name for name in arithmetic if TEXTS[name] and name.startswith(_SCALAR_CONTROL)}

    assert arithmetic - memory_and_flow - {*LANES, *SCALARS, *UNTOLD} - set(_duals()) == set()


_SCALAR_CONTROL = (
    "s_load", "s_buffer", "s_dcache", "s_prefetch", "s_atc", "s_branch", "s_cbranch", "s_end", "s_nop", "s_sleep", "s_wait", "s_trap",
    "s_send", "s_icache", "s_ttrace", "s_code", "s_clause", "s_delay", "s_round", "s_denorm", "s_incperf", "s_decperf", "s_singleuse",
    "s_inst",
)  # fmt: skip


def _duals() -> dict[str, str]:
    return {name: name.replace("v_dual_", "v_") for name in LANE_OPERATIONS if name.startswith("v_dual_")}


def test_operations_of_a_pair_are_those_that_stand_alone():
    assert all(LANE_OPERATIONS[name] is LANE_OPERATIONS[alone] for name, alone in _duals().items())


@pytest.mark.parametrize("one", DISAGREEMENTS, ids=lambda one: one.name)
def test_listed_disagreements_occur(one: Disagreement):
    _, name, sources, here, there = EXAMPLES[one.name]

    ours, manual = lane_results(name, 1, sources)

    assert one.rule in RULES
    assert not one.operations or name[2:] in one.operations
    assert (ours, manual) == (here, there)
    assert ours != manual

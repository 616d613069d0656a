"""Every operation of gfx1200 against the manual's pseudo-code, on special and random values; what differs is listed and explained."""

from collections.abc import Sequence
from itertools import product

import pytest
from emulator.rdna4 import declared_results
from emulator.rdna4.declared_results import Case, Results
from emulator.rdna4.pseudo_cases import cases, expected, result_width, shape_of
from emulator.rdna4.pseudo_code import TEXTS
from emulator.rdna4.pseudo_floats import BIAS, PRECISION

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
BY_NAME = {one.name: one for one in DISAGREEMENTS}


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


EXAMPLES: dict[str, tuple[str, tuple[int, ...], Results, Results]] = {
    # An operation, its sources, what it gives here, and what the pseudo-code gives.
    "payload": ("v_max_num_f32", (0xFFC00123, 0x7F800001), (0x7FC00000,), (0xFFC00123,)),
    # 1 + 2^-11 + 2^-36: the last term, lost in f32, is what makes it more than a tie.
    "mixed-half": ("v_fma_mixlo_f16", (0x2D800000, 0x3F800000, 0x3F801000), (0x3C01,), (0x3C00,)),
    "nearest-integral": ("v_rndne_f32", (0x3EFFFFFF,), (0,), (0x3F800000,)),
    "fraction-below-one": ("v_fract_f32", (0x80000001,), (0x3F7FFFFF,), (0x3F800000,)),
    "denormal-parts": ("v_frexp_exp_i32_f32", (1,), (0xFFFFFF6C,), (0xFFFFFF82,)),
    "scale-of-half": ("v_ldexp_f16", (0x0001, 24), (0x3C00,), (0x7C00,)),
    "denormal-elementary": ("v_rcp_f32", (0x7F7FFFFF,), (0,), (0x00200000,)),
    "reciprocal-root": ("v_rsq_f16", (0x3C01,), (0x3BFF,), (0x3C00,)),
    # The reciprocal of 2^127 is a denormal: the denominator is scaled down.
    "division-steps": ("v_div_scale_f32", (0x7F000000, 0x7F000000, 0x3F800000), (0x5F000000, 1), (0, 1)),
    "division-back": ("v_div_fmas_f32", (0, 0, 0x3F800000), (0x1F800000,), (0x4F800000,)),
    "division-of-numbers": ("v_div_fixup_f32", (0x7FC00000, 0x3F800000, 0x3F800000), (0x7F800000,), (0x7FC00000,)),
}  # fmt: skip


def computed(name: str, number: int, sources: tuple[int, ...]) -> tuple[Results, Results]:
    """Ours, and what is expected."""
    if name not in LANE_OPERATIONS:
        ours, manual = scalar_results(name, number, sources)
        return ours, (*declared_results.expected(Case(name, sources, 0, manual[:1])), *manual[1:])
    ours, manual = lane_results(name, number, sources)
    return ours, declared_results.expected(Case(name, sources, number & 1, manual))


def differences(name: str) -> list[str]:
    """Results that are neither the pseudo-code's nor what a listed disagreement says instead."""
    found = []
    for number, sources in enumerate(cases(name, shape_of(name).widths, COUNT)):
        ours, wanted = computed(name, number, sources)
        if ours != wanted:
            found.append(f"{name} {[hex(one) for one in sources]}: {ours}, not {wanted}")
    return found


@pytest.mark.parametrize("names", [LANES[i::8] for i in range(8)] + [SCALARS[i::2] for i in range(2)])
def test_operations_do_what_the_pseudo_code_says(names: list[str]):
    assert [line for name in names for line in differences(name)] == []


DENORMALS_AND_NEAR = (1, 0x80000001, 0x7FFFFF, 0x807FFFFF, 0x800000, 0x80800000)
RECIPROCALS_NEAR = (0x7E800000, 0x7E800001, 0xFE800001, 0x7F000000, 0xFF7FFFFF)
"""From 2^126 on: below it, one over them is a denormal."""
POWERS_NEAR = (0xC2FC0000, 0xC2FC0001, 0xC2FE0000, 0xC3150000, 0xC3158000, 0xC3160000)
"""-126, what is next to it, -127, -149, -149.5, -150."""


@pytest.mark.parametrize("name", [f"v_{name}" for name in BY_NAME["denormal-elementary"].operations])
def test_elementary_functions_have_no_denormals(name: str):
    sources = (*DENORMALS_AND_NEAR, *RECIPROCALS_NEAR, *POWERS_NEAR)
    results = {hex(source): computed(name, 0, (source,)) for source in sources}

    assert {source: both for source, both in results.items() if both[0] != both[1]} == {}


@pytest.mark.parametrize("form", ["F32", "F64"])
def test_divisions_are_scaled_as_stated_at_all_bounds_of_exponents(form: str):
    """Whose fields are those of the rule, and what is next to them; either operand is the value."""
    ends, name = declared_results.ENDS[form], f"v_div_scale_{form.lower()}"
    bounds = {0, 1, ends.tiny, ends.tiny + 1, ends.top // 2, ends.top - 2, ends.top - 1, ends.top}
    near = {bound + apart for bound in bounds for apart in (-ends.far, 1 - ends.far, 0, ends.far - 1, ends.far)}
    fields = sorted(field for field in near if 0 <= field <= ends.top)
    fraction = PRECISION[form] - 1
    wrong = []
    for d, n in product(fields, fields):
        denominator, numerator = d << fraction | 5, n << fraction | 3
        for value in (denominator, numerator):
            case = Case(name, (value, denominator, numerator), 0, ())
            if LANE_OPERATIONS[name].compute(*case.sources) != declared_results.expected(case):
                wrong.append((value, d, n))

    assert wrong == []


@pytest.mark.parametrize("form", ["F32", "F64"])
def test_sums_of_divisions_are_scaled_as_stated_to_denormals_and_beyond_all_numbers(form: str):
    name, fraction, middle = f"v_div_fmas_{form.lower()}", PRECISION[form] - 1, BIAS[form]
    top, step = declared_results.ENDS[form].top, declared_results.ENDS[form].step
    one = middle << fraction
    wrong = []
    for field in (0, 1, step - 1, step, step + 1, middle - 1, middle, middle + 1, top - step, top - step + 1, top):
        for product_field in (0, 1, fraction, step, middle, top - step):
            third, first = field << fraction | 3, product_field << fraction | 0x155
            case = Case(name, (first, one + 1, third), 1, ())
            if (LANE_OPERATIONS[name].compute(*case.sources, case.mask),) != declared_results.expected(case):
                wrong.append((product_field, field))

    assert wrong == []


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
    name, sources, here, there = EXAMPLES[one.name]

    ours, manual = lane_results(name, 1, sources)

    assert one.rule in RULES
    assert declared_results.is_of(one, name)
    assert (ours, manual) == (here, there)
    assert declared_results.STATEMENTS[one.name](Case(name, sources, 1, manual)) == here
    assert ours != manual

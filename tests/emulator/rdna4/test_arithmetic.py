"""Every rule of gfx1200's arithmetic table, by values worked out by hand."""

import random

import numpy as np
import pytest
from emulator.rdna4.arithmetic_cases import CASES, Case

from autoclave.emulator.rdna4.arithmetic import RULES
from autoclave.emulator.rdna4.arithmetic_use import rules_of
from autoclave.emulator.rdna4.encoding.table import FORMS
from autoclave.emulator.rdna4.instruction import Destination, Dpp, Instruction, Literal32, Register, Source
from autoclave.emulator.rdna4.interpreter_matrices import multiply
from autoclave.emulator.rdna4.lanewise import LANE_OPERATIONS, SCALAR_OPERATIONS
from autoclave.emulator.rdna4.lanewise.crosslane import dpp_source, dpp_writes, permute_rows, swizzled_lane
from autoclave.emulator.rdna4.lanewise.modifiers import (
    absolute,
    clamp,
    clamp_packed,
    mixed_source,
    multiply_output,
    negate,
    packed_source,
)

ELSEWHERE = {
    "float-modifiers", "clamp-float", "output-multiplier", "clamp-integer", "matrix-float", "lanes",
}  # fmt: skip
"""Rules that the tests below show."""

OF_PROGRAMS = {"half-registers", "matrix-layout", "exec", "pairs", "memory", "memory-outside", "initial-registers"}
"""Rules that are not about one lane's arithmetic: the interpreter's tests (test_interpreter_wave_*) show them."""


def results(case: Case) -> tuple[int, ...]:
    name, sources, _ = case
    if name in LANE_OPERATIONS:
        computed = LANE_OPERATIONS[name].compute(*sources)
        return computed if isinstance(computed, tuple) else (computed,)
    values, scc = SCALAR_OPERATIONS[name].compute(0, *sources)
    return values if scc is None else (*values, scc)


def instruction(name: str) -> Instruction:
    return Instruction(0, 4, name, "SOP2" if name[0] == "s" else "VOP3")


@pytest.mark.parametrize("rule", CASES)
def test_operations_that_rely_on_a_rule(rule: str):
    wrong = [(case, [hex(one) for one in results(case)]) for case in CASES[rule] if results(case) != case[2]]
    assert wrong == []


@pytest.mark.parametrize("rule", CASES)
def test_cases_rely_on_the_rule_that_they_show(rule: str):
    assert [case[0] for case in CASES[rule] if rule not in rules_of(instruction(case[0]))] == []


def test_every_rule_is_shown():
    assert {*CASES, *ELSEWHERE, *OF_PROGRAMS} == set(RULES)


def test_every_operation_relies_on_rules_of_the_table():
    for name in (*LANE_OPERATIONS, *SCALAR_OPERATIONS):
        used = rules_of(instruction(name))
        assert used and set(used) <= set(RULES), name


CONTROL = (
    "s_barrier", "s_branch", "s_call", "s_cbranch", "s_clause", "s_code_end", "s_dcache", "s_decperf", "s_delay", "s_denorm", "s_endpgm",
    "s_get", "s_icache", "s_incperf", "s_nop", "s_prefetch", "s_round_mode", "s_sendmsg", "s_set", "s_sleep", "s_swappc", "s_trap",
    "s_ttrace", "s_version", "s_wait", "s_wakeup", "s_rfe", "ds_nop", "global_inv", "global_wb", "v_nop", "v_pipeflush",
)  # fmt: skip
"""How the names of instructions begin that compute nothing."""


def test_only_control_relies_on_no_rule():
    names = {form.name for form in FORMS}
    assert {name for name in names if not rules_of(instruction(name))} == {
        name for name in names if name.startswith(CONTROL)
    }


def test_memory_relies_on_its_bounds():
    for name in {form.name for form in FORMS}:
        if name.startswith(("global_load", "flat_store", "ds_load", "s_load", "scratch_")):
            assert rules_of(instruction(name)) == ("memory", "memory-outside")
    assert {"memory-outside", "float-rounding"} <= set(rules_of(instruction("global_atomic_add_f32")))
    assert {"memory-outside", "minimum-number"} <= set(rules_of(instruction("ds_max_num_rtn_f32")))
    assert "integer" in rules_of(instruction("ds_add_rtn_u32"))


@pytest.mark.parametrize("name", ["s_nop", "s_wait_loadcnt", "s_cbranch_execz", "s_endpgm", "s_delay_alu"])
def test_control_relies_on_no_rule(name: str):
    assert rules_of(Instruction(0, 4, name, "SOPP")) == ()


def test_modifiers_and_operands_add_their_rules():
    one = Source(Register("v", 1), "f16", negated=True)
    destination = Destination(Register("v", 0), "f16")
    plain = Instruction(0, 8, "v_mul_f16", "VOP3", (destination,), (one, one), clamp=True, multiplier=1)
    dpp = Dpp(0x101, None, 15, 15, False, False)
    moved = Instruction(0, 8, "v_add_nc_u32", "VOP3", (Destination(Register("v", 0), "u32"),), clamp=True, dpp=dpp)
    half = Instruction(0, 8, "v_dual_mov_b32", "VOPD")

    assert {"half-registers", "float-modifiers", "clamp-float", "output-multiplier", "exec"} <= set(rules_of(plain))
    assert {"clamp-integer", "lanes"} <= set(rules_of(moved))
    assert "pairs" in rules_of(Instruction(0, 8, "v_dual", "VOPD", dual=(half, half)))


@pytest.mark.parametrize(
    ("name", "sources", "saturated"),
    [
        ("v_add_nc_u32", (0xFFFFFFFF, 2), 0xFFFFFFFF),
        ("v_sub_nc_u32", (1, 2), 0),
        ("v_add_nc_i16", (0x7FFF, 1), 0x7FFF),
        ("v_sub_nc_i32", (0x80000000, 1), 0x80000000),
        ("v_mad_u16", (0x100, 0x100, 1), 0xFFFF),
        ("v_mad_i32_i24", (0x7FFFFF, 0x7FFFFF, 0), 0x7FFFFFFF),
        ("v_pk_add_u16", (0xFFFF0001, 0x00010001), 0xFFFF0002),
        ("v_dot4_u32_u8", (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF),
    ],
)
def test_clamp_integer(name: str, sources: tuple[int, ...], saturated: int):
    compute = LANE_OPERATIONS[name].saturated
    assert compute is not None
    assert compute(*sources) == saturated


def test_signs_of_dot_products():
    compute = LANE_OPERATIONS["v_dot4_i32_iu8"].compute
    assert compute(False, False, 0x000000FF, 0x000000FF, 0) == 65025
    assert compute(True, False, 0x000000FF, 0x000000FF, 0) == 0x100000000 - 255
    assert compute(True, True, 0x000000FF, 0x000000FF, 0) == 1


def test_float_modifiers():
    assert negate(0x7FC00000, "f32") == 0xFFC00000
    assert absolute(0x8000, "f16") == 0
    assert negate(absolute(1 << 63, "f64"), "f64") == 1 << 63


def test_packed_sources_select_and_negate_halves():
    operand = Literal32(0x3C004000, False)
    assert packed_source(0x3C004000, Source(operand, "f16x2", high_of_second=True)) == 0x3C004000
    assert packed_source(0x3C004000, Source(operand, "f16x2", high=True)) == 0x40003C00
    assert packed_source(0x3C004000, Source(operand, "f16x2", negated=True, high_of_second=True)) == 0x3C00C000
    assert packed_source(0x3C004000, Source(operand, "f16x2", negated_second=True)) == 0xC0004000


def test_mixed_sources_widen_a_half():
    operand = Literal32(0x3C00C000, False)
    assert mixed_source(0x3C00C000, Source(operand, "f32")) == 0x3C00C000
    assert mixed_source(0x3C00C000, Source(operand, "f32", high_of_second=True)) == 0xC0000000
    assert mixed_source(0x3C00C000, Source(operand, "f32", high=True, high_of_second=True, negated=True)) == 0xBF800000
    assert mixed_source(0x3C00C000, Source(operand, "f32", high_of_second=True, negated_second=True)) == 0x40000000


@pytest.mark.parametrize(
    ("bits", "kind", "clamped"),
    [
        (0x7FC00000, "f32", 0),
        (0x80000000, "f32", 0),
        (0xBF800000, "f32", 0),
        (0x00000001, "f32", 1),
        (0x3F000000, "f32", 0x3F000000),
        (0x40000000, "f32", 0x3F800000),
        (0x7C00, "f16", 0x3C00),
        (0x7FF0000000000000, "f64", 0x3FF0000000000000),
    ],
)
def test_clamp_float(bits: int, kind: str, clamped: int):
    assert clamp(bits, kind) == clamped


def test_clamp_of_two_halves():
    assert clamp_packed(0x4000BC00) == 0x3C000000


@pytest.mark.parametrize(
    ("bits", "multiplier", "scaled"),
    [
        (0x3F800000, 0, 0x3F800000),
        (0x3F800000, 1, 0x40000000),
        (0xBF800000, 2, 0xC0800000),
        (0x3F800000, 3, 0x3F000000),
        (0x7F000000, 1, 0x7F800000),
        (0xFE800000, 2, 0xFF800000),
        (0x80800000, 3, 0x80000000),
        (0x80000000, 1, 0),
        (0x807FFFFF, 2, 0),
        (0x7FC00000, 1, 0x7FC00000),
        (0xFF800000, 3, 0xFF800000),
    ],
)
def test_output_multiplier(bits: int, multiplier: int, scaled: int):
    assert multiply_output(bits, "f32", multiplier) == scaled


def dpp(control: int, **fields: int) -> Dpp:
    return Dpp(control, None, fields.get("row_mask", 15), fields.get("bank_mask", 15), False, False)


@pytest.mark.parametrize(
    ("control", "lane", "source"),
    [
        (0b00_01_10_11, 4, 7),
        (0x101, 14, 15),
        (0x101, 15, None),
        (0x111, 16, None),
        (0x111, 17, 16),
        (0x121, 16, 31),
        (0x140, 3, 12),
        (0x141, 3, 4),
        (0x153, 20, 19),
        (0x161, 20, 21),
    ],
)
def test_lanes_that_dpp_names(control: int, lane: int, source: int | None):
    assert dpp_source(dpp(control), lane) == source


def test_dpp_masks_and_selectors():
    assert [lane for lane in range(32) if dpp_writes(dpp(0, row_mask=2, bank_mask=1), lane)] == [16, 17, 18, 19]
    assert dpp_source(Dpp(0, (7, 6, 5, 4, 3, 2, 1, 0), 15, 15, False, False), 9) == 14
    with pytest.raises(ValueError, match="0x142"):
        dpp_source(dpp(0x142), 0)


def test_permutations_of_rows_and_swizzles():
    lanes = list(range(32))
    assert permute_rows(lanes, 0x00000001, 0, crossed=False)[:2] == [1, 0]
    assert permute_rows(lanes, 0x00000001, 0, crossed=True)[:2] == [17, 16]
    assert swizzled_lane(0x8000 | 0b00_01_10_11, 4) == 7
    assert swizzled_lane(0x1F | 1 << 10, 6) == 7
    assert swizzled_lane(0xC000 | 1 << 5, 31) == 0
    assert swizzled_lane(0xE000, 1) == 16


def test_matrix_float():
    """1 and 15 products of 2^-25: behind the 1 each is less than half a unit, and lost; before it, they make four units."""
    a, b, zero = (np.zeros((16, 16), np.float32) for _ in range(3))
    a[0], b[:, 0] = 2.0**-12, 2.0**-13
    a[0, 0] = b[0, 0] = 1

    assert multiply(a, b, zero)[0, 0] == 1
    assert multiply(a[:, ::-1], b[::-1], zero)[0, 0] == 1 + 2.0**-21


def divided(form: str, numerator: int, denominator: int) -> int:
    """A quotient by the steps that LLVM makes of a division."""
    operation = {
        name: LANE_OPERATIONS[f"v_{name}_{form}"].compute
        for name in ("div_scale", "rcp", "fma", "mul", "div_fmas", "div_fixup")
    }
    sign, one = (1 << 31, 0x3F800000) if form == "f32" else (1 << 63, 0x3FF0000000000000)
    d, _ = operation["div_scale"](denominator, denominator, numerator)
    n, flag = operation["div_scale"](numerator, denominator, numerator)
    estimate = operation["rcp"](d)
    for _ in range(1 if form == "f32" else 2):
        error = operation["fma"](d ^ sign, estimate, one)
        estimate = operation["fma"](error, estimate, estimate)
    quotient = operation["mul"](n, estimate)
    rest = operation["fma"](d ^ sign, quotient, n)
    if form == "f32":
        quotient = operation["fma"](rest, estimate, quotient)
        rest = operation["fma"](d ^ sign, quotient, n)
    return operation["div_fixup"](operation["div_fmas"](rest, estimate, quotient, flag), denominator, numerator)


@pytest.mark.parametrize("form", ["f32", "f64"])
def test_divisions_by_the_steps_are_exact(form: str):
    unsigned, floating = (np.uint32, np.float32) if form == "f32" else (np.uint64, np.float64)
    chosen = random.Random(form)
    width = 32 if form == "f32" else 64
    patterns = [chosen.getrandbits(width) for _ in range(1500)]
    patterns += [chosen.getrandbits(width) & 0x807FFFFF << width - 32 for _ in range(500)]
    chosen.shuffle(patterns)
    pairs = np.array(patterns, unsigned).reshape(-1, 2)
    with np.errstate(all="ignore"):
        quotients = (pairs[:, 0].copy().view(floating) / pairs[:, 1].copy().view(floating)).view(unsigned)

    wrong = [
        (hex(n), hex(d))
        for (n, d), quotient in zip(pairs.tolist(), quotients.tolist(), strict=True)
        if divided(form, n, d) != (quotient if quotient == quotient and not _is_nan(quotient, width) else _nan(width))
    ]
    assert wrong == []


def _is_nan(bits: int, width: int) -> bool:
    return bits & (1 << width - 1) - 1 > (0x7F800000 if width == 32 else 0x7FF0000000000000)


def _nan(width: int) -> int:
    return 0x7FC00000 if width == 32 else 0x7FF8000000000000

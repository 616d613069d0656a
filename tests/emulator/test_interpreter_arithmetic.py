"""Arithmetic of the interpreter, with values worked out by hand."""

import pytest
from emulator.a630_programs import ins, mov, results

from autoclave.emulator.a630.instruction import Immediate
from autoclave.errors import UnknownInstruction

ONE, TWO, THREE, MINUS_ONE, HALF = 0x3F800000, 0x40000000, 0x40400000, 0xBF800000, 0x3F000000
NAN, INFINITY, LARGEST, SMALLEST_NORMAL, DENORMAL = 0x7FC00000, 0x7F800000, 0x7F7FFFFF, 0x00800000, 0x00400000
HALF_ONE, HALF_TWO, HALF_LARGEST, HALF_INFINITY = 0x3C00, 0x4000, 0x7BFF, 0x7C00
SIGN = 0x80000000


def full(name: str, *operands: int, **fields: object) -> int:
    """The result of an instruction on full registers that hold `operands`."""
    registers = ("r1.x", "r2.x", "r3.x")[: len(operands)]
    setup = [mov(register, value) for register, value in zip(registers, operands, strict=True)]
    return results([*setup, ins(name, "r4.x", *registers, **fields)], "r4.x")[0]


def half(name: str, *operands: int, to: str = "hr4.x", **fields: object) -> int:
    """The result of an instruction on half registers that hold `operands`."""
    registers = ("hr1.x", "hr2.x", "hr3.x")[: len(operands)]
    setup = [
        ins("mov", register, f"h{value:#x}", source_type="u16", type="u16")
        for register, value in zip(registers, operands, strict=True)
    ]
    return results([*setup, ins(name, to, *registers, **fields)], to)[0]


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("add.f", (ONE, TWO), THREE),
        ("add.f", (DENORMAL, DENORMAL), 0),  # each is flushed before the addition
        ("add.f", (INFINITY, INFINITY | SIGN), NAN),
        ("mul.f", (SMALLEST_NORMAL, HALF), 0),  # 2^-127 is flushed
        ("mul.f", (SMALLEST_NORMAL, HALF | SIGN), SIGN),
        ("mul.f", (LARGEST, TWO), INFINITY),
        ("max.f", (NAN, MINUS_ONE), MINUS_ONE),
        ("max.f", (SIGN, 0), 0),
        ("min.f", (SIGN, 0), SIGN),
        ("sign.f", (0xC0490FDB,), MINUS_ONE),
        ("floor.f", (0xBFC00000,), 0xC0000000),  # -1.5
        ("ceil.f", (0xBFC00000,), MINUS_ONE),
        ("trunc.f", (0xBFC00000,), MINUS_ONE),
        ("rndne.f", (0x40200000,), TWO),  # 2.5
        # (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 is rounded to 1 + 2^-11 first; fused, the sum would be 2^-11 + 2^-24.
        ("mad.f32", (0x3F800800, 0x3F800800, MINUS_ONE), 0x3A000000),
        ("sel.f32", (ONE, SIGN, TWO), ONE),  # -0 >= 0
        ("sel.f32", (ONE, NAN, TWO), TWO),
        ("rcp", (TWO,), HALF),
        ("rsq", (0x40800000,), HALF),
        ("sqrt", (0x40800000,), TWO),
        ("sqrt", (MINUS_ONE,), NAN),
        ("exp2", (THREE,), 0x41000000),
        ("log2", (0x41000000,), THREE),
        ("sin", (0,), 0),
        ("cos", (0,), ONE),
        ("add.u", (0xFFFFFFFF, 2), 1),
        ("sub.u", (1, 2), 0xFFFFFFFF),
        ("min.u", (1, 0xFFFFFFFF), 1),
        ("min.s", (1, 0xFFFFFFFF), 0xFFFFFFFF),
        ("max.u", (1, 0xFFFFFFFF), 0xFFFFFFFF),
        ("max.s", (1, 0xFFFFFFFF), 1),
        ("mull.u", (0x1FFFF, 0x30003), 0xFFFF * 3),
        ("madsh.m16", (0x1FFFF, 0x20001, 5), (0xFFFF * 2 << 16) + 5 & 0xFFFFFFFF),
        ("mul.u24", (0x1000003, 0x1000005), 15),
        ("mul.s24", (0xFFFFFF, 7), 0xFFFFFFF9),  # -1 in 24 bits
        ("mad.s24", (0xFFFFFF, 7, 10), 3),
        ("shl.b", (1, 33), 2),
        ("shr.b", (SIGN, 31), 1),
        ("ashr.b", (SIGN, 31), 0xFFFFFFFF),
        ("and.b", (0b1100, 0b1010), 0b1000),
        ("or.b", (0b1100, 0b1010), 0b1110),
        ("xor.b", (0b1100, 0b1010), 0b0110),
        ("not.b", (0,), 0xFFFFFFFF),
        ("bfrev.b", (1,), SIGN),
        ("cbits.b", (0xFF0000FF,), 16),
        ("clz.b", (1,), 31),
        ("clz.b", (0,), 0xFFFFFFFF),
        ("clz.s", (0xFFFFFFFE,), 31),
        ("getbit.b", (0b100, 2), 1),
        ("sel.b32", (7, 1, 9), 7),
        ("sel.b32", (7, 0, 9), 9),
        ("sel.s32", (7, 0xFFFFFFFF, 9), 9),
        ("sad.s32", (7, 0xFFFFFFFF, 9), 15),
        ("shrm", (4, 0xABC, 0xF), 0xB),
        ("shlm", (4, 0xABC, 0xF0), 0xC0),
        ("shrg", (4, 0xABC, 0xF000), 0xF0AB),
        ("shlg", (4, 0xABC, 0xF), 0xABCF),
        ("andg", (0b1100, 0b1010, 1), 0b1001),
    ],
)
def test_full_registers(name: str, operands: tuple[int, ...], expected: int) -> None:
    assert full(name, *operands) == expected


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("add.f", (HALF_ONE, HALF_ONE), HALF_TWO),
        ("mul.f", (HALF_LARGEST, HALF_TWO), HALF_INFINITY),  # half operations round to nearest
        ("mul.f", (0x0400, 0x3800), 0),  # 2^-15 is flushed
        ("mad.f16", (HALF_TWO, HALF_TWO, HALF_ONE), 0x4500),
        ("rcp", (0x4200,), 0x3555),  # 1/3, toward zero
        ("hexp2", (HALF_ONE,), HALF_TWO),
        ("add.u", (0xFFFF, 2), 1),
        ("ashr.b", (0x8000, 15), 0xFFFF),
        ("sel.b16", (7, 1, 9), 7),
        ("clz.b", (1,), 15),
    ],
)
def test_half_registers(name: str, operands: tuple[int, ...], expected: int) -> None:
    assert half(name, *operands) == expected


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("add.f", (HALF_ONE, HALF_TWO), THREE),
        ("add.u", (0xFFFF, 2), 1),
        ("add.s", (0xFFFE, 1), 0xFFFFFFFF),
        ("mull.u", (0xFFFF, 0xFFFF), 0xFFFE0001),
        ("sel.s16", (0xFFFE, 0, 1), 0xFFFFFFFE),
    ],
)
def test_half_sources_to_a_full_register(name: str, operands: tuple[int, ...], expected: int) -> None:
    assert half(name, *operands, to="r4.x") == expected


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("mul.f", (0x477FF000, ONE), HALF_LARGEST),  # 65520 toward zero
        ("mul.f", (0x7F000000, ONE), HALF_LARGEST),
        ("mul.f", (0x33800000, ONE), 0),  # 2^-24 is a denormal
        ("add.u", (0x12345, 1), 0x2346),
    ],
)
def test_full_sources_to_a_half_register(name: str, operands: tuple[int, int], expected: int) -> None:
    setup = [mov("r1.x", operands[0]), mov("r2.x", operands[1])]
    assert results([*setup, ins(name, "hr4.x", "r1.x", "r2.x")], "hr4.x") == [expected]


@pytest.mark.parametrize(
    ("condition", "less", "equal", "more", "unordered"),
    [
        ("lt", 1, 0, 0, 0),
        ("le", 1, 1, 0, 0),
        ("gt", 0, 0, 1, 0),
        ("ge", 0, 1, 1, 0),
        ("eq", 0, 1, 0, 0),
        ("ne", 1, 0, 1, 1),
    ],
)
def test_float_comparisons(condition: str, less: int, equal: int, more: int, unordered: int) -> None:
    pairs = [(ONE, TWO), (SIGN, 0), (TWO, ONE), (NAN, ONE)]
    assert [full("cmps.f", *pair, condition=condition) for pair in pairs] == [less, equal, more, unordered]


def test_comparisons_of_integers_know_signs_and_cmpv_gives_all_ones() -> None:
    assert full("cmps.u", 1, 0xFFFFFFFF, condition="lt") == 1
    assert full("cmps.s", 1, 0xFFFFFFFF, condition="lt") == 0
    assert full("cmpv.u", 1, 2, condition="lt") == 0xFFFFFFFF


def test_saturation_of_floats_and_integers() -> None:
    assert full("add.f", ONE, ONE, saturate=True) == ONE
    assert full("add.f", MINUS_ONE, 0, saturate=True) == 0
    assert full("add.u", 0xFFFFFFFF, 1, saturate=True) == 0xFFFFFFFF
    assert full("sub.u", 1, 2, saturate=True) == 0
    assert full("add.s", 0x7FFFFFFF, 1, saturate=True) == 0x7FFFFFFF


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("add.f", "(neg)r1.x", 0xC0000000),
        ("add.f", "(neg)(abs)r1.x", 0xC0000000),
        ("and.b", "(neg)r1.x", 0xBFFFFFFF),
    ],
)
def test_source_modifiers(name: str, source: str, expected: int) -> None:
    second = mov("r2.x", 0 if name == "add.f" else 0xFFFFFFFF)
    assert results([mov("r1.x", TWO), second, ins(name, "r4.x", source, "r2.x")], "r4.x") == [expected]


def test_absneg_takes_magnitude_before_sign() -> None:
    assert results([mov("r1.x", 5), ins("absneg.s", "r4.x", "(neg)(abs)r1.x")], "r4.x") == [0xFFFFFFFB]


@pytest.mark.parametrize(
    ("source_type", "type_", "bits", "expected"),
    [
        ("f16", "f32", 0x3555, 0x3EAAA000),
        ("f16", "f32", 0x0001, 0x33800000),  # cov keeps denormals
        ("f32", "f16", 0x3F801FFF, 0x3C00),  # toward zero
        ("f32", "f16", 0x7F000000, HALF_LARGEST),
        ("f32", "s32", 0xC0200000, 0xFFFFFFFE),  # -2.5
        ("f32", "u32", MINUS_ONE, 0),
        ("f32", "s32", NAN, 0),
        ("f32", "u8", 0x43960000, 0xFF),  # 300
        ("s32", "f32", 0xFFFFFFFF, MINUS_ONE),
        ("u32", "f32", 0xFFFFFFFF, 0x4F7FFFFF),  # toward zero
        ("u16", "s32", 0xFFFF, 0xFFFF),
        ("s16", "s32", 0xFFFF, 0xFFFFFFFF),
        ("u8", "u32", 0x80, 0xFFFFFF80),  # bytes are signed to cov
        ("u32", "u16", 0x12345, 0x2345),
        ("u16", "f16", 3, 0x4200),
    ],
)
def test_conversions(source_type: str, type_: str, bits: int, expected: int) -> None:
    narrow = ("f16", "u16", "s16", "u8")
    origin, target = ("hr1.x" if source_type in narrow else "r1.x"), ("hr2.x" if type_ in narrow else "r2.x")
    value = f"h{bits:#x}" if source_type in narrow else bits
    kind = "u16" if source_type in narrow else "u32"
    setup = ins("mov", origin, value, source_type=kind, type=kind)
    assert results([setup, ins("cov", target, origin, source_type=source_type, type=type_)], target) == [expected]


@pytest.mark.parametrize(
    ("rounding", "above", "below"),
    [("even", 0x3C01, 0xBC01), ("positive", 0x3C01, 0xBC00), ("negative", 0x3C00, 0xBC01)],
)
def test_roundings_of_cov(rounding: str, above: int, below: int) -> None:
    program = [mov("r1.x", 0x3F801FFF), mov("r1.y", 0xBF801FFF)]  # 1 and nearly 1 ulp of f16 more
    program += [
        ins("cov", f"hr2.{part}", f"r1.{part}", source_type="f32", type="f16", rounding=rounding) for part in "xy"
    ]
    assert results(program, "hr2.x", "hr2.y") == [above, below]


def test_saturated_comparison_is_inverted() -> None:
    assert full("cmps.f", ONE, TWO, condition="lt", saturate=True) == 0
    assert full("cmpv.u", 2, 1, condition="lt", saturate=True) == 0xFFFFFFFF


def test_mad_u16_with_a_full_destination_reads_full_registers() -> None:
    setup = [mov("r1.x", 0x20003), mov("r2.x", 0x10005), mov("r3.x", 0x70000)]
    assert results([*setup, ins("mad.u16", "r4.x", "hr1.x", "hr2.x", "hr3.x")], "r4.x") == [0x7000F]


def test_swz_swaps_two_registers() -> None:
    swap = ins("swz", ("r1.x", "r1.y"), "r1.y", "r1.x", source_type="u32", type="u32")
    assert results([mov("r1.x", 5), mov("r1.y", 7), swap], "r1.x", "r1.y") == [7, 5]


def test_gat_and_sct_move_four_registers() -> None:
    setup = [mov(register, value) for register, value in (("r1.x", 3), ("r2.y", 5), ("r3.z", 7), ("r5.w", 9))]
    gather = ins("gat", "r10.x", "r1.x", "r2.y", "r3.z", "r5.w", source_type="u32", type="u32")
    scatter = ins("sct", ("r11.w", "r12.x", "r13.y", "r14.z"), "r10.x", source_type="u32", type="u32")
    expected = [3, 5, 7, 9]
    assert results([*setup, gather], "r10.x", "r10.y", "r10.z", "r10.w") == expected
    assert results([*setup, gather, scatter], "r11.w", "r12.x", "r13.y", "r14.z") == expected


def test_repetitions_step_destination_and_marked_sources() -> None:
    setup = [mov("r1.x", 1), mov("r1.y", 2), mov("r1.z", 3), mov("r2.x", 10)]
    repeated = ins("add.u", "r4.x", "(r)r1.x", "r2.x", repeat=2)
    assert results([*setup, repeated], "r4.x", "r4.y", "r4.z") == [11, 12, 13]


def test_a_repetition_sees_what_the_one_before_wrote() -> None:
    running_sum = ins("add.u", "r1.y", "(r)r1.x", "(r)r2.x", repeat=2)
    setup = [mov("r1.x", 1), mov("r2.x", 10), mov("r2.y", 20), mov("r2.z", 30)]
    assert results([*setup, running_sum], "r1.y", "r1.z", "r1.w") == [11, 31, 61]


def test_registers_and_constants_relative_to_a0() -> None:
    setup = [
        ins("mov", "hr0.y", "h4", source_type="u16", type="u16"),
        ins("mova", "a0.x", "hr0.y", source_type="s16", type="s16"),
        mov("r2.x", 77),
    ]
    assert results([*setup, mov("r1.x", "r<4>")], "r1.x") == [77]
    assert results([*setup, mov("r<8>", 99)], "r3.x") == [99]
    assert results([*setup, mov("r1.x", "c<28>")], "r1.x", constants=[55]) == [55]


def test_half_constants_are_demoted_as_what_they_are_used_for() -> None:
    constants = [THREE]
    three, low = results(
        [
            ins("mov", "hr1.x", "h0", source_type="u16", type="u16"),
            ins("add.f", "hr2.x", "hr1.x", "hc8.x"),
            ins("or.b", "hr2.y", "hr1.x", "hc8.x"),
        ],
        "hr2.x",
        "hr2.y",
        constants=constants,
    )
    assert (three, low) == (0x4200, 0x0000)


def test_half_constants_without_demotion_are_halves_of_words() -> None:
    high = ins("or.b", "hr2.y", "hc16.y", "hc16.y")  # hc16.x and hc16.y are c8.x
    assert results([high], "hr2.y", constants=[0x12345678], constant_demotion=False) == [0x1234]


def test_merged_half_registers_are_halves_of_full_ones() -> None:
    setup = [mov("r1.x", 0x12345678), ins("mov", "hr2.y", "h0x4321", source_type="u16", type="u16")]
    assert results([*setup, mov("r2.x", "r1.x")], "r2.x", "hr2.x", merged_registers=True) == [0x43215678, 0x5678]


def test_literals_of_float_tables_and_of_integers() -> None:
    two = Immediate(TWO, table=3)
    assert results([mov("r1.x", ONE), ins("add.f", "r2.x", "r1.x", two)], "r2.x") == [THREE]
    assert results([mov("r1.x", 5), ins("add.u", "r2.x", "r1.x", -3)], "r2.x") == [2]


@pytest.mark.parametrize(
    "instruction",
    [
        ins("setrm", "r1.x", "r2.x"),
        ins("add.f", "r1.x", "r2.x", "r3.x", extra=True),
        ins("and.b", "r1.x", "r2.x", "r3.x", saturate=True),
        ins("sel.f32", "r1.x", "r2.x", "r3.x", "r4.x", saturate=True),
    ],
)
def test_forms_without_a_rule_are_unknown(instruction: object) -> None:
    with pytest.raises(UnknownInstruction, match="kernel 'tested', pc 0: .* has no rule"):
        results([instruction])

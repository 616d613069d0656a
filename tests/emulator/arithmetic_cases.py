"""Instructions, their operands and results, by the rule of the arithmetic table that they show. All worked out by hand."""

from dataclasses import dataclass
from typing import Any

from emulator.a630_programs import ins, mov

from autoclave.emulator.a630.instruction import Immediate, Instruction

ONE, TWO, THREE, HALF, MINUS_ONE = 0x3F800000, 0x40000000, 0x40400000, 0x3F000000, 0xBF800000
NAN, INFINITY, LARGEST, SMALLEST, SIGN = 0x7FC00000, 0x7F800000, 0x7F7FFFFF, 0x00800000, 0x80000000
ALL = 0xFFFFFFFF


class H(int):
    """An operand in a half register, or a result in one."""


@dataclass(frozen=True)
class Case:
    """`instruction` reads r1.x, r2.x and r3.x, or the half registers of these names, which hold `operands`."""

    instruction: Instruction
    operands: tuple[int, ...]
    result: int
    to: str

    def program(self, first_constant: int) -> list[Instruction]:
        """Bring the operands from the constant file, and compute."""
        moves = []
        for place, one in enumerate(self.operands):
            constant = f"c{(first_constant + place) // 4}.{'xyzw'[(first_constant + place) % 4]}"
            if isinstance(one, H):
                moves.append(ins("cov", f"hr{place + 1}.x", constant, source_type="u32", type="u16"))
            else:
                moves.append(mov(f"r{place + 1}.x", constant))
        return [*moves, self.instruction]


def case(result: int, name: str, *operands: Any, **fields: Any) -> Case:
    """A case of instruction `name`.

    Operands are numbers (in full registers), `H` (in half registers), pairs of marks and either ("(neg)", 5), or texts of
    other operands. The result is in a half register if it is an `H`.
    """
    to = fields.pop("to", "hr4.x" if isinstance(result, H) else "r4.x")
    texts: list[Any] = []
    values: list[int] = []
    for one in operands:
        marks, value = one if isinstance(one, tuple) else ("", one)
        if isinstance(value, int):
            values.append(value)
            texts.append(f"{marks}{'hr' if isinstance(value, H) else 'r'}{len(values)}.x")
        else:
            texts.append(value)
    return Case(ins(name, to, *texts, **fields), tuple(values), result, to)


def cov(result: int, source: str, target: str, value: int, rounding: str | None = None) -> Case:
    """A case of cov (mov if the types are the same)."""
    name = "mov" if source == target else "cov"
    return case(result, name, value, source_type=source, type=target, rounding=rounding)


def literal(index: int, bits: int, half: bool = False) -> Immediate:
    """A literal of the table of floats."""
    return Immediate(bits, half, index)


HALF_CONSTANTS = (0x3F801000, 0x3F803000, 0x38000000, 0)
"""What c8.x to c8.w hold in every kernel of cases."""

_FLUT = (
    0,
    HALF,
    ONE,
    TWO,
    0x402DF854,
    0x40490FDB,
    0x3EA2F983,
    0x3F317218,
    0x3FB8AA3B,
    0x3E9A209B,
    0x40549A78,
    0x40800000,
)
"""0, 0.5, 1, 2, e, pi, 1/pi, 1/log2(e), log2(e), 1/log2(10), log2(10), 4, rounded to nearest."""

CASES: dict[str, tuple[Case, ...]] = {
    "single-rounding": (
        case(0x3F800001, "add.f", ONE, 0x33C00000),  # 1 + 1.5 * 2^-24: three quarters of a unit
        case(ONE, "add.f", ONE, 0x33800000),  # 1 + 2^-24: the tie, to even
        case(0x3F800002, "add.f", 0x3F800001, 0x33800000),  # the tie above 1 + 2^-23
        case(INFINITY, "mul.f", LARGEST, TWO),
    ),
    "half-rounding": (
        case(H(0x3C00), "add.f", H(0x3C00), H(0x1000)),  # 1 + 2^-11, the tie
        case(H(0x3C02), "add.f", H(0x3C01), H(0x1000)),
        case(H(0x3C01), "add.f", H(0x3C00), H(0x1200)),
        case(H(0x7C00), "mul.f", H(0x7BFF), H(0x4000)),
        case(0x3F804000, "add.f", H(0x3C01), H(0x1000)),  # rounded as f16 for a full destination too
    ),
    "float-denormals": (
        case(0, "add.f", 0x00400000, 0x00400000),
        case(SIGN, "mul.f", 0x80400000, LARGEST),
        case(SIGN, "mul.f", SMALLEST, 0xBF000000),
        case(H(0), "add.f", H(0x0200), H(0x0200)),
        case(H(0x8000), "mul.f", H(0x0400), H(0xB800)),
        case(INFINITY, "rcp", 0x007FFFFF),
        case(SMALLEST, "mad.f32", SMALLEST, HALF, SMALLEST),
    ),
    "flush-boundary": (
        # (1 + 2^-23) 2^-63 * (1 - 2^-23) 2^-63 = 2^-126 (1 - 2^-46), taken up to 2^-126.
        case(SMALLEST, "mul.f", 0x20000001, 0x1FFFFFFE),
        case(SMALLEST | SIGN, "mul.f", 0x20000001, 0x9FFFFFFE),
        case(0, "mul.f", SMALLEST, 0x3F7FFFFF),
        case(SIGN, "mul.f", SMALLEST, 0xBF7FFFFF),
        # 1023 * 2^-20 * 1025 * 2^-14 = (2^20 - 1) 2^-34 = 2^-14 (1 - 2^-20), taken up to 2^-14.
        case(H(0x0400), "mul.f", H(0x13FE), H(0x2C01)),
        # 2047 * 2^-11 * 2^-14 = 2^-14 (1 - 2^-11) has eleven bits.
        case(H(0), "mul.f", H(0x3BFF), H(0x0400)),
    ),
    "mad-unfused": (
        case(0, "mad.f32", 0x3F800800, 0x3F800800, 0xBF801000),  # (1 + 2^-12)^2 - (1 + 2^-11): 2^-24 is lost
        case(H(0), "mad.f16", H(0x3C10), H(0x3C10), H(0xBC20)),  # (1 + 2^-6)^2 - (1 + 2^-5): 2^-12 is lost
        case(INFINITY, "mad.f32", LARGEST, TWO, 0xFF7FFFFF),
    ),
    "half-destination": (
        case(H(0x3C00), "add.f", ONE, 0x3A7FF000),  # below 1 + 2^-10
        case(H(0xBC00), "mul.f", 0xBF801FFF, ONE),
        case(H(0x7BFF), "mul.f", 0x47800000, TWO),
        case(H(0xFBFF), "mul.f", 0xC7800000, TWO),
        case(H(0x7C00), "mul.f", INFINITY, TWO),
        case(H(0), "mul.f", 0x387FFFFF, ONE),
        case(H(0x7E00), "mul.f", 0xFFC12345, ONE),
    ),
    "nan-canonical": (
        case(NAN, "add.f", 0xFFC12345, ONE),
        case(NAN, "add.f", INFINITY, 0xFF800000),
        case(NAN, "mul.f", 0, 0xFF800000),
        case(NAN, "mad.f32", 0x7F800001, ONE, ONE),
        case(H(0x7E00), "add.f", H(0xFD23), H(0x3C00)),
        case(NAN, "sqrt", MINUS_ONE),
        case(NAN, "floor.f", 0xFFC00001),
    ),
    "nan-payload": (
        cov(0xFF812345, "f32", "f32", 0xFF812345),
        cov(0x00000001, "f32", "f32", 1),
        case(0xFF812345, "sel.b32", 0xFF812345, 1, 0),
        case(0x7F800001, "sel.f32", 0x7F800001, ONE, 0),
    ),
    "float-modifiers": (
        case(0xC0400000, "add.f", ("(neg)", ONE), ("(neg)", TWO)),
        case(THREE, "add.f", ("(abs)", MINUS_ONE), TWO),
        case(ONE, "add.f", ("(neg)(abs)", ONE), TWO),
        case(SIGN, "max.f", ("(neg)", 0), ("(neg)", 0)),
        case(H(0xBC00), "mul.f", ("(neg)", H(0x3C00)), H(0x3C00)),
        case(MINUS_ONE, "mad.f32", ("(neg)", ONE), ONE, 0),
    ),
    "minimum-maximum": (
        case(MINUS_ONE, "max.f", NAN, MINUS_ONE),
        case(MINUS_ONE, "min.f", MINUS_ONE, 0xFFC00001),
        case(0, "max.f", SIGN, 0),
        case(0, "max.f", 0, SIGN),
        case(SIGN, "min.f", SIGN, 0),
        case(SIGN, "min.f", 0, SIGN),
        case(NAN, "max.f", 0x7F812345, 0xFFFFFFFF),
        case(0, "max.f", 1, SIGN),
        case(H(0xBC00), "max.f", H(0xFE01), H(0xBC00)),
        case(H(0x8000), "min.f", H(0), H(0x8001)),
    ),
    "sign": (
        case(MINUS_ONE, "sign.f", 0xFF800000),
        case(ONE, "sign.f", SMALLEST),
        case(SIGN, "sign.f", 0x80000001),
        case(0, "sign.f", 0xFFC00000),
        case(H(0x3C00), "sign.f", H(0x7BFF)),
    ),
    "absneg-float": (
        case(0xC0490FDB, "absneg.f", ("(neg)(abs)", 0x40490FDB)),
        case(NAN, "absneg.f", ("(abs)", 0xFFC12345)),
        case(SIGN, "absneg.f", ("(neg)", 1)),
        case(H(0x7E00), "absneg.f", H(0x7C01)),
    ),
    "integral-float": (
        case(0xC0000000, "floor.f", 0xBFC00000),
        case(MINUS_ONE, "ceil.f", 0xBFC00000),
        case(SIGN, "ceil.f", 0xBF000000),
        case(SIGN, "trunc.f", 0xBF7FFFFF),
        case(TWO, "rndne.f", 0x40200000),
        case(0x40800000, "rndne.f", 0x40600000),
        case(0x4B7FFFFF, "floor.f", 0x4B7FFFFF),
        case(MINUS_ONE, "floor.f", 0x80800000),
        case(SIGN, "floor.f", 0x80000001),
        case(H(0xC000), "floor.f", H(0xBE00)),
    ),
    "saturate-float": (
        case(ONE, "add.f", ONE, ONE, saturate=True),
        case(0, "add.f", MINUS_ONE, HALF, saturate=True),
        case(NAN, "add.f", NAN, HALF, saturate=True),
        case(SIGN, "mul.f", SIGN, ONE, saturate=True),
        case(HALF, "mul.f", HALF, ONE, saturate=True),
        case(H(0x3C00), "mul.f", TWO, TWO, saturate=True),
        case(ONE, "max.f", H(0x4400), H(0), saturate=True),
    ),
    "compare-float": (
        case(1, "cmps.f", SIGN, 0, condition="eq"),
        case(1, "cmps.f", 1, 0x80000002, condition="eq"),
        case(0, "cmps.f", 0, 1, condition="lt"),
        case(0, "cmps.f", NAN, NAN, condition="eq"),
        case(0, "cmps.f", NAN, ONE, condition="ge"),
        case(1, "cmps.f", NAN, ONE, condition="ne"),
        case(1, "cmps.f", MINUS_ONE, ONE, condition="le"),
        case(1, "cmps.f", H(0x0001), H(0x8000), condition="ge"),
    ),
    "cov-rounding": (
        cov(H(0x3C00), "f32", "f16", 0x3F801FFF),
        cov(H(0x3C01), "f32", "f16", 0x3F801FFF, "even"),
        cov(H(0x3C00), "f32", "f16", 0x3F801000, "even"),
        cov(H(0x3C02), "f32", "f16", 0x3F803000, "even"),
        cov(H(0x7BFF), "f32", "f16", 0x47800000),
        cov(H(0x7C00), "f32", "f16", 0x477FF000, "even"),
        cov(0x4B800000, "u32", "f32", 0x01000001),
        cov(0x4F7FFFFF, "u32", "f32", ALL),
        cov(0x4F800000, "u32", "f32", ALL, "even"),
        cov(0xCB800000, "s32", "f32", 0xFEFFFFFF),  # -(2^24 + 1)
        cov(H(0xFBFF), "s32", "f16", SIGN),
        cov(H(0x6801), "u32", "f16", 2051),
        cov(H(0x6802), "u32", "f16", 2051, "even"),
        cov(H(0x3C01), "f32", "f16", 0x3F800001, "positive"),
        cov(H(0xBC00), "f32", "f16", 0xBF801FFF, "positive"),
        cov(H(0xBC01), "f32", "f16", 0xBF800001, "negative"),
        cov(H(0x7C00), "f32", "f16", 0x477FE001, "positive"),
        cov(H(0x7BFF), "f32", "f16", LARGEST, "negative"),
        cov(0x4B800001, "u32", "f32", 0x01000001, "positive"),
        cov(0xCB800001, "s32", "f32", 0xFEFFFFFF, "negative"),
    ),
    "cov-denormals": (
        cov(0x33800000, "f16", "f32", H(1)),
        cov(0xB87FC000, "f16", "f32", H(0x83FF)),
        cov(H(0), "f32", "f16", 0x387FFFFF),
        cov(H(0x0400), "f32", "f16", 0x387FF000, "even"),
        cov(H(0x8000), "f32", "f16", 0x80000001),
    ),
    "cov-nan": (
        cov(0xFFEAA000, "f16", "f32", H(0xFD55)),
        cov(0x7FC02000, "f16", "f32", H(0x7C01)),
        cov(H(0xFE09), "f32", "f16", 0xFF812345),
        cov(H(0x7E00), "f32", "f16", 0x7F800001),
    ),
    "cov-float-to-integer": (
        cov(0xFFFFFFFE, "f32", "s32", 0xC0390000),  # -2.89
        cov(0x7FFFFFFF, "f32", "s32", 0x4F000000),
        cov(SIGN, "f32", "s32", 0xFF800000),
        cov(0, "f32", "u32", MINUS_ONE),
        cov(ALL, "f32", "u32", 0x4F800000),
        cov(0xFFFFFF00, "f32", "u32", 0x4F7FFFFF),
        cov(0, "f32", "s32", NAN),
        cov(H(0x8000), "f32", "s16", 0xC7800000),
        cov(H(0xFFFF), "f32", "u16", 0x47800000),
        cov(0xFFFF0020, "f16", "s32", H(0xFBFF)),  # -65504
    ),
    "cov-rounded-to-integer": (
        cov(1, "f32", "s32", 0x3FFFFFFF, "even"),
        cov(0xFFFFFFFF, "f32", "s32", 0xBFFFFFFF, "even"),
        cov(1, "f32", "s32", 0x3FC00000, "positive"),
        cov(0xFFFFFFFF, "f32", "s32", 0xBFC00000, "negative"),
    ),
    "cov-integer": (
        cov(0xFFFF8001, "s16", "s32", H(0x8001)),
        cov(0x8001, "u16", "u32", H(0x8001)),
        cov(H(0x5678), "u32", "u16", 0x12345678),
        cov(0xFFFF8001, "s16", "u32", H(0x8001)),
    ),
    "cov-byte": (
        cov(0xFFFFFF80, "u8", "u32", H(0x1280)),
        cov(0xC3000000, "u8", "f32", H(0x80)),
        cov(0x42FE0000, "u8", "f32", H(0xFF7F)),
        cov(H(0xFFFF), "u8", "s16", H(0xFF)),
    ),
    "byte-destination": (
        cov(H(0xFF), "f32", "u8", 0x43800000),
        cov(H(0), "f32", "u8", MINUS_ONE),
        cov(H(0x78), "u32", "u8", 0x12345678),
        cov(H(0x80), "u8", "u8", H(0x1280)),
    ),
    "destination-conversion": (
        case(0x0000FFFF, "add.u", H(0xFFFE), H(1)),
        case(0xFFFFFFFF, "add.s", H(0xFFFE), H(1)),
        case(0x0000FFFF, "or.b", H(0xFF00), H(0x00FF)),
        case(0x0000FFFE, "ashr.b", H(0xFFF8), H(2)),
        case(H(0x5679), "add.u", 0x12345678, 1),
        case(0x0000FFFF, "cmpv.u", H(3), H(2), condition="gt"),
        case(0x40400000, "add.f", H(0x3C00), H(0x4000)),
        case(H(0x4200), "add.f", ONE, TWO),
    ),
    "half-constant": (
        case(H(0x3C00), "max.f", "hc8.x", H(0xFC00)),  # 1 + 2^-11, the tie
        case(H(0x3C02), "max.f", "hc8.y", H(0xFC00)),  # 1 + 3 * 2^-11
        case(H(0), "add.f", "hc8.z", H(0)),  # 2^-15, flushed
        case(H(0x1001), "add.u", "hc8.x", H(1)),  # the low 16 bits
    ),
    "float-literals": (*(case(bits, "max.f", literal(index, bits), 0xFF800000) for index, bits in enumerate(_FLUT)),),
    "integer": (
        case(1, "add.u", ALL, 2),
        case(ALL, "sub.u", 1, 2),
        case(2, "min.u", ALL, 2),
        case(ALL, "min.s", ALL, 2),
        case(ALL, "max.u", ALL, 2),
        case(2, "max.s", ALL, 2),
        case(1, "cmps.s", ALL, 2, condition="lt"),
        case(0, "cmps.u", ALL, 2, condition="lt"),
        case(0x0F0F0F0F, "xor.b", ALL, 0xF0F0F0F0),
        case(H(1), "add.u", H(0xFFFF), H(2)),
    ),
    "integer-modifiers": (
        case(8, "add.u", ("(neg)", 5), 3),
        case(2, "sub.s", 5, ("(abs)", 3)),
        case(ALL, "max.u", ("(abs)", ALL), 2),
        case(15, "mul.u24", ("(neg)", 5), 3),
        case(1, "cmps.u", ("(neg)", 5), 5, condition="eq"),
        case(7, "sel.b32", ("(neg)", 7), 1, 0),
    ),
    "bitwise-modifiers": (
        case(0xFFFFFF00, "and.b", ("(neg)", 0xFF), ALL),
        case(0xFFFFFFFC, "shl.b", ("(neg)", 0), 2),
        case(0x0FFFFFFF, "shr.b", ("(neg)", 0), 4),
        case(0x80000001, "or.b", ("(abs)", 0x80000001), 0),
        case(5, "absneg.s", ("(abs)", 0xFFFFFFFB)),
        case(0xFFFFFFFB, "absneg.s", ("(neg)", 5)),
        case(1, "not.b", ("(neg)", 1)),
    ),
    "saturate-integer": (
        case(ALL, "add.u", ALL, 2, saturate=True),
        case(0, "sub.u", 1, 2, saturate=True),
        case(0x7FFFFFFF, "add.s", 0x7FFFFFFF, 1, saturate=True),
        case(SIGN, "sub.s", SIGN, 1, saturate=True),
        case(H(0xFFFF), "add.u", H(0xFFFF), H(1), saturate=True),
    ),
    "saturate-comparison": (
        case(0, "cmps.f", ONE, TWO, condition="le", saturate=True),
        case(1, "cmps.f", ONE, TWO, condition="ge", saturate=True),
    ),
    "compare-result": (
        case(1, "cmps.u", 5, 5, condition="eq"),
        case(ALL, "cmpv.u", 5, 5, condition="eq"),
        case(0, "cmpv.f", ONE, TWO, condition="gt"),
        case(H(0xFFFF), "cmpv.s", H(0xFFFF), H(0), condition="lt"),
    ),
    "multiply-low": (
        case(0xFFFE0001, "mull.u", 0x1234FFFF, 0x5678FFFF),
        case(0x00060000, "mull.u", 0xFFFF0300, 0xFFFF0200),
    ),
    "multiply-shifted": (
        case(0x000C0005, "madsh.m16", 0xAAAA0003, 0x0004BBBB, 5),
        case(0x000C0005, "madsh.u16", 0xAAAA0003, 0x0004BBBB, 5),
        case(0xFFFF0000, "madsh.m16", 0x0000FFFF, 0x0001FFFF, 0),
    ),
    "multiply-24": (
        case(0x00000006, "mul.u24", 0xFF000002, 0xFF000003),
        case(0xFFFFFFFA, "mul.s24", 0x00FFFFFE, 0x12000003),
        case(0x00000007, "mad.u24", 0xFF000002, 3, 1),
        case(0xFFFFFFFB, "mad.s24", 0x00FFFFFE, 3, 1),
    ),
    "multiply-half": (
        case(0x00020000, "mul.u24", H(0x0200), H(0x0100)),
        case(0xFFFFFFFE, "mul.s24", H(0xFFFF), H(2)),
        case(0xFFFE0001, "mull.u", H(0xFFFF), H(0xFFFF)),
    ),
    # 16-bit products of what full registers hold, although the text says hr.
    "mad-u16-full": (
        Case(
            ins("mad.u16", "r4.x", "hr1.x", "hr2.x", "hr3.x"), (0x0001FFFF, 0xAAAA0002, 0x00010000), 0x0002FFFE, "r4.x"
        ),
    ),
    "shift-amount": (
        case(2, "shl.b", 1, 33),
        case(1, "shr.b", SIGN, 31),
        case(ALL, "ashr.b", SIGN, 0xFFFFFFFF),
        case(1, "getbit.b", 4, 34),
        case(H(2), "shl.b", H(1), H(17)),
        case(0x40000000, "shrg", 33, SIGN, 0),
    ),
    "shift-combined": (
        case(0x00000011, "shrg", 4, 0x100, 1),
        case(0x00001001, "shlg", 4, 0x100, 1),
        case(0x00000010, "shrm", 4, 0x1FF, 0x10),
        case(0x00000020, "shlm", 4, 0x1F2, 0x2F),
        case(0x0000000D, "andg", 12, 14, 1),
    ),
    "select-bits": (
        case(5, "sel.b32", 5, SIGN, 6),
        case(6, "sel.b32", 5, 0, 6),
        case(H(5), "sel.b16", H(5), H(0x8000), H(6)),
    ),
    "select-signed": (
        case(5, "sel.s32", 5, 0, 6),
        case(6, "sel.s32", 5, ALL, 6),
        case(ONE, "sel.f32", ONE, SIGN, TWO),  # -0 >= 0
        case(TWO, "sel.f32", ONE, 0x80800000, TWO),
        case(TWO, "sel.f32", ONE, NAN, TWO),
        case(H(6), "sel.s16", H(5), H(0x8000), H(6)),
    ),
    "sum-of-three": (
        case(0x0000000A, "sad.s32", 5, 2, 3),
        case(1, "sad.s32", ALL, ALL, 3),
    ),
    "add-halved": (
        case(SIGN, "add.u", ALL, 1, extra=True),
        case(2, "add.u", 2, 3, extra=True),
    ),
    "leading-zeros": (
        case(ALL, "clz.b", 0),
        case(31, "clz.b", 1),
        case(0, "clz.b", SIGN),
        case(ALL, "clz.s", ALL),
    ),
    "elementary": (
        case(0x3EAAAAAB, "rcp", THREE),
        case(0x3F13CD3A, "rsq", THREE),  # 1 / sqrt(3) = 0.577350269...
        case(0x3FDDB3D7, "sqrt", THREE),  # 1.732050807...
        case(0x3FCAE00D, "log2", THREE),  # 1.584962500...
        case(0x3FB504F3, "exp2", HALF),  # 1.414213562...
        case(0x3F576AA4, "sin", ONE),  # 0.841470984...
        case(0x3F0A5140, "cos", ONE),  # 0.540302305...
        case(0xB3BBBD2E, "sin", 0x40490FDB),  # pi rounded, less pi: -8.742278e-8
    ),
    "elementary-half": (
        case(H(0x3555), "rcp", H(0x4200)),
        case(H(0x3AED), "sqrt", H(0x3A00)),  # sqrt(0.75) = 0.86602540, between 0x3aed and 0x3aee
        case(H(0x37AB), "sin", H(0x3800)),  # 0.47942553
        case(H(0x3DA8), "hexp2", H(0x3800)),
        case(H(0x7BFF), "hexp2", H(0x4C00)),  # 2^16
        case(0x3EF56000, "sin", H(0x3800)),
    ),
    "elementary-special": (
        case(0xFF800000, "rcp", SIGN),
        case(0xFF800000, "rsq", SIGN),
        case(SIGN, "sqrt", SIGN),
        case(0xFF800000, "log2", SIGN),
        case(NAN, "log2", MINUS_ONE),
        case(NAN, "rsq", MINUS_ONE),
        case(NAN, "sin", INFINITY),
        case(NAN, "cos", 0xFF800000),
        case(0, "exp2", 0xFF800000),
    ),
    "move": (cov(0x12345678, "u32", "u32", 0x12345678), cov(0x12345678, "s32", "s32", 0x12345678)),
}
"""Rules that single instructions show; memory and control are in test_arithmetic_rules.py."""

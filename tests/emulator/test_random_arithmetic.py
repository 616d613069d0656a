"""Random straight programs of arithmetic: interpreter and translated code leave the same registers, bit for bit.

Single instructions are tested elsewhere; here results flow into one another, so that an optimisation across instructions
that loses a flush, a rounding or a canonical NaN shows.
"""

import random
from collections.abc import Iterator

import numpy as np
import pytest
from emulator.a630_engines import ENGINES
from emulator.a630_programs import CATEGORIES, ins, launch_of, load, mov, store

from autoclave.emulator.a630.instruction import Immediate, Instruction, Register, Source

LANES = 64
LENGTH = 60
FULL = [4 * n + c for n in (1, 2) for c in range(4)]
"""r1.x to r2.w, and hr1.x to hr2.w: the registers that programs compute with."""

SPECIAL = [
    *(0, 0x80000000, 1, 0x807FFFFF, 0x00800000, 0x80800000, 0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x7F7FFFFF, 0x7F800000),
    *(0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, 0x33800000, 0x387FF000, 0x477FF000, 0x4B800001, 0xFFFFFFFF, 2),
]

TWO_FLOATS = ("add.f", "mul.f", "min.f", "max.f")
ONE_FLOAT = (
    "sign.f",
    "absneg.f",
    "floor.f",
    "ceil.f",
    "trunc.f",
    "rndne.f",
    "rcp",
    "rsq",
    "sqrt",
    "exp2",
    "log2",
    "sin",
    "cos",
)
TWO_INTEGERS = (
    "add.u",
    "sub.s",
    "and.b",
    "or.b",
    "xor.b",
    "shl.b",
    "shr.b",
    "ashr.b",
    "min.s",
    "max.u",
    "mul.u24",
    "mull.u",
)
FLOAT_LITERALS = (
    (0, 0, 0),
    (1, 0x3F000000, 0x3800),
    (2, 0x3F800000, 0x3C00),
    (3, 0x40000000, 0x4000),
    (11, 0x40800000, 0x4400),
)
"""Index, f32 and f16: those that invite to be folded."""


class Programs:
    """Random instructions from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def source(self, half: bool, marks: bool = True, literal: bool = False) -> Source:
        if literal and self.random.random() < 0.3:
            index, single, narrow = self.random.choice(FLOAT_LITERALS)
            return Source(Immediate(narrow if half else single, half, index), self.mark(marks), self.mark(marks))
        register = Register(self.random.choice(FULL), half)
        return Source(register, self.mark(marks), self.mark(marks))

    def mark(self, allowed: bool) -> bool:
        return allowed and self.random.random() < 0.2

    def instruction(self) -> Instruction:
        half = self.random.random() < 0.3
        to_half = half if self.random.random() < 0.8 else not half
        return self.random.choices(
            (self.floats, self.multiply_add, self.one, self.integers, self.select, self.compare, self.convert),
            (6, 5, 3, 2, 1, 2, 2),
        )[0](half, to_half)

    def made(self, name: str, to_half: bool, *sources: Source, **fields) -> Instruction:
        destination = Register(self.random.choice(FULL), to_half)
        return Instruction(0, 0, CATEGORIES[name], name, (destination,), sources, **fields)

    def floats(self, half: bool, to_half: bool) -> Instruction:
        first, second = self.source(half), self.source(half, literal=True)
        return self.made(self.random.choice(TWO_FLOATS), to_half, first, second, saturate=self.random.random() < 0.1)

    def multiply_add(self, half: bool, to_half: bool) -> Instruction:
        sources = [Source(Register(self.random.choice(FULL), half), self.mark(True)) for _ in range(3)]
        return self.made("mad.f16" if half else "mad.f32", to_half, *sources, saturate=self.random.random() < 0.1)

    def one(self, half: bool, to_half: bool) -> Instruction:
        return self.made(self.random.choice(ONE_FLOAT), to_half, self.source(half), saturate=self.random.random() < 0.1)

    def integers(self, half: bool, to_half: bool) -> Instruction:
        return self.made(self.random.choice(TWO_INTEGERS), to_half, self.source(half), self.source(half))

    def select(self, half: bool, to_half: bool) -> Instruction:
        names = ("sel.b16", "sel.s16", "sel.f16") if half else ("sel.b32", "sel.s32", "sel.f32")
        sources = [self.source(half, marks=False) for _ in range(3)]
        return self.made(self.random.choice(names[:2]), half, *sources)

    def compare(self, half: bool, to_half: bool) -> Instruction:
        name = self.random.choice(("cmps.f", "cmpv.f", "cmps.u", "cmps.s"))
        condition = self.random.choice(("lt", "le", "gt", "ge", "eq", "ne"))
        return self.made(name, to_half, self.source(half), self.source(half), condition=condition)

    def convert(self, half: bool, to_half: bool) -> Instruction:
        of_half, of_full = ("f16", "u16", "s16"), ("f32", "u32", "s32")
        source = self.random.choice(of_half if half else of_full)
        target = self.random.choice([one for one in (of_half if to_half else of_full) if one != source])
        rounding = self.random.choice((None, None, "even", "positive", "negative"))
        return self.made(
            "cov",
            to_half,
            Source(Register(self.random.choice(FULL), half)),
            source_type=source,
            type=target,
            rounding=rounding,
        )


def whole_program(seed: int) -> list[Instruction]:
    """Load all registers by lane, or some from constants, which is the same for all lanes; compute; and store them."""
    programs = Programs(seed)
    computing = [programs.instruction() for _ in range(LENGTH)]
    return [*loads(), *(same_in_all_lanes(seed % 4)), *computing, *stores()]


def same_in_all_lanes(registers: int) -> Iterator[Instruction]:
    """Of each vector, none, one, two or three components."""
    for number in range(registers):
        for row in (1, 2):
            part = "xyzw"[number]
            yield mov(f"r{row}.{part}", f"c{7 + row}.{part}")
            yield ins("cov", f"hr{row}.{part}", f"c{9 + row}.{part}", source_type="u32", type="u16")


def loads() -> Iterator[Instruction]:
    yield from (mov(f"r40.{part}", f"c0.{part}") for part in "xy")
    yield from (mov(f"r42.{part}", f"c0.{other}") for part, other in (("x", "z"), ("y", "w")))
    yield ins("shl.b", "r44.x", "r0.x", 6)
    yield ins("add.u", "r40.x", "r40.x", "r44.x")
    yield ins("add.u", "r42.x", "r42.x", "r44.x")
    for row in (1, 2):
        yield load("ldg", f"r{row}.x", "r42.x", count=4, offset=16 * (row - 1))
        yield load("ldg", f"hr{row}.x", "r42.x", "u16", count=4, offset=16 * (row + 1))


def stores() -> Iterator[Instruction]:
    for row in (1, 2):
        yield store("stg", "r40.x", f"r{row}.x", count=4, offset=16 * (row - 1))
        yield store("stg", "r40.x", f"hr{row}.x", "u16", count=4, offset=16 * (row + 1))


def operands(seed: int) -> np.ndarray:
    """Special patterns and everyday numbers, full and half."""
    source = np.random.default_rng(seed)
    words = source.choice(np.array(SPECIAL, np.uint32), (LANES, 16))
    everyday = source.standard_normal((LANES, 16)).astype(np.float32).view(np.uint32)
    words = np.where(source.random((LANES, 16)) < 0.5, words, everyday)
    halves = source.integers(0, 1 << 16, (LANES, 32), np.uint16)
    words[:, 8:] = halves[:, :16].copy().view(np.uint32)
    return words


def left_by(engine: str, seed: int) -> np.ndarray:
    output = np.zeros((LANES, 16), np.uint32)
    inputs = operands(seed)
    launch = launch_of(
        whole_program(seed), buffers=[output, inputs], constants=inputs[:1].ravel().tolist(), local_size=(LANES, 1, 1)
    )
    ENGINES[engine](launch)
    return output


@pytest.mark.parametrize("seed", range(8))
def test_registers_are_the_same(seed: int):
    wanted = left_by("interpreter", seed)

    for engine in ENGINES:
        assert np.array_equal(left_by(engine, seed), wanted), engine

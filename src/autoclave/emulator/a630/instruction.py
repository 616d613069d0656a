"""Typed records of decoded a630 instructions. They say what is encoded, and nothing of what it means.

A register number is `4 * register + component`, as in Mesa: r48.x is 192, a0.x is 244, p0.x is 248. Program counters
and branch offsets count instructions of 8 bytes.
"""

from dataclasses import dataclass
from typing import Literal

ADDRESS_REGISTER = 61 * 4
PREDICATE_REGISTER = 62 * 4

Type = Literal["f16", "f32", "u16", "u32", "s16", "s32", "u8", "u8_32", "u64"]
"""Element types of categories 1, 5 and 6, by Mesa's names; "u64" is of global and image atomics only."""

Condition = Literal["lt", "le", "gt", "ge", "eq", "ne"]


@dataclass(frozen=True, slots=True)
class Register:
    """A general register, a0.x or p0.x; with `relative`, `number` is a signed offset that a0.x is added to."""

    number: int
    half: bool = False
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Constant:
    """A 32-bit slot of the constant file, c0.x and up; `half` reads it as a half (hc0.x). `relative` as in `Register`."""

    number: int
    half: bool = False
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal: `bits` is its pattern in the operand's width, 16 bits if `half`, sign extended or looked up already.

    `table` is the index in the table of float literals (FLUT) that it came from, None for an integer.
    """

    bits: int
    half: bool = False
    table: int | None = None


Operand = Register | Constant | Immediate


@dataclass(frozen=True, slots=True)
class Source:
    """An operand and how it is read. `repeated` is (r): the number steps with each repetition.

    `last` is (last), a hint that the register is not read again.
    """

    operand: Operand
    negated: bool = False
    absolute: bool = False
    repeated: bool = False
    last: bool = False


@dataclass(frozen=True, slots=True)
class Synchronisation:
    """Scheduling marks, which change no result: (sy), (ss), (jp), (ul), (eq), (nopN)."""

    texture: bool = False
    shader: bool = False
    jump_target: bool = False
    unlock: bool = False
    end_quad: bool = False
    nops: int = 0


@dataclass(frozen=True, slots=True)
class Image:
    """What an image instruction (category 5, or ldib, stib and resinfo of category 6) names.

    `texture` is the slot read or written, None if a register names it; `sampler` likewise. `mask` has bit n for component
    n of the destination. `dimensions` are those of the coordinates (1 to 3); category 5 encodes 2 or 3 (.3d), so that a
    .1d isam, which is in `flags`, reads x and y too.

    flags: what Mesa prints after the mnemonic, in its order: "o", "p", "s", "v" (of isam), "s2en", "uniform",
        "nonuniform", "imm" (category 6: the slot is literal), "base0" to "base7", "1d", "a1".
    """

    texture: int | None
    sampler: int | None = None
    mask: int = 0b1111
    dimensions: int = 2
    array: bool = False
    typed: bool = True
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction at `pc`, of the 64 `bits`.

    name: mnemonic without its conditions and types: "mad.f32", "cmps.f", "cov", "ldg", "isam", "br", "stib.b", "ldc",
        "atomic.add" (local), "atomic.g.add", "atomic.b.add", "mova" (a0.x), "mova1" (a1.x, which is a0.y).
    destinations: none for stores and branches, two for swz; a converting instruction's width is its destination's.
    sources: in the order in which Mesa's disassembler prints them, addresses and data of stores included; branches name
        their predicates here, `negated` for !p0.x. What stc and ldg.k write is their first source, a `Constant`.
    repeat: number of repetitions after the first execution, (rptN); saturate: (sat); extra: (ei).
    condition: of cmps and cmpv. rounding: of cov, None for the default. source_type, type: of cov and mov; `type` alone of
        loads, stores, images and atomics.
    target: of branches, relative to `pc`. offset: bytes or elements as encoded, of memory accesses; count: elements moved
        (components of a typed access), and the N of movmsk.wN, brcst.active.wN and getlast.wN.
    shift: of ldg.a and stg.a, whose address is source 0 + (((source 1 << shift) + offset) << log2 of the type's bytes).
    modifiers: what else Mesa prints after the mnemonic, without dots, in its order: ("g", "l", "r", "w") of bar and fence.
    """

    pc: int
    bits: int
    category: int
    name: str
    destinations: tuple[Register, ...] = ()
    sources: tuple[Source, ...] = ()
    repeat: int = 0
    saturate: bool = False
    extra: bool = False
    condition: Condition | None = None
    rounding: Literal["even", "positive", "negative"] | None = None
    source_type: Type | None = None
    type: Type | None = None
    target: int | None = None
    offset: int = 0
    count: int = 1
    shift: int = 0
    image: Image | None = None
    synchronisation: Synchronisation = Synchronisation()
    modifiers: tuple[str, ...] = ()

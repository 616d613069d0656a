"""Instructions of a gfx1200 kernel as typed records.

Everything that an instruction reads or writes is spelled out, but for SCC, EXEC and the counters of outstanding memory operations:
VCC where an encoding implies it, the old destination of v_fmac, the pair of registers behind an address. Constants are
resolved to the bits that the operation sees.

Source of names and meanings: AMD, "RDNA4 Instruction Set Architecture Reference Guide".
"""

from dataclasses import dataclass
from typing import Literal

VCC, TTMP, NULL, M0, EXEC, SCC = 106, 108, 124, 125, 126, 253
"""Numbers of special scalar registers: vcc_lo, ttmp0, null, m0, exec_lo, and SCC where it is read as an operand."""

Encoding = Literal[
    "SOP1", "SOP2", "SOPC", "SOPK", "SOPP", "SMEM",
    "VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD", "VOP3P", "VOPD",
    "DS", "FLAT", "GLOBAL", "SCRATCH",
]  # fmt: skip
"""How an instruction is encoded. The same operation may come in several encodings (VOP2 and VOP3)."""


@dataclass(frozen=True, slots=True)
class Register:
    """`count` registers of 32 bits in a row, from `number` on: `file` is "s" (one for the wave) or "v" (one for each lane).

    high: of a 16-bit operand in a vector register, whether it is the upper half.
    """

    file: Literal["s", "v"]
    number: int
    count: int = 1
    high: bool = False


@dataclass(frozen=True, slots=True)
class Literal32:
    """A constant: the bits that the operation sees, at the width of the operand's type (of a matrix, of each element).

    inline: not a word of its own. encoded: the code of an inline constant, the word of another; None lets the encoder choose.
    """

    bits: int
    inline: bool
    encoded: int | None = None


Operand = Register | Literal32


@dataclass(frozen=True, slots=True)
class Source:
    """An operand that is read.

    type: as in the manual, "f32", "u16", "b64", "f16x2" of packed halves, "mask" of one bit for each lane.
    negated, absolute: modifiers of floats, absolute first.
    Of packed operations (VOP3P): high, high_of_second: whether the first, the second result takes the operand's upper half (OPSEL,
    OPSEL_HI); negated, negated_second: NEG and NEG_HI. v_fma_mix uses the same bits in its own way: high_of_second means that the
    operand is a half, `high` which, negated_second the absolute value.
    """

    operand: Operand
    type: str
    negated: bool = False
    absolute: bool = False
    high: bool = False
    high_of_second: bool = False
    negated_second: bool = False


@dataclass(frozen=True, slots=True)
class Destination:
    """A register that is written, and the type of what is written (as in `Source`). `operand.high` of a 16-bit one: the upper half."""

    operand: Register
    type: str


@dataclass(frozen=True, slots=True)
class Dpp:
    """Data parallel primitives: which lane's value the first source of each lane is.

    control: of DPP16, the 9 bits of DPP_CTRL; selectors: of DPP8, the lane among eight for each of eight, None for DPP16.
    row_mask, bank_mask: rows of 16, banks of 4 lanes that are written. bound_control: lanes that name no lane read 0, else they
    are not written. fetch_inactive: lanes that EXEC disables can be read.
    """

    control: int
    selectors: tuple[int, ...] | None
    row_mask: int
    bank_mask: int
    bound_control: bool
    fetch_inactive: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. pc, size: bytes, from the code's start.

    name: AMD's, in lower case, without an ending for the encoding ("v_add_f32", "s_load_b64", "global_load_b32").
    immediate: SIMM16 (sign-extended where the operation takes it so), or the signed offset of a memory access.
    target: of a branch, the pc that it goes to.
    clamp, multiplier: CLAMP, and OMOD as 0 (none), 1 (times 2), 2 (times 4), 3 (divided by 2).
    dual: the two operations of a VOPD, X first, each a record of its own with the same pc ("v_dual_mul_f32"); then `name` is "v_dual".
    address: of memory accesses, in `sources`: first the vector address or offset if there is one, then data, then the scalar base
    if there is one; see `has_vector_address` and `has_scalar_base`.
    scope_or_policy: scope (2 bits) and, above, temporal hint of a memory access, without a meaning here.
    """

    pc: int
    size: int
    name: str
    encoding: Encoding
    destinations: tuple[Destination, ...] = ()
    sources: tuple[Source, ...] = ()
    immediate: int = 0
    target: int | None = None
    clamp: bool = False
    multiplier: int = 0
    dpp: Dpp | None = None
    dual: "tuple[Instruction, Instruction] | None" = None
    has_vector_address: bool = False
    has_scalar_base: bool = False
    second_immediate: int = 0
    scope_or_policy: int = 0

"""What each operation of gfx1200 computes, in plain Python on bit patterns: the interpreter's arithmetic.

Exact by integers or by binary64 where that is proven to do. The rules are those of the table in `rdna4.arithmetic`; the
translator follows it separately.

Sources are unsigned integers, in the order of the assembler's text, then a lane's bit of a mask, then the old destination;
their modifiers are applied already (`modifiers`). Results come before OMOD and CLAMP. An operation with two results gives a tuple.
What moves values between lanes is in `crosslane`.
"""

from collections.abc import Mapping
from typing import Final

from autoclave.emulator.rdna4.lanewise.bits import BITS
from autoclave.emulator.rdna4.lanewise.conversions import CONVERSIONS
from autoclave.emulator.rdna4.lanewise.division import DIVISION
from autoclave.emulator.rdna4.lanewise.elementary import ELEMENTARY
from autoclave.emulator.rdna4.lanewise.floats import FLOATS
from autoclave.emulator.rdna4.lanewise.integers import INTEGERS
from autoclave.emulator.rdna4.lanewise.integral import INTEGRAL
from autoclave.emulator.rdna4.lanewise.operation import LaneOperation, ScalarOperation
from autoclave.emulator.rdna4.lanewise.ordering import ORDERING
from autoclave.emulator.rdna4.lanewise.packed import PACKED
from autoclave.emulator.rdna4.lanewise.scalar_floats import SCALAR_FLOATS
from autoclave.emulator.rdna4.lanewise.scalars import SCALAR_INTEGERS

_VECTOR: Final = FLOATS | ORDERING | INTEGRAL | ELEMENTARY | DIVISION | CONVERSIONS | INTEGERS | BITS | PACKED

_DUAL: Final = (
    *("fmac_f32", "fmaak_f32", "fmamk_f32", "mul_f32", "add_f32", "sub_f32", "subrev_f32", "mul_dx9_zero_f32", "mov_b32"),
    *("cndmask_b32", "max_num_f32", "min_num_f32", "dot2acc_f32_f16", "dot2acc_f32_bf16", "add_nc_u32", "lshlrev_b32", "and_b32"),
)  # fmt: skip
"""Operations that a VOPD pairs: v_dual_NAME is v_NAME."""

LANE_OPERATIONS: Final[Mapping[str, LaneOperation]] = _VECTOR | {
    f"v_dual_{name}": _VECTOR[f"v_{name}"] for name in _DUAL
}
"""Vector operations by name."""

SCALAR_OPERATIONS: Final[Mapping[str, ScalarOperation]] = SCALAR_INTEGERS | SCALAR_FLOATS
"""Scalar operations by name."""

__all__ = ["LANE_OPERATIONS", "SCALAR_OPERATIONS", "LaneOperation", "ScalarOperation"]

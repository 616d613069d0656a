"""The rules of the ALUs: one table for vector operations, one for scalar ones, by name."""

from collections.abc import Callable, Mapping

from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.translator.alu_carries import CARRIES
from autoclave.emulator.rdna4.translator.alu_compares import COMPARES
from autoclave.emulator.rdna4.translator.alu_conversions import CONVERSIONS
from autoclave.emulator.rdna4.translator.alu_differences import DIFFERENCES
from autoclave.emulator.rdna4.translator.alu_division import DIVISION
from autoclave.emulator.rdna4.translator.alu_floats import FLOATS
from autoclave.emulator.rdna4.translator.alu_integers import INTEGER_RULES, INTEGERS
from autoclave.emulator.rdna4.translator.alu_moves import MOVES
from autoclave.emulator.rdna4.translator.alu_packed import DOTS_OF_INTEGERS, PACKED, PACKED_INTEGER_RULES
from autoclave.emulator.rdna4.translator.alu_scalar import SCALAR_INTEGERS
from autoclave.emulator.rdna4.translator.alu_scalar_floats import SCALAR_FLOATS
from autoclave.emulator.rdna4.translator.wave import Wave

Rule = Callable[[Wave, Instruction], None]

_ALONE: dict[str, Rule] = {
    **INTEGERS, **MOVES, **CARRIES, **COMPARES, **FLOATS, **CONVERSIONS, **DIVISION, **PACKED, **DIFFERENCES
}  # fmt: skip

_PAIRED = (
    *("fmac_f32", "fmaak_f32", "fmamk_f32", "mul_f32", "add_f32", "sub_f32", "subrev_f32", "mul_dx9_zero_f32"),
    *("mov_b32", "cndmask_b32", "max_num_f32", "min_num_f32", "dot2acc_f32_f16", "dot2acc_f32_bf16"),
    *("add_nc_u32", "lshlrev_b32", "and_b32"),
)
"""What halves of VOPD can be."""

VECTOR: Mapping[str, Rule] = {**_ALONE, **{f"v_dual_{name}": _ALONE[f"v_{name}"] for name in _PAIRED}}
"""Operations on every lane."""

SCALAR: Mapping[str, Rule] = {**SCALAR_INTEGERS, **SCALAR_FLOATS}
"""Operations on scalars, but for those that change EXEC."""

SATURATING: frozenset[str] = frozenset(
    {
        *(name for name, rule in {**INTEGER_RULES, **PACKED_INTEGER_RULES}.items() if rule.saturated is not None),
        *DOTS_OF_INTEGERS,
    }
)
"""Operations on integers that there is a rule for with CLAMP."""

LOOKS_AT_BITS: frozenset[str] = frozenset(
    name for name in VECTOR if name.startswith(("v_cmp_class", "v_cmpx_class", "v_pack_b32"))
)
"""Operations that pass on or look at the bits of operands whose types are floats: a NaN's pattern shows."""

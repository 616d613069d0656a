"""All rules of the ALUs in one table."""

from collections.abc import Callable, Mapping

from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.translator.wave import Wave

ALU: Mapping[str, Callable[[Wave, Instruction], None]] = {}
"""Scalar and vector operations by name."""

LOOKS_AT_BITS: frozenset[str] = frozenset()
"""Operations that look at the bits of operands whose types are floats."""

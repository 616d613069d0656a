"""All rules of the ALUs in one table."""

from collections.abc import Callable, Mapping

from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.translator.alu import LOOKS_AT_BITS, SCALAR, VECTOR
from autoclave.emulator.rdna4.translator.wave import Wave

__all__ = ["ALU", "LOOKS_AT_BITS"]

ALU: Mapping[str, Callable[[Wave, Instruction], None]] = {**VECTOR, **SCALAR}
"""Scalar and vector operations by name."""

"""Scalar operations that change EXEC and keep what it was: s_and_saveexec_b32 and the like."""

from collections.abc import Callable

from autoclave.emulator.ir import Builder, Value, constant
from autoclave.emulator.rdna4.instruction import EXEC, Destination, Instruction, Register
from autoclave.emulator.rdna4.translator.wave import Wave

Operation = Callable[[Builder, Value, Value], Value]
"""Of the source and EXEC."""

_OPERATIONS: dict[str, Operation] = {
    "and": lambda ir, source, on: ir.binary("and", source, on),
    "or": lambda ir, source, on: ir.binary("or", source, on),
    "xor": lambda ir, source, on: ir.binary("xor", source, on),
    "nand": lambda ir, source, on: ir.invert(ir.binary("and", source, on)),
    "nor": lambda ir, source, on: ir.invert(ir.binary("or", source, on)),
    "xnor": lambda ir, source, on: ir.invert(ir.binary("xor", source, on)),
    "and_not0": lambda ir, source, on: ir.binary("and", ir.invert(source), on),
    "and_not1": lambda ir, source, on: ir.binary("and", source, ir.invert(on)),
    "or_not0": lambda ir, source, on: ir.binary("or", ir.invert(source), on),
    "or_not1": lambda ir, source, on: ir.binary("or", source, ir.invert(on)),
}


def _save_exec(wave: Wave, instruction: Instruction) -> None:
    """The destination becomes the old EXEC (of wrexec the new one), EXEC the result, SCC whether that has a lane."""
    operation, kind, _ = instruction.name.removeprefix("s_").rsplit("_", 2)
    source, before = wave.scalar(instruction.sources[0]), wave.scalars.read(EXEC)
    after = wave.existing(_OPERATIONS[operation](wave.ir, source, before))
    wave.write_scalar(instruction.destinations[0], before if kind == "saveexec" else after)
    wave.write_scalar(Destination(Register("s", EXEC), "b32"), after)
    wave.set_scc(wave.ir.compare("ne", after, constant(0, "i32")))


EXEC_MOVES = {
    **{f"s_{name}_saveexec_b32": _save_exec for name in _OPERATIONS},
    **{f"s_{name}_wrexec_b32": _save_exec for name in ("and_not0", "and_not1")},
}
"""By name."""

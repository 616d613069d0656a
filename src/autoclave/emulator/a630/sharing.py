"""Which threads see each other's work: those cannot be interpreted alone."""

from collections.abc import Iterable

from autoclave.emulator.a630.instruction import Instruction


def works_together(instructions: Iterable[Instruction]) -> bool:
    """Whether threads of a workgroup see each other: a thread alone would not do what it does among the others."""
    return any(
        instruction.name in ("bar", "ldl", "stl") or instruction.name.startswith("atomic.")
        for instruction in instructions
    )


def changes_buffers_in_turn(instructions: Iterable[Instruction]) -> bool:
    """Whether workgroups see each other: what an atomic on a buffer finds there depends on all that ran before."""
    return any(instruction.name.startswith("atomic.g") for instruction in instructions)

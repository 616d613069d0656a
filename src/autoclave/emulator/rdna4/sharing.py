"""Which waves see each other's work: those cannot be interpreted alone."""

from collections.abc import Iterable

from autoclave.emulator.rdna4.instruction import Instruction

_WITHOUT_MEMORY = ("ds_bpermute", "ds_permute", "ds_swizzle", "ds_nop")
"""DS instructions that move values between lanes of one wave."""


def works_together(instructions: Iterable[Instruction]) -> bool:
    """Whether waves of a workgroup see each other: a wave alone would not do what it does among the others."""
    return any(
        instruction.name.startswith("s_barrier")
        or (instruction.encoding == "DS" and not instruction.name.startswith(_WITHOUT_MEMORY))
        or _is_atomic(instruction)
        for instruction in instructions
    )


def changes_buffers_in_turn(instructions: Iterable[Instruction]) -> bool:
    """Whether workgroups see each other: what an atomic on a buffer finds there depends on all that ran before."""
    return any(_is_atomic(instruction) for instruction in instructions)


def _is_atomic(instruction: Instruction) -> bool:
    return instruction.name.startswith(("global_atomic_", "flat_atomic_"))

"""Blocks and branches as IR. Branches are scalar, so that they are the host's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autoclave.emulator.ir import Value
from autoclave.emulator.rdna4.instruction import EXEC, VCC, Instruction
from autoclave.emulator.rdna4.translator.execution import Execution
from autoclave.emulator.rdna4.translator.flow import END, Block
from autoclave.emulator.rdna4.translator.observation import Observation
from autoclave.emulator.rdna4.translator.wave import Wave
from autoclave.emulator.translator.workgroups import VECTOR_DONE, Workgroups

Execute = Callable[[Instruction, Sequence[Instruction]], None]
"""Carries out one instruction; has those that follow in the block."""


@dataclass(slots=True)
class Control:
    """Emits a kernel's blocks. active: how many threads the wave has (i64). begin: called where a block begins."""

    wave: Wave
    workgroups: Workgroups
    blocks: Sequence[Block]
    execution: Execution
    observation: Observation
    active: Value
    execute: Execute
    begin: Callable[[], None]

    def emit(self) -> None:
        """All blocks; the wave begins at that of `label(0)`."""
        for block in self.blocks:
            self._block(block)

    def _block(self, block: Block) -> None:
        wave, number = self.wave, block.number
        wave.ir.label(label(number))
        full, behind = self.execution.full[number], self.observation.behind[number]
        wave.begin(full[0], self.execution.known[number].literals)
        self.begin()
        for place, instruction in enumerate(block.instructions):
            wave.pc = instruction.pc
            wave.full = full[place]
            wave.kept, wave.live = behind[place].kept, behind[place].live
            self.execute(instruction, block.instructions[place + 1 :])
            wave.set_full(full[place + 1])
        condition = self._condition(block.condition) if block.condition else None
        uses = self.observation.at_end(block)
        wave.finish(uses)
        self.workgroups.spend(wave.ir.with_constant("mul", self.active, block.weight))
        if block.barrier and self.workgroups.waits:
            self.workgroups.check_budget()
            self.workgroups.barriers.wait(wave.kept_variables(uses.live))
        if any(successor <= number for successor in block.successors):
            self.workgroups.check_budget()
        if condition is None:
            wave.ir.jump(label(block.target))
        else:
            wave.ir.branch(condition, label(block.target), label(block.other))

    def _condition(self, name: str) -> Value:
        wave, ir = self.wave, self.wave.ir
        what = name.removeprefix("s_cbranch_")
        if what.startswith("scc"):
            scc = wave.scc()
            return scc if what == "scc1" else ir.invert(scc)
        zero = wave.scalars.is_zero(VCC if what.startswith("vcc") else EXEC)
        return zero if what in ("vccz", "execz") else ir.invert(zero)


def label(number: int) -> str:
    """Of a block."""
    return VECTOR_DONE if number == END else f"block{number}"

"""The gfx1200's interpreter as the emulator's core sees it."""

from autoclave.emulator.interpretation import Interpretation
from autoclave.emulator.launch import Launch, Size3
from autoclave.emulator.rdna4.arithmetic import RULES
from autoclave.emulator.rdna4.arithmetic_use import rules_of
from autoclave.emulator.rdna4.decoder import decode_kernel
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.interpreter import Interpreter
from autoclave.emulator.rdna4.machine import WAVE
from autoclave.emulator.rdna4.matrices import matrix_use
from autoclave.emulator.rdna4.sharing import changes_buffers_in_turn, works_together
from autoclave.emulator.rdna4.text import text
from autoclave.emulator.rdna4.trace import Executed, trace_thread
from autoclave.emulator.rdna4.trace_lines import line
from autoclave.emulator.trace_lines import Execution, Report


def _disassembly(code: bytes, name: str) -> list[str]:
    return [text(instruction) for instruction in decode_kernel(code, name)]


def _operations(instruction: Instruction) -> tuple[str, ...]:
    return tuple(part.name for part in instruction.dual or (instruction,))


def _trace(launch: Launch, workgroup: Size3, thread: int, report: Report) -> int:
    def tell(executed: Executed) -> None:
        report(Execution(executed.instruction.pc, 0, lambda: line(executed)))

    return trace_thread(launch, workgroup, thread, tell)


GFX1200 = Interpretation(
    unit=WAVE,
    interpreter=Interpreter,
    works_together=works_together,
    changes_buffers_in_turn=changes_buffers_in_turn,
    decode=decode_kernel,
    disassembly=_disassembly,
    operations=_operations,
    rules=RULES,
    rules_of=rules_of,
    trace=_trace,
    matrix_use=matrix_use,
)

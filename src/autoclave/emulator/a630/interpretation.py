"""The a630's interpreter as the emulator's core sees it."""

from autoclave.emulator.a630.arithmetic import RULES
from autoclave.emulator.a630.arithmetic_use import rules_of
from autoclave.emulator.a630.decoder import decode_kernel
from autoclave.emulator.a630.instruction import Instruction
from autoclave.emulator.a630.interpreter import Interpreter
from autoclave.emulator.a630.sharing import changes_buffers_in_turn, works_together
from autoclave.emulator.a630.text import text
from autoclave.emulator.a630.trace import Executed, trace_thread
from autoclave.emulator.a630.trace_lines import line
from autoclave.emulator.interpretation import Interpretation
from autoclave.emulator.launch import Launch, Size3
from autoclave.emulator.trace_lines import Execution, Report


def _disassembly(code: bytes, name: str) -> list[str]:
    return [text(instruction) for instruction in decode_kernel(code, name)]


def _operations(instruction: Instruction) -> tuple[str, ...]:
    return (instruction.name,)


def _trace(launch: Launch, workgroup: Size3, thread: int, report: Report) -> int:
    def tell(executed: Executed) -> None:
        report(Execution(executed.instruction.pc, executed.repetition, lambda: line(executed)))

    return trace_thread(launch, workgroup, thread, tell)


A630 = Interpretation(
    unit=1,
    interpreter=Interpreter,
    works_together=works_together,
    changes_buffers_in_turn=changes_buffers_in_turn,
    decode=decode_kernel,
    disassembly=_disassembly,
    operations=_operations,
    rules=RULES,
    rules_of=rules_of,
    trace=_trace,
)

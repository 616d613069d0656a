"""One more run, call by call, in which the interpreter has a look at the first launch of every kernel."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from autoclave.emulator.a630.instruction import Instruction
from autoclave.emulator.a630.interpreter import Interpreter
from autoclave.emulator.a630.interpreter_operands import Step as InterpreterStep
from autoclave.emulator.a630.launch import kernel_of
from autoclave.emulator.a630.machine import Machine
from autoclave.emulator.a630.sampling import CrossCheck, choose, cross_check
from autoclave.emulator.launch import Launch
from autoclave.emulator.model import EmulatedModel, Step
from autoclave.emulator.overlay import Overlay
from autoclave.errors import BudgetExceeded
from autoclave.native.model import Tensors
from autoclave.parity.a630.evidence import Mix


@dataclass(frozen=True, slots=True)
class InspectedKernel:
    """What the interpreter says of kernel number `number`, or why it cannot. `mix`: what one of its threads executes."""

    number: int
    name: str
    checked: CrossCheck | None
    mix: Mix
    reason: str = ""


def inspect_kernels(model: EmulatedModel, inputs: Tensors) -> Iterator[InspectedKernel]:
    """Run `model` on `inputs` from the first call of `init` on; each kernel is inspected at its first launch."""
    seen: set[int] = set()
    for step in model.start(inputs):
        if step.number is None or step.number in seen:
            model.execute(step)
        else:
            seen.add(step.number)
            yield _inspected(model, step, step.number)


def _inspected(model: EmulatedModel, step: Step, number: int) -> InspectedKernel:
    assert step.launch is not None
    counter = _Counter()
    interpreter = Interpreter(kernel_of(step.launch), counter)
    try:
        counter.run(interpreter, step.launch)
        checked = cross_check(step.launch, lambda: model.execute(step), interpreter=interpreter)
    except BudgetExceeded as error:
        model.execute(step)
        return InspectedKernel(number, step.name, None, counter.counts, str(error))
    return InspectedKernel(number, step.name, checked, counter.counts)


@dataclass(slots=True)
class _Counter:
    """An observer that counts what one thread executes."""

    counts: Counter[Instruction] = field(default_factory=Counter)

    def __call__(
        self, machine: Machine, instruction: Instruction, steps: tuple[InterpreterStep, ...]
    ) -> tuple[InterpreterStep, ...]:
        def count() -> None:
            self.counts[instruction] += 1 + instruction.repeat

        return (count, *steps)

    def run(self, interpreter: Interpreter, launch: Launch) -> None:
        """Run the first thread, or the first workgroup if its threads work together."""
        first = next(choose(launch, interpreter.instructions, 0))
        interpreter.run_workgroup(launch, first.workgroup, Overlay(), first.threads, observed=0)

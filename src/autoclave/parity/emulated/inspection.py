"""One more run, call by call, in which the interpreter has a look at the first launch of every kernel."""

from collections.abc import Iterator
from dataclasses import dataclass

from autoclave.emulator.interpretation import MatrixUse
from autoclave.emulator.interpretations import interpretation_of
from autoclave.emulator.model import EmulatedModel, Step
from autoclave.emulator.sampling import CrossCheck, cross_check
from autoclave.errors import BudgetExceeded
from autoclave.native.model import Tensors
from autoclave.parity.emulated.evidence import Mix


@dataclass(frozen=True, slots=True)
class InspectedKernel:
    """What the interpreter says of kernel number `number`, or why it cannot.

    mix: what one of its threads, or waves of them, executes. matrices: None of a GPU without products of matrices.
    """

    number: int
    name: str
    checked: CrossCheck | None
    mix: Mix
    reason: str = ""
    matrices: MatrixUse | None = None


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
    known = interpretation_of(step.launch.kernel)
    interpreter = known.interpreter(step.launch.kernel)
    matrices = known.matrix_use(step.launch, interpreter.instructions) if known.matrix_use else None
    try:
        checked, reason = cross_check(step.launch, lambda: model.execute(step), interpreter=interpreter), ""
    except BudgetExceeded as error:
        checked, reason = None, str(error)
        model.execute(step)
    return InspectedKernel(number, step.name, checked, interpreter.executed(), reason, matrices)

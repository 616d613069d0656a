"""Rung 3: a second implementation, the interpreter, agrees with the host code on sampled threads of every kernel."""

from collections import Counter
from collections.abc import Sequence

from autoclave.emulator.sampling import CrossCheck
from autoclave.parity.emulated.inspection import InspectedKernel
from autoclave.parity.gates import REPLAY, GateResult

GATE = "cross-check"
_SHOWN = 3
"""Differences of one kernel that a report lists."""


def cross_check_results(kernels: Sequence[InspectedKernel]) -> list[GateResult]:
    """One result for all kernels that agree, one for each that does not or could not be checked."""
    results = [result for kernel in kernels if (result := _objection(kernel)) is not None]
    if any(result.status == "failed" for result in results):
        return results
    return [_agreement([kernel.checked for kernel in kernels if kernel.checked is not None]), *results]


def _objection(kernel: InspectedKernel) -> GateResult | None:
    subject = f"kernel {kernel.number} {kernel.name}"
    checked = kernel.checked
    if checked is None:
        return GateResult(REPLAY, GATE, subject, "warning", f"not checked: {kernel.reason}")
    if not checked.differences:
        return None
    shown = "; ".join(map(str, checked.differences[:_SHOWN]))
    message = (
        f"{len(checked.differences)} of {checked.elements} elements that {checked.threads} threads of its first launch wrote "
        f"differ from the interpreter's: {shown}"
    )
    return GateResult(REPLAY, GATE, subject, "failed", message, {"differences": float(len(checked.differences))})


def _agreement(checks: Sequence[CrossCheck]) -> GateResult:
    figures = Counter[str]()
    for checked in checks:
        figures.update(threads=checked.threads, elements=checked.elements, instructions=checked.instructions)
    message = (
        f"{figures['elements']} values that {figures['threads']} sampled threads wrote equal the interpreter's, bit for bit "
        f"({figures['instructions']} instructions)"
    )
    floats = {name: float(count) for name, count in figures.items()}
    return GateResult(REPLAY, GATE, f"{len(checks)} kernels", "passed", message, floats)

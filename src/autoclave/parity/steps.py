"""Rung 4 of a part with state, over several steps: what it feeds back to itself stays what the reference feeds back to itself.

One run on check inputs says that a part computes the right outputs of a given state. It does not say that the state it leaves behind is the
one that it expects. So part and reference both start at zeros, get the same inputs, and each its own state.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from autoclave.artifact.model import Part
from autoclave.native.model import Tensors
from autoclave.parity.gates import REFERENCE, GateResult, max_error
from autoclave.parity.hardware import Runner
from autoclave.parity.inputs import check_input
from autoclave.parity.tolerance import Tolerance

STEPS = 5
LATER = 2
"""Times the tolerance is what outputs may be off after the first step: their own error, and as much that the state brings along."""

Run = Callable[[Tensors], Tensors]


def own_state(part: Part, state: Collection[Sequence[str]]) -> dict[str, str]:
    """Of the pairs (input, output) `state`, those whose both ends `part` has, by the input's name."""
    inputs, outputs = {spec.name for spec in part.inputs}, {spec.name for spec in part.outputs}
    return {name: following for name, following in state if name in inputs and following in outputs}


def step_results(
    runner: Runner, reference: Run, state: Collection[Sequence[str]], seed: int, tolerance: Tolerance
) -> Iterator[GateResult]:
    """One result for each output of `runner`, whose message says how far it was from the reference's in `STEPS` steps at most.

    `state`: pairs of an input and the output that becomes it. None of the part's own, no results. Inputs of step k are those of
    `seed` + k.
    """
    pairs = own_state(runner.part, state)
    if not pairs:
        return
    errors: dict[str, list[float]] = {spec.name: [] for spec in runner.part.outputs}
    mine = theirs = _zeros(runner.part, pairs)
    for step in range(STEPS):
        new = {spec.name: check_input(spec, seed + step) for spec in runner.part.inputs if spec.name not in pairs}
        actual, expected = runner.run(new | mine), reference(new | theirs)
        for name, found in errors.items():
            found.append(max_error(actual[name], expected[name]))
        mine = {name: actual[following] for name, following in pairs.items()}
        theirs = {name: np.asarray(expected[following], mine[name].dtype) for name, following in pairs.items()}
    for name, found in errors.items():
        yield _result(name, found, tolerance)


def _zeros(part: Part, pairs: Collection[str]) -> Tensors:
    return {spec.name: np.zeros(spec.shape, spec.dtype) for spec in part.inputs if spec.name in pairs}


def _result(output: str, errors: list[float], tolerance: Tolerance) -> GateResult:
    """Not passed if one error is too large, or none, as of NaN."""
    allowed = [tolerance.error * (1 if step == 0 else LATER) for step in range(len(errors))]
    beyond = [step for step, error in enumerate(errors) if not error <= allowed[step]]
    shown = beyond[0] if beyond else errors.index(max(errors))
    message = f"over {len(errors)} steps from zeros, error {errors[shown]:.3g}, allowed {allowed[shown]:.3g}"
    if beyond:
        message += f"; first beyond it in step {beyond[0] + 1}"
    figures = {"error": errors[shown], "allowed": allowed[shown], "steps": float(len(errors))}
    return GateResult(REFERENCE, "steps", output, "failed" if beyond else "passed", message, figures)

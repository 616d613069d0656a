"""Two artifacts of one model for an emulated GPU, by two compilers, kernel by kernel on the same inputs.

    PYTHONPATH=src python benchmarks/compilers.py S.chestnut.pkl S.hip.chestnut.pkl
    PYTHONPATH=src python benchmarks/compilers.py S.chestnut.pkl S.hip.chestnut.pkl --listings /tmp/listings

Each kernel of a run of the first artifact runs twice, as each compiler has it, on what memory holds there in the first one's run, so
that no difference reaches the kernels after it. Needs what the emulators need. Printed for each kernel whose results differ: how many elements, by how many
units in the last place at most, by how much of the largest result, and the operations of which the two codes have different
numbers: what rounds, and how often.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autoclave.artifact.model import Program
from autoclave.artifact.reader import Artifact, open_artifact
from autoclave.emulator.architectures import architecture_of_device
from autoclave.emulator.interpretations import interpretation_of
from autoclave.emulator.jit import best_target
from autoclave.emulator.launch import Bound, KernelCode, Launch
from autoclave.emulator.model import EmulatedModel, Placement, Step
from autoclave.emulator.program import LaunchShape, launch_shape, load_programs
from autoclave.emulator.program import Program as Loaded
from autoclave.emulator.shapes import artifact_work, stored_kernel, translate_work
from autoclave.parity.inputs import CHECK_SEED, check_inputs

PROCESSES = 1
PART = "run"
ROUNDS = ("_f16", "_f32", "_f64", "_mix", "_wmma", "_dot2")
"""What the names of operations contain that compute with floats."""

KEPT = ("v_cmp", "v_cmpx", "v_max", "v_min", "v_med3", "v_pk_max", "v_pk_min", "v_cndmask", "v_mov")
"""How those of them begin that round nothing."""


@dataclass(frozen=True)
class Outcome:
    """What a launch gave as one compiler has its kernel and as the other has it."""

    name: str
    ours: list[Any]
    others: list[Any]
    operations: tuple[Counter[str], Counter[str]]

    @property
    def same(self) -> bool:
        """Whether all bits are the same."""
        return all(mine.tobytes() == other.tobytes() for mine, other in zip(self.ours, self.others, strict=True))


class Recompiled:
    """The kernels of an artifact, for launches on another's memory."""

    def __init__(self, artifact: Artifact) -> None:
        work = artifact_work(artifact)
        translated = translate_work(work, best_target(), PROCESSES)
        shapes = (each.shape for each in work)
        self._artifact = artifact
        self._part = artifact.part(PART)
        self._architecture = architecture_of_device(self._part.target.device, str(artifact.path))
        self._programs: dict[LaunchShape, Loaded] = dict(zip(shapes, load_programs(translated), strict=True))

    def run(self, step: Step) -> KernelCode:
        """Run the call that stands where `step` does, on the step's memory. Its kernel."""
        stage = self._part.init if step.stage == "init" else self._part.calls
        call = stage[step.index]
        assert isinstance(call, Program) and step.launch is not None
        kernel = self._artifact.header.kernels[call.kernel]
        if kernel.name != step.name or [each.nbytes for each in call.args] != [
            each.values.nbytes for each in step.tensors
        ]:
            sys.exit(f"call {step.index} is {step.name} in one artifact and {kernel.name} in the other")
        code = stored_kernel(self._artifact, self._part.target.device, call.kernel)
        bound = [
            Bound(buffer.memory, parameter.shape, parameter.dtype)
            for buffer, parameter in zip(step.launch.buffers, kernel.signature, strict=False)
        ]
        launch = self._architecture.bind_launch(code, call.global_size, call.local_size, bound, call.values)
        self._programs[launch_shape(launch)].run(launch)
        return code


def main() -> None:
    """Compare and print."""
    arguments = parsed_arguments()
    with open_artifact(arguments.first) as first, open_artifact(arguments.second) as second:
        check_comparable(first, second)
        found = list(outcomes(first, Recompiled(second), arguments.listings))
    differing = [each for each in found if not each.same]
    print(f"{len(found)} launches, {len(found) - len(differing)} give the same bits\n")
    for outcome in differing:
        print_outcome(outcome)


def parsed_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path, help="an artifact with the part `run`")
    parser.add_argument("second", type=Path, help="another of the same model, for the same hardware")
    parser.add_argument("--listings", type=Path, help="write both codes of kernels that differ to this folder")
    return parser.parse_args()


def check_comparable(first: Artifact, second: Artifact) -> None:
    """Exit unless both have as many calls: what they call is checked as they run."""
    ours, others = first.part(PART), second.part(PART)
    if (len(ours.init), len(ours.calls)) != (len(others.init), len(others.calls)):
        sys.exit(f"{first.path} has {len(ours.calls)} calls, {second.path} {len(others.calls)}: not one model")


def outcomes(artifact: Artifact, recompiled: Recompiled, listings: Path | None) -> Iterator[Outcome]:
    """Every launch of a run of `artifact`, with the check inputs."""
    model = EmulatedModel(artifact, PART, Placement(best_target()))
    for step in model.start(check_inputs(model.part, CHECK_SEED)):
        if step.launch is None:
            model.execute(step)
            continue
        before = [memory.copy() for memory in written(step.launch)]
        code = recompiled.run(step)
        others = [tensor.values.copy() for tensor in step.written]
        for memory, content in zip(written(step.launch), before, strict=True):
            memory[...] = content
        model.execute(step)
        ours = [tensor.values.copy() for tensor in step.written]
        outcome = Outcome(f"{step.index} {step.name}", ours, others, (operations(step.launch.kernel), operations(code)))
        if listings is not None and not outcome.same:
            listings.mkdir(parents=True, exist_ok=True)
            for which, kernel in (("first", step.launch.kernel), ("second", code)):
                lines = interpretation_of(kernel).disassembly(kernel.code, kernel.name)
                (listings / f"{step.index:03}-{step.name}.{which}.s").write_text("\n".join(lines) + "\n")
        yield outcome


def written(launch: Launch) -> list[Any]:
    """The launch's memory that it may write."""
    return [each.memory for each in launch.buffers if each.memory.flags.writeable]


def operations(kernel: KernelCode) -> Counter[str]:
    """How many of each operation that rounds there are in the code, in pairs or alone, not how often they are executed."""
    interpretation = interpretation_of(kernel)
    names = (
        name.replace("v_dual_", "v_")
        for each in interpretation.decode(kernel.code, kernel.name)
        for name in interpretation.operations(each)
    )
    return Counter(name for name in names if any(part in name for part in ROUNDS) and not name.startswith(KEPT))


def print_outcome(outcome: Outcome) -> None:
    """A launch's differences, and what its two codes have that could make them."""
    ours, others = (np.concatenate([each.ravel() for each in some]) for some in (outcome.ours, outcome.others))
    apart = units_apart(ours, others)
    largest = float(np.abs(ours.astype(np.float64)).max())
    zeros = np.count_nonzero((apart == 0) & (np.signbit(ours) != np.signbit(others)))
    share = float(np.abs(ours.astype(np.float64) - others.astype(np.float64)).max()) / largest
    print(
        f"{outcome.name}: {np.count_nonzero(apart)} of {apart.size} elements of {ours.dtype}, at most {apart.max()} units"
    )
    print(f"  in the last place, and {share:.1e} of the largest result")
    if zeros:
        print(f"  {zeros} zeros of the other sign")
    first, second = outcome.operations
    for name in sorted(first.keys() | second.keys()):
        if first[name] != second[name]:
            print(f"    {name:24} {first[name]:4} {second[name]:4}")
    if first == second:
        print("    the same operations, in another order or with other operands")


def units_apart(ours: Any, others: Any) -> Any:
    """How many floats of their dtype lie between two arrays' elements: the distance of their places in order."""
    places = []
    for values in (ours, others):
        bits = values.view(f"i{values.itemsize}").astype(np.int64)
        sign = np.int64(1) << (8 * values.itemsize - 1)
        places.append(np.where(bits < 0, -(bits + sign), bits))
    return np.abs(places[0] - places[1])


if __name__ == "__main__":
    main()

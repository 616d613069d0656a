"""`autoclave run`: run an artifact once, on this processor or on the emulator, in the sandbox."""

import argparse
import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoclave.artifact.model import Part
from autoclave.cli.confined import action_directory, add_sandbox_option, bring, deliver, produced, run_confined
from autoclave.cli.frames import add_frames_options, check_frames_options, run_frames
from autoclave.cli.modules import EMULATED_HARDWARE, NATIVE, NATIVE_RUN, RUN
from autoclave.cli.parts import PART_HELP, chosen_part
from autoclave.cli.text import columns, natural, printable, shape_text
from autoclave.errors import AutoclaveError

if TYPE_CHECKING:
    from autoclave.native.model import Tensors

NAME = "run"
HELP = "run an artifact in the sandbox: inputs and outputs as .npz, or a drive through camera frames"
EXAMPLES = """\
examples:
  autoclave run dist/models/pop223/cpu/pop223_driving_tinygrad.pkl --seed 42
                                    what does it give for the check inputs?
  autoclave run ARTIFACT --inputs in.npz --output out.npz
                                    inputs and outputs as numpy.savez writes them, by the names that inspect shows
  autoclave run ARTIFACT --seed 42 --repeat 100
                                    how long does a forward pass take?
  autoclave run ARTIFACT --frames video.npz --part 1928x1208 --plot road.svg
                                    what does a driving model see and plan? frames go through warp, queues and model as in a car

Artifacts for cpu are native code; those for qcom and chestnut are translated to native code first, which takes some seconds,
and run on an emulator. All run in a sandbox without network or files.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `autoclave run`."""
    parser.epilog = EXAMPLES
    parser.add_argument("artifact", type=Path, metavar="ARTIFACT", help="the artifact's file")
    inputs = parser.add_mutually_exclusive_group(required=True)
    inputs.add_argument("--inputs", type=Path, metavar="FILE", help=".npz file with one array per input")
    inputs.add_argument("--seed", type=natural, metavar="N", help="make the inputs from this seed; check files use 42")
    inputs.add_argument("--frames", type=Path, metavar="FILE", help=".npz file of camera frames, to drive through")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the outputs to this .npz file")
    parser.add_argument("--part", metavar="KEY", help=PART_HELP)
    parser.add_argument("--repeat", type=natural, default=0, metavar="N", help="time N more forward passes")
    add_frames_options(parser)
    add_sandbox_option(parser)


def run(args: argparse.Namespace) -> int:
    """Run the artifact and print what its outputs look like."""
    check_frames_options(args)
    return run_frames(args) if args.frames else _run_once(args)


def _run_once(args: argparse.Namespace) -> int:
    from autoclave.native.tensor_files import read_tensors

    with action_directory() as directory:
        artifact = bring(directory, "artifact", args.artifact)
        part = chosen_part(args.artifact, args.part)
        module = _module(args.artifact, part)
        request: dict[str, Any] = {
            "artifact": artifact,
            "part": part.key if isinstance(part.key, str) else list(part.key),
            "inputs": _inputs(args, part, directory),
            "output": "out/outputs.npz",
            "repeat": args.repeat,
        }
        names = {artifact: args.artifact}
        if args.inputs:
            names[request["inputs"]] = args.inputs
        done = run_confined(directory, module, request, names, args.sandbox)
        outputs = read_tensors(produced(directory, "out/outputs.npz"), part.outputs)
        if args.output:
            deliver(directory, "out/outputs.npz", args.output)
    print("\n".join(_output_lines(outputs)))
    if args.repeat:
        print(_timing_line(done.stdout))
    return 0


def _module(path: Path, part: Part) -> str:
    """The module that runs the part. Raises `AutoclaveError` if there is none."""
    device = part.target.device
    if device not in RUN and device != NATIVE:
        raise AutoclaveError(f"{path}: it is for {device}; run takes artifacts of hardware cpu, {EMULATED_HARDWARE}")
    return RUN.get(device, NATIVE_RUN)


def _inputs(args: argparse.Namespace, part: Part, directory: Path) -> str:
    """Path, in the action's directory, of the .npz file of inputs."""
    from autoclave.native.tensor_files import write_tensors
    from autoclave.parity.inputs import check_inputs

    if args.inputs:
        return bring(directory, "inputs", args.inputs)
    write_tensors(directory / "inputs/check.npz", check_inputs(part, args.seed))
    return "inputs/check.npz"


def _output_lines(outputs: "Tensors") -> list[str]:
    rows: list[tuple[object, ...]] = [("output", "dtype", "shape", "min", "mean", "max")]
    for name, tensor in outputs.items():
        wide = tensor.astype("float64")
        figures = (f"{value:.6g}" for value in (wide.min(), wide.mean(), wide.max())) if wide.size else ("", "", "")
        rows.append((printable(name), tensor.dtype.name, shape_text(tensor.shape), *figures))
    return columns(rows, indent=0)


def _timing_line(stdout: str) -> str:
    try:
        seconds = json.loads(stdout.splitlines()[-1])["seconds"]
        runs = [1000 * float(second) for second in seconds["run"]]
        return (
            f"load {1000 * float(seconds['load']):.1f} ms; forward, {len(runs)} times: "
            f"median {statistics.median(runs):.2f} ms, fastest {min(runs):.2f} ms, slowest {max(runs):.2f} ms"
        )
    except (IndexError, KeyError, TypeError, ValueError):
        # The artifact's code runs in the process that prints this, and may print what it likes.
        return "the run printed no timings"

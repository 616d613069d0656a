"""`autoclave trace`: what one thread of a launch executes, with register values."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from autoclave.artifact.model import Part, Program
from autoclave.artifact.reader import Artifact, key_text, open_artifact
from autoclave.cli.disasm import find_kernel
from autoclave.cli.text import count_text, printable
from autoclave.errors import ArtifactError, AutoclaveError

if TYPE_CHECKING:
    from autoclave.emulator.a630.launch import Launch, Size3
    from autoclave.native.model import Tensors

NAME = "trace"
HELP = "show what one GPU thread of a kernel executes, with register values (a630)"
EXAMPLES = """\
examples:
  autoclave trace ARTIFACT 3                         kernel number 3, as `autoclave inspect` numbers them: its first thread
  autoclave trace ARTIFACT r_64_32 --lane 5          thread 5 of the first workgroup (x varies fastest)
  autoclave trace ARTIFACT 3 --workgroup 0,0,7       the first thread of another workgroup
  autoclave trace ARTIFACT 3 --launch 1              the second time that the model launches this kernel
  autoclave trace ARTIFACT 3 --from-pc 40 --times 5  begin where instruction 40 is first reached; five rounds of each loop
  autoclave trace ARTIFACT 3 --inputs in.npz         with inputs of your own, not those of seed 42

Everything before the launch is run on the emulator, so the kernel finds in memory what it would find on the device. One line
is an execution: what it wrote, then what it read, in hex and as a number (f32, or f16 in half registers).
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `autoclave trace`."""
    parser.epilog = EXAMPLES
    parser.add_argument("artifact", type=Path, metavar="ARTIFACT", help="the artifact's file, of hardware=qcom")
    parser.add_argument("kernel", metavar="KERNEL", help="the kernel's number, its name, or the start of its name")
    parser.add_argument("--lane", type=_natural, default=0, metavar="N", help="thread of the workgroup (default 0)")
    parser.add_argument(
        "--workgroup", type=_coordinates, default=(0, 0, 0), metavar="X,Y,Z", help="workgroup (default 0,0,0)"
    )
    parser.add_argument(
        "--launch",
        type=_natural,
        default=0,
        metavar="N",
        help="which launch of the kernel, if there are several (from 0)",
    )
    parser.add_argument("--part", metavar="KEY", help="which part, if several launch it: a name, or WIDTHxHEIGHT")
    inputs = parser.add_mutually_exclusive_group()
    inputs.add_argument("--inputs", type=Path, metavar="FILE", help=".npz file with one array per input")
    inputs.add_argument(
        "--seed", type=_natural, default=42, metavar="N", help="make the inputs from this seed (default 42)"
    )
    parser.add_argument(
        "--limit", type=_natural, default=1000, metavar="N", help="stop after N lines (default 1000, 0: never)"
    )
    parser.add_argument(
        "--times",
        type=_natural,
        default=2,
        metavar="N",
        help="show N executions of each instruction (default 2, 0: all)",
    )
    parser.add_argument("--from-pc", type=_natural, default=0, metavar="PC", help="begin when PC is first reached")


def run(args: argparse.Namespace) -> int:
    """Print the trace."""
    from autoclave.cli.trace_lines import TraceLines
    from autoclave.emulator.a630.trace import trace_thread

    with open_artifact(args.artifact) as artifact:
        number = find_kernel(artifact, args.kernel)
        part = _part(artifact, number, args.part)
        places = _launches(part, number)
        if args.launch >= len(places):
            raise ArtifactError(
                f"{artifact.path}: kernel {number} {artifact.header.kernels[number].name} is launched "
                f"{count_text(len(places), 'time')} in part {key_text(part.key)}; --launch counts from 0"
            )
        launch = _bound(artifact, part, places[args.launch], _inputs(args, part))
        _check_thread(launch, args.workgroup, args.lane)
        print(_title(artifact, number, launch, args, len(places)))
        lines = TraceLines(print, args.limit, args.times, args.from_pc)
        executed = lines.stopped(lambda report: trace_thread(launch, args.workgroup, args.lane, report))
        print(lines.summary(executed))
    return 0


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 up, got {text}")
    return int(text)


def _coordinates(text: str) -> "Size3":
    numbers = text.split(",")
    if len(numbers) > 3 or not all(number.isdecimal() for number in numbers):
        raise argparse.ArgumentTypeError(f"expected coordinates such as 0,3,1, got {text}")
    x, y, z = (int(number) for number in [*numbers, "0", "0"][:3])
    return x, y, z


def _part(artifact: Artifact, number: int, key: str | None) -> Part:
    """The part called `key`, or the first one that launches kernel `number`."""
    if key is not None:
        return artifact.part(key)
    for part in artifact.header.parts:
        if _launches(part, number):
            return part
    raise ArtifactError(f"{artifact.path}: no part launches kernel {number}")


def _launches(part: Part, number: int) -> list[int]:
    """The places, among the calls of `init` and of a run after them, at which the part launches kernel `number`."""
    calls = (*part.init, *part.calls)
    return [at for at, call in enumerate(calls) if isinstance(call, Program) and call.kernel == number]


def _inputs(args: argparse.Namespace, part: Part) -> "Tensors":
    from autoclave.native.tensor_files import read_tensors
    from autoclave.parity.inputs import check_inputs

    return read_tensors(args.inputs, part.inputs) if args.inputs else check_inputs(part, args.seed)


def _bound(artifact: Artifact, part: Part, place: int, inputs: "Tensors") -> "Launch":
    """The launch at `place`, with memory as all calls before it leave it."""
    from autoclave.emulator.jit import best_target
    from autoclave.emulator.model import EmulatedModel, Placement

    model = EmulatedModel(artifact, part.key, Placement(best_target()))
    for at, step in enumerate(model.start(inputs)):
        if at == place and step.launch is not None:
            return step.launch
        model.execute(step)
    raise ArtifactError(f"{artifact.path}: part {key_text(part.key)} has no call {place}")


def _check_thread(launch: "Launch", workgroup: "Size3", lane: int) -> None:
    from autoclave.emulator.a630.machine import thread_count

    if any(at >= size for at, size in zip(workgroup, launch.global_size, strict=True)):
        raise AutoclaveError(
            f"there is no workgroup {_by(workgroup, ',')}; the launch has {_by(launch.global_size, ' x ')}"
        )
    if lane >= thread_count(launch):
        raise AutoclaveError(
            f"there is no lane {lane}; a workgroup has {thread_count(launch)} threads, {_by(launch.local_size, ' x ')}"
        )


def _by(numbers: "Size3", joint: str) -> str:
    return joint.join(map(str, numbers))


def _title(artifact: Artifact, number: int, launch: "Launch", args: argparse.Namespace, launches: int) -> str:
    return printable(
        f"kernel {number} {artifact.header.kernels[number].name}, launch {args.launch} of {launches}, "
        f"workgroup {_by(args.workgroup, ',')} of {_by(launch.global_size, ' x ')}, "
        f"lane {args.lane} of {_by(launch.local_size, ' x ')}"
    )

"""`autoclave trace`: what one GPU thread of a launch executes, in the sandbox."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autoclave.artifact.model import Part, Program
from autoclave.artifact.reader import Artifact, key_text, open_artifact
from autoclave.cli.confined import action_directory, add_sandbox_option, bring, produced, run_confined
from autoclave.cli.disasm import find_kernel
from autoclave.cli.modules import EMULATED_HARDWARE, RUN
from autoclave.cli.text import count_text, natural, printable
from autoclave.errors import ArtifactError, AutoclaveError

NAME = "trace"
HELP = "show what one GPU thread of an artifact executes, with register values"
EXAMPLES = """\
examples:
  autoclave trace ARTIFACT 3                         kernel number 3, as `autoclave inspect` numbers them: its first thread
  autoclave trace ARTIFACT r_64_32 --lane 5          thread 5 of the first workgroup (x varies fastest)
  autoclave trace ARTIFACT 3 --workgroup 0,0,7       the first thread of another workgroup
  autoclave trace ARTIFACT 3 --launch 1              the second time that the model launches this kernel
  autoclave trace ARTIFACT 3 --from-pc 40 --times 5  begin where pc 40 is first reached; five rounds of each loop
  autoclave trace ARTIFACT 3 --inputs in.npz         with inputs of your own, not those of seed 42

Everything before the launch is run on the emulator, so the kernel finds in memory what it would find on the device. One line
is an execution: its pc (qcom: instructions from the start; chestnut: bytes), what it wrote, what it read, in hex and as a number.
On qcom that is f32, or f16 in half registers; an integer, which has no point, where that would be no usual float. On chestnut it is
of the operand's type; "off" says that the thread's lane is switched off. Scalar registers are those of the thread's wave.
"""
_PIECE = 1 << 16


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `autoclave trace`."""
    parser.epilog = EXAMPLES
    parser.add_argument(
        "artifact", type=Path, metavar="ARTIFACT", help=f"the artifact's file, of hardware {EMULATED_HARDWARE}"
    )
    parser.add_argument("kernel", metavar="KERNEL", help="the kernel's number, its name, or the start of its name")
    parser.add_argument("--lane", type=natural, default=0, metavar="N", help="thread of the workgroup (default 0)")
    parser.add_argument(
        "--workgroup", type=_coordinates, default=(0, 0, 0), metavar="X,Y,Z", help="workgroup (default 0,0,0)"
    )
    parser.add_argument(
        "--launch",
        type=natural,
        default=0,
        metavar="N",
        help="which launch of the kernel, if there are several (from 0)",
    )
    parser.add_argument("--part", metavar="KEY", help="which part, if several launch it: a name, or WIDTHxHEIGHT")
    inputs = parser.add_mutually_exclusive_group()
    inputs.add_argument("--inputs", type=Path, metavar="FILE", help=".npz file with one array per input")
    inputs.add_argument(
        "--seed", type=natural, default=42, metavar="N", help="make the inputs from this seed (default 42)"
    )
    parser.add_argument(
        "--limit",
        type=natural,
        default=1000,
        metavar="N",
        help="stop when N executions are shown (default 1000; 0: never)",
    )
    parser.add_argument(
        "--times",
        type=natural,
        default=2,
        metavar="N",
        help="show N executions of each instruction (default 2; 0: all)",
    )
    parser.add_argument(
        "--from-pc",
        type=natural,
        default=0,
        metavar="PC",
        help="begin when PC is first reached, a pc as `disasm` shows it",
    )
    add_sandbox_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print the trace."""
    with open_artifact(args.artifact) as artifact:
        number = find_kernel(artifact, args.kernel)
        part = _part(artifact, number, args.part)
        places = _launches(part, number)
        call = _call(artifact, part, number, places, args)
        title = _title(artifact, number, call, len(places), args)
    with action_directory() as directory:
        request, names = _request(directory, part, places[args.launch], args)
        print(printable(title))
        try:
            run_confined(directory, "autoclave.emulator.trace", request, names, args.sandbox)
        finally:
            _print_lines(directory / "out", "trace.txt")
    return 0


def _coordinates(text: str) -> tuple[int, int, int]:
    numbers = text.split(",")
    if len(numbers) != 3 or not all(number.isdecimal() for number in numbers):
        raise argparse.ArgumentTypeError(f"expected three numbers such as 0,3,1, got {text}")
    x, y, z = map(int, numbers)
    return x, y, z


def _part(artifact: Artifact, number: int, key: str | None) -> Part:
    """The part called `key`, or the first one that launches kernel `number`."""
    candidates = artifact.header.parts if key is None else (artifact.part(key),)
    for part in candidates:
        if _launches(part, number):
            if part.target.device not in RUN:
                raise AutoclaveError(
                    f"{artifact.path}: it is for {part.target.device}; trace takes artifacts of hardware {EMULATED_HARDWARE}"
                )
            return part
    where = "no part" if key is None else f"part {key_text(candidates[0].key)} never"
    raise ArtifactError(f"{artifact.path}: {where} launches kernel {number}")


def _launches(part: Part, number: int) -> list[int]:
    """The places, among the calls of `init` and those of a run after them, at which the part launches kernel `number`."""
    calls = (*part.init, *part.calls)
    return [at for at, call in enumerate(calls) if isinstance(call, Program) and call.kernel == number]


def _call(artifact: Artifact, part: Part, number: int, places: list[int], args: argparse.Namespace) -> Program:
    """The chosen launch. Raises `AutoclaveError` if it, or the chosen thread, is not there."""
    if args.launch >= len(places):
        raise ArtifactError(
            f"{artifact.path}: part {key_text(part.key)} launches kernel {number} {count_text(len(places), 'time')}; "
            f"--launch counts from 0"
        )
    call = (*part.init, *part.calls)[places[args.launch]]
    assert isinstance(call, Program)
    if any(at >= size for at, size in zip(args.workgroup, call.global_size, strict=True)):
        raise AutoclaveError(
            f"there is no workgroup {_by(args.workgroup, ',')}; the launch has {_by(call.global_size)}"
        )
    width, height, depth = call.local_size
    if args.lane >= width * height * depth:
        raise AutoclaveError(
            f"there is no lane {args.lane}; a workgroup has {width * height * depth} threads, {_by(call.local_size)}"
        )
    return call


def _by(numbers: tuple[int, int, int], joint: str = " x ") -> str:
    return joint.join(map(str, numbers))


def _title(artifact: Artifact, number: int, call: Program, launches: int, args: argparse.Namespace) -> str:
    return (
        f"kernel {number} {artifact.header.kernels[number].name}, launch {args.launch} of {launches}, "
        f"workgroup {_by(args.workgroup, ',')} of {_by(call.global_size)}, lane {args.lane} of {_by(call.local_size)}"
    )


def _request(
    directory: Path, part: Part, call: int, args: argparse.Namespace
) -> tuple[dict[str, Any], Mapping[str, Path]]:
    """The request to the module in the sandbox, and what its files are called outside."""
    from autoclave.native.tensor_files import write_tensors
    from autoclave.parity.inputs import check_inputs

    artifact = bring(directory, "artifact", args.artifact)
    names = {artifact: args.artifact}
    if args.inputs:
        inputs = bring(directory, "inputs", args.inputs)
        names[inputs] = args.inputs
    else:
        inputs = "inputs/check.npz"
        write_tensors(directory / inputs, check_inputs(part, args.seed))
    request = {
        "artifact": artifact,
        "part": part.key if isinstance(part.key, str) else list(part.key),
        "inputs": inputs,
        "call": call,
        "workgroup": list(args.workgroup),
        "lane": args.lane,
        "limit": args.limit,
        "times": args.times,
        "from_pc": args.from_pc,
        "output": "out/trace.txt",
    }
    return request, names


def _print_lines(directory: Path, name: str) -> None:
    """Print what the module wrote, up to an error if there was one."""
    if not (directory / name).exists():
        return
    with produced(directory, name).open(encoding="utf-8", errors="replace") as file:
        while piece := file.read(_PIECE):
            print(printable(piece), end="")

"""`autoclave run --frames`: a driving model driven through camera frames, and what it saw in one of them."""

import argparse
import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoclave.artifact.model import Header, TensorSpec
from autoclave.artifact.reader import key_text, open_artifact
from autoclave.cli.confined import action_directory, bring, deliver, produced, run_confined
from autoclave.cli.text import columns, natural, printable, shape_text
from autoclave.errors import ArtifactError, AutoclaveError

if TYPE_CHECKING:
    from autoclave.driving.metadata import DrivingMetadata
    from autoclave.driving.scene import Array
    from autoclave.native.model import Tensors

MODULE = "autoclave.drive"


def add_frames_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that go with `--frames`."""
    parser.add_argument("--frame", type=natural, metavar="N", help="with --frames: which one to show, default the last")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="with --frames: draw the road from above, as .svg")
    parser.add_argument("--json", action="store_true", help="with --frames: print what the outputs mean, for programs")


def check_frames_options(args: argparse.Namespace) -> None:
    """Raise `AutoclaveError` for arguments that do not go together."""
    if args.frames is None and (args.plot or args.json or args.frame is not None):
        raise AutoclaveError("--plot, --json and --frame are for what a drive gives; say --frames, too")
    if args.frames is not None and args.repeat:
        raise AutoclaveError("--repeat times forward passes of one part; it does not go with --frames")


def run_frames(args: argparse.Namespace) -> int:
    """Drive through all of `args.frames`; print, draw or write what the outputs of one frame mean."""
    from autoclave.drive.pipeline import driving_metadata
    from autoclave.driving.plot import plot
    from autoclave.driving.scene import outputs_to_json, scene, scene_to_json

    with open_artifact(args.artifact) as artifact:
        header = artifact.header
    try:
        driving = driving_metadata(header)
    except ArtifactError as error:
        raise ArtifactError(f"{args.artifact}: {error}") from None
    camera = _camera(args.artifact, header, args.part)
    results = _results(args, camera, driving)
    count = len(next(iter(results.values())))
    number = count - 1 if args.frame is None else args.frame
    if number >= count:
        raise AutoclaveError(f"{args.frames}: there is no frame {number}; there are {count}, counted from 0")
    outputs = _parsed({name: rows[number : number + 1] for name, rows in results.items()}, driving)
    if args.plot:
        _write(args.plot, plot(scene(outputs), args.artifact.name, f"{args.frames.name}, frame {number} of {count}"))
    if args.json:
        document = {
            "frame": number,
            "frames": count,
            "scene": scene_to_json(scene(outputs)),
            "outputs": outputs_to_json(outputs),
        }
        print(json.dumps(document, sort_keys=True, indent=1))
    else:
        print("\n".join(_lines(outputs)))
    return 0


def _camera(path: Path, header: Header, wanted: str | None) -> tuple[int, int]:
    """The key of the warp to use: `wanted`, or the only one."""
    warps: dict[str, tuple[int, int]] = {
        key_text(part.key): part.key for part in header.parts if isinstance(part.key, tuple)
    }
    if wanted is None and len(warps) == 1:
        return next(iter(warps.values()))
    if wanted not in warps:
        raise AutoclaveError(f"{path}: say with --part which camera's warp to use: {', '.join(warps) or 'it has none'}")
    return warps[wanted]


def _results(args: argparse.Namespace, camera: tuple[int, int], driving: "DrivingMetadata") -> "Tensors":
    """The models' outputs with a row for each frame, by their names in the artifact."""
    from autoclave.native.tensor_files import read_tensors

    with action_directory() as directory:
        artifact, frames = bring(directory, "artifact", args.artifact), bring(directory, "frames", args.frames)
        request: dict[str, Any] = {
            "artifact": artifact,
            "frames": frames,
            "camera": list(camera),
            "output": "out/outputs.npz",
        }
        done = run_confined(directory, MODULE, request, {artifact: args.artifact, frames: args.frames}, args.sandbox)
        results = read_tensors(produced(directory, "out/outputs.npz"), _specs(driving, _count(done.stdout)))
        if args.output:
            deliver(directory, "out/outputs.npz", args.output)
    return results


def _count(stdout: str) -> int:
    try:
        return int(json.loads(stdout.splitlines()[-1])["frames"])
    except (IndexError, KeyError, TypeError, ValueError):
        # The artifact's code runs in the process that prints this, and may print what it likes.
        raise AutoclaveError("the drive in the sandbox did not say how many frames it went through") from None


def _specs(driving: "DrivingMetadata", count: int) -> tuple[TensorSpec, ...]:
    from autoclave.drive.pipeline import result_names
    from autoclave.driving.metadata import OUTPUT

    widths = [prod(part.output_shapes[OUTPUT]) for part in driving.parts.values()]
    names = result_names(driving)
    return tuple(TensorSpec(name, (count, width), "float32", 0) for name, width in zip(names, widths, strict=True))


def _parsed(results: "Tensors", driving: "DrivingMetadata") -> "Mapping[str, Array]":
    """What the outputs of one frame say, by the names of openpilot's parser."""
    from autoclave.driving.parser import parse_parts

    by_part = dict(zip(driving.parts, results.values(), strict=True)) if len(driving.parts) == 1 else results
    return parse_parts(by_part, {name: part.output_slices for name, part in driving.parts.items()})


def _lines(outputs: "Mapping[str, Array]") -> list[str]:
    rows: list[tuple[object, ...]] = [("output", "shape", "min", "mean", "max")]
    for name, values in outputs.items():
        figures = (f"{value:.6g}" for value in (values.min(), values.mean(), values.max()))
        rows.append((printable(name), shape_text(values.shape), *figures))
    return columns(rows, indent=0)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise AutoclaveError(f"{path}: cannot be written: {error.strerror}") from error

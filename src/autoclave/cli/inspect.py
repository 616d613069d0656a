"""`autoclave inspect`: what is in an artifact."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from math import prod
from pathlib import Path
from textwrap import wrap
from typing import Any

from autoclave.artifact.layout import FORMAT
from autoclave.artifact.reader import Artifact, key_text, open_artifact
from autoclave.artifact.summary import PartSummary, summarize
from autoclave.cli.text import columns, count_text, printable, shape_text, size_text
from autoclave.driving.metadata import OUTPUT, DrivingMetadata
from autoclave.errors import AutoclaveError

NAME = "inspect"
HELP = "show what is in an artifact: parts, inputs, outputs, memory, kernels, biggest weights"
EXAMPLES = """\
examples:
  autoclave inspect dist/models/pop223/qcom/pop223_driving_tinygrad.pkl
  autoclave inspect ARTIFACT --part 1928x1208        only the warp for that camera
  autoclave inspect ARTIFACT --weights 50            the 50 biggest weights instead of 10
  autoclave inspect ARTIFACT --json | jq '.parts[0].launches'

memory kinds: constant (weights, in the file), persistent (made once at load by the init launches), arena (scratch of
a run), input and output (bound by the caller).
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `autoclave inspect`."""
    parser.epilog = EXAMPLES
    parser.add_argument("artifact", type=Path, metavar="ARTIFACT", help="the artifact's file")
    parser.add_argument(
        "--part", metavar="KEY", help='only this part: a name such as "run", or WIDTHxHEIGHT of a camera'
    )
    parser.add_argument(
        "--weights", type=int, default=10, metavar="N", help="how many of the biggest weights (default 10)"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON, all weights included")


def run(args: argparse.Namespace) -> int:
    """Print the summary."""
    with open_artifact(args.artifact) as artifact:
        chosen = artifact.header.parts if args.part is None else (artifact.part(args.part),)
        keys = {part.key for part in chosen}
        parts = [part for part in summarize(artifact.header) if part.key in keys]
        if args.json:
            print(json.dumps(_as_json(artifact, parts), indent=2, sort_keys=True))
        else:
            print("\n".join(_lines(artifact, parts, args.weights)))
    return 0


def _as_json(artifact: Artifact, parts: list[PartSummary]) -> dict[str, Any]:
    return {
        "file": str(artifact.path),
        "size": artifact.size,
        "sha256": artifact.sha256(),
        "format": FORMAT,
        "metadata": artifact.header.metadata,
        "kernels": len(artifact.header.kernels),
        "parts": [asdict(part) for part in parts],
    }


def _lines(artifact: Artifact, parts: list[PartSummary], weights: int) -> Iterator[str]:
    kernels = len(artifact.header.kernels)
    yield f"{artifact.path}: {size_text(artifact.size)}, format {FORMAT}, {count_text(kernels, 'kernel')}"
    yield f"sha256 {artifact.sha256()}"
    if artifact.header.metadata.get("synthetic"):
        yield "synthetic: made from made-up weights; releases and devices refuse it"
    for name, value in artifact.header.metadata.items():
        if name == "driving":
            yield from _driving_lines(value)
        elif name != "synthetic":
            yield f"{printable(name)}: {_shortened(value)}"
    for part in parts:
        yield ""
        yield from _part_lines(part, weights)


def _driving_lines(value: Any) -> Iterator[str]:
    """What a driving model says of itself."""
    try:
        driving = DrivingMetadata.from_json(value)
    except AutoclaveError as error:
        yield printable(f"driving: {_shortened(value)}, which does not fit: {error}")
        return
    cameras = ", ".join(f"{width}x{height}" for width, height in driving.camera_resolutions)
    yield (
        f"driving: {driving.kind.value}, behaviour {driving.behaviour_version}, frame_skip {driving.frame_skip}, "
        f"images of the past kept by the {driving.image_history_pipeline}"
    )
    yield f"  cameras {cameras}; warps on {driving.warp_device}, model on {driving.execution_device}"
    for name in sorted(driving.parts, key=lambda name: name in driving.policy_order):
        part = driving.parts[name]
        length = prod(part.output_shapes[OUTPUT])
        places = sorted(part.output_slices.items(), key=lambda item: item[1].indices(length)[0])
        yield printable(f"  {name}: checkpoint {part.model_checkpoint or 'unknown'}; {length} outputs")
        slices = ", ".join(f"{output} {_bounds(where)}" for output, where in places)
        yield from (f"    {line}" for line in wrap(printable(slices), 100, break_on_hyphens=False))


def _bounds(where: slice) -> str:
    """As in Python: "917:1907"."""
    return ":".join("" if bound is None else str(bound) for bound in (where.start, where.stop))


def _shortened(value: Any) -> str:
    text = printable(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= 100 else text[:97] + "..."


def _part_lines(part: PartSummary, weights: int) -> Iterator[str]:
    target = part.target
    yield printable(f"part {key_text(part.key)} for {target.device}, {target.renderer}, {target.arch}")
    yield f"  {_work(part.launches, part.copies)} per run; {_work(part.init_launches, part.init_copies)} once at load"
    for title, tensors in (("inputs", part.inputs), ("outputs", part.outputs)):
        yield f"  {title}"
        yield from columns(((t.name, t.dtype, shape_text(t.shape)) for t in tensors), indent=4)
    yield "  memory"
    yield from columns(((use.kind, use.count, size_text(use.nbytes)) for use in part.memory if use.count), indent=4)
    yield "  kernels (number, name, renderer, code, launches per run, at load)"
    yield from columns(
        ((k.index, k.name, k.renderer, size_text(k.code), k.launches, k.init_launches) for k in part.kernels), indent=4
    )
    shown = part.weights[: max(weights, 0)]
    yield f"  biggest weights ({len(shown)} of {len(part.weights)})"
    yield from columns(((w.name, size_text(w.data.length), f"at {w.data.offset}") for w in shown), indent=4)


def _work(launches: int, copies: int) -> str:
    done = count_text(launches, "launch", "launches")
    return f"{done} and {count_text(copies, 'copy', 'copies')}" if copies else done

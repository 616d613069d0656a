"""`autoclave diff`: what differs between two artifacts."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from autoclave.artifact.code_diff import CodeChange
from autoclave.artifact.diff import ArtifactDiff, KernelChange, Side, diff_artifacts
from autoclave.artifact.field_diff import FieldChange
from autoclave.artifact.reader import open_artifact
from autoclave.artifact.weight_diff import WeightChange
from autoclave.cli.decoders import DECODERS
from autoclave.cli.text import count_text, printable, size_text

NAME = "diff"
HELP = "compare two artifacts: header fields, kernels by instruction, weights by tensor"
EXAMPLES = """\
examples:
  autoclave diff old.pkl new.pkl                 what did the new toolchain change?
  autoclave diff old.pkl new.pkl --lines 0       each changed instruction, not only the first ones
  autoclave diff old.pkl new.pkl --json | jq '.weights[].name'

Exit code 0: the files are equal, byte for byte; 1: they differ; 2: one cannot be read.
"""
SAME = 0
DIFFERENT = 1


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `autoclave diff`."""
    parser.epilog = EXAMPLES
    parser.add_argument("left", type=Path, metavar="A", help="an artifact's file")
    parser.add_argument("right", type=Path, metavar="B", help="another one")
    parser.add_argument("--lines", type=int, default=20, metavar="N", help="lines per list (default 20; 0 for all)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the differences."""
    with open_artifact(args.left) as left, open_artifact(args.right) as right:
        found = diff_artifacts(left, right, DECODERS)
    if args.json:
        print(json.dumps({"same": found.same, **asdict(found)}, indent=2, sort_keys=True))
    else:
        print("\n".join(diff_lines(found, args.lines)))
    return SAME if found.same else DIFFERENT


def diff_lines(found: ArtifactDiff, limit: int = 20) -> Iterator[str]:
    """The differences for people; lists are cut after `limit` lines, 0 for all."""
    if found.same:
        yield f"same: {size_text(found.left.size)}, sha256 {found.left.sha256}"
        return
    yield _side_text("A", found.left)
    yield _side_text("B", found.right)
    yield (
        f"different: {count_text(len(found.fields), 'header field')}, "
        f"{count_text(len(found.kernels), 'kernel')} ({found.left.kernels} in A, {found.right.kernels} in B), "
        f"{count_text(len(found.weights), 'weight')} ({found.left.weights} in A, {found.right.weights} in B), "
        f"{count_text(found.moved, 'section')} moved"
    )
    if not (found.fields or found.kernels or found.weights or found.moved):
        yield "only bytes that no part of the header refers to differ"
    yield from _titled("header", _cut([_field_text(change) for change in found.fields], limit))
    yield from _titled("kernels", [line for change in found.kernels for line in _kernel_lines(change, limit)])
    yield from _titled("weights", _cut([_weight_text(change) for change in found.weights], limit))


def _side_text(name: str, side: Side) -> str:
    return f"{name}  {side.path}: {size_text(side.size)}, sha256 {side.sha256}"


def _titled(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"\n{title}"
        yield from (printable(f"  {line}") for line in lines)


def _cut(lines: list[str], limit: int) -> list[str]:
    if limit <= 0 or len(lines) <= limit:
        return lines
    return [*lines[:limit], f"... and {len(lines) - limit} more (--lines 0 shows all)"]


def _field_text(change: FieldChange) -> str:
    return f"{change.where}: {_short(change.left)} -> {_short(change.right)}"


def _short(text: str | None) -> str:
    return "nothing" if text is None else text if len(text) <= 80 else text[:77] + "..."


def _kernel_lines(change: KernelChange, limit: int) -> Iterator[str]:
    if change.left is None or change.right is None:
        yield f"{change.name}: only in {'A' if change.right is None else 'B'}"
        return
    yield f"{change.name} (number {change.left} in A, {change.right} in B)" + _code_text(change.code)
    yield from (f"  {_field_text(field)}" for field in change.fields)
    if change.code is not None:
        yield from (f"  {line}" for line in _cut(list(change.code.listing), limit))


def _code_text(code: CodeChange | None) -> str:
    if code is None:
        return ": same code"
    if code.removed is None or code.left_instructions is None:
        sizes = f": {code.left_nbytes} -> {code.right_nbytes} bytes of code, first difference at {code.first}"
        return f"{sizes} ({code.note})"
    counts = f": {code.left_instructions} -> {code.right_instructions} instructions"
    return f"{counts}, {code.note}" if code.note else f"{counts}, {code.removed} removed, {code.added} added"


def _weight_text(change: WeightChange) -> str:
    name = f"{change.part}: {change.name}"
    if change.left_nbytes is None or change.right_nbytes is None:
        return f"{name}: only in {'A' if change.right_nbytes is None else 'B'}"
    if change.left_nbytes != change.right_nbytes:
        return f"{name}: {change.left_nbytes} -> {change.right_nbytes} bytes"
    if change.changed is None:
        return f"{name}: differs (numpy, which would say how, is not installed)"
    distance = "not all finite" if change.max_abs is None else f"by at most {change.max_abs:.6g}"
    return f"{name}: {change.changed} of {change.elements} {change.dtype} differ, first at {change.first}, {distance}"

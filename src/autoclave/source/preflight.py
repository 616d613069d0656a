"""Is this file the model that was declared, and can it be compiled? Answered before anything expensive starts.

`check_model` is what the compiler and the `check` entry module call. Each check is a function of its own that raises
`SourceError` with the file, what was expected, what came, and what to do.
"""

import difflib
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoclave.errors import SourceError
from autoclave.source.onnx_scanner import ModelSummary, ValueInfo, scan_model

_HEAD_BYTES = 1024
_SHOWN_BYTES = 40

_LFS_POINTER = re.compile(
    rb"\Aversion https://(?:git-lfs|hawser)\.[^\n]+\n(?:[^\n]*\n)*?oid sha256:(?P<oid>[0-9a-f]{64})\nsize (?P<size>\d+)"
)

SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (rb"\s*(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|head|body)", "an HTML page, as servers send instead of a file"),
    (rb"\s*(?:\xef\xbb\xbf)?\s*<\?xml", "an XML document, as storage servers send instead of a file"),
    (rb"\s*\{\s*\"", "JSON text"),
    (rb"PK\x03\x04", "a zip archive (a PyTorch checkpoint, or a packed model)"),
    (rb"\x80[\x02-\x05]", "a Python pickle (a compiled artifact or a PyTorch checkpoint)"),
    (rb"\x1f\x8b", "gzip-compressed data"),
    (rb"\x28\xb5\x2f\xfd", "zstandard-compressed data"),
    (rb"\xfd7zXZ\x00", "xz-compressed data"),
    (rb"\x89HDF", "an HDF5 file (a Keras model)"),
    (rb"....TFL3", "a TensorFlow Lite model"),
    (rb"GGUF", "a GGUF model"),
)
"""Beginnings of files that are mistaken for ONNX models, and what they are."""


@dataclass(frozen=True)
class ExpectedInput:
    """An input that the declaration expects; `dtype` and `shape` are compared only where given."""

    name: str
    dtype: str | None = None
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class TensorInterface:
    """An input or output with its named axes resolved; an output's axis that nothing determines keeps its name."""

    name: str
    dtype: str
    shape: tuple[int | str | None, ...]


@dataclass(frozen=True)
class ModelInterface:
    """What the rest of the pipeline knows about a verified model."""

    sha256: str
    size: int
    summary: ModelSummary
    inputs: tuple[TensorInterface, ...]
    outputs: tuple[TensorInterface, ...]

    @property
    def state(self) -> tuple[tuple[str, str], ...]:
        """Pairs of an input `X` and the output `next_X` that is fed back into it, in the order of the inputs."""
        outputs = {value.name for value in self.outputs}
        return tuple((value.name, f"next_{value.name}") for value in self.inputs if f"next_{value.name}" in outputs)

    def to_json(self) -> dict[str, Any]:
        """The interface as JSON-ready values; see docs/sources.md for the meaning of each key."""
        summary = self.summary
        return {
            "sha256": self.sha256,
            "size": self.size,
            "ir_version": summary.ir_version,
            "opsets": summary.opsets,
            "inputs": [_tensor_json(value) for value in self.inputs],
            "outputs": [_tensor_json(value) for value in self.outputs],
            "state": [list(pair) for pair in self.state],
            "nodes": summary.node_count,
            "operators": {str(operator): count for operator, count in summary.operators.items()},
            "initializers": len(summary.initializers),
            "initializer_bytes": sum(initializer.nbytes for initializer in summary.initializers),
            "metadata_keys": sorted(summary.metadata),
        }


def check_model(
    path: Path,
    *,
    target: str | None = None,
    sha256: str | None = None,
    size: int | None = None,
    dimensions: Mapping[str, int] | None = None,
    inputs: Sequence[ExpectedInput] | None = None,
    operators: Iterable[str] | None = None,
) -> ModelInterface:
    """Verify the ONNX file `path` against what was declared.

    `target` is named in errors. `sha256` (hex) and `size` (bytes) are the declared identity. `dimensions` gives every
    named axis of the inputs its extent. `inputs`, if given, are exactly the inputs the model must have. `operators`, if
    given, are those that the compiler knows: `Conv` in any domain, `com.example::Conv` in one.

    Raises `SourceError` at the first check that fails.
    """
    label = f"{target}: {path}" if target else str(path)
    check_is_model_file(path, label, sha256, size)
    actual = check_identity(path, label, sha256, size)
    summary = scan_model(path)
    check_self_contained(summary, label)
    if operators is not None:
        check_operators(summary, label, operators)
    resolved = resolve_dimensions(summary, label, dimensions or {})
    if inputs is not None:
        check_inputs(resolved[0], label, inputs)
    return ModelInterface(actual, summary.size, summary, *resolved)


def check_is_model_file(path: Path, label: str, sha256: str | None = None, size: int | None = None) -> None:
    """Refuse what its first bytes show to be no ONNX model: nothing, an LFS pointer, a web page, an archive, text."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise SourceError(f"{label}: cannot be read: {error.strerror}") from error
    expected = f"expected {_declared(sha256, size)}"
    if not head:
        raise SourceError(f"{label}: {expected}, came an empty file: fetch or export the model again")
    if pointer := _LFS_POINTER.match(head):
        oid, oid_size = pointer["oid"].decode(), int(pointer["size"])
        raise SourceError(
            f"{label}: {expected}, came a Git LFS pointer to oid sha256:{oid}, size {oid_size}, not the model itself: "
            "run `git lfs pull`, or declare the address of the content"
        )
    if kind := describe_content(head):
        raise SourceError(f"{label}: {expected}, came {kind}; it begins with {head[:_SHOWN_BYTES]!r}")


def describe_content(head: bytes) -> str | None:
    """What a file that begins with `head` is, if it is evidently no ONNX model; else `None`."""
    for pattern, kind in SIGNATURES:
        if re.match(pattern, head, re.IGNORECASE | re.DOTALL):
            return kind
    printable = all(byte in b"\t\n\r" or 0x20 <= byte < 0x7F for byte in head)
    return "plain text" if printable else None


def check_identity(path: Path, label: str, sha256: str | None, size: int | None) -> str:
    """Compare size and sha256 with what is declared; returns the file's sha256 (hex)."""
    actual_size = path.stat().st_size
    if size is not None and actual_size != size:
        difference = f"{size - actual_size} are missing" if actual_size < size else f"{actual_size - size} too many"
        raise SourceError(
            f"{label}: expected {size} bytes, came {actual_size} ({difference}): "
            "the download is incomplete, or `size=` belongs to another version of the model"
        )
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 is not None and actual != sha256.lower():
        raise SourceError(
            f"{label}: expected sha256 {sha256.lower()}, came {actual}: "
            "the file was changed or damaged, or `sha256=` belongs to another version of the model"
        )
    return actual


def check_self_contained(summary: ModelSummary, label: str) -> None:
    """Refuse tensors whose data lies in other files: a declared source is one file with one hash."""
    if not summary.external:
        return
    locations = sorted({reference.location or "(no location)" for reference in summary.external})
    raise SourceError(
        f"{label}: expected a model in one file, but the data of {len(summary.external)} tensors, first "
        f"{summary.external[0].tensor!r}, lies outside of it in {_listing(locations)}: "
        "save the model again with its data inside (onnx.save_model(..., save_as_external_data=False))"
    )


def check_operators(summary: ModelSummary, label: str, known: Iterable[str]) -> None:
    """Refuse operators that the compiler does not know; the error lists all of them with their counts."""
    names = set(known)
    unknown = {
        str(operator): count
        for operator, count in summary.operators.items()
        if operator.op_type not in names and str(operator) not in names
    }
    if unknown:
        listed = ", ".join(f"{name} ({count}x)" for name, count in sorted(unknown.items()))
        raise SourceError(
            f"{label}: {len(unknown)} of its {len(summary.operators)} operators are unknown to this toolchain's "
            f"compiler: {listed}. Export the model without them, or use a toolchain that knows them"
        )


def resolve_dimensions(
    summary: ModelSummary, label: str, dimensions: Mapping[str, int]
) -> tuple[tuple[TensorInterface, ...], tuple[TensorInterface, ...]]:
    """Give every named axis its extent; returns the (inputs, outputs) with their shapes resolved.

    Raises `SourceError` for a named axis of an input without an extent, an extent without an axis, an extent below 1,
    an axis with neither name nor extent, and a value that is no tensor.
    """
    needed = _axes(summary.fed_inputs)
    allowed = {**needed, **_axes(summary.outputs)}
    surplus = sorted(set(dimensions) - set(allowed))
    missing = sorted(set(needed) - set(dimensions))
    if surplus:
        hints = "; ".join(_suggestion(name, allowed) for name in surplus)
        raise SourceError(f"{label}: `dimensions` names axes that the model does not have: {hints}")
    if missing:
        places = "; ".join(f"{name!r} (of {', '.join(needed[name])})" for name in missing)
        example = {**dimensions, **dict.fromkeys(missing, 1)}
        raise SourceError(f"{label}: named axes without a value: {places}. Declare them, such as dimensions={example}")
    for name, extent in dimensions.items():
        if isinstance(extent, bool) or not isinstance(extent, int) or extent < 1:
            raise SourceError(f"{label}: dimensions[{name!r}] is {extent!r}, expected a whole number from 1 on")
    inputs = tuple(_resolved(value, dimensions) for value in summary.fed_inputs)
    outputs = tuple(_resolved(value, dimensions) for value in summary.outputs)
    for value, declared in zip((*inputs, *outputs), (*summary.fed_inputs, *summary.outputs), strict=True):
        _check_tensor(value, declared, label, is_input=declared in summary.fed_inputs)
    return inputs, outputs


def check_inputs(actual: Sequence[TensorInterface], label: str, expected: Sequence[ExpectedInput]) -> None:
    """Refuse a model that lacks an expected input, has one more, or has one of another dtype or shape."""
    by_name = {value.name: value for value in actual}
    wanted = {value.name: value for value in expected}
    missing = [name for name in wanted if name not in by_name]
    surplus = [name for name in by_name if name not in wanted]
    if missing or surplus:
        problems = [f"lacks {_listing(missing)}"] if missing else []
        problems += [f"has in addition {_listing(surplus)}"] if surplus else []
        raise SourceError(
            f"{label}: expected the inputs {_listing(list(wanted))}, the model {' and '.join(problems)}: "
            "the wrong model for this declaration, or another generation of it"
        )
    for name, value in wanted.items():
        came = by_name[name]
        if value.dtype not in (None, came.dtype) or value.shape not in (None, came.shape):
            shape = came.shape if value.shape is None else value.shape
            raise SourceError(
                f"{label}: input {name!r}: expected {value.dtype or came.dtype} {_shape_text(shape)}, "
                f"came {came.dtype} {_shape_text(came.shape)}"
            )


def _check_tensor(value: TensorInterface, declared: ValueInfo, label: str, *, is_input: bool) -> None:
    side = "input" if is_input else "output"
    if declared.kind != "tensor" or declared.dtype is None:
        raise SourceError(f"{label}: {side} {value.name!r} is of kind {declared.kind}, expected a tensor with a type")
    if not is_input:
        return
    if declared.dims is None:
        raise SourceError(f"{label}: input {value.name!r} has no shape: export the model with fixed or named axes")
    for axis, extent in enumerate(value.shape):
        if not isinstance(extent, int) or extent < 0:
            raise SourceError(
                f"{label}: axis {axis} of input {value.name!r} {_shape_text(value.shape)} has neither extent nor name: "
                "export the model with fixed or named axes"
            )


def _resolved(value: ValueInfo, dimensions: Mapping[str, int]) -> TensorInterface:
    dims = tuple(dimensions.get(dim, dim) if isinstance(dim, str) else dim for dim in value.dims or ())
    return TensorInterface(value.name, value.dtype or "", dims)


def _axes(values: Iterable[ValueInfo]) -> dict[str, list[str]]:
    """Named axis -> the names of the values that have it."""
    axes: dict[str, list[str]] = {}
    for value in values:
        for dim in value.dims or ():
            if isinstance(dim, str) and value.name not in axes.setdefault(dim, []):
                axes[dim].append(value.name)
    return axes


def _suggestion(name: str, known: Iterable[str]) -> str:
    candidates = sorted(known)
    if close := difflib.get_close_matches(name, candidates, n=1):
        return f"{name!r} (did you mean {close[0]!r}?)"
    return f"{name!r} (it has {_listing(candidates)})" if candidates else f"{name!r} (all its axes have fixed extents)"


def _declared(sha256: str | None, size: int | None) -> str:
    parts = [f"{size} bytes"] if size is not None else []
    parts += [f"sha256 {sha256}"] if sha256 else []
    return f"an ONNX model ({', '.join(parts)})" if parts else "an ONNX model"


def _tensor_json(value: TensorInterface) -> dict[str, Any]:
    return {"name": value.name, "dtype": value.dtype, "shape": list(value.shape)}


def _shape_text(shape: Sequence[int | str | None]) -> str:
    return f"({', '.join('?' if extent is None else str(extent) for extent in shape)})"


def _listing(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))

"""What differs between two artifacts, section by section: header fields, kernels by instruction, weights by element."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from autoclave.artifact.code_diff import CodeChange, diff_code
from autoclave.artifact.codec import header_as_json
from autoclave.artifact.disassembly.disassemble import Decoders
from autoclave.artifact.field_diff import FieldChange, diff_fields
from autoclave.artifact.model import Header, Part
from autoclave.artifact.reader import Artifact, key_text
from autoclave.artifact.summary import weight_name
from autoclave.artifact.weight_diff import WeightChange, count_weights, diff_weights


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two artifacts; `size` in bytes."""

    path: str
    size: int
    sha256: str
    kernels: int
    weights: int


@dataclass(frozen=True, slots=True)
class KernelChange:
    """A kernel ("E_4", "E_4 (2)"), its numbers in the two artifacts (None: not there), and how it differs."""

    name: str
    left: int | None
    right: int | None
    fields: tuple[FieldChange, ...] = ()
    code: CodeChange | None = None


@dataclass(frozen=True, slots=True)
class ArtifactDiff:
    """All differences. `moved` counts kernels and weights that are at another place in the file."""

    left: Side
    right: Side
    fields: tuple[FieldChange, ...]
    kernels: tuple[KernelChange, ...]
    weights: tuple[WeightChange, ...]
    moved: int

    @property
    def same(self) -> bool:
        """Whether the two files are equal, byte for byte."""
        return self.left.sha256 == self.right.sha256


def diff_artifacts(left: Artifact, right: Artifact, decoders: Decoders) -> ArtifactDiff:
    """Compare two open artifacts.

    Kernels are matched by name, weights by part and name, calls and buffers by their order; numbers of kernels and
    places in the file do not count as differences of what refers to them. decoders: see `disassemble`.
    """
    sides = _side(left), _side(right)
    if sides[0].sha256 == sides[1].sha256:
        return ArtifactDiff(*sides, (), (), (), 0)
    return ArtifactDiff(
        *sides,
        fields=tuple(_diff_headers(left.header, right.header)),
        kernels=tuple(_diff_kernels(left, right, decoders)),
        weights=tuple(diff_weights(left, right)),
        moved=_moved_sections(left.header, right.header),
    )


def _side(artifact: Artifact) -> Side:
    return Side(
        path=str(artifact.path),
        size=artifact.size,
        sha256=artifact.sha256(),
        kernels=len(artifact.header.kernels),
        weights=count_weights(artifact),
    )


def _diff_headers(left: Header, right: Header) -> Iterator[FieldChange]:
    yield from diff_fields(left.metadata, right.metadata, "metadata")
    left_parts, right_parts = _named_parts(left), _named_parts(right)
    for key in (*left_parts, *(key for key in right_parts if key not in left_parts)):
        where = f"parts[{key}]"
        if key in left_parts and key in right_parts:
            yield from diff_fields(left_parts[key], right_parts[key], where)
        else:
            yield FieldChange(where, _presence(key in left_parts), _presence(key in right_parts))
    if list(left_parts) != list(right_parts) and left_parts.keys() == right_parts.keys():
        yield FieldChange("order of the parts", ", ".join(left_parts), ", ".join(right_parts))


def _presence(is_there: bool) -> str | None:
    return "there" if is_there else None


def _named_parts(header: Header) -> dict[str, Any]:
    """Each part's JSON with names instead of numbers, and without what depends on places in the file."""
    labels = _labels(header)
    encoded = header_as_json(header)["parts"]
    return {key_text(part.key): _named(part, value, labels) for part, value in zip(header.parts, encoded, strict=True)}


def _named(part: Part, encoded: dict[str, Any], labels: list[str]) -> dict[str, Any]:
    for buffer in encoded["buffers"]:
        del buffer["data"]
    for call in (*encoded["init"], *encoded["calls"]):
        if call["kind"] == "program":
            call["kernel"] = labels[call["kernel"]]
        for argument in call.get("args", (call.get("destination"), call.get("source"))):
            argument["buffer"] = weight_name(part, argument["buffer"])
    return encoded


def _labels(header: Header) -> list[str]:
    """A name of its own for each kernel: the second kernel named E_4 is "E_4 (2)"."""
    seen: Counter[str] = Counter()
    labels = []
    for kernel in header.kernels:
        seen[kernel.name] += 1
        labels.append(kernel.name if seen[kernel.name] == 1 else f"{kernel.name} ({seen[kernel.name]})")
    return labels


def _diff_kernels(left: Artifact, right: Artifact, decoders: Decoders) -> Iterator[KernelChange]:
    left_numbers = {label: number for number, label in enumerate(_labels(left.header))}
    right_numbers = {label: number for number, label in enumerate(_labels(right.header))}
    left_fields, right_fields = _kernel_fields(left.header), _kernel_fields(right.header)
    pairs = {label: (mine, right_numbers[label]) for label, mine in left_numbers.items() if label in right_numbers}
    codes = dict(zip(pairs, diff_code(left, right, list(pairs.values()), decoders), strict=True))
    for label, mine in left_numbers.items():
        if label not in pairs:
            yield KernelChange(label, mine, None)
            continue
        its = right_numbers[label]
        fields = tuple(diff_fields(left_fields[mine], right_fields[its]))
        if fields or codes[label] is not None:
            yield KernelChange(label, mine, its, fields, codes[label])
    yield from (KernelChange(label, None, its) for label, its in right_numbers.items() if label not in left_numbers)


def _kernel_fields(header: Header) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in kernel.items() if name != "lib"} for kernel in header_as_json(header)["kernels"]
    ]


def _moved_sections(left: Header, right: Header) -> int:
    left_places, right_places = _places(left), _places(right)
    return sum(offset != right_places.get(name, offset) for name, offset in left_places.items())


def _places(header: Header) -> dict[tuple[str, str], int]:
    """Where each kernel and each weight is in the file."""
    kernels = zip(_labels(header), header.kernels, strict=True)
    return {("kernel", label): kernel.lib.offset for label, kernel in kernels} | {
        (f"part {key_text(part.key)}", weight_name(part, number)): buffer.data.offset
        for part in header.parts
        for number, buffer in enumerate(part.buffers)
        if buffer.data is not None
    }

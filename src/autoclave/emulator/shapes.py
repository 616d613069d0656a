"""What of an artifact is translated: its kernels, each with the launch shapes that its calls give it."""

import binascii
import json
from collections.abc import Iterable
from typing import Any

from autoclave.artifact.model import Kernel, Program
from autoclave.artifact.reader import Artifact
from autoclave.canonical import canonical_json
from autoclave.emulator.a630.launch import KernelCode, Size3, kernel_code
from autoclave.emulator.a630.program import LaunchShape
from autoclave.errors import ArtifactError

FORMAT = 1
FORMATS = frozenset({"float16", "float32"})

_LAUNCH_FIELDS = tuple(field for field in KernelCode.__dataclass_fields__ if field not in ("name", "code"))


def artifact_shapes(artifact: Artifact) -> tuple[LaunchShape, ...]:
    """The shapes of all launches of all parts of `artifact`, each once, in the order in which they come.

    Raises `ArtifactError` if the artifact is not for the a630 or a kernel's launch fields are out of range.
    """
    shapes: dict[tuple[int, Size3], LaunchShape] = {}
    for part in artifact.header.parts:
        if part.target.device != "QCOM":
            raise ArtifactError(f"{artifact.path}: it is compiled for {part.target.device}; the emulator is for QCOM")
        for call in part.init + part.calls:
            if isinstance(call, Program) and (call.kernel, call.local_size) not in shapes:
                kernel = artifact.header.kernels[call.kernel]
                code = kernel_code(kernel.name, bytes(artifact.read(kernel.lib)), kernel.launch)
                shapes[call.kernel, call.local_size] = kernel_shape(kernel, code, call.local_size)
    return tuple(shapes.values())


def kernel_shape(kernel: Kernel, code: KernelCode, local_size: Size3) -> LaunchShape:
    """The shape of launching `kernel` in workgroups of `local_size`; `code` is its code."""
    return LaunchShape(code, local_size, _formats(kernel, code.image_slots), _formats(kernel, code.texture_slots))


def _formats(kernel: Kernel, slots: Iterable[int]) -> tuple[str, ...]:
    for slot in slots:
        if not 0 <= slot < len(kernel.signature):
            raise ArtifactError(f"kernel {kernel.name!r}: slot of parameter {slot}, it has {len(kernel.signature)}")
    return tuple(kernel.signature[slot].dtype for slot in slots)


def pack_shapes(shapes: Iterable[LaunchShape]) -> bytes:
    """`shapes` as canonical JSON: what is left of an artifact that a change of weights does not touch."""
    return canonical_json({"format": FORMAT, "shapes": [_plain(shape) for shape in shapes]})


def unpack_shapes(data: bytes) -> tuple[LaunchShape, ...]:
    """Inverse of `pack_shapes`. Raises `ArtifactError` for anything that it does not write."""
    try:
        content = json.loads(data)
        if content["format"] != FORMAT:
            raise ArtifactError(f"the kernels have format {content['format']!r}, this version reads {FORMAT}")
        return tuple(_shape(each) for each in content["shapes"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ArtifactError(f"the file of kernels is malformed: {error!r}; extract it again") from error


def _plain(shape: LaunchShape) -> dict[str, Any]:
    kernel = shape.kernel
    return {
        "name": kernel.name,
        "code": kernel.code.hex(),
        "launch": {field: getattr(kernel, field) for field in _LAUNCH_FIELDS},
        "local_size": shape.local_size,
        "image_formats": shape.image_formats,
        "texture_formats": shape.texture_formats,
    }


def _shape(plain: Any) -> LaunchShape:
    kernel = kernel_code(str(plain["name"]), binascii.unhexlify(plain["code"]), plain["launch"])
    width, height, depth = (int(side) for side in plain["local_size"])
    formats = [tuple(plain[field]) for field in ("image_formats", "texture_formats")]
    if any(each not in FORMATS for kind in formats for each in kind):
        raise ArtifactError(
            f"kernel {kernel.name!r}: an image is of {formats}; expected {' or '.join(sorted(FORMATS))}"
        )
    return LaunchShape(kernel, (width, height, depth), *formats)

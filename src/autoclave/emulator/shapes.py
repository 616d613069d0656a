"""What of an artifact is translated: its kernels, each with the launch shapes that its calls give it, and how thoroughly."""

import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import Any

from autoclave.artifact.model import Kernel, Program
from autoclave.artifact.reader import Artifact
from autoclave.canonical import canonical_json
from autoclave.emulator.architectures import architecture, architecture_of, architecture_of_device
from autoclave.emulator.devices import DEVICES
from autoclave.emulator.jit import HostTarget
from autoclave.emulator.launch import KernelCode, Size3
from autoclave.emulator.translation import LaunchShape, Translation, translate_all
from autoclave.errors import ArtifactError

FORMAT = 2
NOTHING: Mapping[str, Translation] = MappingProxyType({})
FORMATS = frozenset({"float16", "float32"})

LOOPS = 16
"""Turns that a loop is taken to make; those of driving models make 4 to 300."""

WORTHWHILE = 1 << 16
"""How often each instruction is executed in one run, by all threads together, for better code to be worth its time. A parity test
runs a part some ten times: with real models' kernels, less than this costs more than it brings, and much more loses again.
"""

CODE_PER_PROCESS = 1 << 14
"""Bytes of kernels that are worth another process to translate them."""


@dataclass(frozen=True, slots=True)
class Work:
    """A launch shape, and the threads of all its launches in one run together: 0 if it is launched on loading only."""

    shape: LaunchShape
    threads: int


def artifact_work(artifact: Artifact) -> tuple[Work, ...]:
    """The shapes of all launches of all parts of `artifact`, each once, in the order in which they come.

    Raises `ArtifactError` if no emulator is for the artifact or a kernel's launch fields are out of range.
    """
    threads: dict[tuple[str, int, Size3], int] = {}
    for part in artifact.header.parts:
        device = part.target.device
        architecture_of_device(device, str(artifact.path))
        for calls, counts in ((part.init, False), (part.calls, True)):
            for call in calls:
                if isinstance(call, Program):
                    launched = prod(call.global_size) * prod(call.local_size) if counts else 0
                    place = device, call.kernel, call.local_size
                    threads[place] = threads.get(place, 0) + launched
    return tuple(Work(_shape_of(artifact, *place), count) for place, count in threads.items())


def _shape_of(artifact: Artifact, device: str, number: int, local_size: Size3) -> LaunchShape:
    return kernel_shape(artifact.header.kernels[number], stored_kernel(artifact, device, number), local_size)


def stored_kernel(artifact: Artifact, device: str, number: int) -> KernelCode:
    """Kernel `number` of an artifact, for `device`. Raises `ArtifactError` if its launch fields are out of range."""
    kernel = artifact.header.kernels[number]
    gpu = architecture_of_device(device, f"{artifact.path}, kernel {kernel.name!r}")
    return gpu.stored_kernel(kernel.name, bytes(artifact.read(kernel.lib)), kernel.launch)


def chosen_target(work: Work, target: HostTarget) -> HostTarget:
    """`target`, or its quick form for a shape with so little to do that better code would not be worth its time.

    Each thread is taken to execute each instruction once, or `LOOPS` times if there is a loop. How many instructions there are does not
    matter: they cost as much more to translate.
    """
    if target.quick or not work.threads:
        return replace(target, quick=True)
    return replace(target, quick=work.threads * _turns(work.shape.kernel) < WORTHWHILE)


@lru_cache(maxsize=1024)
def _turns(kernel: KernelCode) -> int:
    """How often a thread of `kernel` is taken to execute it. Remembered: the parts of an artifact ask for all its kernels."""
    return LOOPS if architecture_of(kernel).has_loops(kernel) else 1


def translate_work(
    work: Sequence[Work], target: HostTarget, processes: int, known: Mapping[str, Translation] = NOTHING
) -> tuple[Translation, ...]:
    """Host code for each of `work`, in its order, for the target that is chosen for it. Raises as `translate_all`.

    known: translations, by key, that need not be made again.
    """
    jobs = [(each.shape, chosen_target(each, target)) for each in work]
    made = {job: known[key] for job in jobs if (key := job[0].key(job[1])) in known}
    missing = [job for job in jobs if job not in made]
    code = sum(len(shape.kernel.code) for shape, _ in missing)
    found = translate_all(missing, min(processes, 1 + code // CODE_PER_PROCESS))
    made.update(zip(missing, found, strict=True))
    return tuple(made[job] for job in jobs)


def kernel_shape(kernel: Kernel, code: KernelCode, local_size: Size3) -> LaunchShape:
    """The shape of launching `kernel` in workgroups of `local_size`; `code` is its code."""
    return LaunchShape(code, local_size, _formats(kernel, code.image_slots), _formats(kernel, code.texture_slots))


def _formats(kernel: Kernel, slots: Iterable[int]) -> tuple[str, ...]:
    for slot in slots:
        if not 0 <= slot < len(kernel.signature):
            raise ArtifactError(f"kernel {kernel.name!r}: slot of parameter {slot}, it has {len(kernel.signature)}")
    return tuple(kernel.signature[slot].dtype for slot in slots)


def pack_work(work: Iterable[Work]) -> bytes:
    """`work` as canonical JSON: what is left of an artifact that a change of weights does not touch."""
    kernels = [_plain(each.shape) | {"threads": each.threads} for each in work]
    return canonical_json({"format": FORMAT, "kernels": kernels})


def unpack_work(data: bytes) -> tuple[Work, ...]:
    """Inverse of `pack_work`. Raises `ArtifactError` for anything that it does not write."""
    try:
        content = json.loads(data)
        if content["format"] != FORMAT:
            raise ArtifactError(f"the kernels have format {content['format']!r}, this version reads {FORMAT}")
        return tuple(Work(_shape(each), int(each["threads"])) for each in content["kernels"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ArtifactError(f"the file of kernels is malformed: {error!r}; extract it again") from error


def _plain(shape: LaunchShape) -> dict[str, Any]:
    kernel = shape.kernel
    return {
        "architecture": kernel.architecture,
        "name": kernel.name,
        "code": kernel.code.hex(),
        "launch": dict(kernel.launch_fields()),
        "local_size": shape.local_size,
        "image_formats": shape.image_formats,
        "texture_formats": shape.texture_formats,
    }


def _shape(plain: Any) -> LaunchShape:
    if plain["architecture"] not in DEVICES.values():
        raise ArtifactError(
            f"the kernels are for {plain['architecture']!r}; the emulators are of {', '.join(DEVICES.values())}"
        )
    gpu = architecture(plain["architecture"])
    kernel = gpu.unpacked_kernel(str(plain["name"]), binascii.unhexlify(plain["code"]), plain["launch"])
    width, height, depth = (int(side) for side in plain["local_size"])
    formats = [tuple(plain[field]) for field in ("image_formats", "texture_formats")]
    if any(each not in FORMATS for kind in formats for each in kind):
        raise ArtifactError(
            f"kernel {kernel.name!r}: an image is of {formats}; expected {' or '.join(sorted(FORMATS))}"
        )
    return LaunchShape(kernel, (width, height, depth), *formats)

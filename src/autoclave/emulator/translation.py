"""Host code of kernels: what it depends on, how it is made, and how it is kept."""

import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable
from collections.abc import Sequence as Items
from dataclasses import asdict, dataclass
from functools import cache
from math import prod
from typing import Any

from autoclave.canonical import canonical_json
from autoclave.emulator.architectures import architecture_of, translator_files
from autoclave.emulator.devices import DEVICES
from autoclave.emulator.jit import LANES, HostTarget, compile_object, llvm_version
from autoclave.emulator.launch import MAX_THREADS, KernelCode, Launch, Size3
from autoclave.emulator.translator.geometry import Geometry
from autoclave.emulator.translator.kernel import KernelIr
from autoclave.errors import ArtifactError, AutoclaveError, EmulationError

MAX_THREAD_BYTES = 1 << 27
"""Memory of a host thread: registers, private and shared memory of a workgroup of `MAX_THREADS` take less."""

_FORMAT = "autoclave translations 2"
_IMAGE_FORMATS = frozenset({"float16", "float32"})


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """What of a launch its host code depends on; launches of equal `key()` share it. Formats are "float16" or "float32"."""

    kernel: KernelCode
    local_size: Size3
    image_formats: tuple[str, ...]
    texture_formats: tuple[str, ...]

    def key(self, target: HostTarget) -> str:
        """A hex digest of code, launch fields that matter, shape, target, translator and LLVM build; not of names."""
        content = {
            "architecture": self.kernel.architecture,
            "buffers": self.kernel.buffers,
            "code": hashlib.sha256(self.kernel.code).hexdigest(),
            "images": self.image_formats,
            "launch": dict(self.kernel.translated_fields()),
            "llvm": llvm_version(),
            "local_size": self.local_size,
            "private_bytes": self.kernel.private_bytes,
            "shared_bytes": self.kernel.shared_bytes,
            "target": asdict(target),
            "textures": self.texture_formats,
            "translator": _translator_digest(self.kernel.architecture),
        }
        return hashlib.sha256(canonical_json(content)).hexdigest()


@cache
def _translator_digest(architecture: str) -> str:
    """The digest of all code that host code follows from: of just that, since an action has no other files."""
    digest = hashlib.sha256()
    for path in translator_files(architecture):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def launch_shape(launch: Launch) -> LaunchShape:
    """The shape of `launch`."""
    return LaunchShape(
        launch.kernel,
        launch.local_size,
        tuple(image.dtype for image in launch.images),
        tuple(texture.dtype for texture in launch.textures),
    )


@dataclass(frozen=True, slots=True)
class Translation:
    """Host code of one shape.

    key: `LaunchShape.key`. architecture: the GPU. kernel: a name for messages. code: a relocatable ELF object. thread_bytes:
    memory that each host thread needs. lanes, order, packed: how threads lie in vectors, see `translator.geometry.Geometry`.
    ordered: one host thread has to run all of its workgroups.
    """

    key: str
    architecture: str
    kernel: str
    target: HostTarget
    code: bytes
    thread_bytes: int
    lanes: int
    order: Size3
    packed: int
    ordered: bool

    def geometry(self, local_size: Size3) -> Geometry:
        """How threads lie in vectors."""
        return Geometry(local_size, self.lanes, self.order, self.packed)


def translate(shape: LaunchShape, target: HostTarget) -> Translation:
    """Decode, translate and compile one kernel. Raises `UnknownInstruction` or another `EmulationError`."""
    made = translate_to_ir(shape, target)
    return Translation(
        shape.key(target),
        shape.kernel.architecture,
        shape.kernel.name,
        target,
        compile_object(made.text, target),
        made.thread_bytes,
        made.geometry.lanes,
        made.geometry.order,
        made.geometry.packed,
        made.ordered,
    )


def translate_to_ir(shape: LaunchShape, target: HostTarget) -> KernelIr:
    """The LLVM IR of one kernel. Raises as `translate`."""
    _check(shape)
    return architecture_of(shape.kernel).translate(
        shape.kernel, shape.local_size, shape.image_formats, shape.texture_formats, target
    )


def _check(shape: LaunchShape) -> None:
    name = shape.kernel.name
    if min(shape.local_size) < 1 or prod(shape.local_size) > MAX_THREADS:
        raise EmulationError(
            f"translating kernel {name!r}: a workgroup of {shape.local_size} threads; it has 1 to {MAX_THREADS}"
        )
    formats = shape.image_formats + shape.texture_formats
    if unknown := sorted(set(formats) - _IMAGE_FORMATS):
        raise EmulationError(f"translating kernel {name!r}: images of {unknown[0]!r}; they are float16 or float32")


# Many at once

Job = tuple[LaunchShape, HostTarget]

QUICK_COST = 0.6
"""What quick code takes to make, over good code."""


def translate_all(jobs: Items[Job], processes: int = 1) -> tuple[Translation, ...]:
    """`translate` each of `jobs`, equal ones once, in up to `processes` processes. Results are in the order of `jobs`."""
    keys = [shape.key(target) for shape, target in jobs]
    different = dict(zip(keys, jobs, strict=True))
    shares = _shares(list(different.values()), max(1, processes))
    workers = [_start_worker(share) for share in shares[1:]]
    try:
        made = [translate(shape, target) for shape, target in shares[0]]
        made += [translation for worker in workers for translation in _finish_worker(worker)]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    found = {translation.key: translation for translation in made}
    if missing := set(keys) - found.keys():
        raise EmulationError(
            f"translating kernels: {len(missing)} are missing; has the translator been changed meanwhile?"
        )
    return tuple(found[key] for key in keys)


def _shares(jobs: list[Job], processes: int) -> list[list[Job]]:
    """Jobs for each process, so that all have about as much to do; the first may be empty, others are not."""
    shares: list[list[Job]] = [[] for _ in range(min(processes, max(1, len(jobs))))]
    loads = [0.0] * len(shares)
    for job in sorted(jobs, key=_cost, reverse=True):
        lightest = loads.index(min(loads))
        shares[lightest].append(job)
        loads[lightest] += _cost(job)
    return shares


def _cost(job: Job) -> float:
    """About how long a job takes, beside others."""
    shape, target = job
    return len(shape.kernel.code) * (QUICK_COST if target.quick else 1.0)


def _start_worker(share: list[Job]) -> "subprocess.Popen[bytes]":
    worker = subprocess.Popen(
        [sys.executable, "-m", "autoclave.emulator.translation"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert worker.stdin is not None
    pickle.dump(share, worker.stdin)
    worker.stdin.close()
    return worker


def _finish_worker(worker: "subprocess.Popen[bytes]") -> list[Translation]:
    assert worker.stdout is not None
    data = worker.stdout.read()
    if worker.wait() != 0 or not data:
        raise EmulationError(f"translating kernels: a process of the translator ended with code {worker.returncode}")
    result: list[Translation] | AutoclaveError = pickle.loads(data)
    if isinstance(result, AutoclaveError):
        raise result
    return result


def _work() -> None:
    """What a process of `translate_all` does: translations of what it reads, or the error."""
    share: list[Job] = pickle.load(sys.stdin.buffer)
    result: list[Translation] | AutoclaveError
    try:
        result = [translate(shape, target) for shape, target in share]
    except AutoclaveError as error:
        result = error
    pickle.dump(result, sys.stdout.buffer)


# Files


def pack_translations(translations: Iterable[Translation]) -> bytes:
    """All of them as one file's bytes, the same for the same translations, each key once."""
    different = {translation.key: translation for translation in translations}
    ordered = [different[key] for key in sorted(different)]
    entries = [
        {
            "architecture": each.architecture,
            "key": each.key,
            "kernel": each.kernel,
            "lanes": each.lanes,
            "order": each.order,
            "ordered": each.ordered,
            "packed": each.packed,
            "size": len(each.code),
            "target": asdict(each.target),
            "thread_bytes": each.thread_bytes,
        }
        for each in ordered
    ]
    header = canonical_json({"format": _FORMAT, "translations": entries})
    return len(header).to_bytes(8, "little") + header + b"".join(each.code for each in ordered)


def unpack_translations(data: bytes) -> dict[str, Translation]:
    """What `pack_translations` packed, by key. Raises `ArtifactError` if it is anything else."""
    start = 8 + int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8:start])
        if header["format"] != _FORMAT:
            raise ValueError(f"its format is {header['format']!r}")
        found: dict[str, Translation] = {}
        for entry in header["translations"]:
            translation = _unpacked(entry, data[start : start + entry["size"]])
            start += entry["size"]
            found[translation.key] = translation
        if start != len(data):
            raise ValueError(f"{start} bytes of {len(data)} are accounted for")
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ArtifactError(f"the file of translations is malformed: {error!r}; translate again") from error
    return found


def _unpacked(entry: dict[str, Any], code: bytes) -> Translation:
    made_for = entry["target"]
    target = HostTarget(
        str(made_for["cpu"]), str(made_for["features"]), int(made_for["lanes"]), bool(made_for["quick"])
    )
    if len(code) != entry["size"] or sorted(entry["order"]) != [0, 1, 2]:
        raise ValueError(f"translation {entry['key']!r} is cut short, or its order is {entry['order']}")
    if not 0 < int(entry["thread_bytes"]) <= MAX_THREAD_BYTES:
        raise ValueError(f"translation {entry['key']!r} wants {entry['thread_bytes']} bytes for each thread")
    if entry["lanes"] not in LANES:
        raise ValueError(f"translation {entry['key']!r} has vectors of {entry['lanes']} lanes")
    x, y, z = entry["order"]
    return Translation(
        str(entry["key"]),
        _known(str(entry["architecture"])),
        str(entry["kernel"]),
        target,
        code,
        int(entry["thread_bytes"]),
        int(entry["lanes"]),
        (x, y, z),
        int(entry["packed"]),
        bool(entry["ordered"]),
    )


def _known(name: str) -> str:
    if name not in DEVICES.values():
        raise ValueError(f"it has host code of {name!r}")
    return name


if __name__ == "__main__":
    # Pickled classes have to be those of the importable module.
    from autoclave.emulator import translation

    translation._work()

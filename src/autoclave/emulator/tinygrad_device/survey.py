"""What ran on the device: how often, which instructions, and what could not be translated."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autoclave.emulator.a630.decoder import decode_kernel
from autoclave.emulator.a630.launch import KernelCode
from autoclave.errors import EmulationError


class Survey:
    """Notes each kernel of a process once, by its code, if there is a file to write to; else it does nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._kernels: dict[str, KernelCode] = {}
        self._refused: dict[str, str] = {}
        self._launches = 0

    def launched(self, kernel: KernelCode) -> None:
        """Count a launch of `kernel`."""
        if self._path is None:
            return
        self._launches += 1
        self._kernels.setdefault(_digest(kernel), kernel)

    @contextmanager
    def running(self, kernel: KernelCode) -> Iterator[None]:
        """Note an `EmulationError` that is raised inside, and pass it on."""
        try:
            yield
        except EmulationError as error:
            self._refused[_digest(kernel)] = str(error)
            raise

    def write(self) -> None:
        """Write launches, kernels, instructions by name (each kernel's code once), and what was refused, with the reasons."""
        if self._path is None:
            return
        names: Counter[str] = Counter()
        for kernel in self._kernels.values():
            try:
                names.update(instruction.name for instruction in decode_kernel(kernel.code, kernel.name))
            except EmulationError as error:
                self._refused[_digest(kernel)] = str(error)
        content = {
            "launches": self._launches,
            "kernels": len(self._kernels),
            "instructions": dict(names.most_common()),
            "refused": [
                {"kernel": self._kernels[digest].name, "code": self._kernels[digest].code.hex(), "reason": reason}
                for digest, reason in self._refused.items()
            ],
        }
        self._path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _digest(kernel: KernelCode) -> str:
    return hashlib.sha256(kernel.code).hexdigest()

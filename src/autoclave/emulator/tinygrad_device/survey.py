"""What ran on the device: how often, which instructions, and what could not be translated or run."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from autoclave.emulator.interpretations import interpretation_of
from autoclave.emulator.launch import KernelCode
from autoclave.errors import EmulationError, UnknownInstruction


class Survey:
    """Notes each kernel once, by its code."""

    def __init__(self) -> None:
        self._launches = 0
        self._checked: Counter[bool] = Counter()
        self._elements = 0
        self._kernels: dict[str, KernelCode] = {}
        self._refused: dict[str, str] = {}

    @contextmanager
    def launch(self, kernel: KernelCode) -> Iterator[None]:
        """Count a launch of `kernel`, which happens inside; note an `EmulationError` and pass it on."""
        digest = hashlib.sha256(kernel.code).hexdigest()
        self._launches += 1
        self._kernels.setdefault(digest, kernel)
        try:
            yield
        except EmulationError as error:
            self._refused[digest] = str(error)
            raise

    def checked(self, elements: int) -> None:
        """Count a kernel of whose results so many were compared with the interpreter's, and were the same."""
        self._checked[elements > 0] += 1
        self._elements += elements

    def instructions(self) -> Counter[str]:
        """How often each instruction, by its name, stands in the kernels, but for those that cannot be decoded."""
        found: Counter[str] = Counter()
        for kernel in self._kernels.values():
            with suppress(UnknownInstruction):
                found.update(operations_of(kernel))
        return found

    def write(self, path: Path) -> None:
        """Write all of it as JSON: `launches`, `kernels`, what was `checked`, `instructions`, and of what was `refused` kernel, code and reason."""
        refused = [
            {"kernel": self._kernels[digest].name, "code": self._kernels[digest].code.hex(), "reason": reason}
            for digest, reason in self._refused.items()
        ]
        content = {
            "launches": self._launches,
            "kernels": len(self._kernels),
            "checked": {"shapes": self._checked[True], "elements": self._elements, "too_long": self._checked[False]},
            "instructions": dict(self.instructions().most_common()),
            "refused": refused,
        }
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def operations_of(kernel: KernelCode) -> list[str]:
    """The names of a kernel's instructions; of those that are two in one, both. Raises `UnknownInstruction`."""
    known = interpretation_of(kernel)
    return [name for each in known.decode(kernel.code, kernel.name) for name in known.operations(each)]

"""Host code of the kernels that were launched: each is translated when it is first met, and kept by its content.

Most kernels of a program in development run a few times on a few numbers, so that translating them takes longer than running
them. They get quick code first; one that has executed much gets code that is worth more time. Both compute the same bits.
"""

import os
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

from autoclave.emulator.a630.launch import Launch
from autoclave.emulator.a630.program import (
    LaunchShape,
    LaunchStatistics,
    Program,
    Translation,
    launch_shape,
    load_programs,
    pack_translations,
    translate,
    unpack_translations,
)
from autoclave.emulator.jit import HostTarget
from autoclave.errors import ArtifactError

WORTH_OPTIMISING = 100_000_000
"""Executed instructions, counted for each thread, from which on a kernel is optimised: quick code takes about 0.1 s for them."""


@dataclass(slots=True)
class _Entry:
    program: Program
    executed: int = 0


class Translations:
    """Programs by `LaunchShape.key`, in this process and, if there is a folder, in files of that name.

    The key covers the code, the launch's shape, the translator and LLVM, so that a file is never out of date. Host code in the
    folder is executed: it has to be as trustworthy as the program that is run.
    """

    def __init__(self, target: HostTarget, folder: Path | None = None) -> None:
        self._optimised, self._quick = replace(target, quick=False), replace(target, quick=True)
        self._folder = folder
        self._entries: dict[str, _Entry] = {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def run(self, launch: Launch, threads: int) -> LaunchStatistics:
        """Run `launch` on `threads` host threads. Raises as `translate` and `Program.run`."""
        shape = launch_shape(launch)
        entry = self._entry(shape, prod(launch.global_size))
        statistics = entry.program.run(launch, threads)
        entry.executed += statistics.instructions
        return statistics

    def _entry(self, shape: LaunchShape, workgroups: int) -> _Entry:
        name = shape.key(self._quick)
        entry = self._entries.get(name)
        if entry is None:
            # Each instruction once for each thread: loops make it more, branches less.
            least = len(shape.kernel.code) // 8 * prod(shape.local_size) * workgroups
            entry = self._entries[name] = _Entry(self._program(shape, least >= WORTH_OPTIMISING))
        elif entry.executed >= WORTH_OPTIMISING and entry.program.translation.target.quick:
            entry.program = self._program(shape, optimised=True)
        return entry

    def _program(self, shape: LaunchShape, optimised: bool) -> Program:
        target = self._optimised if optimised else self._quick
        key = shape.key(target)
        found = self._read(key)
        if found is None:
            found = translate(shape, target)
            self._write(found)
        (program,) = load_programs([found])
        return program

    def _read(self, key: str) -> Translation | None:
        if self._folder is None:
            return None
        try:
            return unpack_translations((self._folder / key).read_bytes()).get(key)
        except (FileNotFoundError, ArtifactError):
            return None

    def _write(self, translation: Translation) -> None:
        """Whole or not at all, also if several processes share the folder."""
        if self._folder is None:
            return
        unfinished = self._folder / f"{translation.key}.{os.getpid()}"
        unfinished.write_bytes(pack_translations([translation]))
        unfinished.replace(self._folder / translation.key)

"""Host code of the kernels that were launched: each is translated when it is first met, and kept by its content.

Most kernels of a program in development run a few times on a few numbers, so that translating them takes longer than running
them. They get quick code first; one that has executed much gets code that is worth more time. Both compute the same bits.
"""

import os
from dataclasses import replace
from math import prod
from pathlib import Path

from autoclave.emulator.jit import HostTarget
from autoclave.emulator.launch import Launch
from autoclave.emulator.program import (
    LaunchShape,
    LaunchStatistics,
    Program,
    Translation,
    load_programs,
    pack_translations,
    translate,
    unpack_translations,
)
from autoclave.errors import ArtifactError

WORTH_OPTIMISING = 100_000_000
"""Executed instructions, counted for each thread, from which on a kernel is optimised: quick code takes about 0.1 s for them."""

BUDGET = 1 << 38
"""Instructions, counted for each thread, that one launch may execute: some minutes. A program that somebody runs on purpose may take
longer than a model's launch, but an endless loop has to end."""


class TranslatedKernel:
    """All launches of one shape. `optimised`: whether its host code is. Made by `Translations`."""

    def __init__(self, translations: "Translations", shape: LaunchShape) -> None:
        """Use `Translations.kernel`."""
        self._translations = translations
        self._shape = shape
        self._program: Program | None = None
        self.optimised = False
        self._executed = 0

    def run(self, launch: Launch, threads: int) -> LaunchStatistics:
        """Run `launch` on `threads` host threads. Raises as `translate` and `Program.run`."""
        if not self.optimised and max(self._executed, self._least(launch)) >= WORTH_OPTIMISING:
            self._program, self.optimised = None, True
        if self._program is None:
            self._program = self._translations.program(self._shape, self.optimised)
        statistics = self._program.run(launch, threads, BUDGET)
        self._executed += statistics.instructions
        return statistics

    def _least(self, launch: Launch) -> int:
        """A guess at what `launch` executes: each instruction once for each thread. Loops make it more, branches less."""
        return len(self._shape.kernel.code) // 8 * prod(launch.local_size) * prod(launch.global_size)


class Translations:
    """Translated kernels by `LaunchShape.key`, in this process and, if there is a folder, in files of that name.

    The key covers the code, the launch's shape, the translator and LLVM, so that a file is never out of date. Host code in the
    folder is executed: it has to be as trustworthy as the program that is run.
    """

    def __init__(self, target: HostTarget, folder: Path | None = None) -> None:
        self._full, self._quick = replace(target, quick=False), replace(target, quick=True)
        self._folder = folder
        self._kernels: dict[str, TranslatedKernel] = {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def kernel(self, shape: LaunchShape) -> TranslatedKernel:
        """The kernel of that shape, which may have been met before under another name."""
        return self._kernels.setdefault(shape.key(self._quick), TranslatedKernel(self, shape))

    def program(self, shape: LaunchShape, optimised: bool) -> Program:
        """Host code for `shape`: read, or made and kept. Raises as `translate`."""
        target = self._full if optimised else self._quick
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

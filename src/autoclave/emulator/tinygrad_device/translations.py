"""Host code of the kernels that were launched: each is translated when it is first met, and kept by its content."""

import os
from pathlib import Path

from autoclave.emulator.a630.launch import Launch
from autoclave.emulator.a630.program import (
    LaunchShape,
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


class Translations:
    """Programs by `LaunchShape.key`, in this process and, if there is a folder, in files of that name.

    The key covers the code, the launch's shape, the translator and LLVM, so that a file is never out of date. Host code in the
    folder is executed: it has to be as trustworthy as the program that is run.
    """

    def __init__(self, target: HostTarget, folder: Path | None = None) -> None:
        self._target = target
        self._folder = folder
        self._programs: dict[str, Program] = {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def program(self, launch: Launch) -> Program:
        """The program for `launch`. Raises `UnknownInstruction` or another `EmulationError` if it cannot be translated."""
        shape = launch_shape(launch)
        key = shape.key(self._target)
        if key not in self._programs:
            (self._programs[key],) = load_programs([self._translation(key, shape)])
        return self._programs[key]

    def _translation(self, key: str, shape: LaunchShape) -> Translation:
        found = self._read(key)
        if found is None:
            found = translate(shape, self._target)
            self._write(found)
        return found

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

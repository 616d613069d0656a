"""AMD's comgr, the compiler behind tinygrad's HIP renderer: where it is, and how a process comes to be able to load it.

The component `comgr` is a set of Debian packages with a libc of its own, newer than what an interpreter may have been
started with. A process has one libc, so the interpreter starts again under the component's dynamic loader, once. comgr
runs within the process: tinygrad's workers, which would start without that loader, are off (PARALLEL=0).
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from autoclave.errors import ToolchainError

LIBRARY = "libamd_comgr.so.3"
"""comgr 3, by its ABI's name: the first that compiles for gfx1200, and whose constants tinygrad takes from comgr_3."""

CODE_GENERATION = b"-mllvm -disable-machine-sink"
"""What comgr is told beside tinygrad's options: see `keep_matrix_products_whole`."""

LOADER = "ld-linux-x86-64.so.2"
_FOLDER = "usr/lib/x86_64-linux-gnu"


def comgr_library(environ: Mapping[str, str] = os.environ) -> Path:
    """The component's libamd_comgr.so.3. Raises `ToolchainError` if the toolchain has no such component."""
    folder = Path(environ.get("AUTOCLAVE_TOOLCHAIN", "/nonexistent"), "comgr", _FOLDER)
    for name in (LIBRARY, LOADER):
        if not (folder / name).is_file():
            raise ToolchainError(
                f"looking for comgr, which renderer='hip' compiles with: there is no {name} in {folder}; "
                "name a `deb_lock` of libamd-comgr3 in the toolchain's field `hip`"
            )
    return folder / LIBRARY


def comgr_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Where tinygrad finds comgr, for both names that it knows; and no cache, which comgr would keep in HOME."""
    library = str(comgr_library(environ))
    return {"COMGR_PATH": library, "COMGR_3_PATH": library, "AMD_COMGR_CACHE": "0"}


def start_under_loader(environ: Mapping[str, str] = os.environ) -> None:
    """Replace this process by the same one under the component's loader, unless it is that already.

    Has to come before anything is computed or printed. Raises `ToolchainError` as `comgr_library` does.
    """
    folder, own = comgr_library(environ).parent, libraries_of_this_process()
    if not os.path.samefile(folder, own):
        command = loader_command(folder, own)
        os.execve(command[0], command, dict(environ))


def loader_command(folder: Path, others: Path) -> list[str]:
    """How to start this interpreter again, with the same arguments, under the loader in `folder`.

    Libraries come from `folder` first. Those that only the interpreter needs are in `others`, where its own libc was.
    The loader's index of the machine's libraries is not read.
    """
    path = f"{folder}{os.pathsep}{others}"
    loader = [str(folder / LOADER), "--inhibit-cache", "--library-path", path, "--argv0", sys.executable]
    return [*loader, sys.executable, *sys.orig_argv[1:]]


def libraries_of_this_process() -> Path:
    """The folder that libc was loaded from. Raises `ToolchainError` for an interpreter without a glibc."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        place = line.split(maxsplit=5)[5:]
        if place and place[0].endswith("/libc.so.6"):
            return Path(place[0]).parent
    raise ToolchainError(
        "starting comgr: this Python has no shared glibc, which renderer='hip' needs; use the `deb_lock`"
    )


def keep_matrix_products_whole() -> None:
    """Have comgr generate code without LLVM's pass MachineSink, from now on in this process.

    A matrix product (v_wmma) takes its operands from all lanes of a wave, whether they are on or not. LLVM 21 does not tell
    that pass so. Where some lanes alone store the result, it moves the product, with what computes its operands, to where the
    others are off, and what they should bring in is never computed. tinygrad has to be imported before.
    """
    from tinygrad.runtime.support import compiler_amd

    given = compiler_amd.set_options
    compiler_amd.set_options = lambda action, options: given(
        action, options + b" " + CODE_GENERATION if options else options
    )

"""Runs a script or a module with one of tinygrad's devices emulated.

    python -m autoclave.emulator.tinygrad_device [options] SCRIPT [arguments]
    python -m autoclave.emulator.tinygrad_device [options] -m MODULE [arguments]

DEV is set to the device (QCOM:IR3) unless it is set already. The code runs in this process, as the main program.
"""

import argparse
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from autoclave.compiler.profiles import profile_for
from autoclave.emulator.tinygrad_device import Settings, register
from autoclave.emulator.tinygrad_device.kinds import KINDS
from autoclave.errors import AutoclaveError


def main(arguments: Sequence[str]) -> None:
    """Run what `arguments` name. Raises `SystemExit` with 2 if they or the device are wrong, else as the code does."""
    options = _parser().parse_args(arguments)
    if not options.program:
        _parser().error("what to run is missing: SCRIPT, or -m MODULE")
    name, *rest = options.program
    if not options.module and not Path(name).exists():
        _parser().error(f"there is no file {name} to run")
    kind = KINDS[options.device]
    os.environ.setdefault("DEV", kind.target)
    if options.profile:
        os.environ.update(profile_for(kind.profile).flags)
    settings = Settings(options.threads, options.translations, options.check, options.survey, options.nearest)
    try:
        register(settings, options.device)
    except AutoclaveError as error:
        print(f"tinygrad_device: error: {error}", file=sys.stderr)
        raise SystemExit(2) from error
    if options.module:
        sys.argv = [name, *rest]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        sys.argv = [name, *rest]
        sys.path.insert(0, str(Path(name).resolve().parent))
        runpy.run_path(name, run_name="__main__")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m autoclave.emulator.tinygrad_device",
        description="Runs a script or a module with one of tinygrad's devices emulated.",
    )
    parser.add_argument("--device", choices=sorted(KINDS), default="QCOM", help="which device, default QCOM")
    parser.add_argument("--threads", type=int, default=1, help="host threads for each launch, default 1")
    parser.add_argument("--translations", type=Path, metavar="FOLDER", help="keep host code here for the next run")
    parser.add_argument("--check", action="store_true", help="compare each kernel with the scalar interpreter")
    parser.add_argument("--survey", type=Path, metavar="FILE", help="write a JSON of kernels and instructions here")
    parser.add_argument("--nearest", action="store_true", help="let float32 become float16 by rounding to nearest even")
    parser.add_argument(
        "--profile", action="store_true", help="set the flags that artifacts for the device are compiled with"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="what follows is a module's name, not a file")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="what to run, and its arguments")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])

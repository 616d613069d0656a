"""`autoclave lock`: write the lock of a toolchain component anew."""

import argparse
import os
import shlex
from pathlib import Path

from autoclave.lock.changes import replace_lock
from autoclave.lock.debs import lock_debs, render_deb_lock
from autoclave.lock.wheels import PYTHONS, lock_wheels, render_wheel_lock

NAME = "lock"
HELP = "write a toolchain component's lock: exact versions and hashes of wheels or Debian packages"
EXAMPLES = """\
examples:
  autoclave lock wheels numpy==2.5.5 --output toolchains/numpy.lock
  autoclave lock wheels onnx==1.23.2 protobuf==7.36.2 --python 3.13 --output toolchains/onnx.lock
  autoclave lock debs python3.13-minimal --suite trixie --output toolchains/python-3.13.lock

Prints what changed. A lock's own head says which command wrote it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `autoclave lock`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="wheels|debs")
    wheels = kinds.add_parser("wheels", help="wheels from the package index, by pip; dependencies are not followed")
    wheels.add_argument("requirements", nargs="+", metavar="NAME==VERSION", help="exact releases")
    wheels.add_argument(
        "--python",
        action="append",
        metavar="VERSION",
        help=f"CPython to lock for, repeatable (default: {', '.join(PYTHONS)})",
    )
    debs = kinds.add_parser("debs", help="Debian packages with all they depend on, by apt; signatures are verified")
    debs.add_argument("packages", nargs="+", metavar="PACKAGE", help="packages to lock")
    debs.add_argument(
        "--suite", required=True, help="Debian suite, for example trixie; its security and updates suites count too"
    )
    debs.add_argument(
        "--exclude", action="append", default=[], metavar="PACKAGE", help="dependency to leave out, repeatable"
    )
    for kind in (wheels, debs):
        kind.add_argument("--output", required=True, type=Path, metavar="FILE", help="the lock")


def run(args: argparse.Namespace) -> int:
    """Resolve, write the lock, print what changed."""
    text = _wheel_lock(args) if args.kind == "wheels" else _deb_lock(args)
    changes = replace_lock(args.output, text)
    print(changes or f"{args.output}: nothing changed", end="" if changes else "\n")
    return 0


def _wheel_lock(args: argparse.Namespace) -> str:
    pythons = tuple(args.python or PYTHONS)
    command = ["wheels", *sorted(args.requirements, key=str.lower), *_repeated("--python", pythons)]
    return render_wheel_lock(lock_wheels(args.requirements, pythons), _command(command, args.output))


def _deb_lock(args: argparse.Namespace) -> str:
    command = ["debs", *sorted(args.packages), "--suite", args.suite, *_repeated("--exclude", sorted(args.exclude))]
    return render_deb_lock(lock_debs(args.packages, args.suite, args.exclude), _command(command, args.output))


def _repeated(option: str, values: tuple[str, ...] | list[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def _command(words: list[str], output: Path) -> str:
    # Never a path of this machine: locks are the same wherever they are written.
    place = os.path.relpath(output)
    place = output.name if place.startswith("..") else place
    return shlex.join(["autoclave", "lock", *words, "--output", place])

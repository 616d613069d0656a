"""Entry point of the `autoclave` command: finds the command, runs it, and turns errors into one line.

Exit codes: what the command returns (0 good, 1 a check failed or a difference was found), 2 bad input or usage.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn, Protocol, cast

from autoclave import __version__
from autoclave.cli import COMMANDS
from autoclave.cli.text import printable
from autoclave.errors import AutoclaveError

if TYPE_CHECKING:  # imported by name when needed; spelled out for build tools, which cannot see that
    from autoclave.cli import diff, disasm, inspect, lock, parity, profile, run, trace, verify  # noqa: F401

BAD_INPUT = 2
INTERRUPTED = 130

DESCRIPTION = """\
Look into, check and compare artifacts: driving models compiled for hardware that is not on your desk.
Artifacts are built by Pants (./pants package models:NAME) and land in dist/.
"""

EXAMPLES = """\
examples:
  what is in an artifact, and what would a device have to allocate for it?
    autoclave inspect dist/models/pop223/qcom/pop223_driving_tinygrad.pkl

  what does its kernel number 3 do, instruction by instruction?
    autoclave disasm dist/models/pop223/qcom/pop223_driving_tinygrad.pkl 3

  is this the file that was released, whole and unchanged?
    autoclave verify pop223_driving_tinygrad.pkl --sha256 9f86d081...

  which kernels did a new toolchain change, and which weights?
    autoclave diff old/pop223_driving_tinygrad.pkl new/pop223_driving_tinygrad.pkl

`autoclave COMMAND --help` shows a command's options and examples.
"""


class Command(Protocol):
    """What a command module defines."""

    NAME: str
    HELP: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments and examples to `parser`."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it; returns the exit code, raises `AutoclaveError` for bad input."""


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, without the usage's wall of options."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"autoclave: error: {printable(message)}\nSee `{self.prog} --help`.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (default: the process's own) and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _dispatch(words)
        sys.stdout.flush()
        return code
    except AutoclaveError as error:
        print(f"autoclave: error: {printable(str(error))}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as stop:  # argparse: --help, --version, a wrong option
        return stop.code if isinstance(stop.code, int) else 0


def _dispatch(words: list[str]) -> int:
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    if not words or words[0].startswith("-"):
        _overview().parse_args(words or ["--help"])
    if words[0] not in COMMANDS:
        raise AutoclaveError(_unknown_command(words[0]))
    command = _load(words[0])
    parser = _Parser(
        prog=f"autoclave {command.NAME}",
        description=command.HELP[:1].upper() + command.HELP[1:] + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.configure(parser)
    return command.run(parser.parse_args(words[1:]))


def _overview() -> argparse.ArgumentParser:
    commands = (_load(name) for name in COMMANDS)
    lines = "\n".join(f"  {command.NAME:<10}{command.HELP}" for command in commands)
    parser = _Parser(
        prog="autoclave",
        usage="autoclave COMMAND ...",
        description=f"{DESCRIPTION}\ncommands:\n{lines}",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"autoclave {__version__}")
    return parser


def _load(name: str) -> Command:
    return cast(Command, import_module(f"autoclave.cli.{name}"))


def _unknown_command(name: str) -> str:
    near = get_close_matches(name, COMMANDS)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMANDS)}"
    return f"there is no command {name}; {hint}"


if __name__ == "__main__":
    sys.exit(main())

"""`autoclave verify`: is this artifact whole, and the one it should be?"""

import argparse
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from autoclave.artifact.padding import find_stray_byte
from autoclave.artifact.provenance import read_provenance
from autoclave.artifact.reader import Artifact, open_artifact
from autoclave.cli.text import count_text, printable, size_text
from autoclave.errors import ArtifactError

NAME = "verify"
HELP = "check that an artifact is well formed, and that hash, check file and provenance belong to it"
EXAMPLES = """\
examples:
  autoclave verify pop223_driving_tinygrad.pkl
  autoclave verify pop223_driving_tinygrad.pkl --sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
  autoclave verify ARTIFACT --check ARTIFACT.check.zst --provenance ARTIFACT.provenance.json

Exit code 0: all is well; 1: a check failed; 2: the file is no artifact. Nothing is run:
`./pants test` replays check files.
"""
GOOD = 0
FAILED = 1


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `autoclave verify`."""
    parser.epilog = EXAMPLES
    parser.add_argument("artifact", type=Path, metavar="ARTIFACT", help="the artifact's file")
    parser.add_argument("--sha256", type=_sha256, metavar="HEX", help="the hash that the file must have")
    parser.add_argument(
        "--check", type=Path, metavar="FILE", help="a check file (.check.zst) that must be for this artifact"
    )
    parser.add_argument(
        "--provenance", type=Path, metavar="FILE", help="a provenance statement that must name this artifact"
    )


def run(args: argparse.Namespace) -> int:
    """Make each check that was asked for and print its outcome."""
    failed = False
    with open_artifact(args.artifact) as artifact:
        for name, check in _checks(artifact, args):
            try:
                print(printable(f"good    {name}: {check()}"))
            except ArtifactError as error:
                failed = True
                print(printable(f"FAILED  {name}: {error}"))
    return FAILED if failed else GOOD


def _checks(artifact: Artifact, args: argparse.Namespace) -> Iterator[tuple[str, Callable[[], str]]]:
    yield "format", lambda: _check_format(artifact)
    yield "sha256", lambda: _check_sha256(artifact, args.sha256)
    if args.check is not None:
        yield "check file", lambda: _check_check_file(artifact, args.check)
    if args.provenance is not None:
        yield "provenance", lambda: _check_provenance(artifact, args.provenance)


def _check_format(artifact: Artifact) -> str:
    stray = find_stray_byte(artifact)
    if stray is not None:
        raise ArtifactError(f"byte {stray} belongs to no section and is not zero")
    parts, kernels = len(artifact.header.parts), len(artifact.header.kernels)
    return f"{size_text(artifact.size)}, {count_text(parts, 'part')}, {count_text(kernels, 'kernel')}"


def _check_sha256(artifact: Artifact, expected: str | None) -> str:
    found = artifact.sha256()
    if expected is None:
        return f"{found} (give --sha256 to compare it)"
    if found != expected:
        raise ArtifactError(f"expected {expected}, found {found}; fetch or build the file again")
    return found


def _check_check_file(artifact: Artifact, path: Path) -> str:
    from autoclave.parity.check_file import read_check_of

    recorder = read_check_of(artifact, path).recorded_by
    return f"{path} is for this artifact; recorded by {recorder.kind} {recorder.name} {recorder.version}".rstrip()


def _check_provenance(artifact: Artifact, path: Path) -> str:
    provenance = read_provenance(path)
    sha256 = artifact.sha256()
    named = [name for name, digest in provenance.subjects.items() if digest == sha256]
    if not named:
        raise ArtifactError(f"{path}: none of its subjects has sha256 {sha256}: {_listed(provenance.subjects)}")
    return f"{path} names it {named[0]}, with {count_text(provenance.inputs, 'input')}"


def _listed(subjects: dict[str, str]) -> str:
    return ", ".join(f"{name} has {digest}" for name, digest in list(subjects.items())[:3]) or "it has none"


def _sha256(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a sha256: expected 64 hexadecimal digits")
    return text.lower()

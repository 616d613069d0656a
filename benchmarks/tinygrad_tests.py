"""tinygrad's own tests on an emulated GPU, and on tinygrad's CPU device beside it.

    python benchmarks/tinygrad_tests.py /path/to/tinygrad --device QCOM
    python benchmarks/tinygrad_tests.py /path/to/tinygrad --device AMD

The path is a source tree of the tinygrad that is installed (its tests are not part of the wheel). Needs pytest, torch, which
test_ops computes its expected values with, and ziglang unless there is a clang: tinygrad's CPU device wants one. Takes the
tests' own word for what passes, and prints passed, failed and skipped for both, why tests were skipped, which fail on the
emulator alone, and which instructions the kernels consist of. Exits with 1 if a test fails on the emulator alone, or if an
instruction has no translation.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

SOURCES = Path(__file__).resolve().parents[1] / "src"
TESTS = ("test/test_tiny.py", "test/backend/test_ops.py")
REFERENCE = "CPU"


@dataclass(frozen=True)
class Emulated:
    """An emulated device. options: of its runner. variables: what tinygrad is set to, on the CPU beside it, too."""

    options: tuple[str, ...]
    variables: dict[str, str]


EMULATED = {
    # float32 becomes float16 by rounding to nearest even; sin and its like by tinygrad's own algorithms: docs/emulator.md says why
    "QCOM": Emulated(("--nearest",), {"TRANSCENDENTAL": "2"}),
    "AMD": Emulated((), {}),
}


@dataclass
class Outcome:
    """What one device did: the reason of each test that was skipped or failed, by name, and the names of all that passed."""

    seconds: float
    passed: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def main() -> int:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tinygrad", type=Path, help="a source tree of tinygrad, with its folder test")
    parser.add_argument("--device", choices=sorted(EMULATED), default="QCOM", help="what is emulated, default QCOM")
    parser.add_argument("--tests", nargs="+", default=TESTS, metavar="FILE", help="relative to the source tree")
    parser.add_argument("--select", default="", metavar="EXPRESSION", help="only these tests, as pytest's -k")
    parser.add_argument(
        "--translations", type=Path, metavar="FOLDER", help="keep the emulator's host code for the next run"
    )
    parser.add_argument("--check", action="store_true", help="compare each kernel with the scalar interpreter")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        device, emulated = EMULATED[args.device], f"emulated {args.device}"
        environment = {**tests_environment(directory), **device.variables}
        survey = directory / "survey.json"
        runner = ["-m", "autoclave.emulator.tinygrad_device", "--device", args.device, *device.options]
        runner += ["--survey", str(survey)]
        if args.check:
            runner += ["--check"]
        if args.translations:
            runner += ["--translations", str(args.translations.resolve())]
        commands = {
            emulated: ([sys.executable, *runner, "-m", "pytest"], environment),
            REFERENCE: ([sys.executable, "-m", "pytest"], {**environment, "DEV": "CPU"}),
        }
        outcomes = {
            name: run_tests(command, variables, args, directory / "report.xml")
            for name, (command, variables) in commands.items()
        }
        surveyed = json.loads(survey.read_text())
    print_outcomes(outcomes)
    alone = only_emulated(outcomes)
    print_survey(surveyed)
    return 1 if alone or surveyed["refused"] else 0


_NOT_SET = ("DEV", "IMAGE", "FLOAT16", "NOLOCALS", "TRANSCENDENTAL", "TC_OPT", "TC_MIN_GLOBALS")


def tests_environment(directory: Path) -> dict[str, str]:
    """This process's environment, with the library on Python's path and a clang on the system's."""
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_SET}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(SOURCES), environment.get("PYTHONPATH")]))
    environment["NO_COLOR"] = environment["CI"] = "1"  # CI: the tests print less
    if not which("clang"):
        environment["PATH"] = os.pathsep.join([str(make_clang(directory)), environment.get("PATH", "")])
    return environment


def make_clang(directory: Path) -> Path:
    """A folder with a program `clang` that is `zig clang`."""
    wheel = find_spec("ziglang")
    if wheel is None or wheel.origin is None:
        sys.exit("tinygrad's CPU device needs a clang: install one, or the wheel ziglang")
    script = directory / "clang"
    script.write_text(f'#!/bin/sh\nexec {Path(wheel.origin).parent / "zig"} clang "$@"\n')
    script.chmod(0o755)
    return directory


def run_tests(command: list[str], environment: dict[str, str], args: argparse.Namespace, report: Path) -> Outcome:
    """One run of pytest in the source tree."""
    options = ["-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", f"--junitxml={report}"]
    if args.select:
        options += ["-k", args.select]
    start = time.monotonic()
    done = subprocess.run(
        [*command, *options, *args.tests], cwd=args.tinygrad, env=environment, stdout=subprocess.DEVNULL
    )
    outcome = Outcome(time.monotonic() - start)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} ended with code {done.returncode}; does {args.tinygrad} hold tinygrad's tests?")
    for case in ElementTree.parse(report).iter("testcase"):
        add_case(outcome, case)
    return outcome


def add_case(outcome: Outcome, case: "ElementTree.Element[str]") -> None:
    """Note one test of a report."""
    name = f"{case.get('file')}::{case.get('name')}"
    skipped = case.find("skipped")
    failures = [found for kind in ("failure", "error") if (found := case.find(kind)) is not None]
    if failures:
        outcome.failed[name] = failures[0].get("message", "").splitlines()[0]
    elif skipped is not None:
        outcome.skipped[name] = skipped.get("message", "")
    else:
        outcome.passed.add(name)


def only_emulated(outcomes: dict[str, Outcome]) -> list[str]:
    """The tests that fail on the emulator and not on the CPU."""
    emulated = next(outcome for device, outcome in outcomes.items() if device != REFERENCE)
    return sorted(set(emulated.failed) - set(outcomes[REFERENCE].failed))


def print_outcomes(outcomes: dict[str, Outcome]) -> None:
    """The table, and the reasons."""
    print("| device | passed | failed | skipped | seconds |\n|---|---|---|---|---|")
    for device, outcome in outcomes.items():
        counts = f"{len(outcome.passed)} | {len(outcome.failed)} | {len(outcome.skipped)}"
        print(f"| {device} | {counts} | {outcome.seconds:.0f} |")
    print(f"\nfailing on the emulator alone: {len(only_emulated(outcomes))}")
    for device, outcome in outcomes.items():
        for name, reason in outcome.failed.items():
            print(f"failed on {device}: {name}: {reason}")
        for reason, count in Counter(outcome.skipped.values()).most_common():
            print(f"skipped on {device}: {count} x {reason}")


def print_survey(survey: dict[str, Any]) -> None:
    """What the kernels consist of."""
    print(
        f"\n{survey['launches']} launches of {survey['kernels']} kernels, {len(survey['refused'])} not translated or stopped"
    )
    checked = survey["checked"]
    if checked["shapes"]:
        print(f"{checked['elements']} elements of {checked['shapes']} launches are what the scalar interpreter gives")
    for refused in survey["refused"]:
        print(f"refused: {refused['kernel']}: {refused['reason']}")
    print(
        f"{len(survey['instructions'])} instructions:", ", ".join(f"{k} {v}" for k, v in survey["instructions"].items())
    )


if __name__ == "__main__":
    sys.exit(main())

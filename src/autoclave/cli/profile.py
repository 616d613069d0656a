"""`autoclave profile`: which launches of an artifact do the work, in the sandbox."""

import argparse
import json
from pathlib import Path
from typing import Any

from autoclave.artifact.model import Part
from autoclave.cli.bar_chart import Panel, bar_chart, quantity
from autoclave.cli.confined import action_directory, add_sandbox_option, bring, produced, run_confined
from autoclave.cli.modules import EMULATED_HARDWARE, RUN
from autoclave.cli.parts import PART_HELP, chosen_part
from autoclave.cli.text import columns, count_text, natural, printable
from autoclave.errors import AutoclaveError

NAME = "profile"
HELP = "show which launches of an artifact for a GPU do the work: a table, and a bar chart as SVG"
EXAMPLES = """\
examples:
  autoclave profile dist/models/pop223/qcom/pop223_driving_tinygrad.pkl
                                    the 20 launches that execute the most instructions
  autoclave profile ARTIFACT --svg profile.svg
                                    the same as a chart, for a browser
  autoclave profile ARTIFACT --sort bytes --top 0
                                    all launches, by the memory that they touch
  autoclave profile ARTIFACT --json | jq '[.launches[].instructions] | add'

Instructions are those that the GPU would execute, of all threads together; bytes are the sizes of a launch's arguments, which
is the least that it has to move. Both are exact and the same everywhere. Time is that of the emulator on this machine, with one
thread, the median of some runs; it says little about a device's.
"""

_KEYS = {"instructions": "instructions", "bytes": "bytes", "time": "seconds", "order": "index"}
_MAX_RESULT = 1 << 26


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `autoclave profile`."""
    parser.epilog = EXAMPLES
    parser.add_argument(
        "artifact", type=Path, metavar="ARTIFACT", help=f"the artifact's file, of hardware {EMULATED_HARDWARE}"
    )
    parser.add_argument("--part", metavar="KEY", help=PART_HELP)
    parser.add_argument("--seed", type=natural, default=42, metavar="N", help="seed of the inputs (default 42)")
    parser.add_argument(
        "--repeat", type=natural, default=3, metavar="N", help="runs that the time is the median of (default 3)"
    )
    parser.add_argument("--sort", choices=tuple(_KEYS), default="instructions", help="what decides the rows' order")
    parser.add_argument(
        "--top", type=natural, default=20, metavar="N", help="show so many launches (default 20; 0: all)"
    )
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write the chart to this file")
    parser.add_argument("--json", action="store_true", help="print all launches as JSON")
    add_sandbox_option(parser)


def run(args: argparse.Namespace) -> int:
    """Profile the artifact and print the table."""
    measured = _measured(args)
    launches = _sorted(measured["launches"], args.sort)
    shown = launches[: args.top] if args.top > 0 else launches
    if args.svg:
        _write(args.svg, _chart(args.artifact, measured, shown))
    if args.json:
        print(json.dumps(measured, indent=2))
    else:
        print(printable("\n".join(_lines(measured, shown))))
    return 0


def _measured(args: argparse.Namespace) -> dict[str, Any]:
    """What the module in the sandbox found."""
    from autoclave.native.tensor_files import write_tensors
    from autoclave.parity.inputs import check_inputs

    with action_directory() as directory:
        artifact = bring(directory, "artifact", args.artifact)
        part = _chosen_part(args.artifact, args.part)
        write_tensors(directory / "inputs/check.npz", check_inputs(part, args.seed))
        request = {
            "artifact": artifact,
            "part": part.key if isinstance(part.key, str) else list(part.key),
            "inputs": "inputs/check.npz",
            "repeat": args.repeat,
            "output": "out/profile.json",
        }
        run_confined(directory, "autoclave.emulator.profile", request, {artifact: args.artifact}, args.sandbox)
        with produced(directory, "out/profile.json").open("rb") as file:
            return dict(json.loads(file.read(_MAX_RESULT)))


def _chosen_part(path: Path, key: str | None) -> Part:
    part = chosen_part(path, key)
    if part.target.device not in RUN:
        raise AutoclaveError(
            f"{path}: it is for {part.target.device}; profile takes artifacts of hardware {EMULATED_HARDWARE}"
        )
    return part


def _sorted(launches: list[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    """The largest first, or in the order of the run."""
    return sorted(launches, key=lambda each: (each[_KEYS[by]] * (1 if by == "order" else -1), each["index"]))


def _totals(launches: list[dict[str, Any]]) -> tuple[float, float, float]:
    instructions, nbytes, seconds = (
        sum(each[key] for each in launches) for key in ("instructions", "bytes", "seconds")
    )
    return instructions, nbytes, seconds


def _lines(measured: dict[str, Any], shown: list[dict[str, Any]]) -> list[str]:
    launches, host = measured["launches"], measured["host"]
    instructions, nbytes, seconds = _totals(launches)
    rows: list[tuple[object, ...]] = [("launch", "kernel", "", "threads", "instructions", "share", "bytes", "time")]
    for each in shown:
        number = "" if each["kernel"] is None else each["kernel"]
        share = f"{100 * each['instructions'] / instructions:.1f} %" if instructions else ""
        figures = (
            quantity(each["instructions"], ""),
            share,
            quantity(each["bytes"], "B"),
            quantity(each["seconds"], "s"),
        )
        rows.append((each["index"], number, each["name"], each["threads"], *figures))
    rest = len(launches) - len(shown)
    return [
        f"part {measured['part']}: {count_text(len(launches), 'launch', 'launches')}, {quantity(instructions, '')} instructions, "
        f"{quantity(nbytes, 'B')}, {quantity(seconds, 's')} on {count_text(host['threads'], 'thread')} of {host['cpu']}",
        *columns(rows),
        *([f"  and {count_text(rest, 'launch', 'launches')} more; --top 0 shows all"] if rest else []),
    ]


def _chart(path: Path, measured: dict[str, Any], shown: list[dict[str, Any]]) -> str:
    instructions, nbytes, seconds = _totals(measured["launches"])
    description = (
        f"{len(shown)} of {count_text(len(measured['launches']), 'launch', 'launches')} of part {measured['part']}, which take "
        f"{quantity(instructions, '')} instructions, {quantity(nbytes, 'B')} and {quantity(seconds, 's')} in all"
    )
    panels = (
        Panel("Instructions executed", "", [each["instructions"] for each in shown]),
        Panel("Bytes of arguments", "B", [each["bytes"] for each in shown]),
        Panel("Time on the emulator", "s", [each["seconds"] for each in shown]),
    )
    return bar_chart(
        f"Launches of {path.name}", description, [f"{each['index']}  {each['name']}" for each in shown], panels
    )


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise AutoclaveError(f"{path}: cannot be written: {error.strerror}") from error

"""Proves on a device that an artifact computes there what was recorded for it, bit for bit.

    ARTIFACT ARTIFACT.check.zst
    ARTIFACT ARTIFACT.check.zst --runs 20 --save comma3x.npz

Every part runs on the inputs in the check file, on the device that its code is for; outputs are compared with the recorded ones. What
--save writes is evidence for `parity_test(device_recording=…)`: from then on every build is held to what this device computed.
Exit code: 0 all outputs are the recorded ones, 1 one differs or none is recorded, 2 the artifact, the check file or the device is unusable.
"""

import argparse
import json
import sys
from pathlib import Path

from .errors import LoadError
from .loader import load
from .replay import Replay, ReplayedOutput


def main(arguments: list[str] | None = None) -> int:
    """Replay as `arguments` (default: the command line's) say; returns the exit code."""
    options = _parser().parse_args(arguments)
    devices = dict([name.partition(":")[0], name] for name in options.device)
    try:
        with load(
            options.artifact, check=options.check, devices=devices, allow_synthetic=options.allow_synthetic
        ) as model:
            result = model.replay(options.check, runs=options.runs)
        if options.save:
            result.save(options.save)
    except LoadError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print(json.dumps(_described(result)) if options.json else "\n".join(_lines(result)))
    return 0 if result.is_equal else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python3 -m {__package__}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("artifact", type=Path)
    parser.add_argument("check", type=Path, help="its check file, ….check.zst")
    parser.add_argument("--runs", type=_count, default=1, help="how often each part runs; the median time is printed")
    parser.add_argument("--save", type=Path, metavar="FILE.npz", help="write what this device computed")
    parser.add_argument(
        "--device", action="append", default=[], metavar="AMD:1", help="which of several devices; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--allow-synthetic", action="store_true", help="take made-up weights, for tests")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 100000")
    return int(text)


def _lines(result: Replay) -> list[str]:
    lines = [f"{_status(each):<9} {each.part}: {each.tensor.name}{_explained(each)}" for each in result.outputs]
    lines += [f"          {part}: {1e3 * seconds:.3f} ms a run" for part, seconds in result.seconds.items()]
    verdict = "this device computes what was recorded, bit for bit" if result.is_equal else "not proved"
    return [*lines, f"replay: {verdict}; artifact {result.sha256}"]


def _status(output: ReplayedOutput) -> str:
    if not output.is_recorded:
        return "unknown"
    return "ok" if output.difference is None else "DIFFERENT"


def _explained(output: ReplayedOutput) -> str:
    if not output.is_recorded:
        return ": the check file has no outputs"
    return "" if output.difference is None else f": {output.difference}"


def _described(result: Replay) -> dict[str, object]:
    outputs = [
        {
            "part": each.part,
            "output": each.tensor.name,
            "status": _status(each).lower(),
            "difference": _explained(each)[2:],
        }
        for each in result.outputs
    ]
    return {"artifact_sha256": result.sha256, "equal": result.is_equal, "outputs": outputs, "seconds": result.seconds}


if __name__ == "__main__":
    sys.exit(main())

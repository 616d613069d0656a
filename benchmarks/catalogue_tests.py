"""Time `./pants test models::` against the `./pants package models::` before it, over the checkout's own catalogue.

    AUTOCLAVE_MIRRORS=/path/to/mirror python benchmarks/catalogue_tests.py

The store is new. The toolchains are unpacked by building a small model for each hardware first; then the daemon is warm and
nothing of the catalogue has been compiled, translated, recorded or tested. Printed:
  cold: all tests of models:: (parity and reproducibility) over packaging models::, and what the actions of each stage took
  nothing changed: the medians of both, daemon warm
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path

from catalogue import CHECKOUT, copy_checkout, declare, stop_daemon, timed

HARDWARE = ("cpu", "qcom", "chestnut")
LINE = re.compile(
    r"^(?P<time>[\d:.]+) \[INFO\] (?P<what>Starting|Completed): (?P<action>(?P<stage>Test parity of|\w+) .*)$",
    re.MULTILINE,
)


def by_stage(log: str) -> str:
    """Seconds from start to end of all actions of each stage, added up."""
    started: dict[str, float] = {}
    totals: Counter[str] = Counter()
    for line in LINE.finditer(log):
        hours, minutes, seconds = (float(part) for part in line["time"].split(":"))
        now = 3600 * hours + 60 * minutes + seconds
        if line["what"] == "Starting":
            started[line["action"]] = now
        elif line["action"] in started:
            totals[line["stage"]] += (now - started.pop(line["action"])) % 86400
    return ", ".join(f"{stage} {seconds:.0f}" for stage, seconds in totals.most_common())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="timed runs with nothing changed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        checkout = Path(temporary, "checkout")
        copy_checkout(checkout)
        pants = ["./pants", f"--local-store-dir={temporary}/store"]
        package, test = [*pants, "package", "models::"], [*pants, "test", "models::"]
        try:
            declare(checkout, "warm", "S", int(time.time()), *HARDWARE)
            timed([*pants, "package", "models:warm"], checkout)
            shutil.rmtree(checkout / "models")
            shutil.copytree(CHECKOUT / "models", checkout / "models")
            packaged, packaging = timed(package, checkout)
            tested, testing = timed(test, checkout)
            print(f"cold: package {packaged:.1f} s, test {tested:.1f} s, ratio {tested / packaged:.2f}", flush=True)
            print(f"  seconds of actions: package: {by_stage(packaging)}\n  test: {by_stage(testing)}", flush=True)
            pairs = [(timed(package, checkout)[0], timed(test, checkout)[0]) for _ in range(options.runs)]
            packages, tests = (statistics.median(column) for column in zip(*pairs, strict=True))
            print(f"nothing changed: package {packages:.2f} s, test {tests:.2f} s, ratio {tests / packages:.2f}")
        finally:
            stop_daemon(checkout)


if __name__ == "__main__":
    main()

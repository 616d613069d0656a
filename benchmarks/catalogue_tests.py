"""Time `./pants test models::` against the `./pants package models::` before it, over the checkout's own catalogue.

    AUTOCLAVE_MIRRORS=/path/to/mirror python benchmarks/catalogue_tests.py

The store is new. The toolchains are unpacked by building a small model for each hardware first; then the daemon is warm and
nothing of the catalogue has been compiled, translated, recorded or tested. Printed:
  cold: all tests of models:: (parity and reproducibility) over packaging models::
  nothing changed: the medians of both, daemon warm
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from catalogue import CHECKOUT, copy_checkout, declare, stop_daemon, timed

HARDWARE = ("cpu", "qcom", "chestnut")


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
            packaged, _ = timed(package, checkout)
            tested, _ = timed(test, checkout)
            print(f"cold: package {packaged:.1f} s, test {tested:.1f} s, ratio {tested / packaged:.2f}", flush=True)
            pairs = [(timed(package, checkout)[0], timed(test, checkout)[0]) for _ in range(options.runs)]
            packages, tests = (statistics.median(column) for column in zip(*pairs, strict=True))
            print(f"nothing changed: package {packages:.2f} s, test {tests:.2f} s, ratio {tests / packages:.2f}")
        finally:
            stop_daemon(checkout)


if __name__ == "__main__":
    main()

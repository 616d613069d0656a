"""What building through ./pants costs over the bare capture, and what two cores save.

    python benchmarks/build.py --scale L --python /path/to/venv/bin/python

`--python` is an interpreter that imports the compiler's toolchain (tinygrad, llvmlite, tinymesa, numpy at the locked versions).
Printed, with the daemon warm and the toolchains unpacked:
  overhead: `./pants package` of one new model (compile in the sandbox, record, write dist) over the same capture run bare
  variants: all three variants of a new model in one call over the sum of three calls, one after another
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from catalogue import CHECKOUT, copy_checkout, declare, stop_daemon, timed

HARDWARE = ("cpu", "qcom", "chestnut")


def package(checkout: Path, target: str) -> float:
    """Wall seconds of `./pants package`."""
    return timed(["./pants", "package", target], checkout)[0]


def bare_capture(folder: Path, python: str, scale: str, seed: int) -> float:
    """Wall seconds of the compile action's process without Pants and without a sandbox, for chestnut."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "src"), "PYTHONDONTWRITEBYTECODE": ""}
    source = {"architecture": "supercombo", "scale": scale, "seed": seed, "output": "out/model.onnx"}
    (folder / "source.json").write_text(json.dumps(source))
    timed([python, "-m", "autoclave.source.synthetic", "source.json"], folder, environment)
    request = {
        "model": "out/model.onnx",
        "hardware": "chestnut",
        "renderer": "llvm",
        "tinygrad": "0.14.0",
        "dimensions": {},
        "synthetic": True,
        "source_sha256": "0" * 64,
        "source_size": (folder / "out/model.onnx").stat().st_size,
        "absent_flags": ["TC_MIN_GLOBALS"],
        "output": "out/artifact.pkl",
    }
    (folder / "compile.json").write_text(json.dumps(request))
    return timed([python, "-m", "autoclave.compiler", "compile.json"], folder, environment)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="L", help="scale of the synthetic models")
    parser.add_argument("--python", required=True, help="an interpreter with the compiler's toolchain")
    parser.add_argument("--rounds", type=int, default=3, help="rounds for the medians")
    options = parser.parse_args()
    base = int(time.time())  # weights that no cache has seen
    with tempfile.TemporaryDirectory() as temporary:
        checkout = Path(temporary, "checkout")
        copy_checkout(checkout)
        declare(checkout, "warm", "S", base, *HARDWARE)
        try:
            package(checkout, "models:warm")
            through_pants, bare = [], []
            for number in range(options.rounds):
                seed = base + 1 + number
                declare(checkout, f"one{number}", options.scale, seed, "qcom", "chestnut")
                # The check of the source, which a bare capture has not, is done by the build of the other variant.
                timed(["./pants", "package", f"models:one{number}@hardware=qcom"], checkout)
                through_pants.append(package(checkout, f"models:one{number}@hardware=chestnut"))
                folder = Path(temporary, f"bare{number}")
                folder.mkdir()
                bare.append(bare_capture(folder, options.python, options.scale, seed))
            ours, theirs = statistics.median(through_pants), statistics.median(bare)
            print(f"overhead: through ./pants {ours:.1f} s, bare {theirs:.1f} s, ratio {ours / theirs:.3f}")
            together, apart = [], []
            for number in range(options.rounds):
                declare(checkout, f"all{number}", options.scale, base + 100 + number, *HARDWARE)
                together.append(package(checkout, f"models:all{number}"))
                declare(checkout, f"each{number}", options.scale, base + 200 + number, *HARDWARE)
                apart.append(sum(package(checkout, f"models:each{number}@hardware={each}") for each in HARDWARE))
            ours, theirs = statistics.median(together), statistics.median(apart)
            print(f"variants: together {ours:.1f} s, one after another {theirs:.1f} s, ratio {ours / theirs:.2f}")
        finally:
            stop_daemon(checkout)


if __name__ == "__main__":
    main()

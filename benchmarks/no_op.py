"""Time `./pants package` of unchanged models against Bazel's no-op build of as many genrules with outputs of the same size.

    python benchmarks/no_op.py --models 60 --bazel /usr/bin/bazel

Both run with their daemons warm, alternating, in one run; the medians and their ratio are printed. Bazel is Debian's
bazel-bootstrap (4.2.3 when this was written). The first build compiles every model and takes minutes; its store is the user's.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
NOT_COPIED = shutil.ignore_patterns(".git", "dist", ".pants.d", "__pycache__", "models", ".mypy_cache", ".ruff_cache")
STARTED = re.compile(r"Starting: (Compile|Record|Synthesize)")


def make_catalogue(folder: Path, models: int, scale: str) -> None:
    """A checkout with `models` synthetic models, each with weights of its own, for cpu."""
    shutil.copytree(CHECKOUT, folder, ignore=NOT_COPIED)
    (folder / "models").mkdir()
    shutil.copy2(CHECKOUT / "models/prelude.py", folder / "models")
    for number in range(models):
        (folder / f"models/BUILD.m{number}").write_text(
            f'synthetic_onnx(name="m{number}-onnx", scale="{scale}", seed={number + 1})\n'
            f'onnx_model(name="m{number}", source=":m{number}-onnx", hardware="cpu")\n'
        )


def make_genrules(folder: Path, sizes: list[int]) -> None:
    """A Bazel workspace with one genrule for each size in bytes."""
    folder.mkdir()
    (folder / "WORKSPACE").write_text("")
    (folder / "BUILD").write_text(
        "".join(
            f'genrule(name = "m{number}", outs = ["m{number}.bin"], cmd = "head -c {size} /dev/zero > $@")\n'
            for number, size in enumerate(sizes)
        )
    )


def timed(command: list[str], folder: Path) -> tuple[float, str]:
    """Wall seconds of a command that has to succeed, and what it printed."""
    begin = time.perf_counter()
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{result.stdout}{result.stderr}")
    return seconds, result.stdout + result.stderr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=60, help="how many models and genrules")
    parser.add_argument("--scale", default="S", help="scale of the synthetic models")
    parser.add_argument("--runs", type=int, default=11, help="timed runs of each")
    parser.add_argument("--bazel", default="bazel", help="the bazel program")
    options = parser.parse_args()
    if shutil.which(options.bazel) is None:
        parser.error(f"{options.bazel} is not a program: install Debian's bazel-bootstrap or give --bazel")
    with tempfile.TemporaryDirectory() as temporary:
        catalogue, genrules = Path(temporary, "catalogue"), Path(temporary, "genrules")
        make_catalogue(catalogue, options.models, options.scale)
        package = ["./pants", "package", "models::"]
        first, _ = timed(package, catalogue)
        print(f"first build of {options.models} models: {first:.1f} s")
        sizes = [path.stat().st_size for path in sorted(catalogue.glob("dist/models/*/cpu/*.pkl"))]
        make_genrules(genrules, sizes)
        build = [options.bazel, "build", "//..."]
        try:
            for command, folder in ((package, catalogue), (package, catalogue), (build, genrules), (build, genrules)):
                timed(command, folder)
            pairs = [(timed(package, catalogue)[0], timed(build, genrules)[0]) for _ in range(options.runs)]
            ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
            print(f"no-op, daemons warm, medians of {options.runs}:")
            print(f"  pants package {ours:.3f} s, bazel build {theirs:.3f} s, ratio {ours / theirs:.2f}")
            cold, printed = timed(["./pants", "--no-pantsd", "package", "models::"], catalogue)
            print(
                f"no-op without a daemon: {cold:.1f} s, {len(STARTED.findall(printed))} compile, record or synthesis processes"
            )
        finally:
            subprocess.run([options.bazel, "shutdown"], cwd=genrules, capture_output=True)
            for pid in catalogue.glob(".pids/*/pantsd/pid"):
                subprocess.run(["kill", pid.read_text()], capture_output=True)


if __name__ == "__main__":
    main()

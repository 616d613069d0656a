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
from pathlib import Path

from catalogue import copy_checkout, declare, stop_daemon, timed

STARTED = re.compile(r"Starting: (Compile|Record|Synthesize)")


def declare_models(catalogue: Path, models: int, scale: str) -> None:
    """Synthetic models for cpu, each with weights of its own."""
    for number in range(models):
        declare(catalogue, f"m{number}", scale, number + 1, "cpu")


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
        copy_checkout(catalogue)
        declare_models(catalogue, options.models, options.scale)
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
            stop_daemon(catalogue)


if __name__ == "__main__":
    main()

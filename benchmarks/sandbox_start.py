"""What the sandbox adds to a start of the interpreter: `python benchmarks/sandbox_start.py --bwrap TREE --python-tree TREE`.

The trees are those that `autoclave_pants.fetch.unpack` makes of bubblewrap's wheel and of Python's Debian packages. Prints, for each kind
of interpreter, the median start with bubblewrap, without it (mode none), and of the interpreter alone, in milliseconds and as ratios.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LAUNCHER = Path(__file__).resolve().parents[1] / "src/autoclave/sandbox/launch.sh"
ROUNDS = 30


def starts(commands: dict[str, list[str]], directory: Path) -> dict[str, float]:
    """Median milliseconds of each command, taken in turns so that a busy machine slows them alike."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            begin = time.perf_counter()
            subprocess.run(command, cwd=directory, check=True)
            times[name].append((time.perf_counter() - begin) * 1e3)
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bwrap", type=Path, required=True)
    parser.add_argument("--python-tree", type=Path, required=True)
    options = parser.parse_args()
    abi = f"cp3{sys.version_info.minor}"
    kinds = {
        "debian python": ["--python-tree", str(options.python_tree.resolve())],
        "host python": ["--python-link", sys.executable, "--python-abi", abi],
    }
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        (directory / "src").mkdir()
        (directory / "src/nothing.py").touch()
        launch = ["sh", str(LAUNCHER), "--bwrap", str(options.bwrap.resolve())]
        bare = [sys.executable, "-P", "-s", "-B", str(directory / "src/nothing.py")]
        for kind, python in kinds.items():
            commands = {
                "bubblewrap": [*launch, *python, "--", "nothing"],
                "none": [*launch, "--mode", "none", *python, "--", "nothing"],
                "bare host": bare,
            }
            medians = starts(commands, directory)
            base = medians["bare host"]
            print(kind, *(f"{name} {ms:.1f} ms ({ms / base:.2f}x)" for name, ms in medians.items()), sep="  ")


if __name__ == "__main__":
    main()

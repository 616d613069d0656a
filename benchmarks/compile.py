"""What compiling costs, per scale and hardware: CPU time, memory against the weights, the arena against its bound.

    python benchmarks/compile.py --scales S L --hardware cpu qcom chestnut --directory /tmp/compile

Needs what the compile action needs, and onnx for the synthetic models. Each compile is a process of its own, as in a
build. Ratios: `memory` is the process's peak over the weights' bytes (XL for chestnut: at most 2.2); `arena` is the
arena over the most bytes live at one call (L: at most 1.15). CPU seconds hardly depend on what else the machine does.
"""

import argparse
import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parents[1] / "src"
SEED = 7
COLUMNS = ("scale", "hardware", "kernels", "launches", "init", "CPU s", "peak MB", "memory", "arena")


def run_action(directory: Path, module: str, request: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """Run `python -m MODULE` on `request`; the JSON object on the last line of its output, and its CPU seconds."""
    (directory / "request.json").write_text(json.dumps(request))
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-m", module, "request.json"],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    after = os.times()
    lines = done.stdout.splitlines()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return (json.loads(lines[-1]) if lines else {}), seconds


def synthetic_model(directory: Path, scale: str, single_precision: bool) -> str:
    """The name of the synthetic model of `scale` in `directory`, made unless it is there."""
    model, upcast = f"{scale}.onnx", f"{scale}.fp32.onnx"
    if not (directory / model).exists():
        request = {"architecture": "supercombo", "scale": scale, "seed": SEED, "output": model}
        run_action(directory, "autoclave.source.synthetic", request)
    if single_precision and not (directory / upcast).exists():
        run_action(directory, "autoclave.source.upcast", {"model": model, "output": upcast, "report": "upcast.json"})
    return upcast if single_precision else model


def measure(directory: Path, scale: str, hardware: str) -> tuple[str, ...]:
    """Compile one model and give its row of the table."""
    model = synthetic_model(directory, scale, single_precision=hardware == "cpu")
    content = directory / model
    request = {
        "model": model,
        "hardware": hardware,
        "tinygrad": "0.14.0",
        "synthetic": True,
        "source_sha256": sha256(content.read_bytes()).hexdigest(),
        "source_size": content.stat().st_size,
        "absent_flags": ["TC_MIN_GLOBALS"],
        "output": f"{scale}-{hardware}.pkl",
    }
    report, seconds = run_action(directory, "autoclave.compiler", request)
    return (
        scale,
        hardware,
        str(report["kernels"]),
        str(report["launches"]),
        str(report["init_launches"]),
        f"{seconds:.1f}",
        f"{report['peak_rss'] / 1e6:.0f}",
        f"{report['peak_rss'] / report['weights']:.2f}",
        f"{report['arena'] / max(1, report['live_peak']):.3f}",
    )


def main() -> None:
    """Measure each scale on each hardware and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scales", nargs="+", default=["S", "L"], choices=["S", "M", "L", "XL"])
    parser.add_argument("--hardware", nargs="+", default=["cpu", "qcom", "chestnut"])
    parser.add_argument("--directory", type=Path, required=True, help="where models and artifacts go; models are kept")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    print("".join(f"{column:>10}" for column in COLUMNS))
    for scale in arguments.scales:
        for hardware in arguments.hardware:
            row = measure(arguments.directory, scale, hardware)
            print("".join(f"{cell:>10}" for cell in row), flush=True)


if __name__ == "__main__":
    main()

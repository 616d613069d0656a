"""Forward pass of a CPU artifact against tinygrad's own CPU JIT and ONNX Runtime, all on one thread.

    python benchmarks/cpu_forward.py --scale L --directory /tmp/forward

Needs tinygrad, llvmlite, onnx, onnxruntime and ziglang (tinygrad's CPU device wants a clang; `zig clang` is one). Makes a
synthetic model and compiles its artifact unless the directory has them. tinygrad's JIT uses the artifact's renderer, so the
same LLVM; the three take turns in one process, so a busy machine slows them alike. Ratios below 1: the artifact is faster.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

SOURCES = Path(__file__).resolve().parents[1] / "src"
ARCH = "x86_64,x86-64-v3"

Forward = Callable[[], dict[str, Any]]
"""One forward pass on prepared inputs; gives its outputs by name."""


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="L", choices=("S", "M", "L", "XL"))
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "autoclave-cpu-forward")
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    sys.path.insert(0, str(SOURCES))
    prepare(args.directory, args.scale)
    runners = measured(args.directory, args.scale)
    outputs = {name: forward() for name, forward in runners.items()}  # warms up: tinygrad compiles here
    for forward in runners.values():
        forward()
    seconds = take_turns(runners, args.rounds)
    print_table(args.scale, seconds, outputs)


def prepare(directory: Path, scale: str) -> None:
    """Make the model, its fp32 graph and its artifact in `directory`, each unless it is there."""
    directory.mkdir(parents=True, exist_ok=True)
    model, fp32, artifact = (f"{scale}.onnx", f"{scale}.fp32.onnx", f"{scale}.pkl")
    make(directory, model, "autoclave.source.synthetic", {"architecture": "supercombo", "scale": scale, "seed": 1})
    make(directory, fp32, "autoclave.source.upcast", {"model": model, "report": "upcast.json"})
    source = (directory / model).read_bytes()
    compile_fields = {
        "model": fp32,
        "hardware": "cpu",
        "renderer": "llvm",
        "tinygrad": "0.14.0",
        "source_sha256": sha256(source).hexdigest(),
        "source_size": len(source),
        "synthetic": True,
    }
    make(directory, artifact, "autoclave.compiler", compile_fields)


def make(directory: Path, output: str, module: str, request: dict[str, Any]) -> None:
    """Run an entry module that writes `output`, unless that exists."""
    if (directory / output).exists():
        return
    (directory / "request.json").write_text(json.dumps({**request, "output": output}))
    subprocess.run(
        [sys.executable, "-m", module, "request.json"],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )


def measured(directory: Path, scale: str) -> dict[str, Forward]:
    """The three ways to run the model, on the same inputs."""
    from autoclave.artifact.reader import open_artifact
    from autoclave.native.model import NativeModel
    from autoclave.parity.inputs import check_inputs

    model = NativeModel(open_artifact(directory / f"{scale}.pkl"), "run")
    inputs = check_inputs(model.part, 42)
    return {
        "artifact": lambda: model.run(inputs),
        "tinygrad": tinygrad_forward(directory / f"{scale}.fp32.onnx", inputs),
        "onnxruntime": onnxruntime_forward(directory / f"{scale}.fp32.onnx", inputs),
    }


def tinygrad_forward(model: Path, inputs: dict[str, Any]) -> Forward:
    """tinygrad's CPU device with its JIT and the compiler's LLVM 20; the inputs are on the device beforehand."""
    settings = {"DEV": f"CPU:LLVM20:{ARCH}", "JIT": "2", "CACHELEVEL": "0", "PARALLEL": "0", "NUM_CPU_THREADS": "1"}
    os.environ.update(settings, CC=str(clang(model.parent)))
    from tinygrad.device import Device
    from tinygrad.engine.jit import TinyJit
    from tinygrad.nn.onnx import OnnxRunner
    from tinygrad.runtime import ops_cpu
    from tinygrad.tensor import Tensor

    from autoclave.compiler.renderers.llvm20 import CPULLVM20Renderer

    setattr(ops_cpu, "CPULLVMRenderer", CPULLVM20Renderer)  # noqa: B010
    device: Any = Device["CPU"]
    runner = OnnxRunner(str(model))

    @TinyJit
    def jitted(**tensors: Any) -> dict[str, Any]:
        return {name: output.contiguous().realize() for name, output in runner(tensors).items()}

    tensors = {name: Tensor(array).realize() for name, array in inputs.items()}
    jitted(**tensors)

    def forward() -> dict[str, Any]:
        outputs = jitted(**tensors)
        device.synchronize()
        return {name: output.numpy() for name, output in outputs.items()}

    return forward


def clang(directory: Path) -> Path:
    """A program that is `zig clang`, since tinygrad takes a clang's name without arguments."""
    wheel = find_spec("ziglang")
    if wheel is None or wheel.origin is None:
        sys.exit("tinygrad's CPU device needs a clang: install the wheel ziglang")
    script = directory / "clang"
    script.write_text(f'#!/bin/sh\nexec {Path(wheel.origin).parent / "zig"} clang "$@"\n')
    script.chmod(0o755)
    return script


def onnxruntime_forward(model: Path, inputs: dict[str, Any]) -> Forward:
    """ONNX Runtime at its best on one thread: all graph optimisations."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda: dict(zip(names, session.run(names, inputs), strict=True))


def take_turns(runners: dict[str, Forward], rounds: int) -> dict[str, list[float]]:
    """Seconds of each runner's forward passes, one of each per round."""
    seconds: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(rounds):
        for name, forward in runners.items():
            started = time.perf_counter()
            forward()
            seconds[name].append(time.perf_counter() - started)
    return seconds


def print_table(scale: str, seconds: dict[str, list[float]], outputs: dict[str, dict[str, Any]]) -> None:
    """Times, the artifact's time as a ratio of each, and how far each one's outputs are from the artifact's."""
    print(f"forward pass of synthetic supercombo {scale}, fp32, one thread, {len(seconds['artifact'])} rounds")
    print(f"{'':12} {'fastest':>10} {'median':>10} {'artifact / it':>24} {'largest difference':>20}")
    for name, times in seconds.items():
        fastest = min(seconds["artifact"]) / min(times)
        median = statistics.median(seconds["artifact"]) / statistics.median(times)
        difference = max(float(np.abs(outputs[name][key] - value).max()) for key, value in outputs["artifact"].items())
        ratios = f"{fastest:.2f} (median {median:.2f})"
        print(
            f"{name:12} {1000 * min(times):7.1f} ms {1000 * statistics.median(times):7.1f} ms"
            f" {ratios:>24} {difference:20.2g}"
        )


if __name__ == "__main__":
    main()

"""The measures of emulator.py that need nothing but this project: forward, cold, memory, opcodes."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from autoclave.artifact.reader import open_artifact
from autoclave.emulator.interpretations import interpretation_of
from autoclave.emulator.jit import best_target
from autoclave.emulator.launch import KernelCode
from autoclave.emulator.model import EmulatedModel, Placement
from autoclave.emulator.shapes import artifact_work, translate_work
from autoclave.emulator.translation import translate_to_ir
from autoclave.errors import EmulationError
from autoclave.native.model import NativeModel, Tensors
from autoclave.native.tensor_files import write_tensors
from autoclave.parity.inputs import CHECK_SEED, check_inputs

SOURCES = Path(__file__).resolve().parents[1] / "src"
MEMORY_CHILD = Path(__file__).with_name("replay_memory.py")
MODEL_SEED = 1
PROCESSES = 2
CLOCKS = ("wall", "cpu")

Forward = Callable[[Tensors], Mapping[str, Any]]


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock, and of all processors: of a process, those of its own children included."""

    wall: float
    cpu: float


def run_process(arguments: list[str], directory: Path) -> tuple[Cost, str]:
    """Run Python with `arguments` and this checkout's sources. Its costs, and what it printed. It must succeed."""
    path = os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "AUTOCLAVE_PROCESSORS": str(PROCESSES)}
    before, started = os.times(), time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], cwd=directory, env=environment, capture_output=True, text=True)
    wall, after = time.perf_counter() - started, os.times()
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(wall, cpu), done.stdout


def run_action(module: str, request: dict[str, Any], directory: Path) -> Cost:
    """Run an entry module on `request`, in `directory`."""
    (directory / "request.json").write_text(json.dumps(request))
    return run_process(["-m", module, "request.json"], directory)[0]


# Models


def prepare(directory: Path, scale: str, hardware: str) -> None:
    """Make the synthetic model of `scale`, its fp32 graph and its artifacts for `hardware` and cpu, each unless it is there."""
    directory.mkdir(parents=True, exist_ok=True)
    model, fp32 = directory / f"{scale}.onnx", directory / f"{scale}.fp32.onnx"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if not model.exists():
            request = {"architecture": "supercombo", "scale": scale, "seed": MODEL_SEED, "output": str(model)}
            run_action("autoclave.source.synthetic", request, folder)
        if not fp32.exists():
            request = {"model": str(model), "output": str(fp32), "report": "upcast.json"}
            run_action("autoclave.source.upcast", request, folder)
        for each in (hardware, "cpu"):
            artifact = directory / f"{scale}.{each}.pkl"
            if not artifact.exists():
                run_action("autoclave.compiler", compile_request(directory, scale, each, artifact), folder)


def prepare_single_precision(directory: Path, scale: str, hardware: str) -> Path:
    """The artifact of the fp32 graph of `scale`, made unless it is there."""
    artifact = directory / f"{scale}.f32.{hardware}.pkl"
    if not artifact.exists():
        request = compile_request(directory.resolve(), scale, hardware, artifact.resolve())
        with tempfile.TemporaryDirectory() as folder:
            run_action("autoclave.compiler", {**request, "model": str(directory / f"{scale}.fp32.onnx")}, Path(folder))
    return artifact


def compile_request(directory: Path, scale: str, hardware: str, output: Path) -> dict[str, Any]:
    """What the compile action is asked for."""
    source = (directory / f"{scale}.onnx").read_bytes()
    return {
        "model": str(directory / (f"{scale}.fp32.onnx" if hardware == "cpu" else f"{scale}.onnx")),
        "hardware": hardware,
        "tinygrad": "0.14.0",
        "synthetic": True,
        "source_sha256": sha256(source).hexdigest(),
        "source_size": len(source),
        "absent_flags": ["TC_MIN_GLOBALS"],
        "output": str(output),
    }


# A forward pass


def forward(directory: Path, scale: str, hardware: str, rounds: int) -> None:
    """Measure and print a forward pass of one scale: copying inputs in and outputs out is part of it for all."""
    with ExitStack() as opened:
        emulated = opened.enter_context(open_artifact(directory / f"{scale}.{hardware}.pkl"))
        native = opened.enter_context(open_artifact(directory / f"{scale}.cpu.pkl"))
        target = best_target()
        translations = {each.key: each for each in translate_work(artifact_work(emulated), target, PROCESSES)}
        models = [EmulatedModel(emulated, "run", Placement(target, threads=n), translations) for n in (1, 2)]
        inputs = check_inputs(models[0].part, CHECK_SEED)
        runners: dict[str, Forward] = {
            "emulator": models[0].run,
            "emulator, 2 threads": models[1].run,
            "CPU artifact": NativeModel(native, "run").run,
            "ONNX Runtime": onnxruntime_forward(directory / f"{scale}.fp32.onnx"),
        }
        outputs = [runner(inputs) for _ in range(2) for runner in runners.values()][len(runners) :]
        costs = take_turns(runners, inputs, rounds)
    print(
        f"forward pass of synthetic supercombo {scale} for {hardware}, one thread unless it says two, {rounds} rounds"
    )
    print(
        f"{'':20} {'fastest':>10} {'median':>10} {'CPU time':>10} {'emulator / it: by median, by CPU time':>40} {'difference':>11}"
    )
    wall, cpu = (
        {name: statistics.median(getattr(each, clock) for each in costs[name]) for name in runners} for clock in CLOCKS
    )
    for name, output in zip(runners, outputs, strict=True):
        fastest = min(cost.wall for cost in costs[name])
        ratios = f"{wall['emulator'] / wall[name]:.2f} {cpu['emulator'] / cpu[name]:7.2f}"
        print(
            f"{name:20} {1000 * fastest:7.1f} ms {1000 * wall[name]:7.1f} ms {1000 * cpu[name]:7.1f} ms {ratios:>40}"
            f" {largest_difference(output, outputs[-1]):11.2g}"
        )
    print(
        "CPU time is the median's, of all threads. Differences are the outputs' largest, from ONNX Runtime, whose model has"
    )
    print("single precision where the emulated one has half\n", flush=True)


def onnxruntime_forward(model: Path) -> Forward:
    """ONNX Runtime at its best on one thread: all graph optimisations."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(names, inputs), strict=True))


def take_turns(runners: dict[str, Forward], inputs: Tensors, rounds: int) -> dict[str, list[Cost]]:
    """What each runner's forward passes took, one of each per round.

    A turn is two passes, of which the second counts: the first brings back what the others have put out of the caches.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in runners}
    for _ in range(rounds):
        for name, runner in runners.items():
            runner(inputs)
            wall, cpu = time.perf_counter(), time.process_time()
            runner(inputs)
            costs[name].append(Cost(time.perf_counter() - wall, time.process_time() - cpu))
    return costs


def largest_difference(outputs: Mapping[str, Any], others: Mapping[str, Any]) -> float:
    """The largest absolute difference of any element of any output."""
    return max(float(np.abs(outputs[name] - value.astype(np.float64)).max()) for name, value in others.items())


# From an artifact to its outputs, with nothing translated beforehand


def cold(directory: Path, scale: str, hardware: str, rounds: int) -> None:
    """Measure and print what it takes to compile a scale and to run it for the first time, as processes of their own."""
    artifact = directory / f"{scale}.{hardware}.pkl"
    compiled: list[Cost] = []
    replayed: list[Cost] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_inputs(artifact, folder / "inputs.npz")
        compile_it = compile_request(directory.resolve(), scale, hardware, folder / "compiled.pkl")
        run_it = {"artifact": str(artifact.resolve()), "inputs": "inputs.npz", "output": "outputs.npz"}
        for _ in range(rounds):
            compiled.append(run_action("autoclave.compiler", compile_it, folder))
            replayed.append(run_action("autoclave.emulator", run_it, folder))
    print(f"{scale} for {hardware}, cold, processes from start to end, medians of {rounds} by turns")
    print(f"{'':44} {'seconds':>9} {'CPU seconds':>12}")
    for name, costs in ((f"decode, translate ({PROCESSES} processes), run once", replayed), ("compile", compiled)):
        print(f"{name:44} {median(costs, 'wall'):9.1f} {median(costs, 'cpu'):12.1f}")
    ratios = [median(replayed, clock) / median(compiled, clock) for clock in ("wall", "cpu")]
    print(f"{'ratio':44} {ratios[0]:9.2f} {ratios[1]:12.2f}\n", flush=True)


def write_inputs(artifact: Path, file: Path) -> None:
    """Write the check inputs of an artifact to `file`."""
    with open_artifact(artifact) as opened:
        write_tensors(file, check_inputs(opened.part("run"), CHECK_SEED))


def median(costs: list[Cost], clock: str) -> float:
    """The median by one of the two clocks."""
    return statistics.median(getattr(cost, clock) for cost in costs)


# Memory


def memory(directory: Path, scale: str, hardware: str) -> None:
    """Measure and print the largest resident size of processes that run a scale, above one that only opens it."""
    artifact = (directory / f"{scale}.{hardware}.pkl").resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_inputs(artifact, folder / "inputs.npz")
        run_action("autoclave.emulator.extract", {"artifact": str(artifact), "output": "kernels.json"}, folder)
        target = best_target()
        request = {"kernels": "kernels.json", "cpu": target.cpu, "lanes": target.lanes, "output": "translations"}
        run_action("autoclave.emulator.translate", request, folder)
        files = [str(artifact), "inputs.npz", "translations"]
        sizes = {
            mode: int(run_process([str(MEMORY_CHILD), mode, *files], folder)[1])
            for mode in ("baseline", "replay", "translate")
        }
    unit = artifact.stat().st_size + arena_size(artifact)
    print(
        f"memory of running {scale} for {hardware}, above a process that only opens it ({sizes['baseline'] / 1e6:.0f} MB)"
    )
    print(f"artifact and arena {unit / 1e6:.0f} MB")
    for mode, what in (("replay", "with stored translations"), ("translate", "translating in the same process")):
        above = sizes[mode] - sizes["baseline"]
        print(f"{what:32} {above / 1e6:6.0f} MB {above / unit:6.2f} times artifact and arena")
    print(flush=True)


def arena_size(artifact: Path) -> int:
    """Bytes of the arena of the part that is run."""
    with open_artifact(artifact) as opened:
        return sum(buffer.nbytes for buffer in opened.part("run").buffers if buffer.kind == "arena")


# Opcodes


def names(kernel: KernelCode) -> list[str]:
    """Of a kernel's instructions; of those that are two in one, both."""
    interpretation = interpretation_of(kernel)
    decoded = interpretation.decode(kernel.code, kernel.name)
    return [name for each in decoded for name in interpretation.operations(each)]


def opcodes(artifacts: list[Path], verbose: bool) -> None:
    """Translate all kernels of `artifacts` to IR, and print what they consist of and what was refused."""
    total: Counter[str] = Counter()
    print(f"{'artifact':20} {'kernels':>8} {'instructions':>13} {'opcodes':>8} {'kernels refused':>16}")
    for artifact in artifacts:
        with open_artifact(artifact) as opened:
            shapes = [work.shape for work in artifact_work(opened)]
        refusals = []
        found: Counter[str] = Counter()
        for shape in shapes:
            try:
                found.update(names(shape.kernel))
                translate_to_ir(shape, best_target())
            except EmulationError as error:
                refusals.append(str(error))
        print(f"{artifact.name:20} {len(shapes):8} {found.total():13} {len(found):8} {len(refusals):16}")
        print("".join(f"  {refusal}\n" for refusal in refusals), end="")
        total += found
    print(f"{len(total)} different opcodes in all\n", flush=True)
    if verbose:
        print("".join(f"{count:8} {name}\n" for name, count in total.most_common()))

"""The measures of driving.py."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from emulator_measures import PROCESSES, Cost, median, run_action

from autoclave.artifact.reader import Artifact, open_artifact
from autoclave.drive.pipeline import RUN_POLICY, Drive
from autoclave.driving.metadata import CAMERA_RESOLUTIONS
from autoclave.native.model import NativeModel, Tensors
from autoclave.parity.inputs import CHECK_SEED, check_inputs

SEED = 223
FRAMES = 50
TURN = 10
"""Frames in a row of the drive, and forward passes in a row, before the other's turn."""
MODEL_SIZE = [512, 256]
TOOLCHAIN = {"tinygrad": "0.14.0", "absent_flags": ["TC_MIN_GLOBALS"]}
TRANSLATION = {"kernels": "kernels.json", "cpu": "x86-64-v3"}
TOLERANCE = {"tolerance": 0.01, "tolerance_reason": "60 layers round to fp16"}
WARPS = tuple(f"{width}x{height}" for width, height in CAMERA_RESOLUTIONS)


@dataclass(frozen=True)
class Model:
    """The files of a synthetic supercombo: as it is, and in fp32."""

    scale: str
    source: Path
    fp32: Path


def prepared(directory: Path, scale: str) -> Model:
    """The model of `scale` in `directory`, made unless it is there."""
    directory.mkdir(parents=True, exist_ok=True)
    model = Model(scale, directory / f"{scale}.onnx", directory / f"{scale}.fp32.onnx")
    if not model.source.exists():
        request = {"architecture": "supercombo", "scale": scale, "seed": SEED, "output": str(model.source)}
        run_action("autoclave.source.synthetic", request, directory)
    if not model.fp32.exists():
        upcast(model, directory, model.fp32)
    return model


def upcast(model: Model, folder: Path, output: Path) -> Cost:
    """Write the fp32 graph to `output`."""
    request = {"model": str(model.source), "output": str(output), "report": "upcast.json"}
    return run_action("autoclave.source.upcast", request, folder)


# The actions that a build consists of, each in a folder of its own, as they run at the same time


def compile_policy(model: Model, hardware: str, folder: Path) -> Cost:
    """Compile the policy part to run_policy.pkl."""
    content = model.source.read_bytes()
    part = {
        "part": "supercombo",
        "path": str(model.fp32 if hardware == "cpu" else model.source),
        "sha256": sha256(content).hexdigest(),
        "size": len(content),
    }
    request = {"kind": "supercombo", "models": [part], "synthetic": True, "hardware": hardware, **TOOLCHAIN}
    return run_action(
        "autoclave.compiler.policy", {**request, "output": str(folder / "run_policy.pkl")}, own(folder, 0)
    )


def compile_warps(hardware: str, folder: Path) -> None:
    """Compile the warps of both cameras, one after the other, to WIDTHxHEIGHT.pkl."""
    for name, camera in zip(WARPS, CAMERA_RESOLUTIONS, strict=True):
        request = {"camera": camera, "model_size": MODEL_SIZE, "layout": "planes", "hardware": hardware, **TOOLCHAIN}
        run_action("autoclave.compiler.warp", {**request, "output": str(folder / f"{name}.pkl")}, own(folder, 1))


def assemble(folder: Path) -> None:
    """Assemble the parts to artifact.pkl."""
    parts = [f"{name}.pkl" for name in ("run_policy", *WARPS)]
    request = {"parts": parts, "behavior_version": "v16", "output": "artifact.pkl"}
    run_action("autoclave.artifact.assemble", request, folder)


def own(folder: Path, number: int) -> Path:
    """The folder of one of the actions that run at the same time."""
    place = folder / f"action{number}"
    place.mkdir(exist_ok=True)
    return place


def build_all(model: Model, hardware: str, folder: Path) -> Cost:
    """Build the whole artifact in `folder`, the policy part and the warps at the same time, as on two cores."""

    def act() -> None:
        with ThreadPoolExecutor(PROCESSES) as pool:
            for each in (
                pool.submit(compile_policy, model, hardware, folder),
                pool.submit(compile_warps, hardware, folder),
            ):
                each.result()
        assemble(folder)

    return cost_of(act)


def cost_of(act: Callable[[], None]) -> Cost:
    """What `act` takes, with all processes that it starts."""
    before, started = os.times(), time.perf_counter()
    act()
    wall, after = time.perf_counter() - started, os.times()
    return Cost(wall, after.children_user + after.children_system - before.children_user - before.children_system)


# Measures


def pipeline(model: Model, rounds: int) -> None:
    """Measure and print drives of `FRAMES` frames against as many forward passes of the policy part alone."""
    print(f"{FRAMES} frames of synthetic supercombo {model.scale} on the CPU, one thread, medians of {rounds} by turns")
    print(f"{'':24} {'seconds':>9} {'CPU seconds':>12} {'over the policy: by clock, by CPU time':>40}")
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as opened:
        folder = Path(temporary)
        build_all(model, "cpu", folder)
        artifact = opened.enter_context(open_artifact(folder / "artifact.pkl"))
        for camera in CAMERA_RESOLUTIONS:
            pairs = [one_drive(artifact, camera) for _ in range(rounds)]
            drives, passes = ([pair[side] for pair in pairs] for side in (0, 1))
            print_cost(f"policy part, {FRAMES} times", passes)
            print_ratio(f"{camera[0]}x{camera[1]}, all parts", drives, passes)
    print(flush=True)


def one_drive(artifact: Artifact, camera: tuple[int, int]) -> tuple[Cost, Cost]:
    """What a drive of `FRAMES` frames takes, and as many forward passes of the policy part."""
    warp, policy = NativeModel(artifact, camera), NativeModel(artifact, RUN_POLICY)
    drive = Drive(artifact.header, warp.part, policy.part, warp.run, policy.run)
    frames = [noise(warp, number) for number in range(TURN)]
    inputs = check_inputs(policy.part, CHECK_SEED)
    turns = []
    for _ in range(FRAMES // TURN):
        driven = time_in_process(lambda: [drive.step(frame) for frame in frames])
        turns.append((driven, time_in_process(lambda: [policy.run(inputs) for _ in range(TURN)])))
    both = [(sum(turn[side].wall for turn in turns), sum(turn[side].cpu for turn in turns)) for side in (0, 1)]
    return Cost(*both[0]), Cost(*both[1])


def noise(warp: NativeModel, number: int) -> Tensors:
    """Frames of noise, seen as a camera does that is mounted straight."""
    frame = check_inputs(warp.part, CHECK_SEED + number)
    matrix = np.array([[2.9, 0, 180], [0, 2.9, 465], [0, 0, 1]], np.float32)
    return {**frame, "tfm": matrix, "big_tfm": matrix}


def time_in_process(act: Callable[[], Any]) -> Cost:
    """What `act` takes of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    act()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def build(model: Model, hardware: str, rounds: int) -> None:
    """Measure and print building the whole artifact against compiling its policy part."""
    alone, whole = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as temporary:
            alone.append(compile_policy(model, hardware, Path(temporary)))
            whole.append(build_all(model, hardware, Path(temporary)))
    print(f"building {model.scale} for {hardware}, {PROCESSES} processes, medians of {rounds} by turns")
    print_cost("policy part", alone)
    print_ratio("all parts, assembled", whole, alone)
    print(flush=True)


def parity(model: Model, hardware: str, rounds: int) -> None:
    """Measure and print testing all parts, from nothing, against building them."""
    built, recorded, tested = [], [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            built.append(build_all(model, hardware, folder))
            recorded.append(cost_of(partial(record, hardware, folder)))
            tested.append(cost_of(partial(check, model, hardware, folder)))
    both = [Cost(one.wall + other.wall, one.cpu + other.cpu) for one, other in zip(recorded, tested, strict=True)]
    print(
        f"parity of all parts of {model.scale} for {hardware}, cold, {PROCESSES} processes, medians of {rounds} by turns"
    )
    print_cost("compile and assemble", built)
    print_ratio("record (part of a build)", recorded, built)
    print_ratio("test", tested, built)
    print_ratio("record and test", both, built)
    print(flush=True)


def record(hardware: str, folder: Path) -> None:
    """Record the check file of artifact.pkl; the kernels are translated in haste first."""
    request = {"artifact": "artifact.pkl", "output": "check.zst"}
    if hardware == "cpu":
        run_action("autoclave.parity.record", request, folder)
        return
    run_action("autoclave.emulator.extract", {"artifact": "artifact.pkl", "output": "kernels.json"}, folder)
    run_action("autoclave.emulator.translate", {**TRANSLATION, "lanes": 4, "quick": True, "output": "quick"}, folder)
    translated = {"translations": "quick", "cpu": TRANSLATION["cpu"]}
    run_action("autoclave.parity.emulated.record", {**request, **translated}, folder)


def check(model: Model, hardware: str, folder: Path) -> None:
    """Test artifact.pkl against its check file and ONNX Runtime, as `parity_test` does, the fp32 graph and other host code made first,
    at the same time.
    """
    kernels = {**TRANSLATION, "kernels": str(folder / "kernels.json")}
    other = {**kernels, "lanes": 8, "quick": False, "output": str(folder / "other")}
    with ThreadPoolExecutor(PROCESSES) as pool:
        made = [pool.submit(upcast, model, own(folder, 0), folder / "fp32.onnx")]
        if hardware != "cpu":
            made.append(pool.submit(run_action, "autoclave.emulator.translate", other, own(folder, 1)))
        for each in made:
            each.result()
    models = {"reference_models": {"supercombo": "fp32.onnx"}}
    request = {"artifact": "artifact.pkl", "check": "check.zst", "report": "report.json", **models}
    if hardware == "cpu":
        run_action("autoclave.parity", request, folder)
        return
    translated = {"translations": "other", "cpu": TRANSLATION["cpu"]}
    run_action("autoclave.parity.emulated", {**request, **translated, **TOLERANCE}, folder)


def print_cost(name: str, costs: list[Cost]) -> None:
    """A line of medians."""
    print(f"{name:24} {median(costs, 'wall'):9.2f} {median(costs, 'cpu'):12.2f}")


def print_ratio(name: str, costs: list[Cost], baseline: list[Cost]) -> None:
    """A line of medians, and of the medians of the turns' ratios."""
    ratios = (
        statistics.median(
            getattr(one, clock) / getattr(other, clock) for one, other in zip(costs, baseline, strict=True)
        )
        for clock in ("wall", "cpu")
    )
    shown = " ".join(f"{ratio:7.3f}" for ratio in ratios)
    print(f"{name:24} {median(costs, 'wall'):9.2f} {median(costs, 'cpu'):12.2f} {shown:>40}")

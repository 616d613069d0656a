"""Synthetic models: the real interface, the same bytes everywhere, outputs that mean something."""

import base64
import json
import os
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import autoclave
from autoclave.driving.behaviour import BEHAVIOURS
from autoclave.driving.kinds import Kind, KindError, OnnxFileSummary, check_behaviour, choose_kind
from autoclave.driving.metadata import DrivingMetadata, part_from_onnx
from autoclave.driving.output_slices import decode_output_slices
from autoclave.errors import SourceError
from autoclave.source import supercombo
from autoclave.source.driving_model import output_slices, whole_widths
from autoclave.source.driving_network import SCALES
from autoclave.source.onnx_scanner import scan_model
from autoclave.source.preflight import ExpectedInput, check_model
from autoclave.source.synthetic import generate
from autoclave.source.upcast import upcast_file
from autoclave.source.weight_stream import RandomTensor, write_model

SHA256 = {
    ("S", 1): "899252e709d74e498f1ac0f489a7da567549e87ecceaaf6488f72fa2b8341e80",
    ("M", 1): "e56e4f47335b21e98d42331646df83bc22e5ea48b8f6dcf27708c3a78764fa3f",
}
"""What every machine, Python and numpy must give; a change of these is a change of every artifact made from them."""

INPUTS = [
    ExpectedInput("img", "uint8", (1, 12, 128, 256)),
    ExpectedInput("big_img", "uint8", (1, 12, 128, 256)),
    ExpectedInput("features_buffer", "float32", (1, 24, 512)),
    ExpectedInput("desire_pulse", "float32", (1, 25, 8)),
    ExpectedInput("traffic_convention", "float32", (1, 2)),
    ExpectedInput("action_t", "float32", (1, 2)),
]

WIDTHS = {
    "lane_lines": 528,
    "lane_lines_prob": 8,
    "road_edges": 264,
    "meta": 55,
    "desire_pred": 32,
    "pose": 12,
    "wide_from_device_euler": 6,
    "road_transform": 12,
    "plan": 990,
    "lead": 144,
    "lead_prob": 3,
    "desire_state": 8,
    "action": 4,
    "hidden_state": 512,
}


@pytest.mark.parametrize(("scale", "seed"), SHA256)
def test_the_bytes_are_pinned(tmp_path: Path, scale: str, seed: int) -> None:
    assert generate("supercombo", scale, seed, tmp_path / "model.onnx")["sha256"] == SHA256[scale, seed]


def test_the_action_gives_the_same_bytes_whatever_the_process(tmp_path: Path) -> None:
    library = Path(autoclave.__file__).parents[1]
    path = os.pathsep.join([str(library), *filter(None, sys.path)])
    request = {"architecture": "supercombo", "scale": "S", "seed": 1, "output": "out/model.onnx"}
    for hash_seed in ("0", "4711"):
        folder = tmp_path / hash_seed
        folder.mkdir()
        (folder / "request.json").write_text(json.dumps(request))
        process = subprocess.run(
            [sys.executable, "-m", "autoclave.source.synthetic", "request.json"],
            cwd=folder,
            env={"PYTHONPATH": path, "PYTHONHASHSEED": hash_seed, "PATH": os.defpath},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert process.returncode == 0, process.stderr
        assert json.loads(process.stdout)["sha256"] == SHA256["S", 1]


def test_another_seed_changes_weights_and_nothing_else(small_supercombo: Path, tmp_path: Path) -> None:
    generate("supercombo", "S", 2, tmp_path / "other.onnx")
    first, second = onnx.load(small_supercombo), onnx.load(tmp_path / "other.onnx")
    assert first.graph.node == second.graph.node
    assert first.graph.initializer != second.graph.initializer


def test_the_file_is_what_protobuf_itself_would_write(small_supercombo: Path) -> None:
    model = onnx.load(small_supercombo)
    onnx.checker.check_model(model, full_check=True)
    assert model.SerializeToString(deterministic=True) == small_supercombo.read_bytes()


@pytest.mark.parametrize("scale", SCALES)
def test_every_scale_has_the_real_interface(scale: str) -> None:
    model, _, _ = supercombo.build(scale, 7)
    inputs = {value.name: value.type.tensor_type for value in model.graph.input}
    assert {name: tuple(dim.dim_value for dim in kind.shape.dim) for name, kind in inputs.items()} == {
        value.name: value.shape for value in INPUTS
    }
    (output,) = model.graph.output
    assert output.name == "outputs"
    assert [dim.dim_value for dim in output.type.tensor_type.shape.dim] == [1, sum(WIDTHS.values())]


def test_the_file_passes_the_check_with_its_declared_inputs(small_supercombo: Path) -> None:
    interface = check_model(small_supercombo, inputs=INPUTS)
    assert [(value.name, value.dtype, value.shape) for value in interface.outputs] == [
        ("outputs", "float32", (1, 2578))
    ]


def test_the_metadata_is_openpilot_s(small_supercombo: Path) -> None:
    metadata = scan_model(small_supercombo).metadata
    assert metadata["model_checkpoint"] == "synthetic/S/1"
    slices = pickle.loads(base64.b64decode(metadata["output_slices"]))
    pad = slices.pop("pad")
    assert pad == slice(-2, None)
    assert {name: value.stop - value.start for name, value in slices.items()} == WIDTHS
    bounds = sorted((value.start, value.stop) for value in slices.values())
    assert [start for start, _ in bounds] == [0, *(stop for _, stop in bounds[:-1])]
    assert bounds[-1][1] == sum(WIDTHS.values())


@pytest.mark.parametrize(
    ("scale", "megabytes", "gigaflop"),
    [
        ("S", (0.3, 0.6), (0.01, 0.1)),
        ("M", (3, 6), (0.2, 0.6)),
        ("L", (60, 62), (11, 13)),
        ("XL", (780, 820), (40, 80)),
    ],
)
def test_sizes_and_work(scale: str, megabytes: tuple[float, float], gigaflop: tuple[float, float]) -> None:
    _, tensors, flop = supercombo.build(scale, 1)
    assert megabytes[0] < sum(tensor.nbytes for tensor in tensors) / 1e6 < megabytes[1]
    assert gigaflop[0] < flop / 1e9 < gigaflop[1]


def test_scale_l_is_as_varied_as_the_real_model() -> None:
    model, _, _ = supercombo.build("L", 1)
    assert len(model.graph.node) >= 400
    assert len({node.op_type for node in model.graph.node}) >= 25


def test_weights_are_written_without_being_held(tmp_path: Path) -> None:
    model, _, _ = supercombo.build("S", 1)
    tensors = [RandomTensor(f"w{n}", (4096, 4096), "float16", 0.1, 0.0, 1) for n in range(4)]
    tracemalloc.start()
    try:
        write_model(tmp_path / "model.onnx", model, tensors)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tmp_path / "model.onnx").stat().st_size > 128 << 20
    assert peak < 80 << 20


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"architecture": "supercomb"}, "expected one of supercombo, stateful"),
        ({"scale": "XS"}, "expected one of S, M, L, XL"),
        ({"seed": -1}, "expected a whole number from 0"),
        ({"seed": 2**32}, "expected a whole number from 0"),
    ],
)
def test_what_it_does_not_know_it_refuses(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    request: dict[str, Any] = {"architecture": "supercombo", "scale": "S", "seed": 1, **change}
    with pytest.raises(SourceError, match=said):
        generate(request["architecture"], request["scale"], request["seed"], tmp_path / "model.onnx")


# ---- what it computes, by ONNX Runtime ----


def feed(seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """Inputs of the kind that the real model is fed."""
    generator = np.random.default_rng(seed)
    images = {name: generator.integers(0, 256, (1, 12, 128, 256), np.uint8) for name in ("img", "big_img")}
    return {
        **images,
        "features_buffer": generator.uniform(-1, 1, (1, 24, 512)).astype(np.float32),
        "desire_pulse": (generator.uniform(0, 1, (1, 25, 8)) < 0.1).astype(np.float32),
        "traffic_convention": np.eye(2, dtype=np.float32)[[seed % 2]],
        "action_t": generator.uniform(0, 1, (1, 2)).astype(np.float32),
    }


SLICES = output_slices(whole_widths("v16"))


class Model:
    """One scale in ONNX Runtime: `run` in fp32, `run_half` as written."""

    def __init__(self, scale: str, folder: Path) -> None:
        generate("supercombo", scale, 1, folder / "half.onnx")
        upcast_file(folder / "half.onnx", folder / "single.onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._single, self._half = (
            onnxruntime.InferenceSession(str(folder / name), options, providers=["CPUExecutionProvider"])
            for name in ("single.onnx", "half.onnx")
        )

    def run(self, inputs: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        return np.asarray(self._single.run(None, inputs)[0][0])

    def run_half(self, inputs: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        return np.asarray(self._half.run(None, inputs)[0][0])


@pytest.fixture(scope="module", params=["S", "M"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    return Model(request.param, tmp_path_factory.mktemp(request.param))


def test_outputs_are_finite_and_of_moderate_size(model: Model) -> None:
    outputs = model.run(feed(42))
    assert np.isfinite(outputs).all()
    for name, part in SLICES.items():
        assert np.abs(outputs[part]).max() < 8, name
        assert name == "pad" or 0.1 < outputs[part].std() < 3, name


def test_every_output_slice_depends_on_the_inputs(model: Model) -> None:
    difference = np.abs(model.run(feed(42)) - model.run(feed(43)))
    for name, part in SLICES.items():
        assert difference[part].max() > 0.1, name


@pytest.mark.parametrize("name", [value.name for value in INPUTS])
def test_every_input_matters(model: Model, name: str) -> None:
    base = feed(42)
    difference = np.abs(model.run({**base, name: feed(43)[name]}) - model.run(base))
    assert difference.max() > 0.1


def test_half_precision_costs_little_against_what_inputs_change(model: Model) -> None:
    single, half, other = model.run(feed(42)), model.run_half(feed(42)), model.run(feed(43))
    error = np.abs(single - half)
    assert 0 < error.max() < 5e-3
    assert error.max() < 0.03 * np.abs(single - other).max()


@pytest.mark.parametrize("pixel", [0, 255])
def test_extreme_inputs_stay_finite_in_half_precision(model: Model, pixel: int) -> None:
    inputs = {name: np.full_like(value, pixel if value.dtype == np.uint8 else 8) for name, value in feed(42).items()}
    assert np.isfinite(model.run_half(inputs)).all()


# ---- the stateful architecture ----


def test_a_stateful_model_pairs_its_state(tmp_path: Path) -> None:
    generate("stateful", "S", 1, tmp_path / "model.onnx")
    onnx.checker.check_model(str(tmp_path / "model.onnx"), full_check=True)
    interface = check_model(tmp_path / "model.onnx")
    assert interface.state == tuple(
        (name, f"next_{name}") for name in ("img_buffer", "features_buffer", "desire_buffer")
    )
    shapes = {value.name: (value.dtype, value.shape) for value in (*interface.inputs, *interface.outputs)}
    assert shapes["new_img"] == ("uint8", (2, 6, 128, 256))
    for name, following in interface.state:
        assert shapes[name] == shapes[following]


def test_a_stateful_model_is_the_supercombo_with_its_history_inside(tmp_path: Path, small_supercombo: Path) -> None:
    """Fed frame by frame, it computes what the supercombo computes from the histories kept outside."""
    generate("stateful", "S", 1, tmp_path / "model.onnx")
    providers = ["CPUExecutionProvider"]
    inside = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=providers)
    outside = onnxruntime.InferenceSession(str(small_supercombo), providers=providers)
    generator = np.random.default_rng(5)
    state: dict[str, np.ndarray[Any, Any]] = {
        "img_buffer": np.zeros((2, 6, 128, 256), np.uint8),
        "features_buffer": np.zeros((1, 24, 512), np.float32),
        "desire_buffer": np.zeros((1, 24, 8), np.float32),
    }
    constant = {"traffic_convention": np.eye(2, dtype=np.float32)[:1], "action_t": np.full((1, 2), 0.3, np.float32)}
    frames: list[np.ndarray[Any, Any]] = [state["img_buffer"]]
    features, desires = [np.zeros(512)] * 24, [np.zeros(8)] * 24
    for _ in range(3):
        frames.append(generator.integers(0, 256, (2, 6, 128, 256), np.uint8))
        desires.append(generator.integers(0, 2, 8).astype(np.float32))
        given = {"new_img": frames[-1], "desire": desires[-1][np.newaxis], **constant, **state}
        outputs, *following = inside.run(["outputs", *(f"next_{name}" for name in state)], given)
        state = dict(zip(state, following, strict=True))
        images = np.concatenate(frames[-2:], axis=1)
        history = {
            "img": images[:1],
            "big_img": images[1:],
            "features_buffer": np.array([features[-24:]], np.float32),
            "desire_pulse": np.array([desires[-25:]], np.float32),
        }
        (expected,) = outside.run(None, {**history, **constant})
        assert np.abs(outputs - expected).max() < 5e-3
        features.append(expected[0, SLICES["hidden_state"]])


# ---- models of every kind and behaviour version ----

FILES = {
    "supercombo": ("supercombo",),
    "stateful": ("stateful",),
    "split": ("vision", "policy"),
    "multi_policy": ("vision", "on_policy", "off_policy"),
}


def _fitting(kind: str) -> list[str]:
    """The behaviour versions that models of this kind have."""
    return [version for version in BEHAVIOURS if kind in ("supercombo", "stateful") or _is_of(Kind(kind), version)]


def _is_of(kind: Kind, version: str) -> bool:
    try:
        check_behaviour(kind, version)
    except KindError:
        return False
    return True


@pytest.mark.parametrize(("kind", "version"), [(kind, version) for kind in FILES for version in _fitting(kind)])
def test_there_is_a_model_of_every_kind_and_behaviour_version(tmp_path: Path, kind: str, version: str) -> None:
    files, parts = [], {}
    for part in FILES[kind]:
        generate(part, "S", 1, tmp_path / f"{part}.onnx", version)
        interface = check_model(tmp_path / f"{part}.onnx")
        inputs, outputs = (
            {value.name: tuple(value.shape) for value in values} for values in (interface.inputs, interface.outputs)
        )
        files.append(OnnxFileSummary(f"{part}.onnx", interface.size, inputs, outputs))
        parts[part] = part_from_onnx(part, interface.summary.metadata, inputs, outputs)

    assert choose_kind(files).kind.value == kind
    DrivingMetadata(
        kind=Kind(kind),
        behaviour_version=version,
        parts=parts,
        policy_order=tuple(part for part in parts if part.endswith("policy")),
        frame_skip=4,
        image_history_pipeline="policy",
        camera_resolutions=((1928, 1208),),
        execution_device="CPU",
        warp_device="CPU",
    )


@pytest.mark.parametrize("part", ["vision", "policy", "on_policy", "off_policy"])
def test_a_file_of_a_model_in_several_computes_something_of_all_its_inputs(tmp_path: Path, part: str) -> None:
    generate(part, "S", 3, tmp_path / "model.onnx")
    onnx.checker.check_model(str(tmp_path / "model.onnx"), full_check=True)
    upcast_file(tmp_path / "model.onnx", tmp_path / "single.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "single.onnx"), providers=["CPUExecutionProvider"])

    def feed_of(seed: int) -> dict[str, Any]:
        current = np.random.default_rng(seed).uniform(-1, 1, (1, 1, 512)).astype(np.float32)
        values = feed(seed)
        values["features_buffer"] = np.concatenate([values["features_buffer"], current], axis=1)
        return {value.name: values[value.name] for value in session.get_inputs()}

    (base,) = session.run(None, feed_of(42))
    assert np.isfinite(base).all() and 0.1 < base.std() < 3
    for name in feed_of(42):
        (varied,) = session.run(None, {**feed_of(42), name: feed_of(43)[name]})
        assert np.abs(varied - base).max() > 0.1, name


def test_a_version_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="unknown behaviour version 'v13': expected one of v8, v9"):
        generate("supercombo", "S", 1, tmp_path / "model.onnx", "v13")


def test_driver_monitoring_has_openpilot_s_interface_and_depends_on_all_of_it(tmp_path: Path) -> None:
    generate("monitoring", "S", 1, tmp_path / "model.onnx")
    onnx.checker.check_model(str(tmp_path / "model.onnx"), full_check=True)
    interface = check_model(
        tmp_path / "model.onnx",
        inputs=[ExpectedInput("input_img", "uint8", (1, 1440 * 960)), ExpectedInput("calib", "float32", (1, 3))],
    )
    slices = decode_output_slices(interface.summary.metadata["output_slices"])
    assert slices["face_descs_lhd"] == slice(1, 13)
    assert slices["sleep_prob_rhd"] == slice(40, 41)
    upcast_file(tmp_path / "model.onnx", tmp_path / "single.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "single.onnx"), providers=["CPUExecutionProvider"])

    first, second = (
        {
            "input_img": np.random.default_rng(seed).integers(0, 256, (1, 1440 * 960), np.uint8),
            "calib": np.random.default_rng(seed).uniform(-0.1, 0.1, (1, 3)).astype(np.float32),
        }
        for seed in (42, 43)
    )
    (base,) = session.run(None, first)
    assert np.isfinite(base).all() and 0.1 < base.std() < 3
    for name in first:
        (varied,) = session.run(None, {**first, name: second[name]})
        assert np.abs(varied - base).max() > 0.01, name

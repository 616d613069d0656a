"""`python -m autoclave.compiler request.json`, as a process of its own, on small models."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compiler.compile_action import Compiled, compile_model, request_for, run_compiler
from compiler.onnx_models import (
    computed_shape_model,
    passed_through_model,
    product_model,
    shape_from_data_model,
    small_model,
    unknown_domain_model,
    unknown_operators_model,
    unread_input_model,
)

from autoclave.artifact.model import Program, Target
from autoclave.artifact.reader import open_artifact

_HARDWARE = ["cpu", "qcom", "chestnut"]


@pytest.mark.parametrize("hardware", _HARDWARE)
def test_the_report_describes_the_artifact(compiled: Callable[[str], Compiled], hardware: str) -> None:
    result = compiled(hardware)

    assert result.code == 0, result.log
    with open_artifact(result.artifact) as artifact:
        part = artifact.header.parts[0]
        assert result.report["sha256"] == result.sha256()
        assert result.report["size"] == result.artifact.stat().st_size
        assert result.report["launches"] == len(part.calls)
        assert result.report["init_launches"] == len(part.init)
        assert result.report["kernels"] == len(artifact.header.kernels)
        assert [buffer.nbytes for buffer in part.buffers if buffer.kind == "arena"] == [result.report["arena"]]
        assert result.report["live_peak"] <= result.report["arena"]
    assert "kernel 1 of" in result.log


@pytest.mark.parametrize(
    ("hardware", "target"),
    [
        ("cpu", Target("CPU", "LLVM", "x86_64,x86-64-v3")),
        ("qcom", Target("QCOM", "IR3", "a630,IMAGE_PITCH_ALIGNMENT=64")),
        ("chestnut", Target("AMD", "LLVM", "gfx1200")),
    ],
)
def test_the_part_has_the_models_interface(compiled: Callable[[str], Compiled], hardware: str, target: Target) -> None:
    dtype = "float32" if hardware == "cpu" else "float16"
    with open_artifact(compiled(hardware).artifact) as artifact:
        part = artifact.header.parts[0]
        assert part.key == "run"
        assert part.target == target
        assert [(each.name, each.shape, each.dtype) for each in part.inputs] == [
            ("image", (1, 4, 16, 16), "uint8"),
            ("memory", (1, 8), dtype),
        ]
        assert [(each.name, each.shape, each.dtype) for each in part.outputs] == [
            ("answer", (1, 8), "float32"),
            ("next_memory", (1, 8), dtype),
        ]
        assert artifact.header.metadata["state"] == [["memory", "next_memory"]]
        assert artifact.header.metadata["synthetic"] is False


@pytest.mark.parametrize("hardware", _HARDWARE)
def test_weights_are_the_files_own_bytes_in_its_order(compiled: Callable[[str], Compiled], hardware: str) -> None:
    result = compiled(hardware)
    model = (result.artifact.parents[1] / "model.onnx").read_bytes()
    with open_artifact(result.artifact) as artifact:
        constants = [buffer for buffer in artifact.header.parts[0].buffers if buffer.kind == "constant" and buffer.name]
        assert [buffer.name for buffer in constants] == ["kernel", "projection"]
        offsets = [buffer.data.offset for buffer in constants if buffer.data]
        assert offsets == sorted(offsets)
        assert all(bytes(artifact.read(buffer.data)) in model for buffer in constants if buffer.data)


def test_images_are_laid_out_once_at_load(compiled: Callable[[str], Compiled]) -> None:
    with open_artifact(compiled("qcom").artifact) as artifact:
        part = artifact.header.parts[0]
        inputs = {spec.buffer for spec in part.inputs}
        assert part.init
        for call in part.init:
            assert isinstance(call, Program)
            assert inputs.isdisjoint(argument.buffer for argument in call.args)


def test_cpu_kernels_need_no_library(compiled: Callable[[str], Compiled]) -> None:
    from autoclave.compiler.objects import undefined_symbols

    with open_artifact(compiled("cpu").artifact) as artifact:
        for kernel in artifact.header.kernels:
            assert undefined_symbols(bytes(artifact.read(kernel.lib))) == []


def test_amd_kernels_say_how_to_set_the_gpu(compiled: Callable[[str], Compiled]) -> None:
    with open_artifact(compiled("chestnut").artifact) as artifact:
        for kernel in artifact.header.kernels:
            assert kernel.launch["wave"] == 32
            assert kernel.launch["argument_bytes"] >= 8 * len(kernel.globals)
            # FLOAT_MODE, bits 12 to 19 of COMPUTE_PGM_RSRC1: 0xF0 rounds to nearest and keeps denormals.
            assert kernel.launch["rsrc1"] >> 12 & 0xFF == 0xF0


@pytest.mark.parametrize("hardware", _HARDWARE)
def test_the_same_bytes_wherever_and_however_it_runs(
    compiled: Callable[[str], Compiled], tmp_path: Path, hardware: str
) -> None:
    elsewhere = tmp_path / "a much longer directory name"
    elsewhere.mkdir()
    environment = {"PYTHONHASHSEED": "12345", "HOME": "/nowhere", "TMPDIR": str(tmp_path), "BEAM": "2", "DEBUG": "0"}

    again = compile_model(elsewhere, small_model("float32" if hardware == "cpu" else "float16"), hardware, environment)

    assert again.code == 0, again.log
    assert again.sha256() == compiled(hardware).sha256()


def test_nothing_of_where_it_was_built_is_inside(compiled: Callable[[str], Compiled]) -> None:
    for hardware in _HARDWARE:
        content = compiled(hardware).artifact.read_bytes()
        for path in (str(compiled(hardware).artifact.parents[1]), sys.prefix, os.path.expanduser("~/")):
            assert path.encode() not in content


def test_a_named_axis_takes_the_size_it_is_given(tmp_path: Path) -> None:
    result = compile_model(tmp_path, product_model(["N", 3]), "cpu", dimensions={"N": 5})

    with open_artifact(result.artifact) as artifact:
        assert artifact.header.parts[0].inputs[0].shape == (5, 3)
        assert artifact.header.parts[0].outputs[0].shape == (5, 3)


def test_a_shape_that_the_graph_computes_is_followed(tmp_path: Path) -> None:
    for hardware in ("cpu", "qcom"):
        result = compile_model(tmp_path, computed_shape_model(), hardware)

        assert result.code == 0, result.log
        with open_artifact(result.artifact) as artifact:
            assert artifact.header.parts[0].outputs[0].shape == (4, 4)


def test_outputs_that_are_inputs_weights_or_twins(tmp_path: Path) -> None:
    result = compile_model(tmp_path, passed_through_model(), "cpu")

    assert result.code == 0, result.log
    with open_artifact(result.artifact) as artifact:
        part = artifact.header.parts[0]
        assert [output.name for output in part.outputs] == ["same", "constant", "negated", "again"]
        assert {part.buffers[output.buffer].kind for output in part.outputs} == {"output"}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (product_model(["N", 3]), "input 'x' has the named axis 'N' (axis 0) without a size: give it in dimensions="),
        (unknown_operators_model(), "Det (ai.onnx 13) in 2 nodes, StringNormalizer (ai.onnx 13) in 1 nodes"),
        (unknown_domain_model(), "Det (ai.onnx 13) in 1 nodes, Frob (com.example 1) in 1 nodes"),
        (shape_from_data_model(), "the value of an input as a shape"),
        (unread_input_model(), "no kernel reads the input 'ignored'"),
        (b"version https://git-lfs.github.com/spec/v1\n", "model.onnx"),
        (small_model("float32")[:-200], "model.onnx"),
        (b"", "model.onnx"),
    ],
)
def test_a_model_that_cannot_be_compiled_is_explained(tmp_path: Path, model: bytes, message: str) -> None:
    result = compile_model(tmp_path, model, "cpu")

    assert result.code == 2
    assert result.log.splitlines()[-1].startswith("error: ")
    assert message in result.log
    assert "Traceback" not in result.log
    assert not result.artifact.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tinygrad": "0.13.0"}, "tinygrad 0.13.0 is not a version that this compiler knows; known: 0.14.0"),
        ({"hardware": "tici"}, "hardware 'tici' is unknown"),
        ({"hardware": "chestnut", "renderer": "hip"}, "there is no libamd_comgr.so.3 in /nonexistent/comgr"),
        ({"hardware": "chestnut", "absent_flags": []}, "does not know the flag TC_MIN_GLOBALS"),
        ({"model": "missing.onnx"}, "missing.onnx"),
    ],
)
def test_a_request_that_cannot_be_met_is_explained(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    model = product_model([2, 3])
    (tmp_path / "model.onnx").write_bytes(model)

    result = run_compiler(tmp_path, {**request_for(model, "cpu"), **change})

    assert result.code == 2
    assert message in result.log
    assert "Traceback" not in result.log

"""Models for end-to-end tests: how to declare them, and how to tell what has been run for them."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from subprocess import CompletedProcess

    from conftest import Workspace  # pants: no-infer-dep

HARDWARE = ("cpu", "qcom", "chestnut")
STARTED = re.compile(r"Starting: (?P<stage>\w+) (?P<target>.*)")


def tiny_model(*, seed: int = 1, batch: int | str = 1, operator: str = "Relu", domain: str = "") -> bytes:
    """One dense layer, x (batch, 64) -> y (batch, 32), in fp32; the weights are small integers over 16."""
    weights = np.random.Generator(np.random.PCG64(seed)).integers(-16, 17, (64, 32)).astype(np.float32) / 16
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node(operator, ["h"], ["y"], domain=domain)],
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 32])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return bytes(model.SerializeToString(deterministic=True))


def declare(
    workspace: Workspace, name: str, model: bytes, hardware: tuple[str, ...] = HARDWARE, **fields: object
) -> None:
    """Put a model into the catalogue: its ONNX file, its target and its parity tests."""
    extra = "".join(f", {field}={value!r}" for field, value in fields.items())
    choices = ", ".join(repr(each) for each in hardware)
    declared = f"parametrize({choices})" if len(hardware) > 1 else choices
    (workspace.root / f"models/{name}.onnx").write_bytes(model)
    (workspace.root / f"models/BUILD.{name}").write_text(
        dedent(f"""
        onnx_file(name="{name}-onnx", source="{name}.onnx")
        onnx_model(name="{name}", source=":{name}-onnx", hardware={declared}{extra})
        parity_tests(name="{name}-parity", model=":{name}", hardware=({choices},))
        """)
    )


def started(result: CompletedProcess[str], *stages: str) -> list[str]:
    """What was run, not taken from a cache: the targets of the given stages, or all of them.

    An action counts once: Pants starts one that uses several processors anew if others come free in its first moments.
    """
    found = {(match["stage"], match["target"]) for match in STARTED.finditer(result.stderr)}
    return sorted(target for stage, target in found if not stages or stage in stages)


def succeeded(result: CompletedProcess[str]) -> CompletedProcess[str]:
    assert result.returncode == 0, result.stderr
    return result

"""gfx1200's kernels by LLVM 20.1.8 (llvmlite), by clang 20.1.2 of another build, and by comgr on LLVM 21.1.8: the same bits."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from compiler.compile_action import action_environment

from autoclave.artifact.reader import open_artifact
from autoclave.emulator.jit import PORTABLE
from autoclave.emulator.model import EmulatedModel, Placement
from autoclave.parity.inputs import check_inputs

MATRIX_PRODUCT = b"\x40\xcc"
"""The first word of v_wmma_f32_16x16x16_f16, less its register (RDNA4 ISA, VOP3P: encoding 0xCC, operation 64)."""


def codes(path: Path) -> list[bytes]:
    """The instructions of each kernel."""
    with open_artifact(path) as artifact:
        return [
            bytes(artifact.read(kernel.lib))[kernel.launch["code_offset"] :][: kernel.launch["code_length"]]
            for kernel in artifact.header.kernels
        ]


def outputs(path: Path) -> dict[str, np.ndarray]:
    """What the emulator computes for the check inputs."""
    with open_artifact(path) as artifact:
        model = EmulatedModel(artifact, "run", Placement(PORTABLE))
        return model.run(check_inputs(artifact.header.parts[0], 42))


def test_llvmlite_gives_clangs_instructions_once_it_is_told_what_clang_is(compiled: Callable[[str], Path]) -> None:
    ours, theirs = codes(compiled("told")), codes(compiled("clang"))

    assert len(ours) == 12
    assert any(MATRIX_PRODUCT in code for code in ours)
    assert ours == theirs


@pytest.mark.parametrize("other", ["clang", "hip"])
def test_another_compilers_kernels_compute_the_same_bits(compiled: Callable[[str], Path], other: str) -> None:
    ours, theirs = compiled("llvm"), compiled(other)

    expected, found = outputs(ours), outputs(theirs)

    assert codes(ours) != codes(theirs)
    assert {name: values.tobytes() for name, values in found.items()} == {
        name: values.tobytes() for name, values in expected.items()
    }


def test_comgr_leaves_a_matrix_product_where_all_lanes_are_on(comgr_toolchain: Path) -> None:
    environment = {**action_environment(), "AUTOCLAVE_TOOLCHAIN": str(comgr_toolchain)}
    environment["PYTHONPATH"] += os.pathsep + str(Path(__file__).parents[1])

    done = subprocess.run(
        [sys.executable, "-m", "amd_compilers.masked_product"], env=environment, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, False], "as tinygrad has it compiled, and as Autoclave does"

"""The fields that artifacts store for an a630 are all that tinygrad's own loader needs."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from compiler import ir3_loader_check
from compiler.compile_action import Compiled, action_environment
from compiler.onnx_models import small_model

from autoclave.artifact.model import Program
from autoclave.artifact.reader import open_artifact


def test_tinygrad_loads_the_rebuilt_binary_as_it_loads_mesas(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(small_model("float16"))

    done = subprocess.run(
        [sys.executable, ir3_loader_check.__file__, "model.onnx"],
        cwd=tmp_path,
        env=action_environment(),
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    kernels = json.loads(done.stdout)
    assert len(kernels) >= 5
    assert [kernel["differing"] for kernel in kernels] == [[]] * len(kernels)
    assert {"fregs", "hregs", "image", "consts_info", "tex_to_image", "wgid", "lid", "max_threads"} <= set(
        kernels[0]["names"]
    )


def test_stored_kernels_are_instructions_and_fields(compiled: Callable[[str], Compiled]) -> None:
    with open_artifact(compiled("qcom").artifact) as artifact:
        kernels = artifact.header.kernels
        assert any(kernel.launch["texture_slots"] for kernel in kernels)
        for kernel in kernels:
            # An a630 instruction has 8 bytes, and code comes in groups of 16 of them.
            assert kernel.lib.length % 128 == 0
            slots = kernel.launch["buffer_slots"] + kernel.launch["image_slots"] + kernel.launch["texture_slots"]
            assert sorted(slots) == list(range(len(kernel.signature)))


def test_no_kernel_of_many_threads_runs_one_thread_per_workgroup(compiled: Callable[[str], Compiled]) -> None:
    with open_artifact(compiled("qcom").artifact) as artifact:
        for call in artifact.header.parts[0].calls:
            assert isinstance(call, Program)
            local = call.local_size[0] * call.local_size[1] * call.local_size[2]
            groups = call.global_size[0] * call.global_size[1] * call.global_size[2]
            assert local > 1 or groups == 1

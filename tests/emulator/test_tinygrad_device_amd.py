"""tinygrad programs on the emulated gfx1200, against NumPy."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator.tinygrad_programs import FLOATS, INTEGERS, uniform
from emulator.tinygrad_runner import SCRIPT, run

from autoclave.emulator.tinygrad_device import Settings, register
from autoclave.errors import MemoryFault, ToolchainError

DEVICE = "AMD"


@pytest.fixture(scope="module")
def tinygrad() -> Any:
    """tinygrad, with the emulated device registered."""
    register(device=DEVICE)
    import tinygrad

    return tinygrad


def instructions(tinygrad: Any) -> set[str]:
    """Those of all kernels so far."""
    return set(tinygrad.Device[DEVICE].emulation.survey.instructions())


@pytest.mark.parametrize("name", FLOATS)
def test_float_program_agrees_with_numpy(tinygrad: Any, name: str) -> None:
    inputs, program, reference = FLOATS[name]

    result = program(*(tinygrad.Tensor(each, device=DEVICE) for each in inputs)).numpy()

    tolerance = 1e-2 if "float16" in name else 2e-5
    np.testing.assert_allclose(
        result, reference(*(each.astype(np.float64) for each in inputs)), rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_program_gives_the_same_as_numpy(tinygrad: Any, name: str) -> None:
    inputs, program, reference = INTEGERS[name]

    result = program(*(tinygrad.Tensor(each, device=DEVICE) for each in inputs)).numpy()

    np.testing.assert_array_equal(result, reference(*inputs))


def test_products_in_float16_are_matrix_operations_of_a_wave(tinygrad: Any) -> None:
    a, b = (uniform(32, 64, seed=seed).astype(np.float16) for seed in (1, 2))

    result = (tinygrad.Tensor(a, device=DEVICE) @ tinygrad.Tensor(b.T.copy(), device=DEVICE)).numpy()

    expected = a.astype(np.float64) @ b.T.astype(np.float64)
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-2)
    assert any(name.startswith("v_wmma") for name in instructions(tinygrad))


def test_quotients_and_roots_in_float64_are_those_of_the_host(tinygrad: Any) -> None:
    a, b = (uniform(99, seed=seed, low=0.1).astype(np.float64) / 3 for seed in (1, 2))

    quotients = (tinygrad.Tensor(a, device=DEVICE) / tinygrad.Tensor(b, device=DEVICE)).numpy()
    roots = tinygrad.Tensor(a, device=DEVICE).sqrt().numpy()

    np.testing.assert_allclose(quotients, a / b, rtol=1e-15)
    np.testing.assert_allclose(roots, np.sqrt(a), rtol=1e-15)


def test_float16_is_rounded_to_nearest_even(tinygrad: Any) -> None:
    singles = np.array([0x3F801FFF, 0xBF801FFF, 0x477FFFFF], np.uint32).view(np.float32)

    halves = tinygrad.Tensor(singles, device=DEVICE).half().numpy()

    assert halves.view(np.uint16).tolist() == [0x3C01, 0xBC01, 0x7C00]


def test_variable_is_given_at_each_launch(tinygrad: Any) -> None:
    numbers = tinygrad.Tensor(uniform(10), device=DEVICE)
    length = tinygrad.Variable("length", 1, 10)

    sums = [numbers[: length.bind(count)].sum().item() for count in (3, 7)]

    np.testing.assert_allclose(sums, [uniform(10)[:3].sum(), uniform(10)[:7].sum()], rtol=1e-6)


def test_jitted_function_runs_on_other_inputs(tinygrad: Any) -> None:
    @tinygrad.TinyJit
    def double(values: Any) -> Any:
        return (values * 2).realize()

    results = [double(tinygrad.Tensor([value], device=DEVICE).realize()).item() for value in (1, 2, 3, 4)]

    assert results == [2, 4, 6, 8]


def program_of(tinygrad: Any, tensor: Any, *choices: Any) -> tuple[Any, dict[str, Any]]:
    """The one kernel that computes `tensor`, compiled with these optimisations instead of tinygrad's; and how it is launched."""
    from tinygrad.codegen import to_program

    sink = tensor.schedule_linear().src[-1].src[0]
    sink = sink.replace(arg=replace(sink.arg, opts_to_apply=choices))
    device = tinygrad.Device[DEVICE]
    compiled = to_program(sink, renderer=device.renderer)
    launch = {"global_size": compiled.arg.global_size, "local_size": compiled.arg.local_size}
    return device.runtime(compiled.to_elf()), launch


def test_waves_of_a_workgroup_wait_for_each_other(tinygrad: Any) -> None:
    from tinygrad.codegen.opt import Opt, OptOps

    numbers = uniform(8, 4096)
    program, launch = program_of(
        tinygrad, tinygrad.Tensor(numbers, device=DEVICE).realize().sum(axis=1), Opt(OptOps.GROUPTOP, 0, 128)
    )
    result = np.zeros(8, np.float32)

    program(result.view(np.uint8), numbers.view(np.uint8).reshape(-1), **launch)

    np.testing.assert_allclose(result, numbers.sum(axis=1, dtype=np.float64), rtol=1e-5, atol=1e-4)
    assert launch["local_size"] == (128, 1, 1)
    assert "s_barrier_wait" in instructions(tinygrad)


def test_buffer_that_is_too_small_is_a_fault(tinygrad: Any) -> None:
    numbers = tinygrad.Tensor(uniform(64), device=DEVICE).realize()
    program, launch = program_of(tinygrad, numbers * 2)
    memory = [np.zeros(size, np.uint8) for size in (64 * 4, 63 * 4)]

    with pytest.raises(MemoryFault, match="buffer 1, which has 252"):
        program(*memory, **launch)


@pytest.mark.parametrize(
    ("size", "message"), [((64, 32, 1), "a gfx1200 has 1024"), (None, "unset NOLOCALS")], ids=["too-many", "none"]
)
def test_workgroup_that_cannot_be_is_refused(tinygrad: Any, size: tuple[int, ...] | None, message: str) -> None:
    numbers = tinygrad.Tensor(uniform(64), device=DEVICE).realize()
    program, _ = program_of(tinygrad, numbers * 2)

    with pytest.raises(RuntimeError, match=message):
        program(np.zeros(256, np.uint8), np.zeros(256, np.uint8), local_size=size)


def test_other_settings_are_refused_once_the_device_is_in_use(tinygrad: Any) -> None:
    assert tinygrad.Tensor([1], device=DEVICE).tolist() == [1]
    register(device=DEVICE)
    with pytest.raises(ToolchainError, match="AMD is in use already"):
        register(Settings(threads=2), DEVICE)


def test_rounding_is_not_to_be_chosen() -> None:
    with pytest.raises(ToolchainError, match="rounds to nearest already"):
        register(Settings(nearest=True), DEVICE)


def test_tensors_move_between_emulated_devices(tinygrad: Any) -> None:
    register()

    moved = (tinygrad.Tensor([1.0, 2.0], device=DEVICE) + 1).to("QCOM") * 2

    assert moved.tolist() == [4.0, 6.0]


def test_runner_runs_a_script_and_surveys_it(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)

    done = run(tmp_path, "--device", "AMD", "--check", "--survey", "survey.json", "script.py", "hello")

    assert done.stdout.split("\n")[0] == "AMD hello [4.0, 6.0]", done.stderr
    survey = json.loads((tmp_path / "survey.json").read_text())
    assert survey["launches"] == survey["kernels"] == 1
    assert any(name.endswith("add_f32") for name in survey["instructions"])
    assert survey["checked"] == {"shapes": 1, "elements": 2, "too_long": 0}
    assert survey["refused"] == []


PROFILE = """
import os
import numpy as np
from tinygrad import Tensor

a, b = (Tensor(np.ones((20, 20), np.float16)) for _ in range(2))
print(os.environ["DEV"], os.environ["TC_OPT"], int((a @ b).numpy().sum()))
"""


def test_runner_compiles_as_artifacts_are_compiled(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(PROFILE)

    done = run(tmp_path, "--device", "AMD", "--profile", "--survey", "survey.json", "script.py")

    assert done.stdout.strip() == "AMD:LLVM 2 8000", done.stderr
    survey = json.loads((tmp_path / "survey.json").read_text())
    assert survey["instructions"]["v_wmma_f32_16x16x16_f16"] > 0, "matrices are padded for it"

"""tinygrad programs on the emulated a630, against NumPy."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator.tinygrad_programs import FLOATS, INTEGERS, convolution, uniform
from emulator.tinygrad_runner import SCRIPT, run

from autoclave.emulator.tinygrad_device import Settings, register
from autoclave.errors import ToolchainError

PLAIN, IMAGES = "QCOM", "QCOM:1"
"""Two devices of one process; the second is opened with images on, as models for cars are compiled."""


@pytest.fixture(scope="module")
def tinygrad() -> Any:
    """tinygrad, with the emulated device registered."""
    register()
    import tinygrad

    return tinygrad


@pytest.fixture
def images(tinygrad: Any) -> Iterator[None]:
    """Within it, tinygrad uses images where it can."""
    with tinygrad.Context(IMAGE=1, FLOAT16=1, NOLOCALS=1, OPENPILOT_HACKS=1):
        yield


@pytest.mark.parametrize("name", FLOATS)
def test_float_program_agrees_with_numpy(tinygrad: Any, name: str) -> None:
    inputs, program, reference = FLOATS[name]

    result = program(*(tinygrad.Tensor(each, device=PLAIN) for each in inputs)).numpy()

    tolerance = 4e-2 if "float16" in name else 2e-5
    np.testing.assert_allclose(
        result, reference(*(each.astype(np.float64) for each in inputs)), rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_program_gives_the_same_as_numpy(tinygrad: Any, name: str) -> None:
    inputs, program, reference = INTEGERS[name]

    result = program(*(tinygrad.Tensor(each, device=PLAIN) for each in inputs)).numpy()

    np.testing.assert_array_equal(result, reference(*inputs))


@pytest.mark.usefixtures("images")
def test_convolution_of_images_in_float16(tinygrad: Any) -> None:
    image, kernel = uniform(1, 16, 12, 32), uniform(8, 16, 3, 3, seed=2)
    x, w = (tinygrad.Tensor(each.astype(np.float16), device=IMAGES) for each in (image, kernel))

    result = x.conv2d(w, padding=1).relu().numpy()

    expected = np.maximum(convolution(image.astype(np.float16), kernel.astype(np.float16)), 0)
    np.testing.assert_allclose(result, expected, rtol=2e-3, atol=5e-2)
    assert tinygrad.Device[IMAGES].emulation.survey.instructions()["isam"] > 0


def test_variable_is_given_at_each_launch(tinygrad: Any) -> None:
    numbers = tinygrad.Tensor(uniform(10), device=PLAIN)
    length = tinygrad.Variable("length", 1, 10)

    sums = [numbers[: length.bind(count)].sum().item() for count in (3, 7)]

    np.testing.assert_allclose(sums, [uniform(10)[:3].sum(), uniform(10)[:7].sum()], rtol=1e-6)


def test_jitted_function_runs_on_other_inputs(tinygrad: Any) -> None:
    @tinygrad.TinyJit
    def double(values: Any) -> Any:
        return (values * 2).realize()

    results = [double(tinygrad.Tensor([value], device=PLAIN).realize()).item() for value in (1, 2, 3, 4)]

    assert results == [2, 4, 6, 8]


def test_buffers_are_views_of_other_memory(tinygrad: Any) -> None:
    numbers = np.arange(16, dtype=np.int32)

    outside = tinygrad.Tensor.from_blob(numbers.ctypes.data, (16,), dtype="int32", device=PLAIN)

    assert (outside[4:8] + 1).tolist() == [5, 6, 7, 8]


def test_gradients(tinygrad: Any) -> None:
    weights = uniform(5, 4)
    w = tinygrad.Tensor(weights, device=PLAIN)
    x = tinygrad.Tensor(uniform(3, 5, seed=2), device=PLAIN)

    (gradient,) = (x @ w).square().sum().gradient(w)

    x64 = uniform(3, 5, seed=2).astype(np.float64)
    np.testing.assert_allclose(gradient.numpy(), 2 * x64.T @ (x64 @ weights), rtol=1e-5)


def test_runner_runs_a_script_and_surveys_it(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)

    done = run(tmp_path, "--check", "--survey", "survey.json", "script.py", "hello")

    assert done.stdout.split("\n")[0] == "QCOM hello [4.0, 6.0]", done.stderr
    survey = json.loads((tmp_path / "survey.json").read_text())
    assert survey["launches"] == survey["kernels"] == 1
    assert survey["instructions"]["add.f"] >= 1
    assert survey["checked"] == {"shapes": 1, "elements": 2, "too_long": 0}
    assert survey["refused"] == []


def test_runner_runs_a_module(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SCRIPT)

    done = run(tmp_path, "-m", "program", "hello")

    assert done.stdout.split("\n")[0] == "QCOM hello [4.0, 6.0]", done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.py"], "there is no file absent.py to run"),
        (["--threads", "0", "script.py"], "the emulated device needs 1 host thread at least, not 0"),
        (
            ["--survey", "absent/survey.json", "script.py"],
            "writing the survey absent/survey.json: No such file or directory",
        ),
        (["--translations", "script.py", "script.py"], "keeping host code in script.py: File exists"),
    ],
)
def test_runner_refuses_what_it_cannot_do_before_it_begins(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "script.py").write_text("print('begun')")

    done = run(tmp_path, *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].endswith(message)


def test_device_that_is_not_emulated_is_refused() -> None:
    with pytest.raises(ToolchainError, match="emulated device NV: there are QCOM and AMD only"):
        register(device="NV")


def test_host_code_is_kept_for_the_next_process(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)

    first = run(tmp_path, "--translations", "kept", "script.py", "first")
    kept = {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()}
    second = run(tmp_path, "--translations", "kept", "script.py", "second")

    assert first.returncode == second.returncode == 0
    assert len(kept) == 1
    assert {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()} == kept


HALF = """
from tinygrad import Tensor, dtypes

bits = Tensor([0x3F801FFF, 0xBF801FFF, 0x477FFFFF], dtype=dtypes.uint32).bitcast(dtypes.float32).cast(dtypes.half)
print([hex(each) for each in bits.bitcast(dtypes.uint16).tolist()])
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param([], ["0x3c00", "0xbc00", "0x7bff"], id="as-in-artifacts"),
        pytest.param(["--nearest"], ["0x3c01", "0xbc01", "0x7c00"], id="nearest"),
    ],
)
def test_float16_is_rounded_as_asked(tmp_path: Path, options: list[str], expected: list[str]) -> None:
    (tmp_path / "half.py").write_text(HALF)

    done = run(tmp_path, "--check", *options, "half.py")

    assert done.stdout.strip() == str(expected), done.stderr


def test_other_settings_are_refused_once_the_device_is_in_use(tinygrad: Any) -> None:
    assert tinygrad.Tensor([1], device=PLAIN).tolist() == [1]
    register()
    with pytest.raises(ToolchainError, match="in use already"):
        register(Settings(threads=2))

"""tinygrad programs on the emulated a630, against NumPy."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autoclave
import autoclave.emulator.tinygrad_device.__main__  # noqa: F401  so that Pants knows what the runner needs
from autoclave.emulator.tinygrad_device import Settings, register

Array = np.ndarray[Any, Any]

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


def uniform(*shape: int, seed: int = 1, low: float = -2, high: float = 2) -> Array:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def integers(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(-1000, 1000, shape, np.int32)


def convolution(image: Array, kernel: Array) -> Array:
    """With a border of one zero, in binary64."""
    padded = np.pad(image.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel.shape[2:], axis=(2, 3))
    return np.einsum("bchwyx,ocyx->bohw", windows, kernel.astype(np.float64))


def softmax(values: Array) -> Array:
    powers = np.exp(values.astype(np.float64))
    return powers / powers.sum(axis=-1, keepdims=True)


FLOATS: dict[str, tuple[list[Array], Callable[..., Any], Callable[..., Array]]] = {
    "product of matrices": ([uniform(33, 47), uniform(47, 29, seed=2)], lambda a, b: a @ b, lambda a, b: a @ b),
    "product in float16": (
        [uniform(64, 64), uniform(64, 64, seed=2)],
        lambda a, b: (a.half() @ b.half()).float(),
        lambda a, b: a @ b,
    ),
    "convolution": (
        [uniform(2, 3, 11, 13), uniform(8, 3, 3, 3, seed=2)],
        lambda x, w: x.conv2d(w, padding=1),
        convolution,
    ),
    "sum": ([uniform(1000, low=0)], lambda x: x.sum(), lambda x: x.sum(dtype=np.float64)),
    "sum over an axis": ([uniform(17, 300)], lambda x: x.sum(axis=0), lambda x: x.sum(axis=0)),
    "largest": ([uniform(31, 70)], lambda x: x.max(axis=1), lambda x: x.max(axis=1)),
    "standard deviation": ([uniform(500)], lambda x: x.std(), lambda x: x.std(ddof=1)),
    "softmax": ([uniform(16, 100)], lambda x: x.softmax(), softmax),
    "sine": ([uniform(999, low=-40, high=40)], lambda x: x.sin(), np.sin),
    "exponential": ([uniform(999, low=-20, high=20)], lambda x: x.exp(), np.exp),
    "logarithm": ([uniform(999, low=1e-3, high=1e3)], lambda x: x.log(), np.log),
    "square root": ([uniform(999, low=0, high=1e6)], lambda x: x.sqrt(), np.sqrt),
    "quotient": ([uniform(999), uniform(999, seed=2, low=1)], lambda a, b: a / b, lambda a, b: a / b),
    "running sum": ([uniform(600)], lambda x: x.cumsum(), lambda x: x.cumsum(dtype=np.float64)),
    "choice": ([uniform(99)], lambda x: (x > 0).where(x, x * 0.1), lambda x: np.where(x > 0, x, x * np.float32(0.1))),
}


@pytest.mark.parametrize("name", FLOATS)
def test_float_program_agrees_with_numpy(tinygrad: Any, name: str) -> None:
    inputs, program, reference = FLOATS[name]

    result = program(*(tinygrad.Tensor(each, device=PLAIN) for each in inputs)).numpy()

    tolerance = 4e-2 if "float16" in name else 2e-5
    np.testing.assert_allclose(
        result, reference(*(each.astype(np.float64) for each in inputs)), rtol=tolerance, atol=tolerance
    )


INTEGERS: dict[str, tuple[list[Array], Callable[..., Any], Callable[..., Array]]] = {
    "sum and difference": ([integers(99), integers(99, seed=2)], lambda a, b: a + b - 7, lambda a, b: a + b - 7),
    "product that wraps": (
        [integers(99) << 16, integers(99, seed=2) << 10],
        lambda a, b: a * b,
        lambda a, b: a * b,
    ),
    "floor division": ([integers(99)], lambda a: a // 7, lambda a: a // 7),
    "remainder": ([integers(99)], lambda a: a % 13, lambda a: a % 13),
    "bits": ([integers(99), integers(99, seed=2)], lambda a, b: (a & b) ^ (a | 5), lambda a, b: (a & b) ^ (a | 5)),
    "64 bits": (
        [integers(99).astype(np.int64) << 30, integers(99, seed=2).astype(np.int64)],
        lambda a, b: a * b + (a >> 3),
        lambda a, b: a * b + (a >> 3),
    ),
    "bytes": ([integers(99).astype(np.uint8)], lambda a: a * 3 + 200, lambda a: a * np.uint8(3) + np.uint8(200)),
    "largest": ([integers(40, 30)], lambda a: a.max(axis=1), lambda a: a.max(axis=1)),
    "sort": ([integers(100)], lambda a: a.sort()[0], np.sort),
    "place of the largest": ([integers(20, 33)], lambda a: a.argmax(axis=1), lambda a: a.argmax(axis=1)),
    "gather": (
        [integers(50), np.arange(50, dtype=np.int32)[::-3].copy()],
        lambda a, places: a[places],
        lambda a, places: a[places],
    ),
    "comparison": ([integers(99), integers(99, seed=2)], lambda a, b: a < b, lambda a, b: a < b),
}


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


def run(tmp_path: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The runner, in a process of its own with nothing in its environment but where the modules are."""
    library = [str(Path(autoclave.__file__).parents[1]), *(path for path in sys.path if path)]
    environment = {"PYTHONPATH": os.pathsep.join(library), "PATH": "/nonexistent", "CACHELEVEL": "0"}
    command = [sys.executable, "-m", "autoclave.emulator.tinygrad_device", *arguments]
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)


SCRIPT = """
import sys
from tinygrad import Device, Tensor

print(Device.DEFAULT, sys.argv[1], (Tensor([1.0, 2.0]) + Tensor([3.0, 4.0])).tolist())
"""


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
    from autoclave.errors import ToolchainError

    assert tinygrad.Tensor([1], device=PLAIN).tolist() == [1]
    register()
    with pytest.raises(ToolchainError, match="in use already"):
        register(Settings(threads=2))

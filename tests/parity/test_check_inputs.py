"""Check inputs: the documented words, ranges and independence, against a second implementation of PCG64."""

import hashlib

import numpy as np
import pytest

from autoclave.artifact.model import Part, Target, TensorSpec
from autoclave.errors import AutoclaveError
from autoclave.parity.inputs import check_input, check_inputs, varied_input

MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645  # O'Neill, "PCG", table of LCG multipliers for 128 bits
MASK = (1 << 128) - 1


def pcg64(name: str, seed: int, count: int) -> list[int]:
    """The raw words of the stream for one input, in plain integers: PCG XSL-RR 128/64."""
    digest = hashlib.sha256(name.encode()).digest()
    entropy = [seed, *np.frombuffer(digest[:16], "<u4").tolist()]
    start = np.random.PCG64(np.random.SeedSequence(entropy)).state["state"]
    state, words = start["state"], []
    for _ in range(count):
        state = (state * MULTIPLIER + start["inc"]) & MASK
        folded, turn = (state >> 64 ^ state) & (1 << 64) - 1, state >> 122
        words.append((folded >> turn | folded << (64 - turn)) & (1 << 64) - 1)
    return words


def spec(dtype: str, *shape: int, name: str = "x") -> TensorSpec:
    return TensorSpec(name, shape, dtype, 0)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("uint8", lambda word: word >> 56),
        ("bool", lambda word: bool(word >> 63)),
        ("int64", lambda word: word >> 57),
        ("int8", lambda word: word >> 57),
        ("float16", lambda word: (word >> 53) / 2**10 - 1),
        ("float32", lambda word: (word >> 40) / 2**23 - 1),
        ("float64", lambda word: (word >> 11) / 2**52 - 1),
    ],
)
def test_values_are_the_top_bits_of_the_raw_words(dtype: str, value: object) -> None:
    assert callable(value)
    tensor = check_input(spec(dtype, 4, 25), seed=42)

    assert tensor.dtype == dtype
    assert tensor.reshape(-1).tolist() == [value(word) for word in pcg64("x", 42, 100)]


def test_first_values_stay_what_they_were() -> None:
    # Recorded once: if these change, every check file and every pinned hash changes.
    assert check_input(spec("uint8", 6, name="img"), 42).tolist() == [239, 224, 227, 223, 23, 74]
    assert check_input(spec("float32", 3, name="desire_pulse"), 42).tolist() == [
        -0.2577100992202759,
        0.14733409881591797,
        0.16357421875,
    ]


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("uint8", 0, 255), ("int32", 0, 127), ("float16", -1, 1), ("float32", -1, 1), ("float64", -1, 1)],
)
def test_values_fill_their_range(dtype: str, low: float, high: float) -> None:
    values = check_input(spec(dtype, 100, 100), seed=42).astype(np.float64)

    span = high - low
    assert low <= values.min() <= low + span / 100
    assert high - span / 100 <= values.max() <= high


def test_an_input_does_not_depend_on_the_others() -> None:
    x, img = spec("float32", 4), spec("uint8", 4, name="img")
    part = Part("run", Target("CPU", "LLVM", "x86_64,x86-64-v3"), (img, x), (), (), (), ())

    tensors = check_inputs(part, 42)

    assert list(tensors) == ["img", "x"]
    assert np.array_equal(tensors["x"], check_input(x, 42))


def test_seeds_and_names_give_other_values() -> None:
    tensors = [check_input(spec("float32", 16, name=name), seed) for name in ("x", "y") for seed in (42, 43)]

    assert len({tensor.tobytes() for tensor in tensors}) == 4


def test_scalar_and_empty_inputs() -> None:
    assert check_input(spec("float32"), 42).shape == ()
    assert check_input(spec("float32", 0, 3), 42).shape == (0, 3)


def test_varied_input_is_the_next_seeds() -> None:
    x = spec("float32", 2, 2)

    assert np.array_equal(varied_input(x, 42), check_input(x, 43))


def test_varied_input_always_differs() -> None:
    for number in range(20):
        flag = spec("bool", 1, name=f"flag{number}")
        assert varied_input(flag, 42).item() is not check_input(flag, 42).item()


def test_input_without_values_cannot_be_varied() -> None:
    with pytest.raises(AutoclaveError, match="'x'.*cannot be varied"):
        varied_input(spec("float32", 0), 42)


def test_dtype_without_a_rule_is_named() -> None:
    with pytest.raises(AutoclaveError, match="'x'.*bfloat16"):
        check_input(spec("bfloat16", 2), 42)


def test_a_cameras_matrix_is_near_one_that_shows_its_frame_twice_as_large() -> None:
    tfm = check_input(spec("float32", 3, 3, name="tfm"), 42)

    values = np.array([(word >> 40) / 2**23 - 1 for word in pcg64("tfm", 42, 9)]).reshape(3, 3)
    spread = [[0.75, 0.125, 8], [0.125, 0.75, 8], [2**-13, 2**-13, 0]]
    assert (
        tfm.tolist() == (np.array([[2, 0, -16], [0, 2, -16], [0, 0, 1]]) + spread * values).astype(np.float32).tolist()
    )
    assert check_input(spec("float32", 3, 3, name="weights"), 42).max() < 1

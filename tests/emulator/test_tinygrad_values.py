"""How scalar parameters of tinygrad's kernels lie behind the addresses of buffers: aligned to their size, as C lays out a struct."""

import pytest
from tinygrad.dtype import dtypes

from autoclave.emulator.tinygrad_device.values import value_words


@pytest.mark.parametrize(
    ("variables", "values", "words"),
    [
        ([], [], ()),
        ([dtypes.int32], [-5], (-5,)),
        ([dtypes.int32, dtypes.int64], [5, -2], (5, 0, -2, -1)),
        ([dtypes.int64, dtypes.int32], [1 << 32, 6], (0, 1, 6)),
        ([dtypes.int16, dtypes.int16, dtypes.int32], [1, 2, 3], (0x20001, 3)),
        ([dtypes.int32, dtypes.uint8], [9, 255], (9, 255)),
        ([dtypes.float32], [1.0], (0x3F800000,)),
    ],
)
def test_values_are_aligned_to_their_size(variables: list, values: list, words: tuple[int, ...]) -> None:
    assert value_words(variables, values, addresses=3) == words

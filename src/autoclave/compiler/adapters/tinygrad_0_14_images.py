"""The one correction to tinygrad 0.14.0's code generator: what is read from a float16 image stays float16.

A texture read gives float32 whatever the image stores. When tinygrad turns four neighbouring loads of a float16 buffer into
one texture read, its rewrite engine derives the type of every expression above the read anew, and they become float32.
tinygrad has a rule against that (`.load(dtype=dtypes.half)` in codegen/late/coalesce.py), but by the time it is tried the load
is float32 already, so it never applies. What follows depends on what the value meets:

- float32 (a convolution, a matrix product): nothing is wrong, and the correction changes no instruction.
- float16 (a constant, a computed feature that it is concatenated with, a plain buffer): tinygrad refuses to compile the kernel,
  "UOp verification failed at N on Ops.WHERE dtypes.float".
- local memory for float16: float32 values are stored with the strides of float16 ones, and the kernel's results are wrong.
- a value that another kernel rounds to float16, in a comparison for equality (ArgMax): they differ, and the result is wrong.

Converting where types clash would leave the last one wrong, for there none do. So the texture read itself is converted, as
tinygrad's own rule means to.
"""

from typing import Any

from tinygrad import codegen
from tinygrad.codegen.late.coalesce import transform_to_image
from tinygrad.dtype import dtypes
from tinygrad.helpers import IMAGE
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat


def keep_float16_images() -> None:
    """Let tinygrad compile with the correction if it is set to use images; without images there is nothing to correct."""
    if IMAGE:
        codegen.pm_simplify_add_image = _CORRECTED_RULES


def _read_texture(ctx: Any, buffer: UOp, index: UOp) -> UOp | None:
    """A load of four float16 as a texture read converted to float16; None if the buffer cannot be an image."""
    image = transform_to_image(ctx, buffer, index)
    return None if image is None else image.load().cast(dtypes.half)


_FOUR_OF_A_BUFFER = UPat(Ops.SHRINK, src=(UPat(Ops.PARAM, name="buffer"), UPat(name="index"), UPat(arg=4)))

_CORRECTED_RULES = (
    PatternMatcher([(_FOUR_OF_A_BUFFER.load(dtype=dtypes.half), _read_texture)]) + codegen.pm_simplify_add_image
)

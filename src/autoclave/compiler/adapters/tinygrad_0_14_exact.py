"""Arithmetic as it is written, each step rounded, of tinygrad 0.14's LLVM renderers.

tinygrad lets LLVM contract products and sums, and replace a division by a product with a reciprocal. Whether it does depends on
what is around them. For a model that is speed; for the coordinates of a warp it is a pixel here and there that differs.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from tinygrad.renderer import llvmir


@contextmanager
def exact_arithmetic() -> Iterator[None]:
    """Kernels that are compiled inside have no such freedom."""
    relaxed = dict(llvmir.float_lop)
    llvmir.float_lop.update({operation: text.replace(llvmir.flags, "") for operation, text in relaxed.items()})
    try:
        yield
    finally:
        llvmir.float_lop.update(relaxed)

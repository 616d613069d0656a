"""Exponentials, logarithms, reciprocals, roots, sines: the exact value rounded once.

f32 forms flush denormal sources and results to zeros of their sign; f16 and f64 forms keep them. Sines and cosines take full
turns. The algorithms are those of `scalar.elementary`.
"""

import math
from collections.abc import Callable
from typing import Final

from autoclave.emulator.rdna4.lanewise.formats import F16, F32, F64, Format
from autoclave.emulator.rdna4.lanewise.operation import operations
from autoclave.emulator.scalar import patterns, single
from autoclave.emulator.scalar.elementary import cos_turns_value, exp2_value, log2_value, sin_turns_value

Unary = Callable[[int], int]


def reciprocal(form: Format) -> Unary:
    """1 / a; a zero gives the infinity of its sign."""

    def inverse(a: int) -> int:
        value = form.value(a)
        return form.rounded(1.0 / value) if value else form.infinity | a & form.sign

    return inverse


def root(form: Format) -> Unary:
    """The square root; NaN below zero, -0 of -0."""

    def square_root(a: int) -> int:
        value = form.value(a)
        return form.rounded(math.sqrt(value)) if value >= 0 else form.nan

    return square_root


def reciprocal_root(form: Format) -> Unary:
    """1 / sqrt(a), each rounded in binary64; the infinity of its sign of a zero, NaN below zero."""

    def inverse_root(a: int) -> int:
        value = form.value(a)
        if value == 0:
            return form.infinity | a & form.sign
        return form.rounded(1.0 / math.sqrt(value)) if value > 0 else form.nan

    return inverse_root


def exp2_half(a: int) -> int:
    """2 to the power of an f16."""
    value = F16.value(a)
    return F16.rounded(exp2_value(value)) if value == value else F16.nan


def log2_half(a: int) -> int:
    """The binary logarithm of an f16: -infinity of zeros, NaN below."""
    if a & 0x7FFF == 0:
        return 0xFC00
    if a >= 0x7C00:
        return a if a == 0x7C00 else F16.nan
    return F16.rounded(log2_value(F32.rounded(F16.value(a))))


def turns(form: Format, function: Callable[[float], float]) -> Unary:
    """The sine or cosine of a number of full turns; NaN of infinities."""

    def of_turns(a: int) -> int:
        return form.nan if a & form.infinity == form.infinity else form.rounded(function(form.value(a)))

    return of_turns


def flushed(function: Unary) -> Unary:
    """A function of f32 whose denormal sources and results are zeros of their sign."""
    return lambda a: patterns.flush32(function(patterns.flush32(a)))


_HALF: Final[dict[str, Unary]] = {
    "exp": exp2_half,
    "log": log2_half,
    "rcp": reciprocal(F16),
    "rsq": reciprocal_root(F16),
    "sqrt": root(F16),
}
_SINGLE: Final[dict[str, Unary]] = {
    "exp": single.exp2,
    "log": single.log2,
    "rcp": single.rcp,
    "rsq": single.rsq,
    "sqrt": single.sqrt,
}

ELEMENTARY: Final = operations(
    {
        **{f"v_{name}_f16": compute for name, compute in _HALF.items()},
        **{f"v_{name}_f32": compute for name, compute in _SINGLE.items()},
        "v_rcp_iflag_f32": single.rcp,
        "v_sin_f16": turns(F16, sin_turns_value),
        "v_cos_f16": turns(F16, cos_turns_value),
        "v_sin_f32": flushed(turns(F32, sin_turns_value)),
        "v_cos_f32": flushed(turns(F32, cos_turns_value)),
        "v_rcp_f64": reciprocal(F64),
        "v_rsq_f64": reciprocal_root(F64),
        "v_sqrt_f64": root(F64),
    }
)
"""By name."""

SCALAR_ELEMENTARY: Final[dict[str, Unary]] = {
    **{f"v_s_{name}_f16": compute for name, compute in _HALF.items()},
    **{f"v_s_{name}_f32": compute for name, compute in _SINGLE.items()},
}
"""The same on scalars (v_s_*), by name."""

"""The functions by name, and their IR text."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from autoclave.emulator.vector import (
    arithmetic,
    conversion,
    elementary,
    gradual,
    gradual_elementary,
    soft_fma,
    wide_fma,
)
from autoclave.emulator.vector.body import ATTRIBUTES, GRADUAL_ATTRIBUTES, Body, Value, symbol


@dataclass(frozen=True, slots=True)
class Signature:
    """Element types: "float" (f32), "double", "i16" (f16 patterns and small integers) and "i32"."""

    result: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A function of the library: what it takes and how its body is built.

    uses: the features ("f16c", "fma", "avx512") that `build` takes as keywords.
    """

    signature: Signature
    build: Callable[..., Value]
    uses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Library:
    """IR text of some functions: `declarations` (intrinsics and tables, each a line) belong once at the top of a module."""

    declarations: tuple[str, ...]
    definitions: str

    @property
    def text(self) -> str:
        """Declarations, then definitions."""
        return "\n".join(self.declarations) + "\n" + self.definitions


_UNARY = Signature("float", ("float",))
_BINARY = Signature("float", ("float", "float"))
_TERNARY = Signature("float", ("float", "float", "float"))
_DOUBLE_UNARY = Signature("double", ("double",))
_DOUBLE_BINARY = Signature("double", ("double", "double"))
_DOUBLE_TERNARY = Signature("double", ("double", "double", "double"))
_DOUBLE_SCALED = Signature("double", ("double", "double", "double", "i32"))
_SINGLE_SCALED = Signature("float", ("float", "float", "float", "i32"))
_SCALED = Signature("float", ("float", "i32"))
_SCALED_DOUBLE = Signature("double", ("double", "i32"))
_HALF_UNARY = Signature("i16", ("i16",))
_WIDEN = Signature("float", ("i16",))
_NARROW = Signature("i16", ("float",))
_TO_INTEGER = Signature("i32", ("float",))
_FROM_INTEGER = Signature("float", ("i32",))

ROUNDINGS: Final = ("toward_zero", "nearest_even", "toward_positive", "toward_negative")

INTEGER_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "s8": (-(1 << 7), (1 << 7) - 1),
    "u8": (0, (1 << 8) - 1),
    "s16": (-(1 << 15), (1 << 15) - 1),
    "u16": (0, (1 << 16) - 1),
    "s32": (-(1 << 31), (1 << 31) - 1),
    "u32": (0, (1 << 32) - 1),
}


def _to_integers() -> dict[str, Entry]:
    return {
        f"single_to_{kind}_{rounding}": Entry(
            _TO_INTEGER,
            partial(conversion.single_to_integer, lowest=lowest, highest=highest, rounding=rounding),
        )
        for kind, (lowest, highest) in INTEGER_RANGES.items()
        for rounding in ROUNDINGS
    }


def _from_integers() -> dict[str, Entry]:
    return {
        f"{kind}_to_single_{rounding}": Entry(
            _FROM_INTEGER,
            partial(conversion.integer_to_single, signed=kind == "s32", rounding=rounding),
        )
        for kind in ("s32", "u32")
        for rounding in ROUNDINGS
    }


def _gradual() -> dict[str, Entry]:
    f16c, fma, any_fma = ("f16c",), ("fma",), ("f16c", "avx512")
    return {
        "single_to_half_exactly": Entry(_NARROW, gradual.narrow_gradual, f16c),
        "narrow_gradual": Entry(_NARROW, gradual.narrow_gradual, f16c),
        "narrow_toward_zero_gradual": Entry(_NARROW, gradual.narrow_toward_zero_gradual, f16c),
        "round_half_gradual": Entry(_UNARY, gradual.round_half_gradual, f16c),
        "exp2_flushing": Entry(_UNARY, gradual_elementary.exp2_flushing, ("fma", "avx512")),
        "fma_single": Entry(_TERNARY, gradual.fma_single, fma),
        "fma_half": Entry(_TERNARY, gradual.fma_half, any_fma),
        "fma_mixed_half": Entry(_TERNARY, gradual.fma_mixed_half, any_fma),
        "fma_double": Entry(_DOUBLE_TERNARY, gradual.fma_double, fma),
        "fma_scaled_double": Entry(_DOUBLE_SCALED, wide_fma.fma_scaled_double),
        "fma_scaled_single": Entry(_SINGLE_SCALED, soft_fma.fma_scaled_single),
        "scale_single": Entry(_SCALED, gradual.scale_single, ("avx512",)),
        "scale_double": Entry(_SCALED_DOUBLE, gradual.scale_double),
        **{
            f"{name}_{ending}": Entry(signature, getattr(gradual, name))
            for name in ("maximum_number", "minimum_number", "maximum", "minimum")
            for ending, signature in (("gradual", _BINARY), ("double", _DOUBLE_BINARY))
        },
        **{
            f"{name}_{ending}": Entry(signature, getattr(gradual, name), f16c)
            for name in ("truncate", "floor", "ceiling", "round_even", "fraction")
            for ending, signature in (("gradual", _UNARY), ("double", _DOUBLE_UNARY))
        },
        "clamp_gradual": Entry(_UNARY, gradual.clamp),
        "clamp_double": Entry(_DOUBLE_UNARY, gradual.clamp),
        **{
            name: Entry(_UNARY, getattr(gradual_elementary, name))
            for name in (
                "rcp_flushing",
                "rsq_flushing",
                "sqrt_flushing",
                "log2_flushing",
                "sin_turns",
                "cos_turns",
            )
        },
    }


FLUSHING: Final[Mapping[str, Entry]] = {
    **{
        name: Entry(_UNARY, getattr(arithmetic, name))
        for name in (
            "flush_single",
            "canonical_single",
            "identity_single",
            "saturate_single",
            "sign_single",
            "truncate_single",
            "floor_single",
            "ceiling_single",
            "round_even_single",
        )
    },
    **{name: Entry(_BINARY, getattr(arithmetic, name)) for name in ("maximum_single", "minimum_single")},
    **{name: Entry(_HALF_UNARY, getattr(arithmetic, name)) for name in ("flush_half", "canonical_half")},
    **{name: Entry(_WIDEN, getattr(conversion, name), ("f16c",)) for name in ("half_to_single", "half_operand")},
    **{
        name: Entry(_NARROW, getattr(conversion, name), ("f16c",))
        for name in (
            *(f"single_to_half_{rounding}" for rounding in ROUNDINGS),
            "narrow_toward_zero",
            "narrow_nearest_even",
        )
    },
    "round_half": Entry(_UNARY, conversion.round_half, ("f16c",)),
    **_to_integers(),
    **_from_integers(),
    **{name: Entry(_UNARY, getattr(elementary, name)) for name in ("rcp", "rsq", "sqrt", "exp2", "log2", "sin", "cos")},
}
"""For processors that run with FTZ and DAZ. Conversions to and from integers, and `half_to_single`, serve others too."""

GRADUAL: Final[Mapping[str, Entry]] = _gradual()
"""For processors that keep denormals. Their NaN results are not canonical yet."""

FUNCTIONS: Final[Mapping[str, Entry]] = {**FLUSHING, **GRADUAL}
"""All."""


def library(
    names: Iterable[str],
    lanes: int,
    *,
    f16c: bool,
    fma: bool = False,
    avx512: bool = False,
    gradual: bool = False,
) -> Library:
    """The text of the named functions for one lane count (4, 8, 16 or 32), in the table's order whatever that of `names`.

    f16c, fma, avx512: what the processor has; none changes a result. gradual: whether it keeps denormals.
    """
    wanted = set(names)
    unknown = wanted - FUNCTIONS.keys()
    if unknown:
        raise KeyError(f"the vector library has no {', '.join(sorted(unknown))}")
    present = tuple(name for name, has in (("f16c", f16c), ("fma", fma), ("avx512", avx512)) if has)
    parts = [_function(name, lanes, present, gradual) for name in FUNCTIONS if name in wanted]
    declarations = dict.fromkeys(line for part in parts for line in part.declarations)
    return Library(tuple(declarations), "\n".join(part.definitions for part in parts))


_LONGEST_INLINED = 12
"""Instructions of a function that a processor without F16C has at each use."""


@cache
def _function(name: str, lanes: int, present: tuple[str, ...], gradual: bool) -> Library:
    entry = FUNCTIONS[name]
    body = Body(lanes)
    arguments = [Value(f"%x{n}", element) for n, element in enumerate(entry.signature.arguments)]
    result = entry.build(body, *arguments, **{feature: feature in present for feature in entry.uses})
    listed = ", ".join(f"{body.type(a.element)} {a.text}" for a in arguments)
    kind = body.type(entry.signature.result)
    attributes = GRADUAL_ATTRIBUTES if gradual else ATTRIBUTES
    # Where halves are not converted by one instruction, every operation would be as long as a page.
    called = gradual and "f16c" not in present and len(body.lines) > _LONGEST_INLINED
    inlining = "noinline" if called else "alwaysinline"
    lines = [f"define internal {kind} {symbol(name, lanes)}({listed}) {inlining} {attributes} {{"]
    lines += [*body.lines, f"  ret {kind} {result.text}", "}", ""]
    return Library(tuple(sorted(body.declarations)), "\n".join(lines))

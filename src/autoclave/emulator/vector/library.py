"""The functions by name, and their IR text."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from autoclave.emulator.vector import arithmetic, conversion, elementary
from autoclave.emulator.vector.body import ATTRIBUTES, Body, Value, symbol


@dataclass(frozen=True, slots=True)
class Signature:
    """Element types: "float" (f32), "i16" (f16 patterns and small integers) and "i32"."""

    result: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A function of the library: what it takes and how its body is built."""

    signature: Signature
    build: Callable[..., Value]
    uses_f16c: bool = False


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


FUNCTIONS: Final[Mapping[str, Entry]] = {
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
    **{name: Entry(_WIDEN, getattr(conversion, name), True) for name in ("half_to_single", "half_operand")},
    **{
        name: Entry(_NARROW, getattr(conversion, name), True)
        for name in (
            *(f"single_to_half_{rounding}" for rounding in ROUNDINGS),
            "narrow_toward_zero",
            "narrow_nearest_even",
        )
    },
    "round_half": Entry(_UNARY, conversion.round_half, True),
    **_to_integers(),
    **_from_integers(),
    **{name: Entry(_UNARY, getattr(elementary, name)) for name in ("rcp", "rsq", "sqrt", "exp2", "log2", "sin", "cos")},
}


def library(names: Iterable[str], lanes: int, *, f16c: bool) -> Library:
    """The text of the named functions for one lane count (4, 8, 16 or 32), in the table's order whatever that of `names`."""
    wanted = set(names)
    unknown = wanted - FUNCTIONS.keys()
    if unknown:
        raise KeyError(f"the vector library has no {', '.join(sorted(unknown))}")
    parts = [_function(name, lanes, f16c) for name in FUNCTIONS if name in wanted]
    declarations = dict.fromkeys(line for part in parts for line in part.declarations)
    return Library(tuple(declarations), "\n".join(part.definitions for part in parts))


@cache
def _function(name: str, lanes: int, f16c: bool) -> Library:
    entry = FUNCTIONS[name]
    body = Body(lanes)
    arguments = [Value(f"%x{n}", element) for n, element in enumerate(entry.signature.arguments)]
    options = {"f16c": f16c} if entry.uses_f16c else {}
    result = entry.build(body, *arguments, **options)
    listed = ", ".join(f"{body.type(a.element)} {a.text}" for a in arguments)
    kind = body.type(entry.signature.result)
    lines = [f"define internal {kind} {symbol(name, lanes)}({listed}) alwaysinline {ATTRIBUTES} {{"]
    lines += [*body.lines, f"  ret {kind} {result.text}", "}", ""]
    return Library(tuple(sorted(body.declarations)), "\n".join(lines))

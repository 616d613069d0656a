"""Values of the manual's pseudo-code, and what its operators and functions make of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from emulator.rdna4 import pseudo_floats as floats
from emulator.rdna4.pseudo_floats import Number

FLOATS = {"f16": "F16", "f32": "F32", "f64": "F64", "bf16": "BF16"}
BOUNDS = {f"i{n}": (-(1 << n - 1), (1 << n - 1) - 1) for n in (8, 16, 32)} | {
    f"u{n}": (0, (1 << n) - 1) for n in (8, 16, 32)
}


@dataclass(frozen=True)
class Value:
    """Bits of some width, read as an unsigned (U, B) or signed (I) integer."""

    kind: str
    width: int
    bits: int

    @property
    def number(self) -> int:
        if self.kind == "I" and self.bits >> (self.width - 1):
            return self.bits - (1 << self.width)
        return self.bits


@dataclass(frozen=True)
class Exact:
    """A power that no format holds."""

    value: Fraction


@dataclass(frozen=True)
class Symbol:
    """INF, NAN, DENORM: what they are depends on the type that follows."""

    name: str
    negated: bool = False


def integer(value: Any) -> int:
    return value.number if isinstance(value, Value) else int(value.bits)


def raw(value: Any) -> tuple[int, int]:
    """(bits, width)."""
    if isinstance(value, Number):
        return value.bits, floats.WIDTH[value.form]
    return value.bits, value.width


def truth(value: Any) -> bool:
    return raw(value)[0] != 0


def flag(condition: bool) -> Value:
    return Value("U", 1, 1 if condition else 0)


def typed(value: Any, name: str) -> Any:
    """Bits read as another type; numbers of a smaller width are extended by zeros."""
    if isinstance(value, Symbol):
        return symbol(value, FLOATS[name])
    bits, _ = raw(value)
    if name in FLOATS:
        form = FLOATS[name]
        return Number(form, bits & (1 << floats.WIDTH[form]) - 1)
    width = int(name.lstrip("uib"))
    return Value(name[0].upper(), width, bits & (1 << width) - 1)


def symbol(value: Symbol, form: str) -> Any:
    if value.name == "INF":
        return floats.infinite(form, value.negated)
    if value.name == "NAN":
        return floats.nan(form)
    return value


def as_number(value: Any) -> Any:
    """A constant without a type is an f64."""
    return symbol(value, "F64") if isinstance(value, Symbol) else value


def cast(text: str, value: Any) -> Any:
    width, kind = text.split("'")
    if kind == "F":
        form = {"16": "F16", "32": "F32", "64": "F64"}[width]
        value = as_number(value)
        if isinstance(value, Exact):
            return floats.rounded(form, value.value)
        if isinstance(value, Number):
            return floats.convert(form, value)
        return Number(form, value.bits)
    size = int(width)
    return Value(kind, size, integer(value) & (1 << size) - 1)


def literal(text: str) -> Any:
    if "'" in text:
        width, digits = text.split("'")
        if "." in digits:
            return floats.rounded(f"F{width}", Fraction(digits))
        kind = digits[-1] if digits[-1] in "UIFB" and not digits.startswith("0x") else "I"
        number = int(digits.rstrip("UI"), 0) if not digits.startswith("0x") else int(digits, 16)
        return Value(kind, int(width), number & (1 << int(width)) - 1)
    if "." in text:
        return floats.rounded("F32" if text.endswith("F") else "F64", Fraction(text.rstrip("F")))
    width = 64 if text.endswith("LL") else 32
    return Value("U" if "U" in text else "I", width, int(text.rstrip("UL"), 0) & (1 << width) - 1)


def unary(sign: str, a: Any) -> Any:
    if isinstance(a, Symbol):
        return Symbol(a.name, sign == "-")
    if sign == "!":
        return flag(not truth(a))
    if isinstance(a, Number):
        return a.with_bits(a.bits ^ 1 << (floats.WIDTH[a.form] - 1)) if sign == "-" else a
    number = {"-": -a.number, "~": ~a.number, "+": a.number}[sign]
    return Value(a.kind, a.width, number & (1 << a.width) - 1)


def integer_operation(sign: str, a: Value, b: Value) -> Value:
    if sign in ("<<", ">>"):
        shifted = a.number << b.number if sign == "<<" else a.number >> b.number
        return Value(a.kind, a.width, shifted & (1 << a.width) - 1)
    if sign in ("==", "!=", "<>", "<", "<=", ">", ">="):
        x, y = a.number, b.number
        return flag(
            {"==": x == y, "!=": x != y, "<>": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[sign]
        )
    width = max(a.width, b.width)
    kind = "I" if a.kind == b.kind == "I" else "U"
    x, y = a.number, b.number
    result = {"+": x + y, "-": x - y, "*": x * y, "&": x & y, "|": x | y, "^": x ^ y}[sign]
    return Value(kind, width, result & (1 << width) - 1)


def float_operation(sign: str, a: Any, b: Any) -> Any:
    if isinstance(b, Symbol):
        assert sign == "==" and b.name == "DENORM"
        return flag(a.is_denormal)
    if sign == "**":
        # No format reaches further.
        return Exact(a.exact ** max(-4000, min(4000, integer(b))))
    if isinstance(a, Exact) or isinstance(b, Exact):
        number, power = (b, a) if isinstance(a, Exact) else (a, b)
        if number.is_nan or number.is_infinite:
            return number
        return floats.rounded(number.form, number.exact * power.value, number.negative)
    if sign in ("==", "<>", "<", "<=", ">", ">=", "!="):
        order = floats.compare(a, b)
        met = {"==": (0,), "<>": (-1, 1), "!=": (-1, 1, None), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}[sign]
        return flag(order in met)
    form = a.form if floats.PRECISION[a.form] >= floats.PRECISION[b.form] else b.form
    if sign == "-":
        sign, b = "+", unary("-", b)
    return {"+": floats.add, "*": floats.multiply, "/": floats.divide}[sign](form, a, b)


def conversion(source: str, target: str, value: Any, toward_zero: bool) -> Any:
    """X_to_Y."""
    if target == "snorm" or target == "unorm":
        return normalised(value, -1 if target == "snorm" else 0, 32767 if target == "snorm" else 65535)
    if source in FLOATS and target in FLOATS:
        return floats.convert(FLOATS[target], value, toward_zero)
    if source in FLOATS:
        lowest, highest = BOUNDS[target]
        return Value(target[0].upper(), int(target[1:]), floats.to_integer(value, lowest, highest) & highest - lowest)
    if target in FLOATS:
        return floats.rounded(FLOATS[target], Fraction(value.number))
    width = int(target[1:])
    lowest, highest = BOUNDS[target]
    return Value(target[0].upper(), width, max(lowest, min(highest, value.number)) & (1 << width) - 1)


def normalised(a: Number, lowest: int, scale: int) -> Value:
    if a.is_nan:
        return Value("I", 16, 0)
    value = Fraction(lowest if a.negative else 1) if a.is_infinite else max(Fraction(lowest), min(Fraction(1), a.exact))
    return Value("I", 16, round(value * scale) & 0xFFFF)


def _quieted(a: Number) -> Number:
    return a.with_bits(a.bits | 1 << (a.fraction_bits - 1))


def _scaled(a: Number, power: Any) -> Number:
    if a.is_nan or a.is_infinite:
        return a
    return floats.rounded(a.form, a.exact * Fraction(2) ** integer(power), a.negative)


def _extended_from(value: Value, width: Value) -> Value:
    size = width.number
    if size == 0:
        return Value("I", value.width, 0)
    bits = value.bits & (1 << size) - 1
    if bits >> (size - 1) & 1:
        bits -= 1 << size
    return Value("I", value.width, bits & (1 << value.width) - 1)


def _significand(a: Number) -> Number:
    """In [1/2, 1) with the sign, if the exponent field is not 0."""
    return a.with_bits(a.bits & ~(a.highest_field << a.fraction_bits) | (floats.BIAS[a.form] - 1) << a.fraction_bits)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "fma": lambda a, b, c: floats.fused(a.form, a, b, c),
    "floor": floats.floor,
    "trunc": floats.truncate,
    "fract": lambda a: floats.add(a.form, a, unary("-", floats.floor(a))),
    "sqrt": floats.square_root,
    "pow": lambda base, a: floats.power_of_two(a),
    "log2": floats.logarithm,
    "sin": floats.sine_of_turns,
    "cos": floats.cosine_of_turns,
    "abs": lambda a: a.with_bits(a.bits & ~(1 << (floats.WIDTH[a.form] - 1))),
    "sign": lambda a: flag(a.negative),
    "exponent": lambda a: Value("I", 32, a.field),
    "mantissa": _significand,
    "ldexp": _scaled,
    "isNAN": lambda a: flag(a.is_nan),
    "isSignalNAN": lambda a: flag(a.is_signalling),
    "isQuietNAN": lambda a: flag(a.is_nan and not a.is_signalling),
    "cvtToQuietNAN": _quieted,
    "isEven": lambda a: flag(not (a.is_nan or a.is_infinite) and a.exact % 2 == 0),
    "signext": lambda a: Value("I", 64, Value("I", a.width, a.bits).number & (1 << 64) - 1),
    "signext_from_bit": _extended_from,
}

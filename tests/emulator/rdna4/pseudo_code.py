"""An evaluator of the manual's pseudo-code (the text that tinygrad's wheel carries), independent of the emulator's arithmetic.

Where the text leaves something open it reads it as: sums, products and fused products are rounded once, to nearest even; `**`
is exact; conversions to integers truncate and saturate, NaN gives 0; a NaN that is moved keeps its bits; an operation that
does not assign its result leaves the register as it was.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from emulator.rdna4 import pseudo_floats as floats
from emulator.rdna4.pseudo_floats import Number
from emulator.rdna4.pseudo_syntax import Node, parse
from tinygrad.runtime.autogen.amd.rdna4.str_pcode import PCODE

FLOATS = {"f16": "F16", "f32": "F32", "f64": "F64", "bf16": "BF16"}
BOUNDS = {f"i{n}": (-(1 << n - 1), (1 << n - 1) - 1) for n in (8, 16, 32)} | {
    f"u{n}": (0, (1 << n) - 1) for n in (8, 16, 32)
}


def _texts() -> dict[str, str]:
    """The text of each operation by its name, in lower case and without the encoding."""
    found: dict[str, str] = {}
    for operation, text in PCODE.items():
        found.setdefault(re.sub(r"_e(32|64)$", "", operation.name.lower()), text)
    return found


TEXTS: Mapping[str, str] = _texts()


@cache
def statements(name: str) -> list[Node]:
    return parse(TEXTS[name])


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


class _Break(Exception):
    pass


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


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


class Evaluator:
    """One run of an operation. sources: patterns and widths; old: what the destination holds."""

    def __init__(
        self, sources: Sequence[tuple[int, int]], old: int, state: Mapping[str, int], signs: Sequence[bool]
    ) -> None:
        self.variables: dict[str, Any] = {f"S{i}": Value("B", width, bits) for i, (bits, width) in enumerate(sources)}
        self.variables |= {
            "D0": Value("B", 64, old),
            "D1": Value("B", 64, 0),
            "VCC": Value("B", 64, state.get("VCC", 0)),
            "EXEC": Value("B", 64, state.get("EXEC", 0)),
            "SCC": Value("U", 1, state.get("SCC", 0)),
            "laneId": Value("U", 32, state.get("laneId", 0)),
            "SIMM32": Value("B", 32, state.get("SIMM32", 0)),
            "OPSEL": Value("U", 3, 0),
            "OPSEL_HI": Value("U", 3, state.get("OPSEL_HI", 0)),
            "NEG": Value("U", 3, sum(one << i for i, one in enumerate(signs))),
            "ROUND_MODE": Symbol("ROUND_NEAREST_EVEN"),
            "MAX_FLOAT_F32": floats.largest("F32", False),
            **{f"UNDERFLOW_{form}": Number(form, 0) for form in ("F32", "F64")},
            **{f"OVERFLOW_{form}": floats.infinite(form, False) for form in ("F32", "F64")},
            **{name: Symbol(name) for name in ("INF", "NAN", "DENORM", "ROUND_TOWARD_ZERO", "PI", "TRAPSTS")},
        }
        self.sources = [self.variables[f"S{i}"] for i in range(len(sources))]
        self.functions: dict[str, tuple[list[str], list[Node]]] = {}

    def run(self, program: list[Node]) -> None:
        for one in program:
            self.step(one)

    def step(self, node: Node) -> None:
        match node:
            case ("assign", sign, target, expression):
                value = self.value(expression)
                if sign != "=":
                    value = self.operate(sign[0], self.value(target), value)
                self.assign(target, value)
            case ("if", arms, otherwise):
                for condition, body in arms:
                    if truth(self.value(condition)):
                        return self.run(body)
                self.run(otherwise)
            case ("for", name, first, last, body):
                begin = self.value(first)
                for i in range(integer(begin), integer(self.value(last)) + 1):
                    self.variables[name] = Value(begin.kind, begin.width, i)
                    try:
                        self.run(body)
                    except _Break:
                        break
            case ("break",):
                raise _Break
            case ("return", expression):
                raise _Return(self.value(expression))
            case ("declare", name, kind, count):
                width, letter = kind.split("'")
                if count is None:
                    self.variables[name] = Value(letter, int(width), 0)
                elif name == "S":
                    self.variables[name] = list(self.sources)
                else:
                    self.variables[name] = [Value(letter, int(width), 0)] * integer(self.value(count))
            case ("function", name, names, body):
                self.functions[name] = (names, body)
            case _:
                raise NotImplementedError(node)

    def assign(self, target: Node, value: Any) -> None:
        value = as_number(value)
        match target:
            case ("name", name):
                old = self.variables.get(name)
                if name in ("D0", "VCC"):
                    bits, width = raw(value)
                    value = Value("B", 64, bits)
                elif isinstance(old, Value) and isinstance(value, Value) and old.kind != "B":
                    value = Value(old.kind, old.width, value.number & (1 << old.width) - 1)
                self.variables[name] = value
            case ("concatenation", members):
                bits = integer(value)
                for member in reversed(members):
                    width = int(member[2].lstrip("ui"))
                    self.assign(member, Value("U", width, bits & (1 << width) - 1))
                    bits >>= width
            case ("typed", ("name", "TRAPSTS"), _):
                pass
            case ("typed", inner, kind):
                self.assign_typed(inner, kind, value)
            case ("index", ("name", name), index) if isinstance(self.variables.get(name), list):
                members = list(self.variables[name])
                members[integer(self.value(index))] = value
                self.variables[name] = members
            case ("index", inner, index):
                at = integer(self.value(index))
                self.put(inner, at, 1, 1 if truth(value) else 0)
            case ("slice", inner, high, low):
                first, last = integer(self.value(low)), integer(self.value(high))
                self.put(inner, first, last - first + 1, raw(value)[0])
            case _:
                raise NotImplementedError(target)

    def assign_typed(self, inner: Node, kind: str, value: Any) -> None:
        """A register takes a number of a type; an integer of another width is extended or cut as a number."""
        if kind in FLOATS:
            form = FLOATS[kind]
            width = floats.WIDTH[form]
            number = floats.convert(form, value) if isinstance(value, Number) else Number(form, value.bits)
            bits = number.bits
        else:
            width = int(kind.lstrip("uib"))
            bits = (integer(value) if isinstance(value, Value) else value.bits) & (1 << width) - 1
        match inner:
            case ("name", name):
                if name in ("D0", "D1", "EXEC", "VCC"):
                    self.put(inner, 0, width, bits)
                else:
                    self.variables[name] = (
                        Number(FLOATS[kind], bits) if kind in FLOATS else Value(kind[0].upper(), width, bits)
                    )
            case ("slice", base, high, low):
                first, last = integer(self.value(low)), integer(self.value(high))
                self.put(base, first, last - first + 1, bits)
            case _:
                raise NotImplementedError(inner)

    def put(self, target: Node, first: int, width: int, bits: int) -> None:
        """Bits of a variable."""
        if target[0] == "typed":
            target = target[1]
        name = target[1]
        old = self.variables.get(name)
        held, size = raw(old) if old is not None else (0, 128)
        mask = (1 << width) - 1
        combined = held & ~(mask << first) | (bits & mask) << first
        # What nothing but parts have been assigned to has the width of those.
        kind = old.kind if isinstance(old, Value) else "B"
        self.variables[name] = Value(kind, max(size, first + width) if old is not None else 128, combined)

    def value(self, node: Node) -> Any:
        match node:
            case ("literal", text):
                return literal(text)
            case ("name", name):
                return self.variables[name]
            case ("typed", inner, kind):
                return typed(self.value(inner), kind)
            case ("index", inner, index):
                base = self.value(inner)
                at = integer(self.value(index))
                return base[at] if isinstance(base, list) else Value("U", 1, raw(base)[0] >> at & 1)
            case ("slice", inner, high, low):
                return self.slice(self.value(inner), integer(self.value(high)), integer(self.value(low)))
            case ("part", inner, low, width):
                first = integer(self.value(low))
                return self.slice(self.value(inner), first + integer(self.value(width)) - 1, first)
            case ("cast", text, inner):
                return cast(text, self.value(inner))
            case ("choose", condition, first, second):
                return self.value(first if truth(self.value(condition)) else second)
            case ("concatenation", members):
                bits = width = 0
                for member in members:
                    part, size = raw(self.value(member))
                    bits, width = bits << size | part, width + size
                return Value("B", width, bits)
            case ("unary", sign, inner):
                return unary(sign, self.value(inner))
            case ("binary", "&&", left, right):
                return flag(truth(self.value(left)) and truth(self.value(right)))
            case ("binary", "||", left, right):
                return flag(truth(self.value(left)) or truth(self.value(right)))
            case ("binary", sign, left, right):
                return self.operate(sign, self.value(left), self.value(right))
            case ("call", "sin" | "cos" as name, [("binary", "*", turns, _)]):
                # The factor is 2 pi, taken for exact.
                return FUNCTIONS[name](self.value(turns))
            case ("call", name, arguments):
                return self.call(name, [self.value(one) for one in arguments])
        raise NotImplementedError(node)

    @staticmethod
    def slice(base: Any, high: int, low: int) -> Any:
        """Bits, in the opposite order if the bounds are. A part of a typed integer counts in the width of that."""
        bits, width = raw(base)
        if high < low:
            bits = int(f"{bits >> high & (1 << low - high + 1) - 1:0{low - high + 1}b}"[::-1], 2)
            return Value("U", low - high + 1, bits)
        bits = bits >> low & (1 << high - low + 1) - 1
        if isinstance(base, Value) and base.kind == "U":
            return Value("U", max(width, high - low + 1), bits)
        return Value("B", high - low + 1, bits)

    def operate(self, sign: str, a: Any, b: Any) -> Any:
        a, b = as_number(a), as_number(b)
        if isinstance(a, Number | Exact | Symbol) or isinstance(b, Number | Exact | Symbol):
            return float_operation(sign, a, b)
        return integer_operation(sign, a, b)

    def call(self, name: str, arguments: list[Any]) -> Any:
        if name in self.functions:
            names, body = self.functions[name]
            saved = dict(self.variables)
            self.variables |= dict(zip(names, arguments, strict=True))
            try:
                self.run(body)
            except _Return as result:
                return result.value
            finally:
                self.variables = saved
        if name in TEXTS:
            evaluator = Evaluator([raw(one) for one in arguments], 0, {}, ())
            evaluator.run(statements(name))
            return typed(evaluator.variables["D0"], name.rsplit("_", 1)[1] if name[-1] != "8" else "u32")
        match = re.fullmatch(r"v_cvt_(?P<target>\w+)_(?P<source>\w+)|(?P<from>\w+)_to_(?P<to>\w+)", name)
        if match:
            source, target = match["source"] or match["from"], match["target"] or match["to"]
            toward_zero = self.variables["ROUND_MODE"].name == "ROUND_TOWARD_ZERO"
            return conversion(source, target, arguments[0], toward_zero)
        return FUNCTIONS[name](*(as_number(one) for one in arguments))


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


def evaluate(
    name: str, sources: Sequence[tuple[int, int]], old: int = 0, signs: Sequence[bool] = (), **state: int
) -> Mapping[str, int]:
    """What an operation leaves in D0, D1, VCC, EXEC, SCC, as bits."""
    evaluator = Evaluator(sources, old, state, signs)
    evaluator.run(statements(name))
    return {one: raw(evaluator.variables[one])[0] for one in ("D0", "D1", "VCC", "EXEC", "SCC")}

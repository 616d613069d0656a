"""An evaluator of the manual's pseudo-code (the text that tinygrad's wheel carries), independent of the emulator's arithmetic.

Where the text leaves something open it reads it as: sums, products and fused products are rounded once, to nearest even; `**`
is exact; conversions to integers truncate and saturate, NaN gives 0; a NaN that is moved keeps its bits; an operation that
does not assign its result leaves the register as it was.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from emulator.rdna4 import pseudo_floats as floats
from emulator.rdna4.pseudo_floats import Number
from emulator.rdna4.pseudo_syntax import Node, parse
from emulator.rdna4.pseudo_values import (
    FLOATS,
    FUNCTIONS,
    Exact,
    Symbol,
    Value,
    as_number,
    cast,
    conversion,
    flag,
    float_operation,
    integer,
    integer_operation,
    literal,
    raw,
    truth,
    typed,
    unary,
)
from tinygrad.runtime.autogen.amd.rdna4.str_pcode import PCODE


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


class _Break(Exception):
    pass


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


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


def evaluate(
    name: str, sources: Sequence[tuple[int, int]], old: int = 0, signs: Sequence[bool] = (), **state: int
) -> Mapping[str, int]:
    """What an operation leaves in D0, D1, VCC, EXEC, SCC, as bits."""
    evaluator = Evaluator(sources, old, state, signs)
    evaluator.run(statements(name))
    return {one: raw(evaluator.variables[one])[0] for one in ("D0", "D1", "VCC", "EXEC", "SCC")}

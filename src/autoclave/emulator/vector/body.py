"""A function body of LLVM IR text over vectors of one lane count: typed values, constants, instructions in order."""

from dataclasses import dataclass, field
from struct import pack
from typing import Final

ATTRIBUTES: Final = 'nounwind willreturn "denormal-fp-math"="preserve-sign,preserve-sign" "no-builtins"'
"""Of every function: f32 denormals are flushed (the host runs with FTZ and DAZ set), nothing becomes a library call."""

GRADUAL_ATTRIBUTES: Final = 'nounwind willreturn "no-builtins"'
"""Of every function where the host keeps denormals."""

_LETTERS = {"float": "f32", "double": "f64"}


@dataclass(frozen=True, slots=True)
class Value:
    """A name or literal and its element type: "float", "double", "i1", "i16", "i32", "i64"."""

    text: str
    element: str


@dataclass
class Body:
    """Instructions so far, and the declarations that they need."""

    lanes: int
    lines: list[str] = field(default_factory=list)
    declarations: set[str] = field(default_factory=set)

    def type(self, element: str, lanes: int | None = None) -> str:
        """The vector type of an element type."""
        return f"<{lanes or self.lanes} x {element}>"

    def let(self, expression: str, element: str) -> Value:
        """One instruction, as text."""
        name = f"%t{len(self.lines)}"
        self.lines.append(f"  {name} = {expression}")
        return Value(name, element)

    def integer(self, value: int, element: str = "i32") -> Value:
        """The same integer in every lane."""
        return Value("zeroinitializer" if value == 0 else f"splat ({element} {value})", element)

    def double(self, value: float) -> Value:
        """The same binary64 in every lane."""
        return Value(f"splat (double 0x{pack('>d', value).hex().upper()})", "double")

    def single(self, value: float) -> Value:
        """The same f32 in every lane; `value` is exactly an f32."""
        return Value(f"splat (float 0x{pack('>d', value).hex().upper()})", "float")

    def op(self, name: str, a: Value, b: Value) -> Value:
        """A binary instruction: "add", "fmul", ..."""
        return self.let(f"{name} {self.type(a.element)} {a.text}, {b.text}", a.element)

    def compare(self, name: str, a: Value, b: Value) -> Value:
        """A comparison: "icmp ult", "fcmp uno", ..."""
        return self.let(f"{name} {self.type(a.element)} {a.text}, {b.text}", "i1")

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """a where the condition holds, b elsewhere."""
        kind = self.type(a.element)
        return self.let(f"select {self.type('i1')} {condition.text}, {kind} {a.text}, {kind} {b.text}", a.element)

    def cast(self, name: str, a: Value, element: str) -> Value:
        """A conversion instruction: "bitcast", "zext", "fpext", ..."""
        return self.let(f"{name} {self.type(a.element)} {a.text} to {self.type(element)}", element)

    def negate(self, a: Value) -> Value:
        """The sign bit flipped."""
        return self.let(f"fneg {self.type(a.element)} {a.text}", a.element)

    def square_root(self, a: Value) -> Value:
        """The correctly rounded root, by the intrinsic that is one instruction on every host."""
        return self.intrinsic("sqrt", a)

    def intrinsic(self, name: str, *arguments: Value) -> Value:
        """An intrinsic of LLVM ("sqrt", "fma", "fabs") on floats of one type."""
        element = arguments[0].element
        kind = self.type(element)
        function = f"@llvm.{name}.v{self.lanes}{_LETTERS[element]}"
        self.declarations.add(f"declare {kind} {function}({', '.join(kind for _ in arguments)})")
        return self.call(function, element, *arguments)

    def call(self, symbol: str, element: str, *arguments: Value) -> Value:
        """A call of another function of the library, of as many lanes."""
        listed = ", ".join(f"{self.type(a.element)} {a.text}" for a in arguments)
        return self.let(f"call {self.type(element)} {symbol}({listed})", element)


def symbol(name: str, lanes: int) -> str:
    """What a function of the library is called in IR: "@autoclave.exp2.v16"."""
    return f"@autoclave.{name}.v{lanes}"


def is_nan(body: Body, a: Value) -> Value:
    """Lanes that hold a NaN."""
    return body.compare("fcmp uno", a, a)


def canonical(body: Body, a: Value) -> Value:
    """NaN lanes of an f32 to the canonical NaN; the rest as it is.

    Chosen among integers, because LLVM takes one NaN for as good as another.
    """
    chosen = body.select(is_nan(body, a), body.integer(0x7FC00000), body.cast("bitcast", a, "i32"))
    return body.cast("bitcast", chosen, "float")

"""Forms of what registers hold: bits from floats, floats from bits, halves from wholes, each made once."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager

from autoclave.emulator.ir import Builder, Value, constant, lanes_of, vector
from autoclave.emulator.rdna4.translator.content import Content, Half
from autoclave.emulator.vector import FUNCTIONS, symbol

SINGLE_NAN, HALF_NAN, DOUBLE_NAN = 0x7FC00000, 0x7E00, 0x7FF8000000000000
"""The canonical NaNs."""

SCALAR_LANES = 4
"""The library of vectors has none of one lane; a scalar is computed in the first of so many."""


class Forms:
    """Gives contents the form that is asked for. functions: those of the vector library that are used, by name and lanes."""

    def __init__(self, builder: Builder, lanes: int, f16c: bool) -> None:
        self.ir = builder
        self.lanes = lanes
        self.functions: set[tuple[str, int]] = set()
        self._f16c = f16c
        self._splats: dict[Value, Value] = {}
        self._uniform: dict[Value, Value] = {}

    def type(self, element: str) -> str:
        """The type of one element for each lane."""
        return vector(self.lanes, element)

    def forget(self) -> None:
        """At a block's start: values of other blocks may not have been made."""
        self._splats.clear()
        self._uniform.clear()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Around IR that does not always run: forget afterwards what was made there."""
        splats, uniform = dict(self._splats), dict(self._uniform)
        yield
        self._splats, self._uniform = splats, uniform

    # Scalars and vectors

    def vector(self, value: Value) -> Value:
        """A scalar in every lane; a vector as it is."""
        if lanes_of(value.type) is not None:
            return value
        if value not in self._splats:
            made = self.ir.splat(value, self.lanes)
            self._splats[value] = made
            self._uniform[made] = value
        return self._splats[value]

    def uniform(self, value: Value) -> Value | None:
        """The scalar that a vector was made of, if it was; a scalar as it is."""
        return value if lanes_of(value.type) is None else self._uniform.get(value)

    def library(self, name: str, *arguments: Value) -> Value:
        """Call a function of the vector library, with vectors or with scalars."""
        lanes = next((lanes_of(argument.type) for argument in arguments if lanes_of(argument.type)), None)
        wide = lanes or SCALAR_LANES
        self.functions.add((name, wide))
        result = vector(wide, FUNCTIONS[name].signature.result)
        spread = tuple(self.ir.splat(argument, wide) for argument in arguments)
        value = self.ir.call_exact(symbol(name, wide).lstrip("@"), result, spread)
        return value if lanes is not None else self.ir.element(value, 0)

    # Halves

    def widen(self, bits: Value) -> Value:
        """Halves (i16) as floats that hold them exactly, denormals too."""
        if not self._f16c:
            return self.library("half_to_single", bits)
        return self.ir.convert("fpext", self.ir.convert("bitcast", bits, "half"), "float")

    def narrow(self, number: Value) -> Value:
        """Floats that hold halves exactly as halves (i16); NaNs keep sign and the upper bits of their payload."""
        if not self._f16c:
            return self.library("single_to_half_exactly", number)
        return self.ir.convert("bitcast", self.ir.convert("fptrunc", number, "half"), "i16")

    def canonical(self, number: Value, bits: Value) -> Value:
        """`bits` of `number`, the canonical NaN where it is one. Chosen among integers: LLVM takes one NaN for as good as another."""
        nan = {"i16": HALF_NAN, "i32": SINGLE_NAN, "i64": DOUBLE_NAN}[bits.type.removesuffix(">").split()[-1]]
        return self.ir.select(self.ir.compare_floats("uno", number, number), constant(nan, bits.type), bits)

    def half_bits(self, half: Half) -> Value:
        """A half as <lanes x i16>."""
        if half.zero:
            return constant(0, self.type("i16"))
        if half.bits is None:
            half.bits = self._make_half_bits(half)
        return half.bits

    def _make_half_bits(self, half: Half) -> Value:
        ir = self.ir
        if half.whole is not None:
            whole = self.bits(half.whole)
            return ir.convert("trunc", ir.with_constant("lshr", whole, 16) if half.high else whole, "i16")
        assert half.number is not None
        bits = self.narrow(half.number)
        return self.canonical(half.number, bits) if half.loose else bits

    def half_number(self, half: Half) -> Value:
        """A half as <lanes x float> that holds it exactly."""
        if half.zero:
            return Value("zeroinitializer", self.type("float"))
        if half.number is None:
            half.number = self.widen(self.half_bits(half))
            half.loose = False
        return half.number

    def halves(self, content: Content) -> tuple[Half, Half]:
        """Both halves of a register, the lower one first."""
        if content.halves is None:
            content.halves = (Half(whole=content), Half(whole=content, high=True))
        return content.halves

    # Wholes

    def bits(self, content: Content) -> Value:
        """A register as <lanes x i32>."""
        if content.bits is None:
            content.bits = self._make_bits(content)
        return content.bits

    def _make_bits(self, content: Content) -> Value:
        ir = self.ir
        if content.scalar is not None:
            return self.vector(content.scalar)
        if content.number is not None:
            bits = ir.convert("bitcast", content.number, "i32")
            return self.canonical(content.number, bits) if content.loose else bits
        assert content.halves is not None
        low, high = content.halves
        if high.zero:
            return ir.convert("zext", self.half_bits(low), "i32")
        return ir.binary("or", self.kept_half(low, False), self.kept_half(high, True))

    def kept_half(self, half: Half, high: bool) -> Value:
        """A half at its place among 32 bits, the rest 0."""
        ir = self.ir
        if half.bits is None and half.whole is not None and half.high == high:
            return ir.with_constant("and", self.bits(half.whole), -0x10000 if high else 0xFFFF)
        if half.bits is None and half.whole is not None:
            return ir.with_constant("lshr" if half.high else "shl", self.bits(half.whole), 16)
        bits = ir.convert("zext", self.half_bits(half), "i32")
        return ir.with_constant("shl", bits, 16) if high else bits

    def number(self, content: Content) -> Value:
        """A register as <lanes x float>."""
        if content.number is None:
            content.number = self.ir.convert("bitcast", self.bits(content), "float")
            content.loose = False
        return content.number

    # Constants

    def float_constant(self, bits: int, type_: str) -> Value:
        """A literal of `type_` "f16", "bf16", "f32" or "f64" as a scalar float that holds it; a NaN as any NaN."""
        if type_ == "f64":
            return self.ir.emit(f"bitcast i64 {bits} to double", "double")
        if type_ == "f16":
            (number,) = struct.unpack("<e", struct.pack("<H", bits & 0xFFFF))
            (bits,) = struct.unpack("<I", struct.pack("<f", number))
        elif type_ == "bf16":
            bits = (bits & 0xFFFF) << 16
        return self.ir.emit(f"bitcast i32 {bits} to float", "float")

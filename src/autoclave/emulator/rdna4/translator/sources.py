"""What operations of a wave read: registers and constants in the form that is asked for."""

from collections.abc import Mapping

from autoclave.emulator.ir import Builder, Value, constant, element_type, lanes_of
from autoclave.emulator.rdna4.instruction import Literal32, Register, Source
from autoclave.emulator.rdna4.translator.content import Content, Half
from autoclave.emulator.rdna4.translator.forms import Forms
from autoclave.emulator.rdna4.translator.scalars import Scalars
from autoclave.emulator.rdna4.translator.variables import Variables


class Sources:
    """The reading half of a `Wave`, see there."""

    def __init__(self, builder: Builder, lanes: int, f16c: bool) -> None:
        self.ir = builder
        self.lanes = lanes
        self.forms = Forms(builder, lanes, f16c)
        self.variables = Variables(builder, lanes)
        self.scalars = Scalars(self.forms, self.variables)
        self.valid: Value | None = None
        self.pc = 0
        self.full = True
        self.kept = -1
        self.live = -1
        self.literals: Mapping[int, int] = {}
        self._only: Value | None = None
        self._pending: dict[int, Content] | None = None
        self._known: dict[int, Content] = {}
        self._written: dict[int, None] = {}

    # Vector sources

    def type(self, element: str) -> str:
        """<lanes x element>."""
        return self.forms.type(element)

    def bits(self, source: Source) -> Value:
        """A vector source as <lanes x iN>: N is 16, 32 or 64 by its type. Scalars in every lane; modifiers are not applied."""
        width = width_of(source.type)
        operand = source.operand
        if isinstance(operand, Literal32):
            return constant(operand.bits & ((1 << width) - 1), self.type(f"i{width}"))
        if width == 16:
            return self.forms.half_bits(self.half(operand))
        if width == 64:
            return self._pair(operand)
        if operand.file == "s":
            return self.forms.vector(self.scalars.read(operand.number))
        return self.forms.bits(self.content(operand.number))

    def _pair(self, operand: Register) -> Value:
        """Two registers as <lanes x i64>."""
        if operand.file == "s":
            return self.forms.vector(self.scalars.read_pair(operand.number))
        low, high = (self.forms.bits(self.content(operand.number + step)) for step in range(2))
        return self.join(low, high)

    def join(self, low: Value, high: Value) -> Value:
        """Two times 32 bits as 64."""
        ir = self.ir
        wide = ir.with_constant("shl", ir.convert("zext", high, "i64"), 32)
        return ir.binary("or", wide, ir.convert("zext", low, "i64"))

    def split(self, value: Value) -> tuple[Value, Value]:
        """64 bits as two times 32, the lower ones first."""
        ir = self.ir
        return ir.convert("trunc", value, "i32"), ir.convert("trunc", ir.with_constant("lshr", value, 32), "i32")

    def number(self, source: Source) -> Value:
        """A float source, its modifiers applied: <lanes x double> of f64, else <lanes x float>, which holds a half (bf16) exactly."""
        value = self._plain_number(source)
        if source.absolute:
            value = self.ir.call("llvm.fabs", value.type, (value,))
        return self.ir.negate(value) if source.negated else value

    def _plain_number(self, source: Source) -> Value:
        operand, type_ = source.operand, source.type
        if isinstance(operand, Literal32):
            return self.forms.vector(self.forms.float_constant(operand.bits, type_))
        if type_ == "f64":
            return self.ir.convert("bitcast", self._pair(operand), "double")
        if type_ == "f16":
            return self.forms.half_number(self.half(operand))
        if type_ == "bf16":
            wide = self.ir.convert("zext", self.forms.half_bits(self.half(operand)), "i32")
            return self.ir.convert("bitcast", self.ir.with_constant("shl", wide, 16), "float")
        if operand.file == "s":
            return self.forms.vector(self.ir.convert("bitcast", self.scalars.read(operand.number), "float"))
        return self.forms.number(self.content(operand.number))

    # Halves: of packed operations, and of moves that need not look at bits

    def half(self, operand: Register | Literal32, high: bool | None = None) -> Half:
        """16 bits of a source: the half that the operand names, or the one asked for. Of a literal, `high` is its bits from 16 up."""
        if isinstance(operand, Literal32):
            bits = operand.bits >> 16 if high else operand.bits
            return Half(bits=constant(bits & 0xFFFF, self.type("i16")), zero=bits & 0xFFFF == 0)
        upper = operand.high if high is None else high
        if operand.file == "s":
            word = self.scalars.read(operand.number)
            word = self.ir.with_constant("lshr", word, 16) if upper else word
            return Half(bits=self.forms.vector(self.ir.convert("trunc", word, "i16")))
        return self.forms.halves(self.content(operand.number))[upper]

    def half_bits(self, half: Half) -> Value:
        """A half as <lanes x i16>."""
        return self.forms.half_bits(half)

    def half_number(self, half: Half) -> Value:
        """A half as <lanes x float> that holds it exactly."""
        return self.forms.half_number(half)

    # Scalar sources

    def scalar(self, source: Source) -> Value:
        """A scalar source as i16, i32 or i64 by its type ("mask": i32)."""
        width = width_of(source.type)
        if isinstance(source.operand, Literal32):
            return constant(source.operand.bits & ((1 << width) - 1), f"i{width}")
        operand = source.operand
        if width == 64:
            return self.scalars.read_pair(operand.number)
        word = self.scalars.read(operand.number)
        if width == 16:
            return self.ir.convert("trunc", self.ir.with_constant("lshr", word, 16) if operand.high else word, "i16")
        return word

    def scalar_number(self, source: Source) -> Value:
        """A scalar float source, its modifiers applied: float (also of a half, exactly) or double."""
        if isinstance(source.operand, Literal32):
            value = self.forms.float_constant(source.operand.bits, source.type)
        elif source.type == "f16":
            value = self.widen(self.scalar(source))
        else:
            value = self.ir.convert("bitcast", self.scalar(source), "double" if source.type == "f64" else "float")
        if source.absolute:
            value = self.ir.call("llvm.fabs", value.type, (value,))
        return self.ir.negate(value) if source.negated else value

    def mask(self, source: Source) -> Value:
        """A lane mask as <lanes x i1>. Bits of lanes that are off are as they are in the register."""
        if isinstance(source.operand, Literal32):
            bits = source.operand.bits & ((1 << self.lanes) - 1)
            return self._mask_of(constant(bits, "i32"))
        return self.scalars.read_mask(source.operand.number)

    def _mask_of(self, bits: Value) -> Value:
        return self.scalars.mask_of(bits)

    def scc(self) -> Value:
        """SCC as i1."""
        return self.scalars.scc()

    def set_scc(self, value: Value) -> None:
        """Let SCC be an i1."""
        self.scalars.set_scc(value)

    # Registers

    def content(self, number: int) -> Content:
        """What a vector register holds."""
        if number not in self._known:
            self._known[number] = self._found(number)
        return self._known[number]

    def _found(self, number: int) -> Content:
        """What a register holds at the block's start."""
        if number in self.literals:
            literal = self.literals[number]
            return Content(bits=constant(literal, self.type("i32")), scalar=constant(literal, "i32"))
        return Content(bits=self.variables.load_vector(number))

    def uniform(self, number: int) -> Value | None:
        """The i32 that a vector register holds in every lane; None if nothing is known of that."""
        return self.content(number).scalar

    def _content(self, value: Value) -> Content:
        uniform = self.forms.uniform(value)
        if uniform is not None:
            return Content(scalar=uniform)
        literal = _splatted(value)
        return Content(bits=value, scalar=literal) if literal is not None else Content(bits=value)

    def _whole(self, operand: Register | Literal32) -> Content:
        """32 bits of a source."""
        if isinstance(operand, Literal32):
            return self._content(constant(operand.bits, "i32"))
        if operand.file == "v":
            return self.content(operand.number)
        return Content(scalar=self.scalars.read(operand.number))

    # Conversions

    def library(self, name: str, *arguments: Value) -> Value:
        """Call a function of the vector library, with vectors or with scalars."""
        return self.forms.library(name, *arguments)

    def widen(self, bits: Value) -> Value:
        """Halves (i16) as floats that hold them exactly, denormals too. Scalars or vectors."""
        return self.forms.widen(bits)

    def narrow(self, number: Value) -> Value:
        """Floats that hold halves exactly as halves (i16)."""
        return self.forms.narrow(number)

    def vector(self, value: Value) -> Value:
        """A scalar in every lane; a vector as it is."""
        return self.forms.vector(value)


def width_of(type_: str) -> int:
    """Bits of a type: "f16x2" has 32, "mask" 32."""
    return WIDTHS.get(type_, 32)


WIDTHS = {name: 16 for name in ("f16", "bf16", "b16", "u16", "i16")} | {
    name: 64 for name in ("f64", "b64", "u64", "i64")
}
"""Bits of the types that do not have 32."""


def _splatted(value: Value) -> Value | None:
    """The scalar literal that a vector literal repeats."""
    if lanes_of(value.type) is None:
        return value
    if value.text == "zeroinitializer":
        return constant(0, element_type(value.type))
    if value.text.startswith("splat (i32 "):
        return constant(int(value.text.removeprefix("splat (i32 ").rstrip(")")), "i32")
    return None

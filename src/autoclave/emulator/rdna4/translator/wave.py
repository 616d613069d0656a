"""The registers of one wave, while a block is translated: what operations read and write.

Within a block a register's content is known to the translator as SSA values. Between blocks it lies in a variable, of which
LLVM makes values again: an i32 for a scalar register, <lanes x i32> for a vector register.

EXEC: `exec_mask` is None where all lanes that hold a thread are certainly on. Then operations write whole registers, and
lanes that hold no thread compute what nobody sees. Else writes keep what lanes that are off hold, if that is read later.

Rules of operations are functions of a `Wave` and an `Instruction`. They take sources by `bits`, `number`, `scalar`, `mask` and put
results by `write`, `write_number`, `write_scalar`, `write_mask`, and know nothing of halves' places, of EXEC or of blocks.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from autoclave.emulator.ir import Builder, Value, constant, element_type, lanes_of, numbers
from autoclave.emulator.rdna4.instruction import EXEC, NULL, SCC, Destination, Literal32, Register, Source
from autoclave.emulator.rdna4.translator.content import Content, Half
from autoclave.emulator.rdna4.translator.forms import Forms
from autoclave.emulator.rdna4.translator.scalars import WAVE, Scalars
from autoclave.emulator.rdna4.translator.variables import (
    SCALAR_PLACE,
    SCALAR_REGISTERS,
    VECTOR_REGISTERS,
    Variables,
    vector_place,
)

DPP_REGISTER = VECTOR_REGISTERS
"""A number that no register has: what DPP made of the first source."""


class Wave:
    """All registers of the current wave.

    valid: the lanes that hold a thread, None if all do.
    pc: of the instruction that is being translated. full, kept, live: what is known there, see `execution` and `observation`: whether all
    lanes are on, what lanes that are off may be asked for later, what is read behind it. literals: registers that hold a constant.
    """

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
        width = _width(source.type)
        operand = source.operand
        if isinstance(operand, Literal32):
            return constant(operand.bits & ((1 << width) - 1), self.type(f"i{width}"))
        if width == 16:
            return self.forms.half_bits(self.half(operand))
        if width == 64:
            return self._pair(operand)
        if operand.file == "s":
            return self.forms.vector(self._word(operand.number))
        return self.forms.bits(self.content(operand.number))

    def _word(self, number: int) -> Value:
        """A scalar register, or SCC, as i32."""
        return self.ir.convert("zext", self.scc(), "i32") if number == SCC else self.scalars.read(number)

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

    def write_halves(self, destination: Destination, low: Half, high: Half) -> None:
        """Both halves of a vector register at once: from sources' `half`, or new ones (`Half(number=..., loose=True)`)."""
        self._put(destination.operand.number, Content(halves=(low, high)))

    # Scalar sources

    def scalar(self, source: Source) -> Value:
        """A scalar source as i16, i32 or i64 by its type ("mask": i32)."""
        width = _width(source.type)
        if isinstance(source.operand, Literal32):
            return constant(source.operand.bits & ((1 << width) - 1), f"i{width}")
        operand = source.operand
        if operand.file == "s" and operand.number == SCC:
            return self.ir.convert("zext", self.scc(), f"i{width}")
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

    # EXEC

    def exec_mask(self) -> Value | None:
        """The lanes that are on, <lanes x i1>; None if all that hold a thread are."""
        on = None if self.full else self.scalars.read_mask(EXEC)
        if on is None or self._only is None:
            return on if self._only is None else self._only
        return self.ir.binary("and", on, self._only)

    @contextmanager
    def only(self, mask: Value | None, first: Value) -> Iterator[None]:
        """Within: write these lanes only, and find `first`, <lanes x i32>, in `DPP_REGISTER`."""
        kept, self._only = self.kept, mask
        if mask is not None:
            self.kept = -1
        self._known[DPP_REGISTER] = Content(bits=first)
        yield
        self.kept, self._only = kept, None
        del self._known[DPP_REGISTER]

    @property
    def mask_of_memory(self) -> Value | None:
        """The lanes that may access memory; None if all may."""
        return self.valid if self.full else self.scalars.read_mask(EXEC)

    # Destinations

    def write(self, destination: Destination, value: Value) -> None:
        """Bits of a vector register or two (of a half, if the type has 16 bits), in the lanes that are on: iN or <lanes x iN>."""
        width, register = _width(destination.type), destination.operand
        if width == 64:
            low, high = self.split(value)
            self._put(register.number, self._content(low))
            self._put(register.number + 1, self._content(high))
        elif width == 16:
            self._put_half(register, Half(bits=self.forms.vector(value)))
        else:
            self._put(register.number, self._content(value))

    def _content(self, value: Value) -> Content:
        uniform = self.forms.uniform(value)
        if uniform is not None:
            return Content(scalar=uniform)
        literal = _splatted(value)
        return Content(bits=value, scalar=literal) if literal is not None else Content(bits=value)

    def write_half_alone(self, number: int, value: Value) -> None:
        """Let a vector register hold 16 bits, zero-extended."""
        scalar = lanes_of(value.type) is None
        if scalar:
            self._put(number, Content(scalar=self.ir.convert("zext", value, "i32")))
        else:
            self._put(number, Content(halves=(Half(bits=value), Half(zero=True))))

    def write_number(self, destination: Destination, value: Value, canonical: bool) -> None:
        """A float result, in the lanes that are on: of a half a float that holds it exactly, of f64 a double.

        canonical: NaNs are the canonical one already. If not, they become so where somebody looks at bits. bf16: see `write`.
        """
        type_, register = destination.type, destination.operand
        value = self.forms.vector(value)
        if type_ == "f64":
            bits = self.ir.convert("bitcast", value, "i64")
            self.write(destination, bits if canonical else self.forms.canonical(value, bits))
        elif type_ == "f16":
            self._put_half(register, Half(number=value, loose=not canonical))
        else:
            self._put(register.number, Content(number=value, loose=not canonical))

    def write_mask(self, destination: Destination, value: Value) -> None:
        """A lane mask <lanes x i1> into a scalar register; 0 for lanes that are off."""
        for on in (self.mask_of_memory, self._only):
            value = value if on is None else self.ir.binary("and", value, on)
        self.scalars.write_mask(destination.operand.number, value)

    def write_scalar(self, destination: Destination, value: Value) -> None:
        """An i16 (zero-extended), i32 or i64 into one or two scalar registers."""
        number = destination.operand.number
        if value.type == "i64":
            low, high = self.split(value)
            self.scalars.write(number, low)
            if number != NULL:
                self.scalars.write(number + 1, high)
        else:
            self.scalars.write(number, self.ir.convert("zext", value, "i32"))

    def write_scalar_number(self, destination: Destination, value: Value, canonical: bool) -> None:
        """A scalar float result: of a half a float that holds it exactly (zero-extended), of f64 a double."""
        if destination.type == "f16":
            bits = self.narrow(value)
        else:
            bits = self.ir.convert("bitcast", value, "i64" if value.type == "double" else "i32")
        self.write_scalar(destination, bits if canonical else self.forms.canonical(value, bits))

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

    def move(self, destination: Destination, source: Source) -> None:
        """Copy 16 or 32 bits in whatever form they are."""
        operand = source.operand
        if _width(source.type) == 16:
            self._put_half(destination.operand, self.half(operand))
        elif isinstance(operand, Register):
            self._put(destination.operand.number, self._whole(operand))
        else:
            self._put(destination.operand.number, self._content(constant(operand.bits, "i32")))

    def _whole(self, operand: Register | Literal32) -> Content:
        """32 bits of a source."""
        if isinstance(operand, Literal32):
            return self._content(constant(operand.bits, "i32"))
        if operand.file == "v":
            return self.content(operand.number)
        return Content(scalar=self._word(operand.number))

    def select(self, destination: Destination, condition: Value, chosen: Source, other: Source) -> None:
        """`chosen` where `condition`, else `other`, of 16 or 32 bits, without modifiers, in whatever form they are."""
        register = destination.operand
        if _width(destination.type) == 16:
            half = self._merged_half(condition, self.half(chosen.operand), self.half(other.operand))
            self._put_half(register, half)
            return
        new, old = self._whole(chosen.operand), self._whole(other.operand)
        if not (_is_packed(new) or _is_packed(old)):
            self._put(register.number, self._merged(condition, new, old, 3))
            return
        pairs = zip(self.forms.halves(new), self.forms.halves(old), strict=True)
        low, high = (
            self._merged_half(condition, *pair) if self.live & vector_place(register.number, 1 + place) else _unseen()
            for place, pair in enumerate(pairs)
        )
        self._put(register.number, Content(halves=(low, high)))

    def _put_half(self, register: Register, half: Half) -> None:
        low, high = self.forms.halves(self.content(register.number))
        pair = (low, half) if register.high else (half, high)
        self._put(register.number, Content(halves=pair), halves=2 if register.high else 1)

    def write_every_lane(self, number: int, value: Value) -> None:
        """Let a vector register hold <lanes x i32>, or <lanes x float> with NaNs as they come, whatever EXEC is."""
        floats = element_type(value.type) == "float"
        self._known[number] = Content(number=value, loose=True) if floats else Content(bits=value)
        self._written[number] = None

    def write_halves_of_every_lane(self, number: int, low: Half, high: Half) -> None:
        """The same with both halves."""
        self._known[number] = Content(halves=(low, high))
        self._written[number] = None

    @contextmanager
    def reading_as_before(self) -> Iterator[None]:
        """Within: what is written is read only afterwards."""
        self._pending = {}
        yield
        pending, self._pending = self._pending, None
        for number, content in pending.items():
            self._known[number] = content
            self._written[number] = None

    def _put(self, number: int, content: Content, halves: int = 3) -> None:
        """Let a register hold `content`. halves: 1 the lower half changes, 2 the upper one, 3 both."""
        on = self.exec_mask()
        if on is not None and self.variables.kept(self.kept, number, halves):
            content = self._merged(on, content, self.content(number), halves)
        if self._pending is not None:
            self._pending[number] = content
            return
        self._known[number] = content
        self._written[number] = None

    def _merged(self, on: Value, new: Content, old: Content, halves: int) -> Content:
        """`new` in the lanes that are on, `old` in others."""
        if halves != 3:
            assert new.halves is not None
            before = self.forms.halves(old)
            low, high = new.halves
            if halves == 1:
                return Content(halves=(self._merged_half(on, low, before[0]), high))
            return Content(halves=(low, self._merged_half(on, high, before[1])))
        if _holds_number(new) and _holds_number(old):
            number = self.ir.select(on, self.forms.number(new), self.forms.number(old))
            return Content(number=number, loose=new.loose or old.loose)
        return Content(bits=self.ir.select(on, self.forms.bits(new), self.forms.bits(old)))

    def _merged_half(self, on: Value, new: Half, old: Half) -> Half:
        if _is_number(new) and _is_number(old):
            number = self.ir.select(on, self.half_number(new), self.half_number(old))
            return Half(number=number, loose=new.loose or old.loose)
        return Half(bits=self.ir.select(on, self.half_bits(new), self.half_bits(old)))

    # Blocks

    def begin(self, full: bool, literals: Mapping[int, int]) -> None:
        """Begin a block. full: all lanes that hold a thread are on. literals: vector registers that hold a constant in every lane."""
        self.literals = literals
        self._known.clear()
        self._written.clear()
        self.forms.forget()
        self.scalars.begin()
        self.full = False
        self.set_full(full)

    def set_full(self, full: bool) -> None:
        """Note behind an instruction whether all lanes that hold a thread are on."""
        if full and not self.full:
            every = constant((1 << self.lanes) - 1 if self.lanes < WAVE else -1, "i32")
            mask = constant(1, self.type("i1")) if self.valid is None else self.valid
            self.scalars.assume(EXEC, every if self.valid is None else None, mask)
        self.full = full

    def existing(self, bits: Value) -> Value:
        """The bits of a mask (i32) that are those of lanes that hold a thread."""
        if self.valid is not None:
            return self.ir.binary("and", bits, self.scalars.bits_of(self.valid))
        return self.ir.with_constant("and", bits, (1 << self.lanes) - 1) if self.lanes < WAVE else bits

    def drop_lanes_without_thread(self) -> None:
        """After a write to EXEC: it never has lanes that hold no thread."""
        self.scalars.write(EXEC, self.existing(self.scalars.read(EXEC)))

    def store_first_exec(self) -> None:
        """When a wave begins, all lanes that hold a thread are on."""
        every = constant(-1, "i32") if self.valid is None else self.scalars.bits_of(self.valid)
        self.variables.store_scalar(EXEC, self.existing(every))

    def kept_variables(self, live: int) -> list[tuple[Value, str]]:
        """The variables of a set of places, and SCC's."""
        kept = [
            (self.variables.vector_variable(number), self.type("i32"))
            for number in range(VECTOR_REGISTERS)
            if self.variables.kept(live, number, 3)
        ]
        kept += [
            (self.variables.scalar_variable(number), "i32")
            for number in range(SCALAR_REGISTERS)
            if live >> (SCALAR_PLACE + number) & 1
        ]
        scc = self.scalars.variable_of_scc()
        return kept if scc is None else [*kept, (scc, "i1")]

    def finish(self, live: int, observed: int) -> None:
        """Put what the block wrote into variables. live, observed: places that are read later, and whose bits are looked at."""
        for number in self._written:
            value = self.variables.stored(self.forms, self._known[number], number, live, observed)
            if value is not None:
                self.variables.store_vector(number, value)
        self.scalars.finish(live)

    # The vector library, and what memory access asks of lanes

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

    def all_lanes(self) -> Value:
        """The lanes that may access memory, as <lanes x i1>."""
        on = self.mask_of_memory
        return constant(1, self.type("i1")) if on is None else on

    def are_consecutive(self, values: Value, step: int) -> Value:
        """Whether all lanes take part, and each lane's number is `step` more than the one's before."""
        first = self.vector(self.ir.element(values, 0))
        steps = numbers((lane * step for lane in range(self.lanes)), element_type(values.type))
        follows = self.ir.compare("eq", values, self.ir.binary("add", first, steps))
        on = self.mask_of_memory
        return self.ir.all(follows if on is None else self.ir.binary("and", follows, on))

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Around IR that does not always run: forget afterwards what was made there."""
        with self.forms.aside(), self.scalars.aside():
            yield


def _holds_number(content: Content) -> bool:
    """Whether a content's float says all of it: it was computed, or is 0."""
    if content.scalar is not None:
        return content.scalar.text == "0"
    return content.number is not None and content.bits is None


def _is_number(half: Half) -> bool:
    """The same of a half."""
    return half.zero or (half.number is not None and half.bits is None and half.whole is None)


def _is_packed(content: Content) -> bool:
    """Whether its halves are apart, so that bits would have to be made of them."""
    return content.halves is not None and content.bits is None and content.number is None


def _unseen() -> Half:
    """A half that nobody reads."""
    return Half(zero=True)


def _width(type_: str) -> int:
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

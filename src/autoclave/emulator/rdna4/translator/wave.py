"""The registers of one wave, while a block is translated: what operations read (`sources`) and write.

Within a block a register's content is known to the translator as SSA values. Between blocks it lies in a variable, of which
LLVM makes values again: an i32 for a scalar register, <lanes x i32> for a vector register.

EXEC: `exec_mask` is None where all lanes that hold a thread are certainly on. Then operations write whole registers, and
lanes that hold no thread compute what nobody sees. Else writes keep what lanes that are off hold, if that is read later.

Rules of operations are functions of a `Wave` and an `Instruction`. They take sources by `bits`, `number`, `scalar`, `mask` and put
results by `write`, `write_number`, `write_scalar`, `write_mask`, and know nothing of halves' places, of EXEC or of blocks.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from autoclave.emulator.ir import Value, constant, element_type, lanes_of
from autoclave.emulator.rdna4.instruction import EXEC, NULL, Destination, Register, Source
from autoclave.emulator.rdna4.translator.content import Content, Half
from autoclave.emulator.rdna4.translator.observation import Uses
from autoclave.emulator.rdna4.translator.scalars import WAVE
from autoclave.emulator.rdna4.translator.sources import Sources, width_of
from autoclave.emulator.rdna4.translator.variables import (
    SCALAR_PLACE,
    SCALAR_REGISTERS,
    VECTOR_REGISTERS,
    halves_in,
    vector_place,
)

DPP_REGISTER = VECTOR_REGISTERS
"""A number that no register has: what DPP made of the first source."""


class Wave(Sources):
    """All registers of the current wave.

    valid: the lanes that hold a thread, None if all do.
    pc: of the instruction that is being translated. full, kept, live: what is known there, see `execution` and `observation`: whether all
    lanes are on, what lanes that are off may be asked for later, what is read behind it. literals: registers that hold a constant.
    """

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
        width, register = width_of(destination.type), destination.operand
        if width == 64:
            low, high = self.split(value)
            self._put(register.number, self._content(low))
            self._put(register.number + 1, self._content(high))
        elif width == 16:
            self._put_half(register, Half(bits=self.forms.vector(value)))
        else:
            self._put(register.number, self._content(value))

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

    def write_halves(self, destination: Destination, low: Half, high: Half) -> None:
        """Both halves of a vector register at once: from sources' `half`, or new ones (`Half(number=..., loose=True)`)."""
        self._put(destination.operand.number, Content(halves=(low, high)))

    def move(self, destination: Destination, source: Source) -> None:
        """Copy 16 or 32 bits in whatever form they are."""
        operand = source.operand
        if width_of(source.type) == 16:
            self._put_half(destination.operand, self.half(operand))
        elif isinstance(operand, Register):
            self._put(destination.operand.number, self._whole(operand))
        else:
            self._put(destination.operand.number, self._content(constant(operand.bits, "i32")))

    def select(self, destination: Destination, condition: Value, chosen: Source, other: Source) -> None:
        """`chosen` where `condition`, else `other`, of 16 or 32 bits, without modifiers, in whatever form they are."""
        register = destination.operand
        if width_of(destination.type) == 16:
            half = self._merged_half(condition, self.half(chosen.operand), self.half(other.operand))
            self._put_half(register, half)
            return
        new, old = self._whole(chosen.operand), self._whole(other.operand)
        if not (new.is_packed or old.is_packed):
            self._put(register.number, self._merged(condition, new, old, 3))
            return
        pairs = zip(self.forms.halves(new), self.forms.halves(old), strict=True)
        low, high = (
            self._merged_half(condition, *pair)
            if self.live & vector_place(register.number, 1 + place)
            else Half(zero=True)
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
        if new.is_number and old.is_number:
            number = self.ir.select(on, self.forms.number(new), self.forms.number(old))
            return Content(number=number, loose=new.loose or old.loose)
        return Content(bits=self.ir.select(on, self.forms.bits(new), self.forms.bits(old)))

    def _merged_half(self, on: Value, new: Half, old: Half) -> Half:
        if new.is_number and old.is_number:
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

    def finish(self, uses: Uses) -> None:
        """Put what the block wrote into variables, as far as it is used later."""
        for number in self._written:
            used = (halves_in(places, number) for places in (uses.live, uses.observed, uses.observed_halves))
            value = self.variables.stored(self.forms, self._known[number], *used)
            if value is not None:
                self.variables.store_vector(number, value)
        self.scalars.finish(uses.live)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Around IR that does not always run: forget afterwards what was made there."""
        with self.forms.aside(), self.scalars.aside():
            yield

"""Registers of one vector of threads, while a block is translated.

Within a block a register's content is an SSA value, known to the translator. Between blocks it lies in a variable (LLVM
makes values of them again): a scalar one where all lanes hold the same, else a vector.
"""

import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from autoclave.emulator.a630.instruction import (
    ADDRESS_REGISTER,
    Constant,
    Immediate,
    Operand,
    Register,
)
from autoclave.emulator.a630.launch import MAX_CONSTANT_VECTORS
from autoclave.emulator.a630.translator.content import Content
from autoclave.emulator.a630.translator.files import Files, members
from autoclave.emulator.a630.translator.operations import HALF, location
from autoclave.emulator.ir import Builder, Value, constant, element_type, lanes_of, vector
from autoclave.emulator.jit import HostTarget
from autoclave.emulator.translator.frame import CONSTANTS_AT, ZERO_AT
from autoclave.emulator.vector import FUNCTIONS, symbol

NAN = 0x7FC00000
SCALAR_LANES = 4
"""The library of vectors has none of one lane; a scalar is computed in the first of so many."""


class Indirection(Protocol):
    """Registers and constants that are named by a0.x: `indirect.Indirect`."""

    def read(self, operand: Register | Constant, floating: bool) -> Content:
        """What the operand holds."""

    def write(self, register: Register, content: Content) -> None:
        """Let the register hold `content`."""


class Lanes:
    """Reads and writes registers in the current block, and gives contents the form that is asked for.

    mask: the lanes that take part, None for all. varying: locations that lie in vectors at the block's start.
    functions: those of the vector library that are used, by name and lanes. wide_shuffles: whether the host has shuffles of
    words across a whole vector, and LLVM makes them quickly.
    """

    def __init__(self, builder: Builder, lanes: int, merged: bool, demotion: bool, target: HostTarget) -> None:
        self.ir = builder
        self.lanes = lanes
        self.files = Files(builder, lanes)
        self.functions: set[tuple[str, int]] = set()
        self.mask: Value | None = None
        self.pc = 0
        self.indirection: Indirection | None = None
        self._merged = merged
        self._demotion = demotion
        self._f16c = target.f16c
        self.wide_shuffles = target.avx512
        self._splats: dict[Value, Value] = {}
        self._tables: dict[tuple[int, str], Value] = {}
        self._varying = 0
        self._known: dict[int, Content] = {}
        self._written: dict[int, None] = {}
        self._constants: dict[tuple[int, bool, bool], Content] = {}
        self._literals: dict[int, Value] = {}
        zero = builder.in_entry(f"getelementptr i8, ptr %thread, i64 {ZERO_AT}", "ptr")
        self._zero = builder.in_entry(f"load i32, ptr {zero.text}, align 8", "i32")

    # Blocks

    def begin(self, varying: int, mask: Value | None) -> None:
        """Begin a block."""
        self._varying = varying
        self.mask = mask
        self._known.clear()
        self._written.clear()
        self._constants.clear()
        self._splats.clear()
        self._tables.clear()

    def finish(self, live: int, observed: int, floats: int, varying: Iterable[int], masked: bool) -> None:
        """Put what the block wrote into variables, as those who follow expect it.

        live, observed, floats: locations that are read later, whose bits are, and whose floats are. varying: for each
        block that may follow, what lies in vectors there. masked: only the lanes of `mask` have changed.
        """
        expected = tuple(varying)
        for place in self._written:
            if live >> place & 1:
                value = self._stored(self._known[place], bool(observed >> place & 1), bool(floats >> place & 1))
                self._store(place, value, expected, masked)
        if not masked:
            self._spread(live, expected)

    def _stored(self, content: Content, observed: bool, as_float: bool) -> Value:
        if content.loose and not observed:
            assert content.number is not None
            return self.ir.convert("bitcast", content.number, "i32")
        if as_float and not content.opaque:
            return self.hidden_bits(content)
        return self.bits(content)

    def _store(self, place: int, value: Value, expected: tuple[int, ...], masked: bool) -> None:
        if masked:
            assert self.mask is not None
            kept = self.files.load(place, True)
            value = self.ir.select(self.mask, self.vector(value), kept)
            self.files.store(place, value, True)
            return
        uniform = lanes_of(value.type) is None
        if not uniform or any(varying >> place & 1 for varying in expected):
            self.files.store(place, value, True)
        if uniform and not all(varying >> place & 1 for varying in expected):
            self.files.store(place, value, False)

    def _spread(self, live: int, expected: tuple[int, ...]) -> None:
        """What stays as it was but lies in a scalar here and in a vector in a block that follows."""
        wanted = 0
        for varying in expected:
            wanted |= varying
        spread = live & wanted & ~self._varying
        for place in self._written:
            spread &= ~(1 << place)
        for place in members(spread):
            self.files.store(place, self.files.load(place, False), True)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Around IR that does not always run: forget afterwards what was made there."""
        splats, tables = dict(self._splats), dict(self._tables)
        yield
        self._splats, self._tables = splats, tables

    # Registers

    def read(self, register: Register) -> Content:
        """What a register holds."""
        place = location(register, self._merged)
        content = self._known.get(place)
        if content is None:
            varying = bool(self._varying >> place & 1)
            # Whoever stored it saw to it that it is opaque if it is read as a float.
            content = Content(half=place >= HALF, bits=self.files.load(place, varying), opaque=True)
            self._known[place] = content
        if register.half and self._merged and register.number < ADDRESS_REGISTER:
            return self._half_of(content, register.number & 1)
        if register.half and place < HALF:
            return Content(half=True, bits=self.ir.convert("trunc", self.bits(content), "i16"))
        return content

    def _half_of(self, content: Content, high: int) -> Content:
        bits = self.bits(content)
        if high:
            bits = self.ir.with_constant("lshr", bits, 16)
        return Content(half=True, bits=self.ir.convert("trunc", bits, "i16"))

    def write(self, register: Register, content: Content) -> None:
        """Let the register hold `content`, which is of its width."""
        if register.relative:
            assert self.indirection is not None
            self.indirection.write(register, content)
            return
        place = location(register, self._merged)
        if content.half and place < HALF:
            content = (
                self._with_half(place, content, register.number & 1)
                if register.number < ADDRESS_REGISTER
                else Content(bits=self.ir.convert("zext", self.bits(content), "i32"), predicate=content.predicate)
            )
        self._known[place] = content
        self._written[place] = None

    def _with_half(self, place: int, content: Content, high: int) -> Content:
        kept = self.bits(self.read(Register(place)))
        new = self.ir.convert("zext", self.bits(content), "i32")
        if high:
            new = self.ir.with_constant("shl", new, 16)
        kept, new = self.alike(self.ir.with_constant("and", kept, 0xFFFF if high else -0x10000), new)
        return Content(bits=self.ir.binary("or", kept, new))

    def flush_all(self) -> None:
        """Put every register that was written into its variable."""
        self.finish(-1, -1, 0, (-1,), self.mask is not None)
        self._known.clear()
        self._written.clear()

    # Operands

    def operand(self, operand: Operand, floating: bool = False) -> Content:
        """What an operand of an instruction holds. floating: half constants are demoted as floats."""
        if isinstance(operand, Immediate):
            return Content(half=operand.half, literal=operand.bits & (0xFFFF if operand.half else 0xFFFFFFFF))
        if operand.relative:
            assert self.indirection is not None
            return self.indirection.read(operand, floating)
        if isinstance(operand, Register):
            return self.read(operand)
        return self.constant(operand, floating)

    def constant(self, operand: Constant, floating: bool) -> Content:
        """What a constant holds."""
        key = (operand.number, operand.half, floating)
        if key not in self._constants:
            self._constants[key] = self._load_constant(operand, floating)
        return self._constants[key]

    def _load_constant(self, operand: Constant, floating: bool) -> Content:
        if not operand.half:
            return Content(bits=self.constant_word(operand.number), opaque=True)
        if self._demotion:
            return self.demoted(self.constant_word(operand.number), floating)
        return Content(half=True, bits=self.bound(CONSTANTS_AT + 2 * operand.number, "i16", 2), opaque=True)

    def constant_word(self, number: int) -> Value:
        """A word of the constant file; 0 behind its end."""
        if not 0 <= number < 4 * MAX_CONSTANT_VECTORS:
            return constant(0, "i32")
        return self.bound(CONSTANTS_AT + 4 * number, "i32", 4)

    def bound(self, offset: int, type_: str, align: int) -> Value:
        """What the launch block holds at `offset`."""
        if (offset, type_) not in self._tables:
            pointer = self.ir.offset(Value("%launch", "ptr"), offset)
            self._tables[offset, type_] = self.ir.load(pointer, type_, align, invariant=True)
        return self._tables[offset, type_]

    def demoted(self, word: Value, floating: bool) -> Content:
        """The half that a constant of 32 bits is read as."""
        if not floating:
            return Content(half=True, bits=self.ir.convert("trunc", word, "i16"), opaque=True)
        number = self.ir.convert("bitcast", word, "float")
        return Content(half=True, bits=self.library("single_to_half_nearest_even", number), opaque=True)

    # Forms of a content

    def bits(self, content: Content) -> Value:
        """Its bits, as an integer of its width."""
        if content.bits is None:
            content.bits = self._make_bits(content)
        return content.bits

    def _make_bits(self, content: Content) -> Value:
        width = "i16" if content.half else "i32"
        if content.literal is not None:
            return Value(str(content.literal), width)
        if content.predicate is not None:
            return self.ir.convert("zext", content.predicate, width)
        assert content.number is not None and not content.half
        bits = self.ir.convert("bitcast", content.number, "i32")
        if not content.loose:
            return bits
        nan = self.ir.compare_floats("uno", content.number, content.number)
        content.loose = False
        return self.ir.select(nan, constant(NAN, bits.type), bits)

    def predicate(self, content: Content) -> Value:
        """Whether it is not 0."""
        if content.predicate is None:
            bits = self.bits(content)
            content.predicate = self.ir.compare("ne", bits, constant(0, bits.type))
        return content.predicate

    def number(self, content: Content) -> Value:
        """The float that it is as an operand of the float ALU; a half as an f32, without denormals."""
        if content.number is None:
            bits = self.hidden_bits(content)
            if content.half:
                content.number = self.library("half_to_single" if content.flushed else "half_operand", bits)
            else:
                content.number = self.ir.convert("bitcast", bits, "float")
            content.loose = False
        return content.number

    def hidden_bits(self, content: Content) -> Value:
        """Its bits, so that LLVM does not know them."""
        if content.opaque:
            return self.bits(content)
        if content.literal is not None:
            return self.literal(content.literal, content.half)
        return self.hidden(self.bits(content))

    def hidden(self, value: Value) -> Value:
        """The same integer, so that LLVM does not know it."""
        zero = self.ir.convert("trunc", self._zero, element_type(value.type))
        return self.ir.binary("or", *self.alike(value, zero))

    def literal(self, bits: int, half: bool = False) -> Value:
        """A number that LLVM does not know."""
        if bits not in self._literals:
            self._literals[bits] = self.ir.in_entry(f"xor i32 {self._zero.text}, {bits}", "i32")
        value = self._literals[bits]
        return self.ir.convert("trunc", value, "i16") if half else value

    def float_literal(self, number: float) -> Value:
        """An f32 that LLVM does not know."""
        (bits,) = struct.unpack("<I", struct.pack("<f", number))
        return self.ir.convert("bitcast", self.literal(bits), "float")

    # Scalars and vectors

    def vector(self, value: Value) -> Value:
        """A scalar in every lane; a vector as it is."""
        if lanes_of(value.type) is not None:
            return value
        if value not in self._splats:
            self._splats[value] = self.ir.splat(value, self.lanes)
        return self._splats[value]

    def alike(self, *values: Value) -> tuple[Value, ...]:
        """All as vectors if one of them is."""
        if all(lanes_of(value.type) is None for value in values):
            return values
        return tuple(self.vector(value) for value in values)

    def choose(self, condition: Value, chosen: Content, other: Content) -> Content:
        """`chosen` where `condition`, else `other`; both have the same width."""
        if chosen.loose and other.loose and chosen.number is not None and other.number is not None:
            number = self._select(condition, chosen.number, other.number)
            return Content(number=number, loose=True, opaque=True, flushed=True)
        bits = self._select(condition, self.bits(chosen), self.bits(other))
        return Content(half=chosen.half, bits=bits, opaque=chosen.opaque and other.opaque)

    def _select(self, condition: Value, chosen: Value, other: Value) -> Value:
        if lanes_of(condition.type) is not None:
            chosen, other = self.vector(chosen), self.vector(other)
        return self.ir.select(condition, *self.alike(chosen, other))

    def all_lanes(self) -> Value:
        """The mask as a vector of i1."""
        return constant(1, vector(self.lanes, "i1")) if self.mask is None else self.mask

    def library(self, name: str, *arguments: Value) -> Value:
        """Call a function of the vector library."""
        if name == "half_to_single" and self._f16c:
            return self.ir.convert("fpext", self.ir.convert("bitcast", arguments[0], "half"), "float")
        arguments = self.alike(*arguments)
        lanes = lanes_of(arguments[0].type)
        wide = SCALAR_LANES if lanes is None else lanes
        self.functions.add((name, wide))
        result = vector(wide, FUNCTIONS[name].signature.result)
        value = self.ir.call_exact(
            symbol(name, wide).lstrip("@"), result, tuple(self.ir.splat(argument, wide) for argument in arguments)
        )
        return value if lanes is not None else self.ir.element(value, 0)

"""Products of matrices: v_wmma_*_16x16x16_*, D = A B + C, each matrix spread over the lanes of a wave.

Lane l holds row l % 16 of A, column l % 16 of B, of both the elements k = 8 (l / 16) + 0..7; of C and D column l % 16, rows from 8 (l / 16) on.
So the vector of all lanes of one element has two values of k (of A and B) or two rows (of C and D), one behind the other, and the product is made
of them as they are: for one k after the other, each row's accumulator is fma(A[row, k], B[k], it), B[k] being a vector of 16 columns.

The product is a function of its own, through memory: 16 accumulators take most of a host's registers.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from autoclave.emulator.ir import Builder, Module, Value, constant, vector
from autoclave.emulator.jit import HostTarget
from autoclave.emulator.rdna4.instruction import Instruction, Literal32, Source
from autoclave.emulator.rdna4.translator.content import Half
from autoclave.emulator.rdna4.translator.wave import Wave

SIDE = 16
_ROW_BYTES = 4 * SIDE
_MATRIX = vector(8 * 2 * SIDE, "float")
"""Room for a matrix: eight vectors of all lanes."""

WMMA_NAMES = frozenset(
    {
        "v_wmma_f32_16x16x16_f16",
        "v_wmma_f32_16x16x16_bf16",
        "v_wmma_f16_16x16x16_f16",
        "v_wmma_bf16_16x16x16_bf16",
    }
)
"""Products that there is a rule for."""

_SYMBOL = "autoclave.wmma"


def place_of(number: int) -> int:
    """Where row (of C, D) or k (of A, B) `number` lies in a matrix's memory."""
    return number % 8 * 2 * _ROW_BYTES + number // 8 * _ROW_BYTES


@dataclass(slots=True)
class Products:
    """Emits products in a kernel. used: whether there was one, so that the module needs `define_product`.

    stored: matrices of the current block that lie in memory already, by what they were made of.
    """

    wave: Wave
    used: bool = False
    rooms: list[Value] = field(default_factory=list)
    sum_room: Value | None = None
    stored: dict[object, Value] = field(default_factory=dict)
    turn: int = 0

    def begin(self) -> None:
        """At a block's start."""
        self.stored.clear()

    def multiply(self, instruction: Instruction) -> None:
        """One product. It does not care for EXEC."""
        wave, ir = self.wave, self.wave.ir
        self.used = True
        left, right, added = instruction.sources
        factors = [self._factor(source) for source in (left, right)]
        if self.sum_room is None:
            self.sum_room = ir.alloca(_MATRIX)
        total = self.sum_room
        for number, value in enumerate(self._elements(added)):
            ir.store(value, ir.offset(total, number * 2 * _ROW_BYTES), 64)
        ir.effect(f"call void @{_SYMBOL}(ptr {factors[0].text}, ptr {factors[1].text}, ptr {total.text})")
        destination = instruction.destinations[0]
        results = [ir.load(ir.offset(total, number * 2 * _ROW_BYTES), wave.type("float"), 64) for number in range(8)]
        self._write(destination.operand.number, destination.type, results)

    def _write(self, number: int, type_: str, results: list[Value]) -> None:
        wave = self.wave
        if type_.startswith("f32"):
            for step, result in enumerate(results):
                wave.write_every_lane(number + step, result)
            return
        narrowed = [_narrowed(wave, result, type_) for result in results]
        for step in range(4):
            wave.write_halves_of_every_lane(number + step, narrowed[2 * step], narrowed[2 * step + 1])

    # Matrices to memory

    def _factor(self, source: Source) -> Value:
        """A or B in memory, stored once in a block as long as there is room."""
        key = self._key(source)
        if key in self.stored:
            return self.stored[key]
        elements = self._elements(source)
        room = self._room()
        for number, value in enumerate(elements):
            self.wave.ir.store(value, self.wave.ir.offset(room, number * 2 * _ROW_BYTES), 64)
        self.stored[key] = room
        return room

    def _room(self) -> Value:
        if len(self.rooms) <= self.turn:
            self.rooms.append(self.wave.ir.alloca(_MATRIX))
        room = self.rooms[self.turn]
        self.turn = (self.turn + 1) % _ROOMS
        for key in [key for key, used in self.stored.items() if used == room]:
            del self.stored[key]
        return room

    def _key(self, source: Source) -> object:
        assert not isinstance(source.operand, Literal32)
        number, signs = source.operand.number, (source.negated, source.negated_second, source.type)
        contents = tuple(self.wave.content(number + step) for step in range(4))
        return (tuple(map(_Same, contents)), signs)

    def _elements(self, source: Source) -> list[Value]:
        """Eight elements of each lane as floats, their signs applied."""
        wave, ir, operand = self.wave, self.wave.ir, source.operand
        single = source.type.startswith("f32")
        if isinstance(operand, Literal32):
            kind = source.type.split("x")[0]
            found = [wave.vector(wave.forms.float_constant(operand.bits, kind))] * 8
        elif single:
            found = [wave.forms.number(wave.content(operand.number + step)) for step in range(8)]
        else:
            halves = [half for step in range(4) for half in wave.forms.halves(wave.content(operand.number + step))]
            found = [_widened(wave, half, source.type) for half in halves]
        if single or isinstance(operand, Literal32):
            found = (
                [ir.call("llvm.fabs", one.type, (one,)) for one in found] if source.negated_second and single else found
            )
            return [ir.negate(one) for one in found] if source.negated else found
        signs = (source.negated, source.negated_second)
        return [ir.negate(one) if signs[place % 2] else one for place, one in enumerate(found)]


_ROOMS = 24
"""Factors that lie in memory at once."""


@dataclass(frozen=True, slots=True)
class _Same:
    """An object by its identity, which it keeps alive."""

    content: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.content is self.content

    def __hash__(self) -> int:
        return id(self.content)


def _widened(wave: Wave, half: Half, type_: str) -> Value:
    if not type_.startswith("bf16"):
        return wave.half_number(half)
    wide = wave.ir.convert("zext", wave.half_bits(half), "i32")
    return wave.ir.convert("bitcast", wave.ir.with_constant("shl", wide, 16), "float")


def _narrowed(wave: Wave, result: Value, type_: str) -> Half:
    """Rounded once to nearest even."""
    if not type_.startswith("bf16"):
        return Half(number=wave.library("round_half_gradual", result), loose=True)
    ir = wave.ir
    bits = wave.forms.canonical(result, ir.convert("bitcast", result, "i32"))
    last = ir.with_constant("and", ir.with_constant("lshr", bits, 16), 1)
    rounded = ir.with_constant("add", ir.binary("add", bits, last), 0x7FFF)
    return Half(bits=ir.convert("trunc", ir.with_constant("lshr", rounded, 16), "i16"))


# The function


def define_product(module: Module, target: HostTarget, fused: Callable[[Builder, Value, Value, Value], Value]) -> None:
    """Define the product of two matrices in memory, added to a third: as many rows and columns at a time as a host's registers hold.

    fused: fma(a, b, c) of vectors of floats.
    """
    ir = Builder(module)
    columns, rows = (16, 16) if target.avx512 else (8, 8) if target.fma else (4, 8)
    ir.label("start")
    for first_row in range(0, SIDE, rows):
        for first_column in range(0, SIDE, columns):
            _define_part(ir, first_row, rows, first_column, columns, fused)
    ir.effect("ret void")
    text = ir.function(f"define internal void @{_SYMBOL}(ptr noalias %a, ptr noalias %b, ptr noalias %c)")
    module.definitions.append(text.replace(" #0 {", " noinline #0 {", 1))


def _define_part(
    ir: Builder,
    first_row: int,
    rows: int,
    first_column: int,
    columns: int,
    fused: Callable[[Builder, Value, Value, Value], Value],
) -> None:
    """Some rows and columns of the result: a loop over k."""
    type_ = vector(columns, "float")
    places = [
        ir.offset(Value("%c", "ptr"), place_of(row) + 4 * first_column) for row in range(first_row, first_row + rows)
    ]
    before = [ir.load(place, type_, 4 * columns) for place in places]
    loop, done = ir.name("loop"), ir.name("done")
    entry = ir.block
    ir.jump(loop)
    ir.label(loop)
    names = [ir.name("sum") for _ in range(rows)]
    count, following = ir.name("k"), ir.name("next")
    ir.effect(f"%{count} = phi i64 [ 0, %{entry} ], [ %{following}, %{loop} ]")
    for name, value in zip(names, before, strict=True):
        ir.effect(f"%{name}.before = phi {type_} [ {value.text}, %{entry} ], [ %{name}, %{loop} ]")
    k = Value(f"%{count}", "i64")
    place = ir.binary(
        "add",
        ir.with_constant("mul", ir.with_constant("and", k, 7), 2 * _ROW_BYTES),
        ir.with_constant("mul", ir.with_constant("lshr", k, 3), _ROW_BYTES),
    )
    column = ir.load(ir.offset(ir.offset(Value("%b", "ptr"), place), 4 * first_column), type_, 4 * columns)
    line = ir.offset(Value("%a", "ptr"), place)
    for step, name in enumerate(names):
        factor = ir.splat(ir.load(ir.offset(line, 4 * (first_row + step)), "float", 4), columns)
        total = fused(ir, factor, column, Value(f"%{name}.before", type_))
        ir.effect(f"%{name} = bitcast {type_} {total.text} to {type_}")
    ir.effect(f"%{following} = add i64 {k.text}, 1")
    end = ir.compare("eq", Value(f"%{following}", "i64"), constant(SIDE, "i64"))
    ir.branch(end, done, loop)
    ir.label(done)
    for name, place_ in zip(names, places, strict=True):
        ir.store(Value(f"%{name}", type_), place_, 4 * columns)


def fused_or_exact(target: HostTarget) -> Callable[[Builder, Value, Value, Value], Value]:
    """fma of floats that hold halves: a product of halves is exact in f32, so that hosts without fma multiply, then add."""

    def fused(ir: Builder, left: Value, right: Value, added: Value) -> Value:
        if target.fma:
            return ir.call("llvm.fma", added.type, (left, right, added))
        return ir.binary("fadd", ir.binary("fmul", left, right), added)

    return fused

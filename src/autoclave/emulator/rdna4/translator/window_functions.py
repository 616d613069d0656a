"""The functions that `windows` calls: one that opens a window, and for each size of access one that loads, one that stores.

    void open(ptr launch, ptr window, i32 mask, i64 lowest, i64 extent)     offsets from `lowest` on, over `extent` bytes
    i1 load(ptr launch, ptr thread, ptr window, i64 offset, ptr out, i32 pc)        whether it failed; then the fault is noted
    i1 store(ptr launch, ptr thread, ptr window, i64 offset, ptr values, i32 pc)

Loads of several words deliver all lanes' first word, then all lanes' second; stores take them so.
"""

from collections.abc import Callable
from dataclasses import dataclass

from autoclave.emulator.ir import Builder, Module, Value, constant, numbers, vector
from autoclave.emulator.rdna4.translator.windows import Layout, function_name
from autoclave.emulator.translator.frame import (
    ADDRESS_AT,
    BYTES_AT,
    FAULT_AT,
    GLOBAL_FAULT,
    READ_ONLY_FAULT,
)
from autoclave.emulator.translator.global_memory import NEAR, STRIDE_BITS, find_buffer

_WINDOW, _OUT, _THREAD = Value("%window", "ptr"), Value("%out", "ptr"), Value("%thread", "ptr")
_GROUP = 4
"""Lanes whose words are exchanged at a time."""


@dataclass(frozen=True, slots=True)
class Functions:
    """Defines them in a module. buffers: how many a launch binds."""

    module: Module
    lanes: int
    buffers: int

    def define(self, kind: str, size: int) -> None:
        """One of them; of "open", `size` is whether it is for stores."""
        ir = Builder(self.module)
        ir.label("start")
        if kind == "open":
            self._open(ir, writing=bool(size))
            arguments = "ptr %launch, ptr %window, i32 %mask, i64 %lowest, i64 %extent"
            result = "void"
        else:
            self._access(ir, size, writing=kind == "store")
            arguments = "ptr %launch, ptr %thread, ptr %window, i64 %offset, ptr %out, i32 %pc"
            result = "i1"
        text = ir.function(f"define internal {result} @{function_name(kind, size)}({arguments})")
        self.module.definitions.append(text.replace(" #0 {", " noinline #0 {", 1))

    # Opening

    def _open(self, ir: Builder, writing: bool) -> None:
        layout, words = Layout(self.lanes), vector(self.lanes, "i32")
        low = ir.load(ir.offset(_WINDOW, layout.low), words, 4)
        high = ir.load(ir.offset(_WINDOW, layout.high), words, 4)
        mask = Value("%mask", "i32")
        ir.store(mask, ir.offset(_WINDOW, layout.mask), 4)
        on = self._mask_of(ir, mask)
        first = ir.call("llvm.cttz", "i32", (mask, Value("false", "i1")))
        first = ir.with_constant("and", first, self.lanes - 1)
        first_high, first_low = ir.element(high, first), ir.element(low, first)
        buffer = find_buffer(ir, self.buffers, first_high, writing)
        near = self._near(ir, low, high, first_high, buffer.size)
        off = ir.invert(on)
        every = ir.all(ir.binary("or", near, off))
        some = ir.compare("ne", mask, constant(0, "i32"))
        ir.store(buffer.host, ir.offset(_WINDOW, layout.base), 8)
        flag = ir.convert("zext", ir.binary("and", every, some), "i32")
        ir.store(flag, ir.offset(_WINDOW, layout.near), 4)
        offsets = ir.select(on, low, ir.splat(first_low, self.lanes))
        ir.store(offsets, _WINDOW, 4)
        ir.store(self._stride(ir, offsets, on), ir.offset(_WINDOW, layout.stride), 4)
        ir.effect("ret void")

    def _near(self, ir: Builder, low: Value, high: Value, first_high: Value, size: Value) -> Value:
        """Of each lane, whether its address is in the first one's buffer, and all offsets from there, too."""
        lowest, extent = Value("%lowest", "i64"), Value("%extent", "i64")
        below = ir.call("llvm.smax", "i64", (ir.binary("sub", constant(0, "i64"), lowest), constant(0, "i64")))
        room = ir.binary("sub", ir.binary("sub", size, lowest), extent)
        highest = ir.call("llvm.smin", "i64", (room, constant(NEAR, "i64")))
        fits = ir.compare("sge", highest, below)
        span = ir.convert("trunc", ir.binary("sub", highest, below), "i32")
        moved = ir.binary("sub", low, ir.splat(ir.convert("trunc", below, "i32"), self.lanes))
        inside = ir.compare("ule", moved, ir.splat(span, self.lanes))
        base = ir.with_constant("and", first_high, -1 << (STRIDE_BITS - 32))
        same = ir.compare("eq", high, ir.splat(base, self.lanes))
        return ir.binary("and", ir.binary("and", inside, same), ir.splat(fits, self.lanes))

    def _stride(self, ir: Builder, offsets: Value, on: Value) -> Value:
        first = ir.element(offsets, 0)
        step = ir.binary("sub", ir.element(offsets, 1), first)
        steps = ir.binary("mul", numbers(range(self.lanes), "i32"), ir.splat(step, self.lanes))
        regular = ir.compare("eq", offsets, ir.binary("add", ir.splat(first, self.lanes), steps))
        return ir.select(ir.all(ir.binary("and", regular, on)), step, constant(-1, "i32"))

    def _mask_of(self, ir: Builder, bits: Value) -> Value:
        cut = bits if self.lanes == 32 else ir.convert("trunc", bits, f"i{self.lanes}")
        type_ = vector(self.lanes, "i1")
        return ir.emit(f"bitcast {cut.type} {cut.text} to {type_}", type_)

    # Access

    def _access(self, ir: Builder, size: int, writing: bool) -> None:
        layout = Layout(self.lanes)
        near = ir.compare("ne", ir.load(ir.offset(_WINDOW, layout.near), "i32", 4), constant(0, "i32"))
        mask = ir.load(ir.offset(_WINDOW, layout.mask), "i32", 4)
        ir.branch(near, "near", "slow")
        ir.label("near")
        base = ir.offset(ir.load(ir.offset(_WINDOW, layout.base), "ptr", 8), Value("%offset", "i64"))
        if writing:
            every = (1 << self.lanes) - 1 if self.lanes < 32 else -1
            ir.branch(ir.compare("eq", mask, constant(every, "i32")), "every", "some")
            ir.label("every")
        if size <= 4:
            stride = ir.load(ir.offset(_WINDOW, layout.stride), "i32", 4)
            ir.branch(ir.compare("eq", stride, constant(size, "i32")), "run", "apart")
            ir.label("run")
            self._run(ir, base, size, writing)
            ir.label("apart")
            self._apart(ir, base, size, writing)
        else:
            self._words(ir, base, size // 4, writing)
        ir.effect("ret i1 false")
        if writing:
            ir.label("some")
            self._each(ir, mask, "near", lambda lane: self._move(ir, self._pointer(ir, base, lane), lane, size, True))
            ir.effect("ret i1 false")
        ir.label("slow")
        self._each(ir, mask, "far", lambda lane: self._far(ir, lane, size, writing))
        ir.effect("ret i1 false")

    def _pointer(self, ir: Builder, base: Value, lane: Value | int) -> Value:
        """Of a near lane."""
        place = (
            ir.offset(_WINDOW, 4 * lane) if isinstance(lane, int) else ir.offset(_WINDOW, self._wide(ir, lane), "i32")
        )
        return ir.offset(base, ir.convert("zext", ir.load(place, "i32", 4), "i64"))

    @staticmethod
    def _wide(ir: Builder, lane: Value) -> Value:
        return ir.convert("zext", lane, "i64")

    def _run(self, ir: Builder, base: Value, size: int, writing: bool) -> None:
        """All lanes' elements follow one another."""
        start, type_ = self._pointer(ir, base, 0), vector(self.lanes, f"i{8 * size}")
        source, target, sides = (_OUT, start, (64, 1)) if writing else (start, _OUT, (1, 64))
        ir.store(ir.load(source, type_, sides[0]), target, sides[1])
        ir.effect("ret i1 false")

    def _apart(self, ir: Builder, base: Value, size: int, writing: bool) -> None:
        """Elements of 1, 2 or 4 bytes, lane by lane."""
        element = f"i{8 * size}"
        for lane in range(self.lanes):
            pointer, own = self._pointer(ir, base, lane), ir.offset(_OUT, lane * size)
            source, target = (own, pointer) if writing else (pointer, own)
            ir.store(ir.load(source, element, 1), target, 1)

    def _words(self, ir: Builder, base: Value, count: int, writing: bool) -> None:
        """Several words of each lane, exchanged between those of four lanes."""
        own, group = vector(count, "i32"), vector(_GROUP, "i32")
        for first in range(0, self.lanes, _GROUP):
            pointers = [self._pointer(ir, base, first + lane) for lane in range(_GROUP)]
            places = [ir.offset(_OUT, 4 * (self.lanes * step + first)) for step in range(count)]
            if writing:
                rows = [ir.load(place, group, 16) for place in places]
                for lane, pointer in enumerate(pointers):
                    ir.store(_column(ir, rows, lane), pointer, 1)
            else:
                rows = [ir.load(pointer, own, 1) for pointer in pointers]
                for step, place in enumerate(places):
                    ir.store(_column(ir, rows, step), place, 16)

    def _each(self, ir: Builder, mask: Value, stem: str, visit: Callable[[Value], None]) -> None:
        """A loop over the lanes of a mask, in order."""
        left = ir.alloca("i32")
        head, body, done = (ir.name(f"{stem}_{what}") for what in ("head", "lane", "done"))
        ir.store(mask, left, 4)
        ir.jump(head)
        ir.label(head)
        rest = ir.load(left, "i32", 4)
        ir.branch(ir.compare("ne", rest, constant(0, "i32")), body, done)
        ir.label(body)
        lane = ir.call("llvm.cttz", "i32", (rest, Value("false", "i1")))
        ir.store(ir.binary("and", rest, ir.with_constant("add", rest, -1)), left, 4)
        visit(lane)
        ir.jump(head)
        ir.label(done)

    def _move(self, ir: Builder, pointer: Value, lane: Value, size: int, writing: bool) -> None:
        """One lane's element."""
        part = min(size, 4)
        for step in range(max(1, size // 4)):
            own = ir.offset(ir.offset(_OUT, 4 * self.lanes * step), self._wide(ir, lane), f"i{8 * part}")
            there = ir.offset(pointer, 4 * step)
            source, target = (own, there) if writing else (there, own)
            ir.store(ir.load(source, f"i{8 * part}", 1), target, 1)

    def _far(self, ir: Builder, lane: Value, size: int, writing: bool) -> None:
        """One lane's element, wherever it is."""
        layout = Layout(self.lanes)
        wide = self._wide(ir, lane)
        low, high = (
            ir.convert("zext", ir.load(ir.offset(ir.offset(_WINDOW, place), wide, "i32"), "i32", 4), "i64")
            for place in (layout.low, layout.high)
        )
        address = ir.binary("or", ir.with_constant("shl", high, 32), low)
        address = ir.binary("add", address, Value("%offset", "i64"))
        upper = ir.convert("trunc", ir.with_constant("lshr", address, 32), "i32")
        buffer = find_buffer(ir, self.buffers, upper, writing)
        offset = ir.with_constant("and", address, (1 << STRIDE_BITS) - 1)
        beyond = ir.compare("ugt", ir.with_constant("add", offset, size), buffer.size)
        caught, fine = ir.name("caught"), ir.name("fine")
        ir.branch(beyond, caught, fine, unlikely=True)
        ir.label(caught)
        kind = constant(READ_ONLY_FAULT if writing else GLOBAL_FAULT, "i32")
        for value, at in ((kind, 0), (Value("%pc", "i32"), 4), (lane, 8)):
            ir.store(value, ir.offset(_THREAD, FAULT_AT + at), 4)
        ir.store(address, ir.offset(_THREAD, ADDRESS_AT), 8)
        ir.store(constant(size, "i64"), ir.offset(_THREAD, BYTES_AT), 8)
        ir.effect("ret i1 true")
        ir.label(fine)
        self._move(ir, ir.offset(buffer.host, offset), lane, size, writing)


def _column(ir: Builder, rows: list[Value], number: int) -> Value:
    """Element `number` of each of two, three or four vectors, as one vector."""
    width = int(rows[0].type.removeprefix("<").split()[0])
    pairs = [ir.shuffle(rows[0], rows[1], (number, width + number))]
    if len(rows) == 2:
        return pairs[0]
    if len(rows) == 3:
        third = ir.shuffle(rows[2], None, (number, number))
        return ir.shuffle(pairs[0], third, (0, 1, 2))
    pairs.append(ir.shuffle(rows[2], rows[3], (number, width + number)))
    return ir.shuffle(pairs[0], pairs[1], (0, 1, 2, 3))

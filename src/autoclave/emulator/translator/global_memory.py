"""Global memory: loads and stores of buffers, by addresses of 64 bits, each given by both of its halves.

An address is looked up in the launch's table of buffers by its high bits. Where all lanes hold one address it is a scalar;
else, if all addresses lie in the buffer of the first lane, a gather or scatter of offsets in it, or a whole run. If not,
each lane's buffer is looked up on its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autoclave.emulator.ir import Builder, Value, constant, lanes_of, vector
from autoclave.emulator.translator.elements import (
    MemoryContext,
    each_lane,
    load_elements,
    load_part_of_word,
    load_words,
    store_elements,
)
from autoclave.emulator.translator.faults import first_lane, note_fault, refuse
from autoclave.emulator.translator.frame import (
    BUFFER_BYTES,
    BUFFERS_AT,
    GLOBAL_FAULT,
    READ_ONLY_FAULT,
)
from autoclave.emulator.translator.lane_context import LaneContext, alike, are_consecutive

STRIDE_BITS = 36
"""Bits of an address that are an offset in its buffer; those above name the buffer."""
_WORD = 4
_LAUNCH = Value("%launch", "ptr")
NEAR = (1 << 31) - 8
"""The largest offset that is taken for near; a signed number of 32 bits has room for a word's alignment, too."""


@dataclass(frozen=True, slots=True)
class BufferEntry:
    """An entry of the launch's table: `size` is what may be accessed; 0 if there is no such entry."""

    host: Value
    size: Value


def load_global(
    lanes: LaneContext, context: MemoryContext, low: Value, high: Value, size: int, count: int
) -> list[Value]:
    """`count` elements of `size` bytes that follow one another, as integers of so many bits: scalars if the address is."""
    low, high = context.spread(lanes, low, high)
    if _is_uniform(low, high):
        return load_elements(lanes, _uniform_pointer(lanes, context, low, high, size * count, False), size, count, None)
    return _gathered(lanes, context, low, high, size, count)


def load_uniform(
    lanes: LaneContext, context: MemoryContext, low: Value, high: Value, size: int, count: int
) -> list[Value]:
    """As `load_global` of a scalar address, which is looked at even if no lane takes part."""
    return load_elements(lanes, _uniform_pointer(lanes, context, low, high, size * count, False), size, count, None)


def load_uniform_block(lanes: LaneContext, context: MemoryContext, low: Value, high: Value, count: int) -> list[Value]:
    """As `load_uniform` of `count` words, a power of two. What an aligned block has behind its buffer's end reads 0."""
    ir, total = lanes.ir, _WORD * count
    buffer = find_buffer(ir, context.buffers, high, False)
    address = joined_address(lanes, low, high)
    offset = ir.with_constant("and", address, (1 << STRIDE_BITS) - 1)
    whole, cut, done = ir.name("whole"), ir.name("cut"), ir.name("loaded")
    beyond = ir.compare("ugt", ir.with_constant("add", offset, total), buffer.size)
    paths: list[tuple[list[Value], str]] = []
    ir.branch(beyond, cut, whole, unlikely=True)
    ir.label(whole)
    with lanes.aside():
        paths.append((load_elements(lanes, ir.offset(buffer.host, offset), _WORD, count, None), ir.block))
        ir.jump(done)
    ir.label(cut)
    with lanes.aside():
        outside = ir.compare("ugt", ir.with_constant("add", offset, _WORD), buffer.size)
        across = ir.compare("ne", ir.with_constant("and", offset, total - 1), constant(0, "i64"))
        refuse(lanes, context.exits, ir.binary("or", outside, across), address, GLOBAL_FAULT, total)
        paths.append(([_cut_word(ir, buffer, offset, _WORD * word) for word in range(count)], ir.block))
        ir.jump(done)
    ir.label(done)
    return [ir.phi([(loaded[word], block) for loaded, block in paths]) for word in range(count)]


def _cut_word(ir: Builder, buffer: BufferEntry, offset: Value, behind: int) -> Value:
    """The word so many bytes behind `offset`: of a buffer that has a word at least, with zeros for what is not in it."""
    start = ir.with_constant("add", offset, behind)
    at = ir.call("llvm.umin", "i64", (start, ir.with_constant("add", buffer.size, -_WORD)))
    missing = ir.with_constant("mul", ir.binary("sub", start, at), 8)
    word = ir.convert("zext", ir.load(ir.offset(buffer.host, at), "i32", 1), "i64")
    kept = ir.binary("lshr", word, ir.call("llvm.umin", "i64", (missing, constant(63, "i64"))))
    return ir.convert("trunc", kept, "i32")


def store_global(
    lanes: LaneContext, context: MemoryContext, low: Value, high: Value, size: int, values: Sequence[Value]
) -> None:
    """Store `values`, integers of `size` bytes, one behind the other."""
    low, high = context.spread(lanes, low, high)
    if _is_uniform(low, high):
        pointer = _uniform_pointer(lanes, context, low, high, size * len(values), True)
        store_elements(lanes, pointer, size, values, lanes.all_lanes())
    else:
        _scattered(lanes, context, low, high, size, values)


def global_pointers(
    lanes: LaneContext, context: MemoryContext, low: Value, high: Value, total: int, writing: bool
) -> Value:
    """Where each lane's address of `total` bytes lies on the host, for atomics."""
    low, high = context.spread(lanes, low, high)
    if _is_uniform(low, high):
        return lanes.vector(_uniform_pointer(lanes, context, low, high, total, writing))
    return _far_pointers(lanes, context, lanes.vector(low), lanes.vector(high), total, writing)


def address_sum(lanes: LaneContext, low: Value, high: Value, offset: int) -> tuple[Value, Value]:
    """An address and a signed offset that is known."""
    ir = lanes.ir
    total = ir.with_constant("add", low, offset)
    carry = ir.convert("zext", ir.compare("ult", total, low), "i32")
    high, carry = alike(lanes, high, carry)
    high = ir.binary("add", high, carry)
    return total, ir.with_constant("add", high, -1) if offset < 0 else high


def joined_address(lanes: LaneContext, low: Value, high: Value) -> Value:
    """Both halves of an address as one integer."""
    wide = lanes.ir.with_constant("shl", lanes.ir.convert("zext", high, "i64"), 32)
    return lanes.ir.binary("or", wide, lanes.ir.convert("zext", low, "i64"))


def address_halves(lanes: LaneContext, address: Value) -> tuple[Value, Value]:
    """Inverse of `joined_address`."""
    ir = lanes.ir
    return ir.convert("trunc", address, "i32"), ir.convert("trunc", ir.with_constant("lshr", address, 32), "i32")


def _is_uniform(low: Value, high: Value) -> bool:
    return lanes_of(low.type) is None and lanes_of(high.type) is None


def find_buffer(ir: Builder, buffers: int, high: Value, writing: bool) -> BufferEntry:
    """The buffer, of so many of the launch, that an address with these high bits points into."""
    slot = ir.with_constant("sub", ir.with_constant("lshr", high, STRIDE_BITS - 32), 1)
    known = ir.compare("ult", slot, constant(buffers, "i32"))
    index = ir.select(known, slot, constant(0, "i32"))
    entry = ir.offset(
        _LAUNCH,
        ir.with_constant("add", ir.with_constant("mul", ir.convert("zext", index, "i64"), BUFFER_BYTES), BUFFERS_AT),
    )
    host = ir.load(entry, "ptr", 8, invariant=True)
    size = ir.load(ir.offset(entry, 16 if writing else 8), "i64", 8, invariant=True)
    return BufferEntry(host, ir.select(known, size, constant(0, "i64")))


def _uniform_pointer(
    lanes: LaneContext, context: MemoryContext, low: Value, high: Value, total: int, writing: bool
) -> Value:
    """Where one address lies on the host."""
    ir = lanes.ir
    buffer = find_buffer(lanes.ir, context.buffers, high, writing)
    address = joined_address(lanes, low, high)
    offset = ir.with_constant("and", address, (1 << STRIDE_BITS) - 1)
    beyond = ir.compare("ugt", ir.with_constant("add", offset, total), buffer.size)
    refuse(lanes, context.exits, beyond, address, READ_ONLY_FAULT if writing else GLOBAL_FAULT, total)
    return ir.offset(buffer.host, offset)


def _gathered(
    lanes: LaneContext, context: MemoryContext, low: Value, high: Value, size: int, count: int
) -> list[Value]:
    ir, total = lanes.ir, size * count
    paths: list[tuple[list[Value], str]] = []
    small, done = count == 1 and size in (1, 2), ir.name("loaded")

    def near(base: Value, offsets: Value) -> None:
        mask = lanes.all_lanes()
        if count == 1:
            run, apart = ir.name("run"), ir.name("apart")
            ir.branch(are_consecutive(lanes, offsets, total), run, apart)
            ir.label(run)
            start = ir.offset(base, ir.convert("zext", ir.element(offsets, 0), "i64"))
            paths.append(([ir.load(start, vector(lanes.lanes, f"i{8 * total}"), 1)], ir.block))
            ir.jump(done)
            ir.label(apart)
        if small:
            loaded = load_part_of_word(lanes, base, offsets, size, mask)
        else:
            loaded = load_words(lanes, ir.offset(base, offsets), size, count, mask)
        paths.append((loaded, ir.block))
        ir.jump(done)

    def far(pointers: Value) -> None:
        paths.append((load_words(lanes, pointers, size, count, lanes.all_lanes()), ir.block))
        ir.jump(done)

    _near_or_far(lanes, context, low, high, total, False, near, far, alignment=2 if total == 2 else 1)
    ir.label(done)
    return [ir.phi([(loaded[step], block) for loaded, block in paths]) for step in range(count)]


def _scattered(
    lanes: LaneContext, context: MemoryContext, low: Value, high: Value, size: int, values: Sequence[Value]
) -> None:
    ir, done, total = lanes.ir, lanes.ir.name("stored"), size * len(values)

    def far(pointers: Value) -> None:
        store_elements(lanes, pointers, size, values, lanes.all_lanes())
        ir.jump(done)

    def near(base: Value, offsets: Value) -> None:
        if len(values) == 1:
            run, apart = ir.name("run"), ir.name("apart")
            ir.branch(are_consecutive(lanes, offsets, total), run, apart)
            ir.label(run)
            start = ir.offset(base, ir.convert("zext", ir.element(offsets, 0), "i64"))
            with lanes.aside():
                ir.store(lanes.vector(values[0]), start, 1)
            ir.jump(done)
            ir.label(apart)
        far(ir.offset(base, offsets))

    _near_or_far(lanes, context, low, high, total, True, near, far)
    ir.label(done)


def _near_or_far(
    lanes: LaneContext,
    context: MemoryContext,
    low: Value,
    high: Value,
    total: int,
    writing: bool,
    near_move: Callable[[Value, Value], None],
    far_move: Callable[[Value], None],
    alignment: int = 1,
) -> None:
    """Move at the host's pointers: addresses in one buffer, below 2 GiB of it, by base and offsets; all others one by one.

    alignment: what near addresses are a multiple of on the host. Both moves end their block themselves.
    """
    ir = lanes.ir
    low, high = lanes.vector(low), lanes.vector(high)
    lane = first_lane(lanes, lanes.all_lanes()) if lanes.mask is not None else constant(0, "i32")
    first = ir.element(high, lane)
    buffer = find_buffer(lanes.ir, context.buffers, first, writing)
    base = ir.with_constant("and", first, -1 << (STRIDE_BITS - 32))
    room = ir.with_constant("sub", buffer.size, total)
    limit = ir.call("llvm.smin", "i64", (room, constant(NEAR, "i64")))
    fits = ir.compare("sge", limit, constant(0, "i64"))
    limit = ir.convert("trunc", limit, "i32")
    near = ir.binary(
        "and",
        ir.compare("eq", high, lanes.vector(base)),
        ir.binary("and", ir.compare("ule", low, lanes.vector(limit)), lanes.vector(fits)),
    )
    if alignment > 1:
        host = ir.convert("trunc", ir.emit(f"ptrtoint ptr {buffer.host.text} to i64", "i64"), "i32")
        odd = ir.with_constant("and", ir.binary("add", low, lanes.vector(host)), alignment - 1)
        near = ir.binary("and", near, ir.compare("eq", odd, constant(0, odd.type)))
    far = ir.invert(near) if lanes.mask is None else ir.binary("and", ir.invert(near), lanes.mask)
    labels = [ir.name(stem) for stem in ("far", "near")]
    ir.branch(ir.any(far), labels[0], labels[1], unlikely=True)
    ir.label(labels[1])
    with lanes.aside():
        near_move(buffer.host, low)
    ir.label(labels[0])
    with lanes.aside():
        far_move(_far_pointers(lanes, context, low, high, total, writing))


def _far_pointers(
    lanes: LaneContext, context: MemoryContext, low: Value, high: Value, total: int, writing: bool
) -> Value:
    """The host's pointers of addresses in any buffers, looked up lane by lane in a loop."""
    ir = lanes.ir
    found = ir.alloca(vector(lanes.lanes, "ptr"))
    ir.store(constant(0, vector(lanes.lanes, "i64")), found, 64)

    def look_up(lane: Value) -> None:
        one_low, one_high = ir.element(low, lane), ir.element(high, lane)
        buffer = find_buffer(lanes.ir, context.buffers, one_high, writing)
        address = joined_address(lanes, one_low, one_high)
        offset = ir.with_constant("and", address, (1 << STRIDE_BITS) - 1)
        beyond = ir.compare("ugt", ir.with_constant("add", offset, total), buffer.size)
        caught, fine = ir.name("caught"), ir.name("fine")
        ir.branch(beyond, caught, fine, unlikely=True)
        ir.label(caught)
        note_fault(lanes, context.exits, READ_ONLY_FAULT if writing else GLOBAL_FAULT, lane, address, total)
        ir.label(fine)
        pointer = ir.offset(buffer.host, offset)
        ir.store(pointer, ir.offset(found, ir.convert("zext", lane, "i64"), "ptr"), 8)

    each_lane(lanes, look_up)
    return ir.load(found, vector(lanes.lanes, "ptr"), 64)

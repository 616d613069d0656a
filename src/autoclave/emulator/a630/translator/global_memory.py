"""Global memory: loads and stores of buffers, by addresses of 64 bits.

An address is looked up in the launch's table of buffers by its high bits. Where all lanes hold one address it is a scalar;
else, if all addresses lie in the buffer of the first lane, a gather or scatter of offsets in it, or a whole run. If not,
each lane's buffer is looked up on its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

from autoclave.emulator.a630.instruction import Register
from autoclave.emulator.a630.translator.elements import (
    MemoryContext,
    cut,
    each_lane,
    element_bytes,
    extended,
    load_elements,
    load_part_of_word,
    load_words,
    registers_of,
    store_elements,
)
from autoclave.emulator.a630.translator.faults import first_lane, note_fault, refuse
from autoclave.emulator.a630.translator.frame import (
    BUFFER_BYTES,
    BUFFERS_AT,
    GLOBAL_FAULT,
    READ_ONLY_FAULT,
)
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.operations import Operation, plus
from autoclave.emulator.ir import Value, constant, lanes_of, vector

_STRIDE_BITS = 36
_LAUNCH = Value("%launch", "ptr")
_NEAR = (1 << 31) - 8
"""The largest offset that is taken for near; a signed number of 32 bits has room for a word's alignment, too."""


@dataclass(frozen=True, slots=True)
class _Buffer:
    """An entry of the launch's table: `size` is what may be accessed; 0 if there is no such entry."""

    host: Value
    size: Value


def access_global(lanes: Lanes, context: MemoryContext, operation: Operation) -> None:
    low, high = global_address(lanes, operation)
    total = element_bytes(operation) * operation.instruction.count
    if operation.destinations:
        _global_load(lanes, context, operation, low, high, total)
    else:
        values = [lanes.bits(lanes.read(register)) for register in registers_of(operation)]
        _global_store(lanes, context, operation, low, high, total, values)


def global_address(lanes: Lanes, operation: Operation) -> tuple[Value, Value]:
    """Both halves of the address: two registers and an offset (ldg.a, stg.a: see `Instruction.shift`)."""
    ir, instruction = lanes.ir, operation.instruction
    base = operation.sources[0].operand
    assert isinstance(base, Register)
    low, high = lanes.bits(lanes.read(base)), lanes.bits(lanes.read(plus(base, 1)))
    if not instruction.name.endswith(".a"):
        return _sum(lanes, low, high, constant(instruction.offset, "i32")) if instruction.offset else (low, high)
    index = lanes.bits(lanes.operand(operation.sources[1].operand))
    distance = ir.convert("zext", index, "i64")
    distance = ir.with_constant("shl", distance, instruction.shift)
    distance = ir.with_constant("mul", ir.with_constant("add", distance, instruction.offset), element_bytes(operation))
    wide = ir.binary("add", *lanes.alike(_joined(lanes, *lanes.alike(low, high)), distance))
    return ir.convert("trunc", wide, "i32"), ir.convert("trunc", ir.with_constant("lshr", wide, 32), "i32")


def _joined(lanes: Lanes, low: Value, high: Value) -> Value:
    wide = lanes.ir.with_constant("shl", lanes.ir.convert("zext", high, "i64"), 32)
    return lanes.ir.binary("or", wide, lanes.ir.convert("zext", low, "i64"))


def _sum(lanes: Lanes, low: Value, high: Value, offset: Value) -> tuple[Value, Value]:
    """An address and a signed offset that is known."""
    ir = lanes.ir
    total = ir.with_constant("add", low, int(offset.text))
    carry = ir.convert("zext", ir.compare("ult", total, low), "i32")
    high, carry = lanes.alike(high, carry)
    high = ir.binary("add", high, carry)
    return total, ir.with_constant("add", high, -1) if int(offset.text) < 0 else high


def _find_buffer(lanes: Lanes, context: MemoryContext, high: Value, writing: bool) -> _Buffer:
    """The buffer that an address with these high bits points into."""
    ir = lanes.ir
    slot = ir.with_constant("sub", ir.with_constant("lshr", high, _STRIDE_BITS - 32), 1)
    known = ir.compare("ult", slot, constant(context.buffers, "i32"))
    index = ir.select(known, slot, constant(0, "i32"))
    entry = ir.offset(
        _LAUNCH,
        ir.with_constant("add", ir.with_constant("mul", ir.convert("zext", index, "i64"), BUFFER_BYTES), BUFFERS_AT),
    )
    host = ir.load(entry, "ptr", 8, invariant=True)
    size = ir.load(ir.offset(entry, 16 if writing else 8), "i64", 8, invariant=True)
    return _Buffer(host, ir.select(known, size, constant(0, "i64")))


def _uniform_pointer(lanes: Lanes, context: MemoryContext, low: Value, high: Value, total: int, writing: bool) -> Value:
    """Where one address lies on the host."""
    ir = lanes.ir
    buffer = _find_buffer(lanes, context, high, writing)
    address = _joined(lanes, low, high)
    offset = ir.with_constant("and", address, (1 << _STRIDE_BITS) - 1)
    beyond = ir.compare("ugt", ir.with_constant("add", offset, total), buffer.size)
    refuse(lanes, context.exits, beyond, address, READ_ONLY_FAULT if writing else GLOBAL_FAULT, total)
    return ir.offset(buffer.host, offset)


def _global_load(
    lanes: Lanes, context: MemoryContext, operation: Operation, low: Value, high: Value, total: int
) -> None:
    if lanes_of(low.type) is None and lanes_of(high.type) is None:
        loaded = load_elements(lanes, operation, _uniform_pointer(lanes, context, low, high, total, False), None)
    else:
        loaded = _gathered(lanes, context, operation, low, high, total)
    for register, value in zip(registers_of(operation), loaded, strict=True):
        lanes.write(register, extended(lanes, operation, value, register))


def _gathered(
    lanes: Lanes, context: MemoryContext, operation: Operation, low: Value, high: Value, total: int
) -> list[Value]:
    ir = lanes.ir
    paths: list[tuple[list[Value], str]] = []
    small, done = operation.instruction.count == 1 and total in (1, 2), ir.name("loaded")

    def near(base: Value, offsets: Value) -> None:
        mask = lanes.all_lanes()
        if operation.instruction.count == 1:
            run, apart = ir.name("run"), ir.name("apart")
            ir.branch(lanes.are_consecutive(offsets, total), run, apart)
            ir.label(run)
            start = ir.offset(base, ir.convert("zext", ir.element(offsets, 0), "i64"))
            paths.append(([ir.load(start, vector(lanes.lanes, f"i{8 * total}"), 1)], ir.block))
            ir.jump(done)
            ir.label(apart)
        if small:
            loaded = load_part_of_word(lanes, operation, base, offsets, mask)
        else:
            loaded = load_words(lanes, operation, ir.offset(base, offsets), mask)
        paths.append((loaded, ir.block))
        ir.jump(done)

    def far(pointers: Value) -> None:
        paths.append((load_words(lanes, operation, pointers, lanes.all_lanes()), ir.block))
        ir.jump(done)

    _near_or_far(lanes, context, low, high, total, False, near, far, alignment=2 if total == 2 else 1)
    ir.label(done)
    return [ir.phi([(loaded[step], block) for loaded, block in paths]) for step in range(operation.instruction.count)]


def _global_store(
    lanes: Lanes,
    context: MemoryContext,
    operation: Operation,
    low: Value,
    high: Value,
    total: int,
    values: list[Value],
) -> None:
    if lanes_of(low.type) is None and lanes_of(high.type) is None:
        pointer = _uniform_pointer(lanes, context, low, high, total, True)
        store_elements(lanes, operation, values, pointer, lanes.all_lanes())
    else:
        ir, done = lanes.ir, lanes.ir.name("stored")

        def far(pointers: Value) -> None:
            store_elements(lanes, operation, values, pointers, lanes.all_lanes())
            ir.jump(done)

        def near(base: Value, offsets: Value) -> None:
            if operation.instruction.count == 1:
                run, apart = ir.name("run"), ir.name("apart")
                ir.branch(lanes.are_consecutive(offsets, total), run, apart)
                ir.label(run)
                start = ir.offset(base, ir.convert("zext", ir.element(offsets, 0), "i64"))
                with lanes.aside():
                    ir.store(lanes.vector(cut(lanes, values[0], total)), start, 1)
                ir.jump(done)
                ir.label(apart)
            far(ir.offset(base, offsets))

        _near_or_far(lanes, context, low, high, total, True, near, far)
        ir.label(done)


def _near_or_far(
    lanes: Lanes,
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
    buffer = _find_buffer(lanes, context, first, writing)
    base = ir.with_constant("and", first, -1 << (_STRIDE_BITS - 32))
    room = ir.with_constant("sub", buffer.size, total)
    limit = ir.call("llvm.smin", "i64", (room, constant(_NEAR, "i64")))
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


def _far_pointers(lanes: Lanes, context: MemoryContext, low: Value, high: Value, total: int, writing: bool) -> Value:
    """The host's pointers of addresses in any buffers, looked up lane by lane in a loop."""
    ir = lanes.ir
    found = ir.alloca(vector(lanes.lanes, "ptr"))
    ir.store(constant(0, vector(lanes.lanes, "i64")), found, 64)

    def look_up(lane: Value) -> None:
        one_low, one_high = ir.element(low, lane), ir.element(high, lane)
        buffer = _find_buffer(lanes, context, one_high, writing)
        address = _joined(lanes, one_low, one_high)
        offset = ir.with_constant("and", address, (1 << _STRIDE_BITS) - 1)
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


def global_pointers(lanes: Lanes, context: MemoryContext, low: Value, high: Value, total: int, writing: bool) -> Value:
    """Where each lane's address lies on the host."""
    if lanes_of(low.type) is None and lanes_of(high.type) is None:
        return lanes.vector(_uniform_pointer(lanes, context, low, high, total, writing))
    return _far_pointers(lanes, context, lanes.vector(low), lanes.vector(high), total, writing)

"""Category 6: loads and stores of global, shared and private memory. Every access is checked.

A global address is looked up in the launch's table of buffers by its high bits. Where all lanes hold one address it is a
scalar; else, if all addresses lie in the buffer of the first lane, a gather or scatter of offsets in it. If not, each lane's
buffer is looked up on its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autoclave.emulator.a630.instruction import Instruction, Register, Type
from autoclave.emulator.a630.translator.content import Content
from autoclave.emulator.a630.translator.faults import Exits, first_lane, note_fault, refuse
from autoclave.emulator.a630.translator.frame import (
    BUFFER_BYTES,
    BUFFERS_AT,
    GLOBAL_FAULT,
    READ_ONLY_FAULT,
    SHARED_FAULT,
)
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.operations import Operation, plus
from autoclave.emulator.ir import Value, constant, lanes_of, like, numbers, vector

ELEMENT_BYTES: dict[Type, int] = {"f16": 2, "u16": 2, "s16": 2, "f32": 4, "u32": 4, "s32": 4, "u8": 1, "u8_32": 1}
_STRIDE_BITS = 36
_LAUNCH = Value("%launch", "ptr")
_NEAR = (1 << 31) - 8
"""The largest offset that is taken for near; a signed number of 32 bits has room for a word's alignment, too."""


@dataclass(slots=True)
class MemoryContext:
    """What memory access needs of the kernel. private: where this vector's private memory begins."""

    exits: Exits
    buffers: int
    shared_bytes: int
    private_bytes: int
    shared: Value
    private: Value


def unknown_memory(instruction: Instruction) -> str | None:
    """Why there is no rule for a load or store; None if there is one."""
    if instruction.type not in ELEMENT_BYTES:
        return f"of type {instruction.type}"
    if instruction.count < 1:
        return "of no elements"
    if instruction.name.startswith("st") and not isinstance(instruction.sources[-1].operand, Register):
        return "of something that is no register"
    return unknown_address(instruction)


def unknown_address(instruction: Instruction) -> str | None:
    """Why a global address has no rule; None if it has one, or is none."""
    if instruction.name.startswith(("ldg", "stg", "atomic.g")) and not isinstance(
        instruction.sources[0].operand, Register
    ):
        return "at an address that is no register"
    return None


def access_memory(lanes: Lanes, context: MemoryContext, operation: Operation) -> None:
    """Carry out a load or store."""
    if operation.instruction.count == 0:
        return
    space = operation.name.removesuffix(".a")[2]
    {"g": _global, "l": _shared, "p": _private}[space](lanes, context, operation)


def _elements(operation: Operation) -> tuple[Register, ...]:
    """The registers that are loaded or stored."""
    if operation.destinations:
        first = operation.destinations[0]
    else:
        operand = operation.sources[-1].operand
        assert isinstance(operand, Register)
        first = operand
    return tuple(plus(first, step) for step in range(operation.instruction.count))


def _size(operation: Operation) -> int:
    assert operation.instruction.type is not None
    return ELEMENT_BYTES[operation.instruction.type]


def _extended(lanes: Lanes, operation: Operation, loaded: Value, register: Register) -> Content:
    """A loaded element as a register holds it: bytes of u8_32 are signed, others zero-extended."""
    extension = "sext" if operation.instruction.type == "u8_32" else "zext"
    element = "i16" if register.half else "i32"
    if loaded.type.removesuffix(">").endswith("i32") and register.half:
        return Content(half=True, bits=lanes.ir.convert("trunc", loaded, "i16"), opaque=True)
    return Content(half=register.half, bits=lanes.ir.convert(extension, loaded, element), opaque=True)


def _cut(lanes: Lanes, value: Value, size: int) -> Value:
    """The low bytes of what is stored."""
    narrow = "i16" in value.type
    if size == 4:
        return lanes.ir.convert("zext", value, "i32")
    return value if narrow and size == 2 else lanes.ir.convert("trunc", value, f"i{8 * size}")


# Elements at pointers


def load_elements(lanes: Lanes, operation: Operation, pointer: Value, mask: Value | None) -> list[Value]:
    """All elements of a load. `pointer` is a scalar, or a vector whose lanes of `mask` are loaded from."""
    size = _size(operation)
    loaded = []
    for step in range(operation.instruction.count):
        place = lanes.ir.offset(pointer, constant(step * size, like(pointer.type, "i64"))) if step else pointer
        if mask is None:
            loaded.append(lanes.ir.load(place, f"i{8 * size}", 1))
        else:
            loaded.append(lanes.ir.gather(place, vector(lanes.lanes, f"i{8 * size}"), 1, mask))
    return loaded


def _load_words(lanes: Lanes, operation: Operation, pointers: Value, mask: Value) -> list[Value]:
    """As `load_elements`, by as few gathers of 32 or 64 bits as will do: the host has none of less."""
    ir, size, count = lanes.ir, _size(operation), operation.instruction.count
    word = 8 if size * count % 8 == 0 else 4
    if size * count % 4:
        return load_elements(lanes, operation, pointers, mask)
    loaded = []
    for start in range(0, size * count, word):
        place = ir.offset(pointers, constant(start, like(pointers.type, "i64"))) if start else pointers
        bits = ir.gather(place, vector(lanes.lanes, f"i{8 * word}"), 1, mask)
        for at in range(0, word, size):
            part = ir.with_constant("lshr", bits, 8 * at) if at else bits
            loaded.append(ir.convert("trunc", part, f"i{8 * size}"))
    return loaded


def _load_part_of_word(lanes: Lanes, operation: Operation, base: Value, low: Value, mask: Value) -> list[Value]:
    """One element of 8 or 16 bits at each offset from `base`, out of the aligned word of 32 bits that it lies in.

    An aligned word is in one page, so that the host may read it whole. The element must not lie across two.
    """
    ir, size = lanes.ir, _size(operation)
    host = ir.emit(f"ptrtoint ptr {base.text} to i64", "i64")
    lead = ir.with_constant("and", host, 3)
    aligned = ir.offset(base, ir.binary("sub", constant(0, "i64"), lead))
    offset = ir.binary("add", low, lanes.vector(ir.convert("trunc", lead, "i32")))
    words = ir.gather(ir.offset(aligned, ir.with_constant("and", offset, -4)), vector(lanes.lanes, "i32"), 4, mask)
    shift = ir.with_constant("shl", ir.with_constant("and", offset, 3), 3)
    return [ir.convert("trunc", ir.binary("lshr", words, shift), f"i{8 * size}")]


def store_elements(lanes: Lanes, operation: Operation, values: Sequence[Value], pointer: Value, mask: Value) -> None:
    """All elements of a store, lane by lane in order."""
    size = _size(operation)
    for step, value in enumerate(values):
        place = lanes.ir.offset(pointer, constant(step * size, like(pointer.type, "i64"))) if step else pointer
        lanes.ir.scatter(lanes.vector(_cut(lanes, value, size)), lanes.vector(place), 1, mask)


# Global memory


@dataclass(frozen=True, slots=True)
class _Buffer:
    """An entry of the launch's table: `size` is what may be accessed; 0 if there is no such entry."""

    host: Value
    size: Value


def _global(lanes: Lanes, context: MemoryContext, operation: Operation) -> None:
    low, high = global_address(lanes, operation)
    total = _size(operation) * operation.instruction.count
    if operation.destinations:
        _global_load(lanes, context, operation, low, high, total)
    else:
        values = [lanes.bits(lanes.read(register)) for register in _elements(operation)]
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
    distance = ir.with_constant("mul", ir.with_constant("add", distance, instruction.offset), _size(operation))
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
    for register, value in zip(_elements(operation), loaded, strict=True):
        lanes.write(register, _extended(lanes, operation, value, register))


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
            loaded = _load_part_of_word(lanes, operation, base, offsets, mask)
        else:
            loaded = _load_words(lanes, operation, ir.offset(base, offsets), mask)
        paths.append((loaded, ir.block))
        ir.jump(done)

    def far(pointers: Value) -> None:
        paths.append((_load_words(lanes, operation, pointers, lanes.all_lanes()), ir.block))
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
                    ir.store(lanes.vector(_cut(lanes, values[0], total)), start, 1)
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


def each_lane(lanes: Lanes, visit: Callable[[Value], None]) -> None:
    """A loop over the lanes that take part, in order; `visit` gets the lane's number."""
    ir = lanes.ir
    head, body, chosen, after, done = (ir.name(stem) for stem in ("lane", "lanebody", "look", "lanenext", "lanesdone"))
    counter = ir.alloca("i32")
    ir.store(constant(0, "i32"), counter, 4)
    ir.jump(head)
    ir.label(head)
    lane = ir.load(counter, "i32", 4)
    ir.branch(ir.compare("ult", lane, constant(lanes.lanes, "i32")), body, done)
    ir.label(body)
    ir.branch(ir.element(lanes.all_lanes(), lane), chosen, after)
    ir.label(chosen)
    with lanes.aside():
        visit(lane)
    ir.jump(after)
    ir.label(after)
    ir.store(ir.with_constant("add", lane, 1), counter, 4)
    ir.jump(head)
    ir.label(done)


# Shared and private memory


def local_offset(lanes: Lanes, operation: Operation) -> Value:
    """The byte that ldl, stl, ldp or stp begins at, modulo 2^32."""
    base = lanes.bits(lanes.operand(operation.sources[0].operand))
    base = lanes.ir.convert("zext", base, "i32")
    return lanes.ir.with_constant("add", base, operation.instruction.offset) if operation.instruction.offset else base


def shared_pointer(lanes: Lanes, context: MemoryContext, offset: Value, total: int) -> Value:
    """Where an offset in shared memory lies on the host; leaves the kernel if it does not lie in it."""
    ir = lanes.ir
    if context.shared_bytes < total:
        beyond = constant(1, like(offset.type, "i1"))
    else:
        beyond = ir.compare("ugt", offset, constant(context.shared_bytes - total, offset.type))
    if lanes_of(beyond.type) is not None and lanes.mask is not None:
        beyond = ir.binary("and", beyond, lanes.mask)
    refuse(lanes, context.exits, beyond, offset, SHARED_FAULT, total)
    return ir.offset(context.shared, offset if lanes_of(offset.type) else ir.convert("zext", offset, "i64"))


def _shared(lanes: Lanes, context: MemoryContext, operation: Operation) -> None:
    total = _size(operation) * operation.instruction.count
    pointer = shared_pointer(lanes, context, local_offset(lanes, operation), total)
    if not operation.destinations:
        values = [lanes.bits(lanes.read(register)) for register in _elements(operation)]
        store_elements(lanes, operation, values, pointer, lanes.all_lanes())
        return
    uniform = lanes_of(pointer.type) is None
    loaded = load_elements(lanes, operation, pointer, None if uniform else lanes.all_lanes())
    for register, value in zip(_elements(operation), loaded, strict=True):
        lanes.write(register, _extended(lanes, operation, value, register))


def _private(lanes: Lanes, context: MemoryContext, operation: Operation) -> None:
    """An element that is not wholly within the thread's memory reads 0; a store to it is dropped."""
    ir, size = lanes.ir, _size(operation)
    offset = lanes.vector(local_offset(lanes, operation))
    own = numbers((lane * context.private_bytes for lane in range(lanes.lanes)), "i32")
    for step, register in enumerate(_elements(operation)):
        at = ir.with_constant("add", offset, step * size) if step else offset
        within = (
            ir.compare("ule", at, constant(context.private_bytes - size, at.type))
            if context.private_bytes >= size
            else constant(0, like(at.type, "i1"))
        )
        mask = within if lanes.mask is None else ir.binary("and", within, lanes.mask)
        pointers = ir.offset(context.private, ir.binary("add", at, own))
        if operation.destinations:
            loaded = ir.gather(pointers, vector(lanes.lanes, f"i{8 * size}"), 1, mask)
            lanes.write(register, _extended(lanes, operation, loaded, register))
        else:
            value = lanes.vector(_cut(lanes, lanes.bits(lanes.read(register)), size))
            ir.scatter(value, pointers, 1, mask)

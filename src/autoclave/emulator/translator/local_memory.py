"""Shared memory of a workgroup and private memory of a thread, by offsets of 32 bits."""

from collections.abc import Sequence

from autoclave.emulator.ir import Value, constant, lanes_of, like, numbers
from autoclave.emulator.translator.elements import MemoryContext, load_elements, store_elements
from autoclave.emulator.translator.faults import refuse
from autoclave.emulator.translator.frame import PRIVATE_FAULT, SHARED_FAULT
from autoclave.emulator.translator.lane_context import LaneContext


def load_shared(lanes: LaneContext, context: MemoryContext, offset: Value, size: int, count: int) -> list[Value]:
    """`count` elements of `size` bytes that follow one another, as integers: scalars if the offset is."""
    pointer = shared_pointer(lanes, context, offset, size * count)
    uniform = lanes_of(pointer.type) is None
    return load_elements(lanes, pointer, size, count, None if uniform else lanes.all_lanes())


def store_shared(lanes: LaneContext, context: MemoryContext, offset: Value, size: int, values: Sequence[Value]) -> None:
    """Store `values`, integers of `size` bytes, one behind the other."""
    pointer = shared_pointer(lanes, context, offset, size * len(values))
    store_elements(lanes, pointer, size, values, lanes.all_lanes())


def shared_pointer(lanes: LaneContext, context: MemoryContext, offset: Value, total: int) -> Value:
    """Where an offset in shared memory lies on the host; leaves the kernel if it does not lie in it."""
    (offset,) = context.spread(lanes, offset)
    _check(lanes, context, offset, context.shared_bytes - total, SHARED_FAULT, total)
    ir = lanes.ir
    return ir.offset(context.shared, offset if lanes_of(offset.type) else ir.convert("zext", offset, "i64"))


def load_private(lanes: LaneContext, context: MemoryContext, offset: Value, size: int, count: int) -> list[Value]:
    """As `load_shared`, of each lane's own memory: always vectors."""
    pointers = private_pointers(lanes, context, offset, size * count)
    return load_elements(lanes, pointers, size, count, lanes.all_lanes())


def store_private(
    lanes: LaneContext, context: MemoryContext, offset: Value, size: int, values: Sequence[Value]
) -> None:
    """As `store_shared`, to each lane's own memory."""
    pointers = private_pointers(lanes, context, offset, size * len(values))
    store_elements(lanes, pointers, size, values, lanes.all_lanes())


def private_pointers(lanes: LaneContext, context: MemoryContext, offset: Value, total: int) -> Value:
    """Where an offset in each lane's private memory lies on the host; leaves the kernel if it does not lie in it."""
    offset = lanes.vector(offset)
    _check(lanes, context, offset, context.private_bytes - total, PRIVATE_FAULT, total)
    return pointers_to_private(lanes, context, offset)


def pointers_to_private(lanes: LaneContext, context: MemoryContext, offset: Value) -> Value:
    """As `private_pointers`, of an offset that has been checked in every lane that uses it."""
    own = numbers((lane * context.private_bytes for lane in range(lanes.lanes)), "i32")
    return lanes.ir.offset(context.private, lanes.ir.binary("add", lanes.vector(offset), own))


def _check(lanes: LaneContext, context: MemoryContext, offset: Value, highest: int, kind: int, total: int) -> None:
    """Leave the kernel if an offset is beyond `highest`, which may be negative."""
    ir = lanes.ir
    if highest < 0:
        beyond = constant(1, like(offset.type, "i1"))
    else:
        beyond = ir.compare("ugt", offset, constant(highest, offset.type))
    if lanes_of(beyond.type) is not None and lanes.mask is not None:
        beyond = ir.binary("and", beyond, lanes.mask)
    refuse(lanes, context.exits, beyond, offset, kind, total)

"""Shared memory of a workgroup and private memory of a thread."""

from autoclave.emulator.a630.translator.elements import (
    MemoryContext,
    cut,
    element_bytes,
    extended,
    load_elements,
    registers_of,
    store_elements,
)
from autoclave.emulator.a630.translator.faults import refuse
from autoclave.emulator.a630.translator.frame import SHARED_FAULT
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.operations import Operation
from autoclave.emulator.ir import Value, constant, lanes_of, like, numbers, vector


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


def access_shared(lanes: Lanes, context: MemoryContext, operation: Operation) -> None:
    total = element_bytes(operation) * operation.instruction.count
    pointer = shared_pointer(lanes, context, local_offset(lanes, operation), total)
    if not operation.destinations:
        values = [lanes.bits(lanes.read(register)) for register in registers_of(operation)]
        store_elements(lanes, operation, values, pointer, lanes.all_lanes())
        return
    uniform = lanes_of(pointer.type) is None
    loaded = load_elements(lanes, operation, pointer, None if uniform else lanes.all_lanes())
    for register, value in zip(registers_of(operation), loaded, strict=True):
        lanes.write(register, extended(lanes, operation, value, register))


def access_private(lanes: Lanes, context: MemoryContext, operation: Operation) -> None:
    """An element that is not wholly within the thread's memory reads 0; a store to it is dropped."""
    ir, size = lanes.ir, element_bytes(operation)
    offset = lanes.vector(local_offset(lanes, operation))
    own = numbers((lane * context.private_bytes for lane in range(lanes.lanes)), "i32")
    for step, register in enumerate(registers_of(operation)):
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
            lanes.write(register, extended(lanes, operation, loaded, register))
        else:
            value = lanes.vector(cut(lanes, lanes.bits(lanes.read(register)), size))
            ir.scatter(value, pointers, 1, mask)

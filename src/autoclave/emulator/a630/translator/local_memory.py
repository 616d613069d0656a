"""Shared memory of a workgroup (ldl, stl) and private memory of a thread (ldp, stp)."""

from autoclave.emulator.a630.translator.elements import (
    cut,
    element_bytes,
    extended,
    registers_of,
    stored_elements,
    write_elements,
)
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.operations import Operation
from autoclave.emulator.ir import Value, constant, like, vector
from autoclave.emulator.translator.elements import MemoryContext
from autoclave.emulator.translator.local_memory import load_shared, pointers_to_private, store_shared


def local_offset(lanes: Lanes, operation: Operation) -> Value:
    """The byte that ldl, stl, ldp or stp begins at, modulo 2^32."""
    base = lanes.bits(lanes.operand(operation.sources[0].operand))
    base = lanes.ir.convert("zext", base, "i32")
    return lanes.ir.with_constant("add", base, operation.instruction.offset) if operation.instruction.offset else base


def access_shared(lanes: Lanes, context: MemoryContext, operation: Operation) -> None:
    offset, size = local_offset(lanes, operation), element_bytes(operation)
    if operation.destinations:
        loaded = load_shared(lanes, context, offset, size, operation.instruction.count)
        write_elements(lanes, operation, loaded)
    else:
        store_shared(lanes, context, offset, size, stored_elements(lanes, operation))


def access_private(lanes: Lanes, context: MemoryContext, operation: Operation) -> None:
    """An element that is not wholly within the thread's memory reads 0; a store to it is dropped."""
    ir, size = lanes.ir, element_bytes(operation)
    offset = lanes.vector(local_offset(lanes, operation))
    for step, register in enumerate(registers_of(operation)):
        at = ir.with_constant("add", offset, step * size) if step else offset
        within = (
            ir.compare("ule", at, constant(context.private_bytes - size, at.type))
            if context.private_bytes >= size
            else constant(0, like(at.type, "i1"))
        )
        mask = within if lanes.mask is None else ir.binary("and", within, lanes.mask)
        pointers = pointers_to_private(lanes, context, at)
        if operation.destinations:
            loaded = ir.gather(pointers, vector(lanes.lanes, f"i{8 * size}"), 1, mask)
            lanes.write(register, extended(lanes, operation, loaded, register))
        else:
            value = lanes.vector(cut(lanes, lanes.bits(lanes.read(register)), size))
            ir.scatter(value, pointers, 1, mask)

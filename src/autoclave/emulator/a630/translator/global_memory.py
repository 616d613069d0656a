"""Global memory: ldg, stg, ldg.a, stg.a."""

from autoclave.emulator.a630.instruction import Register
from autoclave.emulator.a630.translator.elements import element_bytes, stored_elements, write_elements
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.operations import Operation, plus
from autoclave.emulator.ir import Value
from autoclave.emulator.translator.elements import MemoryContext
from autoclave.emulator.translator.global_memory import (
    address_halves,
    address_sum,
    joined_address,
    load_global,
    store_global,
)


def access_global(lanes: Lanes, context: MemoryContext, operation: Operation) -> None:
    low, high = global_address(lanes, operation)
    size = element_bytes(operation)
    if operation.destinations:
        loaded = load_global(lanes, context, low, high, size, operation.instruction.count)
        write_elements(lanes, operation, loaded)
    else:
        store_global(lanes, context, low, high, size, stored_elements(lanes, operation))


def global_address(lanes: Lanes, operation: Operation) -> tuple[Value, Value]:
    """Both halves of the address: two registers and an offset (ldg.a, stg.a: see `Instruction.shift`)."""
    ir, instruction = lanes.ir, operation.instruction
    base = operation.sources[0].operand
    assert isinstance(base, Register)
    low, high = lanes.bits(lanes.read(base)), lanes.bits(lanes.read(plus(base, 1)))
    if not instruction.name.endswith(".a"):
        return address_sum(lanes, low, high, instruction.offset) if instruction.offset else (low, high)
    index = lanes.bits(lanes.operand(operation.sources[1].operand))
    distance = ir.convert("zext", index, "i64")
    distance = ir.with_constant("shl", distance, instruction.shift)
    distance = ir.with_constant("mul", ir.with_constant("add", distance, instruction.offset), element_bytes(operation))
    wide = ir.binary("add", *lanes.alike(joined_address(lanes, *lanes.alike(low, high)), distance))
    return address_halves(lanes, wide)

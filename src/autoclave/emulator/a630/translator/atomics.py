"""Atomics on shared memory (atomic.add) and on buffers (atomic.g.add): lane after lane, in order.

A workgroup is run by one host thread, and a kernel with atomics on buffers by one host thread as a whole, so that results do
not depend on how many there are. The destination gets what was there before.
"""

from autoclave.emulator.a630.instruction import Instruction, Register
from autoclave.emulator.a630.translator.content import Content
from autoclave.emulator.a630.translator.elements import MemoryContext, each_lane, unknown_address
from autoclave.emulator.a630.translator.global_memory import global_address, global_pointers
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.local_memory import local_offset, shared_pointer
from autoclave.emulator.a630.translator.operations import Operation, plus
from autoclave.emulator.ir import Builder, Value, constant, vector

_SIZE = 4
_PLAIN = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor"}
_EXTREMES = {
    ("min", "u32"): "llvm.umin",
    ("max", "u32"): "llvm.umax",
    ("min", "s32"): "llvm.smin",
    ("max", "s32"): "llvm.smax",
}
_OPERATIONS = frozenset({*_PLAIN, "xchg", "cmpxchg", "min", "max"})

ATOMIC_NAMES = frozenset(f"atomic.{space}{name}" for space in ("", "g.") for name in _OPERATIONS)


def unknown_atomic(instruction: Instruction) -> str | None:
    """Why there is no rule for an atomic; None if there is one."""
    if instruction.type not in ("u32", "s32"):
        return f"of type {instruction.type}"
    if instruction.name.endswith("cmpxchg") and not isinstance(instruction.sources[-1].operand, Register):
        return "of something that is no register"
    return unknown_address(instruction)


def atomic(lanes: Lanes, context: MemoryContext, operation: Operation) -> None:
    """Carry out one atomic."""
    ir = lanes.ir
    data = operation.sources[-1].operand
    operands = [lanes.vector(lanes.ir.convert("zext", lanes.bits(lanes.operand(data)), "i32"))]
    name = operation.name.rpartition(".")[2]
    if name == "cmpxchg":
        assert isinstance(data, Register)
        operands.append(lanes.vector(lanes.bits(lanes.read(plus(data, 1)))))
    if operation.name.startswith("atomic.g"):
        pointers = global_pointers(lanes, context, *global_address(lanes, operation), _SIZE, writing=True)
    else:
        pointers = lanes.vector(shared_pointer(lanes, context, local_offset(lanes, operation), _SIZE))
    before = ir.alloca(vector(lanes.lanes, "i32"))
    ir.store(constant(0, vector(lanes.lanes, "i32")), before, 64)

    def update(lane: Value) -> None:
        place = ir.element(pointers, lane)
        old = ir.load(place, "i32", 1)
        new = _new_value(ir, name, operation.instruction.type or "", old, [ir.element(each, lane) for each in operands])
        ir.store(new, place, 1)
        ir.store(old, ir.offset(before, ir.convert("zext", lane, "i64"), "i32"), 4)

    each_lane(lanes, update)
    if operation.destinations:
        bits = ir.load(before, vector(lanes.lanes, "i32"), 64)
        lanes.write(operation.destinations[0], Content(bits=bits, opaque=True))


def _new_value(ir: Builder, name: str, kind: str, old: Value, operands: list[Value]) -> Value:
    if name == "xchg":
        return operands[0]
    if name == "cmpxchg":
        return ir.select(ir.compare("eq", old, operands[1]), operands[0], old)
    if name in _PLAIN:
        return ir.binary(_PLAIN[name], old, operands[0])
    return ir.call(_EXTREMES[name, kind], "i32", (old, operands[0]))

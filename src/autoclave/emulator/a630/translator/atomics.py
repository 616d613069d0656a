"""Atomics on shared memory (atomic.add) and on buffers (atomic.g.add). The destination gets what was there before."""

from autoclave.emulator.a630.instruction import Instruction, Register
from autoclave.emulator.a630.translator.content import Content
from autoclave.emulator.a630.translator.elements import unknown_address
from autoclave.emulator.a630.translator.global_memory import global_address
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.local_memory import local_offset
from autoclave.emulator.a630.translator.operations import Operation, plus
from autoclave.emulator.ir import Builder, Value
from autoclave.emulator.translator.atomics import update_each
from autoclave.emulator.translator.elements import MemoryContext
from autoclave.emulator.translator.global_memory import global_pointers
from autoclave.emulator.translator.local_memory import shared_pointer

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
        pointers = shared_pointer(lanes, context, local_offset(lanes, operation), _SIZE)

    def new_value(old: Value, lane: Value) -> Value:
        return _new_value(
            ir, name, operation.instruction.type or "", old, [ir.element(each, lane) for each in operands]
        )

    before = update_each(lanes, pointers, "i32", new_value)
    if operation.destinations:
        lanes.write(operation.destinations[0], Content(bits=before, opaque=True))


def _new_value(ir: Builder, name: str, kind: str, old: Value, operands: list[Value]) -> Value:
    if name == "xchg":
        return operands[0]
    if name == "cmpxchg":
        return ir.select(ir.compare("eq", old, operands[1]), operands[0], old)
    if name in _PLAIN:
        return ir.binary(_PLAIN[name], old, operands[0])
    return ir.call(_EXTREMES[name, kind], "i32", (old, operands[0]))

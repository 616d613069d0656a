"""Atomics of the interpreter, on shared memory (atomic.add) and on buffers (atomic.g.add).

A thread runs alone, so an atomic is a load and a store. The destination gets what was there before. Mesa's rules: the data
of cmpxchg are two registers, the new value and the one to compare with (ir3_compiler_nir.c).
"""

from collections.abc import Callable

from autoclave.emulator.a630.instruction import Instruction, Register
from autoclave.emulator.a630.interpreter_memory import Access, global_address, resolve, shared_fault
from autoclave.emulator.a630.interpreter_operands import Binder, Read
from autoclave.emulator.a630.machine import Machine
from autoclave.emulator.turns import Step

_SIZE = 4
_MASK = 0xFFFFFFFF

Combine = Callable[[int, int], int]
"""Gives the new value from the old one and the operand, both of 32 bits."""


def _signed(bits: int) -> int:
    return (bits ^ 0x80000000) - 0x80000000


_ANY: dict[str, Combine] = {
    "add": lambda old, value: (old + value) & _MASK,
    "sub": lambda old, value: (old - value) & _MASK,
    "xchg": lambda old, value: value,
    "and": lambda old, value: old & value,
    "or": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
}
_COMBINE: dict[tuple[str, str], Combine] = {
    **{(name, kind): combine for name, combine in _ANY.items() for kind in ("u32", "s32")},
    ("min", "u32"): min,
    ("max", "u32"): max,
    ("min", "s32"): lambda old, value: min(old, value, key=_signed),
    ("max", "s32"): lambda old, value: max(old, value, key=_signed),
}


def _update(machine: Machine, instruction: Instruction) -> Combine | None:
    """The rule of an atomic; None for cmpxchg."""
    operation, kind = instruction.name.rpartition(".")[2], instruction.type or ""
    if operation == "cmpxchg" and kind in ("u32", "s32"):
        return None
    if (operation, kind) not in _COMBINE:
        machine.unknown(instruction.pc, f"{instruction.name} of type {kind or 'none'} has no rule")
    return _COMBINE[operation, kind]


def _next_value(machine: Machine, instruction: Instruction) -> Callable[[int], int]:
    """A function that gives what an atomic leaves in memory, from what was there."""
    binder, data = Binder(machine, instruction), instruction.sources[-1].operand
    combine, operand = _update(machine, instruction), binder.read(data)
    if combine is not None:
        rule = combine
        return lambda old: rule(old, operand())
    if not isinstance(data, Register):
        machine.unknown(instruction.pc, f"{instruction.name} has no rule for operands that are no registers")
    expected = binder.read(data, 1)
    return lambda old: operand() if old == expected() else old


def _shared(machine: Machine, instruction: Instruction) -> tuple[Step, ...]:
    binder = Binder(machine, instruction)
    following, base = _next_value(machine, instruction), binder.read(instruction.sources[0].operand)
    write, memory, pc = binder.write(instruction.destinations[0]), machine.shared, instruction.pc

    def step() -> None:
        at = base()
        if at + _SIZE > len(memory):
            shared_fault(machine, pc, at, _SIZE)
        old = int.from_bytes(memory[at : at + _SIZE], "little")
        memory[at : at + _SIZE] = following(old).to_bytes(_SIZE, "little")
        write(old)

    return (step,)


def _global(machine: Machine, instruction: Instruction) -> tuple[Step, ...]:
    binder = Binder(machine, instruction)
    following, address = _next_value(machine, instruction), _address(binder, instruction)
    write, pc = binder.write(instruction.destinations[0]), instruction.pc

    def step() -> None:
        view, offset = resolve(machine, address(), _SIZE, pc)
        old = machine.overlay.load(view, offset, _SIZE)
        machine.store(view, offset, _SIZE, following(old), pc)
        write(old)

    return (step,)


def _address(binder: Binder, instruction: Instruction) -> Read:
    return global_address(Access(binder, instruction.destinations[0], _SIZE, 1))


_OPERATIONS = ("add", "sub", "xchg", "cmpxchg", "min", "max", "and", "or", "xor")

ATOMICS = {f"atomic.{name}": _shared for name in _OPERATIONS} | {f"atomic.g.{name}": _global for name in _OPERATIONS}
"""Atomics by name. Those on images (atomic.b), and inc and dec, have no rule: nothing emits them."""

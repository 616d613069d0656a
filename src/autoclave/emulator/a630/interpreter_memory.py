"""Loads, stores and atomics of the interpreter: global, shared and private memory. Every access is checked.

Elements are little-endian and need not be aligned. Global addresses have 64 bits, in two registers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from autoclave.emulator.a630.instruction import Instruction, Register
from autoclave.emulator.a630.interpreter_operands import Binder, Read, Write
from autoclave.emulator.a630.machine import Machine
from autoclave.emulator.memory import BUFFER_STRIDE
from autoclave.emulator.overlay import View
from autoclave.emulator.turns import Step

_ADDRESS_MASK = (1 << 64) - 1
_WORD_MASK = (1 << 32) - 1

ELEMENT_BYTES = {"f16": 2, "u16": 2, "s16": 2, "f32": 4, "u32": 4, "s32": 4, "u8": 1, "u8_32": 1}


@dataclass(frozen=True, slots=True)
class Access:
    """What a load or store moves: `count` elements of `size` bytes, `register` being that of the first."""

    binder: Binder
    register: Register
    size: int
    count: int

    def writes(self) -> tuple[Write, ...]:
        """Functions that write a loaded element each."""
        write = tuple(self.binder.write(self.register, at) for at in range(self.count))
        return tuple(_sign_extending(one) for one in write) if self.binder.instruction.type == "u8_32" else write

    def reads(self) -> tuple[Read, ...]:
        """Functions that read an element to store each."""
        return tuple(self.binder.read(self.register, at) for at in range(self.count))


def _sign_extending(write: Write) -> Write:
    """A byte loaded into a full register is signed (arithmetic table: as Qualcomm's compiler uses it)."""
    return lambda value: write(((value ^ 0x80) - 0x80) & _WORD_MASK)


def global_load(machine: Machine, instruction: Instruction) -> Step:
    """ldg and ldg.a."""
    access = _access(machine, instruction, instruction.destinations[0])
    address, writes, size, pc = global_address(access), access.writes(), access.size, instruction.pc
    total = size * access.count

    def step() -> None:
        view, offset = resolve(machine, address(), total, pc)
        load = machine.overlay.load
        for at, write in enumerate(writes):
            write(load(view, offset + size * at, size))

    if len(writes) == 1:
        (only,) = writes

        def single() -> None:
            view, offset = resolve(machine, address(), size, pc)
            only(machine.overlay.load(view, offset, size))

        return single
    return step


def global_store(machine: Machine, instruction: Instruction) -> Step:
    """stg and stg.a."""
    access = _access(machine, instruction, _data_register(machine, instruction))
    address, reads, size, pc = global_address(access), access.reads(), access.size, instruction.pc
    total, mask = size * access.count, (1 << 8 * size) - 1

    def step() -> None:
        view, offset = resolve(machine, address(), total, pc)
        for at, read in enumerate(reads):
            machine.store(view, offset + size * at, size, read() & mask, pc)

    return step


def _access(machine: Machine, instruction: Instruction, register: Register) -> Access:
    if instruction.type not in ELEMENT_BYTES or instruction.count < 1:
        machine.unknown(
            instruction.pc, f"{instruction.name} of {instruction.count} elements of type {instruction.type} has no rule"
        )
    return Access(Binder(machine, instruction), register, ELEMENT_BYTES[instruction.type], instruction.count)


def _data_register(machine: Machine, instruction: Instruction) -> Register:
    operand = instruction.sources[-1].operand
    if not isinstance(operand, Register):
        machine.unknown(instruction.pc, f"{instruction.name} of {operand}; only registers are stored")
    return operand


def resolve(machine: Machine, address: int, size: int, pc: int) -> tuple[View, int]:
    """The buffer that holds the `size` bytes at `address`, and their place in it. Raises `MemoryFault` if none does."""
    view = machine.buffers.get(address // BUFFER_STRIDE)
    if view is None:
        machine.fault(pc, f"access of {size} bytes to no buffer of the launch", address)
    offset = address - view.address
    if not 0 <= offset <= view.size - size:
        machine.fault(pc, f"access of {size} bytes at {offset} of {view.name}, which has {view.size}", address)
    return view, offset


def global_address(access: Access) -> Read:
    """The address of ldg, stg and atomic.g: two registers and a byte offset; of ldg.a and stg.a, see `Instruction.shift`."""
    binder, instruction = access.binder, access.binder.instruction
    base = instruction.sources[0].operand
    if not isinstance(base, Register):
        binder.machine.unknown(instruction.pc, f"{instruction.name} has no rule for an address that is no register")
    low, high = (binder.read(base, at) for at in range(2))
    offset = instruction.offset
    if not instruction.name.endswith(".a"):
        return lambda: (low() + (high() << 32) + offset) & _ADDRESS_MASK
    index, shift, size = binder.read(instruction.sources[1].operand), instruction.shift, access.size
    return lambda: (low() + (high() << 32) + ((index() << shift) + offset) * size) & _ADDRESS_MASK


def shared_load(machine: Machine, instruction: Instruction) -> Step:
    """ldl: outside the kernel's shared memory is a fault."""
    access = _access(machine, instruction, instruction.destinations[0])
    offset, writes, size, memory = _offset(access), access.writes(), access.size, machine.shared
    total, pc = size * access.count, instruction.pc

    def step() -> None:
        at = offset()
        if at + total > len(memory):
            shared_fault(machine, pc, at, total)
        for write in writes:
            write(int.from_bytes(memory[at : at + size], "little"))
            at += size

    return step


def shared_store(machine: Machine, instruction: Instruction) -> Step:
    """stl: outside the kernel's shared memory is a fault."""
    access = _access(machine, instruction, _data_register(machine, instruction))
    offset, reads, size, memory = _offset(access), access.reads(), access.size, machine.shared
    total, pc, mask = size * access.count, instruction.pc, (1 << 8 * size) - 1

    def step() -> None:
        at = offset()
        if at + total > len(memory):
            shared_fault(machine, pc, at, total)
        for read in reads:
            memory[at : at + size] = (read() & mask).to_bytes(size, "little")
            at += size

    return step


def shared_fault(machine: Machine, pc: int, at: int, size: int) -> NoReturn:
    machine.fault(pc, f"access of {size} bytes at {at} of shared memory, which has {len(machine.shared)}", at)


def private_load(machine: Machine, instruction: Instruction) -> Step:
    """ldp: an element that is not wholly within the thread's private memory reads 0."""
    access = _access(machine, instruction, instruction.destinations[0])
    offset, writes, size, memory = _offset(access), access.writes(), access.size, machine.private

    def step() -> None:
        at = offset()
        for write in writes:
            write(int.from_bytes(memory[at : at + size], "little") if at + size <= len(memory) else 0)
            at = (at + size) & _WORD_MASK

    return step


def private_store(machine: Machine, instruction: Instruction) -> Step:
    """stp: an element that is not wholly within the thread's private memory is dropped."""
    access = _access(machine, instruction, _data_register(machine, instruction))
    offset, reads, size, memory = _offset(access), access.reads(), access.size, machine.private
    mask = (1 << 8 * size) - 1

    def step() -> None:
        at = offset()
        for read in reads:
            if at + size <= len(memory):
                memory[at : at + size] = (read() & mask).to_bytes(size, "little")
            at = (at + size) & _WORD_MASK

    return step


def _offset(access: Access) -> Read:
    """The byte that ldl, stl, ldp or stp begins at: a register and an offset, modulo 2^32."""
    base = access.binder.read(access.binder.instruction.sources[0].operand)
    offset = access.binder.instruction.offset
    return lambda: (base() + offset) & _WORD_MASK


def _one_step(bind: Callable[[Machine, Instruction], Step]) -> Callable[[Machine, Instruction], tuple[Step, ...]]:
    return lambda machine, instruction: (bind(machine, instruction),)


MEMORY = {
    "ldg": _one_step(global_load),
    "ldg.a": _one_step(global_load),
    "stg": _one_step(global_store),
    "stg.a": _one_step(global_store),
    "ldl": _one_step(shared_load),
    "stl": _one_step(shared_store),
    "ldp": _one_step(private_load),
    "stp": _one_step(private_store),
}
"""Loads and stores, by name."""

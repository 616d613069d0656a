"""Memories of the interpreter as its instructions address them: global, shared (LDS) and private (scratch). Every access is checked.

A lane's access is one little-endian number of some bytes, which need not be aligned. FLAT addresses are global ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autoclave.emulator.memory import BUFFER_STRIDE
from autoclave.emulator.overlay import View
from autoclave.emulator.rdna4.instruction import Instruction, Register
from autoclave.emulator.rdna4.interpreter_operands import Binder, Read, ReadLanes
from autoclave.emulator.rdna4.machine import Lanes, Machine

ADDRESS_MASK = (1 << 64) - 1
_WORD_MASK = (1 << 32) - 1

Load = Callable[[int, int], int]
"""Gives the bytes at an address, as a number, for a lane."""

Store = Callable[[int, int, int], None]
"""Writes bytes, as a number, to an address, for a lane: address, lane, number."""


def resolve(machine: Machine, address: int, size: int, pc: int, lane: int) -> tuple[View, int]:
    """The buffer that holds the `size` bytes at `address`, and their place in it. Raises `MemoryFault` if none does."""
    view = machine.buffers.get(address // BUFFER_STRIDE)
    if view is None:
        machine.fault(pc, lane, f"access of {size} bytes to no buffer of the launch", address)
    offset = address - view.address
    if not 0 <= offset <= view.size - size:
        machine.fault(pc, lane, f"access of {size} bytes at {offset} of {view.name}, which has {view.size}", address)
    return view, offset


@dataclass(frozen=True, slots=True)
class Space:
    """A memory, for accesses of one instruction: the lanes' addresses in it without the immediate offset, and what is there."""

    addresses: ReadLanes
    load: Load
    store: Store


def space_of(binder: Binder, size: int) -> Space:
    """The memory that an instruction accesses, `size` bytes at a time."""
    encoding = binder.instruction.encoding
    if encoding == "DS":
        return Space(binder.read_lanes(binder.instruction.sources[0]), *_shared(binder, size))
    if encoding == "SCRATCH":
        return Space(_scratch_addresses(binder), *_private(binder, size))
    return Space(_global_addresses(binder), *_global(binder, size))


def data_sources(instruction: Instruction) -> list[Register]:
    """The registers with what is stored, or what an atomic operates with."""
    last = len(instruction.sources) - (1 if instruction.has_scalar_base else 0)
    first = 1 if instruction.has_vector_address or instruction.encoding == "DS" else 0
    return [one.operand for one in instruction.sources[first:last] if isinstance(one.operand, Register)]


def _global_addresses(binder: Binder) -> ReadLanes:
    instruction = binder.instruction
    base = _scalar_base(binder, "b64")
    if not instruction.has_vector_address:
        return lambda lanes: [base()] * len(lanes)
    offset = binder.read_plain_lanes(instruction.sources[0].operand, "b32" if instruction.has_scalar_base else "b64")

    def addresses(lanes: Lanes) -> Sequence[int]:
        start = base()
        return [start + at for at in offset(lanes)]

    return addresses


def _scratch_addresses(binder: Binder) -> ReadLanes:
    instruction = binder.instruction
    base = _scalar_base(binder, "b32")
    if not instruction.has_vector_address:
        return lambda lanes: [base()] * len(lanes)
    offset = binder.read_plain_lanes(instruction.sources[0].operand, "b32")
    return lambda lanes: [base() + at for at in offset(lanes)]


def _scalar_base(binder: Binder, kind: str) -> Read:
    if binder.instruction.has_scalar_base:
        return binder.read_plain(binder.instruction.sources[-1].operand, kind)
    return lambda: 0


def _global(binder: Binder, size: int) -> tuple[Load, Store]:
    machine, pc = binder.machine, binder.instruction.pc

    def load(address: int, lane: int) -> int:
        view, offset = resolve(machine, address & ADDRESS_MASK, size, pc, lane)
        return machine.overlay.load(view, offset, size)

    def store(address: int, lane: int, value: int) -> None:
        view, offset = resolve(machine, address & ADDRESS_MASK, size, pc, lane)
        machine.store(view, offset, size, value, pc, lane)

    return load, store


def _shared(binder: Binder, size: int) -> tuple[Load, Store]:
    machine, pc, memory = binder.machine, binder.instruction.pc, binder.machine.shared

    def place(address: int, lane: int) -> int:
        at = address & _WORD_MASK
        if at + size > len(memory):
            machine.fault(pc, lane, f"access of {size} bytes at {at} of shared memory, which has {len(memory)}", at)
        return at

    def load(address: int, lane: int) -> int:
        at = place(address, lane)
        return int.from_bytes(memory[at : at + size], "little")

    def store(address: int, lane: int, value: int) -> None:
        at = place(address, lane)
        memory[at : at + size] = value.to_bytes(size, "little")

    return load, store


def _private(binder: Binder, size: int) -> tuple[Load, Store]:
    machine, pc, memories = binder.machine, binder.instruction.pc, binder.machine.private

    def place(address: int, lane: int) -> int:
        at, held = address & _WORD_MASK, len(memories[lane])
        if at + size > held:
            machine.fault(pc, lane, f"access of {size} bytes at {at} of private memory, which has {held}", at)
        return at

    def load(address: int, lane: int) -> int:
        at = place(address, lane)
        return int.from_bytes(memories[lane][at : at + size], "little")

    def store(address: int, lane: int, value: int) -> None:
        at = place(address, lane)
        memories[lane][at : at + size] = value.to_bytes(size, "little")

    return load, store

"""Loads and stores of the interpreter, by name. Each lane moves 1 to 16 bytes; scalar loads up to 64."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autoclave.emulator.rdna4.instruction import EXEC, Destination, Instruction, Register
from autoclave.emulator.rdna4.interpreter_operands import Binder, ReadLanes, WriteLanes
from autoclave.emulator.rdna4.interpreter_spaces import ADDRESS_MASK, data_sources, resolve, space_of
from autoclave.emulator.rdna4.machine import Lanes, Machine, lanes_of
from autoclave.emulator.turns import Step

_WORD_MASK = (1 << 32) - 1
_ALIGNED = ~3


@dataclass(frozen=True, slots=True)
class Form:
    """What a load or store moves: `size` bytes. Loads: signed, if the bytes are; half: the one that is written, the other is kept.

    Stores: half: "high" if the bytes come from the upper half.
    """

    size: int
    signed: bool = False
    half: str | None = None


_LOADS = {
    "u8": Form(1), "i8": Form(1, signed=True), "u16": Form(2), "i16": Form(2, signed=True),
    "b32": Form(4), "b64": Form(8), "b96": Form(12), "b128": Form(16),
}  # fmt: skip
_HALF_LOADS = {"u8": Form(1), "i8": Form(1, signed=True), "b16": Form(2)}
_STORES = {"b8": Form(1), "b16": Form(2), "b32": Form(4), "b64": Form(8), "b96": Form(12), "b128": Form(16)}
_HALVES = {"d16": "low", "d16_hi": "high"}

LOADS: dict[str, Form] = {
    **{f"{space}_load_{kind}": form for space in ("global", "flat", "scratch", "ds") for kind, form in _LOADS.items()},
    **{
        f"{space}_load_{part}_{kind}": Form(form.size, form.signed, half)
        for space in ("global", "flat", "scratch")
        for part, half in _HALVES.items()
        for kind, form in _HALF_LOADS.items()
    },
    **{
        f"ds_load_{kind}_{part}": Form(size, signed, half)
        for part, half in _HALVES.items()
        for kind, size, signed in (("u8", 1, False), ("i8", 1, True), ("u16", 2, False))
    },
}
"""Loads of one value for each lane, by name."""

STORES: dict[str, Form] = {
    **{
        f"{space}_store_{kind}": form for space in ("global", "flat", "scratch", "ds") for kind, form in _STORES.items()
    },
    **{
        f"{space}_store_d16_hi_{kind}": Form(_STORES[kind].size, half="high")
        for space in ("global", "flat", "scratch")
        for kind in ("b8", "b16")
    },
    **{f"ds_store_{kind}_d16_hi": Form(_STORES[kind].size, half="high") for kind in ("b8", "b16")},
}
"""Stores of one value for each lane, by name."""

_SCALAR_LOADS = {
    **{f"s_load_b{bits}": Form(bits // 8) for bits in (32, 64, 96, 128, 256, 512)},
    **{f"s_load_{kind}": _LOADS[kind] for kind in ("u8", "i8", "u16", "i16")},
}

_BLOCKS = (32, 64)
"""Bytes of the scalar loads that compilers widen where they know the address to be aligned, beyond what there is to load."""


def _load(machine: Machine, instruction: Instruction) -> Step:
    form = LOADS[instruction.name]
    binder = Binder(machine, instruction)
    space, write = space_of(binder, form.size), write_loaded(binder, instruction.destinations[0].operand, form)
    load, addresses, scalars, offset = space.load, space.addresses, machine.scalars, instruction.immediate

    def step() -> None:
        lanes = lanes_of(scalars[EXEC])
        write(lanes, [load(at + offset, lane) for at, lane in zip(addresses(lanes), lanes, strict=True)])

    return step


def write_loaded(binder: Binder, register: Register, form: Form) -> WriteLanes:
    """A function that writes what was loaded: to a half of a register, to one register, or to several."""
    if form.half is not None:
        half = Register("v", register.number, high=form.half == "high")
        return _sign_extending(binder.write_lanes(Destination(half, "b16")), form, 16)
    if form.size <= 4:
        return _sign_extending(binder.write_lanes(Destination(register, "b32")), form, 32)
    words = [binder.vector(register, at) for at in range(form.size // 4)]

    def write(lanes: Lanes, values: Sequence[int]) -> None:
        for at, word in enumerate(words):
            for lane, value in zip(lanes, values, strict=True):
                word[lane] = value >> 32 * at & _WORD_MASK

    return write


def _sign_extending(write: WriteLanes, form: Form, bits: int) -> WriteLanes:
    if not form.signed:
        return write
    sign, mask = 1 << (8 * form.size - 1), (1 << bits) - 1
    return lambda lanes, values: write(lanes, [((value ^ sign) - sign) & mask for value in values])


def _store(machine: Machine, instruction: Instruction) -> Step:
    form = STORES[instruction.name]
    binder = Binder(machine, instruction)
    space, read = space_of(binder, form.size), read_stored(binder, data_sources(instruction)[0], form)
    store, addresses, scalars, offset = space.store, space.addresses, machine.scalars, instruction.immediate

    def step() -> None:
        lanes = lanes_of(scalars[EXEC])
        for at, lane, value in zip(addresses(lanes), lanes, read(lanes), strict=True):
            store(at + offset, lane, value)

    return step


def read_stored(binder: Binder, register: Register, form: Form) -> ReadLanes:
    """A function that reads what a store writes."""
    words = [binder.vector(register, at) for at in range(max(1, form.size // 4))]
    (first, *rest), mask = words, (1 << 8 * form.size) - 1
    if form.half == "high":
        return lambda lanes: [first[lane] >> 16 & mask for lane in lanes]
    if not rest:
        return lambda lanes: [first[lane] & mask for lane in lanes]
    return lambda lanes: [sum(word[lane] << 32 * at for at, word in enumerate(words)) for lane in lanes]


def _scalar_load(machine: Machine, instruction: Instruction) -> Step:
    """s_load: of whole words, the lowest two bits of the address do not count. Blocks may reach behind the end of a buffer."""
    form = _SCALAR_LOADS[instruction.name]
    binder, pc, size = Binder(machine, instruction), instruction.pc, form.size
    base, *offsets = (
        binder.read_plain(source.operand, kind)
        for source, kind in zip(instruction.sources, ("b64", "b32"), strict=False)
    )
    register, immediate = instruction.destinations[0].operand, instruction.immediate
    writes = [binder.write(Destination(register, "b32"))] + [
        binder.write(Destination(Register("s", binder.scalar_number(register, at)), "b32"))
        for at in range(1, size // 4)
    ]
    sign, kept = 1 << (8 * size - 1) if form.signed else 0, _ALIGNED if size >= 4 else -1

    def whole(address: int) -> bool:
        return size in _BLOCKS and address % size == 0

    def step() -> None:
        address = (base() + sum(offset() for offset in offsets) + immediate) & ADDRESS_MASK & kept
        view, at = resolve(machine, address, min(size, 4) if whole(address) else size, pc, 0)
        value = (machine.overlay.load(view, at, min(size, view.size - at)) ^ sign) - sign
        for word, write in enumerate(writes):
            write(value >> 32 * word & _WORD_MASK)

    return step


@dataclass(frozen=True, slots=True)
class _Two:
    """ds_load_2addr and ds_store_2addr: elements of `size` bytes, offsets in units of `stride`."""

    size: int
    stride: int


_TWO = {
    f"2addr_{stride}b{bits}": _Two(bits // 8, bits // 8 * (64 if stride else 1))
    for bits in (32, 64)
    for stride in ("", "stride64_")
}


def _load_two(machine: Machine, instruction: Instruction) -> Step:
    two = _TWO[instruction.name.removeprefix("ds_load_")]
    binder, register = Binder(machine, instruction), instruction.destinations[0].operand
    space, form = space_of(binder, two.size), Form(two.size)
    second = Register("v", register.number + two.size // 4)
    writes = write_loaded(binder, register, form), write_loaded(binder, second, form)
    offsets = instruction.immediate * two.stride, instruction.second_immediate * two.stride
    load, scalars = space.load, machine.scalars

    def step() -> None:
        lanes = lanes_of(scalars[EXEC])
        addresses = space.addresses(lanes)
        loaded = [[load(at + offset, lane) for at, lane in zip(addresses, lanes, strict=True)] for offset in offsets]
        for write, values in zip(writes, loaded, strict=True):
            write(lanes, values)

    return step


def _store_two(machine: Machine, instruction: Instruction) -> Step:
    two = _TWO[instruction.name.removeprefix("ds_store_")]
    binder, form = Binder(machine, instruction), Form(two.size)
    space = space_of(binder, two.size)
    reads = [read_stored(binder, register, form) for register in data_sources(instruction)]
    offsets = instruction.immediate * two.stride, instruction.second_immediate * two.stride
    store, scalars = space.store, machine.scalars

    def step() -> None:
        lanes = lanes_of(scalars[EXEC])
        addresses = space.addresses(lanes)
        for read, offset in zip(reads, offsets, strict=True):
            for at, lane, value in zip(addresses, lanes, read(lanes), strict=True):
                store(at + offset, lane, value)

    return step


MEMORY: dict[str, Callable[[Machine, Instruction], Step]] = {
    **dict.fromkeys(LOADS, _load),
    **dict.fromkeys(STORES, _store),
    **dict.fromkeys(_SCALAR_LOADS, _scalar_load),
    **{f"ds_load_{kind}": _load_two for kind in _TWO},
    **{f"ds_store_{kind}": _store_two for kind in _TWO},
}
"""Loads and stores, by name."""

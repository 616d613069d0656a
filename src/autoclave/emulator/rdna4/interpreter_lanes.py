"""Operations of the interpreter on whole waves: lanes that read other lanes, and matrices."""

from collections.abc import Callable, Sequence

from autoclave.emulator.rdna4.instruction import EXEC, Instruction
from autoclave.emulator.rdna4.interpreter_operands import Binder
from autoclave.emulator.rdna4.machine import ALL_LANES, Lanes, Machine, lanes_of
from autoclave.emulator.turns import Step

_LANE_MASK = len(ALL_LANES) - 1
_ROW = 16


def _read_first_lane(machine: Machine, instruction: Instruction) -> Step:
    binder, scalars = Binder(machine, instruction), machine.scalars
    read, write = binder.read_lanes(instruction.sources[0]), binder.write(instruction.destinations[0])

    def step() -> None:
        lane = (lanes_of(scalars[EXEC]) or ALL_LANES)[0]
        write(read(ALL_LANES)[lane])

    return step


def _read_lane(machine: Machine, instruction: Instruction) -> Step:
    binder = Binder(machine, instruction)
    value, which = instruction.sources[:2]
    read, lane, write = binder.read_lanes(value), binder.read(which), binder.write(instruction.destinations[0])
    return lambda: write(read(ALL_LANES)[lane() & _LANE_MASK])


def _write_lane(machine: Machine, instruction: Instruction) -> Step:
    """v_writelane: whatever EXEC is."""
    binder = Binder(machine, instruction)
    value, lane = (binder.read(source) for source in instruction.sources[:2])
    register = binder.vector(instruction.destinations[0].operand)

    def step() -> None:
        register[lane() & _LANE_MASK] = value()

    return step


Route = Callable[[Lanes, Sequence[Sequence[int]]], Sequence[int]]
"""Gives the lane that each of some lanes reads; has the values of the sources behind the first, of all lanes."""


def _routed(route: Route) -> Callable[[Machine, Instruction], Step]:
    """An operation that gives each lane its first source's value in another lane, whether that is on or not."""

    def bind(machine: Machine, instruction: Instruction) -> Step:
        binder, scalars = Binder(machine, instruction), machine.scalars
        read, *others = (binder.read_lanes(source) for source in instruction.sources)
        write = binder.write_lanes(instruction.destinations[0])

        def step() -> None:
            lanes = lanes_of(scalars[EXEC])
            values = read(ALL_LANES)
            write(lanes, [values[lane] for lane in route(lanes, [other(ALL_LANES) for other in others])])

        return step

    return bind


def _selected(flipped: int) -> Route:
    """Within rows of 16, or of the other row: four bits for each lane of a row, in two scalars."""

    def route(lanes: Lanes, others: Sequence[Sequence[int]]) -> Sequence[int]:
        selectors = others[0][0] | others[1][0] << 32
        return [(lane ^ flipped) & _ROW | selectors >> 4 * (lane & 15) & 15 for lane in lanes]

    return route


def _selected_by_lane(flipped: int) -> Route:
    """Within rows of 16, or of the other row: four bits that each lane has itself."""
    return lambda lanes, others: [(lane ^ flipped) & _ROW | others[0][lane] & 15 for lane in lanes]


def _permute_nothing(machine: Machine, instruction: Instruction) -> Step:
    """v_permlane64 exchanges the halves of a wave of 64 lanes; with 32 it does nothing."""
    return lambda: None


def _backward_permute(fetch_inactive: bool) -> Callable[[Machine, Instruction], Step]:
    """ds_bpermute: each lane names, times 4, the lane that it reads; 0 from one that is off."""

    def bind(machine: Machine, instruction: Instruction) -> Step:
        binder, scalars, offset = Binder(machine, instruction), machine.scalars, instruction.immediate
        address, data = (binder.read_lanes(source) for source in instruction.sources[:2])
        write = binder.write_lanes(instruction.destinations[0])

        def step() -> None:
            on, values = scalars[EXEC], data(ALL_LANES)
            lanes = lanes_of(on)
            sources = [(at + offset) // 4 & _LANE_MASK for at in address(lanes)]
            write(lanes, [values[lane] if fetch_inactive or on >> lane & 1 else 0 for lane in sources])

        return step

    return bind


def _forward_permute(machine: Machine, instruction: Instruction) -> Step:
    """ds_permute: each lane names, times 4, the lane that gets its value; of several the highest wins."""
    binder, scalars, offset = Binder(machine, instruction), machine.scalars, instruction.immediate
    address, data = (binder.read_lanes(source) for source in instruction.sources[:2])
    write = binder.write_lanes(instruction.destinations[0])

    def step() -> None:
        lanes = lanes_of(scalars[EXEC])
        sent = [0] * len(ALL_LANES)
        for at, value in zip(address(lanes), data(lanes), strict=True):
            sent[(at + offset) // 4 & _LANE_MASK] = value
        write(lanes, [sent[lane] for lane in lanes])

    return step


_QUADS, _ROTATION, _TRANSFORM = 0x8000, 0xC000, 0xE000
"""The least offsets of ds_swizzle's modes; below the first, lanes are named by three masks."""


def swizzled_lane(offset: int, lane: int) -> int:
    """The lane that `lane` reads by ds_swizzle."""
    low, middle, high = (offset >> shift & 31 for shift in (0, 5, 10))
    if offset >= _TRANSFORM:
        return int(f"{lane:05b}"[::-1], 2) >> low.bit_count() | lane & low
    if offset >= _ROTATION:
        turned = lane - middle if offset >> 10 & 1 else lane + middle
        return lane & low | turned & ~low & 31
    if offset >= _QUADS:
        return lane & ~3 | offset >> 2 * (lane & 3) & 3
    return (lane & low | middle) ^ high


def _swizzle(machine: Machine, instruction: Instruction) -> Step:
    """ds_swizzle: 0 from a lane that is off."""
    binder, scalars = Binder(machine, instruction), machine.scalars
    read, write = binder.read_lanes(instruction.sources[0]), binder.write_lanes(instruction.destinations[0])
    sources = [swizzled_lane(instruction.immediate & 0xFFFF, lane) for lane in ALL_LANES]

    def step() -> None:
        on, values = scalars[EXEC], read(ALL_LANES)
        lanes = lanes_of(on)
        write(lanes, [values[sources[lane]] if on >> sources[lane] & 1 else 0 for lane in lanes])

    return step


LANES: dict[str, Callable[[Machine, Instruction], Step]] = {
    "v_readfirstlane_b32": _read_first_lane,
    "v_readlane_b32": _read_lane,
    "v_writelane_b32": _write_lane,
    "v_permlane16_b32": _routed(_selected(0)),
    "v_permlanex16_b32": _routed(_selected(_ROW)),
    "v_permlane16_var_b32": _routed(_selected_by_lane(0)),
    "v_permlanex16_var_b32": _routed(_selected_by_lane(_ROW)),
    "v_permlane64_b32": _permute_nothing,
    "ds_bpermute_b32": _backward_permute(fetch_inactive=False),
    "ds_bpermute_fi_b32": _backward_permute(fetch_inactive=True),
    "ds_permute_b32": _forward_permute,
    "ds_swizzle_b32": _swizzle,
}
"""Operations across lanes, by name."""

"""Vector arithmetic of the interpreter: an operation of `lanewise` for each lane that EXEC has, between operands and results.

What the operations compute is in `lanewise`; here is what surrounds them: modifiers, packed halves, DPP, pairs (VOPD).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autoclave.emulator.rdna4.instruction import EXEC, Destination, Dpp, Instruction, Register, Source
from autoclave.emulator.rdna4.interpreter_operands import Binder, ReadLanes, WriteLanes, modifiers
from autoclave.emulator.rdna4.lanewise import LANE_OPERATIONS
from autoclave.emulator.rdna4.lanewise.crosslane import dpp_source, dpp_writes
from autoclave.emulator.rdna4.lanewise.modifiers import (
    clamp,
    clamp_packed,
    mixed_source,
    multiply_output,
    packed_source,
)
from autoclave.emulator.rdna4.lanewise.operation import LaneOperation
from autoclave.emulator.rdna4.machine import ALL_LANES, Lanes, Machine, lanes_of
from autoclave.emulator.turns import Step

Evaluate = Callable[[Lanes], Sequence[Any]]
"""Gives an operation's results for some lanes: a number each or, of two results, a pair."""

WriteResults = Callable[[Lanes, Sequence[Any]], None]

_SIGNS = 2
"""How many sources of a dot product say by NEG whether they are signed."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An instruction, or one of a pair, in two parts, since a pair reads all before it writes any."""

    evaluate: Evaluate
    write: WriteResults


def arithmetic(machine: Machine, instruction: Instruction) -> Step:
    """Any vector operation of `LANE_OPERATIONS`, alone or in a pair. Raises `UnknownInstruction` for others."""
    scalars = machine.scalars
    if instruction.dual is not None:
        x, y = (_operation(machine, one) for one in instruction.dual)

        def pair() -> None:
            lanes = lanes_of(scalars[EXEC])
            first, second = x.evaluate(lanes), y.evaluate(lanes)
            x.write(lanes, first)
            y.write(lanes, second)

        return pair
    if instruction.dpp is not None:
        return _with_dpp(machine, instruction, instruction.dpp)
    operation = _operation(machine, instruction)
    evaluate, write = operation.evaluate, operation.write

    def step() -> None:
        lanes = lanes_of(scalars[EXEC])
        write(lanes, evaluate(lanes))

    return step


def _operation(machine: Machine, instruction: Instruction) -> Operation:
    binder = Binder(machine, instruction)
    return Operation(_evaluate(binder, [read_source(binder, source) for source in _sources(binder)]), _write(binder))


def operation_of(machine: Machine, instruction: Instruction) -> LaneOperation:
    """The rule of an instruction, by its name; each of a pair has the name of the operation alone."""
    name = instruction.name.replace("v_dual_", "v_")
    if name not in LANE_OPERATIONS:
        machine.unknown(instruction.pc, f"{instruction.name} has no rule")
    return LANE_OPERATIONS[name]


def _evaluate(binder: Binder, reads: Sequence[ReadLanes]) -> Evaluate:
    operation = operation_of(binder.machine, binder.instruction)
    compute: Callable[..., Any] = operation.compute
    if binder.instruction.clamp and not _is_float(binder.instruction):
        if operation.saturated is None:
            binder.unknown("with CLAMP has no rule")
        compute = operation.saturated
    if operation.takes == "signs":
        signs = [source.negated for source in binder.instruction.sources[:_SIGNS]]
        return lambda lanes: [compute(*signs, *values) for values in zip(*(read(lanes) for read in reads), strict=True)]
    if operation.takes == "lane":
        return lambda lanes: [*map(compute, lanes, *(read(lanes) for read in reads))]
    if len(reads) == 1:
        (only,) = reads
        return lambda lanes: [*map(compute, only(lanes))]
    if len(reads) == 2:
        first, second = reads
        return lambda lanes: [*map(compute, first(lanes), second(lanes))]
    return lambda lanes: [*map(compute, *(read(lanes) for read in reads))]


# Sources


def _sources(binder: Binder) -> Iterator[Source]:
    """The sources as an operation of `LANE_OPERATIONS` takes them: of a dot product the signs are no modifiers."""
    instruction = binder.instruction
    signed = operation_of(binder.machine, instruction).takes == "signs"
    for source in instruction.sources:
        yield Source(source.operand, source.type) if signed else source


def _unrouted(read: ReadLanes) -> ReadLanes:
    return read


def read_source(binder: Binder, source: Source, routed: Callable[[ReadLanes], ReadLanes] = _unrouted) -> ReadLanes:
    """A function that gives a source for each of some lanes, modifiers applied to what `routed` makes of the operand."""
    read = routed(binder.read_plain_lanes(source.operand, source.type))
    change = _change(binder.instruction, source)
    if change is None:
        return read
    modify = change
    return lambda lanes: [*map(modify, read(lanes))]


def _change(instruction: Instruction, source: Source) -> Callable[[int], int] | None:
    """What the bits of an operand become by NEG, ABS and OPSEL; None if they stay."""
    if "fma_mix" in instruction.name:
        selected = replace(source, high=False)  # of a half, the operand is the one that was selected
        return lambda bits: mixed_source(bits, selected)
    if instruction.encoding == "VOP3P" and source.type.endswith("x2"):
        plain = source.high_of_second and not (source.high or source.negated or source.negated_second)
        return None if plain else lambda bits: packed_source(bits, source)
    return modifiers(source)


# Results


def _write(binder: Binder) -> WriteResults:
    """A function that applies OMOD and CLAMP to the results and writes them."""
    destinations = binder.instruction.destinations
    if not destinations and binder.instruction.name.startswith("v_cmpx"):
        destinations = (Destination(Register("s", EXEC), "mask"),)
    if not destinations:
        return lambda lanes, values: None
    first, *others = (binder.write_lanes(one) for one in destinations)
    first = _finished(binder, destinations[0].type, first)
    if not others:
        return first
    (second,) = others

    def write(lanes: Lanes, results: Sequence[tuple[int, int]]) -> None:
        values, carries = zip(*results, strict=True) if results else ((), ())
        first(lanes, values)
        second(lanes, carries)

    return write


_FLOATS = ("f16", "f32", "f64")
_PACKED_FLOATS = "f16x2"


def _is_float(instruction: Instruction) -> bool:
    return instruction.destinations[0].type in (*_FLOATS, _PACKED_FLOATS)


def _finished(binder: Binder, kind: str, write: WriteLanes) -> WriteLanes:
    multiplier = binder.instruction.multiplier
    clamped = binder.instruction.clamp
    if multiplier and kind not in _FLOATS:
        binder.unknown("with OMOD has no rule")
    if kind == _PACKED_FLOATS and clamped:
        return lambda lanes, values: write(lanes, [*map(clamp_packed, values)])
    if kind not in _FLOATS or not (multiplier or clamped):
        return write

    def finish(bits: int) -> int:
        scaled = multiply_output(bits, kind, multiplier) if multiplier else bits
        return clamp(scaled, kind) if clamped else scaled

    return lambda lanes, values: write(lanes, [*map(finish, values)])


# Data parallel primitives


def _with_dpp(machine: Machine, instruction: Instruction, dpp: Dpp) -> Step:
    """An operation whose first source each lane reads from another lane, or not at all."""
    binder, routing = Binder(machine, instruction), _Routing(machine, dpp)
    first, *rest = _sources(binder)
    reads = [read_source(binder, first, routing.gather), *(read_source(binder, source) for source in rest)]
    evaluate, write, scalars = _evaluate(binder, reads), _write(binder), machine.scalars

    def step() -> None:
        lanes = routing.written(scalars[EXEC])
        write(lanes, evaluate(lanes))

    return step


class _Routing:
    """Which lanes an instruction with DPP writes, and what each of them reads."""

    def __init__(self, machine: Machine, dpp: Dpp) -> None:
        self._scalars = machine.scalars
        self._sources = [dpp_source(dpp, lane) for lane in ALL_LANES]
        self._enabled = [dpp_writes(dpp, lane) for lane in ALL_LANES]
        self._zero = dpp.bound_control or dpp.selectors is not None
        self._fetch_inactive = dpp.fetch_inactive

    def written(self, mask: int) -> Lanes:
        """The lanes of EXEC that are not masked and, unless others read 0, have a lane to read."""
        return tuple(
            lane
            for lane in lanes_of(mask)
            if self._enabled[lane] and (self._zero or self._source(mask, lane) is not None)
        )

    def gather(self, read: ReadLanes) -> ReadLanes:
        """`read`, of the lanes that are read."""

        def read_lanes(lanes: Lanes) -> Sequence[int]:
            values, mask = read(ALL_LANES), self._scalars[EXEC]
            sources = (self._source(mask, lane) for lane in lanes)
            return [0 if source is None else values[source] for source in sources]

        return read_lanes

    def _source(self, mask: int, lane: int) -> int | None:
        source = self._sources[lane]
        return source if source is not None and (self._fetch_inactive or mask >> source & 1) else None

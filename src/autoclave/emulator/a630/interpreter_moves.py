"""Category 1 of the interpreter: mov, cov, and the moves of several registers (swz, gat, sct)."""

from collections.abc import Callable
from dataclasses import dataclass

from autoclave.emulator.a630.instruction import Instruction, Register, Source, Type
from autoclave.emulator.a630.interpreter_operands import Binder, Read, Write
from autoclave.emulator.a630.machine import Machine
from autoclave.emulator.scalar import conversion
from autoclave.emulator.turns import Step

Convert = Callable[[int], int]
Integer = tuple[int, bool]
"""Bits, and whether it is signed."""

_INTEGERS: dict[Type, Integer] = {
    "u16": (16, False),
    "s16": (16, True),
    "u32": (32, False),
    "s32": (32, True),
    "u8": (8, False),
    "u8_32": (8, False),
}
_FLOATS: dict[Type, int] = {"f16": 16, "f32": 32}
_SIGNED_BYTE: Integer = (8, True)


@dataclass(frozen=True, slots=True)
class _Rounding:
    """The conversions that a rounding of cov stands for; integers are Python's."""

    to_half: Convert
    integer_to_half: Convert
    integer_to_single: Convert


_ROUNDINGS = {
    None: _Rounding(
        conversion.single_to_half_toward_zero,
        conversion.integer_to_half_toward_zero,
        conversion.integer_to_single_toward_zero,
    ),
    "even": _Rounding(
        conversion.single_to_half_nearest_even,
        conversion.integer_to_half_nearest_even,
        conversion.integer_to_single_nearest_even,
    ),
    "positive": _Rounding(
        conversion.single_to_half_toward_positive,
        conversion.integer_to_half_toward_positive,
        conversion.integer_to_single_toward_positive,
    ),
    "negative": _Rounding(
        conversion.single_to_half_toward_negative,
        conversion.integer_to_half_toward_negative,
        conversion.integer_to_single_toward_negative,
    ),
}
"""By what the instruction says. From a float to an integer all of them truncate."""


def conversion_rule(source: Type, target: Type, rounding: _Rounding) -> Convert:
    """What cov.`source``target` makes of a register's bits. Equal types are mov: the element as it is."""
    if source == target:
        mask = (1 << (_FLOATS.get(source) or _INTEGERS[source][0])) - 1
        return lambda bits: bits & mask
    if source in _FLOATS:
        return _from_float(source, target, rounding)
    number = _integer_value(_SIGNED_BYTE if _INTEGERS[source][0] == 8 else _INTEGERS[source])
    if target in _FLOATS:
        to_float = rounding.integer_to_half if target == "f16" else rounding.integer_to_single
        return lambda bits: to_float(number(bits))
    mask = (1 << _INTEGERS[target][0]) - 1
    return lambda bits: number(bits) & mask


def _from_float(source: Type, target: Type, rounding: _Rounding) -> Convert:
    if source == "f16" and target == "f32":
        return conversion.half_to_single
    if source == "f32" and target == "f16":
        return rounding.to_half
    bits, signed = _INTEGERS[target]
    lowest, highest = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    mask, to_integer = (1 << bits) - 1, conversion.single_to_integer_toward_zero
    if source == "f32":
        return lambda value: to_integer(value, lowest, highest) & mask
    return lambda value: to_integer(conversion.half_to_single(value), lowest, highest) & mask


def _integer_value(integer: Integer) -> Convert:
    """The number that a register's low bits hold."""
    bits, signed = integer
    mask, sign = (1 << bits) - 1, 1 << bits - 1
    if signed:
        return lambda value: ((value & mask) ^ sign) - sign
    return lambda value: value & mask


def _rule(machine: Machine, instruction: Instruction) -> Convert:
    assert instruction.source_type is not None and instruction.type is not None
    if any(source.negated or source.absolute for source in instruction.sources) or instruction.saturate:
        machine.unknown(instruction.pc, f"{instruction.name} with a modifier has no rule")
    return conversion_rule(instruction.source_type, instruction.type, _ROUNDINGS[instruction.rounding])


def _move(machine: Machine, instruction: Instruction) -> tuple[Step, ...]:
    """mov and cov: one element for each repetition."""
    (destination,), (source,) = instruction.destinations, instruction.sources
    return tuple(
        _assign(machine, instruction, [(destination, at)], [(source, at if source.repeated else 0)])
        for at in range(instruction.repeat + 1)
    )


def _swap(machine: Machine, instruction: Instruction) -> tuple[Step, ...]:
    """swz: two moves, both sources read before either is written."""
    targets = [(destination, 0) for destination in instruction.destinations]
    return (_assign(machine, instruction, targets, [(source, 0) for source in instruction.sources]),)


def _gather(machine: Machine, instruction: Instruction) -> tuple[Step, ...]:
    """gat: four sources to consecutive registers."""
    (destination,), sources = instruction.destinations, instruction.sources
    targets = [(destination, at) for at in range(len(sources))]
    return (_assign(machine, instruction, targets, [(source, 0) for source in sources]),)


def _scatter(machine: Machine, instruction: Instruction) -> tuple[Step, ...]:
    """sct: consecutive registers to four destinations."""
    (source,), destinations = instruction.sources, instruction.destinations
    targets = [(destination, 0) for destination in destinations]
    return (_assign(machine, instruction, targets, [(source, at) for at in range(len(destinations))]),)


def _assign(
    machine: Machine,
    instruction: Instruction,
    targets: list[tuple[Register, int]],
    sources: list[tuple[Source, int]],
) -> Step:
    """Move each source (with its step) to the target in its place, converted by the instruction's rule."""
    rule = _rule(machine, instruction)
    binder = Binder(machine, instruction, floating=instruction.source_type in _FLOATS)
    reads = [binder.read(source.operand, at) for source, at in sources]
    writes = [binder.write(target, at) for target, at in targets]
    if len(reads) > 1:
        return _several(rule, reads, writes)
    cell, target = binder.cell(sources[0][0].operand, sources[0][1]), binder.cell(*targets[0])
    if cell is None or target is None or instruction.source_type != instruction.type:
        (read,), (write,) = reads, writes
        return lambda: write(rule(read()))
    (values, at), (results, to), mask = cell, target, rule(0xFFFFFFFF)

    def step() -> None:
        results[to] = values[at] & mask

    return step


def _several(rule: Convert, reads: list[Read], writes: list[Write]) -> Step:
    def step() -> None:
        for write, value in zip(writes, [rule(read()) for read in reads], strict=True):
            write(value)

    return step


MOVES = {"mov": _move, "cov": _move, "mova": _move, "swz": _swap, "gat": _gather, "sct": _scatter}
"""Category 1, by name."""

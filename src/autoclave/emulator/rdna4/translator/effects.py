"""What an instruction reads and writes, as sets of places (see `variables`)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from autoclave.emulator.rdna4.instruction import EXEC, NULL, SCC, VCC, Destination, Instruction, Register, Source
from autoclave.emulator.rdna4.translator.variables import scalar_place, vector_place

_SINGLES = frozenset({"f32"})
_HALVES = frozenset({"f16", "f16x2"})
_HALF_TYPES = frozenset({"f16", "bf16", "b16", "u16", "i16", "u8x2"})
_WIDE_TYPES = frozenset({"f64", "b64", "u64", "i64"})

_BITS = re.compile(
    r"v_(cmp_class|cmpx_class|pack|frexp|div|perm|cndmask|dual_cndmask|mov|dual_mov|swap|readlane|readfirstlane|writelane)"
)
"""Operations that look at the bits of floats, besides those whose types are no floats."""

_ACROSS = re.compile(r"v_(readlane|readfirstlane|permlane|wmma|swmmac)|ds_(b?permute|swizzle)")
"""Operations that read lanes that may be off."""

_PARTIAL = ("v_writelane", "v_permlane64")
"""Operations that write some lanes, or none."""

_SAVES = re.compile(r"s_\w+_(saveexec|wrexec)_b32")
_COMPARES = re.compile(r"v_cmpx_\w+")


@dataclass(frozen=True, slots=True)
class Effect:
    """Sets of places.

    read: that are read. observed, observed_halves: whose bits are looked at, by others than readers of f32 and than readers of f16. written: that change. replaced: of those, all that change in every lane
    that is on. across: read in lanes that may be off. changes_exec: EXEC is written.
    """

    read: int
    observed: int
    observed_halves: int
    written: int
    replaced: int
    across: int
    changes_exec: bool


def changes_exec(instruction: Instruction) -> bool:
    """Whether an instruction writes EXEC."""
    if _SAVES.fullmatch(instruction.name) or _COMPARES.fullmatch(instruction.name):
        return True
    return any(
        destination.operand.file == "s"
        and destination.operand.number <= EXEC < destination.operand.number + destination.operand.count
        for destination in instruction.destinations
    )


def reads_across(instruction: Instruction) -> bool:
    """Whether lanes read other lanes, or an operation reads lanes that may be off."""
    return instruction.dpp is not None or _ACROSS.match(instruction.name) is not None


def effect_of(instruction: Instruction, looks_at_bits: frozenset[str] = frozenset()) -> Effect:
    """The effect of one instruction; of both halves of a pair, which read before either writes."""
    if instruction.dual is not None:
        first, second = (effect_of(half, looks_at_bits) for half in instruction.dual)
        return Effect(
            first.read | second.read,
            first.observed | second.observed,
            first.observed_halves | second.observed_halves,
            first.written | second.written,
            first.replaced | second.replaced,
            first.across | second.across,
            changes_exec=False,
        )
    name = instruction.name
    tolerant = name.startswith("v_") and not _BITS.match(name) and name not in looks_at_bits
    read = observed = observed_halves = written = 0
    for source in instruction.sources:
        places = _read(source)
        read |= places
        if not (tolerant and source.type in _SINGLES):
            observed |= places
        if not (tolerant and source.type in _HALVES):
            observed_halves |= places
    for destination in instruction.destinations:
        written |= _written(destination)
    partial = name.startswith(_PARTIAL) or (instruction.dpp is not None) or "_d16" in name
    exec_changes = changes_exec(instruction)
    if exec_changes:
        written |= scalar_place(EXEC)
    replaced, across = 0 if partial else written, read if reads_across(instruction) else 0
    return Effect(read, observed, observed_halves, written, replaced, across, exec_changes)


ALWAYS = scalar_place(EXEC)
"""Read by all vector operations."""


def read_by_condition(condition: str) -> int:
    """What a branch looks at."""
    return scalar_place(VCC) if "vcc" in condition else ALWAYS


@cache
def _register(register: Register, halves: int, count: int) -> int:
    numbers: Iterable[int] = range(register.number, register.number + count)
    if register.file == "s":
        if register.number in (NULL, SCC):  # of any width, alone: what follows them is none of theirs
            return 0
        return sum(scalar_place(number) for number in numbers)
    return sum(vector_place(number, halves) for number in numbers)


def _read(source: Source) -> int:
    if not isinstance(source.operand, Register):
        return 0
    return _places(source.operand, source.type)


def _written(destination: Destination) -> int:
    return _places(destination.operand, destination.type)


def _places(register: Register, type_: str) -> int:
    if type_ in _HALF_TYPES and register.count == 1:
        return _register(register, 2 if register.high else 1, 1)
    return _register(register, 3, max(register.count, 2 if type_ in _WIDE_TYPES else 1))

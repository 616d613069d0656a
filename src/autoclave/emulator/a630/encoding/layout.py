"""Words of 64 bits as rows of named fields: "010 sy jp 000011 full r2 - ...", the most significant bit first.

A row's parts are separated by spaces: digits 0 and 1 are fixed, "-" is a bit that says nothing and has to be zero,
"name" is a field of one bit, "name:8" one of 8 bits.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

Fields = dict[str, int]
"""A word's fields by name, as unsigned numbers."""

WORD_BITS = 64
_PART = re.compile(r"(?P<bits>[01-]+)|(?P<name>[a-z]\w*)(?::(?P<width>\d+))?")


class Reserved(Exception):
    """A field holds a value that no instruction has, or a record says what its encoding cannot."""


@dataclass(frozen=True)
class Layout:
    """Fixed bits (`mask` and their values `match`), bits that have to be zero, and where each field is.

    fields: (name, lowest bit, mask of the field's width).
    """

    mask: int
    match: int
    zero: int
    fields: tuple[tuple[str, int, int], ...]

    @classmethod
    def parse(cls, row: str) -> "Layout":
        """The layout that `row` writes down. Raises `ValueError` unless it has exactly 64 bits."""
        mask = match = zero = 0
        fields = []
        position = WORD_BITS
        for part in row.split():
            found = _PART.fullmatch(part)
            if found is None:
                raise ValueError(f"layout {row!r}: {part!r} is neither bits nor a field")
            width = len(found["bits"] or "") or int(found["width"] or 1)
            position -= width
            if found["name"]:
                fields.append((found["name"], position, (1 << width) - 1))
                continue
            mask |= _where(part, "01") << position
            match |= _where(part, "1") << position
            zero |= _where(part, "-") << position
        if position != 0 or len({name for name, _, _ in fields}) != len(fields):
            raise ValueError(f"layout {row!r}: {WORD_BITS - position} bits, expected {WORD_BITS} and unlike names")
        return cls(mask, match, zero, tuple(fields))

    def read(self, word: int) -> Fields:
        """The fields of a word that has this layout."""
        return {name: word >> low & mask for name, low, mask in self.fields}

    def write(self, fields: Fields) -> int:
        """The word with these fields; one that is not named is zero. `Reserved` if a value does not fit."""
        word = self.match
        for name, value in fields.items():
            low, mask = self._positions[name]
            if not 0 <= value <= mask:
                raise Reserved(f"field {name} cannot hold {value}")
            word |= value << low
        return word

    @cached_property
    def _positions(self) -> dict[str, tuple[int, int]]:
        return {name: (low, mask) for name, low, mask in self.fields}


def _where(part: str, digits: Iterable[str]) -> int:
    """A number with a 1 wherever `part` has one of `digits`."""
    return int("".join(str(int(digit in digits)) for digit in part), 2)


def signed(value: int, bits: int) -> int:
    """`value` of `bits` bits as a number of two's complement."""
    return value - (1 << bits) if value >> (bits - 1) else value


def unsigned(value: int, bits: int) -> int:
    """A number of two's complement as `bits` bits. Raises `Reserved` if it does not fit."""
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise Reserved(f"{value} does not fit into {bits} bits")
    return value & ((1 << bits) - 1)

"""Where an encoding has its fields."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from autoclave.emulator.rdna4.instruction import Encoding

WORD_BITS = 32
WORD_BYTES = 4

Fields = dict[str, int]
"""Fields of an instruction, by name."""


class Reserved(Exception):
    """Fields that encode no instruction, or an attribute that no field can express."""


_PART = re.compile(r"(?P<bits>[01]+)|(?P<zero>-+)|(?P<name>[a-z_0-9]+):(?P<width>\d+)")


@dataclass(frozen=True)
class Layout:
    """Words of an encoding: fixed bits (`mask`, `match`), bits that have to be zero, and fields as (name, low bit, mask)."""

    words: int
    mask: int
    match: int
    zero: int
    fields: tuple[tuple[str, int, int], ...]

    @classmethod
    def parse(cls, *rows: str) -> "Layout":
        """The layout whose words are `rows`, highest bit first: 0 and 1 fixed, - zero, name:width a field.

        Raises `ValueError` unless each row has exactly 32 bits.
        """
        mask = match = zero = 0
        fields: list[tuple[str, int, int]] = []
        for number, row in enumerate(rows):
            position = WORD_BITS * (number + 1)
            for part in row.split():
                found = _PART.fullmatch(part)
                if found is None:
                    raise ValueError(f"layout {row!r}: {part!r} is neither bits nor a field")
                width = int(found["width"] or len(part))
                position -= width
                if found["name"]:
                    fields.append((found["name"], position, (1 << width) - 1))
                    continue
                mask |= _where(part, "01") << position
                match |= _where(part, "1") << position
                zero |= _where(part, "-") << position
            if position != WORD_BITS * number:
                raise ValueError(f"layout {row!r}: {WORD_BITS * (number + 1) - position} bits, expected {WORD_BITS}")
        return cls(len(rows), mask, match, zero, tuple(fields))

    def __contains__(self, field: str) -> bool:
        """Whether there is a field of this name."""
        return field in self._positions

    def read(self, bits: int) -> Fields:
        """The fields of `bits`. `Reserved` if they are not of this layout."""
        if bits & self.mask != self.match:
            raise Reserved("fixed bits that are not those of the encoding")
        if bits & self.zero:
            raise Reserved(f"bits {bits & self.zero:#x} without a meaning")
        return {name: bits >> low & mask for name, low, mask in self.fields}

    def write(self, fields: Mapping[str, int]) -> int:
        """The bits with these fields; one that is not named is zero. `Reserved` if a value does not fit."""
        bits = self.match
        for name, value in fields.items():
            if name not in self._positions:
                raise Reserved(f"no field {name}")
            low, mask = self._positions[name]
            if not 0 <= value <= mask:
                raise Reserved(f"field {name} cannot hold {value}")
            bits |= value << low
        return bits

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


_VECTOR_SOURCES = "neg:3 omod:2 src2:9 src1:9 src0:9"
_FLAT = ("op:8 ------- saddr:7", "- vsrc:8 th:3 scope:2 sve:1 --------- vdst:8", "ioffset:24 vaddr:8")

LAYOUTS: Mapping[Encoding, Layout] = {
    "SOP2": Layout.parse("10 op:7 sdst:7 ssrc1:8 ssrc0:8"),
    "SOPK": Layout.parse("1011 op:5 sdst:7 simm16:16"),
    "SOP1": Layout.parse("101111101 sdst:7 op:8 ssrc0:8"),
    "SOPC": Layout.parse("101111110 op:7 ssrc1:8 ssrc0:8"),
    "SOPP": Layout.parse("101111111 op:7 simm16:16"),
    "SMEM": Layout.parse("111101 - th:2 scope:2 -- op:6 sdata:7 sbase:6", "soffset:7 - ioffset:24"),
    "VOP2": Layout.parse("0 op:6 vdst:8 vsrc1:8 src0:9"),
    "VOP1": Layout.parse("0111111 vdst:8 op:8 src0:9"),
    "VOPC": Layout.parse("0111110 op:8 vsrc1:8 src0:9"),
    "VOP3": Layout.parse("110101 op:10 clamp:1 opsel:4 abs:3 vdst:8", _VECTOR_SOURCES),
    "VOP3SD": Layout.parse("110101 op:10 clamp:1 sdst:7 vdst:8", _VECTOR_SOURCES),
    "VOP3P": Layout.parse(
        "11001100 - op:7 clamp:1 opsel_hi2:1 opsel:3 neg_hi:3 vdst:8", "neg:3 opsel_hi:2 src2:9 src1:9 src0:9"
    ),
    "VOPD": Layout.parse("110010 opx:4 opy:5 vsrcx1:8 srcx0:9", "vdstx:8 vdsty:7 vsrcy1:8 srcy0:9"),
    "DS": Layout.parse("110110 op:8 -- offset1:8 offset0:8", "vdst:8 data1:8 data0:8 addr:8"),
    "FLAT": Layout.parse(f"11101100 -- {_FLAT[0]}", *_FLAT[1:]),
    "SCRATCH": Layout.parse(f"11101101 -- {_FLAT[0]}", *_FLAT[1:]),
    "GLOBAL": Layout.parse(f"11101110 -- {_FLAT[0]}", *_FLAT[1:]),
}
"""Layouts by encoding. The manual, "Microcode Formats"."""

DPP16 = Layout.parse(
    "row_mask:4 bank_mask:4 abs1:1 neg1:1 abs0:1 neg0:1 bound_control:1 fetch_inactive:1 - control:9 src0:8"
)
DPP8 = Layout.parse("selectors:24 src0:8")
"""The word that follows an instruction whose first source is DPP."""

"""The variables that registers lie in between blocks."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from autoclave.emulator.a630.translator.operations import HALF
from autoclave.emulator.ir import Builder, Value, constant, vector
from autoclave.emulator.translator.workgroups import clear_memory


def members(bits: int) -> Iterator[int]:
    """The locations in a finite set."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


@dataclass(slots=True)
class Files:
    """The variables that registers lie in between blocks, by location; made when they are first used."""

    builder: Builder
    lanes: int
    indexed: bool = False
    scalars: dict[int, Value] = field(default_factory=dict)
    vectors: dict[int, Value] = field(default_factory=dict)
    arrays: dict[bool, Value] = field(default_factory=dict)

    def element(self, place: int) -> str:
        """The integer type of a location."""
        return "i16" if place >= HALF else "i32"

    def slot(self, place: int, varying: bool) -> tuple[Value, str]:
        """The variable and its type."""
        known = self.vectors if varying else self.scalars
        type_ = vector(self.lanes, self.element(place)) if varying else self.element(place)
        if place not in known:
            known[place] = self._element_of_array(place) if self.indexed else self.builder.alloca(type_)
        return known[place], type_

    def array(self, half: bool) -> Value:
        """All registers of one width, each a vector, one behind the other: where they are indexed."""
        if half not in self.arrays:
            self.arrays[half] = self.builder.alloca(f"[{HALF} x {vector(self.lanes, 'i16' if half else 'i32')}]")
        return self.arrays[half]

    def _element_of_array(self, place: int) -> Value:
        half = place >= HALF
        offset = place % HALF * self.lanes * (2 if half else 4)
        return self.builder.in_entry(f"getelementptr i8, ptr {self.array(half).text}, i64 {offset}", "ptr")

    def load(self, place: int, varying: bool) -> Value:
        """What lies in the variable."""
        pointer, type_ = self.slot(place, varying)
        return self.builder.load(pointer, type_, self._alignment(varying))

    def store(self, place: int, value: Value, varying: bool) -> None:
        """Put `value` there, in every lane if it is a scalar and the variable is not."""
        pointer, _ = self.slot(place, varying)
        self.builder.store(
            self.builder.splat(value, self.lanes) if varying else value, pointer, self._alignment(varying)
        )

    def _alignment(self, varying: bool) -> int:
        """Of a variable that is a vector; in an array, the next one follows without a gap."""
        if not varying:
            return 2
        return min(64, 2 * self.lanes) if self.indexed else 64

    def clear(self) -> None:
        """Zero all variables there are."""
        for half, array in self.arrays.items():
            clear_memory(self.builder, array, HALF * self.lanes * (2 if half else 4))
        for place in self.scalars:
            self.store(place, constant(0, self.element(place)), False)
        for place in self.vectors:
            self.store(place, constant(0, self.element(place)), True)

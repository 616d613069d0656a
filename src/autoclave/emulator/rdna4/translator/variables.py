"""The variables that registers lie in between blocks, and the places that sets of registers are made of.

A set is an integer. Its bits: the lower halves of 256 vector registers, their upper halves, scalar registers.
"""

from dataclasses import dataclass, field

from autoclave.emulator.ir import Builder, Value, constant, vector
from autoclave.emulator.rdna4.translator.content import Content
from autoclave.emulator.rdna4.translator.forms import Forms

VECTOR_REGISTERS = 256
SCALAR_REGISTERS = 128
SCALAR_PLACE = 2 * VECTOR_REGISTERS


def vector_place(number: int, halves: int = 3) -> int:
    """The set of a vector register's halves: 1 the lower one, 2 the upper one, 3 both."""
    return (halves & 1) << number | (halves >> 1) << (VECTOR_REGISTERS + number)


def halves_in(places: int, number: int) -> int:
    """Which halves of a vector register are in a set: 1 the lower one, 2 the upper one."""
    return places >> number & 1 | (places >> (VECTOR_REGISTERS + number) & 1) << 1


def scalar_place(number: int) -> int:
    """The set of a scalar register."""
    return 1 << (SCALAR_PLACE + number)


@dataclass(slots=True)
class Variables:
    """The variables, made when they are first used."""

    builder: Builder
    lanes: int
    vectors: dict[int, Value] = field(default_factory=dict)
    scalars: dict[int, Value] = field(default_factory=dict)

    def vector_variable(self, number: int) -> Value:
        """The variable of a vector register."""
        if number not in self.vectors:
            self.vectors[number] = self.builder.alloca(vector(self.lanes, "i32"))
        return self.vectors[number]

    def scalar_variable(self, number: int) -> Value:
        """The variable of a scalar register."""
        if number not in self.scalars:
            self.scalars[number] = self.builder.alloca("i32")
        return self.scalars[number]

    def load_vector(self, number: int) -> Value:
        """What lies in a vector register's variable."""
        return self.builder.load(self.vector_variable(number), vector(self.lanes, "i32"), 64)

    def store_vector(self, number: int, value: Value) -> None:
        """Put <lanes x i32> there."""
        self.builder.store(value, self.vector_variable(number), 64)

    def load_scalar(self, number: int) -> Value:
        """What lies in a scalar register's variable."""
        return self.builder.load(self.scalar_variable(number), "i32", 4)

    def store_scalar(self, number: int, value: Value) -> None:
        """Put an i32 there."""
        self.builder.store(value, self.scalar_variable(number), 4)

    def clear(self) -> None:
        """Zero all variables there are."""
        for variable in self.vectors.values():
            self.builder.store(constant(0, vector(self.lanes, "i32")), variable, 64)
        for variable in self.scalars.values():
            self.builder.store(constant(0, "i32"), variable, 4)

    @staticmethod
    def kept(kept: int, number: int, halves: int) -> bool:
        """Whether lanes that are off may be asked for these halves."""
        return bool(kept & vector_place(number, halves))

    def stored(self, forms: Forms, content: Content, alive: int, observed: int, observed_halves: int) -> Value | None:
        """What of a content is stored at a block's end; None if nobody reads it. NaNs stay as they are where no bits are looked at.

        The halves that are read later, and those whose bits are looked at of a float, of two halves.
        """
        if not alive:
            return None
        if content.bits is None and content.number is not None and not observed:
            return forms.ir.convert("bitcast", content.number, "i32")
        if content.bits is None and content.number is None and content.halves is not None:
            return self._stored_halves(forms, content, alive, observed_halves)
        return forms.bits(content)

    def _stored_halves(self, forms: Forms, content: Content, alive: int, looked_at: int) -> Value:
        assert content.halves is not None
        values = []
        for place, half in enumerate(content.halves):
            if not alive >> place & 1 or half.zero:
                continue
            tolerant = (
                half.bits is None and half.whole is None and half.number is not None and not looked_at >> place & 1
            )
            if tolerant:
                assert half.number is not None
                half.bits = forms.narrow(half.number)
            values.append(forms.kept_half(half, bool(place)))
        if not values:
            return constant(0, vector(self.lanes, "i32"))
        return values[0] if len(values) == 1 else forms.ir.binary("or", values[0], values[1])

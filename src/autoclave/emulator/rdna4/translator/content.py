"""What a vector register holds while a block is translated: bits, or floats whose bits nobody has asked for yet.

A register of 32 bits holds one float or two halves. Which form is there follows from who wrote it; the others are made when they are asked
for, and stay. So a chain of operations on halves never packs them, and NaNs become canonical only where somebody looks.
"""

from dataclasses import dataclass

from autoclave.emulator.ir import Value


@dataclass(slots=True, eq=False)
class Half:
    """16 bits of each lane. At least one of `bits`, `number` and `whole` is known.

    bits: <lanes x i16>. number: <lanes x float> that holds the half exactly. loose: NaNs of `number` are not canonical yet.
    whole, high: it is the upper or lower half of that content. zero: it is 0 in all lanes.
    """

    bits: Value | None = None
    number: Value | None = None
    loose: bool = False
    whole: "Content | None" = None
    high: bool = False
    zero: bool = False

    @property
    def is_number(self) -> bool:
        """Whether the float says all of it: it was computed, or is 0."""
        return self.zero or (self.number is not None and self.bits is None and self.whole is None)


@dataclass(slots=True, eq=False)
class Content:
    """32 bits of each lane. At least one of `bits`, `number`, `scalar` and `halves` is known.

    bits: <lanes x i32>. number: <lanes x float>. loose: NaNs of `number` are not canonical yet, so that `bits` have to wait.
    scalar: an i32 that all lanes hold. halves: the lower one, the upper one.
    """

    bits: Value | None = None
    number: Value | None = None
    loose: bool = False
    scalar: Value | None = None
    halves: tuple[Half, Half] | None = None

    @property
    def is_number(self) -> bool:
        """Whether the float says all of it: it was computed, or is 0."""
        if self.scalar is not None:
            return self.scalar.text == "0"
        return self.number is not None and self.bits is None

    @property
    def is_packed(self) -> bool:
        """Whether its halves are apart, so that bits would have to be made of them."""
        return self.halves is not None and self.bits is None and self.number is None

"""What a register holds while a block is translated: its bits, or a float whose bits nobody has asked for yet."""

from dataclasses import dataclass, replace

from autoclave.emulator.ir import Value


@dataclass(slots=True, eq=False)
class Content:
    """At least one of `literal`, `bits`, `predicate` and `number` is known; others follow from it when they are asked for.

    Values are scalars where all lanes hold the same. half: 16 bits, else 32.

    literal: known while translating. bits: an integer of that width. predicate: i1, the bits are 0 or 1. number: an f32, also
        that of a half.
    loose: NaNs of `number` are not canonical yet; they become so when bits are asked for.
    opaque: LLVM cannot know it, so that it cannot simplify what is computed from it (x * 1 drops a flush).
    flushed: it is no denormal.
    """

    half: bool = False
    literal: int | None = None
    bits: Value | None = None
    predicate: Value | None = None
    number: Value | None = None
    loose: bool = False
    opaque: bool = False
    flushed: bool = False

    def copy(self) -> "Content":
        """The same, for another register."""
        return replace(self)

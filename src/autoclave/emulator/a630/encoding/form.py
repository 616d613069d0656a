"""A form of instruction: how its bits lie, what they say, and how it is printed."""

from collections.abc import Iterable
from dataclasses import dataclass

from autoclave.emulator.a630.encoding.layout import Layout
from autoclave.emulator.a630.encoding.parts import Part

TYPES = ("f16", "f32", "u16", "u32", "s16", "s32", "u8", "u8_32")
"""Element types by number (ir3-common.xml, #type)."""

ATOMIC_TYPES = ("f16", "f32", "u16", "u32", "s16", "s32", "u64", "u8_32")
"""Of atomics on global memory and images (#type-atomic)."""

HALF_TYPES = frozenset({0, 2, 4, 6})
"""Types in half registers (#type-half): f16, u16, s16 and u8."""


@dataclass(frozen=True)
class Form:
    """Instructions of one layout. `names` has one mnemonic, or those among which a part chooses.

    parts: in the order in which they are written; a part may rely on the fields of those before it.
    text: what Mesa prints, with names of `autoclave.emulator.a630.text` in braces.
    """

    names: tuple[str, ...]
    category: int
    layout: Layout
    parts: tuple[Part, ...]
    text: str


def form(name: str, row: str, parts: Iterable[Part], text: str) -> Form:
    """The form of instructions called `name`, whose category is in the first three bits of `row`."""
    layout = Layout.parse(row)
    return Form((name,), layout.match >> 61, layout, tuple(parts), text)

"""Which lane's value a lane gets: DPP, swizzles and permutations within rows of 16."""

from collections.abc import Callable, Sequence
from typing import Final

from autoclave.emulator.rdna4.instruction import Dpp

ROW: Final = 16
LANES: Final = 32


def _in_row(lane: int, position: int) -> int:
    return lane & ~15 | position


def _quad(control: int, lane: int) -> int | None:
    return lane & ~3 | control >> 2 * (lane & 3) & 3


def _shift_left(amount: int, lane: int) -> int | None:
    return lane + amount if (lane & 15) + amount < ROW else None


def _shift_right(amount: int, lane: int) -> int | None:
    return lane - amount if (lane & 15) >= amount else None


def _rotate_right(amount: int, lane: int) -> int | None:
    return _in_row(lane, lane - amount & 15)


def _mirror(amount: int, lane: int) -> int | None:
    return lane ^ 15


def _mirror_half(amount: int, lane: int) -> int | None:
    return lane ^ 7


def _share(position: int, lane: int) -> int | None:
    return _in_row(lane, position)


def _exclusive_or(mask: int, lane: int) -> int | None:
    return lane ^ mask


_CONTROLS: Final[tuple[tuple[int, int, Callable[[int, int], int | None]], ...]] = (
    (0x101, 0x10F, _shift_left),
    (0x111, 0x11F, _shift_right),
    (0x121, 0x12F, _rotate_right),
    (0x140, 0x140, _mirror),
    (0x141, 0x141, _mirror_half),
    (0x150, 0x15F, _share),
    (0x160, 0x16F, _exclusive_or),
)
"""Ranges of DPP_CTRL beyond the permutations of four (0 to 255); the function gets the low four bits."""


def dpp_source(dpp: Dpp, lane: int) -> int | None:
    """The lane whose value `lane` gets; None where there is no such lane.

    Raises ValueError for a control that means nothing.
    """
    if dpp.selectors is not None:
        return lane & ~7 | dpp.selectors[lane & 7]
    if dpp.control <= 0xFF:
        return _quad(dpp.control, lane)
    for first, last, source in _CONTROLS:
        if first <= dpp.control <= last:
            return source(dpp.control & 15, lane)
    raise ValueError(f"DPP control {dpp.control:#x} means nothing")


def dpp_writes(dpp: Dpp, lane: int) -> bool:
    """Whether the masks of rows and banks let the lane be written."""
    if dpp.selectors is not None:
        return True
    return bool(dpp.row_mask >> lane // ROW & 1 and dpp.bank_mask >> (lane // 4 & 3) & 1)


def permute_rows(values: Sequence[int], low: int, high: int, crossed: bool) -> list[int]:
    """v_permlane16: each lane gets that lane of its row, or with `crossed` (v_permlanex16) of the other row, that the nibble of
    its position in high:low names.
    """
    selectors = high << 32 | low
    return [
        values[(lane ^ ROW if crossed else lane) & ROW | selectors >> 4 * (lane & 15) & 15] for lane in range(LANES)
    ]


def permute_rows_by_lane(values: Sequence[int], selectors: Sequence[int], crossed: bool) -> list[int]:
    """v_permlane16_var: as `permute_rows`, each lane with a selector of its own."""
    return [values[(lane ^ ROW if crossed else lane) & ROW | selectors[lane] & 15] for lane in range(LANES)]


def swizzled_lane(pattern: int, lane: int) -> int:
    """ds_swizzle: the lane that `lane` reads, by the instruction's 16-bit offset.

    Bit 15 clear: masks of five bits, and (4 to 0), or (9 to 5), xor (14 to 10). From 0xE000 on: lanes with the bits reversed that
    bits 4 to 0 do not keep. From 0xC000 on: a rotation by bits 9 to 5, to the right if bit 10 is set, among lanes that agree in the
    bits of 4 to 0. Otherwise a permutation of four (bits 7 to 0).
    """
    if pattern >= 0xE000:
        keep = pattern & 31
        return _bit_reversed(lane) >> keep.bit_count() | lane & keep
    if pattern >= 0xC000:
        amount, keep = pattern >> 5 & 31, pattern & 31
        moved = lane - amount if pattern >> 10 & 1 else lane + amount
        return lane & keep | moved & 31 & ~keep
    if pattern & 0x8000:
        return lane & ~3 | pattern >> 2 * (lane & 3) & 3
    return (lane & pattern & 31 | pattern >> 5 & 31) ^ (pattern >> 10 & 31)


def _bit_reversed(lane: int) -> int:
    return int(f"{lane:05b}"[::-1], 2)

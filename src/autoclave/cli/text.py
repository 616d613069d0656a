"""How commands write to a terminal: sizes for people, aligned columns, no control characters from a file; and read numbers."""

import argparse
from collections.abc import Iterable, Sequence

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def natural(text: str) -> int:
    """An option's whole number, from 0 up. Raises `ArgumentTypeError` for anything else."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 up, got {text}")
    return int(text)


def printable(text: str) -> str:
    """`text` with control characters spelled out, so that a name in a file cannot steer the terminal."""
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode() for char in text
    )


def size_text(nbytes: int) -> str:
    """A number of bytes for people: "61.2 MiB"."""
    for factor, unit in _UNITS:
        if nbytes >= factor:
            return f"{nbytes / factor:.1f} {unit}"
    return f"{nbytes} B"


def shape_text(shape: Sequence[int]) -> str:
    """A shape as in "1x12x128x256"; "scalar" for none."""
    return "x".join(map(str, shape)) or "scalar"


def count_text(count: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun: "1 kernel", "3 kernels"; `plural` where an s is not enough."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def columns(rows: Iterable[Sequence[object]], indent: int = 2) -> list[str]:
    """Rows as lines of aligned columns; numbers and sizes to the right, all else to the left."""
    table = [[printable(str(cell)) for cell in row] for row in rows]
    if not table:
        return []
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
    return [
        (
            " " * indent
            + "  ".join(
                cell.rjust(width) if cell[:1].isdigit() and place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
        ).rstrip()
        for row in table
    ]

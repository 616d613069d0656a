"""What a slice of the output tensor may be, and its name, wherever they are read from."""

from typing import Any

from autoclave.errors import SourceError

MAX_OUTPUTS = 256
MAX_NAME = 128
"""Characters of an output's name."""
MAX_BOUND = 1 << 31
"""How far from 0 a slice may begin or end."""


class OutputSlicesError(SourceError):
    """`output_slices` holds something else than a dict from names to slices, or is damaged."""


def check_name(name: Any, where: str) -> None:
    """Refuse what is no name of an output with an `OutputSlicesError` that begins with `where`."""
    if not isinstance(name, str):
        raise OutputSlicesError(f"{where}: a name is {shown(name)}; expected a string")
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise OutputSlicesError(f"{where}: {name[:40]!r} is no name: 1 to {MAX_NAME} printable characters")


def checked_slice(parts: tuple[Any, ...], where: str) -> slice:
    """The slice of `parts` (start, stop, step). Refuses bounds that are no integers, and steps, as `check_name` does."""
    for part in parts:
        if part is not None and (type(part) is not int or not -MAX_BOUND <= part <= MAX_BOUND):
            raise OutputSlicesError(f"{where}: a bound is {shown(part)}; expected an integer or none")
    start, stop, step = parts
    if step not in (None, 1):
        raise OutputSlicesError(f"{where}: a step of {step}; an output's values lie side by side")
    return slice(start, stop)


def shown(value: Any) -> str:
    """What a value is, in few words, whatever it holds."""
    if value is None or isinstance(value, (bool, slice)) or (isinstance(value, int) and abs(value) < 1 << 64):
        return str(value)
    if isinstance(value, str):
        return repr(value[:40])
    return f"a {type(value).__name__.strip('_').lower()}"

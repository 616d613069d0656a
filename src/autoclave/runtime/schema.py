"""The form of a header: which keys with which types. Anything else is refused, with the path to it."""

from collections.abc import Callable
from typing import Any

from . import records
from .errors import FormatError

Reader = Callable[[Any, str], Any]
"""Takes a JSON value and where it stands, and gives what it means. Raises `FormatError`."""

MAX_INTEGER = (1 << 53) - 1
MAX_DEPTH = 32
MAX_RANK = 16


def read_header(value: Any) -> records.Header:
    """The header that the JSON `value` spells. Raises `FormatError` that says which value is wrong."""
    header: records.Header = _HEADER(value, "header")
    return header


def _wrong(where: str, expected: str, value: Any) -> FormatError:
    shown = f"{type(value).__name__} of {len(value)}" if isinstance(value, dict | list) else repr(value)[:60]
    return FormatError(f"{where}: expected {expected}, found {shown}")


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise _wrong(where, "a string that is not empty", value)
    return value


def _integer(lowest: int, highest: int) -> Reader:
    def read(value: Any, where: str) -> int:
        if type(value) is not int or not lowest <= value <= highest:
            raise _wrong(where, f"an integer from {lowest} to {highest}", value)
        return value

    return read


def _choice(*known: str) -> Reader:
    def read(value: Any, where: str) -> str:
        if not isinstance(value, str) or value not in known:
            raise _wrong(where, f"one of {', '.join(known)}", value)
        return value

    return read


def _optional(reader: Reader) -> Reader:
    return lambda value, where: None if value is None else reader(value, where)


def _items(reader: Reader, least: int = 0, most: int | None = None) -> Reader:
    def read(value: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) < least or (most is not None and len(value) > most):
            raise _wrong(where, f"a list of {least} to {'any number' if most is None else most}", value)
        return tuple(reader(item, f"{where}[{number}]") for number, item in enumerate(value))

    return read


def _record(make: Callable[..., Any], **readers: Reader) -> Reader:
    def read(value: Any, where: str) -> Any:
        if not isinstance(value, dict) or value.keys() != readers.keys():
            raise _wrong(where, f"an object with the keys {', '.join(readers)} and no other", value)
        return make(**{name: reader(value[name], f"{where}.{name}") for name, reader in readers.items()})

    return read


def _free(value: Any, where: str) -> dict[str, Any]:
    """Anything in an object, but for what JSON readers differ about."""
    if not isinstance(value, dict):
        raise _wrong(where, "an object", value)
    _check_free(value, where, MAX_DEPTH)
    return value


def _check_free(value: Any, where: str, depth: int) -> None:
    if isinstance(value, float) or (type(value) is int and abs(value) > MAX_INTEGER):
        raise _wrong(where, "no fractions and integers of at most 53 bits", value)
    if isinstance(value, dict | list):
        if depth == 0:
            raise FormatError(f"{where}: nested deeper than {MAX_DEPTH} levels")
        for item in value.values() if isinstance(value, dict) else value:
            _check_free(item, where, depth - 1)


def _part_key(value: Any, where: str) -> records.PartKey:
    key: records.PartKey = _text(value, where) if isinstance(value, str) else _CAMERA(value, where)
    return key


def _call(value: Any, where: str) -> records.Call:
    kind = value.get("kind") if isinstance(value, dict) else None
    reader = _CALLS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise _wrong(where, f"a call of kind {' or '.join(_CALLS)}", value)
    call: records.Call = reader({name: item for name, item in value.items() if name != "kind"}, where)
    return call


_SIZE = _integer(0, MAX_INTEGER)
_POSITIVE = _integer(1, MAX_INTEGER)
_INDEX = _integer(0, (1 << 31) - 1)
_SIZE3 = _items(_integer(1, (1 << 31) - 1), 3, 3)
_VALUE = _integer(-(1 << 31), (1 << 31) - 1)
_SPAN = _items(_SIZE, 2, 2)
_SHAPE = _items(_POSITIVE, 0, MAX_RANK)
_DTYPE = _choice(*records.ITEMSIZE)
_CAMERA = _items(_integer(1, 1 << 20), 2, 2)
_ARGUMENT = _record(records.Argument, buffer=_INDEX, offset=_SIZE, nbytes=_POSITIVE, dtype=_DTYPE)
_CALLS = {
    "program": _record(
        records.Program,
        kernel=_INDEX,
        global_size=_SIZE3,
        local_size=_SIZE3,
        args=_items(_ARGUMENT),
        values=_items(_VALUE),
    ),
    "copy": _record(records.Copy, destination=_ARGUMENT, source=_ARGUMENT),
}
_TENSORS = _items(_record(records.Tensor, name=_text, shape=_SHAPE, dtype=_DTYPE, buffer=_INDEX, offset=_SIZE))
_BUFFER = _record(
    records.Buffer,
    kind=_choice("input", "constant", "persistent", "arena", "output"),
    nbytes=_SIZE,
    data=_optional(_SPAN),
    name=_optional(_text),
)
_KERNEL = _record(
    records.Kernel,
    name=_text,
    renderer=_text,
    lib=_SPAN,
    signature=_items(_record(records.Parameter, name=_text, slot=_INDEX, dtype=_DTYPE, shape=_SHAPE)),
    globals=_items(_INDEX),
    outs=_items(_INDEX),
    ins=_items(_INDEX),
    launch=_free,
)
_PART = _record(
    records.Part,
    key=_part_key,
    target=_record(records.Target, device=_text, renderer=_text, arch=_text),
    inputs=_TENSORS,
    outputs=_TENSORS,
    buffers=_items(_BUFFER),
    init=_items(_call),
    calls=_items(_call),
)
_HEADER = _record(records.Header, metadata=_free, kernels=_items(_KERNEL), parts=_items(_PART))

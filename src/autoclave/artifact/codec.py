"""The header as canonical JSON: `encode_header` and the strict `decode_header`.

Decoding trusts nothing. JSON must be canonical (it re-encodes to the same bytes), every field must be there with its
type, and nothing else may be there. Before a byte is parsed, `parse_cost` bounds the memory that parsing can take.
"""

import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from autoclave.artifact import layout
from autoclave.artifact.model import (
    Argument,
    Buffer,
    Call,
    Copy,
    Header,
    Kernel,
    Parameter,
    Part,
    Program,
    Span,
    Target,
    TensorSpec,
)
from autoclave.canonical import canonical_json
from autoclave.errors import ArtifactError

MAX_DEPTH = 32
"""How deep `metadata` and `launch` may nest."""

MAX_RANK = 16
"""Dimensions of a shape."""

_COST = {b"{": 300, b"[": 100, b",": 56, b":": 40}
"""At most what CPython allocates for an object, a list, one more item and one more value, in bytes."""

_COST_OF_TEXT = {1: 6, 2: 10, 4: 18}
"""The same for a byte of text (as it came, decoded, as a value, spelled anew), by the width of its widest character."""

_ALLOWANCE = 12 << 20


def encode_header(header: Header) -> bytes:
    """The header's one spelling in bytes; `ArtifactError` if it holds what JSON cannot (NaN, a lone surrogate)."""
    try:
        return canonical_json(header_as_json(header))
    except (ValueError, TypeError, RecursionError) as error:
        raise ArtifactError(f"the header cannot be written as JSON: {error}") from error


def header_as_json(header: Header) -> dict[str, Any]:
    """The header as lists, objects and scalars, fresh ones but for `metadata` and `launch`."""
    value: dict[str, Any] = _encode(header)
    return value


def decode_header(data: bytes, file_size: int) -> Header:
    """Read a header of a file of `file_size` bytes.

    Checks types and spelling only; `validate_header` checks what the numbers mean. Raises `ArtifactError`.
    """
    cost = parse_cost(data)
    if cost > parse_budget(file_size):
        raise ArtifactError(
            f"header: parsing it may take {cost} bytes of memory, more than the {parse_budget(file_size)} "
            f"that a file of {file_size} bytes may ask for"
        )
    value = _parse(data)
    try:
        header: Header = _header(value)
    except _Malformed as error:
        where = f"{error.where}: " if error.where else ""
        raise ArtifactError(f"header: {where}{error.what}") from None
    return header


def parse_cost(data: bytes) -> int:
    """At most how much memory, in bytes, parsing `data` as JSON takes; quick, and takes none itself."""
    width = 1 if data.isascii() else 2 if max(data) < _FOUR_BYTE_CHARACTER else 4
    return len(data) * _COST_OF_TEXT[width] + sum(data.count(token) * cost for token, cost in _COST.items())


_FOUR_BYTE_CHARACTER = 0xF0
"""The first byte of a character beyond U+FFFF in UTF-8, for which CPython spends four bytes on every character."""


def parse_budget(file_size: int) -> int:
    """The largest `parse_cost` that a header of a file of `file_size` bytes may have."""
    return 2 * file_size + _ALLOWANCE


def _encode(value: Any) -> Any:
    if isinstance(value, Span):
        return [value.offset, value.length]
    if is_dataclass(value):
        record = {item.name: _encode(getattr(value, item.name)) for item in fields(value)}
        return {"kind": _CALL_KINDS[type(value)], **record} if type(value) in _CALL_KINDS else record
    if isinstance(value, list | tuple):
        return [_encode(item) for item in value]
    return value


_CALL_KINDS: dict[type, str] = {Program: "program", Copy: "copy"}


def _parse(data: bytes) -> Any:
    try:
        value = json.loads(data.decode(), parse_constant=_refuse_constant)
        spelled = canonical_json(value)
    except RecursionError:
        raise ArtifactError(f"header: nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise ArtifactError(f"header: not JSON in UTF-8: {error}") from None
    if spelled != data:
        at = next(
            (i for i, (a, b) in enumerate(zip(spelled, data, strict=False)) if a != b), min(len(spelled), len(data))
        )
        raise ArtifactError(
            f"header: not canonical JSON (sorted keys without repeats, no spaces, shortest numbers): "
            f"byte {at} differs from the canonical spelling"
        )
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


class _Malformed(Exception):
    """A value of the wrong form; `where` grows outwards as the readers unwind."""

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where


_Reader = Callable[[Any], Any]


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _Malformed(f"expected a string that is not empty, found {_shown(value)}")
    return value


def _integer(lowest: int, highest: int) -> _Reader:
    def read(value: Any) -> int:
        if type(value) is not int or not lowest <= value <= highest:
            raise _Malformed(f"expected an integer from {lowest} to {highest}, found {_shown(value)}")
        return value

    return read


def _one_of(*choices: str) -> _Reader:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise _Malformed(f"expected one of {', '.join(choices)}, found {_shown(value)}")
        return value

    return read


def _optional(reader: _Reader) -> _Reader:
    return lambda value: None if value is None else reader(value)


def _each(reader: _Reader, length: int | None = None, at_most: int | None = None) -> _Reader:
    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or (length is not None and len(value) != length):
            wanted = "a list" if length is None else f"a list of {length}"
            raise _Malformed(f"expected {wanted}, found {_shown(value)}")
        if at_most is not None and len(value) > at_most:
            raise _Malformed(f"expected a list of at most {at_most}, found {_shown(value)}")
        items = []
        for number, item in enumerate(value):
            try:
                items.append(reader(item))
            except _Malformed as error:
                error.where = _joined(f"[{number}]", error.where)
                raise
        return tuple(items)

    return read


def _record(make: Callable[..., Any], **readers: _Reader) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _Malformed(f"expected an object with {', '.join(readers)}, found {_shown(value)}")
        if value.keys() != readers.keys():
            raise _Malformed(_key_complaint(value, readers))
        values = {}
        for name, reader in readers.items():
            try:
                values[name] = reader(value[name])
            except _Malformed as error:
                error.where = _joined(name, error.where)
                raise
        return make(**values)

    return read


def _key_complaint(value: dict[str, Any], readers: dict[str, _Reader]) -> str:
    missing = sorted(readers.keys() - value.keys())
    if missing:
        return f"the key {missing[0]!r} is missing"
    return f"the key {_shown(min(value.keys() - readers.keys()))} is unknown; expected {', '.join(readers)}"


def _span(value: Any) -> Span:
    return Span(*_each(_size, 2)(value))


def _part_key(value: Any) -> str | tuple[int, int]:
    if isinstance(value, str):
        return _text(value)
    width, height = _each(_integer(1, 1 << 20), 2)(value)
    return width, height


def _call(value: Any) -> Call:
    kind = value.get("kind") if isinstance(value, dict) else None
    reader = _CALL_READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise _Malformed(f"expected a call of kind {' or '.join(_CALL_READERS)}, found {_shown(value)}")
    call: Call = reader({name: item for name, item in value.items() if name != "kind"})
    return call


def _free(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Malformed(f"expected an object, found {_shown(value)}")
    _check_free(value, MAX_DEPTH)
    return value


def _check_free(value: Any, depth: int) -> None:
    if isinstance(value, float):
        raise _Malformed(f"expected no fractions (languages spell them differently), found {_shown(value)}")
    if type(value) is int and abs(value) > layout.MAX_INTEGER:
        raise _Malformed(f"expected an integer of at most 53 bits, found {_shown(value)}")
    if not isinstance(value, dict | list):
        return
    if depth == 0:
        raise _Malformed(f"nested deeper than {MAX_DEPTH} levels")
    for item in value.values() if isinstance(value, dict) else value:
        _check_free(item, depth - 1)


def _joined(outer: str, inner: str) -> str:
    return outer + inner if not inner or inner.startswith("[") else f"{outer}.{inner}"


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    text = json.dumps(value[:60] if isinstance(value, str) else value)
    return text if len(text) <= 60 else text[:57] + "..."


_size = _integer(0, layout.MAX_INTEGER)
_dimension = _integer(1, layout.MAX_INTEGER)
_index = _integer(0, (1 << 31) - 1)
_threads = _integer(1, (1 << 31) - 1)
_value = _integer(-(1 << 31), (1 << 31) - 1)
_shape = _each(_dimension, at_most=MAX_RANK)
_argument = _record(Argument, buffer=_index, offset=_size, nbytes=_dimension, dtype=_text)
_tensor = _record(TensorSpec, name=_text, shape=_shape, dtype=_text, buffer=_index, offset=_size)
_buffer = _record(
    Buffer,
    kind=_one_of("input", "constant", "persistent", "arena", "output"),
    nbytes=_size,
    data=_optional(_span),
    name=_optional(_text),
)
_CALL_READERS: dict[str, _Reader] = {
    "program": _record(
        Program,
        kernel=_index,
        global_size=_each(_threads, 3),
        local_size=_each(_threads, 3),
        args=_each(_argument),
        values=_each(_value),
    ),
    "copy": _record(Copy, destination=_argument, source=_argument),
}
_kernel = _record(
    Kernel,
    name=_text,
    renderer=_text,
    lib=_span,
    signature=_each(_record(Parameter, name=_text, slot=_index, dtype=_text, shape=_shape)),
    globals=_each(_index),
    outs=_each(_index),
    ins=_each(_index),
    launch=_free,
)
_part = _record(
    Part,
    key=_part_key,
    target=_record(Target, device=_text, renderer=_text, arch=_text),
    inputs=_each(_tensor),
    outputs=_each(_tensor),
    buffers=_each(_buffer),
    init=_each(_call),
    calls=_each(_call),
)
_header = _record(Header, metadata=_free, kernels=_each(_kernel), parts=_each(_part))

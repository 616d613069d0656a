"""Reading the protobuf wire format in place, without generated classes and without copying.

Only what ONNX uses: varints, 32 and 64 bit values, and length-delimited fields. Every read is checked against the end
of the message that encloses it, so a truncated or damaged file ends in a `SourceError` that names the offset and what
was being read. See https://protobuf.dev/programming-guides/encoding/.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType

from autoclave.errors import SourceError


class WireType(IntEnum):
    """How a field's value is encoded. Groups (3 and 4) are obsolete and not used by ONNX."""

    VARINT = 0
    FIXED64 = 1
    BYTES = 2
    FIXED32 = 5


_FIXED_SIZE = {WireType.FIXED64: 8, WireType.FIXED32: 4}
_MAX_VARINT_BYTES = 10
_CONTINUED = bytes(range(0x80, 0x100))
_COUNT_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Message:
    """A stretch of the file, `start` to `end`, that holds one message; `what` names it in errors."""

    data: memoryview
    start: int
    end: int
    what: str

    @property
    def size(self) -> int:
        """Length in bytes."""
        return self.end - self.start

    def fail(self, offset: int, problem: str) -> SourceError:
        """The error for a problem at `offset`; to be raised by the caller."""
        return SourceError(f"at byte {offset}, reading {self.what} (bytes {self.start} to {self.end}): {problem}")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message.

    `value` is the number of a varint; for the others the payload is the file's bytes from `start` to `end`. `offset` is
    where the field's tag is.
    """

    message: Message
    number: int
    wire_type: WireType
    offset: int
    start: int
    end: int
    value: int

    def integer(self, name: str) -> int:
        """The value as a signed 64 bit integer."""
        self._expect(WireType.VARINT, name)
        return self.value - (1 << 64) if self.value >> 63 else self.value

    def text(self, name: str, limit: int) -> str:
        """The payload as UTF-8 text of at most `limit` bytes."""
        self._expect(WireType.BYTES, name)
        if self.end - self.start > limit:
            size = self.end - self.start
            raise self.message.fail(self.offset, f"{name} has {size} bytes, more than the {limit} that are sensible")
        try:
            return str(self.message.data[self.start : self.end], "utf-8")
        except UnicodeDecodeError as error:
            raise self.message.fail(self.start + error.start, f"{name} is not valid UTF-8") from None

    def nested(self, name: str) -> Message:
        """The payload as a message."""
        self._expect(WireType.BYTES, name)
        return Message(self.message.data, self.start, self.end, name)

    def _expect(self, wire_type: WireType, name: str) -> None:
        if self.wire_type is not wire_type:
            problem = f"field {self.number} ({name}) is encoded as {self.wire_type.name}, expected {wire_type.name}"
            raise self.message.fail(self.offset, problem)


def fields(message: Message, names: Mapping[int, str] = MappingProxyType({})) -> Iterator[Field]:
    """Yield the fields of `message` in file order; `names` gives errors a word for some of them.

    Raises `SourceError` at the first byte that cannot be part of a message, or a field that runs past its end.
    """
    position = message.start
    while position < message.end:
        offset = position
        tag, position = _varint(message, position, "a field's tag")
        number, kind = tag >> 3, tag & 7
        if not number or number >= 1 << 29 or kind not in (0, 1, 2, 5):
            raise message.fail(offset, f"{tag:#x} is no field tag: the bytes are damaged or not protobuf")
        wire_type, value, start = WireType(kind), 0, position
        if wire_type is WireType.VARINT:
            value, position = _varint(message, position, f"field {number}")
        elif wire_type is WireType.BYTES:
            length, start = _varint(message, position, f"the length of field {number}")
            position = start + length
        else:
            position = start + _FIXED_SIZE[wire_type]
        if position > message.end:
            name = names.get(number, f"field {number}")
            problem = f"{name} needs {position - start} bytes, only {max(0, message.end - start)} are left"
            raise message.fail(offset, f"{problem}: truncated or damaged")
        yield Field(message, number, wire_type, offset, start, position, value)


def _varint(message: Message, position: int, name: str) -> tuple[int, int]:
    """Decode an unsigned varint; returns it and the position after it."""
    data, result = message.data, 0
    for index in range(_MAX_VARINT_BYTES):
        if position + index >= message.end:
            raise message.fail(position, f"{name} is cut off: truncated or damaged")
        byte = data[position + index]
        result |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return result & 0xFFFFFFFFFFFFFFFF, position + index + 1
    raise message.fail(position, f"{name} is longer than a 64 bit number: damaged")


def packed_varints(payload: Message) -> Iterator[int]:
    """Yield the unsigned 64 bit values of a packed repeated field."""
    position = payload.start
    while position < payload.end:
        value, position = _varint(payload, position, "a packed number")
        yield value


def count_packed_varints(payload: Message) -> int:
    """How many varints a packed field holds, without decoding them: each ends in a byte below 0x80."""
    count = 0
    for start in range(payload.start, payload.end, _COUNT_BLOCK):
        block = bytes(payload.data[start : min(start + _COUNT_BLOCK, payload.end)])
        count += len(block.translate(None, _CONTINUED))
    return count

"""What the interpreter writes, kept apart from the memory of the launch.

Reads see the overlay's bytes before the launch's, so that the interpreter can run before the translated launch does, and
be compared with it afterwards, without a copy of any buffer. Bytes are told apart by where they lie on the host: a
kernel may reach the same ones through two buffers, or as an image and as a buffer.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from autoclave.emulator.launch import Size3
from autoclave.emulator.memory import BoundImage, Bytes

PIXEL_BYTES = {"float16": 8, "float32": 16}
"""Size of a pixel of four components, by the image's dtype."""

_LINE = 6
"""Bytes are looked up in the overlay only where something was written to the same 2^6."""


class View:
    """A buffer or an image of a launch, readable by bytes and by elements of 2 and of 4.

    address: where a buffer appears to the kernel. image: what it is if it is an image. base: where it lies on the host.
    """

    __slots__ = ("address", "base", "bytes", "halves", "image", "name", "size", "words", "writable")

    def __init__(self, memory: Bytes, name: str, address: int = 0, image: BoundImage | None = None) -> None:
        self.bytes = memoryview(memory)
        self.name = name
        self.address = address
        self.image = image
        self.size = len(self.bytes)
        self.base = memory.ctypes.data
        self.writable = not self.bytes.readonly
        self.halves = _elements(self.bytes, "H")
        self.words = _elements(self.bytes, "I")

    def place(self, offset: int) -> str:
        """What lies at `offset`, as a kernel names it: an address, or a pixel's component."""
        if self.image is None:
            return f"{self.name} + {offset} (address {self.address + offset:#x})"
        size = PIXEL_BYTES[self.image.dtype]
        row, column = divmod(offset // size, self.image.width)
        return f"{self.name}, pixel ({column}, {row}).{'xyzw'[offset % size * 4 // size]}"


def _elements(data: memoryview, code: Literal["H", "I"]) -> memoryview:
    """The whole elements in `data`, without a copy. (Memory of no element cannot be cast.)"""
    none = memoryview(array(code))
    whole = len(data) // none.itemsize * none.itemsize
    return data[:whole].cast(code) if whole else none


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wrote an element of `size` bytes at `offset` of `view`."""

    view: View
    offset: int
    size: int
    pc: int
    workgroup: Size3
    thread: int


@dataclass(frozen=True, slots=True)
class Written:
    """An element as the interpreter left it; `actual` is what lies in the launch's memory now."""

    origin: Origin
    value: int
    actual: int


class Overlay:
    """Bytes that the interpreter wrote, and who wrote them last."""

    def __init__(self) -> None:
        self._bytes: dict[int, int] = {}
        self._lines: set[int] = set()
        self._origins: dict[int, Origin] = {}

    def __len__(self) -> int:
        """How many bytes were written."""
        return len(self._bytes)

    def covers(self, view: View, offset: int, size: int) -> bool:
        """Whether any of these bytes may have been written; False is certain. `size` is at most a line's 64 bytes."""
        address = view.base + offset
        return address >> _LINE in self._lines or (address + size - 1) >> _LINE in self._lines

    def load(self, view: View, offset: int, size: int) -> int:
        """The little-endian number of `size` bytes at `offset` of `view`, which has to hold them."""
        data = view.bytes[offset : offset + size]
        if not self.covers(view, offset, size):
            return int.from_bytes(data, "little")
        address, written = view.base + offset, self._bytes
        return int.from_bytes(bytes(written.get(address + at, byte) for at, byte in enumerate(data)), "little")

    def store(self, origin: Origin, value: int) -> None:
        """Write the low bytes of `value` where `origin` says."""
        address = origin.view.base + origin.offset
        for at in range(origin.size):
            self._bytes[address + at] = value >> 8 * at & 0xFF
            self._origins[address + at] = origin
        self._lines.add(address >> _LINE)
        self._lines.add((address + origin.size - 1) >> _LINE)

    def written(self) -> Iterator[Written]:
        """Every element that was written, by address on the host, beside what lies in memory now.

        Of an element that was written over in part, the bytes that are still its own are compared.
        """
        done: set[int] = set()
        for address in sorted(self._origins):
            origin = self._origins[address]
            if id(origin) not in done:
                done.add(id(origin))
                yield self._element(origin)

    def commit(self) -> None:
        """Write all of it to the launch's memory."""
        for address, origin in self._origins.items():
            origin.view.bytes[address - origin.view.base] = self._bytes[address]

    def _element(self, origin: Origin) -> Written:
        start = origin.view.base + origin.offset
        value = actual = 0
        for at in range(origin.size):
            if self._origins[start + at] is origin:
                value |= self._bytes[start + at] << 8 * at
                actual |= origin.view.bytes[origin.offset + at] << 8 * at
        return Written(origin, value, actual)

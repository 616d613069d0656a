"""A pickle of a dict from names to slices, read without unpickling.

Unpickling runs whatever a file asks for. `read_pickled_slices` carries out the opcodes that such a dict needs, of the
protocols 0 to 5, and refuses every other opcode and every global but `slice` by its name. What it keeps is bounded by
the limits below, and so is the time, as no opcode is carried out twice. Nothing nests: tuples hold numbers, and the
dict's values are slices.
"""

import pickletools
from collections.abc import Callable
from typing import Any

from autoclave.driving.slice_values import MAX_NAME, MAX_OUTPUTS, OutputSlicesError, check_name, checked_slice, shown

MAX_STACK = 4 * MAX_OUTPUTS
"""Values waiting to be used: a dict's items all wait for their SETITEMS."""
MAX_MEMO = 16 * MAX_OUTPUTS
MAX_LINE = 256
"""Bytes of a line of text, which protocol 0 writes names and numbers as."""

_SLICE_GLOBALS = (("builtins", "slice"), ("__builtin__", "slice"))
"""Python 3's name and Python 2's, which the protocols 0 to 2 use."""
_OPCODE_NAMES = {ord(opcode.code): opcode.name for opcode in pickletools.opcodes}


def read_pickled_slices(data: bytes) -> dict[str, slice]:
    """The dict that `data` pickles. Raises `OutputSlicesError` with the byte and what has no place there."""
    return _Machine(data).run()


class _Token:
    """A value that is on the stack for what it is."""


_MARK = _Token()
"""Where the items of a tuple or a dict begin."""
_SLICE = _Token()
"""The function `slice`, the only global that there is."""


class _Machine:
    """The stack machine that a pickle is written for, with the few opcodes of `_OPCODES`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self.opcode_at = 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.done = False

    def run(self) -> dict[str, slice]:
        """Carry out the opcodes up to STOP, which leave one dict."""
        while not self.done:
            self.opcode_at = self._at
            opcode = self.take(1)[0]
            action = _OPCODES.get(opcode)
            if action is None:
                name = _OPCODE_NAMES.get(opcode, f"0x{opcode:02x}")
                raise self.refusal(f"opcode {name} has no place in a dict of slices")
            action(self)
            if len(self.stack) > MAX_STACK:
                raise self.refusal(f"more than {MAX_STACK} values wait to be used")
        if self._at != len(self._data):
            raise self.refusal(f"{len(self._data) - self._at} bytes follow the end of the pickle")
        if len(self.stack) != 1 or not isinstance(self.stack[0], dict):
            raise self.refusal("the pickle is no dict")
        return dict(self.stack[0])

    def refusal(self, what: str) -> OutputSlicesError:
        """The error to raise for what the current opcode does."""
        return OutputSlicesError(f"output_slices: byte {self.opcode_at}: {what}")

    def take(self, count: int) -> bytes:
        """The next `count` bytes of the pickle."""
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise self.refusal("the pickle is truncated")
        self._at += count
        return taken

    def number(self, count: int, *, signed: bool = False) -> int:
        """The next `count` bytes as a little-endian integer."""
        return int.from_bytes(self.take(count), "little", signed=signed)

    def line(self) -> str:
        """The bytes up to the next line feed, which are ASCII."""
        end = self._data.find(b"\n", self._at, self._at + MAX_LINE)
        if end < 0:
            raise self.refusal(f"a line of text does not end within {MAX_LINE} bytes")
        text = self.take(end + 1 - self._at)[:-1]
        if not text.isascii():
            raise self.refusal(f"a line of text is not ASCII: {text[:40]!r}")
        return text.decode("ascii")

    def pop(self) -> Any:
        """The newest value of the stack, which is no mark."""
        if not self.stack or self.stack[-1] is _MARK:
            raise self.refusal("needs a value, but none is there")
        return self.stack.pop()

    def pop_to_mark(self) -> list[Any]:
        """The values since the last mark, which goes with them."""
        for place in range(len(self.stack) - 1, -1, -1):
            if self.stack[place] is _MARK:
                values = self.stack[place + 1 :]
                del self.stack[place:]
                return values
        raise self.refusal("needs a mark, but none is there")

    def set_items(self, values: list[Any]) -> None:
        """Put names and slices, alternating, into the dict on the stack."""
        target = self.stack[-1] if self.stack else None
        if not isinstance(target, dict) or len(values) % 2:
            raise self.refusal("sets items, but not of a dict, or a name lacks its slice")
        for name, value in zip(values[::2], values[1::2], strict=True):
            check_name(name, f"output_slices: byte {self.opcode_at}")
            if not isinstance(value, slice):
                raise self.refusal(f"{name!r} is {shown(value)}; expected a slice")
            if name in target:
                raise self.refusal(f"{name!r} occurs twice")
            if len(target) == MAX_OUTPUTS:
                raise self.refusal(f"more than {MAX_OUTPUTS} names")
            target[name] = value


def _protocol(machine: _Machine) -> None:
    protocol = machine.number(1)
    if protocol > 5:
        raise machine.refusal(f"pickle protocol {protocol}; 0 to 5 are known")


def _frame(machine: _Machine) -> None:
    machine.take(8)  # how many bytes follow


def _stop(machine: _Machine) -> None:
    machine.done = True


def _pushes(read: Callable[[_Machine], Any]) -> Callable[[_Machine], None]:
    """The action that pushes what `read` gives."""
    return lambda machine: machine.stack.append(read(machine))


def _decimal(machine: _Machine) -> int:
    text = machine.line().removesuffix("L")
    # "00" and "01" are how protocol 0 writes booleans.
    if len(text) > 20 or not text.removeprefix("-").isdecimal() or text in ("00", "01"):
        raise machine.refusal(f"{text[:40]!r} is no integer")
    return int(text)


def _long(machine: _Machine) -> int:
    count = machine.number(1)
    if count > 8:
        raise machine.refusal(f"an integer of {count} bytes")
    return machine.number(count, signed=True)


def _text_line(machine: _Machine) -> str:
    text = machine.line()
    if "\\" in text:
        raise machine.refusal(f"a string with an escape: {text[:40]!r}")
    return text


def _text(length_bytes: int) -> Callable[[_Machine], str]:
    def read(machine: _Machine) -> str:
        length = machine.number(length_bytes)
        if length > 4 * MAX_NAME:
            raise machine.refusal(f"a string of {length} bytes; at most {4 * MAX_NAME} are read")
        try:
            return machine.take(length).decode()
        except UnicodeDecodeError:
            raise machine.refusal("a string is not UTF-8") from None

    return read


def _global(machine: _Machine) -> _Token:
    return _found(machine, machine.line(), machine.line())


def _stack_global(machine: _Machine) -> None:
    name, module = machine.pop(), machine.pop()
    machine.stack.append(_found(machine, module, name))


def _found(machine: _Machine, module: Any, name: Any) -> _Token:
    if (module, name) not in _SLICE_GLOBALS:
        raise machine.refusal(f"asks for the global {shown(f'{module}.{name}')}; only slice is known")
    return _SLICE


def _tuple(machine: _Machine) -> None:
    machine.stack.append(_arguments(machine, machine.pop_to_mark()))


def _tuple3(machine: _Machine) -> None:
    third, second, first = machine.pop(), machine.pop(), machine.pop()
    machine.stack.append(_arguments(machine, [first, second, third]))


def _arguments(machine: _Machine, values: list[Any]) -> tuple[Any, ...]:
    """A tuple, of which there is one kind: start, stop and step of a slice."""
    if len(values) != 3 or not all(value is None or type(value) is int for value in values):
        raise machine.refusal(f"a tuple of {', '.join(map(shown, values[:4]))}; expected start, stop and step")
    return tuple(values)


def _reduce(machine: _Machine) -> None:
    arguments, function = machine.pop(), machine.pop()
    if function is not _SLICE:
        raise machine.refusal(f"calls {shown(function)}; only slice is known")
    if not isinstance(arguments, tuple):
        raise machine.refusal(f"calls slice with {shown(arguments)}; expected start, stop and step")
    machine.stack.append(checked_slice(arguments, f"output_slices: byte {machine.opcode_at}"))


def _dict(machine: _Machine) -> None:
    values = machine.pop_to_mark()
    machine.stack.append({})
    machine.set_items(values)


def _set_item(machine: _Machine) -> None:
    value, name = machine.pop(), machine.pop()
    machine.set_items([name, value])


def _set_items(machine: _Machine) -> None:
    machine.set_items(machine.pop_to_mark())


def _puts(place: Callable[[_Machine], int]) -> Callable[[_Machine], None]:
    """The action that keeps the newest value under the number that `place` gives."""

    def put(machine: _Machine) -> None:
        number = place(machine)
        if not 0 <= number < MAX_MEMO:
            raise machine.refusal(f"memo {number}; 0 to {MAX_MEMO - 1} are kept")
        value = machine.pop()
        machine.memo[number] = value
        machine.stack.append(value)

    return put


def _gets(place: Callable[[_Machine], int]) -> Callable[[_Machine], None]:
    """The action that pushes the value kept under the number that `place` gives."""

    def get(machine: _Machine) -> None:
        number = place(machine)
        if number not in machine.memo:
            raise machine.refusal(f"memo {number} is empty")
        machine.stack.append(machine.memo[number])

    return get


_OPCODES: dict[int, Callable[[_Machine], None]] = {
    0x80: _protocol,
    0x95: _frame,
    ord("."): _stop,
    ord("("): _pushes(lambda machine: _MARK),
    ord("N"): _pushes(lambda machine: None),
    ord("I"): _pushes(_decimal),
    ord("L"): _pushes(_decimal),
    ord("J"): _pushes(lambda machine: machine.number(4, signed=True)),
    ord("K"): _pushes(lambda machine: machine.number(1)),
    ord("M"): _pushes(lambda machine: machine.number(2)),
    0x8A: _pushes(_long),
    ord("V"): _pushes(_text_line),
    0x8C: _pushes(_text(1)),
    ord("X"): _pushes(_text(4)),
    0x8D: _pushes(_text(8)),
    ord("c"): _pushes(_global),
    0x93: _stack_global,
    ord("t"): _tuple,
    0x87: _tuple3,
    ord("R"): _reduce,
    ord("}"): _pushes(lambda machine: {}),
    ord("d"): _dict,
    ord("s"): _set_item,
    ord("u"): _set_items,
    ord("p"): _puts(_decimal),
    ord("q"): _puts(lambda machine: machine.number(1)),
    ord("r"): _puts(lambda machine: machine.number(4)),
    0x94: _puts(lambda machine: len(machine.memo)),
    ord("g"): _gets(_decimal),
    ord("h"): _gets(lambda machine: machine.number(1)),
    ord("j"): _gets(lambda machine: machine.number(4)),
}
"""By the opcode's byte, what it does; the numbers are those of CPython's Lib/pickletools.py."""

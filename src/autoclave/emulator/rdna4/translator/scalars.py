"""Scalar registers of the current wave: words, lane masks, SCC.

A lane mask is a word whose bits are lanes; both forms of it are kept while a block is translated.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from autoclave.emulator.ir import Value, constant
from autoclave.emulator.rdna4.instruction import NULL, SCC
from autoclave.emulator.rdna4.translator.forms import Forms
from autoclave.emulator.rdna4.translator.variables import SCALAR_PLACE, Variables

WAVE = 32
"""Lanes of the GPU's wave: bits of a mask."""


@dataclass(slots=True, eq=False)
class Word:
    """A scalar register's content: an i32, a mask <lanes x i1>, or both."""

    bits: Value | None = None
    mask: Value | None = None


class Scalars:
    """Reads and writes scalar registers in the current block."""

    def __init__(self, forms: Forms, variables: Variables) -> None:
        self._forms = forms
        self._ir = forms.ir
        self._variables = variables
        self._known: dict[int, Word] = {}
        self._written: dict[int, None] = {}
        self._scc: Value | None = None
        self._scc_written = False
        self._scc_variable: Value | None = None

    def _word(self, number: int) -> Word:
        if number == NULL:
            return Word(constant(0, "i32"))
        if number == SCC:
            return Word(self._ir.convert("zext", self.scc(), "i32"))
        if number not in self._known:
            self._known[number] = Word(self._variables.load_scalar(number))
        return self._known[number]

    def read(self, number: int) -> Value:
        """A register as i32; SCC is 0 or 1."""
        word = self._word(number)
        if word.bits is None:
            assert word.mask is not None
            word.bits = self.bits_of(word.mask)
        return word.bits

    def read_pair(self, number: int) -> Value:
        """Two registers as i64; null and SCC, which are single, extended by zeros."""
        if number in (NULL, SCC):
            return self._ir.convert("zext", self.read(number), "i64")
        low, high = self.read(number), self.read(number + 1)
        wide = self._ir.with_constant("shl", self._ir.convert("zext", high, "i64"), 32)
        return self._ir.binary("or", wide, self._ir.convert("zext", low, "i64"))

    def read_mask(self, number: int) -> Value:
        """A register as <lanes x i1>."""
        word = self._word(number)
        if word.mask is None:
            assert word.bits is not None
            word.mask = self.mask_of(word.bits)
        return word.mask

    def is_zero(self, number: int) -> Value:
        """Whether a register is 0."""
        word = self._word(number)
        if word.bits is None:
            assert word.mask is not None
            return self._ir.invert(self._ir.any(word.mask))
        return self._ir.compare("eq", word.bits, constant(0, "i32"))

    def assume(self, number: int, bits: Value | None, mask: Value) -> None:
        """Take a register for what it is known to hold."""
        self._known[number] = Word(bits, mask)

    def bits_of(self, mask: Value) -> Value:
        """<lanes x i1> as i32."""
        lanes = self._forms.lanes
        bits = self._ir.emit(f"bitcast {mask.type} {mask.text} to i{lanes}", f"i{lanes}")
        return self._ir.convert("zext", bits, "i32") if lanes < WAVE else bits

    def mask_of(self, bits: Value) -> Value:
        """i32 as <lanes x i1>."""
        lanes = self._forms.lanes
        cut = self._ir.convert("trunc", bits, f"i{lanes}") if lanes < WAVE else bits
        type_ = self._forms.type("i1")
        return self._ir.emit(f"bitcast {cut.type} {cut.text} to {type_}", type_)

    def write(self, number: int, value: Value) -> None:
        """Let a register hold an i32."""
        if number != NULL:
            self._known[number] = Word(value)
            self._written[number] = None

    def write_mask(self, number: int, mask: Value) -> None:
        """Let a register hold <lanes x i1>."""
        if number != NULL:
            self._known[number] = Word(mask=mask)
            self._written[number] = None

    def scc(self) -> Value:
        """SCC as i1."""
        if self._scc is None:
            self._scc = self._ir.load(self._place_of_scc(), "i1", 1)
        return self._scc

    def set_scc(self, value: Value) -> None:
        """Let SCC be an i1."""
        self._scc = value
        self._scc_written = True

    def variable_of_scc(self) -> Value | None:
        """Where SCC lies between blocks; None if nobody has asked for it."""
        return self._scc_variable

    def _place_of_scc(self) -> Value:
        if self._scc_variable is None:
            self._scc_variable = self._ir.alloca("i1")
            self._ir.at_entry(f"store i1 false, ptr {self._scc_variable.text}, align 1")
        return self._scc_variable

    def clear_scc(self) -> None:
        """SCC is 0 when a wave begins."""
        if self._scc_variable is not None:
            self._ir.store(constant(0, "i1"), self._scc_variable, 1)

    def begin(self) -> None:
        """Begin a block."""
        self._known.clear()
        self._written.clear()
        self._scc = None
        self._scc_written = False

    def finish(self, live: int) -> None:
        """Put what the block wrote into variables, if it is read later."""
        for number in self._written:
            if live >> (SCALAR_PLACE + number) & 1:
                self._variables.store_scalar(number, self.read(number))
        if self._scc_written:
            assert self._scc is not None
            self._ir.store(self._scc, self._place_of_scc(), 1)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Around IR that does not always run: forget afterwards what was made there."""
        before = {number: (word.bits, word.mask) for number, word in self._known.items()}
        yield
        for number, word in list(self._known.items()):
            if number in before:
                word.bits, word.mask = before[number]
            elif number not in self._written:
                del self._known[number]

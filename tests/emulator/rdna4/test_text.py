"""gfx1200 instructions as text: LLVM 20 assembles it to the code that it was printed from."""

from dataclasses import replace

import pytest
from emulator.rdna4.encoding_samples import assembled

from autoclave.emulator.rdna4.decoder import decode
from autoclave.emulator.rdna4.text import text
from autoclave.errors import UnknownInstruction


def test_an_instruction_is_printed_as_llvm_reads_it() -> None:
    differing = [(expected, text(decode(code))) for code, expected in assembled() if text(decode(code)) != expected]

    assert differing == []


def test_an_unknown_operation_has_no_text() -> None:
    nop = decode(bytes.fromhex("000080bf"))

    with pytest.raises(UnknownInstruction, match="s_no_such"):
        text(replace(nop, name="s_no_such"))

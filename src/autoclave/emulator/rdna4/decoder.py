"""gfx1200 machine code as `Instruction` records."""

import struct
from collections.abc import Sequence
from functools import cache

from autoclave.emulator.rdna4.encoding.codec import Words
from autoclave.emulator.rdna4.encoding.families import CODECS
from autoclave.emulator.rdna4.encoding.form import Form
from autoclave.emulator.rdna4.encoding.lanes import takes_dpp
from autoclave.emulator.rdna4.encoding.layout import DPP8, DPP16, LAYOUTS, WORD_BITS, WORD_BYTES, Layout, Reserved
from autoclave.emulator.rdna4.encoding.operands import DPP8_CODES, DPP16_CODE, LITERAL
from autoclave.emulator.rdna4.encoding.pairs import FORM as DUAL
from autoclave.emulator.rdna4.encoding.pairs import needs_literal
from autoclave.emulator.rdna4.encoding.table import BY_OPCODE
from autoclave.emulator.rdna4.instruction import Encoding, Instruction
from autoclave.errors import ArtifactError, UnknownInstruction

END = "s_endpgm"
CODE_END = 0xBF9F0000
"""s_code_end, with which compilers fill what the instruction fetch may touch after a program's end."""

_PADDING = frozenset({CODE_END, 0})
_SOURCES = ("src0", "src1", "src2", "ssrc0", "ssrc1", "srcx0", "srcy0")
_WITH_DPP = frozenset({"VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD", "VOP3P"})


def decode_kernel(code: bytes, kernel: str = "") -> tuple[Instruction, ...]:
    """All instructions of a kernel in the order of their addresses; `kernel` is named in errors.

    Padding after the last s_endpgm (s_code_end and zeros) is left out. Raises `UnknownInstruction` for words that are no
    instruction, `ArtifactError` if `code` is not whole words.
    """
    if len(code) % WORD_BYTES:
        raise ArtifactError(f"kernel {kernel!r}: gfx1200 code of {len(code)} bytes is not whole words of {WORD_BYTES}")
    words = struct.unpack(f"<{len(code) // WORD_BYTES}I", code)
    end = len(words)
    while end and words[end - 1] in _PADDING:
        end -= 1
    instructions = []
    at = 0
    try:
        while at < end:
            instruction = _decode(words, at)
            instructions.append(instruction)
            at += instruction.size // WORD_BYTES
    except UnknownInstruction as error:
        raise UnknownInstruction(f"kernel {kernel!r}, {error}") from None
    return tuple(instructions)


def decode(code: bytes, pc: int = 0) -> Instruction:
    """The instruction that `code` begins with; `pc` is its address. Raises `UnknownInstruction` if it is none."""
    words = struct.unpack_from(f"<{len(code) // WORD_BYTES}I", code)
    return _decode(words, 0, pc)


def _decode(words: Sequence[int], at: int, pc: int | None = None) -> Instruction:
    pc = at * WORD_BYTES if pc is None else pc
    try:
        form, layout = _form(words[at] if at < len(words) else 0)
        found, count = _read(form, layout, words, at)
        record = CODECS[form.encoding].read(form, found, pc)
    except Reserved as reserved:
        shown = " ".join(f"{word:08x}" for word in words[at : at + 4])
        raise UnknownInstruction(f"pc {pc}: no gfx1200 instruction is encoded {shown}: {reserved}") from None
    return Instruction(pc, count * WORD_BYTES, form.name, form.encoding, **record)


def _read(form: Form, layout: Layout, words: Sequence[int], at: int) -> tuple[Words, int]:
    """The fields of the instruction at word `at`, with what follows it, and how many words it takes."""
    count = layout.words
    if at + count > len(words):
        raise Reserved("it is cut short")
    bits = 0
    for number in range(count):
        bits |= words[at + number] << WORD_BITS * number
    found = Words(layout.read(bits))
    fields = found.fields
    first = fields.get("src0")
    extension = None
    if form.encoding in _WITH_DPP and first in (DPP16_CODE, *DPP8_CODES) and takes_dpp(form):
        extension = DPP16 if first == DPP16_CODE else DPP8
        found.selectors = first != DPP16_CODE
    literal = _has_literal(form, found)
    if extension is None and not literal:
        return found, count
    if at + count >= len(words):
        raise Reserved("it is cut short")
    if extension is not None:
        if literal:
            raise Reserved("both a literal and DPP")
        found.dpp = extension.read(words[at + count])
    else:
        found.literal = words[at + count]
    return found, count + 1


def _has_literal(form: Form, words: Words) -> bool:
    if any(words.fields.get(place) == LITERAL for place in _SOURCES):
        return True
    return needs_literal(words) if form is DUAL else _is_with_literal(form)


@cache
def _is_with_literal(form: Form) -> bool:
    return any(slot.kind == "literal" for slot in form.sources)


def _form(word: int) -> tuple[Form, Layout]:
    """The form whose instructions begin with `word`. Raises `Reserved` if there is none."""
    encoding = _encoding(word >> 23)
    if encoding is None:
        raise Reserved("no such encoding")
    layout = LAYOUTS[encoding]
    if encoding == "VOPD":
        return DUAL, layout
    low, mask = _opcode_field(encoding)
    form = BY_OPCODE.get((encoding, word >> low & mask))
    if form is None:
        raise Reserved(f"no operation {word >> low & mask} in {encoding}")
    return form, LAYOUTS[form.encoding]


@cache
def _opcode_field(encoding: Encoding) -> tuple[int, int]:
    ((low, mask),) = [(low, mask) for name, low, mask in LAYOUTS[encoding].fields if name == "op"]
    return low, mask


@cache
def _encoding(key: int) -> Encoding | None:
    """The encoding of words with `key` above bit 22: of those that allow it, the one with most fixed bits."""
    first = [
        (layout.mask & 0xFF800000, encoding)
        for encoding, layout in LAYOUTS.items()
        if encoding != "VOP3SD" and (key << 23) & layout.mask & 0xFF800000 == layout.match & 0xFF800000
    ]
    return max(first, key=lambda found: found[0].bit_count())[1] if first else None

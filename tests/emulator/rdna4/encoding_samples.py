"""Random gfx1200 encodings of a form, and those that LLVM's assembler knows, with their text."""

import gzip
import json
import random
from functools import cache
from pathlib import Path

from autoclave.emulator.rdna4.encoding.form import Form
from autoclave.emulator.rdna4.encoding.layout import LAYOUTS, Fields

DATA = Path(__file__).parents[1] / "data" / "gfx1200-encodings.json.gz"

_LITERAL, _DPP16, _DPP8, _DPP8_INACTIVE, _NULL, _EXEC = 255, 250, 233, 234, 124, 126
_CONTROLS = (
    *range(0x100),
    *range(0x101, 0x110),
    *range(0x111, 0x120),
    *range(0x121, 0x130),
    0x140,
    0x141,
    0x150,
    0x16F,
)
_OPERAND_FIELDS = ("src0", "src1", "src2", "vdst", "sdst", "ssrc0", "ssrc1", "data0", "data1", "addr", "vsrc", "vsrc1")
_SCALAR_FIELDS = ("sdst", "sdata", "saddr", "soffset")
_MODIFIERS = ("neg", "abs", "opsel", "omod", "clamp", "neg_hi")


@cache
def assembled() -> tuple[tuple[bytes, str], ...]:
    """Encodings of all forms with the text that LLVM 20 assembles to them (tests/emulator/data/README.md)."""
    pairs = json.loads(gzip.decompress(DATA.read_bytes()))
    return tuple((bytes.fromhex(code), text) for code, text in pairs)


def random_code(form: Form, dice: random.Random) -> bytes:
    """Code whose first instruction may be one of `form`, with whatever a literal or DPP word would need behind it."""
    layout = LAYOUTS[form.encoding]
    fields = {name: _random_field(name, mask, dice) for name, _, mask in layout.fields}
    if "op" in layout:
        fields["op"] = form.opcode
    _settle(form, fields, dice)
    return layout.write(fields).to_bytes(4 * layout.words, "little") + _random_extension(form, fields, dice)


def _random_field(name: str, mask: int, dice: random.Random) -> int:
    if name in ("src0", "src1", "src2", "srcx0", "srcy0"):
        return dice.choice((_vector(dice), _vector(dice), _scalar(dice), _constant(dice), _LITERAL, _dpp(dice)))
    if name in ("ssrc0", "ssrc1"):
        return dice.choice((_scalar(dice), _constant(dice), _LITERAL))
    if name in _SCALAR_FIELDS:
        return dice.choice((_scalar(dice), _NULL)) & 127
    if name in _MODIFIERS:
        return dice.choice((0, 0, 0, dice.randint(0, mask)))
    if name.startswith("opsel_hi"):
        return dice.choice((mask, dice.randint(0, mask)))
    return dice.choice((0, dice.randint(0, mask), dice.randint(0, mask)))


def _vector(dice: random.Random) -> int:
    return dice.randrange(256, 512)


def _scalar(dice: random.Random) -> int:
    return dice.choice((dice.randrange(0, 104, 4), 106, 108, _NULL, 125, _EXEC, 253, 235))


def _constant(dice: random.Random) -> int:
    return dice.choice((dice.randrange(128, 209), dice.randrange(240, 249)))


def _dpp(dice: random.Random) -> int:
    return dice.choice((_DPP16, _DPP8, _DPP8_INACTIVE))


def _settle(form: Form, fields: Fields, dice: random.Random) -> None:
    """Set fields that the form does not use, or that have to be so, for random ones would hardly ever be right."""
    used = {slot.place for slot in (*form.destinations, *form.sources)}
    for name in _OPERAND_FIELDS:
        if name in fields and name not in used and form.encoding != "VOPD" and "message" not in form.flags:
            fields[name] = 0
    if form.encoding == "VOPD":
        fields["opx" if form.opcode < 16 and dice.random() < 0.5 else "opy"] = form.opcode
    if form.encoding == "VOP3P":
        present = (1 << len(form.sources)) - 1
        fields |= {name: fields[name] & present for name in ("opsel", "neg", "neg_hi")}
        split = sum(1 << number for number, slot in enumerate(form.sources) if slot.type.endswith("x2"))
        if "mix" not in form.flags:
            upper = fields["opsel_hi"] | fields["opsel_hi2"] << 2 | 0b111 & ~split
            fields |= {"opsel": fields["opsel"] & split, "opsel_hi": upper & 3, "opsel_hi2": upper >> 2}
    if form.encoding in ("FLAT", "GLOBAL", "SCRATCH"):
        fields["sve"] &= int(form.encoding == "SCRATCH")
        fields["saddr"] = _NULL if form.encoding == "FLAT" or "plain" in form.flags else fields["saddr"]
        if (form.encoding == "SCRATCH" and not fields["sve"]) or form.flags & {"plain", "thread"}:
            fields["vaddr"] = 0
        if "plain" in form.flags:
            fields |= {"ioffset": 0, "th": 0}
        if "atomic" in form.flags and not fields["th"] & 1:
            fields["vdst"] = 0
    if form.encoding == "SMEM" and form.flags & {"plain", "prefetch"}:
        fields |= {"th": 0, "scope": 0, "sdata": fields["sdata"] % 32 if "prefetch" in form.flags else 0}
        if "plain" in form.flags:
            fields |= {"soffset": 0, "ioffset": 0}
        if not form.sources:
            fields["sbase"] = 0
    if form.encoding == "DS" and "plain" in form.flags:
        fields |= {"offset0": 0, "offset1": 0}
    if form.encoding == "SOPP" and "plain" in form.flags:
        fields["simm16"] = 0
    if form.encoding == "VOP3" and form.destinations and form.destinations[0].place == "exec":
        fields["vdst"] = _EXEC


def _random_extension(form: Form, fields: Fields, dice: random.Random) -> bytes:
    word = dice.getrandbits(32)
    if fields.get("src0") == _DPP16:
        signs = 0 if form.encoding.startswith("VOP3") else word >> 20 & dice.choice((0, 15))
        word = word & 0xFF0C00FF | dice.choice(_CONTROLS) << 8 | signs << 20
    elif dice.random() < 0.5:
        word &= 0xFFFF
    return word.to_bytes(4, "little")

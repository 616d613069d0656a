"""Operands for operations of the manual's pseudo-code: which there are, how wide, and values worth trying."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from emulator.rdna4.pseudo_code import TEXTS, evaluate

SPECIAL = {
    16: (0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x8400, 0x3800, 0x3BFF, 0x3C00, 0xBC00, 0x3C01, 0x4200, 0xC100, 0x63FF, 0x6401,
         0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7C01, 0x7E00, 0xFE01, 0x7FFF, 0xFFFF),
    32: (0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x80800000, 0x3F000000, 0xBF000000, 0x3EFFFFFF, 0x3F7FFFFF, 0x3F800000,
         0xBF800000, 0x40200000, 0xC0600000, 0x4B000001, 0xCF000000, 0x4F000000, 0x477FF000, 0x33000001, 0x7F7FFFFF, 0xFF7FFFFF,
         0x7F800000, 0xFF800000, 0x7F800001, 0x7FC00000, 0xFFC00123, 0x7FFFFFFF, 0xFFFFFFFF, 31, 32, 0xFFFF, 0x8000),
    64: (0, 1 << 63, 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x3FE0000000000000, 0x3FF0000000000000, 0xBFF8000000000000,
         0x41DFFFFFFFC00000, 0xC1E0000000200000, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000,
         0x7FF0000000000001, 0x7FF8000000000000, 0xFFF8000000000001, (1 << 64) - 1, 63, 0x1_0000_0000, 0x47EFFFFFF0000000),
    128: (0, (1 << 128) - 1),
}  # fmt: skip

_OLD = re.compile(r"v_(pk_)?fmac_|dot2acc|s_fmac_|s_bitset|s_cmov|s_addk|s_mulk|s_cmovk")
_MASK = re.compile(r"v_cndmask|_co_ci_u32$|v_div_fmas")


@dataclass(frozen=True)
class Shape:
    """Which sources an operation has, by their widths; the last ones may be an old destination or a lane's bit of a mask."""

    widths: tuple[int, ...]
    constant_at: int | None
    has_old: bool
    has_mask: bool


def _width(text: str, source: str) -> int:
    """By the types and parts that the text reads of it."""
    typed = [int(re.sub(r"\D", "", kind)) for kind in re.findall(rf"\b{source}\.([a-z]+\d+)", text)]
    parts = [int(high) + 1 for high in re.findall(rf"\b{source}\[(\d+) :", text)]
    widest = max([*typed, *parts, 0])
    return next(width for width in (16, 32, 64, 128) if widest <= width) if widest else 32


def shape_of(name: str) -> Shape:
    text = TEXTS[name]
    if name.startswith("v_fma_mix"):
        return Shape((32, 32, 32), None, False, False)
    widths = [_width(text, f"S{i}") for i in range(3) if re.search(rf"\bS{i}\b", text)]
    constant = None
    if "SIMM32" in text:
        constant = 1 if "fmamk" in name else 2
        widths.insert(constant, widths[0])
    has_old, has_mask = bool(_OLD.search(name)), bool(_MASK.search(name)) and name[0] == "v"
    if has_old:
        widths.append(max(_width(text, "D0"), 32 if "pk_" in name else 0))
    return Shape(tuple(widths), constant, has_old, has_mask)


def cases(name: str, widths: Sequence[int], count: int) -> list[tuple[int, ...]]:
    """Special values with each other as far as `count` lets, and random ones; of two sources, equal ones too."""
    chosen = random.Random(name)
    specials = [*product(*(SPECIAL[width] for width in widths))]
    found = specials if len(specials) <= count else chosen.sample(specials, count)
    for _ in range(count // 2):
        found.append(tuple(_random(chosen, width) for width in widths))
    for _ in range(count // 8):
        one = _random(chosen, min(widths))
        found.append(tuple(one for _ in widths))
    return found


def _random(chosen: random.Random, width: int) -> int:
    """Any bits, or floats near 1, or small integers."""
    kind = chosen.randrange(4)
    if kind == 0 or width == 128:
        return chosen.getrandbits(width)
    if kind == 1:
        return chosen.choice((chosen.randrange(64), (1 << width) - 1 - chosen.randrange(64)))
    fraction = {16: 10, 32: 23, 64: 52}[width]
    bias = {16: 15, 32: 127, 64: 1023}[width]
    spread = 3 if kind == 2 else 26
    field = max(0, min(2 * bias, bias + chosen.randint(-spread, spread)))
    return chosen.getrandbits(1) << width - 1 | field << fraction | chosen.getrandbits(fraction)


def expected(
    name: str, shape: Shape, sources: Sequence[int], mask: int, signs: Sequence[bool], **state: int
) -> dict[str, int]:
    """What the pseudo-code computes of sources in the order of the assembler's text."""
    operands = list(zip(sources, shape.widths, strict=True))
    old = 0
    if shape.has_old:
        old = operands.pop()[0]
    if shape.constant_at is not None:
        state["SIMM32"] = operands.pop(shape.constant_at)[0]
    if mask:
        state["VCC"] = 1
    return dict(evaluate(name, operands, old, signs, **state))


def result_width(name: str) -> int:
    """Of the first result."""
    text = TEXTS[name]
    typed = [int(re.sub(r"\D", "", kind)) for kind in re.findall(r"\bD0\.([a-z]+\d+)", text)]
    if name in ("v_fma_mixlo_f16", "v_fma_mixhi_f16"):
        return 16
    return max(typed) if typed and "D0[" not in text else 32

"""What is done to sources before, and to float results after an operation, on bit patterns."""

from autoclave.emulator.rdna4.instruction import Source
from autoclave.emulator.rdna4.lanewise.formats import F16, F32, FORMATS


def width_of(kind: str) -> int:
    """The bits of a type that has a sign: "f32", "b16", "i24" are as wide as they say."""
    return int(kind.lstrip("abcdefghijklmnopqrstuvwxyz"))


def negate(bits: int, kind: str) -> int:
    """NEG: the sign bit flipped, of NaN and zeros too."""
    return bits ^ 1 << (width_of(kind) - 1)


def absolute(bits: int, kind: str) -> int:
    """ABS: the sign bit cleared."""
    return bits & ~(1 << (width_of(kind) - 1))


def modified(bits: int, source: Source) -> int:
    """A source with its modifiers, absolute first."""
    if source.absolute:
        bits = absolute(bits, source.type)
    return negate(bits, source.type) if source.negated else bits


def packed_source(bits: int, source: Source) -> int:
    """The word that a packed operation sees: each half selected, then negated."""
    low = bits >> 16 if source.high else bits & 0xFFFF
    high = bits >> 16 if source.high_of_second else bits & 0xFFFF
    if source.negated:
        low ^= 0x8000
    if source.negated_second:
        high ^= 0x8000
    return low | high << 16


def mixed_source(bits: int, source: Source) -> int:
    """A source of v_fma_mix as f32: one half widened, or the whole word; `negated_second` makes it absolute, `negated` negates."""
    if source.high_of_second:
        half = bits >> 16 if source.high else bits & 0xFFFF
        bits = widened(half)
    if source.negated_second:
        bits &= 0x7FFFFFFF
    return bits ^ 0x80000000 if source.negated else bits


def widened(half: int) -> int:
    """An f16 as f32; a NaN keeps its sign."""
    return F32.rounded(F16.value(half)) | (half & 0x8000) << 16


def multiply_output(bits: int, kind: str, multiplier: int) -> int:
    """OMOD: 1 times 2, 2 times 4, 3 divided by 2. NaN and infinities stay; zeros and denormals become +0.

    A product beyond the largest number is infinity, a half that would be a denormal the zero of its sign.
    """
    form = FORMATS[kind]
    exponent = form.exponent(bits)
    if not multiplier or bits & form.infinity == form.infinity:
        return bits
    if exponent == 0:
        return 0
    sign = bits & form.sign
    step = 1 << (form.precision - 1)
    if multiplier == 3:
        return sign if exponent == 1 else bits - step
    if exponent + multiplier >= form.exponent(form.infinity):
        return sign | form.infinity
    return bits + multiplier * step


def clamp(bits: int, kind: str) -> int:
    """CLAMP of a float: to [0, 1]; NaN, -0 and what is negative give +0."""
    form = FORMATS[kind]
    if bits & form.sign or form.is_nan(bits):
        return 0
    return min(bits, form.one)


def clamp_packed(bits: int) -> int:
    """CLAMP of two f16."""
    return clamp(bits & 0xFFFF, "f16") | clamp(bits >> 16, "f16") << 16

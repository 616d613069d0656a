"""Moves, choices and permutations: results that are sources' bits, kept in the form that they are in where that can be.

A half or a float that nobody has looked at the bits of stays one when it is moved, packed or chosen.
"""

from collections.abc import Callable

from autoclave.emulator.ir import Value, numbers, vector
from autoclave.emulator.rdna4.instruction import Destination, Instruction, Literal32, Register, Source
from autoclave.emulator.rdna4.translator.alu_integers import INTEGERS
from autoclave.emulator.rdna4.translator.alu_permutation import ZERO, literal, permute
from autoclave.emulator.rdna4.translator.content import Content, Half
from autoclave.emulator.rdna4.translator.wave import Wave

Rule = Callable[[Wave, Instruction], None]


def known_number(wave: Wave, source: Source) -> Content | None:
    """What a source holds if that is a float of 32 bits whose bits nobody has looked at."""
    operand = source.operand
    if not isinstance(operand, Register) or operand.file == "s" or source.negated or source.absolute:
        return None
    content = wave.content(operand.number)
    return content if content.bits is None and content.scalar is None and content.number is not None else None


def known_halves(wave: Wave, source: Source) -> tuple[Half, Half] | None:
    """What a source holds if that is halves that nobody has looked at as a whole."""
    operand = source.operand
    if not isinstance(operand, Register) or operand.file == "s" or source.negated or source.absolute:
        return None
    content = wave.content(operand.number)
    return content.halves if content.bits is None and content.scalar is None and content.number is None else None


def modified_bits(wave: Wave, source: Source) -> Value:
    """The bits of a source with NEG and ABS, which look at nothing but the sign."""
    bits = wave.bits(source)
    sign = 1 << (15 if bits.type.endswith("i16>") else 31)
    if source.absolute:
        bits = wave.ir.with_constant("and", bits, sign - 1)
    return wave.ir.with_constant("xor", bits, -sign) if source.negated else bits


def copy(wave: Wave, destination: Destination, source: Source) -> None:
    """Let a vector register hold what a source does."""
    number, halves = known_number(wave, source), known_halves(wave, source)
    if number is not None and number.number is not None:
        wave.write_number(Destination(destination.operand, "f32"), number.number, canonical=not number.loose)
    elif halves is not None:
        wave.write_halves(destination, *halves)
    else:
        wave.write(destination, modified_bits(wave, source))


def _move(wave: Wave, instruction: Instruction) -> None:
    copy(wave, instruction.destinations[0], instruction.sources[0])


def _move_half(wave: Wave, instruction: Instruction) -> None:
    wave.write(instruction.destinations[0], modified_bits(wave, instruction.sources[0]))


# v_cndmask


def _choose(wave: Wave, instruction: Instruction) -> None:
    """The second source where the lane's bit of the third is set, else the first."""
    (destination,), (other, chosen, condition) = instruction.destinations, instruction.sources
    mask = wave.mask(condition)
    number = _chosen_number(wave, mask, chosen, other)
    if number is not None:
        wave.write_number(Destination(destination.operand, "f32"), number, canonical=False)
    elif known_halves(wave, other) or known_halves(wave, chosen):
        wave.write_halves(destination, *(_chosen_half(wave, mask, chosen, other, high) for high in (False, True)))
    else:
        wave.write(destination, wave.ir.select(mask, modified_bits(wave, chosen), modified_bits(wave, other)))


def _chosen_number(wave: Wave, mask: Value, chosen: Source, other: Source) -> Value | None:
    """A choice between floats that nobody has looked at the bits of, or one of them and a literal that is no NaN."""
    contents = [known_number(wave, source) for source in (chosen, other)]
    if not any(contents):
        return None
    values = []
    for source, content in zip((chosen, other), contents, strict=True):
        if content is not None and content.number is not None:
            values.append(content.number)
        elif isinstance(source.operand, Literal32) and _is_number(source.operand.bits, 0x7F800000):
            values.append(wave.number(Source(source.operand, "f32", source.negated, source.absolute)))
        else:
            return None
    return wave.ir.select(mask, *values)


def _is_number(bits: int, infinity: int) -> bool:
    return bits & (infinity | (infinity & -infinity) - 1) <= infinity


def _chosen_half(wave: Wave, mask: Value, chosen: Source, other: Source, high: bool) -> Half:
    halves = [_half(wave, source, high) for source in (chosen, other)]
    values = [_number_of_half(wave, half, source, high) for half, source in zip(halves, (chosen, other), strict=True)]
    if any(half.number is not None and half.bits is None for half in halves) and None not in values:
        return Half(number=wave.ir.select(mask, *(value for value in values if value is not None)), loose=True)
    return Half(bits=wave.ir.select(mask, *(wave.half_bits(half) for half in halves)))


def _half(wave: Wave, source: Source, high: bool) -> Half:
    if not source.negated and not source.absolute:
        return wave.half(source.operand, high)
    bits = modified_bits(wave, source)
    moved = wave.ir.with_constant("lshr", bits, 16) if high else bits
    return Half(bits=wave.ir.convert("trunc", moved, "i16"))


def _number_of_half(wave: Wave, half: Half, source: Source, high: bool) -> Value | None:
    """The half as a float, if it is one that nobody has looked at the bits of, or a literal that is no NaN."""
    if half.number is not None and half.bits is None:
        return half.number
    if isinstance(source.operand, Literal32) and not source.negated and not source.absolute:
        bits = source.operand.bits >> (16 if high else 0) & 0xFFFF
        if _is_number(bits, 0x7C00):
            return wave.number(Source(Literal32(bits, True), "f16"))
    return None


def _choose_half(wave: Wave, instruction: Instruction) -> None:
    other, chosen, condition = instruction.sources
    values = (modified_bits(wave, chosen), modified_bits(wave, other))
    wave.write(instruction.destinations[0], wave.ir.select(wave.mask(condition), *values))


# Halves moved within words


def _pack(wave: Wave, instruction: Instruction) -> None:
    """Two halves in one register, the first in the lower half; bits stay as they are but for the signs."""
    halves = [
        Half(bits=modified_bits(wave, source))
        if source.negated or source.absolute
        else wave.half(source.operand, isinstance(source.operand, Register) and source.operand.high)
        for source in instruction.sources
    ]
    wave.write_halves(instruction.destinations[0], *halves)


def _shift_by_16(up: bool) -> Rule:
    """v_lshlrev_b32 and v_lshrrev_b32: by 16, which moves a half, or as any other shift."""
    general = INTEGERS["v_lshlrev_b32" if up else "v_lshrrev_b32"]

    def run(wave: Wave, instruction: Instruction) -> None:
        amount, value = instruction.sources
        if literal(amount) != 16:
            general(wave, instruction)
            return
        moved = wave.half(value.operand, not up)
        wave.write_halves(instruction.destinations[0], *((ZERO, moved) if up else (moved, ZERO)))

    return run


def _align(wave: Wave, instruction: Instruction) -> None:
    """v_alignbit_b32: by 16, the upper half of the second below the lower half of the first."""
    high, low, amount = instruction.sources
    if literal(amount) != 16:
        INTEGERS["v_alignbit_b32"](wave, instruction)
        return
    wave.write_halves(instruction.destinations[0], wave.half(low.operand, True), wave.half(high.operand, False))


def _masked(wave: Wave, instruction: Instruction) -> None:
    """v_and_b32: with the mask of one half."""
    for mask, value in (instruction.sources, instruction.sources[::-1]):
        if literal(mask) in (0xFFFF, 0xFFFF0000) and known_halves(wave, value):
            high = literal(mask) == 0xFFFF0000
            kept = wave.half(value.operand, high)
            wave.write_halves(instruction.destinations[0], *((ZERO, kept) if high else (kept, ZERO)))
            return
    INTEGERS["v_and_b32"](wave, instruction)


def _inserted(wave: Wave, instruction: Instruction) -> None:
    """v_bfi_b32: with the mask of one half."""
    mask, chosen, other = instruction.sources
    if literal(mask) not in (0xFFFF, 0xFFFF0000):
        INTEGERS["v_bfi_b32"](wave, instruction)
        return
    low, high = (chosen, other) if literal(mask) == 0xFFFF else (other, chosen)
    wave.write_halves(instruction.destinations[0], wave.half(low.operand, False), wave.half(high.operand, True))


def _count_below(wave: Wave, instruction: Instruction) -> None:
    """v_mbcnt_lo: the second, and how many of the mask's bits belong to lanes below."""
    mask, base = (wave.bits(source) for source in instruction.sources)
    below = numbers(((1 << lane) - 1 for lane in range(wave.lanes)), "i32")
    count = wave.ir.call("llvm.ctpop", vector(wave.lanes, "i32"), (wave.ir.binary("and", mask, below),))
    wave.write(instruction.destinations[0], wave.ir.binary("add", count, base))


def _count_above(wave: Wave, instruction: Instruction) -> None:
    """v_mbcnt_hi: the second; a wave has no lanes from 32 on."""
    wave.write(instruction.destinations[0], wave.bits(instruction.sources[1]))


MOVES: dict[str, Rule] = {
    "v_mov_b32": _move,
    "v_mov_b16": _move_half,
    "v_cndmask_b32": _choose,
    "v_cndmask_b16": _choose_half,
    "v_pack_b32_f16": _pack,
    "v_perm_b32": permute,
    "v_lshlrev_b32": _shift_by_16(True),
    "v_lshrrev_b32": _shift_by_16(False),
    "v_alignbit_b32": _align,
    "v_and_b32": _masked,
    "v_bfi_b32": _inserted,
    "v_mbcnt_lo_u32_b32": _count_below,
    "v_mbcnt_hi_u32_b32": _count_above,
}
"""By name."""

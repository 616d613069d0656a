"""Sums of absolute differences, of words and (v_qsad, v_mqsad) along a row of eight bytes."""

from collections.abc import Callable

from autoclave.emulator.ir import Builder, Value, constant
from autoclave.emulator.rdna4.instruction import Destination, Instruction, Register, Source
from autoclave.emulator.rdna4.translator.alu_values import Compute, extreme, low_bits, zero
from autoclave.emulator.rdna4.translator.content import Half
from autoclave.emulator.rdna4.translator.wave import Wave

Rule = Callable[[Wave, Instruction], None]


def absolute_difference(ir: Builder, left: Value, right: Value) -> Value:
    """|left - right| of unsigned numbers."""
    larger, smaller = extreme("umax")(ir, left, right), extreme("umin")(ir, left, right)
    return ir.binary("sub", larger, smaller)


def parts(ir: Builder, value: Value, bits: int, signed: bool = False) -> list[Value]:
    """The parts of a word, the lowest first, as 32 bits each."""
    return [
        low_bits(ir, ir.with_constant("lshr", value, at), bits, signed) if at or bits < 32 else value
        for at in range(0, 32, bits)
    ]


def differences(bits: int, masked: bool = False, up: int = 0) -> Compute:
    """c and the absolute differences of the parts of a and b. masked: but for those that are 0 in b. up: the sum is shifted."""

    def compute(ir: Builder, left: Value, right: Value, third: Value) -> Value:
        total = zero(left)
        for one, other in zip(parts(ir, left, bits), parts(ir, right, bits), strict=True):
            difference = absolute_difference(ir, one, other)
            if masked:
                difference = ir.select(ir.compare("eq", other, zero(other)), zero(other), difference)
            total = ir.binary("add", total, difference)
        return ir.binary("add", ir.with_constant("shl", total, up) if up else total, third)

    return compute


_PLACES = range(4)
"""Of the four words that begin at the first four bytes of the row."""


def _word(wave: Wave, source: Source, index: int) -> Value:
    """One of the words of an operand of several; of scalars and constants, which have 64 bits, by shifting."""
    if isinstance(source.operand, Register) and source.operand.file == "v":
        return wave.bits(Source(Register("v", source.operand.number + index), "b32"))
    return wave.split(wave.bits(Source(source.operand, "b64")))[index & 1]


def _sums(wave: Wave, instruction: Instruction, masked: bool) -> list[Value]:
    """The differences of the second source and each of the four words, summed up."""
    row, reference, _ = instruction.sources
    low, high, other = _word(wave, row, 0), _word(wave, row, 1), wave.bits(reference)
    nothing = zero(other)
    words = [
        wave.ir.call("llvm.fshr", low.type, (high, low, constant(8 * place, low.type))) if place else low
        for place in _PLACES
    ]
    compute = differences(8, masked)
    return [compute(wave.ir, word, other, nothing) for word in words]


def _packed(masked: bool) -> Rule:
    """Four sums of 16 bits, each with 16 bits of the third source."""

    def run(wave: Wave, instruction: Instruction) -> None:
        ir, third = wave.ir, instruction.sources[2]
        words = [_word(wave, third, index) for index in (0, 1)]
        added = []
        for place, total in zip(_PLACES, _sums(wave, instruction, masked), strict=True):
            part = ir.with_constant("lshr", words[place >> 1], 16) if place & 1 else words[place >> 1]
            added.append(Half(bits=ir.convert("trunc", ir.binary("add", total, part), "i16")))
        for index in (0, 1):
            register = Register("v", instruction.destinations[0].operand.number + index)
            wave.write_halves(Destination(register, "b32"), *added[2 * index : 2 * index + 2])

    return run


def _wide(wave: Wave, instruction: Instruction) -> None:
    """Four sums of 32 bits, each with a word of the third source; bytes that are 0 in the second do not count."""
    third = instruction.sources[2]
    added = [_word(wave, third, place) for place in _PLACES]
    totals = [
        wave.ir.binary("add", total, word)
        for total, word in zip(_sums(wave, instruction, masked=True), added, strict=True)
    ]
    for place, total in zip(_PLACES, totals, strict=True):
        register = Register("v", instruction.destinations[0].operand.number + place)
        wave.write(Destination(register, "b32"), total)


DIFFERENCES: dict[str, Rule] = {
    "v_qsad_pk_u16_u8": _packed(masked=False),
    "v_mqsad_pk_u16_u8": _packed(masked=True),
    "v_mqsad_u32_u8": _wide,
}
"""By name."""

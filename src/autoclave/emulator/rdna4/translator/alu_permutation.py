"""v_perm_b32: any bytes of two words in any order."""

from autoclave.emulator.ir import Value, constant
from autoclave.emulator.rdna4.instruction import Instruction, Literal32, Source
from autoclave.emulator.rdna4.translator.content import Half
from autoclave.emulator.rdna4.translator.wave import Wave

ZERO = Half(zero=True)
"""A half of no bits."""


def literal(source: Source) -> int | None:
    """The bits of a constant."""
    return source.operand.bits if isinstance(source.operand, Literal32) else None


def permute(wave: Wave, instruction: Instruction) -> None:
    """Bytes of the first two sources by the selectors of the third; whole halves stay as they are."""
    first, second, selectors = instruction.sources
    known = literal(selectors)
    if known is None:
        value = _permuted(wave, *(wave.bits(source) for source in instruction.sources))
        wave.write(instruction.destinations[0], value)
        return
    halves = [_half_selected(wave, first, second, known >> at & 0xFFFF) for at in (0, 16)]
    if halves[0] is not None and halves[1] is not None:
        wave.write_halves(instruction.destinations[0], halves[0], halves[1])
    else:
        wave.write(instruction.destinations[0], _shuffled(wave, wave.bits(first), wave.bits(second), known))


def _half_selected(wave: Wave, first: Source, second: Source, selectors: int) -> Half | None:
    """The half that two selectors of bytes name, if they name one."""
    low, high = selectors & 0xFF, selectors >> 8
    if low == high == 12:
        return ZERO
    if low >= 8 or low & 1 or high != low + 1:
        return None
    return wave.half((first if low >= 4 else second).operand, bool(low & 2))


def _shuffled(wave: Wave, first: Value, second: Value, selectors: int) -> Value:
    """Bytes by known selectors: 0 to 7 a byte of the second, then of the first; others as `_permuted` says."""
    ir, total = wave.ir, constant(0, first.type)
    for at in range(0, 32, 8):
        selector = selectors >> at & 0xFF
        if selector == 12:
            continue
        if selector > 12:
            byte = constant(0xFF, first.type)
        elif selector >= 8:
            source = first if selector >= 10 else second
            moved = source if selector & 1 else ir.with_constant("shl", source, 16)
            byte = ir.with_constant("and", ir.with_constant("ashr", moved, 31), 0xFF)
        else:
            source = first if selector >= 4 else second
            moved = ir.with_constant("lshr", source, 8 * (selector & 3)) if selector & 3 else source
            byte = ir.with_constant("and", moved, 0xFF)
        total = ir.binary("or", total, ir.with_constant("shl", byte, at) if at else byte)
    return total


def _permuted(wave: Wave, first: Value, second: Value, selectors: Value) -> Value:
    """Each byte by a selector: 0 to 7 a byte; 8 to 11 the sign of byte 1, 3, 5, 7; 12 zero; else ones."""
    ir, total = wave.ir, constant(0, first.type)
    wide = wave.join(second, first)
    for at in range(0, 32, 8):
        selector = ir.with_constant("and", ir.with_constant("lshr", selectors, at), 0xFF)
        shift = ir.with_constant("shl", ir.with_constant("and", selector, 7), 3)
        byte = ir.convert("trunc", ir.binary("lshr", wide, ir.convert("zext", shift, "i64")), "i32")
        byte = ir.with_constant("and", byte, 0xFF)
        sign_at = ir.with_constant("add", ir.with_constant("shl", ir.with_constant("and", selector, 3), 4), 15)
        bit = ir.convert("trunc", ir.binary("lshr", wide, ir.convert("zext", sign_at, "i64")), "i1")
        sign = ir.select(bit, constant(0xFF, byte.type), constant(0, byte.type))
        is_twelve = ir.compare("eq", selector, constant(12, selector.type))
        fixed = ir.select(is_twelve, constant(0, byte.type), constant(0xFF, byte.type))
        other = ir.select(ir.compare("ult", selector, constant(12, selector.type)), sign, fixed)
        byte = ir.select(ir.compare("ult", selector, constant(8, selector.type)), byte, other)
        total = ir.binary("or", total, ir.with_constant("shl", byte, at) if at else byte)
    return total

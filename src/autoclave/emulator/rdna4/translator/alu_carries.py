"""Sums with carries in lane masks, and wide products."""

from collections.abc import Callable

from autoclave.emulator.ir import Value, like
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.translator.wave import Wave

Rule = Callable[[Wave, Instruction], None]


def _sum(subtract: bool, reverse: bool) -> Rule:
    """a + b (+ carry) or a - b (- borrow), and the carry out of it."""

    def run(wave: Wave, instruction: Instruction) -> None:
        left, right = (wave.bits(source) for source in instruction.sources[:2])
        if reverse:
            left, right = right, left
        carries = [wave.mask(source) for source in instruction.sources[2:]]
        value, carry = _added(wave, subtract, left, right, *carries)
        wave.write(instruction.destinations[0], value)
        wave.write_mask(instruction.destinations[1], carry)

    return run


def _added(wave: Wave, subtract: bool, left: Value, right: Value, carry: Value | None = None) -> tuple[Value, Value]:
    ir, operation = wave.ir, "sub" if subtract else "add"
    value = ir.binary(operation, left, right)
    over = ir.compare("ult", left, right) if subtract else ir.compare("ult", value, left)
    if carry is None:
        return value, over
    total = ir.binary(operation, value, ir.convert("zext", carry, "i32"))
    # With a carry too, it is over where the sum is all ones (the difference 0).
    again = ir.compare("ult", value, total) if subtract else ir.compare("ult", total, value)
    return total, ir.binary("or", over, again)


def _product(signed: bool) -> Rule:
    """a * b + c of 64 bits, and bit 64 of it."""

    def run(wave: Wave, instruction: Instruction) -> None:
        ir, extension = wave.ir, "sext" if signed else "zext"
        left, right, third = (wave.bits(source) for source in instruction.sources)
        found = ir.binary("mul", ir.convert(extension, left, "i64"), ir.convert(extension, right, "i64"))
        total = ir.binary("add", found, third)
        carry = ir.compare("ult", total, found)
        if signed:
            # Bit 64 of the sum of two sign-extended numbers is their signs' and the carry's exclusive or.
            signs = ir.binary("xor", found, third)
            zero = Value("zeroinitializer", like(signs.type, "i64"))
            carry = ir.binary("xor", carry, ir.compare("slt", signs, zero))
        wave.write(instruction.destinations[0], total)
        wave.write_mask(instruction.destinations[1], carry)

    return run


CARRIES: dict[str, Rule] = {
    **{
        f"v_{name}_co_{carry}u32": _sum(name != "add", name == "subrev")
        for name in ("add", "sub", "subrev")
        for carry in ("", "ci_")
    },
    "v_mad_co_u64_u32": _product(False),
    "v_mad_co_i64_i32": _product(True),
}
"""By name."""

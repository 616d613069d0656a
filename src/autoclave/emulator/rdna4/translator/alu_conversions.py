"""Conversions between floats, and between floats and integers."""

from collections.abc import Callable

from autoclave.emulator.ir import Value, constant, element_type
from autoclave.emulator.rdna4.instruction import Destination, Instruction
from autoclave.emulator.rdna4.translator.alu_numbers import finish_float, number
from autoclave.emulator.rdna4.translator.alu_values import extreme, low_bits, resized
from autoclave.emulator.rdna4.translator.content import Half
from autoclave.emulator.rdna4.translator.wave import Wave

Rule = Callable[[Wave, Instruction], None]
Convert = Callable[[Wave, Value], Value]
"""From a number or bits to what is written, of vectors or scalars."""

RANGES = {
    "i8": (-(1 << 7), (1 << 7) - 1),
    "u8": (0, (1 << 8) - 1),
    "i16": (-(1 << 15), (1 << 15) - 1),
    "u16": (0, (1 << 16) - 1),
    "i32": (-(1 << 31), (1 << 31) - 1),
    "u32": (0, (1 << 32) - 1),
}


def same(wave: Wave, value: Value) -> Value:
    """Between f16 and f32, where both are held as f32."""
    return value


def extended(wave: Wave, value: Value) -> Value:
    """f32 to f64."""
    return wave.ir.convert("fpext", value, "double")


def shortened(wave: Wave, value: Value) -> Value:
    """f64 to f32."""
    return wave.ir.convert("fptrunc", value, "float")


def from_integer(kind: str, element: str = "float") -> Convert:
    """To the nearest float. Of 16 bits exactly, in f32."""
    return lambda wave, value: wave.ir.convert("sitofp" if kind[0] == "i" else "uitofp", value, element)


def to_integer(kind: str) -> Convert:
    """Toward zero, saturated, 0 of NaN: 32 bits."""

    def convert(wave: Wave, value: Value) -> Value:
        if element_type(value.type) == "double":
            return _double_to_integer(wave, value, kind)
        return wave.library(f"single_to_{kind.replace('i', 's')}_toward_zero", value)

    return convert


def _double_to_integer(wave: Wave, value: Value, kind: str) -> Value:
    """The bits of the range's numbers are in binary64 what they are: no conversion overflows."""
    ir, (lowest, highest) = wave.ir, RANGES[kind]
    low, high = number(f"{float(lowest)}", value), number(f"{float(highest)}", value)
    value = ir.select(ir.compare_floats("uno", value, value), number("0.0", value), value)
    value = ir.select(ir.compare_floats("olt", value, low), low, value)
    value = ir.select(ir.compare_floats("ogt", value, high), high, value)
    if kind[0] == "i":
        return ir.convert("fptosi", value, "i32")
    # No instruction before AVX-512 gives unsigned integers: take 2^31 off, convert, and put the top bit back.
    half = number("0x41E0000000000000", value)
    above = ir.compare_floats("oge", value, half)
    converted = ir.convert("fptosi", ir.select(above, ir.binary("fsub", value, half), value), "i32")
    return ir.select(above, ir.with_constant("xor", converted, -(1 << 31)), converted)


def byte_to_float(index: int) -> Convert:
    """One byte of a word."""

    def convert(wave: Wave, value: Value) -> Value:
        moved = wave.ir.with_constant("lshr", value, 8 * index) if index else value
        return wave.ir.convert("sitofp", wave.ir.with_constant("and", moved, 0xFF), "float")

    return convert


def _four_bits(wave: Wave, value: Value) -> Value:
    """The lowest four bits, signed, in sixteenths."""
    whole = wave.ir.convert("sitofp", low_bits(wave.ir, value, 4, True), "float")
    return wave.ir.binary("fmul", whole, number("0.0625", whole))


def _floor_to_integer(wave: Wave, value: Value) -> Value:
    return wave.library("single_to_s32_toward_negative", value)


def _nearest_to_integer(wave: Wave, value: Value) -> Value:
    """floor(a + 0.5), the sum rounded."""
    return _floor_to_integer(wave, wave.ir.binary("fadd", value, number("0.5", value)))


def normalised(kind: str) -> Convert:
    """A number of [-1, 1], or [0, 1], to the whole range of 16 bits, to nearest even; 0 of NaN. In binary64, where products are exact."""
    lowest, highest = ("-1.0", "32767.0") if kind == "i16" else ("0.0", "65535.0")

    def convert(wave: Wave, value: Value) -> Value:
        ir = wave.ir
        value = ir.convert("fpext", value, "double")
        low, high, shifter = number(lowest, value), number("1.0", value), number("0x4338000000000000", value)
        value = ir.select(ir.compare_floats("uno", value, value), number("0.0", value), value)
        value = ir.select(ir.compare_floats("olt", value, low), low, value)
        value = ir.select(ir.compare_floats("ogt", value, high), high, value)
        shifted = ir.binary("fadd", ir.binary("fmul", value, number(highest, value)), shifter)
        return ir.convert("trunc", ir.convert("bitcast", shifted, "i64"), "i32")

    return convert


def saturated(source: str, target: str) -> Convert:
    """An integer saturated to a narrower type, of its own width."""
    low, high = RANGES[target]
    letter = "s" if source[0] == "i" else "u"

    def convert(wave: Wave, value: Value) -> Value:
        value = extreme(f"{letter}min")(wave.ir, value, constant(high, value.type))
        return extreme(f"{letter}max")(wave.ir, value, constant(low, value.type)) if letter == "s" else value

    return convert


def toward_zero(wave: Wave, value: Value) -> Value:
    """f32 to the pattern of a half, toward zero; NaN canonical."""
    return wave.forms.canonical(value, wave.library("narrow_toward_zero_gradual", value))


def _float_result(convert: Convert, of_bits: bool = False) -> Rule:
    def run(wave: Wave, instruction: Instruction) -> None:
        (source,) = instruction.sources
        value = convert(wave, wave.bits(source) if of_bits else wave.number(source))
        widens = instruction.name == "v_cvt_f32_f16"
        finish_float(wave, instruction, value, exact=widens, canonical=of_bits)

    return run


def _integer_result(convert: Convert) -> Rule:
    def run(wave: Wave, instruction: Instruction) -> None:
        (source,), (destination,) = instruction.sources, instruction.destinations
        value = convert(wave, wave.number(source))
        wave.write(destination, resized(wave.ir, value, 16 if destination.type.endswith("16") else 32))

    return run


def _pair(convert: Convert, of_bits: bool = False) -> Rule:
    """Two results of 16 bits, the first in the lower half. CLAMP is of floats only."""

    def run(wave: Wave, instruction: Instruction) -> None:
        values = (wave.bits(source) if of_bits else wave.number(source) for source in instruction.sources)
        low, high = (Half(bits=resized(wave.ir, convert(wave, value), 16)) for value in values)
        if instruction.clamp:
            low, high = (Half(number=wave.library("clamp_gradual", wave.half_number(half))) for half in (low, high))
        wave.write_halves(instruction.destinations[0], low, high)

    return run


def _insert_byte(wave: Wave, instruction: Instruction) -> None:
    """The byte of the third that the second names becomes the float."""
    ir, (first, second, third) = wave.ir, instruction.sources
    byte = to_integer("u8")(wave, wave.number(first))
    shift = ir.with_constant("shl", ir.with_constant("and", wave.bits(second), 3), 3)
    hole = ir.invert(ir.binary("shl", constant(0xFF, shift.type), shift))
    kept = ir.binary("and", wave.bits(third), hole)
    wave.write(instruction.destinations[0], ir.binary("or", kept, ir.binary("shl", byte, shift)))


def _saturated_bytes(wave: Wave, instruction: Instruction) -> None:
    """Two signed halves as unsigned bytes."""
    ir, bits = wave.ir, wave.bits(instruction.sources[0])
    convert = saturated("i32", "u8")
    low = convert(wave, low_bits(ir, bits, 16, True))
    high = convert(wave, ir.with_constant("ashr", bits, 16))
    both = ir.binary("or", low, ir.with_constant("shl", high, 8))
    wave.write(Destination(instruction.destinations[0].operand, "u16"), resized(ir, both, 16))


CONVERSIONS: dict[str, Rule] = {
    "v_cvt_f16_f32": _float_result(same),
    "v_cvt_f32_f16": _float_result(same),
    "v_cvt_f64_f32": _float_result(extended),
    "v_cvt_f32_f64": _float_result(shortened),
    **{
        f"v_cvt_{kind}_{form}": _integer_result(to_integer(kind))
        for form, kinds in (("f16", ("i16", "u16")), ("f32", ("i32", "u32")), ("f64", ("i32", "u32")))
        for kind in kinds
    },
    **{
        f"v_cvt_{form}_{kind}": _float_result(from_integer(kind, "double" if form == "f64" else "float"), True)
        for form, kinds in (("f16", ("i16", "u16")), ("f32", ("i32", "u32")), ("f64", ("i32", "u32")))
        for kind in kinds
    },
    **{f"v_cvt_f32_ubyte{index}": _float_result(byte_to_float(index), True) for index in range(4)},
    "v_cvt_off_f32_i4": _float_result(_four_bits, True),
    "v_cvt_floor_i32_f32": _integer_result(_floor_to_integer),
    "v_cvt_nearest_i32_f32": _integer_result(_nearest_to_integer),
    **{f"v_cvt_norm_{kind}_f16": _integer_result(normalised(kind)) for kind in ("i16", "u16")},
    **{f"v_cvt_pk_norm_{kind}_{form}": _pair(normalised(kind)) for kind in ("i16", "u16") for form in ("f16", "f32")},
    "v_cvt_pk_rtz_f16_f32": _pair(toward_zero),
    **{f"v_cvt_pk_{kind}_f32": _pair(to_integer(kind)) for kind in ("i16", "u16")},
    "v_cvt_pk_i16_i32": _pair(saturated("i32", "i16"), True),
    "v_cvt_pk_u16_u32": _pair(saturated("u32", "u16"), True),
    "v_cvt_pk_u8_f32": _insert_byte,
    "v_sat_pk_u8_i16": _saturated_bytes,
}
"""By name."""

"""How float results of vector operations are finished: rounded to a half, OMOD, CLAMP, written."""

from autoclave.emulator.ir import Value, element_type, like
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.translator.wave import Wave

_MULTIPLIERS = {1: "2.0", 2: "4.0", 3: "0.5"}
_SMALLEST_NORMALS = {"f16": "0x3F10000000000000", "f32": "0x3810000000000000", "f64": "0x0010000000000000"}


def round_half(wave: Wave, value: Value) -> Value:
    """A float rounded once to a half, as the float that holds it. Scalars or vectors.

    `narrow` rounds to nearest even what is no half.
    """
    return wave.widen(wave.narrow(value))


def finish_float(
    wave: Wave, instruction: Instruction, value: Value, *, exact: bool = False, canonical: bool = False
) -> None:
    """Write a float result. exact: of an f16 operation, that it is a half already. canonical: its NaNs are."""
    (destination, *_) = instruction.destinations
    half = destination.type == "f16"
    if half and not exact:
        value = round_half(wave, value)
    wave.write_number(destination, *modified(wave, instruction, value, canonical))


def modified(wave: Wave, instruction: Instruction, value: Value, canonical: bool) -> tuple[Value, bool]:
    """A float result after OMOD and CLAMP, and whether its NaNs are canonical. Scalars or vectors."""
    if instruction.multiplier:
        kind = instruction.destinations[0].type
        value, canonical = _multiplied(wave, value, instruction.multiplier, kind), False
    if instruction.clamp:
        value, canonical = wave.library(of_width("clamp", value), value), True
    return value, canonical


def _multiplied(wave: Wave, value: Value, multiplier: int, type_: str) -> Value:
    """OMOD: zeros and denormals become +0, what would be a denormal the zero of its sign."""
    ir, zero = wave.ir, number("0.0", value)
    product = ir.binary("fmul", value, number(_MULTIPLIERS[multiplier], value))
    magnitude, smallest = ir.call("llvm.fabs", value.type, (value,)), number(_SMALLEST_NORMALS[type_], value)
    if multiplier == 3:
        lost = ir.compare_floats("olt", magnitude, ir.binary("fadd", smallest, smallest))
        product = ir.select(lost, ir.call("llvm.copysign", value.type, (zero, product)), product)
    elif type_ == "f16":
        product = round_half(wave, product)
    return ir.select(ir.compare_floats("olt", magnitude, smallest), zero, product)


def of_width(name: str, value: Value) -> str:
    """The library's function for f64, or for what is computed in f32."""
    return f"{name}_double" if element_type(value.type) == "double" else f"{name}_gradual"


def number(text: str, value: Value) -> Value:
    """A float constant, exact in f32, of the type of `value`."""
    if value.type.startswith("<"):
        return Value(f"splat ({element_type(value.type)} {text})", value.type)
    return Value(text, value.type)


def integer_like(value: Value) -> str:
    """The type of integers with as many bits and lanes as a float."""
    return like(value.type, "i64" if element_type(value.type) == "double" else "i32")

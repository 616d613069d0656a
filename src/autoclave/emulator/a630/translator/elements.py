"""Elements of loads and stores as instructions name them and as registers hold them."""

from collections.abc import Sequence

from autoclave.emulator.a630.instruction import Instruction, Register, Type
from autoclave.emulator.a630.translator.content import Content
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.operations import Operation, plus
from autoclave.emulator.ir import Value

ELEMENT_BYTES: dict[Type, int] = {"f16": 2, "u16": 2, "s16": 2, "f32": 4, "u32": 4, "s32": 4, "u8": 1, "u8_32": 1}


def unknown_memory(instruction: Instruction) -> str | None:
    """Why there is no rule for a load or store; None if there is one."""
    if instruction.type not in ELEMENT_BYTES:
        return f"of type {instruction.type}"
    if instruction.count < 1:
        return "of no elements"
    if instruction.name.startswith("st") and not isinstance(instruction.sources[-1].operand, Register):
        return "of something that is no register"
    return unknown_address(instruction)


def unknown_address(instruction: Instruction) -> str | None:
    """Why a global address has no rule; None if it has one, or is none."""
    if instruction.name.startswith(("ldg", "stg", "atomic.g")) and not isinstance(
        instruction.sources[0].operand, Register
    ):
        return "at an address that is no register"
    return None


def registers_of(operation: Operation) -> tuple[Register, ...]:
    """The registers that are loaded or stored."""
    if operation.destinations:
        first = operation.destinations[0]
    else:
        operand = operation.sources[-1].operand
        assert isinstance(operand, Register)
        first = operand
    return tuple(plus(first, step) for step in range(operation.instruction.count))


def element_bytes(operation: Operation) -> int:
    assert operation.instruction.type is not None
    return ELEMENT_BYTES[operation.instruction.type]


def extended(lanes: Lanes, operation: Operation, loaded: Value, register: Register) -> Content:
    """A loaded element as a register holds it: bytes of u8_32 are signed, others zero-extended."""
    extension = "sext" if operation.instruction.type == "u8_32" else "zext"
    element = "i16" if register.half else "i32"
    if loaded.type.removesuffix(">").endswith("i32") and register.half:
        return Content(half=True, bits=lanes.ir.convert("trunc", loaded, "i16"), opaque=True)
    return Content(half=register.half, bits=lanes.ir.convert(extension, loaded, element), opaque=True)


def stored_elements(lanes: Lanes, operation: Operation) -> list[Value]:
    """What a store takes from registers, each as wide as an element."""
    size = element_bytes(operation)
    return [cut(lanes, lanes.bits(lanes.read(register)), size) for register in registers_of(operation)]


def write_elements(lanes: Lanes, operation: Operation, loaded: Sequence[Value]) -> None:
    """Put what was loaded into registers."""
    for register, value in zip(registers_of(operation), loaded, strict=True):
        lanes.write(register, extended(lanes, operation, value, register))


def cut(lanes: Lanes, value: Value, size: int) -> Value:
    """The low bytes of what is stored."""
    narrow = "i16" in value.type
    if size == 4:
        return lanes.ir.convert("zext", value, "i32")
    return value if narrow and size == 2 else lanes.ir.convert("trunc", value, f"i{8 * size}")

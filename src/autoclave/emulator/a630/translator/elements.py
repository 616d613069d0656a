"""What loads and stores have in common: their elements, and moving them at pointers of the host."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autoclave.emulator.a630.instruction import Instruction, Register, Type
from autoclave.emulator.a630.translator.content import Content
from autoclave.emulator.a630.translator.faults import Exits
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.operations import Operation, plus
from autoclave.emulator.ir import Value, constant, like, vector

ELEMENT_BYTES: dict[Type, int] = {"f16": 2, "u16": 2, "s16": 2, "f32": 4, "u32": 4, "s32": 4, "u8": 1, "u8_32": 1}


@dataclass(slots=True)
class MemoryContext:
    """What memory access needs of the kernel. private: where this vector's private memory begins."""

    exits: Exits
    buffers: int
    shared_bytes: int
    private_bytes: int
    shared: Value
    private: Value


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


def cut(lanes: Lanes, value: Value, size: int) -> Value:
    """The low bytes of what is stored."""
    narrow = "i16" in value.type
    if size == 4:
        return lanes.ir.convert("zext", value, "i32")
    return value if narrow and size == 2 else lanes.ir.convert("trunc", value, f"i{8 * size}")


def load_elements(lanes: Lanes, operation: Operation, pointer: Value, mask: Value | None) -> list[Value]:
    """All elements of a load. `pointer` is a scalar, or a vector whose lanes of `mask` are loaded from."""
    size = element_bytes(operation)
    loaded = []
    for step in range(operation.instruction.count):
        place = lanes.ir.offset(pointer, constant(step * size, like(pointer.type, "i64"))) if step else pointer
        if mask is None:
            loaded.append(lanes.ir.load(place, f"i{8 * size}", 1))
        else:
            loaded.append(lanes.ir.gather(place, vector(lanes.lanes, f"i{8 * size}"), 1, mask))
    return loaded


def load_words(lanes: Lanes, operation: Operation, pointers: Value, mask: Value) -> list[Value]:
    """As `load_elements`, by as few gathers of 32 or 64 bits as will do: the host has none of less."""
    ir, size, count = lanes.ir, element_bytes(operation), operation.instruction.count
    word = 8 if size * count % 8 == 0 else 4
    if size * count % 4:
        return load_elements(lanes, operation, pointers, mask)
    loaded = []
    for start in range(0, size * count, word):
        place = ir.offset(pointers, constant(start, like(pointers.type, "i64"))) if start else pointers
        bits = ir.gather(place, vector(lanes.lanes, f"i{8 * word}"), 1, mask)
        for at in range(0, word, size):
            part = ir.with_constant("lshr", bits, 8 * at) if at else bits
            loaded.append(ir.convert("trunc", part, f"i{8 * size}"))
    return loaded


def load_part_of_word(lanes: Lanes, operation: Operation, base: Value, low: Value, mask: Value) -> list[Value]:
    """One element of 8 or 16 bits at each offset from `base`, out of the aligned word of 32 bits that it lies in.

    An aligned word is in one page, so that the host may read it whole. The element must not lie across two.
    """
    ir, size = lanes.ir, element_bytes(operation)
    host = ir.emit(f"ptrtoint ptr {base.text} to i64", "i64")
    lead = ir.with_constant("and", host, 3)
    aligned = ir.offset(base, ir.binary("sub", constant(0, "i64"), lead))
    offset = ir.binary("add", low, lanes.vector(ir.convert("trunc", lead, "i32")))
    words = ir.gather(ir.offset(aligned, ir.with_constant("and", offset, -4)), vector(lanes.lanes, "i32"), 4, mask)
    shift = ir.with_constant("shl", ir.with_constant("and", offset, 3), 3)
    return [ir.convert("trunc", ir.binary("lshr", words, shift), f"i{8 * size}")]


def store_elements(lanes: Lanes, operation: Operation, values: Sequence[Value], pointer: Value, mask: Value) -> None:
    """All elements of a store, lane by lane in order."""
    size = element_bytes(operation)
    for step, value in enumerate(values):
        place = lanes.ir.offset(pointer, constant(step * size, like(pointer.type, "i64"))) if step else pointer
        lanes.ir.scatter(lanes.vector(cut(lanes, value, size)), lanes.vector(place), 1, mask)


def each_lane(lanes: Lanes, visit: Callable[[Value], None]) -> None:
    """A loop over the lanes that take part, in order; `visit` gets the lane's number."""
    ir = lanes.ir
    head, body, chosen, after, done = (ir.name(stem) for stem in ("lane", "lanebody", "look", "lanenext", "lanesdone"))
    counter = ir.alloca("i32")
    ir.store(constant(0, "i32"), counter, 4)
    ir.jump(head)
    ir.label(head)
    lane = ir.load(counter, "i32", 4)
    ir.branch(ir.compare("ult", lane, constant(lanes.lanes, "i32")), body, done)
    ir.label(body)
    ir.branch(ir.element(lanes.all_lanes(), lane), chosen, after)
    ir.label(chosen)
    with lanes.aside():
        visit(lane)
    ir.jump(after)
    ir.label(after)
    ir.store(ir.with_constant("add", lane, 1), counter, 4)
    ir.jump(head)
    ir.label(done)

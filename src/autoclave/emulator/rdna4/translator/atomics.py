"""Atomics on shared memory and on buffers: lane after lane, in order (see `emulator.translator.atomics`)."""

from collections.abc import Callable

from autoclave.emulator.ir import Builder, Value, constant
from autoclave.emulator.rdna4.instruction import Destination, Instruction, Register
from autoclave.emulator.rdna4.translator.memory import (
    Rule,
    data_registers,
    global_address,
    local_address,
)
from autoclave.emulator.rdna4.translator.memory_lanes import lanes_on
from autoclave.emulator.rdna4.translator.wave import Wave
from autoclave.emulator.rdna4.translator.windows import Windows
from autoclave.emulator.translator.atomics import update_each
from autoclave.emulator.translator.elements import MemoryContext
from autoclave.emulator.translator.global_memory import global_pointers
from autoclave.emulator.translator.local_memory import shared_pointer

Update = Callable[[Builder, Value, Value], Value]
"""Gives the new value from the old one and the operand."""


def _where(condition: str) -> Update:
    """The old value where the comparison with the operand holds, else the operand."""
    return lambda ir, old, value: ir.select(ir.compare(condition, old, value), old, value)


def _increment(ir: Builder, old: Value, value: Value) -> Value:
    return ir.select(ir.compare("uge", old, value), constant(0, old.type), ir.with_constant("add", old, 1))


def _decrement(ir: Builder, old: Value, value: Value) -> Value:
    none = ir.binary("or", ir.compare("eq", old, constant(0, old.type)), ir.compare("ugt", old, value))
    return ir.select(none, value, ir.with_constant("add", old, -1))


def _subtract_if_enough(ir: Builder, old: Value, value: Value) -> Value:
    return ir.select(ir.compare("uge", old, value), ir.binary("sub", old, value), old)


INTEGERS: dict[str, Update] = {
    "add_u": lambda ir, old, value: ir.binary("add", old, value),
    "sub_u": lambda ir, old, value: ir.binary("sub", old, value),
    "rsub_u": lambda ir, old, value: ir.binary("sub", value, old),
    "sub_clamp_u": lambda ir, old, value: ir.call("llvm.usub.sat", old.type, (old, value)),
    "cond_sub_u": _subtract_if_enough,
    "inc_u": _increment,
    "dec_u": _decrement,
    "min_u": _where("ult"),
    "max_u": _where("ugt"),
    "min_i": _where("slt"),
    "max_i": _where("sgt"),
    "and_b": lambda ir, old, value: ir.binary("and", old, value),
    "or_b": lambda ir, old, value: ir.binary("or", old, value),
    "xor_b": lambda ir, old, value: ir.binary("xor", old, value),
    "swap_b": lambda ir, old, value: value,
    "storexchg_b": lambda ir, old, value: value,
}
"""Operations on integers of 32 or 64 bits with one operand, by the end of their names without the number of bits."""

_WITH_TWO = ("cmpswap_b", "cmpstore_b", "mskor_b")
_FLOATS = {"add_f32": None, "min_num_f32": "minimum_number", "max_num_f32": "maximum_number",
           "min_num_f64": "minimum_number", "max_num_f64": "maximum_number", "pk_add_f16": None}  # fmt: skip
"""Operations on floats, and the vector library's function, if it is one."""

KINDS: tuple[str, ...] = (
    *(f"{name}{bits}" for name in (*INTEGERS, *_WITH_TWO) for bits in (32, 64)),
    *_FLOATS,
)
"""What an atomic does, by the end of its name."""


def kind_of(name: str) -> str:
    """ "add_u32" of "global_atomic_add_u32" and of "ds_add_rtn_u32"."""
    return name.rpartition("atomic_")[2].removeprefix("ds_").replace("_rtn", "")


def _atomic(wave: Wave, context: MemoryContext, windows: Windows, instruction: Instruction) -> None:
    ir, kind, lanes = wave.ir, kind_of(instruction.name), lanes_on(wave)
    bits = 64 if kind.endswith("64") else 32
    operands = [_operand(wave, register, bits) for register in _operand_registers(instruction, kind, bits)]
    if instruction.encoding == "DS":
        place = local_address(wave, instruction, instruction.immediate)
        pointers = shared_pointer(lanes, context, place, bits // 8)
    else:
        pointers = global_pointers(lanes, context, *global_address(wave, instruction), bits // 8, writing=True)

    def new_value(old: Value, lane: Value) -> Value:
        return _updated(wave, kind, old, [ir.element(operand, lane) for operand in operands])

    before = update_each(lanes, pointers, f"i{bits}", new_value)
    if instruction.destinations:
        number = instruction.destinations[0].operand.number
        wave.write(Destination(Register("v", number, bits // 32), f"b{bits}"), before)


def _operand_registers(instruction: Instruction, kind: str, bits: int) -> list[int]:
    """The first register of each operand: those that are compared with, in global memory, follow upon the first."""
    numbers = [register.number for register in data_registers(instruction)]
    return [numbers[0], numbers[0] + bits // 32] if kind.startswith("cmpswap") else numbers


def _operand(wave: Wave, number: int, bits: int) -> Value:
    words = [wave.forms.bits(wave.content(number + step)) for step in range(bits // 32)]
    return words[0] if bits == 32 else wave.join(*words)


def _updated(wave: Wave, kind: str, old: Value, operands: list[Value]) -> Value:
    ir = wave.ir
    if kind in _FLOATS:
        return _float(wave, kind, old, operands[0])
    name = kind[:-2]
    if name == "mskor_b":
        return ir.binary("or", ir.binary("and", old, ir.invert(operands[0])), operands[1])
    if name in _WITH_TWO:
        return ir.select(ir.compare("eq", old, operands[1]), operands[0], old)
    return INTEGERS[name](ir, old, operands[0])


def _float(wave: Wave, kind: str, old: Value, value: Value) -> Value:
    ir, function = wave.ir, _FLOATS[kind]
    if kind == "pk_add_f16":
        parts = [_half_sum(wave, old, value, shift) for shift in (0, 16)]
        return ir.binary("or", parts[0], parts[1])
    element, ending = ("double", "double") if kind.endswith("64") else ("float", "gradual")
    left, right = ir.convert("bitcast", old, element), ir.convert("bitcast", value, element)
    if function is None:
        result = ir.binary("fadd", left, right)
    else:
        result = wave.library(f"{function}_{ending}", left, right)
    return wave.forms.canonical(result, ir.convert("bitcast", result, old.type))


def _half_sum(wave: Wave, old: Value, value: Value, shift: int) -> Value:
    """The sum of two halves at their place among 32 bits."""
    ir = wave.ir
    left, right = (
        wave.widen(ir.convert("trunc", ir.with_constant("lshr", word, shift), "i16")) for word in (old, value)
    )
    total = ir.binary("fadd", left, right)
    bits = wave.forms.canonical(total, wave.narrow(total))
    return ir.with_constant("shl", ir.convert("zext", bits, "i32"), shift)


def _names(kind: str) -> tuple[str, ...]:
    operation, _, of = kind.rpartition("_")
    return f"ds_{kind}", f"ds_{operation}_rtn_{of}", f"global_atomic_{kind}", f"flat_atomic_{kind}"


ATOMICS: dict[str, Rule] = {name: _atomic for kind in KINDS for name in _names(kind)}
"""By name."""

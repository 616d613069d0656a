"""Loads and stores: global (FLAT is the same), shared and private memory, and scalar loads. All are checked by the core."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from autoclave.emulator.ir import Value, constant, lanes_of
from autoclave.emulator.rdna4.instruction import Destination, Instruction, Register
from autoclave.emulator.rdna4.translator.memory_lanes import MemoryLanes, lanes_on
from autoclave.emulator.rdna4.translator.wave import Wave
from autoclave.emulator.rdna4.translator.windows import Windows
from autoclave.emulator.translator.elements import MemoryContext
from autoclave.emulator.translator.global_memory import (
    address_halves,
    address_sum,
    load_global,
    load_uniform,
    load_uniform_block,
    store_global,
)
from autoclave.emulator.translator.lane_context import alike
from autoclave.emulator.translator.local_memory import load_private, load_shared, store_private, store_shared


@dataclass(frozen=True, slots=True)
class Form:
    """What a load or store moves: `count` elements of `size` bytes.

    signed: the element is, where it is extended. half: which one is loaded, the other is kept; of a store, which one it takes.
    """

    size: int
    count: int = 1
    signed: bool = False
    half: str | None = None


_WORDS = {f"b{32 * count}": Form(4, count) for count in (1, 2, 3, 4)}
_PARTS = {"u8": Form(1), "i8": Form(1, signed=True), "u16": Form(2), "i16": Form(2, signed=True)}
_HALVES = {"d16": "low", "d16_hi": "high"}
_SPACES = ("global", "flat", "scratch", "ds")


def _halved(name: str, kinds: Mapping[str, Form]) -> dict[str, Form]:
    return {
        name.format(part=part, kind=kind): Form(form.size, signed=form.signed, half=half)
        for part, half in _HALVES.items()
        for kind, form in kinds.items()
    }


LOADS: dict[str, Form] = {
    **{f"{space}_load_{kind}": form for space in _SPACES for kind, form in (_WORDS | _PARTS).items()},
    **{
        name: form
        for space in _SPACES[:3]
        for name, form in _halved(
            f"{space}_load_{{part}}_{{kind}}", {"u8": Form(1), "i8": Form(1, signed=True), "b16": Form(2)}
        ).items()
    },
    **_halved("ds_load_{kind}_{part}", {"u8": Form(1), "i8": Form(1, signed=True), "u16": Form(2)}),
}
"""Loads of one value for each lane, by name."""

STORES: dict[str, Form] = {
    **{
        f"{space}_store_{kind}": form
        for space in _SPACES
        for kind, form in (_WORDS | {"b8": Form(1), "b16": Form(2)}).items()
    },
    **{
        f"{space}_store_d16_hi_{kind}": Form(size, half="high")
        for space in _SPACES[:3]
        for kind, size in (("b8", 1), ("b16", 2))
    },
    **{f"ds_store_{kind}_d16_hi": Form(size, half="high") for kind, size in (("b8", 1), ("b16", 2))},
}
"""Stores of one value for each lane, by name."""

SCALAR_LOADS: dict[str, Form] = {
    **{f"s_load_b{32 * count}": Form(4, count) for count in (1, 2, 3, 4, 8, 16)},
    **{f"s_load_{kind}": form for kind, form in _PARTS.items()},
}
"""Loads into scalar registers, by name."""

_BLOCKS = (8, 16)
"""Words of the scalar loads that compilers widen where they know the address to be aligned, beyond what there is to load."""

PAIRS: dict[str, tuple[int, int]] = {
    f"2addr_{stride}b{bits}": (bits // 32, bits // 8 * (64 if stride else 1))
    for bits in (32, 64)
    for stride in ("", "stride64_")
}
"""What follows ds_load_ and ds_store_ of two addresses: words of an element, and the unit of offsets in bytes."""

Rule = Callable[[Wave, MemoryContext, Windows, Instruction], None]


# Addresses


def window_address(wave: Wave, instruction: Instruction) -> tuple[Value, Value] | None:
    """What a window is made of: two registers, or a base of 64 bits and an offset; None if the address is that of all lanes."""
    if not instruction.has_scalar_base:
        number = _register(instruction, 0).number
        low, high = (_vector_word(wave, number + step) for step in range(2))
        return None if wave.mask_of_memory is None and is_scalar(low) and is_scalar(high) else (low, high)
    base = wave.scalars.read_pair(_register(instruction, -1).number)
    offset = (
        _vector_word(wave, _register(instruction, 0).number) if instruction.has_vector_address else constant(0, "i32")
    )
    return None if wave.mask_of_memory is None and is_scalar(offset) else (base, offset)


def is_scalar(value: Value) -> bool:
    """Whether all lanes have it."""
    return lanes_of(value.type) is None


def global_address(wave: Wave, instruction: Instruction) -> tuple[Value, Value]:
    """Both halves of an address: scalars where it is that of all lanes."""
    lanes, ir = lanes_on(wave), wave.ir
    if not instruction.has_scalar_base:
        operand = _register(instruction, 0)
        low, high = (_vector_word(wave, operand.number + step) for step in range(2))
        return address_sum(lanes, low, high, instruction.immediate) if instruction.immediate else (low, high)
    base = _register(instruction, -1)
    wide = ir.with_constant("add", wave.scalars.read_pair(base.number), instruction.immediate)
    if instruction.has_vector_address:
        offset = _vector_word(wave, _register(instruction, 0).number)
        wide = ir.binary("add", *alike(lanes, wide, ir.convert("zext", offset, "i64")))
    return address_halves(lanes, wide)


def local_address(wave: Wave, instruction: Instruction, immediate: int) -> Value:
    """An offset in shared or private memory: a scalar where it is that of all lanes."""
    lanes = lanes_on(wave)
    parts = []
    if instruction.has_vector_address or instruction.encoding == "DS":
        parts.append(_vector_word(wave, _register(instruction, 0).number))
    if instruction.has_scalar_base:
        parts.append(wave.scalars.read(_register(instruction, -1).number))
    total = constant(immediate, "i32")
    for part in parts:
        total = wave.ir.binary("add", *alike(lanes, part, total))
    return total


def _register(instruction: Instruction, place: int) -> Register:
    operand = instruction.sources[place].operand
    assert isinstance(operand, Register)
    return operand


def _vector_word(wave: Wave, number: int) -> Value:
    """A vector register's bits, as a scalar where it holds the same in all lanes."""
    uniform = wave.uniform(number)
    return uniform if uniform is not None else wave.forms.bits(wave.content(number))


# Loads


def _load(wave: Wave, context: MemoryContext, windows: Windows, instruction: Instruction) -> None:
    form = LOADS[instruction.name]
    lanes = lanes_on(wave)
    if instruction.encoding == "DS":
        place = local_address(wave, instruction, instruction.immediate)
        loaded = load_shared(lanes, context, place, form.size, form.count)
    elif instruction.encoding == "SCRATCH":
        place = local_address(wave, instruction, instruction.immediate)
        loaded = load_private(lanes, context, place, form.size, form.count)
    else:
        address = window_address(wave, instruction)
        if address is not None:
            loaded = windows.load(instruction, address, form.size * form.count)
        else:
            loaded = load_global(lanes, context, *global_address(wave, instruction), form.size, form.count)
    _write_loaded(wave, instruction, form, loaded)


def _write_loaded(wave: Wave, instruction: Instruction, form: Form, loaded: list[Value]) -> None:
    ir, number = wave.ir, instruction.destinations[0].operand.number
    extension = "sext" if form.signed else "zext"
    if form.half is not None:
        destination = Destination(Register("v", number, high=form.half == "high"), "b16")
        wave.write(destination, ir.convert(extension, loaded[0], "i16"))
    elif form.size == 2 and not form.signed:
        wave.write_half_alone(number, loaded[0])
    else:
        for step, value in enumerate(loaded):
            wave.write(Destination(Register("v", number + step), "b32"), ir.convert(extension, value, "i32"))


def _scalar_load(wave: Wave, context: MemoryContext, windows: Windows, instruction: Instruction) -> None:
    """The lowest two bits of the address of whole words do not count. Blocks may reach behind the end of a buffer."""
    form, ir = SCALAR_LOADS[instruction.name], wave.ir
    address = wave.scalars.read_pair(_register(instruction, 0).number)
    for source in instruction.sources[1:]:
        offset = wave.scalar(source)
        address = ir.binary("add", address, ir.convert("zext", offset, "i64"))
    address = ir.with_constant("add", address, instruction.immediate)
    if form.size == 4:
        address = ir.with_constant("and", address, -4)
    every = MemoryLanes(wave, None)
    low, high = address_halves(every, address)
    if form.count in _BLOCKS:
        loaded = load_uniform_block(every, context, low, high, form.count)
    else:
        loaded = load_uniform(every, context, low, high, form.size, form.count)
    number = instruction.destinations[0].operand.number
    for step, value in enumerate(loaded):
        wave.scalars.write(number + step, ir.convert("sext" if form.signed else "zext", value, "i32"))


def _load_pair(wave: Wave, context: MemoryContext, windows: Windows, instruction: Instruction) -> None:
    words, unit = PAIRS[instruction.name.removeprefix("ds_load_")]
    lanes, number = lanes_on(wave), instruction.destinations[0].operand.number
    loaded = []
    for offset in (instruction.immediate, instruction.second_immediate):
        loaded += load_shared(lanes, context, local_address(wave, instruction, offset * unit), 4, words)
    for step, value in enumerate(loaded):
        wave.write(Destination(Register("v", number + step), "b32"), value)


# Stores


def _store(wave: Wave, context: MemoryContext, windows: Windows, instruction: Instruction) -> None:
    form, lanes = STORES[instruction.name], lanes_on(wave)
    values = stored_values(wave, data_registers(instruction)[0], form)
    if instruction.encoding == "DS":
        store_shared(lanes, context, local_address(wave, instruction, instruction.immediate), form.size, values)
    elif instruction.encoding == "SCRATCH":
        store_private(lanes, context, local_address(wave, instruction, instruction.immediate), form.size, values)
    else:
        address = window_address(wave, instruction)
        if address is not None:
            windows.store(instruction, address, form.size * form.count, values)
        else:
            store_global(lanes, context, *global_address(wave, instruction), form.size, values)


def _store_pair(wave: Wave, context: MemoryContext, windows: Windows, instruction: Instruction) -> None:
    words, unit = PAIRS[instruction.name.removeprefix("ds_store_")]
    lanes = lanes_on(wave)
    offsets = (instruction.immediate, instruction.second_immediate)
    for register, offset in zip(data_registers(instruction), offsets, strict=True):
        values = stored_values(wave, register, Form(4, words))
        store_shared(lanes, context, local_address(wave, instruction, offset * unit), 4, values)


def data_registers(instruction: Instruction) -> list[Register]:
    """The registers with what is stored, or what an atomic operates with."""
    last = len(instruction.sources) - (1 if instruction.has_scalar_base else 0)
    first = 1 if instruction.has_vector_address or instruction.encoding == "DS" else 0
    return [source.operand for source in instruction.sources[first:last] if isinstance(source.operand, Register)]


def stored_values(wave: Wave, register: Register, form: Form) -> list[Value]:
    """What a store writes: `count` vectors of integers of `size` bytes."""
    if form.size == 4:
        return [wave.forms.bits(wave.content(register.number + step)) for step in range(form.count)]
    half = wave.half_bits(wave.half(register, high=form.half == "high"))
    return [wave.ir.convert("trunc", half, f"i{8 * form.size}")]


MEMORY: dict[str, Rule] = {
    **dict.fromkeys(LOADS, _load),
    **dict.fromkeys(STORES, _store),
    **dict.fromkeys(SCALAR_LOADS, _scalar_load),
    **{f"ds_load_{kind}": _load_pair for kind in PAIRS},
    **{f"ds_store_{kind}": _store_pair for kind in PAIRS},
}
"""Loads and stores, by name."""

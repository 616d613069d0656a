"""Operations in which lanes read other lanes: v_readlane and its kin, permutations, DPP."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from autoclave.emulator.ir import Value, constant, numbers
from autoclave.emulator.rdna4.instruction import Dpp, Instruction, Register, Source
from autoclave.emulator.rdna4.translator.wave import DPP_REGISTER, Wave

WAVE = 32
_ROW = 16


def _read_first_lane(wave: Wave, instruction: Instruction) -> None:
    """The first lane that is on; lane 0 if none is."""
    value = wave.bits(instruction.sources[0])
    on = wave.mask_of_memory
    lane = constant(0, "i32")
    if wave.exec_mask() is not None and on is not None:
        bits = wave.scalars.bits_of(on)
        first = wave.ir.call("llvm.cttz", "i32", (bits, Value("false", "i1")))
        lane = wave.ir.with_constant("and", first, wave.lanes - 1)
    wave.write_scalar(instruction.destinations[0], wave.ir.element(value, lane))


def _read_lane(wave: Wave, instruction: Instruction) -> None:
    """Any lane, on or off."""
    value, which = instruction.sources[:2]
    lane = wave.ir.with_constant("and", wave.scalar(which), WAVE - 1)
    wave.write_scalar(instruction.destinations[0], wave.ir.element(wave.bits(value), lane))


def _write_lane(wave: Wave, instruction: Instruction) -> None:
    """One lane, on or off."""
    value, which = instruction.sources[:2]
    lane = wave.ir.with_constant("and", wave.scalar(which), WAVE - 1)
    number = instruction.destinations[0].operand.number
    old, new = wave.forms.bits(wave.content(number)), wave.scalar(value)
    type_ = wave.type("i32")
    written = wave.ir.emit(f"insertelement {type_} {old.text}, i32 {new.text}, i32 {lane.text}", type_)
    wave.write_every_lane(number, written)


def _swap(wave: Wave, instruction: Instruction) -> None:
    """Two registers, or halves."""
    first, second = instruction.destinations
    crossed = [wave.bits(Source(one.operand, one.type)) for one in (second, first)]
    for destination, value in zip((first, second), crossed, strict=True):
        wave.write(destination, value)


def _permute_nothing(wave: Wave, instruction: Instruction) -> None:
    """v_permlane64 exchanges the halves of a wave of 64 lanes; with 32 it does nothing."""


# Each lane names the lane that it reads


def gathered_lanes(wave: Wave, value: Value, lanes: Value) -> Value:
    """Of each lane, the element of `value` that it names: through memory, as no host has an operation for it in 32 lanes."""
    ir = wave.ir
    place = ir.alloca(wave.type("i32"))
    ir.store(value, place, 64)
    pointers = ir.offset(place, ir.convert("zext", lanes, "i64"), "i32")
    return ir.gather(pointers, wave.type("i32"), 4, constant(1, wave.type("i1")))


def _selected(flipped: int) -> Callable[[Wave, Instruction], None]:
    """v_permlane16, v_permlanex16: within rows of 16, or of the other row; four bits for each lane of a row, in two scalars."""

    def rule(wave: Wave, instruction: Instruction) -> None:
        ir = wave.ir
        value = wave.bits(instruction.sources[0])
        low, high = (wave.vector(wave.scalar(source)) for source in instruction.sources[1:3])
        upper = [bool(lane & 8) for lane in range(WAVE)]
        words = ir.select(Value(_flags(upper), wave.type("i1")), high, low)
        shifts = numbers((4 * (lane & 7) for lane in range(WAVE)), "i32")
        wanted = ir.with_constant("and", ir.binary("lshr", words, shifts), _ROW - 1)
        rows = numbers(((lane ^ flipped) & _ROW for lane in range(WAVE)), "i32")
        wave.write(instruction.destinations[0], gathered_lanes(wave, value, ir.binary("or", wanted, rows)))

    return rule


def _selected_by_lane(flipped: int) -> Callable[[Wave, Instruction], None]:
    """The same, with four bits that each lane has itself."""

    def rule(wave: Wave, instruction: Instruction) -> None:
        ir = wave.ir
        value, wanted = (wave.bits(source) for source in instruction.sources[:2])
        rows = numbers(((lane ^ flipped) & _ROW for lane in range(WAVE)), "i32")
        lanes = ir.binary("or", ir.with_constant("and", wanted, _ROW - 1), rows)
        wave.write(instruction.destinations[0], gathered_lanes(wave, value, lanes))

    return rule


def _flags(bits: Sequence[bool]) -> str:
    return f"<{', '.join('i1 true' if bit else 'i1 false' for bit in bits)}>"


def _backward_permute(fetch_inactive: bool) -> Callable[[Wave, Instruction], None]:
    """ds_bpermute: each lane names, times 4, the lane that it reads; 0 from one that is off."""

    def rule(wave: Wave, instruction: Instruction) -> None:
        ir = wave.ir
        address, value = (wave.bits(source) for source in instruction.sources[:2])
        if not fetch_inactive:
            value = _only_lanes_on(wave, value)
        moved = ir.with_constant("add", address, instruction.immediate)
        lanes = ir.with_constant("and", ir.with_constant("lshr", moved, 2), WAVE - 1)
        wave.write(instruction.destinations[0], gathered_lanes(wave, value, lanes))

    return rule


def _only_lanes_on(wave: Wave, value: Value) -> Value:
    on = wave.mask_of_memory
    return value if on is None else wave.ir.select(on, value, constant(0, value.type))


def _forward_permute(wave: Wave, instruction: Instruction) -> None:
    """ds_permute: each lane names, times 4, the lane that gets its value; of several the highest wins."""
    ir = wave.ir
    address, value = (wave.bits(source) for source in instruction.sources[:2])
    moved = ir.with_constant("add", address, instruction.immediate)
    lanes = ir.with_constant("and", ir.with_constant("lshr", moved, 2), WAVE - 1)
    place = ir.alloca(wave.type("i32"))
    ir.store(constant(0, wave.type("i32")), place, 64)
    on = wave.mask_of_memory
    every = constant(1, wave.type("i1")) if on is None else on
    ir.scatter(value, ir.offset(place, ir.convert("zext", lanes, "i64"), "i32"), 4, every)
    wave.write(instruction.destinations[0], ir.load(place, wave.type("i32"), 64))


_QUADS, _ROTATION, _TRANSFORM = 0x8000, 0xC000, 0xE000
"""The least offsets of ds_swizzle's modes; below the first, lanes are named by three masks."""


def swizzled(offset: int, lane: int) -> int:
    """The lane that `lane` reads by ds_swizzle."""
    if offset >= _TRANSFORM:
        mask = offset & 31
        turned = sum((lane >> bit & 1) << (4 - bit) for bit in range(5))
        return turned >> mask.bit_count() | lane & mask
    if offset >= _ROTATION:
        mask, distance = offset & 31, offset >> 5 & 31
        moved = lane - distance if offset & 0x400 else lane + distance
        return (lane & mask) | (moved & ~mask & 31)
    if offset >= _QUADS:
        return (lane & ~3) | (offset >> 2 * (lane & 3) & 3)
    kept, set_, flipped = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    return ((lane & kept) | set_) ^ flipped


def _swizzle(wave: Wave, instruction: Instruction) -> None:
    """ds_swizzle: 0 from a lane that is off."""
    value = _only_lanes_on(wave, wave.bits(instruction.sources[0]))
    lanes = [swizzled(instruction.immediate & 0xFFFF, lane) for lane in range(WAVE)]
    wave.write(instruction.destinations[0], wave.ir.shuffle(value, None, lanes))


LANE_MOVES: dict[str, Callable[[Wave, Instruction], None]] = {
    "v_readfirstlane_b32": _read_first_lane,
    "v_readlane_b32": _read_lane,
    "v_writelane_b32": _write_lane,
    "v_permlane16_b32": _selected(0),
    "v_permlanex16_b32": _selected(_ROW),
    "v_permlane16_var_b32": _selected_by_lane(0),
    "v_permlanex16_var_b32": _selected_by_lane(_ROW),
    "v_permlane64_b32": _permute_nothing,
    "ds_bpermute_b32": _backward_permute(fetch_inactive=False),
    "ds_bpermute_fi_b32": _backward_permute(fetch_inactive=True),
    "ds_permute_b32": _forward_permute,
    "ds_swizzle_b32": _swizzle,
    "v_swap_b32": _swap,
    "v_swap_b16": _swap,
}
"""Operations across lanes, by name."""


# DPP


def source_lane(dpp: Dpp, lane: int) -> int | None:
    """The lane whose value `lane` gets; None if it names one outside of its row."""
    if dpp.selectors is not None:
        return (lane & ~7) | dpp.selectors[lane & 7]
    control, row, place = dpp.control, lane & ~15, lane & 15
    amount = control & 15
    if control < 0x100:
        return (lane & ~3) | (control >> 2 * (lane & 3) & 3)
    if control == 0x140:
        return row | 15 - place
    if control == 0x141:
        return (lane & ~7) | 7 - (lane & 7)
    moves = {0x100: place + amount, 0x110: place - amount}
    if control & ~15 in moves:
        moved = moves[control & ~15]
        return row | moved if 0 <= moved < _ROW else None
    wanted = {0x120: (place - amount) & 15, 0x150: amount, 0x160: place ^ amount}
    return row | wanted[control & ~15]


def known_dpp(dpp: Dpp) -> bool:
    """Whether there is a rule for a control."""
    control = dpp.control
    return (
        dpp.selectors is not None
        or control < 0x100
        or control in (0x140, 0x141)
        or (control & ~15 in (0x100, 0x110, 0x120) and control & 15 != 0)
        or control & ~15 in (0x150, 0x160)
    )


def with_dpp(wave: Wave, instruction: Instruction, rule: Callable[[Wave, Instruction], None]) -> None:
    """Carry out an instruction whose first source is that of another lane."""
    dpp = instruction.dpp
    assert dpp is not None
    first, *others = instruction.sources
    bound = dpp.bound_control or dpp.selectors is not None
    assert isinstance(first.operand, Register)
    number = first.operand.number
    named = [source_lane(dpp, lane) for lane in range(WAVE)]
    ir = wave.ir
    value = wave.forms.bits(wave.content(number))
    if not dpp.fetch_inactive:
        value = _only_lanes_on(wave, value)
    zeros = constant(0, value.type)
    moved = ir.shuffle(value, zeros, [WAVE if lane is None else lane for lane in named])
    written = [
        bool(dpp.row_mask >> (lane // 16) & 1 and dpp.bank_mask >> (lane % 16 // 4) & 1)
        and (named[lane] is not None or bound)
        for lane in range(WAVE)
    ]
    if not dpp.fetch_inactive and not bound:
        on = wave.mask_of_memory
        available = None if on is None else ir.shuffle(on, None, [lane or 0 for lane in named])
    else:
        available = None
    mask = None if all(written) else Value(_flags(written), wave.type("i1"))
    if available is not None:
        mask = available if mask is None else ir.binary("and", mask, available)
    with wave.only(mask, moved):
        rule(
            wave,
            replace(
                instruction, sources=(replace(first, operand=replace(first.operand, number=DPP_REGISTER)), *others)
            ),
        )

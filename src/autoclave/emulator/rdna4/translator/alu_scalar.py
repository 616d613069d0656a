"""Scalar operations (SOP1, SOP2, SOPC, SOPK and v_s_*), on integers, masks and floats."""

from collections.abc import Callable

from autoclave.emulator.ir import Builder, Value, constant
from autoclave.emulator.rdna4.instruction import Destination, Instruction, Source
from autoclave.emulator.rdna4.translator import alu_conversions as conversions
from autoclave.emulator.rdna4.translator.alu_compares import FLOAT_CONDITIONS, integer_condition
from autoclave.emulator.rdna4.translator.alu_floats import FLOAT_RULES, FloatRule
from autoclave.emulator.rdna4.translator.alu_integers import (
    Compute,
    binary,
    bit_mask,
    extreme,
    field,
    high_product,
    leading_signs,
    leading_zeros,
    population,
    resized,
    reversed_bits,
    shift_left,
    shift_right,
    shift_right_signed,
    trailing_zeros,
    width,
    zero,
)
from autoclave.emulator.rdna4.translator.alu_numbers import round_half
from autoclave.emulator.rdna4.translator.wave import Wave

Rule = Callable[[Wave, Instruction], None]


def _sources(wave: Wave, instruction: Instruction) -> list[Value]:
    """The sources' bits; of SOPK the immediate first."""
    values = [wave.scalar(source) for source in instruction.sources]
    return [constant(instruction.immediate, "i32"), *values] if instruction.encoding == "SOPK" else values


def _plain(compute: Compute) -> Rule:
    """One result, and SCC stays."""

    def run(wave: Wave, instruction: Instruction) -> None:
        wave.write_scalar(instruction.destinations[0], compute(wave.ir, *_sources(wave, instruction)))

    return run


def _tested(compute: Compute) -> Rule:
    """One result, and SCC is whether it is not 0."""

    def run(wave: Wave, instruction: Instruction) -> None:
        value = compute(wave.ir, *_sources(wave, instruction))
        wave.write_scalar(instruction.destinations[0], value)
        wave.set_scc(wave.ir.compare("ne", value, zero(value)))

    return run


def _condition(compute: Compute) -> Rule:
    """No result but SCC."""

    def run(wave: Wave, instruction: Instruction) -> None:
        wave.set_scc(compute(wave.ir, *_sources(wave, instruction)))

    return run


def _sum(subtract: bool, shift: int = 0, with_carry: bool = False) -> Rule:
    """Of unsigned numbers; SCC is the carry. In 64 bits, where nothing is lost."""

    def run(wave: Wave, instruction: Instruction) -> None:
        ir = wave.ir
        left, right = (ir.convert("zext", value, "i64") for value in _sources(wave, instruction))
        left = ir.with_constant("shl", left, shift) if shift else left
        total = ir.binary("sub" if subtract else "add", left, right)
        if with_carry:
            total = ir.binary("sub" if subtract else "add", total, ir.convert("zext", wave.scc(), "i64"))
        wave.write_scalar(instruction.destinations[0], ir.convert("trunc", total, "i32"))
        over = ir.with_constant("lshr", total, 32)
        wave.set_scc(ir.compare("ne", over, zero(over)))

    return run


def _signed_sum(subtract: bool) -> Rule:
    """SCC is whether the exact result does not fit."""

    def run(wave: Wave, instruction: Instruction) -> None:
        ir = wave.ir
        left, right = (resized(ir, value, 32, "sext") for value in _sources(wave, instruction))
        total = ir.binary("sub" if subtract else "add", left, right)
        # It does not where the result's sign is not the left one's, and the right one's says that it must be.
        turned = ir.binary("xor", total, left)
        others = ir.binary("xor", left if subtract else total, right)
        wave.write_scalar(instruction.destinations[0], total)
        wave.set_scc(ir.compare("slt", ir.binary("and", turned, others), zero(total)))

    return run


def _extreme(condition: str) -> Rule:
    """The first where it compares so with the second; SCC is whether it does."""

    def run(wave: Wave, instruction: Instruction) -> None:
        left, right = _sources(wave, instruction)
        first = wave.ir.compare(condition, left, right)
        wave.write_scalar(instruction.destinations[0], wave.ir.select(first, left, right))
        wave.set_scc(first)

    return run


def _select(wave: Wave, instruction: Instruction) -> None:
    """The first source if SCC, else the second (s_cselect) or what was there (s_cmov)."""
    chosen, other = (resized(wave.ir, value, 32, "sext") for value in _sources(wave, instruction))
    wave.write_scalar(instruction.destinations[0], wave.ir.select(wave.scc(), chosen, other))


def _select_wide(wave: Wave, instruction: Instruction) -> None:
    wave.write_scalar(instruction.destinations[0], wave.ir.select(wave.scc(), *_sources(wave, instruction)))


# Logic


def _inverted(compute: Compute) -> Compute:
    return lambda ir, left, right: ir.invert(compute(ir, left, right))


def _not_right(operation: str) -> Compute:
    return lambda ir, left, right: ir.binary(operation, left, ir.invert(right))


LOGIC: dict[str, Compute] = {
    "and": binary("and"),
    "or": binary("or"),
    "xor": binary("xor"),
    "nand": _inverted(binary("and")),
    "nor": _inverted(binary("or")),
    "xnor": _inverted(binary("xor")),
    "and_not1": _not_right("and"),
    "or_not1": _not_right("or"),
}
"""By the middle of the name."""

# Bits


def _bit_field(signed: bool) -> Compute:
    """The second source holds the offset in its lowest bits, the width in bits 22 to 16."""

    def compute(ir: Builder, value: Value, where: Value) -> Value:
        bits = width(value)
        offset = resized(ir, ir.with_constant("and", where, bits - 1), bits)
        count = ir.with_constant("and", ir.with_constant("lshr", where, 16), 0x7F)
        count = extreme("umin")(ir, count, constant(bits, count.type))
        return field(ir, value, offset, resized(ir, count, bits), signed)

    return compute


def _bit(ir: Builder, value: Value, index: Value) -> Value:
    """The bit of a value at an index modulo its width, alone."""
    return ir.with_constant("and", shift_right(ir, value, index), 1)


def _bit_is(expected: int) -> Compute:
    def compute(ir: Builder, value: Value, index: Value) -> Value:
        bit = _bit(ir, value, index)
        return ir.compare("eq", bit, constant(expected, bit.type))

    return compute


def _set_bit(ir: Builder, index: Value, old: Value) -> Value:
    return ir.binary("or", old, shift_left(ir, constant(1, old.type), index))


def _clear_bit(ir: Builder, index: Value, old: Value) -> Value:
    return ir.binary("and", old, ir.invert(shift_left(ir, constant(1, old.type), index)))


def _count(inverted: bool) -> Compute:
    def compute(ir: Builder, value: Value) -> Value:
        return resized(ir, population(ir, ir.invert(value) if inverted else value), 32)

    return compute


_ONES = {32: 0x11111111, 64: 0x1111111111111111}


def _any_of_four(ir: Builder, value: Value) -> Value:
    """The lowest bit of each four, whether any of them is set."""
    value = ir.binary("or", value, ir.with_constant("lshr", value, 1))
    value = ir.binary("or", value, ir.with_constant("lshr", value, 2))
    return ir.with_constant("and", value, _ONES[width(value)])


def _all_of_four(ir: Builder, value: Value) -> Value:
    return ir.with_constant("mul", _any_of_four(ir, value), 15)


_GATHERED = {32: (0x03030303, 0x000F000F, 0xFF), 64: (0x0303030303030303, 0x000F000F000F000F, 0x000000FF000000FF)}


def _packed_fours(ir: Builder, value: Value) -> Value:
    """One bit for each four, the lowest first."""
    value = _any_of_four(ir, value)
    for shift, mask in zip((3, 6, 12), _GATHERED[width(value)], strict=True):
        value = ir.with_constant("and", ir.binary("or", value, ir.with_constant("lshr", value, shift)), mask)
    if width(value) == 64:
        both = ir.binary("or", value, ir.with_constant("lshr", value, 24))
        return ir.with_constant("and", both, 0xFFFF)
    return value


_SPREAD = (
    (16, 0x0000FFFF0000FFFF),
    (8, 0x00FF00FF00FF00FF),
    (4, 0x0F0F0F0F0F0F0F0F),
    (2, 0x3333333333333333),
    (1, 0x5555555555555555),
)


def _replicate(ir: Builder, value: Value) -> Value:
    """Every bit twice."""
    value = ir.convert("zext", value, "i64")
    for shift, mask in _SPREAD:
        value = ir.with_constant("and", ir.binary("or", value, ir.with_constant("shl", value, shift)), mask)
    return ir.with_constant("mul", value, 3)


def _absolute(ir: Builder, value: Value) -> Value:
    return ir.call("llvm.abs", value.type, (value, Value("false", "i1")))


def _absolute_difference(ir: Builder, left: Value, right: Value) -> Value:
    return _absolute(ir, ir.binary("sub", left, right))


def _extended(bits: int) -> Compute:
    return lambda ir, value: ir.convert("sext", resized(ir, value, bits), "i32")


def _packed(low_upper: bool, high_upper: bool) -> Compute:
    """A word of one half of each source."""

    def compute(ir: Builder, left: Value, right: Value) -> Value:
        left, right = resized(ir, left, 32), resized(ir, right, 32)
        low = ir.with_constant("lshr", left, 16) if low_upper else ir.with_constant("and", left, 0xFFFF)
        high = ir.with_constant("and", right, -0x10000) if high_upper else ir.with_constant("shl", right, 16)
        return ir.binary("or", low, high)

    return compute


def _same(ir: Builder, value: Value) -> Value:
    return value


def _mask_of_width(ir: Builder, count: Value, offset: Value) -> Value:
    return bit_mask(ir, ir.convert("zext", count, "i64"), ir.convert("zext", offset, "i64"))


def _product_of_immediate(ir: Builder, immediate: Value, old: Value) -> Value:
    return ir.binary("mul", resized(ir, immediate, 32, "sext"), old)


def _of_width(bits: int) -> dict[str, Rule]:
    """What there is for 32 and for 64 bits."""
    return {
        **{f"s_{name}_b{bits}": _tested(compute) for name, compute in LOGIC.items()},
        f"s_mov_b{bits}": _plain(_same),
        f"s_not_b{bits}": _tested(lambda ir, value: ir.invert(value)),
        f"s_brev_b{bits}": _plain(reversed_bits),
        f"s_ctz_i32_b{bits}": _plain(trailing_zeros),
        f"s_clz_i32_u{bits}": _plain(leading_zeros),
        "s_cls_i32" if bits == 32 else "s_cls_i32_i64": _plain(leading_signs),
        f"s_bcnt0_i32_b{bits}": _tested(_count(True)),
        f"s_bcnt1_i32_b{bits}": _tested(_count(False)),
        f"s_bitset0_b{bits}": _plain(_clear_bit),
        f"s_bitset1_b{bits}": _plain(_set_bit),
        f"s_quadmask_b{bits}": _tested(_packed_fours),
        f"s_wqm_b{bits}": _tested(_all_of_four),
        f"s_lshl_b{bits}": _tested(shift_left),
        f"s_lshr_b{bits}": _tested(shift_right),
        f"s_ashr_i{bits}": _tested(shift_right_signed),
        f"s_bfe_u{bits}": _tested(_bit_field(False)),
        f"s_bfe_i{bits}": _tested(_bit_field(True)),
        f"s_bfm_b{bits}": _plain(bit_mask if bits == 32 else _mask_of_width),
        f"s_bitcmp0_b{bits}": _condition(_bit_is(0)),
        f"s_bitcmp1_b{bits}": _condition(_bit_is(1)),
        f"s_cmov_b{bits}": _select_wide,
        f"s_cselect_b{bits}": _select_wide,
    }


def _compare(condition: str) -> Rule:
    return _condition(lambda ir, left, right: ir.compare(condition, left, right))


# Floats


def _float(rule: FloatRule) -> Rule:
    def run(wave: Wave, instruction: Instruction) -> None:
        value = rule.compute(wave, *(wave.scalar_number(source) for source in instruction.sources))
        _write_float(wave, instruction, value, rule.exact)

    return run


def _write_float(wave: Wave, instruction: Instruction, value: Value, exact: bool) -> None:
    (destination,) = instruction.destinations
    half = destination.type.startswith("f16")
    if half and not exact:
        value = round_half(wave, value)
    wave.write_scalar_number(Destination(destination.operand, "f16" if half else destination.type), value, False)


def _float_compare(condition: str) -> Rule:
    def run(wave: Wave, instruction: Instruction) -> None:
        left, right = (wave.scalar_number(source) for source in instruction.sources)
        wave.set_scc(wave.ir.compare_floats(condition, left, right))

    return run


def _converted(convert: conversions.Convert) -> Rule:
    """To a float."""

    def run(wave: Wave, instruction: Instruction) -> None:
        (source,) = instruction.sources
        value = wave.scalar_number(source) if source.type.startswith("f") else wave.scalar(source)
        exact = instruction.destinations[0].type != "f16"
        _write_float(wave, instruction, convert(wave, value), exact)

    return run


def _converted_integer(convert: conversions.Convert) -> Rule:
    def run(wave: Wave, instruction: Instruction) -> None:
        wave.write_scalar(instruction.destinations[0], convert(wave, wave.scalar_number(instruction.sources[0])))

    return run


def _converted_upper(wave: Wave, instruction: Instruction) -> None:
    """The upper half of a word to f32."""
    word = wave.scalar(Source(instruction.sources[0].operand, "b32"))
    half = wave.ir.convert("trunc", wave.ir.with_constant("lshr", word, 16), "i16")
    _write_float(wave, instruction, wave.widen(half), True)


def _pair_toward_zero(wave: Wave, instruction: Instruction) -> None:
    ir = wave.ir
    low, high = (
        ir.convert("zext", conversions.toward_zero(wave, wave.scalar_number(source)), "i32")
        for source in instruction.sources
    )
    wave.write_scalar(
        Destination(instruction.destinations[0].operand, "b32"), ir.binary("or", low, ir.with_constant("shl", high, 16))
    )


_FLOAT_OPERATIONS = (
    *("add", "sub", "mul", "fmac", "fmaak", "fmamk", "min_num", "max_num", "minimum", "maximum"),
    *("ceil", "floor", "trunc", "rndne"),
)

SCALAR_FLOATS: dict[str, Rule] = {
    **{
        f"s_{name}_{type_}": _float(rule)
        for name in _FLOAT_OPERATIONS
        for rule in FLOAT_RULES[name]
        for type_ in rule.types
        if type_ != "f64" and (type_ == "f32" or name not in ("fmaak", "fmamk"))
    },
    **{
        f"v_s_{name}_{type_}": _float(rule)
        for name in ("exp", "log", "rcp", "rsq", "sqrt")
        for rule in FLOAT_RULES[name]
        for type_ in rule.types
        if type_ != "f64"
    },
    **{
        f"s_cmp_{name}_{type_}": _float_compare(condition)
        for name, condition in FLOAT_CONDITIONS.items()
        for type_ in ("f16", "f32")
    },
    "s_cvt_f32_i32": _converted(conversions.from_integer("i32")),
    "s_cvt_f32_u32": _converted(conversions.from_integer("u32")),
    "s_cvt_i32_f32": _converted_integer(conversions.to_integer("i32")),
    "s_cvt_u32_f32": _converted_integer(conversions.to_integer("u32")),
    "s_cvt_f16_f32": _converted(conversions.same),
    "s_cvt_f32_f16": _converted(conversions.same),
    "s_cvt_hi_f32_f16": _converted_upper,
    "s_cvt_pk_rtz_f16_f32": _pair_toward_zero,
}

SCALAR_INTEGERS: dict[str, Rule] = {
    **_of_width(32),
    **_of_width(64),
    "s_sext_i32_i8": _plain(_extended(8)),
    "s_sext_i32_i16": _plain(_extended(16)),
    "s_bitreplicate_b64_b32": _plain(_replicate),
    "s_abs_i32": _tested(_absolute),
    "s_absdiff_i32": _tested(_absolute_difference),
    "s_add_co_u32": _sum(False),
    "s_add_co_ci_u32": _sum(False, with_carry=True),
    "s_sub_co_u32": _sum(True),
    "s_sub_co_ci_u32": _sum(True, with_carry=True),
    "s_add_co_i32": _signed_sum(False),
    "s_sub_co_i32": _signed_sum(True),
    **{f"s_lshl{amount}_add_u32": _sum(False, amount) for amount in (1, 2, 3, 4)},
    "s_min_i32": _extreme("slt"),
    "s_min_u32": _extreme("ult"),
    "s_max_i32": _extreme("sge"),
    "s_max_u32": _extreme("uge"),
    "s_mul_i32": _plain(binary("mul")),
    "s_mul_hi_u32": _plain(high_product(False)),
    "s_mul_hi_i32": _plain(high_product(True)),
    "s_add_nc_u64": _plain(binary("add")),
    "s_sub_nc_u64": _plain(binary("sub")),
    "s_mul_u64": _plain(binary("mul")),
    "s_pack_ll_b32_b16": _plain(_packed(False, False)),
    "s_pack_lh_b32_b16": _plain(_packed(False, True)),
    "s_pack_hh_b32_b16": _plain(_packed(True, True)),
    "s_pack_hl_b32_b16": _plain(_packed(True, False)),
    **{
        f"s_cmp_{'lg' if name == 'ne' else name}_{kind}": _compare(integer_condition(name, kind))
        for kind in ("i32", "u32")
        for name in ("lt", "eq", "le", "gt", "ne", "ge")
    },
    "s_cmp_eq_u64": _compare("eq"),
    "s_cmp_lg_u64": _compare("ne"),
    "s_movk_i32": _plain(_extended(16)),
    "s_cmovk_i32": _select,
    "s_addk_co_i32": _signed_sum(False),
    "s_mulk_i32": _plain(_product_of_immediate),
}
"""By name. An immediate is the first source, the old destination the second."""

"""Scalar operations on integers and masks (SOP1, SOP2, SOPC, SOPK)."""

from collections.abc import Callable

from autoclave.emulator.ir import Builder, Value, constant
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.translator.alu_bits import (
    bit_mask,
    leading_signs,
    leading_zeros,
    reversed_bits,
    shift_left,
    shift_right,
    shift_right_signed,
    trailing_zeros,
)
from autoclave.emulator.rdna4.translator.alu_compares import integer_condition
from autoclave.emulator.rdna4.translator.alu_integers import high_product
from autoclave.emulator.rdna4.translator.alu_scalar_bits import (
    LOGIC,
    absolute,
    all_of_four,
    bit_is,
    clear_bit,
    count_bits,
    extended,
    packed_bit_field,
    packed_fours,
    packed_halves,
    product_of_immediate,
    replicate,
    set_bit,
    signed_difference,
    wide_bit_mask,
)
from autoclave.emulator.rdna4.translator.alu_values import Compute, binary, resized, zero
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


def _same(ir: Builder, value: Value) -> Value:
    return value


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
        f"s_bcnt0_i32_b{bits}": _tested(count_bits(True)),
        f"s_bcnt1_i32_b{bits}": _tested(count_bits(False)),
        f"s_bitset0_b{bits}": _plain(clear_bit),
        f"s_bitset1_b{bits}": _plain(set_bit),
        f"s_quadmask_b{bits}": _tested(packed_fours),
        f"s_wqm_b{bits}": _tested(all_of_four),
        f"s_lshl_b{bits}": _tested(shift_left),
        f"s_lshr_b{bits}": _tested(shift_right),
        f"s_ashr_i{bits}": _tested(shift_right_signed),
        f"s_bfe_u{bits}": _tested(packed_bit_field(False)),
        f"s_bfe_i{bits}": _tested(packed_bit_field(True)),
        f"s_bfm_b{bits}": _plain(bit_mask if bits == 32 else wide_bit_mask),
        f"s_bitcmp0_b{bits}": _condition(bit_is(0)),
        f"s_bitcmp1_b{bits}": _condition(bit_is(1)),
        f"s_cmov_b{bits}": _select_wide,
        f"s_cselect_b{bits}": _select_wide,
    }


def _compare(condition: str) -> Rule:
    return _condition(lambda ir, left, right: ir.compare(condition, left, right))


SCALAR_INTEGERS: dict[str, Rule] = {
    **_of_width(32),
    **_of_width(64),
    "s_sext_i32_i8": _plain(extended(8)),
    "s_sext_i32_i16": _plain(extended(16)),
    "s_bitreplicate_b64_b32": _plain(replicate),
    "s_abs_i32": _tested(absolute),
    "s_absdiff_i32": _tested(signed_difference),
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
    "s_pack_ll_b32_b16": _plain(packed_halves(False, False)),
    "s_pack_lh_b32_b16": _plain(packed_halves(False, True)),
    "s_pack_hh_b32_b16": _plain(packed_halves(True, True)),
    "s_pack_hl_b32_b16": _plain(packed_halves(True, False)),
    **{
        f"s_cmp_{'lg' if name == 'ne' else name}_{kind}": _compare(integer_condition(name, kind))
        for kind in ("i32", "u32")
        for name in ("lt", "eq", "le", "gt", "ne", "ge")
    },
    "s_cmp_eq_u64": _compare("eq"),
    "s_cmp_lg_u64": _compare("ne"),
    "s_movk_i32": _plain(extended(16)),
    "s_cmovk_i32": _select,
    "s_addk_co_i32": _signed_sum(False),
    "s_mulk_i32": _plain(product_of_immediate),
}
"""By name. An immediate is the first source, the old destination the second."""

"""Modifiers of operands and results, operands that are constants, and registers that are read in another form than they were written."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from emulator.rdna4.alu_cases import columns
from emulator.rdna4.alu_harness import Rules, compiled, hosts, instruction

from autoclave.emulator.jit import HostTarget
from autoclave.emulator.rdna4.encoding.types import width
from autoclave.emulator.rdna4.instruction import Instruction, Literal32, Register, Source
from autoclave.emulator.rdna4.lanewise import LANE_OPERATIONS
from autoclave.emulator.rdna4.lanewise.modifiers import (
    clamp,
    clamp_packed,
    mixed_source,
    modified,
    multiply_output,
    packed_source,
)

ROWS = 192
HOSTS = pytest.mark.parametrize("target", (hosts()[0], hosts()[-1]), ids=lambda target: target.cpu)


def with_sources(one: Instruction, *changes: dict[str, object]) -> Instruction:
    """The instruction with changed sources."""
    sources = [replace(source, **change) for source, change in zip(one.sources, changes, strict=True)]
    return replace(one, sources=tuple(sources))


def source_bits(one: Instruction, source: Source, bits: int) -> int:
    """A source as the operation sees it."""
    if isinstance(source.operand, Literal32):
        bits = source.operand.bits
    elif source.operand.high:
        bits >>= 16
    if "fma_mix" in one.name:
        return mixed_source(bits, source)
    if one.encoding == "VOP3P" and source.type.endswith("x2"):
        return packed_source(bits, source)
    if source.type == "mask":
        return bits
    bits &= (1 << width(source.type)) - 1
    return modified(bits, source) if source.negated or source.absolute else bits


def result_bits(one: Instruction, bits: int) -> int:
    """A result with OMOD and CLAMP."""
    kind = one.destinations[0].type
    if one.multiplier:
        bits = multiply_output(bits, kind, one.multiplier)
    if one.clamp and kind == "f16x2":
        return clamp_packed(bits)
    return clamp(bits, kind) if one.clamp and kind.startswith("f") else bits


def wanted(one: Instruction, taken: Sequence[np.ndarray]) -> np.ndarray:
    """By the second implementation."""
    operation = LANE_OPERATIONS[one.name]
    compute = operation.saturated if one.clamp and operation.saturated is not None else operation.compute
    signs = [source.negated for source in one.sources[:2]] if operation.takes == "signs" else []
    plain = [replace(source, negated=False) for source in one.sources] if signs else one.sources
    rows = zip(*(map(int, column) for column in taken), strict=True)
    results = (
        compute(*signs, *(source_bits(one, source, bits) for source, bits in zip(plain, row, strict=True)))
        for row in rows
    )
    return np.array([result_bits(one, bits) for bits in results], np.uint64)


def taken_by(one: Instruction) -> list[np.ndarray]:
    """Operands; those with 16 bits as whole registers."""
    types = [source.type for source in one.sources]
    low = columns(types, ROWS, repr(one))
    high = columns(types, ROWS, repr(one)[::-1])
    return [
        bits | other << np.uint64(16) if width(type_) == 16 else bits
        for type_, bits, other in zip(types, low, high, strict=True)
    ]


def first_wrong(rules: Rules, instructions: Sequence[Instruction]) -> list[object]:
    wrong: list[object] = []
    for number, one in enumerate(instructions):
        taken = taken_by(one)
        given, expected = rules.run(number, taken)[0], wanted(one, taken)
        for row in np.flatnonzero(given != expected)[:1]:
            operands = [hex(int(column[row])) for column in taken]
            wrong.append(
                (
                    one.name,
                    one.sources,
                    one.clamp,
                    one.multiplier,
                    operands,
                    hex(int(given[row])),
                    hex(int(expected[row])),
                )
            )
    return wrong


def cases() -> list[Instruction]:
    """Instructions with modifiers, each kind on some operations that treat them in ways of their own."""
    negated, absolute, both = {"negated": True}, {"absolute": True}, {"negated": True, "absolute": True}
    plain: dict[str, object] = {}
    every = [
        with_sources(instruction("v_sub_f32"), negated, both),
        with_sources(instruction("v_fma_f16"), absolute, negated, both),
        with_sources(instruction("v_mul_f64"), both, absolute),
        with_sources(instruction("v_cndmask_b32"), absolute, negated, plain),
        with_sources(instruction("v_cndmask_b16"), negated, both, plain),
        with_sources(instruction("v_mov_b32"), both),
        with_sources(instruction("v_pack_b32_f16"), negated, absolute),
        with_sources(instruction("v_cmp_lt_f16"), negated, absolute),
        with_sources(instruction("v_cmp_class_f64"), both, plain),
        with_sources(instruction("v_div_fixup_f16"), negated, plain, absolute),
        with_sources(instruction("v_frexp_mant_f32"), negated),
    ]
    for name in ("v_add_f16", "v_mul_f32", "v_fma_f32", "v_add_f64", "v_rcp_f32", "v_max_num_f32", "v_cvt_f16_f32"):
        for multiplier in range(4):
            every += [replace(instruction(name), multiplier=multiplier, clamp=clamped) for clamped in (False, True)]
    every += [
        replace(instruction(name), clamp=True)
        for name in (
            *("v_add_nc_u32", "v_sub_nc_u32", "v_subrev_nc_u32", "v_add_nc_i32", "v_sub_nc_i32", "v_add_nc_i16"),
            *(
                "v_sub_nc_u16",
                "v_mad_u32_u24",
                "v_mad_i32_i24",
                "v_mad_i32_i16",
                "v_mad_u32_u16",
                "v_mad_i16",
                "v_mad_u16",
            ),
            *("v_pk_add_u16", "v_pk_sub_i16", "v_pk_mad_u16", "v_pk_mad_i16", "v_dot4_u32_u8", "v_dot8_u32_u4"),
            *("v_pk_add_f16", "v_pk_fma_f16", "v_fma_mix_f32", "v_fma_mixlo_f16", "v_dot2_f32_f16"),
        )
    ]
    return every + packed() + signed() + high_halves() + constants()


def packed() -> list[Instruction]:
    """OPSEL, OPSEL_HI, NEG and NEG_HI in all combinations on one source, others on the next."""
    every = []
    for choice in range(16):
        fields = ("high", "high_of_second", "negated", "negated_second")
        one = {field: bool(choice >> index & 1) for index, field in enumerate(fields)}
        other = {field: not value for field, value in one.items()}
        every += [with_sources(instruction(name), one, other) for name in ("v_pk_mul_f16", "v_pk_add_i16")]
        every.append(with_sources(instruction("v_dot2_f32_f16"), one, other, {}))
        every += [
            with_sources(instruction(name), one, other, one)
            for name in ("v_fma_mix_f32", "v_fma_mixlo_f16", "v_pk_fma_f16")
        ]
    return every


def signed() -> list[Instruction]:
    """Dot products of which NEG says what is signed."""
    return [
        replace(with_sources(instruction(name), {"negated": first}, {"negated": second}, {}), clamp=clamped)
        for name in ("v_dot4_i32_iu8", "v_dot8_i32_iu4")
        for first in (False, True)
        for second in (False, True)
        for clamped in (False, True)
    ]


def high_halves() -> list[Instruction]:
    """Upper halves of registers as operands and as results."""
    every = []
    for name in ("v_add_f16", "v_fma_f16", "v_mad_u16", "v_cvt_i16_f16", "v_mov_b16", "v_cvt_f32_f16", "v_lshlrev_b16"):
        one = instruction(name)
        sources = [
            replace(source, operand=replace(source.operand, high=width(source.type) == 16))
            for source in one.sources
            if isinstance(source.operand, Register)
        ]
        (destination,) = one.destinations
        upper = replace(destination.operand, high=width(destination.type) == 16)
        every.append(replace(one, sources=tuple(sources), destinations=(replace(destination, operand=upper),)))
    return every


def with_constants(name: str, constants: dict[int, int]) -> Instruction:
    """An instruction of which some sources, by number, are constants."""
    one = instruction(name)
    sources = [
        replace(source, operand=Literal32(constants[index], False)) if index in constants else source
        for index, source in enumerate(one.sources)
    ]
    return replace(one, sources=tuple(sources))


def constants() -> list[Instruction]:
    """Constants that let an operation be done another way, and such that do not."""
    every = [
        with_constants(f"v_{name}_num_{kind}", {index: bits})
        for name in ("max", "min")
        for kind, patterns in (
            ("f32", (0, 0x80000000, 0x3F800000, 0x7F800000, 0x7FC00000)),
            ("f16", (0, 0x8000, 0xC200, 0x7E01)),
        )
        for bits in patterns
        for index in (0, 1)
    ]
    every += [with_constants("v_pk_max_num_f16", {index: bits}) for index in (0, 1) for bits in (0, 0x3C00)]
    every += [
        with_sources(with_constants("v_pk_max_num_f16", {1: 0}), {}, {"negated": True}),
        with_sources(with_constants("v_pk_max_num_f16", {1: 0}), {"negated": True}, {"negated_second": True}),
        with_constants("v_pk_add_f16", {1: 0x3C00}),
        with_constants("v_fma_f16", {1: 0x3369, 2: 0x3C00}),
    ]
    selectors = (
        0x05040100,
        0x07060302,
        0x0C0C0605,
        0x03020706,
        0x00010203,
        0x0C070C01,
        0xFF0D0B0A,
        0x09080C0C,
        0x05040C0C,
    )
    every += [with_constants("v_perm_b32", {2: bits}) for bits in selectors]
    for name in ("v_lshlrev_b32", "v_lshrrev_b32", "v_ashrrev_i32"):
        every += [with_constants(name, {0: amount}) for amount in (0, 1, 16, 31, 48)]
    every += [with_constants(name, {2: amount}) for name in ("v_alignbit_b32", "v_alignbyte_b32") for amount in (2, 16)]
    every += [with_constants("v_and_b32", {index: mask}) for index in (0, 1) for mask in (0xFFFF, 0xFFFF0000, 0xFF)]
    every += [with_constants("v_bfi_b32", {0: mask}) for mask in (0xFFFF, 0xFFFF0000, 0x7FFF7FFF)]
    return every + [with_constants("v_cndmask_b32", {0: 0, 1: bits}) for bits in (0xFFFFFFC0, 0x42800000)]


@HOSTS
def test_modifiers_and_constants(target: HostTarget):
    instructions = cases()
    rules = compiled([[one] for one in instructions], 8, target)

    assert first_wrong(rules, instructions) == []

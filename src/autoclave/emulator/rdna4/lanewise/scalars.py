"""Scalar integer operations (SOP1, SOP2, SOPC, SOPK): results and SCC."""

import operator
from collections.abc import Callable
from typing import Final

from autoclave.emulator.rdna4.lanewise import bits
from autoclave.emulator.rdna4.lanewise.integers import RELATIONS, of_type, signed
from autoclave.emulator.rdna4.lanewise.operation import ScalarOperation

Number = Callable[..., int]

_WORD: Final = 0xFFFFFFFF
_LONG: Final = 0xFFFFFFFFFFFFFFFF
_MASKS: Final = {32: _WORD, 64: _LONG}


def plain(function: Number) -> ScalarOperation:
    """One result, and SCC stays."""
    return ScalarOperation(lambda scc, *sources: ((function(*sources),), None))


def tested(function: Number) -> ScalarOperation:
    """One result, and SCC is whether it is not 0."""

    def compute(scc: int, *sources: int) -> tuple[tuple[int, ...], int]:
        result = function(*sources)
        return (result,), 1 if result else 0

    return ScalarOperation(compute)


def condition(holds: Callable[..., object]) -> ScalarOperation:
    """No result but SCC."""
    return ScalarOperation(lambda scc, *sources: ((), 1 if holds(*sources) else 0))


def _carried(function: Callable[..., tuple[int, int]]) -> ScalarOperation:
    """A result and SCC; the function gets SCC first."""

    def compute(scc: int, *sources: int) -> tuple[tuple[int, ...], int]:
        result, flag = function(scc, *sources)
        return (result,), flag

    return ScalarOperation(compute)


def _unsigned_sum(shift: int = 0, with_carry: bool = False) -> ScalarOperation:
    def compute(scc: int, a: int, b: int) -> tuple[int, int]:
        total = (a << shift) + b + (scc if with_carry else 0)
        return total & _WORD, 1 if total > _WORD else 0

    return _carried(compute)


def _unsigned_difference(with_borrow: bool = False) -> ScalarOperation:
    def compute(scc: int, a: int, b: int) -> tuple[int, int]:
        difference = a - b - (scc if with_borrow else 0)
        return difference & _WORD, 1 if difference < 0 else 0

    return _carried(compute)


def _signed_sum(function: Callable[[int, int], int]) -> ScalarOperation:
    """SCC is whether the exact result does not fit."""

    def compute(scc: int, a: int, b: int) -> tuple[int, int]:
        exact = function(signed(a, 32), signed(b, 32))
        return exact & _WORD, 0 if -(1 << 31) <= exact < 1 << 31 else 1

    return _carried(compute)


def _chosen(kind: str, holds: Callable[[int, int], bool]) -> ScalarOperation:
    """The first where it compares so with the second; SCC is whether it does."""
    flip = 1 << 31 if kind == "i32" else 0

    def compute(scc: int, a: int, b: int) -> tuple[int, int]:
        first = holds(a ^ flip, b ^ flip)
        return (a, 1) if first else (b, 0)

    return _carried(compute)


def _field(width: int, is_signed: bool) -> Number:
    """A bit field: b holds its offset in its lowest bits, its width in bits 22 to 16."""

    def compute(a: int, b: int) -> int:
        offset, size = b & (width - 1), b >> 16 & 0x7F
        if not is_signed:
            return a >> offset & ((1 << size) - 1)
        shifted = signed(a, width) >> offset
        return (signed(shifted, size) if size else 0) & _MASKS[width]

    return compute


def _field_mask(width: int) -> Number:
    return lambda a, b: (1 << (a & width - 1)) - 1 << (b & width - 1) & _MASKS[width]


def _absolute(a: int) -> int:
    return abs(signed(a, 32)) & _WORD


def _absolute_difference(a: int, b: int) -> int:
    return _absolute(a - b & _WORD)


def _replicate(a: int) -> int:
    """Every bit twice."""
    return int("".join(2 * bit for bit in f"{a:032b}"), 2)


def _any_of_four(width: int) -> Number:
    """One bit for each four, whether any of them is set."""
    return lambda a: sum(1 << i for i in range(width // 4) if a >> 4 * i & 15)


def _all_of_four(width: int) -> Number:
    """All bits of each four of which any is set."""
    return lambda a: sum(15 << 4 * i for i in range(width // 4) if a >> 4 * i & 15)


_LOGIC: Final[dict[str, Callable[[int, int], int]]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
    "and_not1": lambda a, b: a & ~b,
    "or_not1": lambda a, b: a | ~b,
    "and_not0": lambda a, b: ~a & b,
    "or_not0": lambda a, b: ~a | b,
}


def _logic(name: str, width: int) -> ScalarOperation:
    function, mask = _LOGIC[name], _MASKS[width]
    return tested(lambda a, b: function(a, b) & mask)


def _save_exec(name: str, width: int) -> ScalarOperation:
    """The result is EXEC as it was; EXEC is combined with the source."""
    function, mask = _LOGIC[name], _MASKS[width]

    def compute(scc: int, a: int, exec_mask: int) -> tuple[tuple[int, ...], int]:
        combined = function(a, exec_mask) & mask
        return (exec_mask, combined), 1 if combined else 0

    return ScalarOperation(compute, takes_exec=True)


def _write_exec(name: str, width: int) -> ScalarOperation:
    """The result is the new EXEC."""
    function, mask = _LOGIC[name], _MASKS[width]

    def compute(scc: int, a: int, exec_mask: int) -> tuple[tuple[int, ...], int]:
        combined = function(a, exec_mask) & mask
        return (combined, combined), 1 if combined else 0

    return ScalarOperation(compute, takes_exec=True)


def _of_width(width: int) -> dict[str, ScalarOperation]:
    """What there is for 32 and for 64 bits."""
    mask = _MASKS[width]
    left, right, right_signed = bits.left(width), bits.right(width), bits.right_signed(width)
    return {
        **{f"s_{name}_b{width}": _logic(name, width) for name in _LOGIC if not name.endswith("_not0")},
        **{f"s_{name}_saveexec_b{width}": _save_exec(name, width) for name in _LOGIC},
        **{f"s_{name}_wrexec_b{width}": _write_exec(name, width) for name in ("and_not0", "and_not1")},
        f"s_mov_b{width}": plain(bits.identity),
        f"s_cmov_b{width}": ScalarOperation(lambda scc, a, old: ((a if scc else old,), None)),
        f"s_cselect_b{width}": ScalarOperation(lambda scc, a, b: ((a if scc else b,), None)),
        f"s_not_b{width}": tested(lambda a: a ^ mask),
        f"s_brev_b{width}": plain(bits.reversed_bits(width)),
        f"s_ctz_i32_b{width}": plain(bits.trailing_zeros),
        f"s_clz_i32_u{width}": plain(bits.leading_zeros(width)),
        "s_cls_i32" if width == 32 else "s_cls_i32_i64": plain(bits.leading_signs(width)),
        f"s_bcnt0_i32_b{width}": tested(lambda a: width - a.bit_count()),
        f"s_bcnt1_i32_b{width}": tested(lambda a: a.bit_count()),
        f"s_bitset0_b{width}": plain(lambda a, old: old & ~(1 << (a & width - 1))),
        f"s_bitset1_b{width}": plain(lambda a, old: old | 1 << (a & width - 1)),
        f"s_quadmask_b{width}": tested(_any_of_four(width)),
        f"s_wqm_b{width}": tested(_all_of_four(width)),
        f"s_lshl_b{width}": tested(left),
        f"s_lshr_b{width}": tested(right),
        f"s_ashr_i{width}": tested(right_signed),
        f"s_bfe_u{width}": tested(_field(width, False)),
        f"s_bfe_i{width}": tested(_field(width, True)),
        f"s_bfm_b{width}": plain(_field_mask(width)),
        f"s_bitcmp0_b{width}": condition(lambda a, b: not a >> (b & width - 1) & 1),
        f"s_bitcmp1_b{width}": condition(lambda a, b: a >> (b & width - 1) & 1),
    }


def _extended(width: int) -> Number:
    return lambda a: signed(a, width) & _WORD


SCALAR_INTEGERS: Final[dict[str, ScalarOperation]] = {
    **_of_width(32),
    **_of_width(64),
    "s_sext_i32_i8": plain(_extended(8)),
    "s_sext_i32_i16": plain(_extended(16)),
    "s_bitreplicate_b64_b32": plain(_replicate),
    "s_abs_i32": tested(_absolute),
    "s_absdiff_i32": tested(_absolute_difference),
    "s_add_co_u32": _unsigned_sum(),
    "s_add_co_ci_u32": _unsigned_sum(with_carry=True),
    "s_sub_co_u32": _unsigned_difference(),
    "s_sub_co_ci_u32": _unsigned_difference(with_borrow=True),
    "s_add_co_i32": _signed_sum(operator.add),
    "s_sub_co_i32": _signed_sum(operator.sub),
    **{f"s_lshl{amount}_add_u32": _unsigned_sum(amount) for amount in (1, 2, 3, 4)},
    "s_min_i32": _chosen("i32", operator.lt),
    "s_min_u32": _chosen("u32", operator.lt),
    "s_max_i32": _chosen("i32", operator.ge),
    "s_max_u32": _chosen("u32", operator.ge),
    "s_mul_i32": plain(of_type("u32", operator.mul)),
    "s_mul_hi_u32": plain(lambda a, b: a * b >> 32),
    "s_mul_hi_i32": plain(lambda a, b: signed(a, 32) * signed(b, 32) >> 32 & _WORD),
    "s_add_nc_u64": plain(of_type("u64", operator.add)),
    "s_sub_nc_u64": plain(of_type("u64", operator.sub)),
    "s_mul_u64": plain(of_type("u64", operator.mul)),
    "s_pack_ll_b32_b16": plain(lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16),
    "s_pack_lh_b32_b16": plain(lambda a, b: a & 0xFFFF | b >> 16 << 16),
    "s_pack_hh_b32_b16": plain(lambda a, b: a >> 16 | b >> 16 << 16),
    "s_pack_hl_b32_b16": plain(lambda a, b: a >> 16 | (b & 0xFFFF) << 16),
    **{
        f"s_cmp_{'lg' if name == 'ne' else name}_{kind}": condition(
            (lambda a, b, holds=holds: holds(a ^ 1 << 31, b ^ 1 << 31)) if kind == "i32" else holds
        )
        for kind in ("i32", "u32")
        for name, holds in RELATIONS.items()
    },
    "s_cmp_eq_u64": condition(operator.eq),
    "s_cmp_lg_u64": condition(operator.ne),
    "s_movk_i32": plain(_extended(16)),
    "s_cmovk_i32": ScalarOperation(lambda scc, a, old: ((signed(a, 16) & _WORD if scc else old,), None)),
    "s_addk_co_i32": _signed_sum(lambda a, old: signed(a, 16) + old),
    "s_mulk_i32": plain(lambda a, old: signed(a, 16) * old & _WORD),
}
"""By name. An immediate is the first source, the old destination the second."""

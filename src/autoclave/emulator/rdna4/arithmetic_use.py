"""Which rules of the arithmetic table an instruction relies on: by its name, then by its operands and modifiers."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from autoclave.emulator.rdna4.instruction import Instruction

_ROUNDED = ("float-rounding", "float-denormals", "nan-canonical")
_EXACT = ("float-denormals", "nan-canonical")
_ACCESS = ("memory", "memory-outside")
_SPECIAL = ("elementary-special", "nan-canonical")

_PATTERNS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    # Floats.
    (r"[vs]_(pk_)?(add|sub|subrev|mul)_b?f\d+", _ROUNDED),
    (r"[vs]_(pk_)?(fma|fmac|fmamk|fmaak)_f\d+", ("fused", *_EXACT)),
    (r"v_fma_mix.*", ("mixed", *_EXACT)),
    (r"v_mul_dx9_zero_f32", ("dx9-zero", *_ROUNDED)),
    (r"v_fma_dx9_zero_f32", ("dx9-zero", "fused", *_EXACT)),
    (r"v_mullit_f32", ("multiply-lit", *_ROUNDED)),
    (r"[vs]_(pk_)?(min|max|min3|max3|med3|minmax|maxmin)_num_f\d+", ("minimum-number", *_EXACT)),
    (r"[vs]_(pk_)?(minimum|maximum|minimum3|maximum3|minimummaximum|maximumminimum)_f\d+", ("minimum-ieee", *_EXACT)),
    (r"[vs]_cmpx?_class_f\d+", ("class",)),
    (r"[vs]_cmpx?_\w+_f\d+", ("compare-float", "float-denormals")),
    (r"[vs]_(floor|ceil|trunc|rndne)_f\d+", ("integral-float", *_EXACT)),
    (r"v_fract_f\d+", ("fraction", *_ROUNDED)),
    (r"v_frexp_.*", ("significand-exponent", *_EXACT)),
    (r"v_ldexp_f\d+", ("scale", *_ROUNDED)),
    (r"v_div_scale_f\d+", ("division-scale", *_ROUNDED)),
    (r"v_div_fmas_f\d+", ("division-sum", *_ROUNDED)),
    (r"v_div_fixup_f\d+", ("division-fixup", *_EXACT)),
    # Elementary functions.
    (r"v_(s_)?(exp|log|rcp|rcp_iflag|rsq|sqrt)_f32", ("elementary", *_SPECIAL)),
    (r"v_(s_)?(exp|log|rcp|rsq|sqrt)_f16", ("elementary-half", *_SPECIAL)),
    (r"v_(rcp|rsq|sqrt)_f64", ("elementary-double", *_SPECIAL)),
    (r"v_(sin|cos)_f32", ("turns", "elementary", *_SPECIAL)),
    (r"v_(sin|cos)_f16", ("turns", "elementary-half", *_SPECIAL)),
    # Conversions.
    (r"v_cvt_(pk_)?norm_.*", ("convert-normalised",)),
    (r"v_cvt_pk_(i16_i32|u16_u32)|v_sat_pk_u8_i16", ("convert-saturated",)),
    (r"[vs]_cvt_(hi_)?f\d+_f\d+|[vs]_cvt_pk_rtz_f16_f32", ("convert-float", *_EXACT)),
    (r"[vs]_cvt_(pk_|floor_|nearest_)?[iu]\d+_f\d+", ("convert-to-integer", "float-denormals")),
    (r"[vs]_cvt_f\d+_[iu]\d+|v_cvt_f32_ubyte\d|v_cvt_off_f32_i4", ("convert-from-integer",)),
    (r"v_cvt_[iu]32_[iu]16", ("integer",)),
    # Sums of products.
    (r"v_dot\w+_f16|v_dot\w+_bf16", ("dot-float", *_ROUNDED)),
    (r"v_dot\w+", ("dot-integer",)),
    (r"v_wmma_i32_.*", ("matrix-layout", "dot-integer")),
    (r"v_s?wmma\w*", ("matrix-float", "matrix-layout", *_EXACT)),
    # Integers and bits.
    (r"[vs]_bf[em]_.*", ("bit-fields",)),
    (r"[vs]_(clz|ctz|cls)_.*", ("bit-counts",)),
    (r"[vs]_\w*(lshl|lshr|ashr)\w*", ("integer", "shift-amount")),
    (r"[vs]_(pk_)?(mov|movk|cmov|cmovk|cselect|cndmask|swap|pack)_\w*", ("bitwise", "nan-payload")),
    (r"[vs]_mov\w+", ("bitwise", "nan-payload")),
    (
        r"[vs]_(\w*not\w*|and|or|xor|xnor|nand|nor|or3|xor3|and_or|bfi|perm|alignbit|alignbyte|bfrev|brev|bitset\d|bitcmp\d|bitreplicate|"
        r"quadmask|wqm)_\w+|s_\w+exec_b\d+",
        ("bitwise",),
    ),
    (r"v_(permlane|readlane|writelane|readfirstlane)\w*|ds_(swizzle|b?permute)\w*", ("lanes", "nan-payload")),
    # Memory.
    (r"(global|flat)_atomic_(pk_)?add_b?f\d+|ds_(pk_)?add_(rtn_)?b?f\d+", (*_ACCESS, *_ROUNDED)),
    (r"(global|flat)_atomic_(min|max)_num_f\d+|ds_(min|max)_num_(rtn_)?f\d+", (*_ACCESS, "minimum-number", *_EXACT)),
    (r"(global|flat|scratch)_(load|store)_\w+|ds_(load|store)_\w+|s_(buffer_)?load_\w+", _ACCESS),
    (r"ds_nop", ()),
    (r"(global|flat)_atomic_\w+|ds_\w+", (*_ACCESS, "integer")),
    # Control: nothing is computed.
    (r"s_(nop|endpgm|branch|cbranch\w*|wait\w*|delay_alu|clause|sendmsg\w*|barrier\w*|set\w*|get\w*|sleep\w*|code_end|icache_inv|round_mode|denorm_mode|inst_prefetch|version|ttracedata\w*|trap|rfe\w*|swappc\w*|call\w*|incperflevel|decperflevel|singleuse_vdst)", ()),
    (r"v_nop|v_pipeflush|s_(dcache|prefetch|endpgm|wakeup)\w*|global_(inv|wb|wbinv)", ()),
    (r"[vs]_\w+", ("integer",)),
)  # fmt: skip
"""By the whole name; the first that fits says which rules all instructions of the name rely on."""

_COMPILED: Final = tuple((re.compile(pattern), rules) for pattern, rules in _PATTERNS)


@cache
def _of_name(name: str) -> tuple[str, ...]:
    plain = name.replace("v_dual_", "v_")
    return next((rules for pattern, rules in _COMPILED if pattern.fullmatch(plain)), ())


def rules_of(instruction: Instruction) -> tuple[str, ...]:
    """Names of the rules that the instruction's results rely on, each once; none for waits, branches and the like."""
    if instruction.dual is not None:
        return tuple(dict.fromkeys(("pairs", *(name for half in instruction.dual for name in rules_of(half)))))
    return tuple(dict.fromkeys((*_of_name(instruction.name), *_of_operands(instruction))))


def _of_operands(instruction: Instruction) -> Iterator[str]:
    """What its operands are, and its modifiers."""
    is_vector = instruction.name.startswith("v_")
    if not is_vector:
        return
    if instruction.name.startswith("v_pk_"):
        yield "packed"
    if any(one.operand.file == "v" and one.type in _HALVES for one in instruction.destinations):
        yield "half-registers"
    if any((one.negated or one.absolute) and "f" in one.type for one in instruction.sources):
        yield "float-modifiers"
    if instruction.clamp:
        yield "clamp-float" if _is_float(instruction) else "clamp-integer"
    if instruction.multiplier:
        yield "output-multiplier"
    if instruction.dpp is not None:
        yield "lanes"
    if instruction.name not in _SCALAR_RESULTS and not instruction.name.startswith(("v_s_", "v_wmma", "v_swmmac")):
        yield "exec"


_HALVES: Final = frozenset({"f16", "bf16", "u16", "i16", "b16"})
_SCALAR_RESULTS: Final = frozenset({"v_readlane_b32", "v_readfirstlane_b32", "v_writelane_b32", "v_nop", "v_pipeflush"})


def _is_float(instruction: Instruction) -> bool:
    return any("f" in one.type for one in instruction.destinations)

"""Arithmetic of the emulators as LLVM IR text, for vectors of 4, 8, 16 or 32 lanes.

Most functions are for a processor that flushes denormals (`FLUSHING`) and give the same bits as `scalar`. Those of `GRADUAL` are for
one that keeps them; see below.

    library(names, lanes, f16c=...) -> Library(declarations, definitions)
    symbol(name, lanes) -> "@autoclave.exp2.v16"
    FUNCTIONS[name].signature -> Signature(result, arguments), element types

`f16c` says whether the code generator has F16C (x86-64-v3 has), `fma` and `avx512` likewise; they change speed, never bits. The code must run with FTZ and
DAZ set in MXCSR and rounding to nearest; callers need the attributes `ATTRIBUTES` too, above all
"denormal-fp-math"="preserve-sign,preserve-sign". f32 is <W x float>; f16 patterns are <W x i16>; integers are <W x i32>.

    flush_single, canonical_single, identity_single (both: absneg.f)           float -> float
    maximum_single, minimum_single                                             float, float -> float
    saturate_single, sign_single, floor_single, ceiling_single, truncate_single, round_even_single    float -> float
    rcp, rsq, sqrt, exp2, log2, sin, cos                                       float -> float
    flush_half, canonical_half                                                 i16 -> i16
    half_to_single   cov.f16f32: exact, denormals too, NaN payload kept        i16 -> float
    half_operand     a float ALU operand: denormals flushed                    i16 -> float
    single_to_half_ROUNDING  cov.f32f16, NaN payload kept                      float -> i16
    narrow_toward_zero    result of an f32 operation to a half destination     float -> i16
    narrow_nearest_even   result of an f16 operation, taken in f32, to f16     float -> i16
    round_half            narrow_nearest_even, back in f32                     float -> float
    single_to_{s8,u8,s16,u16,s32,u32}_ROUNDING  cov, saturating, NaN 0         float -> i32
    {s32,u32}_to_single_ROUNDING                                               i32 -> float

ROUNDING is one of `ROUNDINGS`: toward_zero, nearest_even, toward_positive, toward_negative.

An f16 operation is: operands by `half_operand`, one f32 operation, `narrow_nearest_even`; add, mul, min, max, floor and so on
come out correctly rounded that way; mad is a multiplication and an addition, each rounded. Category 4 on halves ends with
`narrow_toward_zero` instead. f16 from integers: `s32_to_single_*`, then `single_to_half_*` of the same rounding. A full destination of
an f16 operation is `half_to_single` of its f16 result.

fadd, fmul and fcmp of IR are right as they are under FTZ and DAZ; their NaN results want `canonical_single` where observed.

With `gradual=True` the code must run without FTZ and DAZ, and these are for it; NaN results are not canonical. A half is an f32 that
holds it exactly. half_to_single, {s32,u32}_to_single_* and single_to_{s8,...}_* are right there too.

    narrow_gradual, narrow_toward_zero_gradual, single_to_half_exactly         float -> i16
    round_half_gradual                                                         float -> float, a half
    fma_single, fma_half (of halves, a half)                                   float, float, float -> float
    {maximum_number,minimum_number,maximum,minimum}_{gradual,double}           IEEE 754-2019; -0 is below +0
    {truncate,floor,ceiling,round_even,fraction,clamp}_{gradual,double}        clamp: to [0, 1], NaN to +0
    {rcp,rsq,sqrt,exp2,log2}_flushing, sin_turns, cos_turns                    denormals flushed all the same; angles in turns
"""

from autoclave.emulator.vector.body import ATTRIBUTES, GRADUAL_ATTRIBUTES, symbol
from autoclave.emulator.vector.library import (
    FLUSHING,
    FUNCTIONS,
    GRADUAL,
    INTEGER_RANGES,
    ROUNDINGS,
    Library,
    Signature,
    library,
)

__all__ = [
    "ATTRIBUTES",
    "FLUSHING",
    "FUNCTIONS",
    "GRADUAL",
    "GRADUAL_ATTRIBUTES",
    "INTEGER_RANGES",
    "ROUNDINGS",
    "Library",
    "Signature",
    "library",
    "symbol",
]

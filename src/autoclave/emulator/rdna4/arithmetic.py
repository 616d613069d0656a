"""The one table of arithmetic rules of gfx1200: what is computed, on what evidence, and how it was chosen.

Sources, by letter:

    P   the pseudo-code of AMD's "RDNA4 Instruction Set Architecture Reference Guide"
    L   LLVM's AMDGPU backend: what its lowering says of an instruction, or relies on
    R   rocjitsu, AMD's public emulator (ROCm/rocm-systems), where it says that captures from a gfx1201 agree
    T   tinygrad: what its kernels rely on

P, L and R make a rule `documented`; our choice makes it `declared`. A rule becomes `hardware` when a recording from a device of our
own agrees with it. `arithmetic_use.rules_of` says which rules an instruction relies on; `disagreements` where a rule and P differ.

Interpreter and translator follow this table separately; `lanewise` holds the interpreter's arithmetic.
"""

from collections.abc import Mapping
from typing import Final

from autoclave.emulator.evidence import Rule

_TABLE = (
    # Floats: rounding, denormals, NaN.
    Rule(
        "float-rounding",
        "Sums, differences and products of f16, f32, f64 are rounded once, to nearest even; overflow gives infinity.",
        "documented",
        "PL",
        "P leaves the rounding to the float mode, which code objects set to nearest even; others are refused.",
    ),
    Rule(
        "fused",
        "v_fma, v_fmac, v_fmamk, v_fmaak, v_pk_fma and s_fmac round a * b + c once.",
        "documented",
        "PL",
    ),
    Rule(
        "mixed",
        "v_fma_mix_f32 rounds a * b + c once, to f32; v_fma_mixlo_f16 and v_fma_mixhi_f16 round it once, to f16.",
        "documented",
        "R",
        "P rounds to f32 and then to f16.",
    ),
    Rule(
        "float-denormals",
        "Denormals of all formats are kept, as operands and as results, but for what `elementary` says.",
        "documented",
        "PL",
        "The float mode says so; others are refused.",
    ),
    Rule(
        "nan-canonical",
        "NaN results of float operations and conversions are 0x7e00, 0x7fc00000, 0x7ff8000000000000.",
        "declared",
        "",
        "P and R keep an operand's payload and sign, made quiet; which operand's differs between operations.",
    ),
    Rule(
        "nan-payload",
        "Moves, v_cndmask, v_pack_b32_f16, lane and bit operations change no bit of a NaN.",
        "documented",
        "P",
    ),
    Rule(
        "float-modifiers",
        "ABS clears the sign bit of a float source, then NEG flips it, of zeros and NaN too.",
        "documented",
        "PL",
    ),
    Rule(
        "clamp-float",
        "CLAMP takes a float result to [0, 1]; NaN, negative numbers and -0 give +0.",
        "documented",
        "RL",
    ),
    Rule(
        "output-multiplier",
        "OMOD scales a rounded result: NaN and infinity stay, zeros and denormals give +0, overflow infinity, a half that would be a "
        "denormal a zero of its sign. CLAMP comes after it.",
        "documented",
        "R",
        "L takes OMOD for ignored while denormals are kept, as it was on older GPUs, and so never emits it here.",
    ),
    Rule(
        "minimum-number",
        "v_min_num, v_max_num and v_med3_num: a number wins over a NaN; -0 is below +0. v_med3_num of a NaN is the smallest number.",
        "documented",
        "PR",
        "P finds the largest of three by ==, to which zeros are equal: v_med3_num(-0, +0, -0) is +0; by R it is -0.",
    ),
    Rule(
        "minimum-ieee",
        "v_minimum and v_maximum: a NaN wins over a number; -0 is below +0.",
        "documented",
        "P",
    ),
    Rule(
        "compare-float",
        "Comparisons of floats are by IEEE: zeros are equal, a NaN is unordered, and the negated ones (nlt) hold of it.",
        "documented",
        "P",
    ),
    Rule(
        "class",
        "v_cmp_class tests a bit for each of ten classes: signalling and quiet NaN, and of either sign infinity, normal, denormal, zero.",
        "documented",
        "P",
    ),
    Rule(
        "dx9-zero",
        "v_mul_dx9_zero and v_fma_dx9_zero: a zero times anything is +0.",
        "documented",
        "P",
    ),
    Rule(
        "multiply-lit",
        "v_mullit_f32 gives minus the largest number unless b is an ordinary number or +infinity, and c above zero.",
        "documented",
        "P",
    ),
    Rule(
        "integral-float",
        "v_floor, v_ceil, v_trunc and v_rndne (ties to even) are exact, and keep the sign of zeros and of what becomes zero.",
        "documented",
        "LR",
        "P adds 1/2 in v_rndne, which rounds where it must not and loses the sign; L lowers IEEE's roundToIntegral to it.",
    ),
    Rule(
        "fraction",
        "v_fract is x - floor(x), but never above the largest number below 1; zeros and integers give +0, infinities NaN.",
        "documented",
        "R",
        "P rounds tiny negative numbers up to 1.",
    ),
    Rule(
        "significand-exponent",
        "v_frexp_mant and v_frexp_exp split a number into one of [1/2, 1) with its sign and a power of two, denormals too; the exponent "
        "of zeros, infinities and NaN is 0, their significand themselves.",
        "documented",
        "LR",
        "P takes the fields of zeros and denormals as they are.",
    ),
    Rule(
        "scale",
        "v_ldexp is the exact product with the power of two, rounded once.",
        "documented",
        "R",
        "P rounds the power to f16 before the product of v_ldexp_f16.",
    ),
    # Division.
    Rule(
        "division-scale",
        "v_div_scale of a value, d and n, by their exponent fields (far: 96, f64 768; step: 2^64, 2^128; top: 254, 2046): n - d >= far: flag, d "
        "up; d = 0: up; d >= top - 1: flag if n - d <= -far, then n as it is, else down; n - d <= -far: flag, n up; n <= 24 (53): up. "
        "NaN if d or n is zero. Up and down round once.",
        "documented",
        "R",
        "P's tests of quotients for denormals cannot hold as written, and do not give what L divides by.",
    ),
    Rule(
        "division-sum",
        "v_div_fmas is a * b + c, with the flag times 2^64 (f64: 2^128) if c's exponent field is above 127 (1023), else divided by that; "
        "rounded once.",
        "documented",
        "R",
        "P always multiplies, by 2^32 and 2^64.",
    ),
    Rule(
        "division-fixup",
        "v_div_fixup gives what IEEE does of zeros, infinities and NaN; the sign of n / d; zero where the exponents differ by less than "
        "-150 (f64: -1075); infinity of a quotient that is NaN though n and d are numbers (f16: NaN).",
        "documented",
        "PR",
        "P keeps a quotient that is NaN.",
    ),
    # Conversions.
    Rule(
        "convert-float",
        "Conversions between f16, f32 and f64 are to nearest even, v_cvt_pk_rtz_f16_f32 toward zero, saturating to the largest number.",
        "documented",
        "P",
    ),
    Rule(
        "convert-to-integer",
        "Conversions to integers truncate and saturate; NaN gives 0. v_cvt_floor rounds down, v_cvt_nearest rounds the f32 sum with 1/2 down.",
        "documented",
        "P",
        "R says of v_cvt_floor and v_cvt_nearest that a NaN saturates by its sign, and that the sum with 1/2 is exact. What compilers make of "
        "programs cannot tell.",
    ),
    Rule(
        "convert-from-integer",
        "Conversions from integers are to nearest even; v_cvt_off_f32_i4 divides a signed number of four bits by 16.",
        "documented",
        "P",
        "P leaves the table of v_cvt_off out.",
    ),
    Rule(
        "convert-normalised",
        "v_cvt_norm and v_cvt_pk_norm clamp to [-1, 1] or [0, 1] and multiply by 32767 or 65535, rounded once to nearest even; NaN gives 0.",
        "declared",
        "",
        "P names the conversion, and not its rounding.",
    ),
    Rule(
        "convert-saturated",
        "v_cvt_pk_i16_i32, v_cvt_pk_u16_u32 and v_sat_pk_u8_i16 saturate.",
        "documented",
        "P",
    ),
    # Elementary functions.
    Rule(
        "elementary",
        "v_exp, v_log, v_rcp, v_rsq, v_sqrt, v_sin, v_cos of f32, and their v_s_ forms: the exact value rounded once; denormal sources and "
        "results are zeros of their sign.",
        "declared",
        "L",
        "The flush is L's and R's; the hardware approximates, by tables that R has reproduced.",
    ),
    Rule(
        "elementary-half",
        "The same of f16: the exact value rounded once, to f16; denormals are kept.",
        "declared",
        "",
        "As `elementary`.",
    ),
    Rule(
        "elementary-double",
        "v_rcp_f64, v_sqrt_f64: rounded once; v_rsq_f64: the reciprocal of the root, each rounded. Denormals are kept.",
        "declared",
        "P",
        "The hardware's are approximations that L refines.",
    ),
    Rule(
        "elementary-special",
        "rcp(+-0) = +-infinity, rsq(+-0) = +-infinity, sqrt(-0) = -0, log(+-0) = -infinity; log, sqrt and rsq of negative numbers, sin and cos "
        "of infinities are NaN.",
        "declared",
        "P",
    ),
    Rule(
        "turns",
        "v_sin and v_cos take full turns: sin(2 pi x) of any finite x. A sine that is zero has the sign of x, a cosine is +0.",
        "declared",
        "P",
        "P multiplies by 2 pi in the operand's format, which no result survives beyond a few turns.",
    ),
    # Integers and bits.
    Rule(
        "integer",
        "Integer operations are exact modulo the width; carries, borrows and SCC are those of the exact result.",
        "documented",
        "P",
    ),
    Rule(
        "clamp-integer",
        "CLAMP of integer sums, differences and products with a sum saturates the exact result to the type.",
        "documented",
        "L",
        "P says nothing; L lowers saturating sums to it. Products alone, sums with carries and sums of differences with it are refused.",
    ),
    Rule(
        "shift-amount",
        "Shift amounts count modulo the width.",
        "documented",
        "P",
    ),
    Rule(
        "bit-fields",
        "v_bfe takes 5 bits of offset and width, s_bfe 7 bits of width, of which 32 (64) and more take all; a signed field extends its "
        "highest bit, and one of width 0 is 0.",
        "documented",
        "P",
    ),
    Rule(
        "bit-counts",
        "Counts of leading and trailing zeros, and of equal leading bits, are -1 where the search finds nothing.",
        "documented",
        "P",
    ),
    Rule(
        "bitwise",
        "Bitwise operations, permutations of bytes (v_perm: 8 to 11 a sign, 12 zeros, above ones), alignments and selections.",
        "documented",
        "P",
    ),
    Rule(
        "half-registers",
        "A result of 16 bits leaves the other half of its register as it was.",
        "documented",
        "L",
    ),
    Rule(
        "packed",
        "v_pk operations compute each half by itself, of the halves that OPSEL and OPSEL_HI select.",
        "documented",
        "P",
    ),
    # Sums of products.
    Rule(
        "dot-float",
        "v_dot2 adds to c the first product and then the second, each product and each sum rounded: to f32 (v_dot2_f32), f16 or bf16.",
        "declared",
        "P",
        "R says that a gfx1201 aligns products and cuts bits below instead.",
    ),
    Rule(
        "dot-integer",
        "v_dot4 and v_dot8 add exact products to c, modulo 2^32; NEG makes a source of the iu forms signed.",
        "documented",
        "P",
    ),
    Rule(
        "matrix-float",
        "v_wmma: for k from 0 to 15, an element becomes fma(A[row, k], B[k, column], it), rounded to f32 from C on; f16 and bf16 results are "
        "rounded once, at the end.",
        "declared",
        "",
        "P names the product only. R says that a gfx1201 sums four products at a time, aligned, cutting bits below.",
    ),
    Rule(
        "matrix-layout",
        "v_wmma: lane l holds row (A) or column (B, C, D) l % 16; of A and B the k, of C and D the rows, from 8 * (l / 16) on. EXEC means "
        "nothing to it.",
        "documented",
        "LT",
    ),
    # Lanes.
    Rule(
        "exec",
        "Lanes that EXEC disables keep their registers, and give 0 to masks that comparisons write.",
        "documented",
        "P",
    ),
    Rule(
        "lanes",
        "DPP, v_permlane, v_readlane, v_writelane, v_readfirstlane, ds_swizzle and ds_bpermute move whole registers between lanes.",
        "documented",
        "P",
    ),
    Rule(
        "pairs",
        "The two operations of a VOPD read all of their sources before either writes.",
        "documented",
        "P",
    ),
    # Memory.
    Rule(
        "memory",
        "Loads, stores and atomics move little-endian elements of their type to and from consecutive registers.",
        "documented",
        "P",
    ),
    Rule(
        "memory-outside",
        "An access outside the launch's buffers, of LDS or of private memory outside their size, is an error. But where s_load_b256 "
        "and s_load_b512 load from a multiple of their size, and its first word is in a buffer, what is behind the buffer's end reads 0.",
        "declared",
        "",
        "Hardware may fault, drop a store or read 0. LLVM widens scalar loads of known alignment: nobody looks at the rest.",
    ),
    Rule(
        "initial-registers",
        "Registers, LDS and private memory are 0 at first, but for what the kernel descriptor asks for.",
        "declared",
        "",
        "The hardware leaves them undefined.",
    ),
)

RULES: Final[Mapping[str, Rule]] = {rule.name: rule for rule in _TABLE}
"""By name."""

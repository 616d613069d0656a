"""The one table of arithmetic rules of the a630: what is computed, on what evidence, and how it was chosen.

Sources, by letter:

    M   Mesa's ir3 compiler and its header tables of conversions and modifiers
    Q   output of Qualcomm's OpenCL compiler, as public emulators quote it
    E   public a630 emulators (tinygrad's proposed QCOM mocks), whose answers to single instructions are test data here

M and Q make a rule `documented`; E, or our choice, makes it `declared`. No source claims a measurement on a device: a rule
becomes `hardware` when a recording from a device agrees with it. `arithmetic_use.rules_of` says which rules an instruction relies on.

Translator and interpreter follow this table separately; `scalar` and `vector` hold the float arithmetic of both.
"""

from collections.abc import Mapping
from typing import Final

from autoclave.emulator.evidence import Rule

_TABLE = (
    # Floats: rounding, denormals, NaN.
    Rule(
        "single-rounding",
        "f32 results of categories 2 and 3 are rounded to nearest even; overflow gives infinity.",
        "declared",
        "E",
    ),
    Rule(
        "half-rounding",
        "An operation on half sources is one in f16, rounded to nearest even; overflow gives infinity. A full destination then "
        "gets the f16 result, widened exactly.",
        "declared",
        "E",
    ),
    Rule(
        "float-denormals",
        "The float ALU (categories 2, 3, 4) reads denormal f32 and f16 as zeros of their sign and flushes denormal results to them.",
        "declared",
        "E",
        "Some versions of E do not flush; those whose answers are recorded do.",
    ),
    Rule(
        "flush-boundary",
        "A result is flushed where, rounded to the format's precision with unbounded exponent, it is below the smallest normal; one "
        "that this rounding takes up to the smallest normal is kept. f32 and f16, and conversions to f16, alike.",
        "declared",
        "",
        "No source and no recorded answer tells; x86's flush-to-zero mode does the same.",
    ),
    Rule(
        "mad-unfused",
        "mad.f32 and mad.f16 round (and flush) the product, then add.",
        "documented",
        "ME",
    ),
    Rule(
        "half-destination",
        "An f32 result with a half destination is rounded toward zero, saturates to the largest finite f16, and is flushed; "
        "infinities stay, NaN is canonical.",
        "declared",
        "E",
        "M gives toward zero as meaning of an empty rounding field of cov only.",
    ),
    Rule(
        "nan-canonical",
        "NaN results of the float ALU are the canonical quiet NaN, 0x7fc00000 and 0x7e00.",
        "declared",
        "E",
    ),
    Rule(
        "nan-payload",
        "mov, swz, gat, sct and sel change no bit of a NaN or a denormal; nor do bitwise operations, which know of no floats.",
        "declared",
        "E",
        "One E flushes the data of sel.f32, in doubt; a selection is taken for a move.",
    ),
    Rule(
        "float-modifiers",
        "(abs) clears the sign bit of a float source, then (neg) flips it, of zeros and NaN too.",
        "documented",
        "ME",
    ),
    Rule(
        "minimum-maximum",
        "max.f and min.f: a number wins over a NaN; -0 is below +0; two NaN give the canonical one.",
        "declared",
        "E",
    ),
    Rule(
        "sign",
        "sign.f gives -1, +1, or a zero of its operand's sign; NaN gives +0.",
        "declared",
        "E",
    ),
    Rule(
        "absneg-float",
        "absneg.f applies its modifiers, flushes and makes NaN canonical.",
        "declared",
        "E",
        "Doubtful where absneg.f serves as a bit trick; recorded answers flush.",
    ),
    Rule(
        "integral-float",
        "floor.f, ceil.f, trunc.f and rndne.f (ties to even) give integral floats and keep the sign of zeros and of what becomes zero.",
        "declared",
        "E",
    ),
    Rule(
        "saturate-float",
        "(sat) clamps a float to [0, 1] at the sources' width, before any conversion; NaN stays the canonical NaN, -0 stays -0.",
        "declared",
        "E",
        "NIR's fsat makes 0 of NaN, and leaves -0 open; E keeps both.",
    ),
    Rule(
        "compare-float",
        "cmps.f and cmpv.f flush denormals and compare by IEEE: zeros are equal, NaN is unordered, `ne` alone holds of it.",
        "declared",
        "E",
    ),
    # Conversions.
    Rule(
        "cov-rounding",
        "cov to f16 or f32 rounds toward zero, saturating to the largest finite number, unless its field says nearest even, up or down; "
        "then overflow in that direction gives infinity.",
        "documented",
        "M",
        "M names the fields; saturation is E's, the overflow of (even) is IEEE's.",
    ),
    Rule(
        "cov-denormals",
        "cov reads denormals as they are; an f16 result below the smallest normal is flushed.",
        "declared",
        "E",
    ),
    Rule(
        "cov-nan",
        "cov between f16 and f32 keeps a NaN's sign and top ten payload bits and makes it quiet.",
        "declared",
        "E",
        "E leaves a signalling NaN signalling, which is in doubt; host conversions make it quiet.",
    ),
    Rule(
        "cov-float-to-integer",
        "cov from a float truncates and saturates to the destination type; NaN gives 0.",
        "declared",
        "E",
    ),
    Rule(
        "cov-rounded-to-integer",
        "cov from a float to an integer truncates whatever its rounding field says.",
        "declared",
        "E",
        "Q suggests nearest even for (even); E's answers are followed until a device tells.",
    ),
    Rule(
        "cov-integer",
        "cov between integers extends by the source type's sign or cuts.",
        "documented",
        "ME",
    ),
    Rule(
        "cov-byte",
        "cov from u8 and u8_32 sign-extends the byte.",
        "documented",
        "ME",
    ),
    Rule(
        "byte-destination",
        "cov and mov to u8 and u8_32 give the byte, zero-extended in the register; floats saturate to 0..255.",
        "declared",
        "E",
        "E takes u8_32 as destination for signed, which is in doubt.",
    ),
    Rule(
        "load-byte",
        "A u8_32 load gives a signed byte, a u8 load an unsigned one.",
        "documented",
        "Q",
    ),
    Rule(
        "destination-conversion",
        "A destination of another width than the sources: add.f, mul.f, mad.f convert as floats; *.u, *.b (ashr.b too), shrm, shlm, "
        "shrg, shlg, andg, cmps and cmpv zero-extend or cut; *.s, mul.s24, mad.s24 sign-extend or cut.",
        "documented",
        "M",
        "E sign-extends ashr.b, in doubt.",
    ),
    Rule(
        "half-constant",
        "With constant demotion hcN is the 32-bit constant N, read by float instructions as f32 rounded to f16 (nearest even, flushed), "
        "by integer ones cut to 16 bits; without, it is half a slot.",
        "declared",
        "E",
        "Another E rounds toward zero.",
    ),
    Rule(
        "float-literals",
        "FLUT literals are 0, 0.5, 1, 2, e, pi, 1/pi, 1/log2(e), log2(e), 1/log2(10), log2(10), 4, rounded to nearest.",
        "documented",
        "M",
    ),
    # Integers.
    Rule(
        "integer",
        "Integer operations are exact modulo the width; min, max and comparisons are signed or unsigned by their name.",
        "documented",
        "ME",
    ),
    Rule(
        "integer-modifiers",
        "(neg) and (abs) mean nothing on integer add, sub, min, max, compare and mul, nor in category 3 but on mad.f and sel.f (neg).",
        "documented",
        "M",
        "E applies them, in doubt.",
    ),
    Rule(
        "bitwise-modifiers",
        "(neg) is a bitwise NOT on and, or, xor, not, shl, shr, ashr, getbit and clz.b; (abs) means nothing there. absneg.s takes both.",
        "documented",
        "M",
        "E negates on the shifts; M's table is followed.",
    ),
    Rule(
        "saturate-integer",
        "(sat) on integer add and sub saturates to the type, at the sources' width.",
        "declared",
        "E",
    ),
    Rule(
        "saturate-comparison",
        "(sat) on cmps and cmpv inverts the result.",
        "documented",
        "QE",
        "Q has it on cmps.f.le and cmps.f.ge into p0.x; E on all.",
    ),
    Rule(
        "compare-result",
        "cmps gives 0 or 1; cmpv 0 or all ones of the sources' width.",
        "documented",
        "Q",
    ),
    Rule(
        "multiply-low",
        "mull.u multiplies the low 16 bits of both sources, and gives the whole product.",
        "documented",
        "M",
        "Of half sources one E cuts the product to 16 bits, in doubt.",
    ),
    Rule(
        "multiply-shifted",
        "madsh.m16(a, b, c) = ((a & 0xffff) * (b >> 16) << 16) + c; madsh.u16 likewise.",
        "documented",
        "ME",
        "madsh.u16 is E's alone.",
    ),
    Rule(
        "multiply-24",
        "mul.u24, mul.s24, mad.u24 and mad.s24 use the low 24 bits of the factors.",
        "documented",
        "Q",
    ),
    Rule(
        "multiply-half",
        "A multiplication of half integers into a full destination gives the whole product.",
        "documented",
        "Q",
        "M's table of conversions would widen the 16-bit result.",
    ),
    Rule(
        "mad-u16-full",
        "mad.u16 with a full destination reads full registers, of which it multiplies the low 16 bits.",
        "documented",
        "Q",
    ),
    Rule(
        "shift-amount",
        "Shift amounts count modulo the sources' width.",
        "declared",
        "E",
        "One E masks the amounts of half shifts with 31, in doubt.",
    ),
    Rule(
        "shift-combined",
        "shrg, shlg and andg `or` their third operand in, shrm and shlm `and` it; the first operand of the shifts is the amount.",
        "declared",
        "E",
    ),
    Rule(
        "select-bits",
        "sel.b32(a, b, c) is a where b is not 0, else c; sel.b16 likewise.",
        "documented",
        "Q",
    ),
    Rule(
        "select-signed",
        "sel.f32, sel.s32 and their half forms take a where b >= 0, else c.",
        "documented",
        "Q",
    ),
    Rule(
        "sum-of-three",
        "sad.s32 and sad.s16 are a + b + c.",
        "documented",
        "Q",
    ),
    Rule(
        "add-halved",
        "add.u with (ei) is the 33-bit sum shifted right by one.",
        "documented",
        "Q",
    ),
    Rule(
        "leading-zeros",
        "clz.b of 0, and clz.s of 0 and -1, are -1.",
        "documented",
        "ME",
        "clz.s is E's alone.",
    ),
    # Category 4.
    Rule(
        "elementary",
        "rcp, rsq, sqrt, log2, exp2, sin, cos: the exact value rounded once to f32, nearest even; sources are flushed.",
        "declared",
        "E",
        "The device uses approximations by tables that are not published; E computes in binary64 and rounds.",
    ),
    Rule(
        "elementary-half",
        "Category 4 on half sources: as f32, then rounded toward zero to f16.",
        "declared",
        "E",
    ),
    Rule(
        "elementary-special",
        "rcp(+-0) = +-infinity, rsq(-0) = -infinity, sqrt(-0) = -0, log2(+-0) = -infinity; log2, sqrt and rsq of negative numbers, sin "
        "and cos of infinities are NaN.",
        "declared",
        "E",
    ),
    # Memory, registers, control.
    Rule(
        "isam-outside",
        "isam outside the image reads 0.",
        "declared",
        "E",
    ),
    Rule(
        "stib-outside",
        "stib outside the image is dropped.",
        "declared",
        "E",
    ),
    Rule(
        "image-formats",
        "Images of f16 are widened exactly when read as f32; f32 becomes f16 as by cov (even): to nearest even, as E stores it. "
        "The format is the image unit's to convert, not the ALU's, whose rounding toward zero does not apply.",
        "declared",
        "E",
    ),
    Rule(
        "private-outside",
        "ldp beyond the private size reads 0, stp beyond it is dropped.",
        "declared",
        "E",
    ),
    Rule(
        "global-outside",
        "A global access outside the launch's buffers is an error; so is one outside shared memory.",
        "declared",
        "E",
    ),
    Rule(
        "memory",
        "Loads, stores and atomics move little-endian elements of their type to and from consecutive registers.",
        "documented",
        "ME",
    ),
    Rule(
        "register-files",
        "Full and half registers are separate files, unless `mergedregs`: then hrN.c are the low and high halves of full components.",
        "documented",
        "M",
    ),
    Rule(
        "special-registers",
        "a0.x and p0.x are components 61*4 and 62*4; a0.x is added to relative register numbers.",
        "documented",
        "M",
    ),
    Rule(
        "predication",
        "predt and predf open regions for lanes whose p0.x is set or clear, prede closes them.",
        "documented",
        "M",
    ),
    Rule(
        "branches",
        "br goes where its predicate holds, brao where one of two does, braa where both do.",
        "documented",
        "M",
    ),
    Rule(
        "move",
        "mov, swz, gat and sct copy bits; cov of equal types is mov.",
        "documented",
        "ME",
    ),
)

RULES: Final[Mapping[str, Rule]] = {rule.name: rule for rule in _TABLE}
"""By name."""

"""Where gfx1200's rules and the pseudo-code of AMD's manual differ, and which rule says why.

The tests evaluate the pseudo-code of every operation. Where one of these applies they work out, by fractions, what has to come
instead; any other result fails them, and so does a listed difference that no longer occurs.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A kind of difference.

    rule: of the table of arithmetic, whose `choice` gives the reason.
    operations: the middles of their names, without v_ or s_; empty for all whose results are floats.
    statement: which results differ, and how.
    """

    name: str
    rule: str
    operations: tuple[str, ...]
    statement: str


DISAGREEMENTS: Final = (
    Disagreement(
        "payload",
        "nan-canonical",
        (),
        "A NaN result is canonical; the pseudo-code's has an operand's sign and payload.",
    ),
    Disagreement(
        "mixed-half",
        "mixed",
        ("fma_mixlo_f16", "fma_mixhi_f16"),
        "Rounded once; the pseudo-code rounds to f32 first.",
    ),
    Disagreement(
        "nearest-integral",
        "integral-float",
        ("rndne_f16", "rndne_f32", "rndne_f64"),
        "Exact, the sign kept; the pseudo-code's sum with 1/2 is rounded, and gives +0 of what rounds to -0.",
    ),
    Disagreement(
        "fraction-below-one",
        "fraction",
        ("fract_f16", "fract_f32", "fract_f64"),
        "The largest number below 1; the pseudo-code gives 1.",
    ),
    Disagreement(
        "denormal-parts",
        "significand-exponent",
        tuple(f"frexp_{part}" for part in ("mant_f16", "mant_f32", "mant_f64", "exp_i16_f16", "exp_i32_f32", "exp_i32_f64")),
        "Zeros and denormals are split as the numbers that they are; the pseudo-code splits their fields.",
    ),
    Disagreement(
        "scale-of-half",
        "scale",
        ("ldexp_f16",),
        "The product with a power that f16 does not hold; the pseudo-code's power is infinity, zero or rounded.",
    ),
    Disagreement(
        "denormal-elementary",
        "elementary",
        tuple(f"{name}_f32" for name in ("exp", "log", "rcp", "rcp_iflag", "rsq", "sqrt", "sin", "cos", "s_exp", "s_log", "s_rcp", "s_rsq", "s_sqrt")),
        "Denormal operands and results are zeros of their sign; the pseudo-code says nothing of them.",
    ),
    Disagreement(
        "reciprocal-root",
        "elementary",
        ("rsq_f16", "rsq_f32", "s_rsq_f16", "s_rsq_f32"),
        "Rounded once; the pseudo-code, read literally, rounds the root and then its reciprocal.",
    ),
    Disagreement(
        "division-steps",
        "division-scale",
        ("div_scale_f32", "div_scale_f64"),
        "Which operands are scaled, by how much, and when the flag is set.",
    ),
    Disagreement(
        "division-back",
        "division-sum",
        ("div_fmas_f32", "div_fmas_f64"),
        "What the flag multiplies by.",
    ),
    Disagreement(
        "division-of-numbers",
        "division-fixup",
        ("div_fixup_f32", "div_fixup_f64"),
        "A quotient that is NaN becomes infinity; the pseudo-code keeps it.",
    ),
)  # fmt: skip

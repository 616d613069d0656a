"""What gfx1200 gives where it and the manual's pseudo-code differ: worked out by fractions, from the statements of the tables alone."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from emulator.rdna4 import pseudo_floats
from emulator.rdna4.pseudo_code import TEXTS
from emulator.rdna4.pseudo_floats import Number

from autoclave.emulator.rdna4.disagreements import DISAGREEMENTS, Disagreement

Results = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """An operation on values: `mask` is the lane's bit of a mask that it reads; `manual` what the pseudo-code gives."""

    name: str
    sources: tuple[int, ...]
    mask: int
    manual: Results

    @property
    def form(self) -> str:
        """The float format that the operation is named after."""
        return "F" + self.name[-2:]

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The sources as floats of that format."""
        return tuple(Number(self.form, source) for source in self.sources)


def expected(case: Case) -> Results:
    """What a listed disagreement says of the case; if none does, the pseudo-code's result, whose NaN are canonical."""
    stated = [STATEMENTS[one.name](case) for one in DISAGREEMENTS if one.operations and is_of(one, case.name)]
    said = [results for results in stated if results is not None]
    assert len(said) <= 1, f"{case}: more than one disagreement speaks of it"
    return said[0] if said else canonical(case) or case.manual


def is_of(one: Disagreement, name: str) -> bool:
    """Whether a disagreement is about the operation of this name."""
    return not one.operations or name[2:] in one.operations


def _is_finite(number: Number) -> bool:
    return number.field < number.highest_field


def _scaled(number: Number, power: int) -> Number:
    """Times a power of two, rounded once; infinities stay, a NaN is canonical."""
    if number.is_nan:
        return pseudo_floats.nan(number.form)
    if number.is_infinite:
        return number
    return pseudo_floats.rounded(number.form, number.exact * Fraction(2) ** power, number.negative)


# All operations


def canonical(case: Case) -> Results | None:
    """The pseudo-code's results with each NaN canonical; in a word of two halves, in each of them."""
    halves = (case.name.startswith("v_pk_") and case.name.endswith("f16")) or "cvt_pk_rtz" in case.name
    written = re.search(r"\bD0(?:\[[^]]*\])?\.(b?f\d+)", TEXTS[case.name])
    if case.name in KEEPS_PAYLOADS or not (halves or written):
        return None
    form = "F16" if halves or not written else written[1].upper()
    width = pseudo_floats.WIDTH[form]
    first = 0
    for at in range(0, 32, 16) if halves else (0,):
        part = Number(form, case.manual[0] >> at & (1 << width) - 1)
        first |= (pseudo_floats.nan(form) if part.is_nan else part).bits << at
    return (first, *case.manual[1:])


KEEPS_PAYLOADS = ("v_pack_b32_f16",)
"""Operations that move floats, whose pseudo-code calls them so."""


# Sums and integral parts


def _rounded_once_to_half(case: Case) -> Results | None:
    """Of three f32."""
    first, second, third = (Number("F32", source) for source in case.sources)
    return (pseudo_floats.fused("F16", first, second, third).bits,)


def _nearest_integral(case: Case) -> Results | None:
    number = case.numbers[0]
    if not _is_finite(number):
        return None
    return (pseudo_floats.rounded(case.form, Fraction(round(number.exact)), number.negative).bits,)


def _fraction_below_one(case: Case) -> Results | None:
    number = case.numbers[0]
    if not _is_finite(number):
        return None
    one = pseudo_floats.rounded(case.form, Fraction(1)).bits
    return (min(pseudo_floats.rounded(case.form, number.exact - math.floor(number.exact)).bits, one - 1),)


def _parts_of_a_number(case: Case) -> Results | None:
    """The exponent counts from where the significand is one of [1/2, 1)."""
    kind, number = case.name.split("_")[2], case.numbers[0]
    if not _is_finite(number):
        return None
    exponent = 0
    while number.exact and abs(number.exact) >= Fraction(2) ** exponent:
        exponent += 1
    while number.exact and abs(number.exact) < Fraction(2) ** (exponent - 1):
        exponent -= 1
    if kind == "exp":
        return (exponent & (0xFFFF if "_i16_" in case.name else 0xFFFFFFFF),)
    return (_scaled(number, -exponent).bits,)


def _scaled_half(case: Case) -> Results | None:
    power = int.from_bytes(case.sources[1].to_bytes(2, "little"), "little", signed=True)
    return (_scaled(case.numbers[0], power).bits,)


# Elementary functions


def _reciprocal_root(number: Number) -> Number:
    if number.is_nan or (number.negative and number.bits << 1 & (1 << pseudo_floats.WIDTH[number.form]) - 1):
        return pseudo_floats.nan(number.form)
    if number.is_infinite:
        return number.with_bits(0)
    if number.exact == 0:
        return pseudo_floats.infinite(number.form, number.negative)
    return pseudo_floats.by_decimal(number.form, number.exact, lambda value: 1 / value.sqrt())


def _reciprocal(number: Number) -> Number:
    return pseudo_floats.divide(number.form, pseudo_floats.rounded(number.form, Fraction(1)), number)


ELEMENTARY: dict[str, Callable[[Number], Number]] = {
    "exp": pseudo_floats.power_of_two,
    "log": pseudo_floats.logarithm,
    "rcp": _reciprocal,
    "rsq": _reciprocal_root,
    "sqrt": pseudo_floats.square_root,
    "sin": pseudo_floats.sine_of_turns,
    "cos": pseudo_floats.cosine_of_turns,
}


def _function(case: Case) -> Callable[[Number], Number]:
    return ELEMENTARY[case.name.removeprefix("v_").removeprefix("s_").split("_")[0]]


def _flushed(number: Number) -> Number:
    """A denormal becomes a zero of its sign."""
    return number.with_bits(number.bits & 1 << 31) if number.is_denormal else number


def _elementary_without_denormals(case: Case) -> Results | None:
    """Where the operand or the rounded result is a denormal."""
    result = _function(case)(_flushed(case.numbers[0]))
    if not (case.numbers[0].is_denormal or result.is_denormal):
        return None
    return (_flushed(result).bits,)


def _root_rounded_once(case: Case) -> Results | None:
    number = case.numbers[0]
    if case.form == "F32" and number.is_denormal:
        return None
    return (_reciprocal_root(number).bits,)


# Division


@dataclass(frozen=True)
class Ends:
    """Of a format's division: bounds of exponent fields and their differences, and by how many powers of two is scaled."""

    far: int
    step: int
    top: int
    tiny: int


ENDS = {"F32": Ends(96, 64, 254, 24), "F64": Ends(768, 128, 2046, 53)}


def _scaled_for_division(case: Case) -> Results | None:
    """The rows are those of the rule: where they apply, the flag, and the powers of a denominator and of a numerator."""
    ends = ENDS[case.form]
    value, denominator, numerator = case.numbers
    apart = numerator.field - denominator.field
    flag, *powers = next(
        row[1:]
        for row in (
            (apart >= ends.far, 1, ends.step, 0),
            (denominator.field == 0, 0, ends.step, ends.step),
            (denominator.field >= ends.top - 1 and apart <= -ends.far, 1, -ends.step, 0),
            (denominator.field >= ends.top - 1, 0, -ends.step, -ends.step),
            (apart <= -ends.far, 1, 0, ends.step),
            (numerator.field <= ends.tiny, 0, ends.step, ends.step),
            (True, 0, 0, 0),
        )
        if row[0]
    )
    if any(_is_finite(number) and number.exact == 0 for number in (denominator, numerator)):
        return pseudo_floats.nan(case.form).bits, flag
    return _scaled(value, powers[0 if value == denominator else 1]).bits, flag


def _scaled_back(case: Case) -> Results | None:
    """The exact sum times the power, rounded; without the flag, the pseudo-code's."""
    first, second, third = case.numbers
    if not case.mask or not all(_is_finite(number) for number in case.numbers):
        return None
    product = first.exact * second.exact
    step = ENDS[case.form].step
    power = step if third.field > pseudo_floats.BIAS[case.form] else -step
    negative_zero = product == 0 and third.exact == 0 and third.negative and first.negative != second.negative
    total = (product + third.exact) * Fraction(2) ** power
    return (pseudo_floats.rounded(case.form, total, negative_zero).bits,)


def _quotient_of_numbers(case: Case) -> Results | None:
    """Infinity, where the quotient is NaN and neither of the others is NaN, infinite or zero, nor their quotient below all numbers."""
    quotient, denominator, numerator = case.numbers
    if not quotient.is_nan or not Number(case.form, case.manual[0]).is_nan:
        return None
    if not all(_is_finite(number) and number.exact for number in (denominator, numerator)):
        return None
    return (pseudo_floats.infinite(case.form, denominator.negative != numerator.negative).bits,)


STATEMENTS: dict[str, Callable[[Case], Results | None]] = {
    "payload": canonical,
    "mixed-half": _rounded_once_to_half,
    "nearest-integral": _nearest_integral,
    "fraction-below-one": _fraction_below_one,
    "denormal-parts": _parts_of_a_number,
    "scale-of-half": _scaled_half,
    "denormal-elementary": _elementary_without_denormals,
    "reciprocal-root": _root_rounded_once,
    "division-steps": _scaled_for_division,
    "division-back": _scaled_back,
    "division-of-numbers": _quotient_of_numbers,
}
"""By the disagreement's name: its results of a case, None where it says nothing."""

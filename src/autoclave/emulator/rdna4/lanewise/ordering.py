"""Minimum, maximum, median and comparison of floats.

A number wins over a NaN in the `_num` operations (maximumNumber of IEEE 754-2019), a NaN over a number in `minimum` and
`maximum`; -0 is below +0; NaN results are canonical, and denormals stay.
"""

from collections.abc import Callable
from typing import Final

from autoclave.emulator.rdna4.lanewise.floats import Binary, Ternary
from autoclave.emulator.rdna4.lanewise.formats import F16, F32, F64, Format
from autoclave.emulator.rdna4.lanewise.operation import LaneOperation


def chooser(form: Format, larger: bool, number_wins: bool) -> Binary:
    """The larger or the smaller of two."""
    sign, infinity, nan = form.sign, form.infinity, form.nan
    magnitude = sign - 1

    def choose(a: int, b: int) -> int:
        if a & magnitude > infinity:
            return nan if not number_wins or b & magnitude > infinity else b
        if b & magnitude > infinity:
            return a if number_wins else nan
        # Patterns as integers in the order of their values, -0 below +0.
        first = a if a < sign else magnitude - a
        second = b if b < sign else magnitude - b
        return a if (first >= second) is larger else b

    return choose


def both(first: Binary, second: Binary) -> Ternary:
    """second(first(a, b), c)."""
    return lambda a, b, c: second(first(a, b), c)


def median(form: Format, minimum: Binary, maximum: Binary) -> Ternary:
    """The middle of three; with a NaN among them, the smallest number."""

    def choose(a: int, b: int, c: int) -> int:
        if form.is_nan(a) or form.is_nan(b) or form.is_nan(c):
            return minimum(minimum(a, b), c)
        largest = form.value(maximum(maximum(a, b), c))
        if largest == form.value(a):
            return maximum(b, c)
        return maximum(a, c) if largest == form.value(b) else maximum(a, b)

    return choose


def choices(form: Format) -> dict[str, Callable[..., int]]:
    """Minimum, maximum, median and their combinations of one format, by name."""
    name = form.name
    smaller_number, larger_number = chooser(form, False, True), chooser(form, True, True)
    minimum, maximum = chooser(form, False, False), chooser(form, True, False)
    pairs: dict[str, Callable[..., int]] = {
        f"v_min_num_{name}": smaller_number,
        f"v_max_num_{name}": larger_number,
        f"v_minimum_{name}": minimum,
        f"v_maximum_{name}": maximum,
    }
    if form is F64:
        return pairs
    return pairs | {
        f"v_min3_num_{name}": both(smaller_number, smaller_number),
        f"v_max3_num_{name}": both(larger_number, larger_number),
        f"v_minimum3_{name}": both(minimum, minimum),
        f"v_maximum3_{name}": both(maximum, maximum),
        f"v_minmax_num_{name}": both(smaller_number, larger_number),
        f"v_maxmin_num_{name}": both(larger_number, smaller_number),
        f"v_minimummaximum_{name}": both(minimum, maximum),
        f"v_maximumminimum_{name}": both(maximum, minimum),
        f"v_med3_num_{name}": median(form, smaller_number, larger_number),
    }


RELATIONS: Final[dict[str, Callable[[float, float], int]]] = {
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "lg": lambda a, b: a < b or a > b,
    "ge": lambda a, b: a >= b,
    "o": lambda a, b: a == a and b == b,
    "u": lambda a, b: a != a or b != b,
    "nge": lambda a, b: not a >= b,
    "nlg": lambda a, b: not (a < b or a > b),
    "ngt": lambda a, b: not a > b,
    "nle": lambda a, b: not a <= b,
    "neq": lambda a, b: not a == b,
    "nlt": lambda a, b: not a < b,
}
"""Comparisons of floats by the middle of their names; a NaN is unordered."""


def comparison(form: Format, holds: Callable[[float, float], int]) -> Binary:
    """One bit."""
    value = form.value
    return lambda a, b: 1 if holds(value(a), value(b)) else 0


def classifier(form: Format) -> Binary:
    """v_cmp_class: whether the bit of b that stands for the class of a is set.

    0 signalling NaN, 1 quiet NaN, 2 -infinity, 3 negative normal, 4 negative denormal, 5 -0, 6 +0, 7 positive denormal,
    8 positive normal, 9 +infinity.
    """

    def belongs(a: int, b: int) -> int:
        magnitude = a & (form.sign - 1)
        if magnitude > form.infinity:
            return b >> (1 if a & form.nan == form.nan else 0) & 1
        smallest_normal = 1 << (form.precision - 1)
        positive = 6 if not magnitude else 7 if magnitude < smallest_normal else 8 if magnitude < form.infinity else 9
        return b >> (11 - positive if a & form.sign else positive) & 1

    return belongs


def _comparisons(form: Format) -> dict[str, Callable[..., int]]:
    every: dict[str, Callable[..., int]] = {}
    for prefix in ("v_cmp", "v_cmpx"):
        every[f"{prefix}_class_{form.name}"] = classifier(form)
        for name, holds in RELATIONS.items():
            every[f"{prefix}_{name}_{form.name}"] = comparison(form, holds)
    return every


ORDERING: Final = {
    name: LaneOperation(compute)
    for form in (F16, F32, F64)
    for name, compute in {**choices(form), **_comparisons(form)}.items()
}
"""By name."""

"""The vector library on every feature set of this host and every lane count, against the scalar arithmetic."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from emulator.vector_harness import LANES, compiled, usable_hosts

from autoclave.emulator.scalar import conversion, patterns, single
from autoclave.emulator.vector import FLUSHING, INTEGER_RANGES, ROUNDINGS, library, symbol

SPECIAL = [
    *(0, 1, 0x7FFFFF, 0x800000, 0x800001, 0x7E800000, 0x7E800001, 0x7F7FFFFF),
    *(0x33000000, 0x33800000, 0x387FDFFF, 0x387FE000, 0x387FE001, 0x387FEFFF, 0x387FF000, 0x387FFFFF, 0x38800000),
    *(0x3EFFFFFF, 0x3F000000, 0x3F3504F2, 0x3F3504F3, 0x3F490FDA, 0x3F490FDB, 0x3F7FFFFF, 0x3F800000, 0x3F800001),
    *(0x3F801000, 0x3F802000, 0x3F803000, 0x3FC00000, 0x3FC90FDB, 0x40200000, 0x40490FDB, 0x42FC0000, 0x42FC0001),
    *(0x42FFFFFF, 0x43000000, 0x43160000, 0x477FE000, 0x477FE001, 0x477FEFFF, 0x477FF000, 0x47800000),
    *(0x46FFFE00, 0x47000000, 0x4AFFFFFF, 0x4B000000, 0x4B000001, 0x4EFFFFFF, 0x4F000000, 0x4F7FFFFF, 0x4F800000),
    *(0x3B429D37, 0x3CF3A937, 0x46199998, 0x5F18B878, 0x6115CB11, 0x73243F06),
    *(0x7F800000, 0x7F800001, 0x7F812345, 0x7FC00000, 0x7FC12345, 0x7FFFFFFF),
]
"""Both signs are taken."""


def scalar_functions() -> dict[str, Callable[..., int]]:
    """What each function of the library is to do."""
    found: dict[str, Callable[..., int]] = {
        "flush_single": patterns.flush32,
        "flush_half": patterns.flush16,
        "canonical_single": patterns.canonical32,
        "canonical_half": patterns.canonical16,
        "half_operand": lambda a: conversion.half_to_single(patterns.flush16(a)),
        "round_half": lambda a: conversion.half_to_single(conversion.narrow_nearest_even(a)),
        # Results, which saturation takes, are flushed already.
        "saturate_single": lambda a: single.saturate(patterns.flush32(a)),
    }
    for name in ("identity", "maximum", "minimum", "sign", "floor", "ceiling", "truncate", "round_even"):
        found[f"{name}_single"] = getattr(single, name)
    for name in ("rcp", "rsq", "sqrt", "exp2", "log2", "sin", "cos"):
        found[name] = getattr(single, name)
    for name in ("half_to_single", "narrow_toward_zero", "narrow_nearest_even"):
        found[name] = getattr(conversion, name)
    for rounding in ROUNDINGS:
        found |= conversions(rounding)
    return found


def conversions(rounding: str) -> dict[str, Callable[..., int]]:
    to_integer = getattr(conversion, f"single_to_integer_{rounding}")
    to_single = getattr(conversion, f"integer_to_single_{rounding}")
    found = {
        f"single_to_{kind}_{rounding}": lambda a, low=low, high=high: to_integer(a, low, high) & 0xFFFFFFFF
        for kind, (low, high) in INTEGER_RANGES.items()
    }
    found[f"single_to_half_{rounding}"] = getattr(conversion, f"single_to_half_{rounding}")
    found[f"u32_to_single_{rounding}"] = to_single
    found[f"s32_to_single_{rounding}"] = lambda a: to_single(a - (a >> 31 << 32))
    return found


@cache
def arguments() -> dict[str, list[np.ndarray]]:
    """By element type, two arrays of patterns."""
    source = np.random.default_rng(7)
    special = np.array([one | sign for one in SPECIAL for sign in (0, 1 << 31)], np.uint32)
    everyday = (source.standard_normal(1000) * 10).astype(np.float32).view(np.uint32)
    first = np.concatenate([special, source.integers(0, 1 << 32, 1500, np.uint32), everyday])
    second = source.permutation(first)
    second[: special.size] = special[::-1]
    return {"float": [first, second], "i32": [first, second], "i16": [np.arange(1 << 16, dtype=np.uint16)]}


def taken(name: str) -> list[np.ndarray]:
    elements = FLUSHING[name].signature.arguments
    columns = arguments()[elements[0]][: len(elements)]
    if name == "saturate_single":
        flushed = np.where(columns[0] & 0x7F800000, columns[0], columns[0] & 0x80000000)
        return [flushed.astype(np.uint32)]
    return columns


@cache
def expected() -> dict[str, np.ndarray]:
    return {
        name: np.array([function(*map(int, row)) for row in zip(*taken(name), strict=True)], np.uint64)
        for name, function in scalar_functions().items()
    }


def test_every_function_has_a_scalar_counterpart():
    assert scalar_functions().keys() == FLUSHING.keys()


@pytest.mark.parametrize("host", usable_hosts())
@pytest.mark.parametrize("lanes", LANES)
def test_bits_are_those_of_the_scalar_arithmetic(lanes: int, host: str):
    functions = compiled(tuple(FLUSHING), lanes, host)

    for name, wanted in expected().items():
        given = functions(name, *taken(name)).astype(np.uint64)
        wrong = np.flatnonzero(given != wanted)
        assert wrong.size == 0, (
            name,
            [hex(int(column[wrong[0]])) for column in taken(name)],
            hex(int(given[wrong[0]])),
        )


def test_bits_do_not_depend_on_optimisation():
    functions = compiled(tuple(FLUSHING), 8, "x86-64", level=0)

    for name, wanted in expected().items():
        assert np.array_equal(functions(name, *taken(name)).astype(np.uint64), wanted), name


@pytest.mark.parametrize("f16c", [False, True])
def test_a_function_is_defined_with_what_it_needs(f16c: bool):
    part = library(["cos", "narrow_toward_zero"], 16, f16c=f16c)

    assert symbol("cos", 16) in part.definitions and symbol("narrow_toward_zero", 16) in part.definitions
    assert symbol("sin", 16) not in part.text
    assert len(set(part.declarations)) == len(part.declarations)


def test_an_unknown_function_is_an_error():
    with pytest.raises(KeyError, match="tan"):
        library(["tan"], 16, f16c=True)

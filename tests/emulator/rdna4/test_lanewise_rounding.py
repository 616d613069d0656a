"""Results of gfx1200's float operations where a second rounding would show, against fractions and decimals."""

import random

import pytest
from emulator.rdna4 import pseudo_floats
from emulator.rdna4.pseudo_floats import Number

from autoclave.emulator.rdna4.lanewise import LANE_OPERATIONS
from autoclave.emulator.rdna4.lanewise.floats import fused_bfloat
from autoclave.emulator.rdna4.lanewise.formats import FORMATS, round_exactly

FUSED = {
    "F16": LANE_OPERATIONS["v_fma_f16"].compute,
    "F32": LANE_OPERATIONS["v_fma_f32"].compute,
    "F64": LANE_OPERATIONS["v_fma_f64"].compute,
    "BF16": fused_bfloat,
}

formats = pytest.mark.parametrize("form", FUSED)


def fused_exactly(form: str, *operands: int) -> int:
    return pseudo_floats.fused(form, *(Number(form, one) for one in operands)).bits


@formats
def test_what_is_added_to_a_tie_decides_it(form: str):
    """3/2 times a number with an odd last bit lies in the middle of two others; the smallest denormal is far below both."""
    width, precision = pseudo_floats.WIDTH[form], pseudo_floats.PRECISION[form]
    one = pseudo_floats.rounded(form, pseudo_floats.Fraction(1)).bits
    three_halves = one | 1 << precision - 2
    chosen = random.Random(form)
    ties = [one | chosen.randrange(1 << precision - 3) | 1 for _ in range(50)]
    operands = [(three_halves, tie, c) for tie in ties for c in (0, 1, 1 << width - 1 | 1)]

    given = [FUSED[form](*one) for one in operands]

    assert given == [fused_exactly(form, *one) for one in operands]
    assert len({given[0], given[1], given[2]}) == 2


@formats
def test_fused_products_of_any_patterns(form: str):
    chosen, width = random.Random(form), pseudo_floats.WIDTH[form]
    for _ in range(1500):
        a, b, c = (chosen.getrandbits(width) for _ in range(3))
        if chosen.randrange(2):
            # A sum that cancels, as far as the format lets it.
            c = pseudo_floats.multiply(form, Number(form, a), Number(form, b)).bits ^ 1 << width - 1
        assert FUSED[form](a, b, c) == fused_exactly(form, a, b, c), (hex(a), hex(b), hex(c))


@formats
def test_integers_times_powers_of_two_round_once(form: str):
    chosen = random.Random(form)
    for _ in range(1000):
        significand = chosen.getrandbits(chosen.randrange(1, 120))
        exponent = chosen.randrange(-1150, 1000)
        value = significand * pseudo_floats.Fraction(2) ** exponent
        assert (
            round_exactly(FORMATS[form.lower()], False, significand, exponent)
            == pseudo_floats.rounded(form, value).bits
        )


@pytest.mark.parametrize("form", ["F16", "BF16", "F32"])
def test_binary64_rounds_once(form: str):
    chosen, rounded = random.Random(form), FORMATS[form.lower()].rounded
    for _ in range(1000):
        value = Number(
            "F64",
            chosen.getrandbits(64) if chosen.randrange(2) else 0x3FF0000000000000 + chosen.getrandbits(59) - (1 << 58),
        )
        if not (value.is_nan or value.is_infinite):
            assert rounded(FORMATS["f64"].value(value.bits)) == pseudo_floats.convert(form, value).bits, hex(value.bits)


NEAREST_TO_TIES = {
    "v_sin_f32": (0x34654DB5, 0x359652F2, 0x35CD79E0, 0x37DA58FC, 0x37EACAF6, 0x3C6EB990, 0x3D00C8A4, 0x3D7D7F58),
    "v_cos_f32": (0x388D23E4, 0x390721A7, 0x3AA5BCA6),
}
"""All f32 whose sine or cosine, in turns, lies within eight units of binary64 from the middle of two f32."""

EXACT = {"v_sin_f32": pseudo_floats.sine_of_turns, "v_cos_f32": pseudo_floats.cosine_of_turns}


@pytest.mark.parametrize("name", NEAREST_TO_TIES)
def test_sines_and_cosines_next_to_ties(name: str):
    compute = LANE_OPERATIONS[name].compute
    for bits in NEAREST_TO_TIES[name]:
        assert compute(bits) == EXACT[name](Number("F32", bits)).bits, hex(bits)


@pytest.mark.parametrize("name", NEAREST_TO_TIES)
def test_sines_and_cosines_of_many_turns(name: str):
    """All but the fraction of a turn is dropped exactly, whatever the size."""
    chosen, compute = random.Random(name), LANE_OPERATIONS[name].compute
    for _ in range(60):
        bits = chosen.getrandbits(1) << 31 | chosen.randrange(0x3D000000, 0x4C000000)
        assert compute(bits) == EXACT[name](Number("F32", bits)).bits, hex(bits)


HALVES = {
    "v_exp_f16": pseudo_floats.power_of_two,
    "v_log_f16": pseudo_floats.logarithm,
    "v_sqrt_f16": pseudo_floats.square_root,
    "v_sin_f16": pseudo_floats.sine_of_turns,
    "v_cos_f16": pseudo_floats.cosine_of_turns,
}


@pytest.mark.parametrize("name", HALVES)
def test_elementary_functions_of_halves(name: str):
    chosen, compute = random.Random(name), LANE_OPERATIONS[name].compute
    for bits in [chosen.getrandbits(16) for _ in range(200)]:
        exact = HALVES[name](Number("F16", bits))
        assert compute(bits) == (0x7E00 if exact.is_nan else exact.bits), hex(bits)

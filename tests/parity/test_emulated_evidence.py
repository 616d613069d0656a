"""Rung 5: shares of executed instructions by evidence, and what is refused without it."""

import pytest

from autoclave.parity.emulated.evidence import Verified, evidence_result

MIXED = Verified(
    total=1000.0,
    by_evidence={"hardware": 400.0, "documented": 300.0, "declared": 100.0},
    unverified={("mad-unfused", "documented"): 300.0, ("nan-canonical", "declared"): 100.0},
)
CONFIRMED = Verified(total=50.0, by_evidence={"hardware": 40.0}, unverified={})


def test_shares_are_of_the_instructions_that_rules_are_about() -> None:
    result = evidence_result(MIXED, required=False)

    assert result.status == "passed"
    assert result.figures["hardware"] == 0.5
    assert "of 1000, 800 are arithmetic" in result.message
    assert "50 % hardware, 37.5 % documented, 12.5 % declared; not required" in result.message


def test_what_no_device_has_confirmed_is_refused_with_counts_largest_first() -> None:
    result = evidence_result(MIXED, required=True)

    assert result.status == "unverified"
    assert result.message.endswith(
        "not verified for mad-unfused (documented, 300 instructions), nan-canonical (declared, 100 instructions)"
    )


def test_what_a_device_has_confirmed_passes() -> None:
    result = evidence_result(CONFIRMED, required=True)

    assert result.status == "passed"
    assert "100 % hardware" in result.message


def test_long_lists_are_cut_short() -> None:
    many = {(f"rule-{number:02}", "declared"): float(number) for number in range(20)}

    message = evidence_result(Verified(190.0, {"declared": 190.0}, many), required=True).message

    assert "rule-19 (declared, 19 instructions)" in message
    assert message.endswith("and 8 more rules")


@pytest.mark.parametrize("required", [False, True])
def test_nothing_executed_is_no_division_by_zero(required: bool) -> None:
    assert evidence_result(Verified(0.0, {}, {}), required).status == "passed"

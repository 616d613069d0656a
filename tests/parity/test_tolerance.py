"""Tolerances: defaults per hardware, free to tighten, loosened with a reason only."""

import pytest

from autoclave.errors import AutoclaveError
from autoclave.parity.tolerance import Tolerance, resolve_tolerance


@pytest.mark.parametrize(
    ("device", "request_fields", "expected"),
    [
        ("CPU", {}, Tolerance(1e-4)),
        ("QCOM", {}, Tolerance(5e-3, 0.03)),
        ("AMD", {"tolerance": None, "change_fraction": None, "tolerance_reason": None}, Tolerance(5e-3, 0.03)),
        ("CPU", {"tolerance": 1e-5}, Tolerance(1e-5)),
        ("CPU", {"tolerance": 0}, Tolerance(0.0)),
        ("CPU", {"change_fraction": 0.001}, Tolerance(1e-4, 0.001)),
        ("QCOM", {"change_fraction": 0.01}, Tolerance(5e-3, 0.01)),
        ("CPU", {"tolerance": 1e-3, "tolerance_reason": " deep sums "}, Tolerance(1e-3, None, "deep sums")),
        ("AMD", {"change_fraction": 0.1, "tolerance_reason": "small heads"}, Tolerance(5e-3, 0.1, "small heads")),
    ],
)
def test_resolved(device: str, request_fields: dict[str, object], expected: Tolerance) -> None:
    assert resolve_tolerance(device, request_fields) == expected


@pytest.mark.parametrize(
    ("device", "request_fields", "message"),
    [
        ("CPU", {"tolerance": 2e-4}, "tolerance = 0.0002 is looser than 0.0001, the default for CPU; say why"),
        ("CPU", {"tolerance": 2e-4, "tolerance_reason": "  "}, "say why in tolerance_reason, or write at most 0.0001"),
        ("QCOM", {"change_fraction": 0.04}, "change_fraction = 0.04 is looser than 0.03"),
        ("CPU", {"tolerance": -1}, "tolerance is -1; expected a number"),
        ("CPU", {"tolerance": float("nan")}, "tolerance is nan"),
        ("CPU", {"tolerance": float("inf"), "tolerance_reason": "x"}, "tolerance is inf"),
        ("CPU", {"tolerance": True}, "tolerance is True"),
        ("METAL", {}, "no tolerance for the device 'METAL'; known are CPU, QCOM, AMD"),
        ("AMD", {"change_fraction": "3 %"}, "change_fraction is '3 %'"),
    ],
)
def test_refused(device: str, request_fields: dict[str, object], message: str) -> None:
    with pytest.raises(AutoclaveError, match=message):
        resolve_tolerance(device, request_fields)

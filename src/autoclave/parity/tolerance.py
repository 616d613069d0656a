"""How far an output may be from its reference, per hardware; a target may loosen that only with a reason.

`error` bounds |a - r| / max(1, |r|) for every element a of an output and r of its reference: absolute error for small
values, relative error for large ones. A bound that scaled with a tensor's largest element would hide errors in the
small slices of the concatenated outputs that driving models have.

`change_share` bounds the largest |a - r| of an output as a share of the largest |r43 - r|, where r43 is the reference
for the inputs of seed 43: an output that hardly depends on its inputs cannot pass by being nearly constant.
"""

from dataclasses import dataclass
from typing import Any

from autoclave.errors import AutoclaveError


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Bounds of rung 4, see the module. `change_share` None: not bounded. `reason`: why they are looser than usual."""

    error: float
    change_share: float | None = None
    reason: str | None = None


HALF_PRECISION = Tolerance(error=5e-3, change_share=0.03)
TOLERANCES = {"CPU": Tolerance(error=1e-4), "QCOM": HALF_PRECISION, "AMD": HALF_PRECISION}
"""By tinygrad's device name: the CPU computes in fp32, the others in fp16."""

_FIELDS = {"error", "change_share", "reason"}


def resolve_tolerance(device: str, requested: dict[str, Any] | None) -> Tolerance:
    """The tolerance for `device`, as a target's `{"error", "change_share", "reason"}`, all optional, changes it.

    Raises `AutoclaveError` if that has unknown or senseless fields, or is looser than the default without a reason.
    """
    default = TOLERANCES[device]
    if not requested:
        return default
    if unknown := sorted(set(requested) - _FIELDS):
        raise AutoclaveError(f"tolerance: unknown field {unknown[0]!r}; the fields are {', '.join(sorted(_FIELDS))}")
    error = _number(requested.get("error"), "error", default.error)
    share = _number(requested.get("change_share"), "change_share", default.change_share)
    reason = str(requested.get("reason") or "").strip() or None
    assert error is not None
    _require_reason("error", error, default.error, device, reason)
    if share is not None and default.change_share is not None:
        _require_reason("change_share", share, default.change_share, device, reason)
    return Tolerance(error, share, reason)


def _number(value: Any, field: str, default: float | None) -> float | None:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise AutoclaveError(f"tolerance: {field} is {value!r}, expected a number that is not negative")
    return float(value)


def _require_reason(field: str, value: float, default: float, device: str, reason: str | None) -> None:
    if value > default and reason is None:
        raise AutoclaveError(
            f"tolerance: {field} {value:g} is looser than {default:g}, the default for {device}; "
            f"say why in the field 'reason', or use a value of at most {default:g}"
        )

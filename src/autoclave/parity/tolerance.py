"""How far an output may be from its reference, per hardware; a target may loosen that only with a reason.

`error` bounds |a - r| / max(1, |r|) for every element a of an output and r of its reference: absolute error for small
values, relative error for large ones. A bound that scaled with a tensor's largest element would hide errors in the
small slices of the concatenated outputs that driving models have.

`change_fraction` bounds the largest |a - r| of an output as a fraction of the largest |r43 - r|, where r43 is the
reference for the inputs of seed 43: an output that hardly depends on its inputs cannot pass by being nearly constant.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autoclave.errors import AutoclaveError


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Bounds of rung 4, see the module. `change_fraction` None: not bounded. `reason`: why they are not the usual ones."""

    error: float
    change_fraction: float | None = None
    reason: str | None = None


HALF_PRECISION = Tolerance(error=5e-3, change_fraction=0.03)
TOLERANCES = {"CPU": Tolerance(error=1e-4), "QCOM": HALF_PRECISION, "AMD": HALF_PRECISION}
"""By tinygrad's device name: the CPU computes in fp32, the others in fp16."""


def resolve_tolerance(device: str, request: Mapping[str, Any]) -> Tolerance:
    """The tolerance for `device`, as the fields `tolerance`, `change_fraction` and `tolerance_reason` of `request` change it.

    All are optional. Raises `AutoclaveError` if one is senseless, or looser than the default without a reason, or if the
    device is none of `TOLERANCES`.
    """
    if device not in TOLERANCES:
        raise AutoclaveError(f"there is no tolerance for the device {device!r}; known are {', '.join(TOLERANCES)}")
    default = TOLERANCES[device]
    reason = str(request.get("tolerance_reason") or "").strip() or None
    error = _bound(request, "tolerance", default.error, device, reason)
    fraction = _bound(request, "change_fraction", default.change_fraction, device, reason)
    assert error is not None  # every device has a default
    return Tolerance(error, fraction, reason)


def _bound(
    request: Mapping[str, Any], field: str, default: float | None, device: str, reason: str | None
) -> float | None:
    value = request.get(field)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise AutoclaveError(f"{field} is {value!r}; expected a number from 0 up")
    if default is not None and value > default and reason is None:
        raise AutoclaveError(
            f"{field} = {value:g} is looser than {default:g}, the default for {device}; "
            f"say why in tolerance_reason, or write at most {default:g}"
        )
    return float(value)

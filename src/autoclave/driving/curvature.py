"""The curvature that a model asks a car to steer, from its parsed outputs, as its behaviour version says."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from autoclave.driving.behaviour import Curvature, behaviour
from autoclave.driving.constants import EULER, RATE, T_IDXS, YAW

_Outputs = Mapping[str, NDArray[np.float64]]

_SLOWEST = 1.0
"""m/s: below it, curvature is computed as at this speed, for it would grow without bound."""


def desired_curvature(version: str, outputs: _Outputs, speed: float, delay: float = 0.2) -> float:
    """The curvature in 1/m, positive to the right, before smoothing over time.

    `outputs` are those of `autoclave.driving.parser`, `speed` the car's in m/s, `delay` the seconds (above 0) until
    the steering acts. Where the curvature comes from the plan, it is the one that brings the car to the yaw planned for
    then: 2 yaw / (speed delay) - yaw rate / speed. Raises `UnknownBehaviour`, and `KeyError` for an output that is not there,
    which `check_outputs` would have refused.
    """
    return _METHODS[behaviour(version).curvature](outputs, max(_SLOWEST, speed), delay)


def _from_plan(outputs: _Outputs, speed: float, delay: float) -> float:
    plan = outputs["plan"] + outputs.get("planplus", np.zeros(1))
    yaw = float(np.interp(delay, T_IDXS, plan[:, EULER][:, YAW]))
    return 2 * yaw / (speed * delay) - float(plan[0, RATE][YAW]) / speed


_METHODS: dict[Curvature, Callable[[_Outputs, float, float], float]] = {
    Curvature.FROM_PLAN: _from_plan,
    Curvature.FROM_OUTPUT: lambda outputs, speed, delay: float(outputs["desired_curvature"][0]),
    Curvature.ACTION_PER_HUNDRED: lambda outputs, speed, delay: float(outputs["action"][0]) / 100,
    Curvature.ACTION_PER_SPEED_SQUARED: lambda outputs, speed, delay: float(outputs["action"][0]) / speed**2,
}

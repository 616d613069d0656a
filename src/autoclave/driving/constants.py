"""The grids and sizes that all driving models of openpilot's family share: selfdrive/modeld/constants.py there.

Positions are in metres, in the car's frame at the moment of the frame: x forward, y to the right, z down. Times are in
seconds from then.
"""

POINTS = 33
"""Points of a plan, a lane line or a road edge."""


def _quadratic(last: float) -> tuple[float, ...]:
    """`POINTS` values from 0 to `last`, dense near 0."""
    return tuple(last * (index / (POINTS - 1)) ** 2 for index in range(POINTS))


T_IDXS = _quadratic(10.0)
"""When the plan's points are reached."""
X_IDXS = _quadratic(192.0)
"""How far ahead the points of lane lines and road edges lie."""
LEAD_T_IDXS = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0)
"""When a lead is where the points of its trajectory say."""
LEAD_T_OFFSETS = (0.0, 2.0, 4.0)
"""Lead i is the car that is ahead of us at time LEAD_T_OFFSETS[i]; `lead_prob` says how likely there is one."""

PLAN_WIDTH = 15
POSITION, VELOCITY, ACCELERATION, EULER, RATE = (slice(start, start + 3) for start in range(0, PLAN_WIDTH, 3))
"""What the 15 values of a plan's point are: x, y, z of each; `EULER` (rad) and `RATE` (rad/s) are roll, pitch, yaw."""
YAW = 2

LANE_LINES = 4
"""From left to right: the line beyond the left one, the left one, the right one, the line beyond it."""
ROAD_EDGES = 2
LEADS = len(LEAD_T_OFFSETS)
LEAD_POINTS = len(LEAD_T_IDXS)
LEAD_WIDTH = 4
"""x, y, speed and acceleration of a lead."""
POSE_WIDTH = 6
FEATURE_WIDTH = 512
DESIRES = 8

RUN_FREQUENCY = 20
"""Frames per second that a model is run on."""
CONTEXT_FREQUENCY = 5
"""Past features, desires and frames per second that a model is shown; with a `features_buffer` of 99, all 20."""

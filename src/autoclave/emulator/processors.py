"""How many processors to keep busy. It changes speed only, never a result."""

import os

VARIABLE = "AUTOCLAVE_PROCESSORS"
"""Set by whoever runs several of Autoclave's processes at once: how many processors this one may use."""


def processors() -> int:
    """As many as `VARIABLE` says, if it is set to a number, else as many as this process may run on; at least 1."""
    told = os.environ.get(VARIABLE, "")
    available = len(os.sched_getaffinity(0))
    return max(1, min(int(told), available) if told.isdecimal() else available)

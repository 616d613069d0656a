"""The loader: runs an artifact's parts on a device of tinygrad's, without a compiler and without the rest of Autoclave.

    model = load("driving_tinygrad.pkl", sha256="…")
    outputs = model["run_policy"].run({"img": …, "packed_npy_inputs": …})
    plan = outputs["outputs"].numpy()

The package needs Python 3.11 and its standard library; tinygrad when a model is loaded, numpy if outputs are asked for as arrays.
It imports nothing else of Autoclave, so that a project can use a copy of this folder (docs/runtime.md).
"""

from .errors import (
    DeviceError,
    FormatError,
    InputError,
    LoadError,
    StaleOutput,
    SyntheticRefused,
    Unverified,
    VerificationError,
)
from .loader import load
from .model import LoadedPart, Model
from .outputs import Output
from .replay import Replay

__all__ = [
    "DeviceError",
    "FormatError",
    "InputError",
    "LoadError",
    "LoadedPart",
    "Model",
    "Output",
    "Replay",
    "StaleOutput",
    "SyntheticRefused",
    "Unverified",
    "VerificationError",
    "load",
]

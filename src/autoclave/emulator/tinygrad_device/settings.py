"""How the emulated device works. No setting but `nearest` changes a result."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """threads: host threads that share a launch's workgroups.
    translations: a folder that keeps host code of kernels for the next process; None keeps nothing.
    check: interpret some threads of each kernel's first launch, and raise an `EmulationError` if its host code computes
        anything else. Takes some 30 ms for each kernel.
    nearest: QCOM alone: let Mesa's compiler round float32 to nearest even where it makes float16 of it; artifacts, as tinygrad on the device,
        leave it the hardware's default, toward zero.
    survey: a JSON file to write when the process ends: launches, kernels, instructions by name, what was not translated.
    """

    threads: int = 1
    translations: Path | None = None
    check: bool = False
    survey: Path | None = None
    nearest: bool = False

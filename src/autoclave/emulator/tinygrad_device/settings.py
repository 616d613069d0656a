"""How the emulated device works. No setting but `nearest` changes a result."""

import os
from dataclasses import dataclass
from pathlib import Path

from autoclave.errors import ToolchainError


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

    def require_possible(self) -> None:
        """Raise `ToolchainError` if there are no threads, or if what is to be written could not be: now, not at the end."""
        if self.threads < 1:
            raise ToolchainError(f"the emulated device needs 1 host thread at least, not {self.threads}")
        try:
            if self.translations is not None:
                self.translations.mkdir(parents=True, exist_ok=True)
                if not os.access(self.translations, os.W_OK):
                    raise PermissionError(None, "no permission to write there")
        except OSError as error:
            raise ToolchainError(f"keeping host code in {self.translations}: {error.strerror}") from error
        try:
            if self.survey is not None:
                self.survey.open("ab").close()
        except OSError as error:
            raise ToolchainError(f"writing the survey {self.survey}: {error.strerror}") from error

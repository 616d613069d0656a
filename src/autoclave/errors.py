"""The errors that Autoclave raises on purpose.

Every message says what was being done to which file or target, what was expected, what came, and what to do about it.
Entry points print the message alone; a traceback means a defect in Autoclave.
"""


class AutoclaveError(Exception):
    """Base of all errors a user can cause and cure."""


class ArtifactError(AutoclaveError):
    """An artifact or a check file is malformed, truncated, or does not match what was declared."""


class SourceError(AutoclaveError):
    """An ONNX file cannot be had, is not what was declared, or cannot be compiled as it stands."""


class ToolchainError(AutoclaveError):
    """A toolchain component is missing, wrong, or unknown to this version of Autoclave."""


class SandboxError(AutoclaveError):
    """The sandbox cannot be set up on this machine."""


class CompileError(AutoclaveError):
    """A model could not be turned into an artifact."""


class ParityError(AutoclaveError):
    """An artifact computes something else than it should."""


class EmulationError(AutoclaveError):
    """Machine code does what the emulator cannot or must not carry out."""


class UnknownInstruction(EmulationError):
    """An instruction, or a form of one, that the emulator has no rule for."""


class MemoryFault(EmulationError):
    """A kernel reads or writes outside the buffers of its launch."""


class BudgetExceeded(EmulationError):
    """A kernel runs longer than it may, for example in an endless loop."""

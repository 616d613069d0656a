"""What can go wrong with an artifact on a device. All are `LoadError`s, so that a caller can fall back on another model."""


class LoadError(Exception):
    """Base of all errors of this package."""


class FormatError(LoadError):
    """The file is no artifact, is damaged, or has a format or launch fields that this loader does not know."""


class VerificationError(LoadError):
    """The artifact is not the one that was asked for, or not the one that a check file or a provenance statement is about."""


class Unverified(VerificationError):
    """Nothing was given to verify the artifact by."""


class SyntheticRefused(LoadError):
    """The artifact has made-up weights."""


class DeviceError(LoadError):
    """The device cannot be opened, is not what the artifact is for, or this tinygrad's device interface is unknown."""


class InputError(LoadError):
    """An input is missing, unknown, or of another dtype, shape or size."""


class StaleOutput(LoadError):
    """An output was read after the part ran again."""

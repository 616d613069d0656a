"""Which module of the library runs or checks an artifact in the sandbox, by the hardware that the artifact is for."""

from pathlib import Path

from autoclave.artifact.reader import open_artifact
from autoclave.emulator.devices import DEVICES

RUN = dict.fromkeys(DEVICES, "autoclave.emulator")
RECORD = dict.fromkeys(DEVICES, "autoclave.parity.emulated.record")
CHECK = dict.fromkeys(DEVICES, "autoclave.parity.emulated")
"""By tinygrad's device name. What is not here is the business of the native modules, which say so if it is not theirs."""

EMULATED_HARDWARE = "qcom and chestnut"
"""What the field `hardware` calls the devices with an emulator, for messages."""

NATIVE = "CPU"
NATIVE_RUN = "autoclave.native"
NATIVE_RECORD = "autoclave.parity.record"
NATIVE_CHECK = "autoclave.parity"


def device_of(path: Path) -> str:
    """tinygrad's name of the device that the artifact at `path` is for. Raises `ArtifactError` if it is none."""
    with open_artifact(path) as artifact:
        return artifact.header.parts[0].target.device

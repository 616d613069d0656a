"""Loading: open, verify, open the devices, put all parts on them."""

import os
from collections.abc import Mapping
from pathlib import Path

from .device import Device
from .file import ArtifactFile
from .interface import installed_interface
from .model import Model
from .records import Header
from .verification import Evidence, verify


def load(
    path: str | os.PathLike[str],
    *,
    sha256: str | None = None,
    provenance: str | os.PathLike[str] | None = None,
    check: str | os.PathLike[str] | None = None,
    devices: Mapping[str, str] | None = None,
    allow_unverified: bool = False,
    allow_synthetic: bool = False,
) -> Model:
    """Load the artifact at `path`. It is verified by all that is given of `sha256`, its `provenance` file and its `check` file.

    `devices` says which of several devices to use, by tinygrad's names: {"AMD": "AMD:1"}. Made-up weights are refused unless
    `allow_synthetic`, and so is an artifact with nothing to verify it by unless `allow_unverified`. Raises `LoadError`s: the artifact's
    file is opened, checked and verified before tinygrad is imported, and any device is opened before one kernel is loaded.
    """
    evidence = Evidence(
        sha256=sha256,
        provenance=None if provenance is None else Path(provenance),
        check=None if check is None else Path(check),
        allow_unverified=allow_unverified,
        allow_synthetic=allow_synthetic,
    )
    with ArtifactFile(Path(path)) as artifact:
        verified = verify(artifact, evidence)
        return Model(artifact, _open_devices(artifact.header, devices or {}), verified)


def _open_devices(header: Header, names: Mapping[str, str]) -> dict[str, Device]:
    """The devices of all parts, by the name in their targets."""
    interface = installed_interface()
    opened: dict[str, Device] = {}
    for part in header.parts:
        kind = part.target.device
        if kind not in opened:
            opened[kind] = Device(names.get(kind, kind), interface)
        opened[kind].require(part.target)
    return opened

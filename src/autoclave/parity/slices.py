"""The named slices of a driving model's outputs."""

from collections.abc import Mapping

from autoclave.artifact.reader import Artifact
from autoclave.driving.metadata import OUTPUT, DrivingMetadata


def output_slices(artifact: Artifact) -> dict[str, Mapping[str, slice]]:
    """Where the outputs of a driving model's parts lie in the last axis of the tensor that they are in, by its name; else nothing."""
    if "driving" not in artifact.header.metadata:
        return {}
    parts = DrivingMetadata.from_json(artifact.header.metadata["driving"]).parts
    return {OUTPUT if len(parts) == 1 else name: part.output_slices for name, part in parts.items()}

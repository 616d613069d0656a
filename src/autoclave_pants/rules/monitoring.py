"""`monitoring_models`: the driver monitoring model, its metadata as plain JSON, and the warps of the driver camera."""

from __future__ import annotations

from dataclasses import dataclass

from pants.engine.addresses import UnparsedAddressInputs
from pants.engine.fs import FileDigest
from pants.engine.rules import Get, Rule, collect_rules, rule
from pants.engine.target import Target
from pants.util.frozendict import FrozenDict

from autoclave_pants.engine import add_prefix, files_of
from autoclave_pants.errors import BuildError
from autoclave_pants.rules.actions import ActionRequest, References, request_json, succeed
from autoclave_pants.rules.artifacts import Platform
from autoclave_pants.rules.models import OnnxModelRequest
from autoclave_pants.rules.sources import MODEL, OnnxSource, SourceRequest
from autoclave_pants.rules.warps import Size, Warp, WarpRequest
from autoclave_pants.target_types.driving import CameraResolutionsField, MonitoringSourceField
from autoclave_pants.target_types.models import DimensionsField

MODEL_FILE = "dmonitoring_model_tinygrad.pkl"
METADATA_FILE = "dmonitoring_model_metadata.pkl"
WARP = Warp("luma", (1440, 960), border_fill=16)
"""What the model is shown of the driver camera: luma, and black beside the frame."""


def warp_file(camera: Size) -> str:
    return f"dm_warp_{camera[0]}x{camera[1]}_tinygrad.pkl"


@dataclass(frozen=True)
class MonitoringMetadataRequest:
    """The metadata file of a `monitoring_models`; of a model that is no driver monitoring model, an error."""

    target: str
    source: UnparsedAddressInputs
    dimensions: FrozenDict[str, int]
    cameras: tuple[Size, ...]

    @classmethod
    def of(cls, target: Target) -> MonitoringMetadataRequest:
        return cls(
            str(target.address),
            target[MonitoringSourceField].to_unparsed_address_inputs(),
            target[DimensionsField].value or FrozenDict(),
            target[CameraResolutionsField].sizes,
        )


@dataclass(frozen=True)
class MonitoringMetadata:
    """The file `dmonitoring_model_metadata.pkl`."""

    file: FileDigest


@rule
async def monitoring_metadata(request: MonitoringMetadataRequest, references: References) -> MonitoringMetadata:
    source = await Get(OnnxSource, SourceRequest(request.source))
    fields = {
        "model": f"inputs/{MODEL}",
        "sha256": source.sha256,
        "size": source.size,
        "dimensions": dict(request.dimensions),
        "camera_resolutions": request.cameras,
        "output": f"out/{METADATA_FILE}",
    }
    try:
        result = await succeed(
            ActionRequest(
                module="autoclave.source.monitoring_metadata",
                request=request_json(fields),
                inputs=await add_prefix(source.digest, "inputs"),
                toolchain=references.toolchain,
                outputs=(METADATA_FILE,),
                target=source.address,
                stage="Describe",
            )
        )
    except BuildError as error:
        raise BuildError(request.target, "check", f"{source.address}: {error.reason}", error.log) from None
    return MonitoringMetadata((await files_of(result.outputs))[METADATA_FILE])


def model_request(target: Target) -> OnnxModelRequest:
    """The model itself, which is an ordinary ONNX model."""
    source = target[MonitoringSourceField].to_unparsed_address_inputs()
    return OnnxModelRequest(Platform.of(target), source, target[DimensionsField].value or FrozenDict(), None)


def warp_requests(target: Target) -> tuple[WarpRequest, ...]:
    """One warp for each of the driver's cameras."""
    platform = Platform.of(target)
    return tuple(WarpRequest(platform, camera, WARP) for camera in target[CameraResolutionsField].sizes)


def rules() -> list[Rule]:
    return list(collect_rules())

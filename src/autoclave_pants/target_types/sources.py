"""`onnx_file` and `synthetic_onnx`: where ONNX files come from."""

from __future__ import annotations

from pants.engine.target import (
    COMMON_TARGET_FIELDS,
    Dependencies,
    IntField,
    OptionalSingleSourceField,
    StringField,
    Target,
)
from pants.util.strutil import help_text

from autoclave_pants.target_types.fields import Sha256Field, SizeField, UrlField


class OnnxSourceFileField(OptionalSingleSourceField):
    expected_file_extensions = (".onnx",)
    help = help_text(
        """
        The ONNX file, if it lies in this repository: `source="policy.onnx"`. Otherwise give `url`, `sha256` and `size`.
        """
    )


class LfsEndpointField(StringField):
    alias = "lfs"
    help = help_text(
        """
        The Git LFS endpoint that resolves a pointer found at `url`, for example
        `"https://huggingface.co/OWNER/REPO.git/info/lfs"`. Default: the one of the repository that `url` belongs to.
        """
    )


class OnnxFileTarget(Target):
    alias = "onnx_file"
    core_fields = (
        *COMMON_TARGET_FIELDS,
        Dependencies,
        OnnxSourceFileField,
        UrlField,
        Sha256Field,
        SizeField,
        LfsEndpointField,
    )
    help = help_text(
        """
        One ONNX file, in this repository or at a public address, pinned by sha256 and size.

            onnx_file(
                name="onnx",
                url="https://example.com/driving_supercombo.onnx",
                sha256="...",
                size=60_934_112,
            )

        Refused, with the reason: a wrong hash or size, an empty or truncated file, a Git LFS pointer that cannot be resolved,
        an HTML page, anything that is not ONNX, and external data.
        """
    )


class ArchitectureField(StringField):
    alias = "architecture"
    value: str
    default = "supercombo"
    valid_choices = ("supercombo", "stateful", "vision", "policy", "on_policy", "off_policy", "monitoring")
    help = help_text(
        """
        The interface to imitate. `supercombo`: fused vision and policy, with the feature history as an input. `stateful`: the same
        with its history inside, as pairs of an input `X` and an output `next_X`. `vision`, `policy`, `on_policy`, `off_policy`: a file
        of a model in several. `monitoring`: driver monitoring.
        """
    )


class SyntheticVersionField(StringField):
    alias = "behavior_version"
    help = help_text(
        """
        The behaviour version whose outputs a driving model imitates, as in `driving_model`. Default: the newest's.
        """
    )


class ScaleField(StringField):
    alias = "scale"
    value: str
    required = True
    valid_choices = ("S", "M", "L", "XL")
    help = help_text(
        """
        The amount of weights and work: `S` (0.4 MB, for tests), `M` (4 MB), `L` (61 MB and 12 GFLOP, a real supercombo's), `XL`
        (0.8 GB, a big supercombo's).
        """
    )


class SeedField(IntField):
    alias = "seed"
    value: int
    default = 1
    help = help_text("The seed of the weights: the same seed gives the same bytes on any machine.")


class SyntheticOnnxTarget(Target):
    alias = "synthetic_onnx"
    core_fields = (*COMMON_TARGET_FIELDS, Dependencies, ArchitectureField, ScaleField, SeedField, SyntheticVersionField)
    help = help_text(
        """
        A byte-reproducible ONNX model with the interface and the size of a real one, for when its weights cannot be had.
        Artifacts made from it carry `synthetic: true`, which releases and loaders refuse.

            synthetic_onnx(name="onnx", architecture="supercombo", scale="L", seed=223)
        """
    )

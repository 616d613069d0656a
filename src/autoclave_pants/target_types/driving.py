"""`driving_model` and `monitoring_models`: what a car loads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Optional, Union

from pants.engine.addresses import Address, UnparsedAddressInputs
from pants.engine.target import (
    COMMON_TARGET_FIELDS,
    Dependencies,
    Field,
    IntField,
    InvalidFieldException,
    InvalidFieldTypeException,
    RequiredFieldMissingException,
    SpecialCasedDependencies,
    StringField,
    StringSequenceField,
    Target,
)
from pants.util.frozendict import FrozenDict
from pants.util.strutil import help_text

from autoclave_pants.target_types.fields import HARDWARE, SingleAddressField
from autoclave_pants.target_types.models import (
    DimensionsField,
    FilenameField,
    HardwareField,
    ModelToolchainField,
    RendererField,
)

ROLES = ("supercombo", "stateful", "vision", "policy", "on_policy", "off_policy")
"""What an ONNX file can be in a driving model."""

SIZE_CLASSES = ("small", "big")
UNKNOWN_ROLE = ""

RoleSource = tuple[str, str]
"""The role of a file, or `UNKNOWN_ROLE`, and the address of its target."""

Declared = Union[str, Iterable[str], Mapping[str, str]]
"""How a BUILD file names sources."""


def role_sources(declared: Any) -> Optional[tuple[RoleSource, ...]]:
    """The sources that a BUILD file declares in one of the three forms, None if it is none of them."""
    if isinstance(declared, str):
        return ((UNKNOWN_ROLE, declared),)
    if isinstance(declared, Mapping):
        pairs = tuple(sorted(declared.items()))
        fitting = all(role in ROLES and isinstance(address, str) for role, address in pairs)
    elif isinstance(declared, Iterable):
        pairs = tuple((UNKNOWN_ROLE, address) for address in declared)
        fitting = all(isinstance(address, str) for _, address in pairs)
    else:
        return None
    return pairs if pairs and fitting else None


SOURCES_EXPECTED = (
    "an address, a list of addresses, or a dictionary of role -> address, like "
    f'{{"vision": ":vision-onnx", "policy": ":policy-onnx"}}; the roles are {", ".join(ROLES)}'
)


class DrivingSourcesField(SpecialCasedDependencies):
    alias = "sources"
    value: tuple[RoleSource, ...]  # type: ignore[assignment]
    required = True
    help = help_text(
        """
        The `onnx_file` and `synthetic_onnx` targets that the model consists of: one to three. In one of three forms:

            sources=":onnx"                                              # a model in one file
            sources=[":driving_vision", ":driving_policy"]               # told apart by their inputs and file names
            sources={"vision": ":vision-onnx", "policy": ":policy-onnx"} # told apart by you

        The roles are `supercombo`, `stateful`, `vision`, `policy`, `on_policy` and `off_policy`. A role that contradicts the
        file's inputs is refused.
        """
    )

    @classmethod
    def compute_value(  # type: ignore[override]
        cls, raw_value: Optional[Declared], address: Address
    ) -> tuple[RoleSource, ...]:
        if raw_value is None:
            raise RequiredFieldMissingException(address, cls.alias)
        value = role_sources(raw_value)
        if value is None:
            raise InvalidFieldTypeException(address, cls.alias, raw_value, expected_type=SOURCES_EXPECTED)
        return value

    def to_unparsed_address_inputs(self) -> UnparsedAddressInputs:
        return addresses_of(self, self.value)


class HardwareSourcesField(SpecialCasedDependencies):
    alias = "hardware_sources"
    value: FrozenDict[str, tuple[RoleSource, ...]]  # type: ignore[assignment]
    default = None
    help = help_text(
        """
        Sources for hardware that is built from other files than `sources`, each in one of its forms:
        `{"chestnut": ":big-onnx"}`.
        """
    )

    @classmethod
    def compute_value(  # type: ignore[override]
        cls, raw_value: Optional[Mapping[str, Declared]], address: Address
    ) -> FrozenDict[str, tuple[RoleSource, ...]]:
        expected = f'a dictionary of hardware ({", ".join(HARDWARE)}) -> sources, like {{"chestnut": ":big-onnx"}}'
        if raw_value is None:
            return FrozenDict()
        if not isinstance(raw_value, Mapping) or any(hardware not in HARDWARE for hardware in raw_value):
            raise InvalidFieldTypeException(address, cls.alias, raw_value, expected_type=expected)
        found = {hardware: role_sources(declared) for hardware, declared in raw_value.items()}
        if None in found.values():
            raise InvalidFieldTypeException(
                address, cls.alias, raw_value, expected_type=f"{expected}; sources are {SOURCES_EXPECTED}"
            )
        return FrozenDict(found)  # type: ignore[arg-type]

    def to_unparsed_address_inputs(self) -> UnparsedAddressInputs:
        return addresses_of(self, [source for sources in self.value.values() for source in sources])


def addresses_of(field: SpecialCasedDependencies, sources: Iterable[RoleSource]) -> UnparsedAddressInputs:
    """The addresses of `sources`, which `field` names."""
    return UnparsedAddressInputs(
        tuple(address for _, address in sources),
        owning_address=field.address,
        description_of_origin=f"the `{field.alias}` from the target {field.address}",
    )


class KindField(StringField):
    alias = "kind"
    value: str
    default = "auto"
    valid_choices = ("auto", "supercombo", "split", "multi_policy", "stateful")
    help = help_text(
        """
        Which kind of driving model the sources make. `auto` tells it by their inputs, tried in the order stateful, multi_policy, split,
        supercombo, and says what it chose and why; what is ambiguous is refused.

        `supercombo`: vision and policy in one file. `split`: `vision` and `policy`. `multi_policy`: `vision`, `off_policy` and
        `on_policy` or `policy`. `stateful`: one file with `new_img`, and outputs `next_X` that are fed back to inputs `X`.
        """
    )


class SizeClassField(Field):
    alias = "size_class"
    value: FrozenDict[str, str]
    default = "small"
    help = help_text(
        """
        `"small"` (the default) or `"big"`, for all hardware, or, as `{"chestnut": "big"}`, for some. A small model where a big one was meant
        has been compiled before, so it is declared and checked: a model is big if its ONNX files have 256 MiB or more together (small ones
        have 61 to 126 MB, big ones 770 MB to 1.7 GB). A file whose name begins with `big_` is never small. The size of synthetic
        models says nothing; they are judged by the name alone.
        """
    )

    @classmethod
    def compute_value(
        cls, raw_value: Optional[Union[str, Mapping[str, str]]], address: Address
    ) -> FrozenDict[str, str]:
        value = super().compute_value(raw_value, address)
        by_hardware = value if isinstance(value, Mapping) else dict.fromkeys(HARDWARE, value)
        if any(hardware not in HARDWARE or size not in SIZE_CLASSES for hardware, size in by_hardware.items()):
            raise InvalidFieldTypeException(
                address,
                cls.alias,
                raw_value,
                expected_type=f'"small", "big", or a dictionary of hardware ({", ".join(HARDWARE)}) -> one of them, like '
                '{"chestnut": "big"}',
            )
        return FrozenDict(by_hardware)

    def of(self, hardware: str) -> str:
        """The size class for one hardware."""
        return self.value.get(hardware, SIZE_CLASSES[0])


class CameraResolutionsField(StringSequenceField):
    alias = "camera_resolutions"
    value: tuple[str, ...]
    default = ("1928x1208", "1344x760")
    help = help_text(
        """
        The cameras' frames, WIDTHxHEIGHT in pixels, even numbers from 16 to 8192. Each gets a warp: what makes of a camera's NV12
        frame what the model sees. Default: `["1928x1208", "1344x760"]`, those of comma's 3X and four. Models that see the same share
        their warps; one is compiled once.
        """
    )

    @classmethod
    def compute_value(cls, raw_value: Optional[Iterable[str]], address: Address) -> tuple[str, ...]:
        value = super().compute_value(raw_value, address) or ()
        wrong = [each for each in value if not cls.is_resolution(each)]
        if wrong or not value or len(set(value)) != len(value):
            raise InvalidFieldException(
                f"The field `{cls.alias}` of the target {address} is {list(value)}: it takes one or more different sizes, "
                'WIDTHxHEIGHT in pixels, even numbers from 16 to 8192, for example `["1928x1208", "1344x760"]`.'
            )
        return value

    @staticmethod
    def is_resolution(text: str) -> bool:
        found = re.fullmatch(r"([1-9]\d{1,3})x([1-9]\d{1,3})", text)
        return found is not None and all(16 <= int(side) <= 8192 and int(side) % 2 == 0 for side in found.groups())

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """(width, height) of each."""
        return tuple((int(width), int(height)) for width, height in (each.split("x") for each in self.value))


class FrameSkipField(IntField):
    alias = "frame_skip"
    help = help_text(
        """
        How many frames, of 20 a second, lie between two that the model is shown: 1 to 20. Default: 1 if `features_buffer` holds 99 past
        features or more, else 4, as openpilot's tools derive it. A stateful model does this itself.
        """
    )

    @classmethod
    def compute_value(cls, raw_value: Optional[int], address: Address) -> Optional[int]:
        value = super().compute_value(raw_value, address)
        if value is not None and not 1 <= value <= 20:
            raise InvalidFieldException(
                f"The field `frame_skip` of the target {address} is {value}: it takes a number of frames from 1 to 20."
            )
        return value


class BehaviorVersionField(StringField):
    alias = "behavior_version"
    value: str
    required = True
    valid_choices = ("v8", "v9", "v10", "v11", "v12", "v14", "v15", "v16")
    help = help_text(
        """
        Which outputs the model has and what they mean, `"v8"` to `"v16"`; see docs/driving.md for what each needs. It belongs to the
        model: a new toolchain never changes it. A model that lacks an output, or whose outputs overlap or are of the wrong
        size, is refused with the list.
        """
    )


class ImageHistoryPipelineField(StringField):
    alias = "image_history_pipeline"
    value: str
    default = "policy"
    valid_choices = ("policy", "warp")
    help = help_text(
        """
        Which part keeps the past frames: `policy`, the newer way, whose warps give one frame and are the same for all models of an
        image size; or `warp`, as in artifacts of 2025, whose warps keep the queue of frames.
        """
    )


class DrivingFilenameField(FilenameField):
    help = help_text(
        """
        The artifact's file name in `dist/<path>/<name>/<hardware>/`. Default: openpilot's, `driving_tinygrad.pkl`, and
        `big_driving_tinygrad.pkl` for a big model.
        """
    )


class DrivingModelTarget(Target):
    alias = "driving_model"
    core_fields = (
        *COMMON_TARGET_FIELDS,
        Dependencies,
        DrivingSourcesField,
        HardwareSourcesField,
        KindField,
        SizeClassField,
        BehaviorVersionField,
        CameraResolutionsField,
        FrameSkipField,
        ImageHistoryPipelineField,
        ModelToolchainField,
        HardwareField,
        RendererField,
        DimensionsField,
        DrivingFilenameField,
    )
    help = help_text(
        """
        A driving model as a car loads it: the part `run_policy`, one warp for each camera resolution, and metadata, in one
        artifact per hardware.

            driving_model(
                name="pop223",
                sources=":onnx",
                behavior_version="v16",
                hardware=parametrize("cpu", "qcom", "chestnut"),
            )

        Each part is compiled by an action of its own. `./pants package` writes the artifact, its check file and its
        provenance to dist/; `parity_tests` checks all parts.
        """
    )


class MonitoringSourceField(SingleAddressField):
    alias = "source"
    required = True
    help = help_text(
        """
        The address of the `onnx_file` or `synthetic_onnx` of the driver monitoring model: inputs `input_img`, uint8 luma of
        1440x960 pixels, and `calib`.
        """
    )


class MonitoringModelsTarget(Target):
    alias = "monitoring_models"
    core_fields = (
        *COMMON_TARGET_FIELDS,
        Dependencies,
        MonitoringSourceField,
        CameraResolutionsField,
        ModelToolchainField,
        HardwareField,
        RendererField,
        DimensionsField,
    )
    help = help_text(
        """
        Driver monitoring as a car loads it, four files under openpilot's names: `dmonitoring_model_tinygrad.pkl`,
        `dmonitoring_model_metadata.pkl` (plain JSON, no pickle), and a warp of the driver camera's luma to 1440x960 for each camera
        resolution, `dm_warp_1928x1208_tinygrad.pkl` and `dm_warp_1344x760_tinygrad.pkl`. They are built and packaged together, or
        not at all.

            monitoring_models(
                name="monitoring",
                source=":monitoring-onnx",
                hardware=parametrize("cpu", "qcom", "chestnut"),
            )
        """
    )

"""`onnx_model`, and the fields that all models have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from pants.engine.addresses import Address
from pants.engine.internals.parametrize import Parametrize
from pants.engine.target import (
    COMMON_TARGET_FIELDS,
    Dependencies,
    Field,
    InvalidFieldException,
    InvalidFieldTypeException,
    StringField,
    StringSequenceField,
    Target,
)
from pants.util.frozendict import FrozenDict
from pants.util.strutil import help_text

from autoclave_pants.target_types.fields import HARDWARE, SingleAddressField


class ModelSourceField(SingleAddressField):
    alias = "source"
    required = True
    help = help_text("The address of the `onnx_file` or `synthetic_onnx` to compile.")


class ModelToolchainField(SingleAddressField):
    alias = "toolchain"
    default = ("toolchains:tinygrad-0.14",)
    help = help_text("The `toolchain` to compile with. Default: `toolchains:tinygrad-0.14`.")


class HardwareField(StringField):
    alias = "hardware"
    value: str
    required = True
    valid_choices = HARDWARE
    help = help_text(
        """
        What the artifact runs on: `cpu` (x86-64-v3), `qcom` (Adreno a630, the comma 3X) or `chestnut` (AMD gfx1200, a USB GPU). For
        several, `hardware=parametrize("cpu", "qcom", "chestnut")`: then `models:name` means all of them and
        `models:name@hardware=qcom` one.
        """
    )

    @classmethod
    def compute_value(cls, raw_value: Optional[str], address: Address) -> Optional[str]:
        if isinstance(raw_value, Parametrize):
            raise InvalidFieldException(
                f"The field `hardware` of the target {address} is {raw_value}: `parametrize` takes two values or more. For one "
                f"hardware write the plain string, for example `hardware={next(iter(raw_value.to_parameters()), 'cpu')!r}`."
            )
        return super().compute_value(raw_value, address)


class RendererField(StringField):
    alias = "renderer"
    valid_choices = ("ir3", "llvm", "hip")
    help = help_text(
        """
        The code generator: `ir3` (Mesa) for qcom, `llvm` (LLVM 20) for cpu and chestnut; these are the defaults. For chestnut there
        is also `hip`: tinygrad's HIP source, compiled by AMD's comgr, which the toolchain's field `hip` names.
        """
    )


class DimensionsField(Field):
    alias = "dimensions"
    value: Optional[FrozenDict[str, int]]
    default = None
    help = help_text(
        """
        A value for each named axis of the ONNX inputs, for example `{"N": 1}`. A name that the model has and this field lacks is
        refused, and the reverse.
        """
    )

    @classmethod
    def compute_value(cls, raw_value: Optional[Mapping[str, int]], address: Address) -> Optional[FrozenDict[str, int]]:
        value = super().compute_value(raw_value, address)
        if value is None:
            return None
        if not isinstance(value, Mapping) or not all(
            isinstance(name, str) and type(size) is int and size > 0 for name, size in value.items()
        ):
            raise InvalidFieldTypeException(
                address, cls.alias, raw_value, expected_type='a dictionary of axis name -> positive size, like {"N": 1}'
            )
        return FrozenDict(value)


class ExpectedInputsField(StringSequenceField):
    alias = "inputs"
    help = help_text(
        """
        The names of the inputs that the ONNX must have, no more and no less. Default: whatever it has.
        """
    )


class FilenameField(StringField):
    alias = "filename"
    help = help_text(
        """
        The artifact's file name in `dist/<path>/<name>/<hardware>/`. Default: `<name>_tinygrad.pkl`. It is the name that devices look
        for; the content is Autoclave's plain artifact, not a pickle.
        """
    )

    @classmethod
    def compute_value(cls, raw_value: Optional[str], address: Address) -> Optional[str]:
        value = super().compute_value(raw_value, address)
        if value is not None and ("/" in value or value in ("", ".", "..")):
            raise InvalidFieldException(
                f"The field `filename` of the target {address} is {value!r}: it takes a file name without a directory."
            )
        return value


class OnnxModelTarget(Target):
    alias = "onnx_model"
    core_fields = (
        *COMMON_TARGET_FIELDS,
        Dependencies,
        ModelSourceField,
        ModelToolchainField,
        HardwareField,
        RendererField,
        DimensionsField,
        ExpectedInputsField,
        FilenameField,
    )
    help = help_text(
        """
        One ONNX model, compiled into one artifact per hardware, with the part `run`. State is fed back by pairs of an input `X` and
        an output `next_X`.

            onnx_model(
                name="monitoring",
                source=":onnx",
                hardware=parametrize("cpu", "qcom", "chestnut"),
            )

        `./pants package` writes the artifact, its check file and its provenance to dist/.
        """
    )

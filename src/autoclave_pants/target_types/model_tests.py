"""`parity_test` and `reproducibility_test`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional, Union

from pants.core.goals.test import TestTimeoutField
from pants.engine.addresses import Address
from pants.engine.target import (
    COMMON_TARGET_FIELDS,
    BoolField,
    Dependencies,
    DictStringToStringField,
    Field,
    InvalidFieldTypeException,
    MultipleSourcesField,
    OptionalSingleSourceField,
    StringField,
    Target,
)
from pants.util.frozendict import FrozenDict
from pants.util.strutil import help_text

from autoclave_pants.target_types.fields import HARDWARE, HexadecimalField, SingleAddressField


class NoSourcesField(MultipleSourcesField):
    """Pants asks every test target for sources; this one has none of its own."""

    alias = "_sources"
    default = ()
    uses_source_roots = False
    expected_num_files = 0
    help = help_text("Internal: these tests have no source files of their own.")


class TestedModelField(SingleAddressField):
    alias = "model"
    required = True
    help = help_text(
        """
        The model to test, one hardware of it: `":pop223@hardware=cpu"`. The macro `parity_tests(model=":pop223")` declares one test
        for each hardware.
        """
    )


class NumberForHardwareField(Field):
    """A number, or a dictionary with one for each hardware that has another than the default."""

    value: Optional[Union[float, FrozenDict[str, float]]]
    default = None

    @classmethod
    def compute_value(
        cls, raw_value: Optional[Union[float, Mapping[str, float]]], address: Address
    ) -> Optional[Union[float, FrozenDict[str, float]]]:
        value = super().compute_value(raw_value, address)
        numbers = list(value.values()) if isinstance(value, Mapping) else [] if value is None else [value]
        unknown = [name for name in value if name not in HARDWARE] if isinstance(value, Mapping) else []
        if unknown or not all(type(number) in (int, float) and number >= 0 for number in numbers):
            raise InvalidFieldTypeException(
                address,
                cls.alias,
                raw_value,
                expected_type=f"a number from 0 up, or a dictionary of hardware ({', '.join(HARDWARE)}) -> number, like "
                '{"qcom": 0.01}',
            )
        return FrozenDict(value) if isinstance(value, Mapping) else value

    def of(self, hardware: str) -> Optional[float]:
        """The number for one hardware, None if it has the default."""
        return self.value.get(hardware) if isinstance(self.value, FrozenDict) else self.value


class ToleranceField(NumberForHardwareField):
    alias = "tolerance"
    help = help_text(
        """
        The largest error against the reference that passes, for all hardware or, as `{"qcom": 0.01}`, for some. Default: 1e-4 for cpu,
        5e-3 for fp16 hardware. A larger one needs `tolerance_reason`.
        """
    )


class ChangeFractionField(NumberForHardwareField):
    alias = "change_fraction"
    help = help_text(
        """
        On fp16 hardware, the largest error as a fraction of the change that another check frame (seed 43) makes, for all hardware or, as
        `{"qcom": 0.05}`, for some. Default: 0.03. A larger one needs `tolerance_reason`.
        """
    )


class ToleranceReasonField(StringField):
    alias = "tolerance_reason"
    help = help_text(
        """
        Why this model may have a larger error than the default; printed with every result of the hardware that it has one for.
        """
    )


class PinnedOutputsField(DictStringToStringField):
    alias = "pinned_outputs"
    help = help_text(
        """
        sha256 of outputs, by name, that replaying seed 42 must give: `{"outputs": "<64 hex>"}`. The report of a failing test prints the
        hashes that came.
        """
    )


class UnusedInputsField(DictStringToStringField):
    alias = "unused_inputs"
    help = help_text(
        """
        Inputs that the model really does not use, each with the reason: `{"calib": "kept for the interface; see the model's notes"}`. Any
        other input has to change the outputs when it alone changes.
        """
    )


class DeviceRecordingField(OptionalSingleSourceField):
    alias = "device_recording"
    uses_source_roots = False
    expected_file_extensions = (".npz", ".zst")
    help = help_text(
        """
        Outputs that a real device gave for the check inputs (seed 42), a file of this repository: they must come out bit for bit.
        Either an `.npz` with one array for each output, by name (`PART/NAME`, like `1928x1208/img`, if the artifact has several
        parts), and `artifact_sha256` (32 values of uint8: the sha256 of the artifact that ran on the device), or a check file
        (`.zst`) whose recorder is of the kind `device`. A recording of another artifact fails the test: other kernels may compute
        other bits. Give `device_recording_sha256` with it.

            parity_test(
                name="pop223-on-device",
                model=":pop223@hardware=qcom",
                device_recording="recordings/pop223-comma3x.npz",
                device_recording_sha256="...",
            )
        """
    )


class DeviceRecordingSha256Field(HexadecimalField):
    alias = "device_recording_sha256"
    length = 64
    command = "sha256sum FILE"
    help = help_text(
        """
        The sha256 of the file that `device_recording` names, as `sha256sum FILE` prints it: evidence is pinned like a source.
        """
    )


class RequireHardwareEvidenceField(BoolField):
    alias = "require_hardware_evidence"
    default = False
    help = help_text(
        """
        True: refuse a result that rests on rules of the emulator's arithmetic which no recording of a device has confirmed. The
        test then fails as `UNVERIFIED`, with the rules and how many executed instructions follow each: nothing is known to be wrong,
        and the evidence is not there. By default the shares are reported only. On cpu the hardware itself runs, which is evidence enough.
        """
    )


class ParityTestTimeoutField(TestTimeoutField):
    pass


class ParityTestTarget(Target):
    alias = "parity_test"
    core_fields = (
        *COMMON_TARGET_FIELDS,
        Dependencies,
        DeviceRecordingField,
        DeviceRecordingSha256Field,
        TestedModelField,
        ToleranceField,
        ChangeFractionField,
        ToleranceReasonField,
        PinnedOutputsField,
        UnusedInputsField,
        RequireHardwareEvidenceField,
        ParityTestTimeoutField,
    )
    help = help_text(
        """
        Replays a model's check file and requires the same bits, then compares with ONNX Runtime on the graph in fp32.

            parity_test(name="pop223-parity", model=":pop223@hardware=cpu")

        or, for every hardware, `parity_tests(name="pop223-parity", model=":pop223")`. Artifacts for cpu run natively. Those for qcom
        and chestnut run on an emulator, by other host code than they were recorded with, and an interpreter checks samples of every
        kernel. A rung of the ladder that cannot run is a warning that names the reason, never a silent pass; see docs/parity.md.
        """
    )


class ReproducibilityTestTarget(Target):
    alias = "reproducibility_test"
    core_fields = (*COMMON_TARGET_FIELDS, Dependencies, NoSourcesField, TestedModelField, ParityTestTimeoutField)
    help = help_text(
        """
        Compiles a model a second time with another hash seed, user, directory and, where there are two, another kind and version of
        Python, and requires the same bytes. A failure shows, section by section, what differs.
        """
    )

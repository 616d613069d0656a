"""The BUILD vocabulary. Each field's help is its manual page: `./pants help onnx_model`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import ClassVar, Optional, Union

from pants.core.goals.test import TestTimeoutField
from pants.engine.addresses import Address
from pants.engine.internals.parametrize import Parametrize
from pants.engine.target import (
    COMMON_TARGET_FIELDS,
    BoolField,
    Dependencies,
    DictStringToStringField,
    Field,
    IntField,
    InvalidFieldException,
    InvalidFieldTypeException,
    MultipleSourcesField,
    OptionalSingleSourceField,
    SingleSourceField,
    SpecialCasedDependencies,
    StringField,
    StringSequenceField,
    Target,
    ValidNumbers,
)
from pants.util.frozendict import FrozenDict
from pants.util.strutil import help_text

HARDWARE = ("cpu", "qcom", "chestnut")

HEXADECIMAL = frozenset("0123456789abcdef")


class AddressesField(SpecialCasedDependencies):
    """Addresses of other targets; a single address may be written as a plain string."""

    @classmethod
    def compute_value(
        cls, raw_value: Optional[Union[str, Iterable[str]]], address: Address
    ) -> Optional[tuple[str, ...]]:
        return super().compute_value((raw_value,) if isinstance(raw_value, str) else raw_value, address)


class SingleAddressField(AddressesField):
    """Exactly one address of another target."""

    @classmethod
    def compute_value(
        cls, raw_value: Optional[Union[str, Iterable[str]]], address: Address
    ) -> Optional[tuple[str, ...]]:
        value = super().compute_value(raw_value, address)
        if value is not None and len(value) != 1:
            raise InvalidFieldException(
                f"The field `{cls.alias}` of the target {address} takes one address, but names {len(value)}: "
                f"{', '.join(value) or 'none'}. Write it as a string, for example `{cls.alias}=':name'`."
            )
        return value


class HexadecimalField(StringField):
    """A hash, `length` lower-case hexadecimal digits; `command` prints one."""

    length: ClassVar[int]
    command: ClassVar[str]

    @classmethod
    def compute_value(cls, raw_value: Optional[str], address: Address) -> Optional[str]:
        value = super().compute_value(raw_value, address)
        if value is not None and (len(value) != cls.length or set(value) - HEXADECIMAL):
            raise InvalidFieldException(
                f"The field `{cls.alias}` of the target {address} is {value!r}, which is not a {cls.alias}: {cls.length} "
                f"lower-case hexadecimal digits, as `{cls.command}` prints it."
            )
        return value


class Sha256Field(HexadecimalField):
    alias = "sha256"
    length = 64
    command = "sha256sum FILE"
    help = help_text(
        """
        The sha256 of the file, 64 lower-case hexadecimal digits, as `sha256sum FILE` prints it. What comes from a mirror or
        from the address is refused unless it has this hash.
        """
    )


class SizeField(IntField):
    alias = "size"
    valid_numbers = ValidNumbers.positive_only
    help = help_text(
        """
        The size of the file in bytes, as `stat -c %s FILE` prints it. A download is stopped as soon as it is larger.
        """
    )


class UrlField(StringField):
    alias = "url"
    help = help_text(
        """
        Where the file can be had when no mirror has it: `https://...`, `hf://datasets/OWNER/REPO@REVISION/PATH`,
        `hf://buckets/OWNER/BUCKET/PATH` (with `HF_TOKEN` in the environment for what is not public), or `file:///...`.
        A Git LFS pointer found there is resolved; a file that was published in chunks (`NAME.chunkmanifest`) is joined.

        Mirrors (`[autoclave].mirrors` or the environment variable `AUTOCLAVE_MIRRORS`) are asked first, by sha256.
        """
    )


class ProvidesField(StringField):
    alias = "provides"
    value: str
    required = True
    help = help_text(
        """
        What the component is and its version, for people: for example `"LLVM 20.1.8 (llvmlite 0.47.0)"`. Shown by
        `./pants toolchain-info`; never part of an action's key.
        """
    )


class LockFileField(SingleSourceField):
    required = True


# --- Sources -----------------------------------------------------------------------------------------------------------


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
    valid_choices = ("supercombo", "stateful")
    help = help_text(
        """
        The interface to imitate. `supercombo`: fused vision and policy, with the feature history as an input. `stateful`: the same
        with its history inside, as pairs of an input `X` and an output `next_X`.
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
    core_fields = (*COMMON_TARGET_FIELDS, Dependencies, ArchitectureField, ScaleField, SeedField)
    help = help_text(
        """
        A byte-reproducible ONNX model with the interface and the size of a real one, for when its weights cannot be had.
        Artifacts made from it carry `synthetic: true`, which releases and loaders refuse.

            synthetic_onnx(name="onnx", architecture="supercombo", scale="L", seed=223)
        """
    )


# --- Toolchains --------------------------------------------------------------------------------------------------------


class ComponentField(StringField):
    alias = "component"
    value: str
    required = True
    help = help_text(
        """
        The name under which actions see the component: it is mounted at `/toolchain/NAME` in their sandbox. The compiler knows
        `tinygrad`, `llvm`, `mesa`, `comgr`, `numpy` and `zstandard`. A toolchain has at most one component of a name.
        """
    )

    @classmethod
    def compute_value(cls, raw_value: Optional[str], address: Address) -> Optional[str]:
        value = super().compute_value(raw_value, address)
        if value is not None and not re.fullmatch("[A-Za-z0-9_-]+", value):
            raise InvalidFieldException(
                f"The field `component` of the target {address} is {value!r}: it is a folder's name, of letters, digits, _ and -."
            )
        return value


class WheelLockSourceField(LockFileField):
    help = help_text(
        """
        A requirements file with hashes (`NAME==VERSION --hash=sha256:...`), as `autoclave lock wheels` writes it. Only wheels
        count; source distributions are refused.
        """
    )


class WheelLockTarget(Target):
    alias = "wheel_lock"
    core_fields = (*COMMON_TARGET_FIELDS, Dependencies, WheelLockSourceField, ComponentField, ProvidesField)
    help = help_text(
        """
        A toolchain component made of wheels from the package index, locked by hash. The wheels are unpacked, nothing of them is
        run, and what an installer would add (RECORD, scripts) is left out; the component's identity is the sha256 of its
        files' hashes.

            wheel_lock(
                name="llvm-20",
                source="llvm-20.1.8.lock",
                component="llvm",
                provides="LLVM 20.1.8 (llvmlite 0.47.0)",
            )
        """
    )


class DebLockSourceField(LockFileField):
    help = help_text("A list of Debian packages with their sha256, as `autoclave lock debs` writes it.")


class DebLockTarget(Target):
    alias = "deb_lock"
    core_fields = (*COMMON_TARGET_FIELDS, Dependencies, DebLockSourceField, ComponentField, ProvidesField)
    help = help_text(
        """
        A toolchain component made of Debian packages, locked by hash and unpacked without their maintainer scripts. Packages
        come from a mirror (by sha256) or through the Debian package client of this machine.

            deb_lock(
                name="python-3.13",
                source="python-3.13.debs.lock",
                component="python",
                provides="CPython 3.13 of Debian 13",
            )
        """
    )


class PythonVersionsField(StringSequenceField):
    alias = "versions"
    value: tuple[str, ...]
    default = ("3.13", "3.12")
    help = help_text(
        """
        The CPython versions that may serve, best first. The machine's own interpreter of the first version found is used: on
        PATH, then pyenv's, uv's, and what ./pants brought. 3.12 is the oldest that compiles correctly.
        """
    )


class HostPythonTarget(Target):
    alias = "host_python"
    core_fields = (*COMMON_TARGET_FIELDS, Dependencies, PythonVersionsField)
    help = help_text(
        """
        The machine's own CPython as a toolchain's `python`, for where Debian's packages cannot be had. It is bound to a fixed
        path in the sandbox, so that action keys do not depend on where it lives; its version is part of the key.
        """
    )


class ReleaseField(StringField):
    alias = "release"
    help = help_text("The released version, for example `0.14.0`; its wheel is locked by `source`.")


class CommitField(HexadecimalField):
    alias = "commit"
    length = 40
    command = "git rev-parse HEAD"
    help = help_text(
        """
        The commit that `path`, `archive` or `url` holds, 40 hexadecimal digits. It is recorded in the provenance of what is
        built; what counts for identity is the files.
        """
    )


class TinygradLockField(OptionalSingleSourceField):
    help = help_text("With `release`: the requirements file with the wheel's hashes.")


class VendoredPathField(StringField):
    alias = "path"
    help = help_text(
        """
        With `commit`: a directory of this repository, relative to the BUILD file, that holds the tree of that commit (it
        contains the package directory `tinygrad/`).
        """
    )


class ArchiveField(StringField):
    alias = "archive"
    help = help_text(
        """
        With `commit`: a tar archive of that commit, relative to the BUILD file, with `sha256`. Instead of it, `url`, `sha256`
        and `size` name an archive to fetch.
        """
    )


class AdapterField(StringField):
    alias = "adapter"
    help = help_text(
        """
        With `commit`: the release whose internals the commit has, for example `0.14.0`. It chooses the capture adapter; a
        version that no adapter knows is refused. With `release` it is the release itself.
        """
    )


class TinygradSourceTarget(Target):
    alias = "tinygrad_source"
    core_fields = (
        *COMMON_TARGET_FIELDS,
        Dependencies,
        ReleaseField,
        TinygradLockField,
        CommitField,
        VendoredPathField,
        ArchiveField,
        UrlField,
        Sha256Field,
        SizeField,
        AdapterField,
    )
    help = help_text(
        """
        The pinned tinygrad of a generation: a release by its wheel's hash, or a commit by a vendored tree or an archive.

            tinygrad_source(name="tinygrad-0.14.0", release="0.14.0", source="tinygrad-0.14.0.lock")

            tinygrad_source(
                name="pinned",
                commit="0123456789012345678901234567890123456789",
                path="vendored",
                adapter="0.14.0",
            )
        """
    )


class ToolchainPythonField(AddressesField):
    alias = "python"
    required = True
    help = help_text(
        """
        The interpreter of the toolchain: a `deb_lock` or a `host_python`, best first. The first that can be had is used; the
        second is a fallback with a warning. `[autoclave].python` chooses one kind for all.
        """
    )


class ToolchainTinygradField(SingleAddressField):
    alias = "tinygrad"
    help = help_text("The `tinygrad_source` that this toolchain compiles with.")


class ToolchainComponentsField(AddressesField):
    alias = "components"
    help = help_text("The other components: `wheel_lock` and `deb_lock` targets, each under its own component name.")


class ToolchainHipField(AddressesField):
    alias = "hip"
    help = help_text(
        """
        What models with `renderer="hip"` are compiled with, beside `components`: the `deb_lock` of AMD's comgr. For all other models
        it is neither fetched nor part of the toolchain's identity, so a new comgr rebuilds none of them.
        """
    )


class AbsentFlagsField(StringSequenceField):
    alias = "absent_flags"
    help = help_text(
        """
        Flags of the hardware profiles that the pinned tinygrad is known not to have, for example `["TC_MIN_GLOBALS"]`. Any
        other flag that it does not know is an error.
        """
    )


class ToolchainTarget(Target):
    alias = "toolchain"
    core_fields = (
        *COMMON_TARGET_FIELDS,
        Dependencies,
        ToolchainPythonField,
        ToolchainTinygradField,
        ToolchainComponentsField,
        ToolchainHipField,
        AbsentFlagsField,
    )
    help = help_text(
        """
        A set of pinned components that actions run with. Its identity is the set of its components' identities: a model is
        rebuilt exactly when one of them changes. `./pants toolchain-info` prints them.

            toolchain(
                name="tinygrad-0.14",
                python=[":python-3.13", ":python-host"],
                tinygrad="//tinygrad_repo:tinygrad-0.14.0",
                components=[":llvm-20", ":tinymesa", ":numpy"],
                hip=":comgr",
                absent_flags=["TC_MIN_GLOBALS"],
            )
        """
    )


# --- Models ------------------------------------------------------------------------------------------------------------


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


# --- Tests -------------------------------------------------------------------------------------------------------------


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
        Either an `.npz` with one array for each output, by name, and `artifact_sha256` (32 values of uint8: the sha256 of the
        artifact that ran on the device), or a check file (`.zst`) whose recorder is of the kind `device`. A recording of another
        artifact fails the test: other kernels may compute other bits. Give `device_recording_sha256` with it.

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


def targets() -> list[type[Target]]:
    return [
        OnnxFileTarget,
        SyntheticOnnxTarget,
        WheelLockTarget,
        DebLockTarget,
        HostPythonTarget,
        TinygradSourceTarget,
        ToolchainTarget,
        OnnxModelTarget,
        ParityTestTarget,
        ReproducibilityTestTarget,
    ]

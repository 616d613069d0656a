"""What several fields have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Optional, Union

from pants.engine.addresses import Address
from pants.engine.target import (
    IntField,
    InvalidFieldException,
    SingleSourceField,
    SpecialCasedDependencies,
    StringField,
    ValidNumbers,
)
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

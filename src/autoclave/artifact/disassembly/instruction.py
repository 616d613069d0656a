"""One decoded instruction."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instruction:
    """`code` at `offset` bytes from the kernel's start means `text`; `label` names it if something branches to it."""

    offset: int
    code: bytes
    text: str
    label: str | None = None

"""One decoded instruction."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instruction:
    """`code` at `offset` bytes from the kernel's start means `text`; `label` names it if something branches to it.

    pc: where it is, as errors and traces of the GPU's emulator count: instructions of the a630, bytes elsewhere.
    """

    offset: int
    code: bytes
    text: str
    pc: int
    label: str | None = None

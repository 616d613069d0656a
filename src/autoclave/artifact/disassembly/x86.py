"""x86-64 kernels (ELF objects) by capstone."""

from collections.abc import Sequence

import capstone  # type: ignore[import-not-found, import-untyped, unused-ignore]

from autoclave.artifact.disassembly.elf import function_code
from autoclave.artifact.disassembly.instruction import Instruction


def decode(kernels: Sequence[tuple[str, bytes]]) -> list[tuple[Instruction, ...]]:
    """The instructions of each kernel (name and object); bytes that are none are shown as `.byte`."""
    return [_instructions(function_code(code, name)) for name, code in kernels]


def _instructions(code: bytes) -> tuple[Instruction, ...]:
    engine = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    engine.skipdata = True
    return tuple(
        Instruction(found.address, bytes(found.bytes), f"{found.mnemonic} {found.op_str}".rstrip(), found.address)
        for found in engine.disasm(code, 0)
    )

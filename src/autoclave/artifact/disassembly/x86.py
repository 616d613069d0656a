"""x86-64 kernels (ELF objects) by capstone."""

import capstone  # type: ignore[import-not-found, import-untyped, unused-ignore]

from autoclave.artifact.disassembly.elf import function_code
from autoclave.artifact.disassembly.instruction import Instruction


def decode(lib: bytes, name: str) -> tuple[Instruction, ...]:
    """The instructions of function `name` of the object `lib`; bytes that are none are shown as `.byte`."""
    engine = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    engine.skipdata = True
    return tuple(
        Instruction(found.address, bytes(found.bytes), f"{found.mnemonic} {found.op_str}".rstrip())
        for found in engine.disasm(function_code(lib, name), 0)
    )

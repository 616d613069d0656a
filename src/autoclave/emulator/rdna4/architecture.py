"""AMD's gfx1200 (RDNA4) as the emulator's core sees it."""

from autoclave.emulator.architecture import DENORMAL_MODE, Architecture
from autoclave.emulator.jit import HostTarget
from autoclave.emulator.launch import Size3
from autoclave.emulator.rdna4.decoder import decode_kernel
from autoclave.emulator.rdna4.launch import ARCHITECTURE, KernelCode, bind_launch, kernel_code, unpacked_kernel
from autoclave.emulator.rdna4.translator.kernel import translate_kernel
from autoclave.emulator.translator.kernel import KernelIr


def _has_loops(kernel: KernelCode) -> bool:
    instructions = decode_kernel(kernel.code, kernel.name)
    return any(each.target is not None and each.target <= each.pc for each in instructions)


def _translate(
    kernel: KernelCode,
    local_size: Size3,
    image_formats: tuple[str, ...],
    texture_formats: tuple[str, ...],
    target: HostTarget,
) -> KernelIr:
    return translate_kernel(kernel, decode_kernel(kernel.code, kernel.name), local_size, target)


GFX1200 = Architecture(
    name=ARCHITECTURE,
    device="AMD",
    mode=DENORMAL_MODE,
    stored_kernel=kernel_code,
    unpacked_kernel=unpacked_kernel,
    bind_launch=bind_launch,
    has_loops=_has_loops,
    translate=_translate,
    sources=(
        "rdna4/__init__.py",
        "rdna4/architecture.py",
        "rdna4/code_object.py",
        "rdna4/decoder.py",
        "rdna4/encoding/*.py",
        "rdna4/instruction.py",
        "rdna4/launch.py",
        "rdna4/translator/*.py",
    ),
)

"""Qualcomm's Adreno a630 (IR3) as the emulator's core sees it."""

from autoclave.emulator.a630.decoder import decode_kernel
from autoclave.emulator.a630.launch import ARCHITECTURE, KernelCode, bind_launch, kernel_code
from autoclave.emulator.a630.translator.kernel import translate_kernel
from autoclave.emulator.architecture import FLUSHING_MODE, Architecture
from autoclave.emulator.jit import HostTarget
from autoclave.emulator.launch import Size3
from autoclave.emulator.translator.kernel import KernelIr


def _has_loops(kernel: KernelCode) -> bool:
    instructions = decode_kernel(kernel.code, kernel.name)
    return any(each.target is not None and each.target <= 0 for each in instructions)


def _translate(
    kernel: KernelCode,
    local_size: Size3,
    image_formats: tuple[str, ...],
    texture_formats: tuple[str, ...],
    target: HostTarget,
) -> KernelIr:
    instructions = decode_kernel(kernel.code, kernel.name)
    return translate_kernel(kernel, instructions, local_size, image_formats, texture_formats, target)


A630 = Architecture(
    name=ARCHITECTURE,
    device="QCOM",
    mode=FLUSHING_MODE,
    stored_kernel=kernel_code,
    unpacked_kernel=kernel_code,
    bind_launch=bind_launch,
    has_loops=_has_loops,
    translate=_translate,
    sources=(
        "a630/__init__.py",
        "a630/architecture.py",
        "a630/decoder.py",
        "a630/encoding/*.py",
        "a630/instruction.py",
        "a630/launch.py",
        "a630/translator/*.py",
    ),
)

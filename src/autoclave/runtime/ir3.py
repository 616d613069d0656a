"""The binary that tinygrad's QCOM device takes for a kernel, made of the fields that an artifact stores.

It is two C structs of Mesa's, the immediates and the instructions. Only what tinygrad's loader reads is filled in; the structs'
layout is that of the tinygrad in use, so that an artifact does not depend on it.
"""

import struct
from collections.abc import Mapping
from typing import Any

from .errors import FormatError
from .records import Kernel

_ISAM_MODE = "gl"
"""What tinygrad sets up for all kernels of Mesa's."""


def ir3_binary(mesa: Any, kernel: Kernel, code: bytes) -> bytes:
    """The binary of `kernel`, in the structs of `mesa`, tinygrad's module of that name.

    Raises `FormatError` if the kernel's launch fields are not those of an a630 kernel.
    """
    try:
        return _binary(mesa, kernel, kernel.launch, code)
    except (KeyError, TypeError, ValueError, IndexError, struct.error) as error:
        raise FormatError(f"kernel {kernel.name!r}: its launch fields are not an a630's: {error!r}") from error


def _binary(mesa: Any, kernel: Kernel, launch: Mapping[str, Any], code: bytes) -> bytes:
    if launch["isam_mode"] != _ISAM_MODE or launch["constant_demotion"] is not True:
        raise ValueError(f"isam_mode {launch['isam_mode']!r}, constant_demotion {launch['constant_demotion']!r}")
    variant, constants = mesa.struct_ir3_shader_variant(), mesa.struct_ir3_const_state()
    variant.info.size = len(code)
    variant.info.max_reg = launch["full_registers"] - 1
    variant.info.max_half_reg = launch["half_registers"] - 1
    variant.info.double_threadsize = launch["double_threadsize"]
    variant.mergedregs = launch["merged_registers"]
    variant.branchstack = launch["branch_stack"]
    variant.pvtmem_size = launch["private_bytes"]
    variant.shared_size = launch["shared_bytes"]
    variant.constlen = launch["constant_length"]
    variant.cs.work_group_id = launch["work_group_id"]
    variant.cs.local_invocation_id = launch["local_invocation_id"]
    constants.ubo_state.range[0].offset = launch["arguments_offset"]
    constants.allocs.max_const_offset_vec4 = launch["immediates_offset"] // 16
    params = constants.allocs.consts[mesa.IR3_CONST_ALLOC_DRIVER_PARAMS]
    params.offset_vec4 = (launch["driver_params_offset"] or 0) // 16
    params.size_vec4 = launch["driver_params_size"] // 16
    _fill_images(variant, kernel, launch)
    words = launch["immediates"]
    variant.imm_state.count = variant.imm_state.size = len(words)
    return bytes(variant) + bytes(constants) + struct.pack(f"<{len(words)}I", *words) + code


def _fill_images(variant: Any, kernel: Kernel, launch: Mapping[str, Any]) -> None:
    """tinygrad binds images in the order of the signature: those that are written, then the others by `tex_to_image`."""
    images = [place for place, parameter in enumerate(kernel.signature) if parameter.shape]
    written, textures = launch["image_slots"], launch["texture_slots"]
    if images[: len(written)] != written or sorted(textures) != images[len(written) :]:
        raise ValueError(f"image_slots {written} and texture_slots {textures} of images {images}")
    variant.num_uavs = len(images)
    variant.image_mapping.num_tex = len(textures)
    for slot, place in enumerate(textures):
        variant.image_mapping.tex_to_image[slot] = images.index(place) - len(written)

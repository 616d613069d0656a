"""Mesa's IR3 output as plain fields.

tinygrad's "binary" for an a630 is two C structs of Mesa (`ir3_shader_variant`, `ir3_const_state`), the immediates and the
instructions. The structs hold heap pointers and change with Mesa's version, so the artifact stores the instructions and
the fields that a launch needs; `ir3_blob` builds from them what tinygrad's loader (QCOMProgram) reads.
"""

import ctypes
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from tinygrad.runtime.autogen import mesa

from autoclave.artifact.model import Parameter
from autoclave.errors import CompileError


def split_blob(blob: bytes, signature: Sequence[Parameter]) -> tuple[bytes, dict[str, Any]]:
    """The instructions, and the launch fields of docs/artifact-format.md, of one compiled kernel.

    Raises `CompileError` if the kernel uses something that the fields cannot say.
    """
    variant = mesa.struct_ir3_shader_variant.from_buffer_copy(blob)
    constants_at = ctypes.sizeof(variant)
    constants = mesa.struct_ir3_const_state.from_buffer_copy(blob[constants_at:])
    immediates_at = constants_at + ctypes.sizeof(constants)
    code_at = immediates_at + variant.imm_state.count * 4
    code = blob[code_at:]
    if variant.constant_data_size or variant.info.preamble_instrs_count or len(code) != variant.info.size:
        raise CompileError(
            "an a630 kernel has a preamble, constant data or a code size that its header does not give: cannot be stored"
        )
    return code, {
        **_registers(variant),
        **_constants(variant, constants),
        "immediates": list(struct.unpack(f"<{variant.imm_state.count}I", blob[immediates_at:code_at])),
        **_image_slots(variant, signature),
    }


def _registers(variant: Any) -> dict[str, Any]:
    return {
        "branch_stack": variant.branchstack,
        "double_threadsize": bool(variant.info.double_threadsize),
        "full_registers": variant.info.max_reg + 1,
        "half_registers": variant.info.max_half_reg + 1,
        "local_invocation_id": variant.cs.local_invocation_id,
        "merged_registers": bool(variant.mergedregs),
        "private_bytes": variant.pvtmem_size,
        "shared_bytes": variant.shared_size,
        "work_group_id": variant.cs.work_group_id,
    }


def _constants(variant: Any, constants: Any) -> dict[str, Any]:
    driver_params = constants.allocs.consts[mesa.IR3_CONST_ALLOC_DRIVER_PARAMS]
    return {
        "arguments_offset": constants.ubo_state.range[0].offset,
        "constant_length": variant.constlen,
        "driver_params_offset": driver_params.offset_vec4 * 16 if driver_params.size_vec4 else None,
        "driver_params_size": driver_params.size_vec4 * 16,
        "immediates_offset": constants.allocs.max_const_offset_vec4 * 16,
    }


def _image_slots(variant: Any, signature: Sequence[Parameter]) -> dict[str, Any]:
    """Which parameter of the signature is bound to which slot: plain buffers, written images, read images (textures)."""
    images = [index for index, parameter in enumerate(signature) if len(parameter.shape) == 3]
    textures = variant.image_mapping.num_tex
    written = variant.num_uavs - textures
    return {
        "buffer_slots": [index for index, parameter in enumerate(signature) if len(parameter.shape) != 3],
        "image_slots": images[:written],
        "texture_slots": [images[written + variant.image_mapping.tex_to_image[slot]] for slot in range(textures)],
        "constant_demotion": True,
        "isam_mode": "gl",
    }


def ir3_blob(launch: Mapping[str, Any], code: bytes, signature: Sequence[Parameter]) -> bytes:
    """The binary that tinygrad's own loader for the a630 accepts, built from stored fields. It holds no pointers."""
    variant, constants = mesa.struct_ir3_shader_variant(), mesa.struct_ir3_const_state()
    _restore_registers(variant, launch)
    variant.info.size = len(code)
    variant.constlen = launch["constant_length"]
    variant.imm_state.count = variant.imm_state.size = len(launch["immediates"])
    constants.allocs.max_const_offset_vec4 = launch["immediates_offset"] // 16
    constants.ubo_state.range[0].offset = launch["arguments_offset"]
    driver_params = constants.allocs.consts[mesa.IR3_CONST_ALLOC_DRIVER_PARAMS]
    driver_params.offset_vec4 = (launch["driver_params_offset"] or 0) // 16
    driver_params.size_vec4 = launch["driver_params_size"] // 16
    images = [index for index, parameter in enumerate(signature) if len(parameter.shape) == 3]
    written = len(launch["image_slots"])
    variant.num_uavs = written + len(launch["texture_slots"])
    variant.image_mapping.num_tex = len(launch["texture_slots"])
    for slot, parameter in enumerate(launch["texture_slots"]):
        variant.image_mapping.tex_to_image[slot] = images.index(parameter) - written
    immediates = struct.pack(f"<{len(launch['immediates'])}I", *launch["immediates"])
    return bytes(variant) + bytes(constants) + immediates + code


def _restore_registers(variant: Any, launch: Mapping[str, Any]) -> None:
    variant.branchstack = launch["branch_stack"]
    variant.info.double_threadsize = launch["double_threadsize"]
    variant.info.max_reg = launch["full_registers"] - 1
    variant.info.max_half_reg = launch["half_registers"] - 1
    variant.mergedregs = launch["merged_registers"]
    variant.pvtmem_size = launch["private_bytes"]
    variant.shared_size = launch["shared_bytes"]
    variant.cs.local_invocation_id = launch["local_invocation_id"]
    variant.cs.work_group_id = launch["work_group_id"]

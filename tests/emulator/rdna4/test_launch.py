"""What a stored gfx1200 kernel asks for: taken as its descriptor says it, or refused with a reason."""

import struct
from functools import cache
from typing import Any

import numpy as np
import pytest
from artifact.kernel_code import amd_object

from autoclave.compiler.objects import amd_launch
from autoclave.emulator.launch import Bound
from autoclave.emulator.memory import guest_address
from autoclave.emulator.rdna4.launch import KernelCode, bind_launch, kernel_code, unpacked_kernel
from autoclave.errors import ArtifactError

_SOURCE = """
define amdgpu_kernel void @store(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %value) #0 {
  %read = load i32, ptr addrspace(1) %in
  %sum = add i32 %read, %value
  store i32 %sum, ptr addrspace(1) %out
  ret void
}
attributes #0 = { "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id" }
"""
"""Two pointers and a value of 4 bytes: 20 bytes of arguments."""


@cache
def stored() -> tuple[bytes, dict[str, Any]]:
    lib = amd_object(_SOURCE)
    return lib, amd_launch(lib)


def kernel(**changes: object) -> KernelCode:
    lib, launch = stored()
    return kernel_code("store", lib, {**launch, **changes})


def unpacked(**changes: object) -> KernelCode:
    """As `kernel`, without a descriptor that would contradict."""
    found = kernel()
    return unpacked_kernel(found.name, found.code, {**found.launch_fields(), **changes})


def buffer(*values: int) -> Bound:
    return Bound(np.array(values, np.int32).view(np.uint8), (len(values),), "int32")


def test_a_stored_kernel_is_its_code_and_what_its_descriptor_says() -> None:
    lib, launch = stored()

    found = kernel()

    assert found.code == lib[launch["code_offset"] : launch["code_offset"] + launch["code_length"]]
    assert (found.argument_bytes, found.user_registers, found.buffers) == (20, 2, 3)
    assert unpacked_kernel("store", found.code, found.launch_fields()) == found


def test_the_argument_block_is_the_last_buffer_and_its_address_the_first_registers() -> None:
    launch = bind_launch(kernel(), (1, 1, 1), (32, 1, 1), (buffer(0), buffer(4)), (-7,))

    block = launch.buffers[2]
    assert launch.constants == struct.pack("<Q", block.address) == struct.pack("<Q", guest_address(2))
    assert bytes(block.memory) == struct.pack("<QQi12x", guest_address(0), guest_address(1), -7)
    assert not block.memory.flags.writeable


def test_room_for_pointers_that_values_take_is_bound_to_nothing() -> None:
    launch = bind_launch(unpacked(argument_bytes=24), (1, 1, 1), (32, 1, 1), (buffer(0),), (1, 2, 3, 4))

    assert [bound.memory.size for bound in launch.buffers] == [4, 0, 0, 32]


def test_more_arguments_than_the_block_has_room_for_are_refused() -> None:
    with pytest.raises(ArtifactError, match=r"2 arguments and 2 values take 24 bytes; its argument block has 20"):
        bind_launch(kernel(), (1, 1, 1), (32, 1, 1), (buffer(0), buffer(4)), (1, 2))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"code_offset": 1 << 30}, "code_offset"),
        ({"code_length": 1 << 30}, "code_length"),
        ({"code_length": 0}, "0 bytes of code"),
        ({"descriptor_offset": -1}, "descriptor_offset"),
        ({"wave": 64}, "waves of 32 only"),
        ({"shared_bytes": 64}, "shared_bytes is 0x40, its descriptor says 0x0"),
        ({"shared_bytes": 1 << 17}, "expected a number from 0 to 65536"),
        ({"rsrc1": None}, "rsrc1 is None"),
        ({"rsrc1": True}, "rsrc1 is True"),
    ],
)
def test_launch_fields_that_do_not_fit_the_code_object_are_refused(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(ArtifactError, match=reason):
        kernel(**changes)


@pytest.mark.parametrize(
    ("field", "bits", "reason"),
    [
        ("rsrc1", 0xC0 << 12, "float mode 0xc0"),  # halves' denormals flushed
        ("rsrc1", 0xF0 << 12 | 1 << 26, "FP16_OVFL"),
        ("rsrc2", 2 << 1 | 1 << 6, "unknown settings in rsrc2"),  # a trap handler
        ("rsrc2", 2 << 1 | 3 << 11, "layout of thread numbers"),
        ("rsrc2", 4 << 1, "4 scalar registers to be set, its properties name 2"),
        ("properties", 0x8, "waves of 64 lanes"),
        ("properties", 0x40A, "unknown properties 0x40a"),  # a dispatch pointer
    ],
)
def test_what_the_emulator_does_not_know_is_refused(field: str, bits: int, reason: str) -> None:
    with pytest.raises(ArtifactError, match=reason):
        unpacked(**{field: bits})


def test_code_that_refers_to_something_outside_is_refused() -> None:
    lib = amd_object("@other = external addrspace(1) global i32\n" + _SOURCE.replace("(1) %in\n", "(1) @other\n"))
    _, launch = stored()

    with pytest.raises(ArtifactError, match="its code has relocations"):
        kernel_code("store", lib, {**launch, **amd_launch(lib)})


@pytest.mark.parametrize("cut", [0, 3, 16, 63, 64, 100, 500])
def test_a_code_object_that_is_cut_short_is_refused(cut: int) -> None:
    lib, launch = stored()

    with pytest.raises(ArtifactError):
        kernel_code("store", lib[:cut], launch)

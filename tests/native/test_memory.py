"""Executable memory is never writable at once, and buffers lie where they are asked to."""

import ctypes
import mmap
from pathlib import Path

import numpy as np
import pytest
from native.cpu_artifacts import DOUBLE, MULTIPLY, compile_ir

from autoclave.native.elf import load_object
from autoclave.native.memory import CodeMemory, aligned_bytes, release_pages


def permissions(address: int) -> str:
    """What Linux says about the page at `address`: "r-xp"."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, mode, *_ = line.split()
        start, end = (int(word, 16) for word in span.split("-"))
        if start <= address < end:
            return mode
    raise LookupError(hex(address))


def test_code_is_executable_and_not_writable() -> None:
    code = CodeMemory([load_object(compile_ir(DOUBLE), "double"), load_object(compile_ir(MULTIPLY), "multiply")])

    assert [permissions(entry) for entry in code.entries] == ["r-xp", "r-xp"]


def test_placed_kernel_computes() -> None:
    code = CodeMemory([load_object(compile_ir(MULTIPLY), "multiply"), load_object(compile_ir(DOUBLE), "double")])
    out, left, right = (aligned_bytes(32).view(np.float32) for _ in range(3))
    left[:], right[:] = np.arange(8), 0.5

    ctypes.CFUNCTYPE(None)(code.entries[1])(*(ctypes.c_uint64(array.ctypes.data) for array in (out, left, right)))

    assert out.tolist() == [0.75, 2.25, 3.75, 5.25, 6.75, 8.25, 9.75, 11.25]  # (k + 0.5) * 1.5


def test_no_kernels_need_no_code() -> None:
    assert CodeMemory([]).entries == ()


@pytest.mark.parametrize("skew", [0, 64, 192])
def test_buffers_start_where_asked(skew: int) -> None:
    memory = aligned_bytes(1000, skew, fill=0xAB)

    assert memory.ctypes.data % 4096 == skew
    assert memory.size == 1000
    assert set(memory.tolist()) == {0xAB}


def resident(address: int) -> int:
    """Bytes of the mapping at `address` that are in memory."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    for line in lines:
        span = line.split()[0].split("-")
        if len(span) == 2 and int(span[0], 16) <= address < int(span[1], 16):
            return next(int(each.split()[1]) * 1024 for each in lines if each.startswith("Rss:"))
    raise LookupError(hex(address))


def test_released_pages_of_a_file_are_out_of_memory_until_they_are_read_again(tmp_path: Path) -> None:
    content = np.arange(1 << 18, dtype=np.uint32).tobytes()
    (tmp_path / "file").write_bytes(content)
    with (tmp_path / "file").open("rb") as file:
        mapped = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    assert mapped.sum() > 0 and resident(mapped.ctypes.data) == len(content)

    release_pages(mapped[100:])

    assert resident(mapped.ctypes.data) == mmap.PAGESIZE
    assert mapped.tobytes() == content

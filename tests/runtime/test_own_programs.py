"""What tinygrad's own programs, those for the hardware, read out of what the loader hands to them. Only memory is stood in for."""

import ctypes
import itertools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from compiler.compile_action import Compiled

from autoclave.runtime.file import ArtifactFile
from autoclave.runtime.interface import installed_interface
from autoclave.runtime.records import Kernel


class StubDevice:
    """A device without hardware: host memory, and tinygrad's own class of programs. It has no compiler."""

    def __init__(self, program: Any) -> None:
        self.programs: list[Any] = []
        self.memory: list[Any] = []
        self.prof_prg_counter = itertools.count()
        self.device, self.target, self.sqtt_enabled = "STUB", (12, 0, 0), False
        self.iface = SimpleNamespace(props={"lds_size_in_kb": 64})
        self.allocator = SimpleNamespace(alloc=self.allocate, free=lambda *_: None, _copyin=self.copy)
        self._program = program

    @property
    def renderer(self) -> Any:
        raise RuntimeError("no compiler is installed")

    def runtime(self, binary: Any) -> Any:
        self.programs.append(self._program(self, binary))
        return self.programs[-1]

    def allocate(self, size: int, _: Any = None) -> Any:
        self.memory.append(ctypes.create_string_buffer(size))
        return SimpleNamespace(va_addr=ctypes.addressof(self.memory[-1]), size=size)

    def copy(self, destination: Any, source: memoryview) -> None:
        ctypes.memmove(destination.va_addr, bytes(source), len(source))

    def synchronize(self) -> None:
        pass

    def _ensure_stack_size(self, size: int) -> None:
        pass

    def _ensure_has_local_memory(self, size: int) -> None:
        pass


def loaded(path: Path, program: Any) -> list[tuple[Kernel, bytes, Any, Any]]:
    """Each kernel of an artifact, its code, tinygrad's program of it, and the memory that this has filled."""
    result = []
    with ArtifactFile(path) as artifact:
        target = artifact.header.parts[0].target
        for kernel in artifact.header.kernels:
            device, code = StubDevice(program), bytes(artifact.read(kernel.lib))
            installed_interface().program(device, target, kernel, code, 0)
            assert type(device) is StubDevice
            result.append((kernel, code, device.programs[0], device.memory[0].raw))
    return result


def test_a630_programs_have_the_stored_fields_without_mesa(
    compiled: Callable[[str], Compiled], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESA_PATH", "/nonexistent")
    from tinygrad.runtime import ops_qcom

    kernels = loaded(compiled("qcom").artifact, ops_qcom.QCOMProgram)

    for kernel, code, program, memory in kernels:
        launch = kernel.launch
        assert memory == code
        assert program.NIR
        assert (program.fregs, program.hregs) == (launch["full_registers"], launch["half_registers"])
        assert (program.wgid, program.lid) == (launch["work_group_id"], launch["local_invocation_id"])
        assert (program.brnchstck, program.pvtmem, program.shmem) == (
            launch["branch_stack"],
            launch["private_bytes"],
            launch["shared_bytes"],
        )
        assert program.buf_off == launch["arguments_offset"]
        at = launch["immediates_offset"]
        assert program.consts_info == [(word, at + 4 * n, 4) for n, word in enumerate(launch["immediates"])]
        assert (program.tex_cnt, program.ibo_cnt) == (len(launch["texture_slots"]), len(launch["image_slots"]))
        shapes = [shape for _, _, _, shape in program.signature]
        assert [shape for shape in shapes if len(shape) == 3] == [p.shape for p in kernel.signature if p.shape]
    assert any(kernel.launch["texture_slots"] for kernel, *_ in kernels)


def test_gfx1200_programs_have_the_stored_registers(compiled: Callable[[str], Compiled]) -> None:
    from tinygrad.runtime import ops_amd

    kernels = loaded(compiled("chestnut").artifact, ops_amd.AMDProgram)

    for kernel, code, program, memory in kernels:
        launch = kernel.launch
        start = launch["code_offset"]
        assert code[start : start + launch["code_length"]] in memory
        assert (program.rsrc1, program.rsrc3) == (launch["rsrc1"], launch["rsrc3"])
        assert program.rsrc2 & 0x7FFF == launch["rsrc2"] & 0x7FFF
        assert program.kernargs_segment_size == launch["argument_bytes"]
        assert program.group_segment_size == launch["shared_bytes"]
        assert program.private_segment_size == launch["private_bytes"]
        assert program.wave32
    assert kernels

"""Memory that knows where its content came from."""

import pytest

from autoclave.compiler.host_memory import HostMemory
from autoclave.errors import CompileError


def test_what_the_host_wrote_can_be_read() -> None:
    memory = HostMemory(4)
    memory.write(memoryview(b"abcd"))

    assert bytes(memory.read()) == b"abcd"
    assert memory.origin == "host"


def test_a_file_is_not_copied() -> None:
    content = bytearray(b"weights!")
    memory = HostMemory.of_file(memoryview(content))
    content[0:1] = b"W"

    assert bytes(memory.read()) == b"Weights!"
    assert memory.read().readonly
    assert memory.origin == "file"


def test_what_nobody_on_the_host_wrote_cannot_be_read() -> None:
    with pytest.raises(CompileError, match="no kernel runs while compiling"):
        HostMemory(16).read()


def test_a_view_shares_its_content() -> None:
    memory = HostMemory(4)
    view = memory.view(2, 1)
    assert not view.is_known

    memory.write(memoryview(b"abcd"))

    assert bytes(view.read()) == b"bc"


@pytest.mark.parametrize(("nbytes", "offset"), [(3, 2), (1, -1), (5, 0)])
def test_a_view_stays_inside(nbytes: int, offset: int) -> None:
    with pytest.raises(CompileError, match="leaves a buffer of 4 bytes"):
        HostMemory(4).view(nbytes, offset)


def test_a_write_is_whole() -> None:
    with pytest.raises(CompileError, match="writing 3 bytes into 4 bytes"):
        HostMemory(4).write(memoryview(b"abc"))

"""Memory of a device that is not there, which knows where its content came from.

tinygrad's NULL device runs no kernel, so what a kernel "wrote" is not in memory. Code that reads it anyway gets rubbish
without a word; here such a read is an error.
"""

from typing import Literal

from autoclave.errors import CompileError

Origin = Literal["nowhere", "file", "host"]


class HostMemory:
    """`nbytes` of memory. It has content only once somebody on the host put some there.

    A view of a file is kept as it is, without a copy; memory that nobody wrote takes no space.
    """

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.origin: Origin = "nowhere"
        self._content: memoryview | None = None
        self._parent: HostMemory | None = None
        self._offset = 0

    @classmethod
    def of_file(cls, content: memoryview) -> "HostMemory":
        """Memory whose content is `content`, typically a slice of a mapped file. It is not copied."""
        memory = cls(content.nbytes)
        memory._content, memory.origin = content.cast("B"), "file"
        return memory

    def view(self, nbytes: int, offset: int) -> "HostMemory":
        """`nbytes` of this memory from `offset`, which share its content."""
        if offset < 0 or offset + nbytes > self.nbytes:
            raise CompileError(f"a view of {nbytes} bytes at {offset} leaves a buffer of {self.nbytes} bytes")
        part = HostMemory(nbytes)
        part._parent, part._offset = self, offset
        return part

    @property
    def is_known(self) -> bool:
        """Whether the content is known, that is, not (to be) written by a kernel."""
        return self._parent.is_known if self._parent is not None else self._content is not None

    def write(self, source: memoryview) -> None:
        """Copy `source` in. Its size must be that of the memory."""
        if self._parent is not None or source.nbytes != self.nbytes:
            raise CompileError(
                f"writing {source.nbytes} bytes into {self.nbytes} bytes of host memory: expected a whole buffer"
            )
        self._content, self.origin = memoryview(bytes(source)), "host"

    def read(self) -> memoryview:
        """The content, read-only and without a copy.

        Raises `CompileError` if only a kernel wrote it: kernels do not run while a model is compiled.
        """
        if self._parent is not None:
            return self._parent.read()[self._offset : self._offset + self.nbytes]
        if self._content is None:
            raise CompileError(
                f"compiling the model needs the value of {self.nbytes} bytes that a kernel computes, and no kernel runs while compiling; "
                "the ONNX file computes a shape or an index from data: export it with constant shapes"
            )
        return self._content.toreadonly()

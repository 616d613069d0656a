"""A process of its own: compiles tinygrad expressions for the a630 and prints their kernels, a JSON list of hexadecimal.

Usage: a630_kernels.py. The expressions are chosen for the instructions that they need.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from autoclave.compiler.environment import prepare_environment
from autoclave.compiler.profiles import profile_for

Expression = Callable[[Any, Any], Any]

OF_INTEGERS: tuple[Expression, ...] = (
    lambda a, b: a + b * 3,
    lambda a, b: a // (b + 1),
    lambda a, b: a % 7,
    lambda a, b: (a ^ b) & (a | 2),
    lambda a, b: a.maximum(b),
    lambda a, b: (a < b).where(a, 3),
    lambda a, b: a.sum(),
    lambda a, b: a * 8,
    lambda a, b: -a,
)
OF_FLOATS: tuple[Expression, ...] = (
    lambda a, b: a + b * 0.5,
    lambda a, b: a / b,
    lambda a, b: a.sin(),
    lambda a, b: a.exp2(),
    lambda a, b: a.log2(),
    lambda a, b: a.sqrt(),
    lambda a, b: a.abs() - b.neg(),
    lambda a, b: (a == b).where(a, 2.0),
    lambda a, b: (a < b).sum(),
    lambda a, b: a.maximum(0).minimum(1),
    lambda a, b: a.floor(),
    lambda a, b: a.trunc(),
    lambda a, b: a.argmax(),
    lambda a, b: a.cumsum(),
    lambda a, b: a.softmax(),
)
OF_MATRICES: tuple[Expression, ...] = (lambda a, b: a @ b, lambda a, b: a.sum(0), lambda a, b: (a @ b).relu().max(1))
OF_IMAGES: tuple[Expression, ...] = (lambda a, b: a.conv2d(b, padding=1).sigmoid(), lambda a, b: a.max_pool2d())

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
FLOATS = ("half", "float")


def main() -> None:
    prepare_environment(profile_for("qcom"))
    from tinygrad import Tensor
    from tinygrad.runtime.support.compiler_mesa import IR3Compiler

    kernels: set[bytes] = set()
    compile_kernel = IR3Compiler.compile

    def recording_compile(compiler: Any, source: str) -> bytes:
        binary: bytes = compile_kernel(compiler, source)
        kernels.add(bytes(compiler.unpack_lib(binary)[3]))
        return binary

    IR3Compiler.compile = recording_compile
    for tensor in tensors(Tensor):
        tensor.realize()
    print(json.dumps(sorted(code.hex() for code in kernels)))


def tensors(tensor: Any) -> Iterator[Any]:
    """Tensors to compute."""

    def empty(dtype: str, *shapes: tuple[int, ...]) -> list[Any]:
        return [tensor.empty(*shape, dtype=dtype).contiguous() for shape in shapes]

    for dtypes, expressions, shapes in (
        (INTEGERS, OF_INTEGERS, ((40,), (40,))),
        (FLOATS, OF_FLOATS, ((40,), (40,))),
        (FLOATS, OF_MATRICES, ((64, 64), (64, 64))),
        (FLOATS, OF_IMAGES, ((1, 8, 16, 16), (8, 8, 3, 3))),
    ):
        for dtype in dtypes:
            yield from (expression(*empty(dtype, *shapes)) for expression in expressions)
    for dtype in INTEGERS + FLOATS:
        yield from (empty(dtype, (40,))[0].cast(other) for other in INTEGERS + FLOATS if other != dtype)


if __name__ == "__main__":
    main()

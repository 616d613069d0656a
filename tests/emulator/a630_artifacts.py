"""Artifacts for the a630 small enough to calculate by hand, of kernels written instruction by instruction."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from emulator.a630_programs import END, code_of, ins, kernel_of, load, mov, store

from autoclave.artifact.model import Argument, Buffer, Call, Copy, Header, Kernel, Parameter, Part, Program, Target
from autoclave.artifact.model import TensorSpec as Spec
from autoclave.artifact.writer import ArtifactWriter
from autoclave.emulator.a630.instruction import Instruction
from autoclave.emulator.a630.launch import KernelCode

A630 = Target("QCOM", "IR3", "a630,IMAGE_PITCH_ALIGNMENT=64")
WEIGHTS = np.arange(1, 9, dtype=np.float32) / 4
SIZE = 8
THREADS = 4
"""Threads of a workgroup; two workgroups make `SIZE`."""

ELEMENT = [
    ins("shl.b", "r1.x", "r48.x", 2),
    ins("add.u", "r1.x", "r1.x", "r0.x"),
    ins("shl.b", "r2.x", "r1.x", 2),
    mov("r2.y", "c0.y"),
    mov("r3.x", "r2.x"),
    mov("r3.y", "c0.w"),
    load("ldg", "r4.x", "r3.x", "f32"),
]
"""r1.x: the element; r2.xy: its address in the first buffer, r3.xy in the second; r4.x: what is there. Addresses of buffers
have zeros in their low words, and lie in c0.xy, c0.zw and c1.xy."""

RIGHT = [mov("r3.y", "c1.y"), load("ldg", "r4.y", "r3.x", "f32")]
"""r4.y: the element of the third buffer."""

STORE = [store("stg", "r2.x", "r5.x", "f32"), END]

DOUBLE = [
    *ELEMENT,
    *RIGHT,
    ins("add.f", "r5.x", "r4.x", "r4.y"),
    mov("r5.y", 0x3FC00000, "u32"),
    ins("mul.f", "r5.x", "r5.x", "r5.y"),
    *STORE,
]
"""out = (a + b) * 1.5"""

MULTIPLY = [*ELEMENT, *RIGHT, ins("mul.f", "r5.x", "r4.x", "r4.y"), *STORE]
"""out = a * b"""

ADD_BYTES = [
    *ELEMENT,
    mov("r3.x", "r1.x"),
    mov("r3.y", "c1.y"),
    load("ldg", "hr0.x", "r3.x", "u8"),
    ins("cov", "r4.y", "hr0.x", source_type="u16", type="f32"),
    ins("add.f", "r5.x", "r4.x", "r4.y"),
    *STORE,
]
"""out = a + uint8 b"""

FOREVER = [*ELEMENT, ins("jump", target=0), END]
"""An endless loop."""

ASTRAY = [*ELEMENT, mov("r2.y", 0x7777), mov("r5.x", "r4.x"), *STORE]
"""Writes to an address that no buffer has."""


DTYPES = {
    "double": ("float32", "float32", "float32"),
    "multiply": ("float32", "float32", "float32"),
    "add_bytes": ("float32", "float32", "uint8"),
}
"""Of the parameters of each kernel."""


def launch_fields(kernel: KernelCode) -> dict[str, Any]:
    """The launch fields of a kernel, as artifacts store them."""
    fields = {name: getattr(kernel, name) for name in KernelCode.__dataclass_fields__ if name not in ("name", "code")}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}


def write_artifact(
    path: Path,
    last: Sequence[Instruction] | bytes = ADD_BYTES,
    weights: np.ndarray = WEIGHTS,
    name: str = "add_bytes",
    keys: Sequence[str | tuple[int, int]] = ("run",),
    **changes: Any,
) -> str:
    """Write an artifact with the part "run", or such parts of other `keys`: result = x * 3 * WEIGHTS + pixels. Returns its sha256.

    It uses all kinds of buffers and calls: `init` makes 3 * WEIGHTS once, `calls` multiplies into the arena, copies within
    it, and adds. `last` is the last kernel's code, `name` its name, and `changes` are of the launch fields of all.
    """
    with ArtifactWriter(path) as writer:
        constant = writer.add_weight(weights)
        kernels = tuple(
            Kernel(
                name=kernel_name,
                renderer="IR3",
                lib=writer.add_blob(code if isinstance(code, bytes) else code_of(code)),
                signature=tuple(Parameter(f"data{slot}", slot, dtype) for slot, dtype in enumerate(dtypes)),
                globals=(0, 1, 2),
                outs=(0,),
                ins=(1, 2),
                launch=launch_fields(kernel_of(b"\0" * 8, buffer_slots=(0, 1, 2))) | changes,
            )
            for kernel_name, code, dtypes in (
                ("double", DOUBLE, DTYPES["double"]),
                ("multiply", MULTIPLY, DTYPES["multiply"]),
                (name, last, DTYPES["add_bytes"]),
            )
        )
        parts = tuple(replace(model_part(constant, A630), key=key) for key in keys)
        return writer.finish(Header({"synthetic": True}, kernels, parts))


def model_part(constant: Any, target: Target) -> Part:
    """The part "run", for the GPU of `target`."""
    floats = SIZE * 4
    buffers = (
        Buffer("input", floats, name="x"),
        Buffer("input", SIZE, name="pixels"),
        Buffer("constant", floats, data=constant, name="weights"),
        Buffer("persistent", floats),
        Buffer("arena", 256),
        Buffer("output", floats, name="result"),
    )
    x, weight, tripled, result = (Argument(number, 0, floats, "float32") for number in (0, 2, 3, 5))
    pixels = Argument(1, 0, SIZE, "uint8")
    product, copied = Argument(4, 0, floats, "float32"), Argument(4, 128, floats, "float32")
    return Part(
        key="run",
        target=target,
        inputs=(Spec("pixels", (SIZE,), "uint8", 1), Spec("x", (2, 4), "float32", 0)),
        outputs=(Spec("result", (2, 4), "float32", 5),),
        buffers=buffers,
        init=(_launch(0, tripled, weight, weight),),
        calls=(_launch(1, product, x, tripled), Copy(copied, product), _launch(2, result, copied, pixels)),
    )


def _launch(kernel: int, *arguments: Argument) -> Call:
    return Program(kernel, (SIZE // THREADS, 1, 1), (THREADS, 1, 1), arguments)


def expected_result(x: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """What `write_artifact`'s part gives, by numpy: every step is exact or correctly rounded, so bit for bit."""
    tripled = (WEIGHTS + WEIGHTS) * np.float32(1.5)
    return ((x.reshape(-1) * tripled) + pixels.astype(np.float32)).reshape(2, 4)


def example_inputs() -> dict[str, np.ndarray]:
    """Inputs for `write_artifact`'s part."""
    return {
        "x": np.linspace(-1, 1, SIZE, dtype=np.float32).reshape(2, 4),
        "pixels": np.arange(0, 256, 32, dtype=np.uint8),
    }

"""A CPU artifact like a driving model's with a queue kept by the warps, small enough to calculate by hand."""

from pathlib import Path

import numpy as np
from native.cpu_artifacts import ADD_BYTES, CPU, MULTIPLY, SIZE, WEIGHTS, compile_ir

from autoclave.artifact.model import Argument, Buffer, Call, Copy, Header, Kernel, Parameter, Part, Program, Span
from autoclave.artifact.model import TensorSpec as Spec
from autoclave.artifact.writer import ArtifactWriter

NBYTES = SIZE * 4
CAMERAS = ((64, 32), (32, 16))


def write_driving_artifact(path: Path) -> None:
    """Two warps, next_q = q + frame, and run_policy, outputs = q * x * WEIGHTS; the warps' next_q is the state q of all."""
    with ArtifactWriter(path) as writer:
        constant = writer.add_weight(WEIGHTS)
        unused = writer.add_weight(WEIGHTS + 1)
        kernels = tuple(
            Kernel(
                name=name,
                renderer="LLVM",
                lib=writer.add_blob(compile_ir(source)),
                signature=tuple(Parameter(f"data{slot}", slot, "float32") for slot in range(3)),
                globals=(0, 1, 2),
                outs=(0,),
                ins=(1, 2),
            )
            for name, source in (("add_bytes", ADD_BYTES), ("multiply", MULTIPLY))
        )
        metadata = {"synthetic": False, "state": [["q", "next_q"]]}
        parts = (_policy(constant, unused), *(_warp(camera, constant) for camera in CAMERAS))
        writer.finish(Header(metadata, kernels, parts))


def _policy(constant: Span, unused: Span) -> Part:
    return Part(
        key="run_policy",
        target=CPU,
        inputs=(Spec("q", (SIZE,), "float32", 0), Spec("x", (SIZE,), "float32", 1)),
        outputs=(Spec("outputs", (1, SIZE), "float32", 5),),
        buffers=(
            Buffer("input", NBYTES, name="q"),
            Buffer("input", NBYTES, name="x"),
            Buffer("constant", NBYTES, data=constant),
            Buffer("constant", NBYTES, data=unused),
            Buffer("arena", NBYTES),
            Buffer("output", NBYTES),
            Buffer("persistent", NBYTES),
        ),
        init=(Copy(_floats(6), _floats(3)),),
        calls=(_launch(1, 4, 0, 1), _launch(1, 5, 4, 2)),
    )


def _warp(camera: tuple[int, int], constant: Span) -> Part:
    return Part(
        key=camera,
        target=CPU,
        inputs=(Spec("frame", (SIZE,), "uint8", 1), Spec("q", (SIZE,), "float32", 0)),
        outputs=(Spec("next_q", (SIZE,), "float32", 2), Spec("weights", (SIZE,), "float32", 3)),
        buffers=(
            Buffer("input", NBYTES, name="q"),
            Buffer("input", SIZE, name="frame"),
            Buffer("output", NBYTES),
            Buffer("output", NBYTES),
            Buffer("constant", NBYTES, data=constant),
        ),
        init=(),
        calls=(_launch(0, 2, 0, 1, bytes_last=True), Copy(_floats(3), _floats(4))),
    )


def _floats(buffer: int) -> Argument:
    return Argument(buffer, 0, NBYTES, "float32")


def _launch(kernel: int, out: int, left: int, right: int, bytes_last: bool = False) -> Call:
    last = Argument(right, 0, SIZE, "uint8") if bytes_last else _floats(right)
    return Program(kernel, (1, 1, 1), (1, 1, 1), (_floats(out), _floats(left), last))


def frame(number: int) -> np.ndarray:
    """The camera's frame of that number."""
    return np.arange(number, number + SIZE, dtype=np.uint8)

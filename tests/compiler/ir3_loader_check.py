"""A process of its own: compiles a model for the a630 and loads every kernel twice with tinygrad's own QCOMProgram, once from
Mesa's binary and once from the binary that is rebuilt from the stored fields.

Usage: ir3_loader_check.py MODEL. Prints a JSON list with, for each kernel, its name and what the two loads disagree about.
"""

import ctypes
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from autoclave.artifact.model import Parameter
from autoclave.compiler.adapters import load_adapter
from autoclave.compiler.environment import prepare_environment
from autoclave.compiler.profiles import profile_for


def main(model: Path) -> None:
    profile = profile_for("qcom")
    prepare_environment(profile)
    adapter = load_adapter("0.14.0")
    from autoclave.compiler.renderers import ir3

    binaries: list[tuple[bytes, tuple[Parameter, ...]]] = []
    split = ir3.split_blob

    def recording_split(blob: bytes, signature: tuple[Parameter, ...]) -> tuple[bytes, dict[str, Any]]:
        binaries.append((blob, signature))
        return split(blob, signature)

    ir3.split_blob = recording_split  # type: ignore[assignment]
    adapter.capture(model, profile, {}, lambda message: None)
    ir3.split_blob = split
    print(json.dumps([compare(blob, signature) for blob, signature in binaries]))


def compare(blob: bytes, signature: tuple[Parameter, ...]) -> dict[str, Any]:
    from autoclave.compiler.renderers import ir3

    code, launch = ir3.split_blob(blob, signature)
    rebuilt = ir3.ir3_blob(json.loads(json.dumps(launch)), code, signature)
    expected, actual = load(blob, signature), load(rebuilt, signature)
    differing = sorted(name for name in expected if expected[name] != actual.get(name))
    return {"differing": differing, "names": sorted(expected)}


def load(blob: bytes, signature: tuple[Parameter, ...]) -> dict[str, Any]:
    """Everything that tinygrad's loader reads out of a binary, with the device's addresses left out."""
    from tinygrad.dtype import dtypes
    from tinygrad.helpers import Target
    from tinygrad.renderer.nir import IR3Renderer
    from tinygrad.runtime import ops_qcom

    memory: list[Any] = []

    def alloc(size: int, spec: Any = None) -> Any:
        memory.append(ctypes.create_string_buffer(size))
        return SimpleNamespace(va_addr=ctypes.addressof(memory[-1]), size=size)

    device = SimpleNamespace(
        renderer=IR3Renderer.__new__(IR3Renderer),
        allocator=SimpleNamespace(alloc=alloc, free=lambda *arguments: None),
        _ensure_stack_size=lambda size: None,
    )
    kinds = {"float16": dtypes.half, "float32": dtypes.float}
    described = tuple((p.name, p.slot, kinds.get(p.dtype, dtypes.uint8), p.shape) for p in signature)
    program = ops_qcom.QCOMProgram.__new__(ops_qcom.QCOMProgram)
    ops_qcom.HCQProgram.__init__ = lambda self, *arguments, **options: None
    program.__init__(device, SimpleNamespace(lib=blob, name="kernel", signature=described, target=Target()))
    seen = {name: value for name, value in vars(program).items() if name not in ("dev", "lib_gpu")}
    # The loader copies all 32 entries of the texture map, and reads as many as there are textures.
    seen["tex_to_image"] = list(seen["tex_to_image"][: seen["tex_cnt"]])
    return {**seen, "gpu_code": memory[0].raw}


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""ONNX files as tensors of tinygrad 0.14: weights are views of the file, outputs unevaluated."""

import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinygrad.dtype import DType, dtypes
from tinygrad.helpers import Context
from tinygrad.nn import onnx as tinygrad_onnx
from tinygrad.nn.onnx import OnnxRunner
from tinygrad.tensor import Tensor
from tinygrad.uop.ops import Ops, UOp

from autoclave.compiler.adapters.tinygrad_0_14_buffers import DEVICE, known_content, unknown_buffer
from autoclave.compiler.adapters.tinygrad_0_14_onnx import MappedParser, unsupported_operators
from autoclave.errors import CompileError, SourceError
from autoclave.source.onnx_scanner import scan_model

# tinygrad's own interpreter of kernels, in Python: for the few shapes that an ONNX file computes.
_INTERPRETER = "PYTHON"
_PLAIN_SETTINGS = {"IMAGE": 0, "FLOAT16": 0, "NOLOCALS": 0, "OPENPILOT_HACKS": 0, "TC": 0}


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """tinygrad's runner for a model, the buffers of its initialisers with their names, in their order, and the outputs'
    declared types.
    """

    runner: OnnxRunner
    weights: Mapping[UOp, str]
    output_types: Mapping[str, DType]


def load_model(model: Path) -> LoadedModel:
    """Read the ONNX file `model`. Raises `SourceError` for what is wrong with it."""
    tinygrad_onnx._to_python_const = _host_constant
    _refuse_unknown_operators(model)
    parser = MappedParser(_mapped(model))
    try:
        graph = parser.parse()["graph"]
    except (EOFError, ValueError, KeyError, AssertionError, UnicodeDecodeError) as error:
        raise SourceError(f"{model.name} is not an ONNX file that can be read: {error}") from error
    runner = OnnxRunner.__new__(OnnxRunner)
    runner._init_from_graph(graph)
    initialisers = (tensor["name"] for tensor in graph["initializer"])
    weights = {parser.weights[name]: name for name in initialisers if name in parser.weights}
    output_types = {value["name"]: value["parsed_type"].dtype for value in graph["output"] if value["parsed_type"]}
    return LoadedModel(runner, weights, output_types)


def input_tensors(model: LoadedModel, dimensions: Mapping[str, int]) -> dict[str, Tensor]:
    """A tensor without content for each of the graph's inputs; `dimensions` are the sizes of named axes."""
    return {name: _input_tensor(name, value, dimensions) for name, value in model.runner.graph_inputs.items()}


def trace(model: LoadedModel, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The graph's outputs as unevaluated tensors of their declared types.

    tinygrad's image convolutions give float32 whatever their inputs are, so a float16 output would change its type.
    """
    try:
        results = model.runner(dict(inputs))
    except (SourceError, CompileError):
        raise
    except NotImplementedError as error:
        raise SourceError(
            f"the model uses an operator in a way that the toolchain's tinygrad does not know: {error}"
        ) from error
    except (AssertionError, RuntimeError, ValueError, TypeError, IndexError, KeyError) as error:
        raise CompileError(f"tinygrad cannot trace the model: {type(error).__name__}: {error}") from error
    model.runner.graph_values.clear()
    return {name: result.cast(model.output_types.get(name, result.dtype)) for name, result in results.items()}


def _mapped(model: Path) -> memoryview:
    """The file's content, read-only; the mapping lives as long as a view of it does."""
    try:
        with model.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise SourceError(f"{model.name} cannot be read as an ONNX file: {error}") from error


def _refuse_unknown_operators(model: Path) -> None:
    """Before tinygrad reads the file, because it stops at the first domain that it does not know."""
    unknown = unsupported_operators(scan_model(model))
    if unknown:
        listing = ", ".join(f"{label} in {count} nodes" for label, count in sorted(unknown.items()))
        raise SourceError(f"{model.name} uses operators that the toolchain's tinygrad does not have: {listing}")


def _input_tensor(name: str, value: Any, dimensions: Mapping[str, int]) -> Tensor:
    if value is None or value.is_sequence or value.is_optional:
        raise SourceError(f"input {name!r} is not a plain tensor: sequences and optional inputs cannot be compiled")
    shape: list[int] = []
    for axis, size in enumerate(value.shape):
        if isinstance(size, str) and size not in dimensions:
            raise SourceError(
                f"input {name!r} has the named axis {size!r} (axis {axis}) without a size: give it in dimensions={{{size!r}: ...}}"
            )
        if not isinstance(size, str) and not size:
            raise SourceError(
                f"input {name!r} has no size for axis {axis}, and no name that dimensions= could give one to"
            )
        shape.append(dimensions[size] if isinstance(size, str) else size)
    count = 1
    for size in shape:
        count *= size
    return Tensor(unknown_buffer(count, value.dtype)).reshape(tuple(shape))


def _host_constant(tensor: Tensor) -> Any:
    """The value of a shape or an index, computed by tinygrad's interpreter if the ONNX file computes it.

    Replaces `_to_python_const` of tinygrad's ONNX reader, which would run a kernel on the device.
    """
    with Context(**_PLAIN_SETTINGS):
        value = _on_interpreter(tensor)
        return value.data().tobytes() if value.dtype == dtypes.uint8 else value.tolist()


def _on_interpreter(tensor: Tensor) -> Tensor:
    replaced: dict[UOp, UOp] = {}
    for uop in tensor.uop.toposort():
        if uop.op is Ops.COPY and uop.arg == DEVICE:
            replaced[uop] = uop.src[0]
        elif uop.op is Ops.BUFFER and uop.device == DEVICE:
            replaced[uop] = _interpreter_buffer(uop)
    uop = tensor.uop.substitute(replaced)
    return Tensor(uop).clone(_INTERPRETER) if uop.device is None else Tensor(uop)


def _interpreter_buffer(buffer: UOp) -> UOp:
    content = known_content(buffer)
    if content is None:
        raise SourceError(
            "the model uses the value of an input as a shape or an index, so its kernels would depend on the data: "
            "export it with constant shapes"
        )
    copy = UOp.new_buffer(_INTERPRETER, buffer.max_numel(), buffer.dtype)
    copy.buffer.allocate(memoryview(bytearray(content)))
    return copy

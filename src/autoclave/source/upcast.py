"""Turn a half-precision model into a single-precision one: `python -m autoclave.source.upcast request.json`.

The request is `{"model": path, "output": path, "report": path}`. Every float16 of the graph becomes float32:
initialisers, inputs, outputs, value infos, constants, the targets of casts, and the same in subgraphs and functions.
The weights' values do not change, since every float16 is a float32; the arithmetic between them does. The CPU variant
is compiled from this graph, and the reference runs use it.

A model without float16 comes out byte for byte as it came in, so that nothing after this step is done again.
"""

import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, numpy_helper

from autoclave.canonical import canonical_json
from autoclave.errors import SourceError
from autoclave.source.onnx_scanner import ModelSummary, scan_model
from autoclave.source.request_file import run_action

MAX_PROTOBUF_BYTES = 2**31 - 1

DTYPE_ATTRIBUTES = {
    "Cast": "to",
    "ConcatFromSequence": "dtype",
    "EyeLike": "dtype",
    "Multinomial": "dtype",
    "RandomNormal": "dtype",
    "RandomNormalLike": "dtype",
    "RandomUniform": "dtype",
    "RandomUniformLike": "dtype",
    "Bernoulli": "dtype",
    "SequenceEmpty": "dtype",
    "BlackmanWindow": "output_datatype",
    "HammingWindow": "output_datatype",
    "HannWindow": "output_datatype",
    "MelWeightMatrix": "output_datatype",
    "QuantizeLinear": "output_dtype",
    "DequantizeLinear": "output_dtype",
    "LayerNormalization": "stash_type",
    "RMSNormalization": "stash_type",
    "GroupNormalization": "stash_type",
}
"""Operator -> its attribute that holds an ONNX data type."""


def upcast_model(model: ModelProto) -> dict[str, int]:
    """Replace float16 by float32 everywhere in `model`, in place.

    Returns how many of what were changed: keys `initialisers`, `attribute_tensors`, `types`, `dtype_attributes`. An
    empty dict means that the model has no float16 and was not touched.
    """
    changes: Counter[str] = Counter()
    _upcast_graph(model.graph, changes)
    for function in model.functions:
        _upcast_function(function, changes)
    return dict(changes)


def upcast_file(source: Path, output: Path) -> dict[str, int]:
    """Write the single-precision form of the model `source` to `output`; returns what `upcast_model` returns.

    Raises `SourceError` if `source` is not an ONNX model, its half-precision tensors lie outside of it, or the result would
    be larger than protobuf allows.
    """
    _check_size(source, scan_model(source))
    try:
        model = onnx.load_model(str(source), load_external_data=False)
    except Exception as error:  # protobuf's own, for damage where the scanner does not look
        raise SourceError(f"{source}: damaged, or not an ONNX model: {error}") from error
    changes = upcast_model(model)
    output.parent.mkdir(parents=True, exist_ok=True)
    if changes:
        output.write_bytes(model.SerializeToString(deterministic=True))
    else:
        shutil.copyfile(source, output)
    return changes


def _check_size(source: Path, summary: ModelSummary) -> None:
    """Refuse what would not fit into one protobuf message after its half-precision weights have doubled."""
    weights = (*summary.initializers, *summary.subgraph_initializers)
    size = summary.size + sum(weight.nbytes for weight in weights if weight.dtype == "float16")
    if size > MAX_PROTOBUF_BYTES:
        raise SourceError(
            f"{source}: in float32 it would have {size} bytes, more than the {MAX_PROTOBUF_BYTES} of an ONNX file: "
            "it can be neither compiled for cpu nor compared with ONNX Runtime as one file"
        )


def _upcast_graph(graph: GraphProto, changes: Counter[str]) -> None:
    for tensor in (*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)):
        changes.update(initialisers=_upcast_tensor(tensor))
    for value in (*graph.input, *graph.output, *graph.value_info):
        changes.update(types=_upcast_type(value.type))
    _upcast_nodes(graph.node, changes)
    _drop_zeros(changes)


def _upcast_function(function: FunctionProto, changes: Counter[str]) -> None:
    for value in function.value_info:
        changes.update(types=_upcast_type(value.type))
    for attribute in function.attribute_proto:
        _upcast_attribute(attribute, changes)
    _upcast_nodes(function.node, changes)
    _drop_zeros(changes)


def _upcast_nodes(nodes: Iterable[NodeProto], changes: Counter[str]) -> None:
    for node in nodes:
        for attribute in node.attribute:
            _upcast_attribute(attribute, changes)
            if DTYPE_ATTRIBUTES.get(node.op_type) == attribute.name and attribute.i == TensorProto.FLOAT16:
                attribute.i = TensorProto.FLOAT
                changes.update(dtype_attributes=1)


def _upcast_attribute(attribute: AttributeProto, changes: Counter[str]) -> None:
    tensors = [*attribute.tensors, *(sparse.values for sparse in attribute.sparse_tensors)]
    if attribute.HasField("t"):
        tensors.append(attribute.t)
    if attribute.HasField("sparse_tensor"):
        tensors.append(attribute.sparse_tensor.values)
    for tensor in tensors:
        changes.update(attribute_tensors=_upcast_tensor(tensor))
    types = [*attribute.type_protos, *([attribute.tp] if attribute.HasField("tp") else [])]
    for value_type in types:
        changes.update(types=_upcast_type(value_type))
    for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
        _upcast_graph(graph, changes)


def _upcast_tensor(tensor: TensorProto) -> bool:
    """Rewrite a float16 tensor as float32 raw data; say whether it was one."""
    if tensor.data_type != TensorProto.FLOAT16:
        return False
    if tensor.data_location == TensorProto.EXTERNAL:
        raise SourceError(
            f"tensor {tensor.name!r} lies in another file, but a model must be one file: save it with its data inside"
        )
    values = numpy_helper.to_array(tensor).astype("<f4")
    tensor.ClearField("int32_data")
    tensor.data_type = TensorProto.FLOAT
    tensor.raw_data = np.ascontiguousarray(values).tobytes()
    return True


def _upcast_type(value: TypeProto) -> bool:
    """Rewrite every float16 inside a type; say whether there was one."""
    kind = value.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        tensor = getattr(value, kind)
        found = bool(tensor.elem_type == TensorProto.FLOAT16)
        if found:
            tensor.elem_type = TensorProto.FLOAT
        return found
    if kind in ("sequence_type", "optional_type"):
        return _upcast_type(getattr(value, kind).elem_type)
    return _upcast_type(value.map_type.value_type) if kind == "map_type" else False


def _drop_zeros(changes: Counter[str]) -> None:
    for key in [key for key, count in changes.items() if not count]:
        del changes[key]


def run(request: Mapping[str, Any]) -> None:
    """Upcast the model of `request` and write what changed."""
    changes = upcast_file(Path(request["model"]), Path(request["output"]))
    report = Path(request["report"])
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_bytes(canonical_json({"changed": changes}))


if __name__ == "__main__":
    sys.exit(run_action("autoclave.source.upcast", sys.argv[1:], ("model", "output", "report"), run))

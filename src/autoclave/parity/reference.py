"""Reference outputs by ONNX Runtime: `python -m autoclave.parity.reference request.json`.

The request is `{"reference_model": fp32 ONNX, "check": check file, "part": key, "output": path.npz}`. The .npz file
gets each output twice, as "42/NAME" for the check inputs and as "43/NAME" for those of the next seed.

ONNX Runtime computes the graph as it is written: its CPU provider, one thread, no graph optimisation. Half-precision
inputs are upcast, which is exact.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from autoclave.artifact.model import TensorSpec
from autoclave.errors import AutoclaveError
from autoclave.native.model import Array, Tensors
from autoclave.native.request import part_key, read_request
from autoclave.native.tensor_files import write_tensors
from autoclave.parity.check_file import PartCheck, read_check
from autoclave.parity.inputs import check_input

_DTYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    "tensor(bool)": "bool",
    **{f"tensor({name})": name for name in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")},
}


class ReferenceModel:
    """An ONNX model in ONNX Runtime. Raises `AutoclaveError` if it cannot be loaded."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._session = _session(path)

    @property
    def input_shapes(self) -> dict[str, tuple[int, ...]]:
        """By name; -1 for an axis without a size."""
        entries = self._session.get_inputs()
        return {each.name: tuple(size if isinstance(size, int) else -1 for size in each.shape) for each in entries}

    def run(self, inputs: Tensors) -> Tensors:
        """All outputs for `inputs`, which have to be exactly the model's. Raises `AutoclaveError` if they are not."""
        return _run(self._session, self._path, inputs)


def reference_outputs(model: Path, check: PartCheck) -> tuple[Tensors, Tensors]:
    """What ONNX Runtime gives for the inputs of `check`, and for those of the next seed.

    Raises `AutoclaveError` if the model cannot be loaded or its inputs are not those of `check`.
    """
    reference = ReferenceModel(model)
    return reference.run(check.inputs), reference.run(next_inputs(check))


def next_inputs(check: PartCheck) -> Tensors:
    """The inputs that the next seed gives."""
    return {name: check_input(_spec(name, tensor), check.seed + 1) for name, tensor in check.inputs.items()}


def write_references(path: Path, seed: int, outputs: Tensors, varied: Tensors) -> None:
    """Keep both results of `reference_outputs` in the .npz file at `path`."""
    named = {f"{seed}/{name}": tensor for name, tensor in outputs.items()}
    named |= {f"{seed + 1}/{name}": tensor for name, tensor in varied.items()}
    write_tensors(path, named)


def _session(model: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.use_deterministic_compute = True
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no common base below Exception
        raise AutoclaveError(f"loading the reference model {model} in ONNX Runtime: {error}") from error


def _run(session: Any, model: Path, inputs: Tensors) -> Tensors:
    wanted = {entry.name: entry.type for entry in session.get_inputs()}
    if set(wanted) != set(inputs):
        raise AutoclaveError(
            f"running the reference model {model}: its inputs are {', '.join(sorted(wanted))}, "
            f"the artifact's are {', '.join(sorted(inputs))}; use the ONNX that the artifact was built from"
        )
    fed = {name: _converted(inputs[name], kind, name) for name, kind in wanted.items()}
    names = [entry.name for entry in session.get_outputs()]
    try:
        results = session.run(names, fed)
    except Exception as error:  # as above
        raise AutoclaveError(f"running the reference model {model} in ONNX Runtime: {error}") from error
    return {name: np.asarray(result) for name, result in zip(names, results, strict=True)}


def _converted(tensor: Array, kind: str, name: str) -> Array:
    if kind not in _DTYPES:
        raise AutoclaveError(f"the reference model's input {name!r} is a {kind}, which no artifact has")
    return np.ascontiguousarray(tensor.astype(_DTYPES[kind]))


def _spec(name: str, tensor: Array) -> TensorSpec:
    return TensorSpec(name, tensor.shape, tensor.dtype.name, buffer=0)


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    try:
        request = read_request(arguments, "autoclave.parity.reference")
        check = read_check(Path(request["check"])).part(part_key(request.get("part", "run")))
        outputs, varied = reference_outputs(Path(request["reference_model"]), check)
        write_references(Path(request["output"]), check.seed, outputs, varied)
    except AutoclaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

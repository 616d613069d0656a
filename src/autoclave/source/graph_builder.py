"""A small builder for ONNX graphs with random weights: operators in, named values out.

Values are ONNX value names (`str`). Names are dotted paths such as `vision.stage2.block0.mixer.weight`, and a weight's
name decides its values, so they are part of what a synthetic model's bytes depend on.
"""

import math
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onnx import NodeProto, helper

from autoclave.source.weight_stream import FixedTensor, RandomTensor, Tensor

_UNIT_VARIANCE = math.sqrt(3.0)
"""Half width of a uniform distribution of variance 1."""


class GraphBuilder:
    """Collects the nodes and the weights of one graph.

    `nodes` and `tensors` are in the order of their creation. `flop` counts the floating point operations of
    convolutions and matrix products, a multiply-add as two.
    """

    def __init__(self, seed: int, dtype: str = "float16") -> None:
        self.nodes: list[NodeProto] = []
        self.tensors: list[Tensor] = []
        self.flop = 0
        self._seed = seed
        self._dtype = dtype
        self._scope: list[str] = []
        self._names: Counter[str] = Counter()
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Prefix the names made inside with `name` and a dot."""
        self._scope.append(name)
        try:
            yield
        finally:
            self._scope.pop()

    def _name(self, name: str) -> str:
        full = ".".join([*self._scope, name])
        self._names[full] += 1
        return full if self._names[full] == 1 else f"{full}_{self._names[full]}"

    def op(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output; return the output's name."""
        return self.ops(op_type, *inputs, outputs=1, **attributes)[0]

    def ops(self, op_type: str, *inputs: str, outputs: int, **attributes: Any) -> list[str]:
        """Add a node with several outputs; return their names."""
        name = self._name(op_type.lower())
        names = [name] if outputs == 1 else [f"{name}.{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, name=name, **attributes))
        return names

    def name_values(self, op_type: str, *inputs: str, outputs: tuple[str, ...], **attributes: Any) -> None:
        """Add a node whose outputs have the given names, such as those of graph outputs."""
        self.nodes.append(helper.make_node(op_type, list(inputs), list(outputs), name=outputs[0], **attributes))

    def weight(self, name: str, shape: tuple[int, ...], std: float, centre: float = 0.0) -> str:
        """Add a random weight of the given standard deviation around `centre`."""
        full = self._name(name)
        self.tensors.append(RandomTensor(full, shape, self._dtype, std * _UNIT_VARIANCE, centre, self._seed))
        return full

    def scalar(self, value: float) -> str:
        """A float constant; equal constants share one initialiser."""
        data = struct.pack({"float16": "<e", "float32": "<f"}[self._dtype], value)
        return self._constant(f"constant.{value:g}", FixedTensor("", (), self._dtype, data))

    def ints(self, *values: int) -> str:
        """A one-dimensional int64 constant; equal constants share one initialiser."""
        label = "constant.i" + "_".join(map(str, values))
        return self._constant(label, FixedTensor("", (len(values),), "int64", struct.pack(f"<{len(values)}q", *values)))

    def index(self, value: int) -> str:
        """A scalar int64 constant."""
        return self._constant(f"constant.index{value}", FixedTensor("", (), "int64", struct.pack("<q", value)))

    def _constant(self, name: str, tensor: FixedTensor) -> str:
        key = (tensor.dtype, tensor.shape, tensor.data)
        if key not in self._constants:
            self._constants[key] = name
            self.tensors.append(FixedTensor(name, tensor.shape, tensor.dtype, tensor.data))
        return self._constants[key]

    def conv(
        self,
        x: str,
        channels: tuple[int, int],
        kernel: int,
        size: tuple[int, int],
        *,
        stride: int = 1,
        groups: int = 1,
        gain: float = 1.0,
    ) -> str:
        """Convolution with bias and zero padding; `size` is the input's (height, width), `channels` are (in, out)."""
        fan_in = channels[0] // groups * kernel * kernel
        weight = self.weight("weight", (channels[1], channels[0] // groups, kernel, kernel), gain / math.sqrt(fan_in))
        bias = self.weight("bias", (channels[1],), 0.05)
        self.flop += 2 * channels[1] * fan_in * (size[0] // stride) * (size[1] // stride)
        return self.op(
            "Conv",
            x,
            weight,
            bias,
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[kernel // 2] * 4,
            group=groups,
        )

    def linear(self, x: str, width: tuple[int, int], *, rows: int = 1, gain: float = 1.0) -> str:
        """`x @ weight + bias` over the last axis, by MatMul and Add; `width` is (in, out)."""
        weight = self.weight("weight", width, gain / math.sqrt(width[0]))
        self.flop += 2 * width[0] * width[1] * rows
        return self.op("Add", self.op("MatMul", x, weight), self.weight("bias", (width[1],), 0.05))

    def gemm(self, x: str, width: tuple[int, int], *, gain: float = 1.0) -> str:
        """`x @ weight.T + bias` for a two-dimensional `x`, by Gemm as PyTorch exports it; `width` is (in, out)."""
        weight = self.weight("weight", (width[1], width[0]), gain / math.sqrt(width[0]))
        self.flop += 2 * width[0] * width[1]
        return self.op("Gemm", x, weight, self.weight("bias", (width[1],), 0.05), transB=1)

    def layer_norm(self, x: str, width: int) -> str:
        """LayerNormalization over the last axis, with weights around 1."""
        scale = self.weight("weight", (width,), 0.1, centre=1.0)
        return self.op("LayerNormalization", x, scale, self.weight("bias", (width,), 0.05), axis=-1, epsilon=1e-5)

    def gelu(self, x: str) -> str:
        """The exact GELU, written out with Erf as exporters do."""
        erf = self.op("Erf", self.op("Div", x, self.scalar(math.sqrt(2.0))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.scalar(1.0))), self.scalar(0.5))

    def reshape(self, x: str, *shape: int) -> str:
        """Reshape to a constant shape."""
        return self.op("Reshape", x, self.ints(*shape))

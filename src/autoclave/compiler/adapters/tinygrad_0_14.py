"""tinygrad 0.14: scheduling and compiling a model on the NULL device. All contact with tinygrad's internals is here.

The model is scheduled once and never run. Every initialiser is a buffer with known content, every graph input a buffer
without, and what the scheduler makes of them is a list of calls on buffers.
"""

import mmap
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tinygrad
from tinygrad.codegen import to_program, to_program_cache
from tinygrad.device import Allocator, Device, Program
from tinygrad.dtype import DType, dtypes
from tinygrad.helpers import Context, ansistrip
from tinygrad.nn import onnx as tinygrad_onnx
from tinygrad.nn.onnx import OnnxRunner
from tinygrad.tensor import Tensor
from tinygrad.uop.ops import Ops, UOp, buffers

from autoclave.artifact.model import Parameter
from autoclave.compiler.adapters.tinygrad_0_14_images import keep_float16_images
from autoclave.compiler.adapters.tinygrad_0_14_onnx import DEVICE, MappedParser, unknown_buffer, unsupported_operators
from autoclave.compiler.captured import Capture, CapturedBuffer, CapturedCall, CapturedKernel, CapturedTensor
from autoclave.compiler.environment import profile_flags
from autoclave.compiler.host_memory import HostMemory
from autoclave.compiler.objects import LAUNCH_FIELDS
from autoclave.compiler.profiles import HardwareProfile
from autoclave.errors import CompileError, SourceError, ToolchainError
from autoclave.source.onnx_scanner import scan_model

# On Python 3.11 tinygrad reads a float16 constant of an ONNX file by running a kernel, which here never runs.
OLDEST_PYTHON = (3, 12)

# tinygrad's own interpreter of kernels, in Python: for the few shapes that an ONNX file computes.
_INTERPRETER = "PYTHON"
_PLAIN_SETTINGS = {"IMAGE": 0, "FLOAT16": 0, "NOLOCALS": 0, "OPENPILOT_HACKS": 0, "TC": 0}

_FLAG = re.compile(r"""(?:getenv|ContextVar|_DEV)\(\s*["']([A-Z0-9_]+)["']""")


def check_flags(profile: HardwareProfile, absent_flags: tuple[str, ...]) -> None:
    """Raise `ToolchainError` for a flag of the profile that this tinygrad does not read and nobody declared absent."""
    unknown = sorted(set(profile_flags(profile, absent_flags)) - known_flags())
    if unknown:
        raise ToolchainError(
            f"compiling for {profile.hardware}: this tinygrad does not know the flag {', '.join(unknown)}; "
            "if that is right for this version, list it in the toolchain's absent_flags"
        )


def known_flags() -> set[str]:
    """Every environment variable that tinygrad's source reads."""
    root = Path(tinygrad.__file__).parent
    sources = (path for path in root.rglob("*.py") if "autogen" not in path.parts)
    return {name for path in sources for name in _FLAG.findall(path.read_text(encoding="utf-8"))}


def capture(
    model: Path, profile: HardwareProfile, dimensions: Mapping[str, int], progress: Callable[[str], None]
) -> Capture:
    """Schedule and compile `model` for `profile`. Weights stay views of the file.

    Raises `SourceError` for what is wrong with the model and `CompileError` for what cannot be compiled.
    """
    if sys.version_info < OLDEST_PYTHON:
        raise ToolchainError(
            "tinygrad 0.14 needs Python 3.12 or newer to read float16 constants; on older ones models come out wrong"
        )
    _install_null_device(profile)
    keep_float16_images()
    runner, weights, output_types = _load(model, _mapped(model))
    inputs = _input_tensors(runner, dimensions)
    outputs = _trace(runner, inputs, output_types)
    progress("scheduling")
    try:
        linear, values = Tensor.linear_with_vars(*outputs.values())
    except Exception as error:
        raise CompileError(f"tinygrad cannot schedule the model: {type(error).__name__}: {error}") from error
    return _Recorder(profile, weights, values, progress).record(linear, inputs, outputs)


class _HostAllocator(Allocator):  # type: ignore[misc]
    """Memory of the NULL device: see `HostMemory`."""

    def _alloc(self, size: int, options: Any) -> HostMemory:
        return HostMemory(size)

    def _copyin(self, dest: HostMemory, src: memoryview) -> None:
        dest.write(src)

    def _copyout(self, dest: memoryview, src: HostMemory) -> None:
        dest[:] = src.read()

    def _transfer(self, dest: HostMemory, src: HostMemory, sz: int, src_dev: Any, dest_dev: Any) -> None:
        dest.write(src.read()[:sz])

    def _offset(self, buf: HostMemory, size: int, offset: int) -> HostMemory:
        return buf.view(size, offset)


class _NullProgram(Program):  # type: ignore[misc]
    """A kernel that cannot run. Only reading a value while compiling would run one, and the value would be rubbish."""

    def __init__(self, dev: Any, obj: Any) -> None:
        self.name = obj.name

    def __call__(self, *bufs: HostMemory, **launch: Any) -> float:
        raise CompileError(
            f"compiling the model needs the result of the kernel {self.name}, and no kernel runs while compiling; "
            "the ONNX file computes a shape or an index from data: export it with constant shapes"
        )


def _install_null_device(profile: HardwareProfile) -> None:
    device = Device[DEVICE]
    if profile.renderer == "llvm":
        from autoclave.compiler.renderers import llvm20

        device.renderers = [*device.renderers, *llvm20.RENDERERS]
    device.allocator = _HostAllocator(device)
    device.runtime_t = _NullProgram
    tinygrad_onnx._to_python_const = _host_constant


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
    content = _known_content(buffer)
    if content is None:
        raise SourceError(
            "the model uses the value of an input as a shape or an index, so its kernels would depend on the data: "
            "export it with constant shapes"
        )
    copy = UOp.new_buffer(_INTERPRETER, buffer.max_numel(), buffer.dtype)
    copy.buffer.allocate(memoryview(bytearray(content)))
    return copy


def _mapped(model: Path) -> memoryview:
    """The file's content, read-only; the mapping lives as long as a view of it does."""
    try:
        with model.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise SourceError(f"{model.name} cannot be read as an ONNX file: {error}") from error


def _load(model: Path, content: memoryview) -> tuple[OnnxRunner, dict[str, UOp], dict[str, DType]]:
    """tinygrad's runner for the model, the buffers of its initialisers in their order, and the outputs' declared types."""
    _refuse_unknown_operators(model)
    parser = MappedParser(content)
    try:
        graph = parser.parse()["graph"]
    except (EOFError, ValueError, KeyError, AssertionError, UnicodeDecodeError) as error:
        raise SourceError(f"{model.name} is not an ONNX file that can be read: {error}") from error
    runner = OnnxRunner.__new__(OnnxRunner)
    runner._init_from_graph(graph)
    initialisers = (tensor["name"] for tensor in graph["initializer"])
    weights = {name: parser.weights[name] for name in initialisers if name in parser.weights}
    output_types = {value["name"]: value["parsed_type"].dtype for value in graph["output"] if value["parsed_type"]}
    return runner, weights, output_types


def _refuse_unknown_operators(model: Path) -> None:
    """Before tinygrad reads the file, because it stops at the first domain that it does not know."""
    unknown = unsupported_operators(scan_model(model))
    if unknown:
        listing = ", ".join(f"{label} in {count} nodes" for label, count in sorted(unknown.items()))
        raise SourceError(f"{model.name} uses operators that the toolchain's tinygrad does not have: {listing}")


def _input_tensors(runner: OnnxRunner, dimensions: Mapping[str, int]) -> dict[str, Tensor]:
    return {name: _input_tensor(name, value, dimensions) for name, value in runner.graph_inputs.items()}


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


def _trace(runner: OnnxRunner, inputs: Mapping[str, Tensor], output_types: Mapping[str, DType]) -> dict[str, Tensor]:
    """The graph's outputs as unevaluated tensors of their declared types, each in memory of its own.

    tinygrad's image convolutions give float32 whatever their inputs are, so a float16 output would change its type.
    """
    try:
        results = runner(dict(inputs))
    except (SourceError, CompileError):
        raise
    except NotImplementedError as error:
        raise SourceError(
            f"the model uses an operator in a way that the toolchain's tinygrad does not know: {error}"
        ) from error
    except (AssertionError, RuntimeError, ValueError, TypeError, IndexError, KeyError) as error:
        raise CompileError(f"tinygrad cannot trace the model: {type(error).__name__}: {error}") from error
    runner.graph_values.clear()
    return {name: _own_buffer(result.cast(output_types.get(name, result.dtype))) for name, result in results.items()}


def _own_buffer(result: Tensor) -> Tensor:
    if result.uop.device is None:
        return result.clone(DEVICE)
    return result.clone() if result.uop.base.has_buffer_identity() else result.contiguous()


class _Recorder:
    """Turns tinygrad's list of calls into plain data, numbering buffers and kernels as they appear."""

    def __init__(
        self,
        profile: HardwareProfile,
        weights: Mapping[str, UOp],
        values: Mapping[str, int],
        progress: Callable[[str], None],
    ) -> None:
        self.profile, self.values, self.progress = profile, values, progress
        self.names = {buffer: name for name, buffer in weights.items()}
        self.renderer = Device[DEVICE].renderer
        self.numbers: dict[UOp, int] = {}
        self.buffers: list[CapturedBuffer] = []
        self.kernels: dict[bytes, int] = {}
        self.compiled: list[CapturedKernel] = []

    def record(self, linear: UOp, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor]) -> Capture:
        for buffer in self.names:
            self._number(buffer)
        captured_inputs = tuple(self._tensor(name, tensor) for name, tensor in inputs.items())
        programs = self._compile(linear)
        calls = tuple(self._call(call, program) for call, program in zip(linear.src, programs, strict=True))
        captured_outputs = tuple(self._tensor(name, tensor) for name, tensor in outputs.items())
        return Capture(tuple(self.buffers), tuple(self.compiled), calls, captured_inputs, captured_outputs)

    def _compile(self, linear: UOp) -> list[UOp]:
        """The compiled program of each call. Equal kernels are compiled once."""
        kernels = [call.src[0] for call in linear.src]
        unique = list(dict.fromkeys(kernel for kernel in kernels if kernel.op is Ops.SINK))
        programs: dict[UOp, UOp] = {}
        for index, kernel in enumerate(unique, 1):
            programs[kernel] = self._compile_one(kernel)
            self.progress(f"kernel {index} of {len(unique)} {ansistrip(programs[kernel].arg.name)}")
            to_program_cache.clear()
        return [programs.get(kernel, kernel) for kernel in kernels]

    def _compile_one(self, kernel: UOp) -> UOp:
        try:
            return to_program(kernel, self.renderer)
        except Exception as error:
            name = ansistrip(getattr(kernel.arg, "name", "") or "a kernel")
            raise CompileError(
                f"compiling kernel {name} for {self.profile.hardware}: {type(error).__name__}: {error}"
            ) from error

    def _call(self, call: UOp, program: UOp) -> CapturedCall:
        arguments = tuple(self._number(argument) for argument in call.src[1:] if not argument.is_bound_var)
        if program.op is Ops.COPY:
            return CapturedCall(None, arguments, frozenset(arguments[1:]), frozenset(arguments[:1]))
        if program.op is not Ops.PROGRAM:
            raise CompileError(f"the schedule holds a call of {program.op}, which artifacts cannot say")
        info = program.arg
        return CapturedCall(
            kernel=self._kernel(program),
            buffers=tuple(arguments[slot] for slot in info.globals),
            reads=frozenset(arguments[slot] for slot in info.ins),
            writes=frozenset(arguments[slot] for slot in info.outs),
            values=tuple(int(value) for value in info.vals(dict(self.values))),
        )

    def _kernel(self, program: UOp) -> int:
        if program.key not in self.kernels:
            self.kernels[program.key] = len(self.compiled)
            self.compiled.append(self._describe(program))
        return self.kernels[program.key]

    def _describe(self, program: UOp) -> CapturedKernel:
        info, elf = program.arg, program.to_elf()
        signature = tuple(
            Parameter(name or f"data{slot}", slot, _dtype_name(dtype), _shape(shape))
            for name, slot, dtype, shape in elf.signature
        )
        code, launch = self._split(elf.lib, signature)
        return CapturedKernel(
            name=info.function_name,
            code=code,
            signature=signature,
            globals=tuple(info.globals),
            outs=tuple(info.outs),
            ins=tuple(info.ins),
            global_size=_size3(info.global_size),
            local_size=_size3(info.local_size) if info.local_size is not None else None,
            launch=launch,
        )

    def _split(self, lib: bytes, signature: tuple[Parameter, ...]) -> tuple[bytes, dict[str, Any]]:
        if self.profile.renderer == "ir3":
            from autoclave.compiler.renderers import ir3

            return ir3.split_blob(lib, signature)
        return lib, LAUNCH_FIELDS[self.profile.hardware](lib)

    def _tensor(self, name: str, tensor: Tensor) -> CapturedTensor:
        return CapturedTensor(
            name, tuple(int(size) for size in tensor.shape), _dtype_name(tensor.dtype), self._number(_base(tensor.uop))
        )

    def _number(self, buffer: UOp) -> int:
        if buffer.op is not Ops.BUFFER:
            raise CompileError(f"a call takes {buffer.op}, expected a whole buffer")
        if buffer not in self.numbers:
            self.numbers[buffer] = len(self.buffers)
            self.buffers.append(
                CapturedBuffer(
                    buffer.max_numel() * buffer.dtype.itemsize,
                    _dtype_name(buffer.dtype),
                    _known_content(buffer),
                    self.names.get(buffer),
                )
            )
        return self.numbers[buffer]


def _base(uop: UOp) -> UOp:
    while uop.op is not Ops.BUFFER:
        if not uop.src:
            raise CompileError(f"an output ended as {uop.op}, expected a buffer")
        uop = uop.src[0]
    return uop


def _known_content(buffer: UOp) -> memoryview | None:
    memory = buffers.get(buffer)
    if memory is None or not memory.is_initialized():
        return None
    opaque = memory._buf
    if isinstance(opaque, HostMemory):
        return opaque.read() if opaque.is_known else None
    content: memoryview = memory.as_memoryview(allow_zero_copy=True)
    return content.cast("B")


_DTYPE_NAMES = {
    dtypes.half: "float16",
    dtypes.float: "float32",
    dtypes.double: "float64",
    dtypes.bool: "bool",
    dtypes.bfloat16: "bfloat16",
}


def _dtype_name(dtype: DType) -> str:
    """numpy's name of a dtype."""
    if dtype in _DTYPE_NAMES:
        return _DTYPE_NAMES[dtype]
    if dtypes.is_int(dtype):
        return f"{'u' if dtypes.is_unsigned(dtype) else ''}int{8 * dtype.itemsize}"
    raise CompileError(f"a buffer has the type {dtype}, which artifacts cannot say")


def _shape(shape: Any) -> tuple[int, ...]:
    """() for plain memory, (height, width, 4) for an image."""
    sizes = tuple(int(size.val) if isinstance(size, UOp) else int(size) for size in shape or ())
    return sizes if len(sizes) == 3 else ()


def _size3(size: tuple[Any, ...]) -> tuple[int, int, int]:
    padded = [int(number) for number in size] + [1] * (3 - len(size))
    return (padded[0], padded[1], padded[2])

"""What tinygrad 0.14 makes of tensors: a list of calls on buffers, with their kernels compiled, as plain data."""

from collections.abc import Callable, Mapping
from typing import Any

from tinygrad.codegen import to_program, to_program_cache
from tinygrad.device import Device
from tinygrad.dtype import DType, dtypes
from tinygrad.helpers import ansistrip
from tinygrad.tensor import Tensor
from tinygrad.uop.ops import Ops, UOp

from autoclave.artifact.model import Parameter
from autoclave.compiler.adapters.tinygrad_0_14_buffers import DEVICE, known_content
from autoclave.compiler.captured import Capture, CapturedBuffer, CapturedCall, CapturedKernel, CapturedTensor
from autoclave.compiler.objects import LAUNCH_FIELDS
from autoclave.compiler.profiles import HardwareProfile
from autoclave.errors import CompileError


def record(
    profile: HardwareProfile,
    weights: Mapping[UOp, str],
    inputs: Mapping[str, Tensor],
    outputs: Mapping[str, Tensor],
    progress: Callable[[str], None],
) -> Capture:
    """Schedule and compile what `outputs` need. `weights` are buffers with known content, by name, which come first.

    Raises `CompileError` for what cannot be compiled.
    """
    progress("scheduling")
    try:
        linear, values = Tensor.linear_with_vars(*outputs.values())
    except Exception as error:
        raise CompileError(f"tinygrad cannot schedule the model: {type(error).__name__}: {error}") from error
    return _Recorder(profile, weights, values, progress).record(linear, inputs, outputs)


def own_buffer(result: Tensor) -> Tensor:
    """`result` in memory of its own, as an output must be."""
    if result.uop.device is None:
        return result.clone(DEVICE)
    return result.clone() if result.uop.base.has_buffer_identity() else result.contiguous()


class _Recorder:
    """Turns tinygrad's list of calls into plain data, numbering buffers and kernels as they appear."""

    def __init__(
        self,
        profile: HardwareProfile,
        weights: Mapping[UOp, str],
        values: Mapping[str, int],
        progress: Callable[[str], None],
    ) -> None:
        self.profile, self.values, self.progress = profile, values, progress
        self.names = dict(weights)
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
                    known_content(buffer),
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

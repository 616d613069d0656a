"""From a capture to the artifact: buffers get their kinds and places, sections are written, the header refers to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autoclave.artifact.model import Argument, Buffer, Call, Copy, Header, Kernel, Part, Program, Span, TensorSpec
from autoclave.artifact.writer import ArtifactWriter
from autoclave.compiler.arena import ArenaPlan, Lifetime, plan_arena
from autoclave.compiler.captured import Capture, CapturedCall, CapturedKernel, CapturedTensor
from autoclave.compiler.local_sizes import choose_local_size, workgroups
from autoclave.compiler.profiles import HardwareProfile
from autoclave.compiler.schedule import Schedule, fold_constant_copies, require_inputs_read, split_schedule
from autoclave.errors import CompileError


@dataclass(frozen=True, slots=True)
class Lowered:
    """The header of a finished artifact and what a build reports about it. Sizes are bytes."""

    header: Header
    arena: int
    live_peak: int
    weights: int


def lower(
    capture: Capture,
    profile: HardwareProfile,
    metadata: Mapping[str, Any],
    writer: ArtifactWriter,
    key: str | tuple[int, int] = "run",
) -> Lowered:
    """Write the sections of `capture` into `writer`, and make the header that `writer.finish` takes: one part, `key`.

    Raises `CompileError` if an input has no effect.
    """
    require_inputs_read(capture)
    capture = fold_constant_copies(capture)
    schedule = split_schedule(capture)
    plan = plan_intermediates(capture, schedule)
    spans = _write_constants(capture, schedule, writer)
    layout = _Layout(capture, schedule, plan, spans)
    kernels = tuple(_lower_kernel(kernel, profile, writer) for kernel in capture.kernels)
    part = Part(
        key=key,
        target=profile.target,
        inputs=tuple(layout.tensor(tensor) for tensor in capture.inputs),
        outputs=tuple(layout.tensor(tensor) for tensor in capture.outputs),
        buffers=tuple(layout.buffers),
        init=tuple(_lower_call(call, capture, layout) for call in schedule.init),
        calls=tuple(_lower_call(call, capture, layout) for call in schedule.calls),
    )
    weights = sum(span.length for span in set(spans.values()))
    return Lowered(Header(dict(metadata), kernels, (part,)), plan.nbytes, plan.live_peak, weights)


def plan_intermediates(capture: Capture, schedule: Schedule) -> ArenaPlan:
    """Place everything that lives only during `init` or only during `calls` in one arena, which both use in turn."""
    fixed = {tensor.buffer for tensor in (*capture.inputs, *capture.outputs)} | schedule.persistent
    plans = [plan_arena(_lifetimes(capture, calls, fixed)) for calls in (schedule.init, schedule.calls)]
    offsets = {number: offset for plan in plans for number, offset in plan.offsets.items()}
    return ArenaPlan(offsets, max(plan.nbytes for plan in plans), max(plan.live_peak for plan in plans))


def _lifetimes(capture: Capture, calls: Sequence[CapturedCall], fixed: set[int]) -> dict[int, Lifetime]:
    lifetimes: dict[int, Lifetime] = {}
    for index, call in enumerate(calls):
        for number in sorted(call.reads | call.writes):
            if number in fixed or _is_constant(capture, number):
                continue
            first = lifetimes[number].first if number in lifetimes else index
            lifetimes[number] = Lifetime(first, index, capture.buffers[number].nbytes)
    return lifetimes


def _is_constant(capture: Capture, number: int) -> bool:
    return capture.buffers[number].data is not None


def _write_constants(capture: Capture, schedule: Schedule, writer: ArtifactWriter) -> dict[int, Span]:
    """Write what the calls use, in the order of the capture's buffers: ONNX initialisers first, in their order."""
    written = {number for call in (*schedule.init, *schedule.calls) for number in call.writes}
    used = {number for call in (*schedule.init, *schedule.calls) for number in call.reads}
    spans: dict[int, Span] = {}
    for number, buffer in enumerate(capture.buffers):
        if buffer.data is None or number not in used:
            continue
        if number in written:
            raise CompileError(
                f"a kernel changes the constant {buffer.name or number}: models that write to their weights cannot be compiled"
            )
        spans[number] = writer.add_weight(buffer.data)
    return spans


class _Layout:
    """The part's buffers: one for each input, output, constant and persistent buffer that is used, and the arena."""

    def __init__(self, capture: Capture, schedule: Schedule, plan: ArenaPlan, spans: Mapping[int, Span]) -> None:
        self.buffers: list[Buffer] = []
        self._places: dict[int, tuple[int, int]] = {}
        self._capture = capture
        for tensor in capture.inputs:
            self._add(tensor.buffer, Buffer("input", self._nbytes(tensor.buffer), name=tensor.name))
        for tensor in capture.outputs:
            if tensor.buffer not in self._places:
                self._add(tensor.buffer, Buffer("output", self._nbytes(tensor.buffer), name=tensor.name))
        for number, span in spans.items():
            self._add(number, Buffer("constant", span.length, span, capture.buffers[number].name))
        for number in sorted(schedule.persistent):
            self._add(number, Buffer("persistent", self._nbytes(number)))
        arena = len(self.buffers)
        self.buffers.append(Buffer("arena", plan.nbytes))
        self._places.update({number: (arena, offset) for number, offset in plan.offsets.items()})

    def _nbytes(self, number: int) -> int:
        return self._capture.buffers[number].nbytes

    def _add(self, number: int, buffer: Buffer) -> None:
        self._places[number] = (len(self.buffers), 0)
        self.buffers.append(buffer)

    def argument(self, number: int) -> Argument:
        buffer, offset = self._places[number]
        return Argument(buffer, offset, self._nbytes(number), self._capture.buffers[number].dtype)

    def tensor(self, tensor: CapturedTensor) -> TensorSpec:
        buffer, offset = self._places[tensor.buffer]
        return TensorSpec(tensor.name, tensor.shape, tensor.dtype, buffer, offset)


def _lower_kernel(kernel: CapturedKernel, profile: HardwareProfile, writer: ArtifactWriter) -> Kernel:
    return Kernel(
        name=kernel.name,
        renderer=profile.renderer,
        lib=writer.add_blob(kernel.code),
        signature=kernel.signature,
        globals=kernel.globals,
        outs=kernel.outs,
        ins=kernel.ins,
        launch=dict(kernel.launch),
    )


def _lower_call(call: CapturedCall, capture: Capture, layout: _Layout) -> Call:
    arguments = tuple(layout.argument(number) for number in call.buffers)
    if call.kernel is None:
        return Copy(arguments[0], arguments[1])
    kernel = capture.kernels[call.kernel]
    local_size = kernel.local_size or choose_local_size(kernel.global_size, kernel.launch)
    global_size = kernel.global_size if kernel.local_size else workgroups(kernel.global_size, local_size)
    return Program(call.kernel, global_size, local_size, arguments, call.values)

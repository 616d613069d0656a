"""What the numbers of a header must satisfy ("Rules" and "Limits" of docs/artifact-format.md), checked before any is used."""

from collections.abc import Iterable, Sequence
from math import prod

from .errors import FormatError
from .records import ITEMSIZE, Argument, Buffer, Call, Copy, Header, Kernel, Part, Span, Tensor, arguments, key_text

ALIGNMENT = 256
PREAMBLE_SIZE = 4096
MAX_PARTS = 64
MAX_THREADS = 1024
MAX_MEMORY = 4 << 30
"""Bytes of buffers without data, of all parts together."""


def check_rules(header: Header, sections_end: int) -> None:
    """Check `header`, which starts at byte `sections_end` of its file. Raises `FormatError`."""
    _require(0 < len(header.parts) <= MAX_PARTS, f"{len(header.parts)} parts; expected 1 to {MAX_PARTS}")
    _require_unique((part.key for part in header.parts), "part keys")
    _check_spans(_spans(header), sections_end)
    for kernel in header.kernels:
        _check_kernel(kernel)
    for part in header.parts:
        _check_part(part, header.kernels, sections_end)
    memory = sum(buffer.nbytes for part in header.parts for buffer in part.buffers if buffer.data is None)
    _require(memory <= MAX_MEMORY, f"buffers without data take {memory} bytes; at most {MAX_MEMORY} are allowed")


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise FormatError(f"header: {otherwise}")


def _require_unique(values: Iterable[object], what: str) -> None:
    listed = list(values)
    _require(len(set(listed)) == len(listed), f"{what} are not unique")


def _spans(header: Header) -> set[Span]:
    data = {buffer.data for part in header.parts for buffer in part.buffers if buffer.data is not None}
    return data | {kernel.lib for kernel in header.kernels}


def _check_spans(spans: set[Span], sections_end: int) -> None:
    end = PREAMBLE_SIZE
    for offset, length in sorted(spans):
        _require(length > 0, f"the section at {offset} is empty")
        _require(offset % ALIGNMENT == 0, f"the section at {offset} is not aligned to {ALIGNMENT}")
        _require(offset >= end, f"the section at {offset} overlaps another or the preamble")
        end = offset + length
    _require(end <= sections_end, f"a section ends at byte {end}, but sections end at {sections_end}")


def _check_kernel(kernel: Kernel) -> None:
    for images in (False, True):  # an argument may be bound both ways
        _require_unique(
            (parameter.slot for parameter in kernel.signature if bool(parameter.shape) is images),
            f"slots of kernel {kernel.name!r}",
        )
    for slots in (kernel.globals, kernel.outs, kernel.ins):
        _require_unique(slots, f"slots of kernel {kernel.name!r}")
        _require(set(slots) <= set(kernel.globals), f"kernel {kernel.name!r} uses slots that are no globals")


def _check_part(part: Part, kernels: Sequence[Kernel], sections_end: int) -> None:
    where = f"part {key_text(part.key)}"
    for buffer in part.buffers:
        _check_buffer(buffer, where)
    _require(sum(buffer.kind == "arena" for buffer in part.buffers) <= 1, f"{where} has several arenas")
    constants = sum(buffer.nbytes for buffer in part.buffers if buffer.data is not None)
    _require(constants <= sections_end + MAX_MEMORY, f"{where} has constants of {constants} bytes")
    _check_tensors(part, where)
    for name, calls in (("init", part.init), ("calls", part.calls)):
        for number, call in enumerate(calls):
            _check_call(call, part, kernels, f"{where}: {name}[{number}]")
            _check_phase(call, part, kernels, name == "init", f"{where}: {name}[{number}]")


def _check_buffer(buffer: Buffer, where: str) -> None:
    _require(
        (buffer.kind == "constant") is (buffer.data is not None), f"{where}: a {buffer.kind} buffer with wrong data"
    )
    _require(
        buffer.data is None or buffer.data[1] == buffer.nbytes, f"{where}: a constant of another size than its data"
    )


def _check_tensors(part: Part, where: str) -> None:
    for kind, tensors in (("input", part.inputs), ("output", part.outputs)):
        _require_unique((tensor.name for tensor in tensors), f"{where}: names of {kind}s")
        for tensor in tensors:
            _check_tensor(tensor, kind, part, f"{where}: {kind} {tensor.name!r}")
    inputs = sorted(number for number, buffer in enumerate(part.buffers) if buffer.kind == "input")
    bound = sorted(tensor.buffer for tensor in part.inputs)
    _require(inputs == bound, f"{where}: an input buffer must hold exactly one input")


def _check_tensor(tensor: Tensor, kind: str, part: Part, where: str) -> None:
    itemsize = ITEMSIZE[tensor.dtype]
    _check_range(tensor.buffer, tensor.offset, prod(tensor.shape) * itemsize, itemsize, part, where)
    _require(part.buffers[tensor.buffer].kind == kind, f"{where} is in a buffer of another kind")


def _check_range(buffer: int, offset: int, nbytes: int, itemsize: int, part: Part, where: str) -> None:
    _require(buffer < len(part.buffers), f"{where}: there is no buffer {buffer}")
    _require(offset + nbytes <= part.buffers[buffer].nbytes, f"{where}: {nbytes} bytes at {offset} leave the buffer")
    _require(offset % itemsize == 0 and nbytes % itemsize == 0, f"{where}: no whole elements of {itemsize} bytes")


def _check_call(call: Call, part: Part, kernels: Sequence[Kernel], where: str) -> None:
    for argument in arguments(call):
        _check_range(argument.buffer, argument.offset, argument.nbytes, ITEMSIZE[argument.dtype], part, where)
    if isinstance(call, Copy):
        _require(call.destination.nbytes == call.source.nbytes, f"{where}: copies between unequal sizes")
        return
    _require(call.kernel < len(kernels), f"{where}: there is no kernel {call.kernel}")
    _require(len(call.args) == len(kernels[call.kernel].globals), f"{where}: too many or too few arguments")
    _require(prod(call.local_size) <= MAX_THREADS, f"{where}: more than {MAX_THREADS} threads in a workgroup")


def _check_phase(call: Call, part: Part, kernels: Sequence[Kernel], is_init: bool, where: str) -> None:
    """Nothing writes inputs and constants, `init` uses no inputs, and calls leave alone what it made."""
    refused = {"input", "constant"} if is_init else {"input", "constant", "persistent"}
    for argument in _written(call, kernels):
        kind = part.buffers[argument.buffer].kind
        _require(kind not in refused, f"{where}: writes to a buffer of kind {kind}")
    if is_init:
        used = {part.buffers[argument.buffer].kind for argument in arguments(call)}
        _require("input" not in used, f"{where}: uses an input before it is bound")


def _written(call: Call, kernels: Sequence[Kernel]) -> list[Argument]:
    if isinstance(call, Copy):
        return [call.destination]
    kernel = kernels[call.kernel]
    return [argument for slot, argument in zip(kernel.globals, call.args, strict=True) if slot in kernel.outs]

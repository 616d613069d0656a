"""Which calls run once at load and which run every time.

Weight layouts and other constants are computed by kernels too. A call that depends on no input runs once, at load (`init`);
all others run at each run (`calls`).
"""

from collections import Counter
from dataclasses import dataclass, replace

from autoclave.compiler.captured import Capture, CapturedCall
from autoclave.errors import CompileError


@dataclass(frozen=True, slots=True)
class Schedule:
    """The calls of a capture, split. `persistent` are the buffers that `init` writes and `calls` read."""

    init: tuple[CapturedCall, ...]
    calls: tuple[CapturedCall, ...]
    persistent: frozenset[int]


def split_schedule(capture: Capture) -> Schedule:
    """Split the calls of `capture`, in their order.

    A call runs every time if it reads or writes something that changes: an input, an output, or what such a call writes.
    """
    changing = {tensor.buffer for tensor in (*capture.inputs, *capture.outputs)}
    repeated: set[int] = set()
    settled = False
    while not settled:
        settled = True
        for index, call in enumerate(capture.calls):
            if index not in repeated and (call.reads | call.writes) & changing:
                repeated.add(index)
                changing |= call.writes
                settled = False
    init = tuple(call for index, call in enumerate(capture.calls) if index not in repeated)
    calls = tuple(call for index, call in enumerate(capture.calls) if index in repeated)
    written = frozenset(number for call in init for number in call.writes)
    read = frozenset(number for call in calls for number in call.reads)
    return Schedule(init, calls, written & read)


def fold_constant_copies(capture: Capture) -> Capture:
    """Drop copies of known content: what they would write is known content too.

    tinygrad copies the numbers that an operator's implementation brings along to the device, one by one.
    """
    writers = Counter(number for call in capture.calls for number in call.writes)
    outputs = {tensor.buffer for tensor in capture.outputs}
    buffers, calls = list(capture.buffers), []
    for call in capture.calls:
        if call.kernel is None:
            destination, source = call.buffers
            content = buffers[source].data
            if content is not None and writers[destination] == 1 and destination not in outputs:
                buffers[destination] = replace(buffers[destination], data=content)
                continue
        calls.append(call)
    return replace(capture, buffers=tuple(buffers), calls=tuple(calls))


def require_inputs_read(capture: Capture) -> None:
    """Raise `CompileError` that names the inputs which no call reads: something went wrong, or they have no effect."""
    read = {number for call in capture.calls for number in call.reads}
    unread = [tensor.name for tensor in capture.inputs if tensor.buffer not in read]
    if unread:
        raise CompileError(
            f"no kernel reads the input {', '.join(repr(name) for name in unread)}: it has no effect on any output; "
            "remove it from the ONNX file, or check how the file was exported"
        )

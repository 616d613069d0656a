"""What the numbers of a header must satisfy before anybody acts on them (docs/artifact-format.md, "Rules")."""

from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod

from autoclave.artifact.dtypes import ITEMSIZE
from autoclave.artifact.layout import ALIGNMENT, MAX_PARTS, MAX_UNBACKED_SIZE, PREAMBLE_SIZE
from autoclave.artifact.model import Argument, Buffer, Call, Copy, Header, Kernel, Part, Program, Span, TensorSpec
from autoclave.errors import ArtifactError

MAX_LOCAL_SIZE = 1024
"""Threads of one workgroup."""

_Writes = list[tuple[int, ...]]
"""For each kernel, the positions of the arguments that it writes."""


def validate_header(header: Header, sections_end: int) -> None:
    """Check `header` against a file whose sections end at or before byte `sections_end`, where the header starts.

    Raises `ArtifactError` that names the first thing out of place.
    """
    if not 0 < len(header.parts) <= MAX_PARTS:
        raise ArtifactError(f"header: {len(header.parts)} parts; expected 1 to {MAX_PARTS}")
    _refuse_repeats((part.key for part in header.parts), "part key")
    _check_sections(header, sections_end)
    for number, kernel in enumerate(header.kernels):
        _check_kernel(kernel, f"kernels[{number}] {kernel.name!r}")
    writes = [_written_positions(kernel) for kernel in header.kernels]
    for part in header.parts:
        _check_part(part, header.kernels, writes, sections_end)
    unbacked = sum(buffer.nbytes for part in header.parts for buffer in part.buffers if buffer.data is None)
    if unbacked > MAX_UNBACKED_SIZE:
        raise ArtifactError(
            f"header: buffers without data in the file take {unbacked} bytes; at most {MAX_UNBACKED_SIZE} are allowed"
        )


def sections(header: Header) -> Iterator[tuple[str, Span]]:
    """Every reference to a section of the file: what refers to it, and where it is."""
    for number, kernel in enumerate(header.kernels):
        yield f"kernels[{number}].lib", kernel.lib
    for part in header.parts:
        for number, buffer in enumerate(part.buffers):
            if buffer.data is not None:
                yield f"part {part.key!r}: buffers[{number}].data", buffer.data


def _check_sections(header: Header, sections_end: int) -> None:
    """Sections lie between preamble and header, aligned, and two of them are the same or apart."""
    for where, span in sections(header):
        if span.length == 0:
            raise ArtifactError(f"header: {where}: the section is empty")
        if span.offset % ALIGNMENT:
            raise ArtifactError(f"header: {where}: offset {span.offset} is not a multiple of {ALIGNMENT}")
        if span.offset < PREAMBLE_SIZE:
            raise ArtifactError(f"header: {where}: offset {span.offset} lies in the preamble")
        if span.offset + span.length > sections_end:
            raise ArtifactError(
                f"header: {where}: ends at byte {span.offset + span.length}, but sections end at {sections_end}"
            )
    ordered = sorted({(span.offset, span.length) for _, span in sections(header)})
    for (offset, length), (following, _) in zip(ordered, ordered[1:], strict=False):
        if offset + length > following:
            raise ArtifactError(f"header: the sections at {offset} ({length} bytes) and {following} overlap")


def _check_kernel(kernel: Kernel, where: str) -> None:
    # One argument may be bound twice: as plain memory and as an image.
    for image in (False, True):
        bound = (parameter.slot for parameter in kernel.signature if bool(parameter.shape) is image)
        _refuse_repeats(bound, f"{where}: signature slot")
    for parameter in kernel.signature:
        _check_dtype(parameter.dtype, f"{where}: parameter {parameter.name!r}")
    _refuse_repeats(kernel.globals, f"{where}: global")
    for name, slots in (("outs", kernel.outs), ("ins", kernel.ins)):
        _refuse_repeats(slots, f"{where}: {name}")
        if not set(slots) <= set(kernel.globals):
            raise ArtifactError(
                f"header: {where}: {name} {list(slots)} are not all among globals {list(kernel.globals)}"
            )


def _written_positions(kernel: Kernel) -> tuple[int, ...]:
    outs = set(kernel.outs)
    return tuple(position for position, slot in enumerate(kernel.globals) if slot in outs)


def _check_part(part: Part, kernels: tuple[Kernel, ...], writes: _Writes, sections_end: int) -> None:
    where = f"part {part.key!r}"
    for number, buffer in enumerate(part.buffers):
        _check_buffer(buffer, f"{where}: buffers[{number}]")
    kinds = Counter(buffer.kind for buffer in part.buffers)
    if kinds["arena"] > 1:
        raise ArtifactError(f"header: {where}: {kinds['arena']} arenas; a part has at most one")
    constants = sum(buffer.nbytes for buffer in part.buffers if buffer.data is not None)
    if constants > sections_end + MAX_UNBACKED_SIZE:
        raise ArtifactError(f"header: {where}: constants take {constants} bytes, far more than the file has")
    _check_tensors(part, where)
    for list_name, calls in (("init", part.init), ("calls", part.calls)):
        for number, call in enumerate(calls):
            place = f"{where}: {list_name}[{number}]"
            if isinstance(call, Program):
                _check_program(call, part, kernels, writes, place)
            else:
                _check_copy(call, part, place)
            _check_phase(call, part, writes, list_name == "init", place)


def _check_buffer(buffer: Buffer, where: str) -> None:
    if (buffer.kind == "constant") != (buffer.data is not None):
        raise ArtifactError(
            f"header: {where}: a buffer has data if and only if it is a constant; this is {buffer.kind}"
        )
    if buffer.data is not None and buffer.data.length != buffer.nbytes:
        raise ArtifactError(f"header: {where}: {buffer.nbytes} bytes, but its data has {buffer.data.length}")


def _check_tensors(part: Part, where: str) -> None:
    for kind, tensors in (("input", part.inputs), ("output", part.outputs)):
        _refuse_repeats((tensor.name for tensor in tensors), f"{where}: {kind}")
        for tensor in tensors:
            _check_tensor(tensor, part, kind, f"{where}: {kind} {tensor.name!r}")
    bound = Counter(tensor.buffer for tensor in part.inputs)
    for number, buffer in enumerate(part.buffers):
        if buffer.kind == "input" and bound[number] != 1:
            raise ArtifactError(
                f"header: {where}: buffers[{number}] must hold exactly one input, it holds {bound[number]}"
            )


def _check_tensor(tensor: TensorSpec, part: Part, kind: str, where: str) -> None:
    itemsize = _check_dtype(tensor.dtype, where)
    buffer = _buffer(tensor.buffer, part, where)
    if buffer.kind != kind:
        raise ArtifactError(f"header: {where}: buffer {tensor.buffer} is of kind {buffer.kind}; expected {kind}")
    _check_range(tensor.offset, prod(tensor.shape) * itemsize, itemsize, buffer, where)


def _check_program(program: Program, part: Part, kernels: tuple[Kernel, ...], writes: _Writes, where: str) -> None:
    if program.kernel >= len(kernels):
        raise ArtifactError(f"header: {where}: kernel {program.kernel} does not exist; there are {len(kernels)}")
    kernel = kernels[program.kernel]
    if len(program.args) != len(kernel.globals):
        raise ArtifactError(
            f"header: {where}: {len(program.args)} arguments for the {len(kernel.globals)} globals of {kernel.name!r}"
        )
    if prod(program.local_size) > MAX_LOCAL_SIZE:
        raise ArtifactError(
            f"header: {where}: {prod(program.local_size)} threads in a workgroup; at most {MAX_LOCAL_SIZE}"
        )
    for argument in program.args:
        _check_argument(argument, part, where)
    for position in writes[program.kernel]:
        _check_written(program.args[position], part, where)


def _check_copy(copy: Copy, part: Part, where: str) -> None:
    _check_argument(copy.source, part, where)
    _check_argument(copy.destination, part, where)
    _check_written(copy.destination, part, where)
    if copy.destination.nbytes != copy.source.nbytes:
        raise ArtifactError(f"header: {where}: copies {copy.source.nbytes} bytes to {copy.destination.nbytes}")


def _check_argument(argument: Argument, part: Part, where: str) -> None:
    itemsize = _check_dtype(argument.dtype, where)
    _check_range(argument.offset, argument.nbytes, itemsize, _buffer(argument.buffer, part, where), where)


def _check_written(argument: Argument, part: Part, where: str) -> None:
    kind = part.buffers[argument.buffer].kind
    if kind in ("input", "constant"):
        raise ArtifactError(f"header: {where}: writes to buffer {argument.buffer}, which is {kind}")


def _check_phase(call: Call, part: Part, writes: _Writes, is_init: bool, where: str) -> None:
    """Init runs before inputs are bound; calls leave what init made as it is, so that every run starts alike."""
    arguments = (call.destination, call.source) if isinstance(call, Copy) else call.args
    if is_init:
        for argument in arguments:
            if part.buffers[argument.buffer].kind == "input":
                raise ArtifactError(f"header: {where}: init uses input buffer {argument.buffer} before it is bound")
        return
    for position in (0,) if isinstance(call, Copy) else writes[call.kernel]:
        if part.buffers[arguments[position].buffer].kind == "persistent":
            raise ArtifactError(f"header: {where}: writes to persistent buffer {arguments[position].buffer} after init")


def _buffer(number: int, part: Part, where: str) -> Buffer:
    if number >= len(part.buffers):
        raise ArtifactError(f"header: {where}: buffer {number} does not exist; the part has {len(part.buffers)}")
    return part.buffers[number]


def _check_range(offset: int, nbytes: int, itemsize: int, buffer: Buffer, where: str) -> None:
    if offset + nbytes > buffer.nbytes:
        raise ArtifactError(f"header: {where}: {nbytes} bytes at {offset} leave the buffer of {buffer.nbytes} bytes")
    if offset % itemsize or nbytes % itemsize:
        raise ArtifactError(f"header: {where}: {nbytes} bytes at {offset} are not whole elements of {itemsize} bytes")


def _check_dtype(dtype: str, where: str) -> int:
    if dtype not in ITEMSIZE:
        raise ArtifactError(f"header: {where}: dtype {dtype[:40]!r} is unknown; expected one of {', '.join(ITEMSIZE)}")
    return ITEMSIZE[dtype]


def _refuse_repeats(values: Iterable[object], where: str) -> None:
    repeated = [value for value, count in Counter(values).items() if count > 1]
    if repeated:
        raise ArtifactError(f"header: {where} {repeated[0]!r} occurs twice")

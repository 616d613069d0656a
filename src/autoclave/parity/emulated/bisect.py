"""The first launch that computes something else: `python -m autoclave.parity.emulated.bisect request.json`, inside the sandbox.

The request is `{"artifact": path, "check": its check file, "other": path, "part": key}`: the other is another artifact, which gets
the same inputs, or a file of recorded launches. Without `part`, which is optional, all parts are compared, one after the other.
Launches are matched by their order and their kernels' names. A report goes to stdout; exit code 1 if a launch differs, 0 if none does.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from autoclave.artifact.model import Part
from autoclave.artifact.reader import Artifact, key_text, open_artifact
from autoclave.emulator.interpretations import interpretation_of
from autoclave.emulator.jit import best_target
from autoclave.emulator.model import EmulatedModel, Placement, Step
from autoclave.emulator.processors import processors
from autoclave.errors import ArtifactError
from autoclave.native.model import check_tensors
from autoclave.native.request import carried_out
from autoclave.parity.check_file import PartCheck, read_check_of
from autoclave.parity.emulated.divergence import Divergence, OtherModel, Recording, Side, first_divergence
from autoclave.parity.emulated.launches import read_launches
from autoclave.parity.emulated.sides import compared_parts, is_recording, other_part


def _bisect(request: dict[str, Any]) -> int:
    placement = Placement(replace(best_target(), quick=True), threads=processors())
    with open_artifact(request["artifact"]) as artifact:
        checks = read_check_of(artifact, Path(request["check"]))
        several = len(artifact.header.parts) > 1
        for part in compared_parts(artifact, request.get("part")):
            check = checks.part(part.key)
            model = EmulatedModel(artifact, part.key, placement)
            with _other_side(Path(request["other"]), artifact, part, check, placement) as other:
                found = first_divergence(model, check.inputs, other)
            place = f"part {key_text(part.key)}: " if several else ""
            sys.stdout.write(report(found, len(model.init) + len(model.calls), place))
            if found is not None:
                return 1
    return 0


@contextmanager
def _other_side(path: Path, artifact: Artifact, part: Part, check: PartCheck, placement: Placement) -> Iterator[Side]:
    """What `part` is compared with, from an artifact or recorded launches."""
    if is_recording(path):
        recording = read_launches(path).part(check.key)
        if recording.seed != check.seed:
            raise ArtifactError(f"{path}: recorded on inputs of seed {recording.seed}, the check file has {check.seed}")
        yield Recording(recording)
        return
    with open_artifact(path) as other:
        model = EmulatedModel(other, other_part(part, artifact, other).key, placement)
        check_tensors(model.part.inputs, check.inputs, "input")
        yield OtherModel(model, check.inputs)


def report(divergence: Divergence | None, launches: int, place: str = "") -> str:
    """What a person reads of it: which launch, which tensors, which code. place: in what part, as the beginning of a line."""
    if divergence is None:
        return f"bisect: {place}all {launches} launches leave the same bits\n"
    first, *others = _lines(divergence)
    return "\n".join([f"bisect: {place}{first}", *others]) + "\n"


def _lines(found: Divergence) -> Iterator[str]:
    step = found.step
    if step is None:
        yield f"the other side has a launch more: {found.other}"
        return
    where = f"launch {step.index} of {step.stage}, {_kernel_text(step)}"
    if not found.tensors:
        yield f"up to {where} all is the same; there the other side launches {found.other or 'nothing more'}"
        return
    yield f"{where}, is the first that differs"
    for tensor in found.tensors:
        yield f"  {'writes' if tensor.written else 'reads'} {tensor.name}, {tensor.dtype}:"
        yield from (f"    {line}" for line in tensor.found)
    yield from _code_lines(step, found.other_code)


def _kernel_text(step: Step) -> str:
    return step.name if step.number is None else f"kernel {step.number} {step.name}"


def _code_lines(step: Step, other: bytes | None) -> Iterator[str]:
    if step.launch is None:
        return
    kernel = step.launch.kernel
    disassembly = interpretation_of(kernel).disassembly
    mine = disassembly(kernel.code, kernel.name)
    if other is None or other == kernel.code:
        yield f"  its code{', the same on both sides' if other else ''}:"
        yield from (f"    {line}" for line in mine)
        return
    yield "  its code, - on the other side only, + here only:"
    yield from (f"    {line}" for line in code_difference(disassembly(other, kernel.name), mine))


def code_difference(left: list[str], right: list[str]) -> Iterator[str]:
    """All of two disassemblies, merged: lines of `left` alone begin with -, of `right` alone with +."""
    for kind, start, stop, begin, end in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from (f"  {line}" for line in left[start:stop])
        else:
            yield from (f"- {line}" for line in left[start:stop])
            yield from (f"+ {line}" for line in right[begin:end])


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    return carried_out(arguments, "autoclave.parity.emulated.bisect", _bisect)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Trace one thread of one launch: `python -m autoclave.emulator.trace request.json`, inside the sandbox.

The request:

    artifact, part, inputs
                as for `python -m autoclave.emulator`
    call        the launch: its place among the calls of `init` and those of a run after them, from 0
    workgroup   [x, y, z]; lane: the thread in it, x fastest
    limit, times, from_pc
                see `TraceLines`
    output      file of the lines; what was executed before an error is in it

All calls before the launch are run as host code; the launch itself is interpreted.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from autoclave.artifact.reader import Artifact, key_text, open_artifact
from autoclave.emulator.interpretations import interpretation_of
from autoclave.emulator.jit import best_target
from autoclave.emulator.launch import KernelCode, Launch, Size3
from autoclave.emulator.model import EmulatedModel, Placement
from autoclave.emulator.processors import processors
from autoclave.emulator.trace_lines import TraceLines
from autoclave.errors import ArtifactError
from autoclave.native.request import carried_out, part_key
from autoclave.native.tensor_files import read_tensors


def launch_of_call(
    artifact: Artifact, part: str | tuple[int, int], call: int, inputs: Path, from_pc: int = 0
) -> Launch:
    """The launch that is number `call` of the part's calls, with memory as all calls before it leave it.

    Raises `ArtifactError` if it is none, or has no instruction at `from_pc`; and `EmulationError` if a call before it does what it
    must not.
    """
    target = replace(best_target(), quick=True)  # each call runs once at most
    model = EmulatedModel(artifact, part, Placement(target, threads=processors()))
    steps = model.start(read_tensors(inputs, model.part.inputs))
    launch = steps[call].launch if 0 <= call < len(steps) else None
    if launch is None:
        raise ArtifactError(f"call {call} of part {key_text(part)} is no launch")
    _require_instruction(launch.kernel, from_pc)  # before the calls, which may take a while
    for step in steps[:call]:
        model.execute(step)
    return launch


def _require_instruction(kernel: KernelCode, pc: int) -> None:
    places = [instruction.pc for instruction in interpretation_of(kernel).decode(kernel.code, kernel.name)]
    if pc in places or not pc:
        return
    before, after = [place for place in places if place < pc], [place for place in places if place > pc]
    near = f"it is between pc {before[-1]} and pc {after[0]}" if before and after else f"the last is at pc {places[-1]}"
    raise ArtifactError(f"kernel {kernel.name!r}: no instruction begins at pc {pc}; {near}, see `autoclave disasm`")


def _trace(request: dict[str, Any]) -> int:
    output = Path(request["output"])
    output.parent.mkdir(parents=True, exist_ok=True)
    x, y, z = (int(at) for at in request["workgroup"])
    workgroup: Size3 = (x, y, z)
    with open_artifact(request["artifact"]) as artifact, output.open("w", encoding="utf-8") as file:
        part, from_pc = part_key(request.get("part", "run")), int(request["from_pc"])
        launch = launch_of_call(artifact, part, int(request["call"]), Path(request["inputs"]), from_pc)
        lines = TraceLines(lambda line: print(line, file=file), int(request["limit"]), int(request["times"]), from_pc)
        trace = interpretation_of(launch.kernel).trace
        executed = lines.stopped(lambda report: trace(launch, workgroup, int(request["lane"]), report))
        print(lines.summary(executed), file=file)
    return 0


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    return carried_out(arguments, "autoclave.emulator.trace", _trace)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

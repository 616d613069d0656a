"""Memory of one replay, as a process of its own: `python benchmarks/replay_memory.py MODE ARTIFACT INPUTS TRANSLATIONS`.

Prints the process's largest resident size in bytes. MODE says what it does after its imports, the same in all of them:

    baseline    opens the artifact and reads the inputs
    replay      also runs once, with the translations of that file, as a parity test does
    translate   also runs once, and translates itself
"""

import re
import sys
from pathlib import Path

from autoclave.artifact.reader import open_artifact
from autoclave.emulator.jit import best_target
from autoclave.emulator.model import EmulatedModel, Placement
from autoclave.emulator.program import Translation, unpack_translations
from autoclave.native.tensor_files import read_tensors


def largest_resident_size() -> int:
    """Of this process alone: `getrusage` would count what its parent had before the exec."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)[0])


def stored_translations(mode: str, path: str) -> dict[str, Translation] | None:
    """What the mode has of translations beforehand."""
    return unpack_translations(Path(path).read_bytes()) if mode == "replay" else None


def main() -> None:
    """Do what the arguments say."""
    mode, artifact, inputs, translations = sys.argv[1:]
    with open_artifact(Path(artifact)) as opened:
        tensors = read_tensors(Path(inputs), opened.part("run").inputs)
        if mode != "baseline":
            model = EmulatedModel(opened, "run", Placement(best_target()), stored_translations(mode, translations))
            model.run(tensors)
    print(largest_resident_size())


if __name__ == "__main__":
    main()

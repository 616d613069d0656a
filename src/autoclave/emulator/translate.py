"""Translate kernels to host code: `python -m autoclave.emulator.translate request.json`.

The request:

    kernels    what autoclave.emulator.extract took out of an artifact
    cpu, features, lanes, quick
               what to translate for, see `HostTarget`; without `quick`, kernels that have little to do are made quickly all the same
    output     the file of translations

The work is shared among `AUTOCLAVE_PROCESSORS` processes; the same request gives the same bytes however many there are.
"""

import sys
import time
from pathlib import Path
from typing import Any

from autoclave.canonical import canonical_json
from autoclave.emulator.jit import HostTarget
from autoclave.emulator.processors import processors
from autoclave.emulator.shapes import translate_work, unpack_work
from autoclave.emulator.translation import pack_translations
from autoclave.errors import AutoclaveError
from autoclave.native.request import carried_out


def _translate(request: dict[str, Any]) -> int:
    features, quick = str(request.get("features") or ""), bool(request.get("quick"))
    target = HostTarget(str(request["cpu"]), features, int(request["lanes"]), quick)
    try:
        work = unpack_work(Path(request["kernels"]).read_bytes())
    except OSError as error:
        raise AutoclaveError(f"reading the kernels {request['kernels']}: {error.strerror}") from error
    started = time.perf_counter()
    packed = pack_translations(translate_work(work, target, processors()))
    output = Path(request["output"])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(packed)
    milliseconds = round(1000 * (time.perf_counter() - started))
    print(canonical_json({"kernels": len(work), "size": len(packed), "milliseconds": milliseconds}).decode())
    return 0


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    return carried_out(arguments, "autoclave.emulator.translate", _translate)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

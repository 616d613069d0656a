"""Translate kernels to host code: `python -m autoclave.emulator.translate request.json`.

The request:

    kernels    what autoclave.emulator.extract took out of an artifact
    cpu, features, lanes, quick
               what to translate for, see `HostTarget`; without `quick`, kernels that have little to do are made quickly all the same
    known      a file of translations, or none: those of it that are asked for are not made again
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
from autoclave.emulator.translation import pack_translations, unpack_translations
from autoclave.errors import AutoclaveError
from autoclave.native.request import carried_out


def _translate(request: dict[str, Any]) -> int:
    features, quick = str(request.get("features") or ""), bool(request.get("quick"))
    target = HostTarget(str(request["cpu"]), features, int(request["lanes"]), quick)
    work = unpack_work(_read("the kernels", request["kernels"]))
    known = unpack_translations(_read("the translations", request["known"])) if request.get("known") else {}
    started = time.perf_counter()
    packed = pack_translations(translate_work(work, target, processors(), known))
    output = Path(request["output"])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(packed)
    milliseconds = round(1000 * (time.perf_counter() - started))
    print(canonical_json({"kernels": len(work), "size": len(packed), "milliseconds": milliseconds}).decode())
    return 0


def _read(what: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise AutoclaveError(f"reading {what} {path}: {error.strerror}") from error


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    return carried_out(arguments, "autoclave.emulator.translate", _translate)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

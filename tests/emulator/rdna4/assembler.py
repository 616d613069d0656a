"""LLVM 20's assembler for gfx1200, from the wheel ziglang 0.15.2, which the tests themselves do not need.

python -m emulator.rdna4.assembler samples                 write data/gfx1200-encodings.json.gz again
python -m emulator.rdna4.assembler check ARTIFACT...       assemble the text of every instruction of artifacts
"""

import gzip
import json
import random
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from emulator.rdna4.encoding_samples import DATA, random_code

from autoclave.artifact.reader import open_artifact
from autoclave.emulator.rdna4.decoder import decode, decode_kernel
from autoclave.emulator.rdna4.encoding.table import FORMS
from autoclave.emulator.rdna4.launch import kernel_code
from autoclave.emulator.rdna4.text import text
from autoclave.errors import UnknownInstruction

_COMMAND = ("-m", "ziglang", "clang", "-cc1as", "-triple", "amdgcn-amd-amdhsa", "-target-cpu", "gfx1200")
_HALVES = ("-target-feature", "+real-true16")
_ERROR = re.compile(r":(\d+):\d+: error: ")
_TRIES, _TRIED_FOR_EACH, _KEPT_OF_EACH = 400, 10, 3


def assemble(texts: Sequence[str], options: Sequence[str] = ()) -> list[bytes | None]:
    """The code of each instruction, None where the assembler refuses it (it is known to crash on some)."""
    refused = _refused(texts, options)
    if refused is None:
        if len(texts) == 1:
            return [None]
        middle = len(texts) // 2
        return assemble(texts[:middle], options) + assemble(texts[middle:], options)
    good = [number for number in range(len(texts)) if number not in refused]
    found: list[bytes | None] = [None] * len(texts)
    lines = [".text", ".Lstart:", *(f"{texts[number]}\n.L{number}:" for number in good)]
    ends = [".data", *(f".long .L{number}-.Lstart" for number in good)]
    sections = _sections(_run("\n".join([*lines, *ends, ""]), options)[0])
    start = 0
    for number, end in zip(good, struct.unpack(f"<{len(good)}I", sections[".data"]), strict=True):
        found[number] = sections[".text"][start:end]
        start = end
    return found


def _refused(texts: Sequence[str], options: Sequence[str]) -> set[int] | None:
    _, errors = _run("\n".join([*texts, ""]), options)
    return errors


def _run(source: str, options: Sequence[str]) -> tuple[bytes, set[int] | None]:
    """The object, and the lines with errors; None for these if the assembler crashed."""
    with tempfile.TemporaryDirectory() as folder:
        made, given = Path(folder) / "code.o", Path(folder) / "code.s"
        given.write_text(source)
        command = [sys.executable, *_COMMAND, *options, "-filetype", "obj", str(given), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        errors = {int(line) - 1 for line in _ERROR.findall(done.stderr)}
        if done.returncode == 0:
            return made.read_bytes(), errors
        return b"", errors if done.returncode == 1 and errors else None


def _sections(elf: bytes) -> dict[str, bytes]:
    (table,), (count, names) = struct.unpack_from("<Q", elf, 40), struct.unpack_from("<HH", elf, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, table + 64 * number) for number in range(count)]
    strings = headers[names][4]
    return {
        elf[strings + header[0] : elf.index(b"\0", strings + header[0])].decode(): elf[header[4] :][: header[5]]
        for header in headers
    }


def differing(codes: Sequence[bytes]) -> list[tuple[bytes, str]]:
    """Instructions whose text LLVM does not assemble to their code, with the text."""
    texts = [text(decode(code)) for code in codes]
    plain, halves = assemble(texts), assemble(texts, _HALVES)
    return [(code, shown) for code, shown, *found in zip(codes, texts, plain, halves, strict=True) if code not in found]


def _write_samples() -> None:
    dice = random.Random(1200)
    codes = [code for form in FORMS for code in _tried(form, dice)]
    refused = {code for code, _ in differing(codes)}
    kept: dict[object, list[bytes]] = {}
    for code in dict.fromkeys(codes):
        found = decode(code)
        names = [found.encoding, *(one.name for one in found.dual or (found,))]
        if code not in refused and len(kept.setdefault(tuple(names), [])) < _KEPT_OF_EACH:
            kept[tuple(names)].append(code)
    pairs = [json.dumps([code.hex(), text(decode(code))]) for codes in kept.values() for code in codes]
    DATA.write_bytes(gzip.compress(("[\n" + ",\n".join(pairs) + "\n]\n").encode(), 9, mtime=0))
    print(f"{len(codes)} encodings, LLVM makes others of {len(refused)}; {len(pairs)} written")


def _tried(form: object, dice: random.Random) -> list[bytes]:
    found: list[bytes] = []
    for _ in range(_TRIES):
        code = random_code(form, dice)  # type: ignore[arg-type]
        try:
            found.append(code[: decode(code).size])
        except UnknownInstruction:
            continue
        if len(found) == _TRIED_FOR_EACH:
            break
    return found


def _check(path: Path) -> None:
    with open_artifact(path) as artifact:
        kernels = [
            kernel_code(each.name, bytes(artifact.read(each.lib)), each.launch) for each in artifact.header.kernels
        ]
    codes = {
        kernel.code[each.pc : each.pc + each.size]: None
        for kernel in kernels
        for each in decode_kernel(kernel.code, kernel.name)
    }
    wrong = differing(list(codes))
    print(f"{path}: {len(codes)} different instructions, {len(wrong)} that LLVM assembles otherwise")
    for code, shown in wrong:
        print(f"  {code.hex()} {shown}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["check"]:
        for argument in sys.argv[2:]:
            _check(Path(argument))
    else:
        _write_samples()

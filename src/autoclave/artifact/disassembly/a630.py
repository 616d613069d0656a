"""a630 kernels (bare IR3 instructions) by Mesa's disassembler, the one in the tinymesa wheel.

The C code runs in a process of its own, so that a hostile kernel cannot take down who looks at it.
"""

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tinymesa

from autoclave.artifact.disassembly.instruction import Instruction
from autoclave.errors import ArtifactError

INSTRUCTION_SIZE = 8
_GPU = 630
_SOURCES = str(Path(__file__).resolve().parents[3])
_TIME_LIMIT = 60
"""Seconds; real kernels take a few milliseconds."""

_MARK = b"\x01"


def decode(kernels: Sequence[tuple[str, bytes]]) -> list[tuple[Instruction, ...]]:
    """The instructions of each kernel (name and code); the name does not matter, since the entry is at the start."""
    for name, code in kernels:
        if len(code) % INSTRUCTION_SIZE:
            raise ArtifactError(f"kernel {name!r}: a630 code of {len(code)} bytes is not whole instructions of 8 bytes")
    printed = _run([code for _, code in kernels])
    return [_instructions(code, texts) for (_, code), texts in zip(kernels, printed, strict=True)]


def _run(codes: list[bytes]) -> Any:
    """What `_main` says about `codes`, from a process of its own."""
    command = [sys.executable, "-m", "autoclave.artifact.disassembly.a630"]
    # sys.path may have folders relative to where the process began.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([_SOURCES, *filter(None, sys.path)])}
    request = json.dumps([code.hex() for code in codes]).encode()
    try:
        done = subprocess.run(
            command, input=request, capture_output=True, env=environment, timeout=_TIME_LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        raise ArtifactError(f"Mesa's disassembler did not finish within {_TIME_LIMIT} s") from None
    if done.returncode != 0:
        reason = done.stderr[-200:].decode(errors="replace")
        raise ArtifactError(f"Mesa's disassembler failed (exit code {done.returncode}): {reason}")
    return json.loads(done.stdout)


def _instructions(code: bytes, printed: list[tuple[str | None, str]]) -> tuple[Instruction, ...]:
    return tuple(
        Instruction(at, code[at : at + INSTRUCTION_SIZE], text, at // INSTRUCTION_SIZE, label)
        for at, (label, text) in zip(range(0, len(code), INSTRUCTION_SIZE), printed, strict=False)
    )


_BEFORE_INSTRUCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)


class _Options(ctypes.Structure):
    """`struct isa_decode_options` of Mesa 25.2, src/compiler/isaspec/isaspec.h."""

    _fields_ = (
        ("gpu_id", ctypes.c_uint32),
        ("show_errors", ctypes.c_bool),
        ("max_errors", ctypes.c_uint32),
        ("branch_labels", ctypes.c_bool),
        ("stop", ctypes.c_bool),
        ("cbdata", ctypes.c_void_p),
        ("field_cb", ctypes.c_void_p),
        ("field_print_cb", ctypes.c_void_p),
        ("pre_instr_cb", _BEFORE_INSTRUCTION),
        ("post_instr_cb", ctypes.c_void_p),
        ("no_match_cb", ctypes.c_void_p),
        ("entrypoint_count", ctypes.c_uint32),
        ("entrypoints", ctypes.c_void_p),
    )


def _print(code: bytes) -> str:
    """What Mesa prints of `code`, with a mark before each instruction."""
    mesa, libc = ctypes.CDLL(str(tinymesa.libtinymesa)), ctypes.CDLL(None)
    libc.open_memstream.restype = ctypes.c_void_p
    text, size = ctypes.c_char_p(), ctypes.c_size_t()
    stream = ctypes.c_void_p(libc.open_memstream(ctypes.byref(text), ctypes.byref(size)))

    def mark(data: int | None, number: int, instruction: int | None) -> None:
        libc.fputs(_MARK, stream)

    callback = _BEFORE_INSTRUCTION(mark)
    options = _Options(gpu_id=_GPU, show_errors=True, branch_labels=True, pre_instr_cb=callback)
    mesa.ir3_isa_disasm(code, len(code), stream, ctypes.byref(options))
    libc.fclose(stream)
    return ctypes.string_at(text, size.value).decode(errors="replace")


def _labelled(pieces: list[str]) -> list[tuple[str | None, str]]:
    """Label and text of each instruction; Mesa prints a label as a piece of its own, before its instruction."""
    found: list[tuple[str | None, str]] = []
    label = None
    for piece in pieces:
        text = " ".join(piece.split())
        if text.endswith(":") and " " not in text:
            label = text[:-1]
        else:
            found.append((label, text))
            label = None
    return found


def _main() -> None:
    codes = [bytes.fromhex(code) for code in json.load(sys.stdin)]
    json.dump([_labelled(_print(code).split(_MARK.decode())[1:]) for code in codes], sys.stdout)


if __name__ == "__main__":
    _main()

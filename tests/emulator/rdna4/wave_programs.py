"""Small gfx1200 programs for tests: instructions from strings of operands, and launches of them."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoclave.emulator.launch import Launch, Size3
from autoclave.emulator.memory import BoundBuffer, guest_address
from autoclave.emulator.overlay import Overlay
from autoclave.emulator.rdna4.encoder import encode
from autoclave.emulator.rdna4.encoding.form import FIXED, Form, Slot
from autoclave.emulator.rdna4.encoding.table import BY_NAME
from autoclave.emulator.rdna4.encoding.types import inline_constant, literal_constant, registers
from autoclave.emulator.rdna4.instruction import (
    EXEC,
    M0,
    NULL,
    SCC,
    TTMP,
    VCC,
    Destination,
    Instruction,
    Literal32,
    Operand,
    Register,
    Source,
)
from autoclave.emulator.rdna4.interpreter import Interpreter
from autoclave.emulator.rdna4.launch import ARGUMENT_POINTER, FLOAT_MODE, WAVE_32, KernelCode

_ENCODINGS = (
    "SOP1", "SOP2", "SOPC", "SOPK", "SOPP", "SMEM", "VOP3P", "VOP3SD", "VOP3", "VOP1", "VOP2", "DS", "GLOBAL", "FLAT", "SCRATCH",
)  # fmt: skip
_SPECIAL = {"vcc": VCC, "m0": M0, "exec": EXEC, "null": NULL, "scc": SCC}
_REGISTER = re.compile(r"(?P<file>ttmp|s|v)(\[(?P<first>\d+):\d+\]|(?P<number>\d+))(?P<high>\.h)?")
_FIRST_INLINE, _LAST_INLINE = 128, 64
"""Code of the inline constant 0, and the last that is used here."""

_MEMORY = ("DS", "GLOBAL", "FLAT", "SCRATCH")

ALL_WORKGROUP_NUMBERS = 2 << 11 | 0b111 << 7 | 2 << 1
"""COMPUTE_PGM_RSRC2 that asks for everything: workgroup numbers x, y, z, thread numbers x, y, z, and two user registers."""


def register(text: str, kind: str) -> Register:
    """ "v1", "v1.h", "v[2:3]", "s4", "ttmp9", "vcc", "exec", "m0", "null", "scc"."""
    if text in _SPECIAL:
        return Register("s", _SPECIAL[text], registers(kind))
    found = _REGISTER.fullmatch(text)
    assert found is not None, text
    number = int(found["first"] or found["number"])
    if found["file"] == "ttmp":
        return Register("s", number + TTMP, registers(kind))
    return Register("v" if found["file"] == "v" else "s", number, registers(kind), found["high"] is not None)


def operand(value: str | int, kind: str) -> Operand:
    """A register, or the bits of a literal."""
    if isinstance(value, str):
        return register(value, kind)
    if -16 <= value <= _LAST_INLINE:
        code = _FIRST_INLINE + (value if value >= 0 else _LAST_INLINE - value)
        return Literal32(inline_constant(code, kind), inline=True, encoded=code)
    return Literal32(literal_constant(value & 0xFFFFFFFF, kind), inline=False, encoded=value & 0xFFFFFFFF)


def source(value: str | int | Source, slot: Slot, packed: bool) -> Source:
    """An operand with marks before it: "-v1", "|v1|", "-|v1|"; packed halves are each taken from their own."""
    if isinstance(value, Source):
        return value
    negated = isinstance(value, str) and value.startswith("-")
    text = value.lstrip("-") if isinstance(value, str) else value
    absolute = isinstance(text, str) and text.startswith("|")
    bare = text.strip("|") if isinstance(text, str) else text
    read = operand(bare, slot.type)
    if slot.high and isinstance(read, Register):
        read = replace(read, high=True)
    return Source(read, slot.type, negated, absolute, high_of_second=packed and slot.type.endswith("x2"))


def form_of(name: str, encoding: str | None) -> Form:
    """The form of a name: of several encodings, that which can express most."""
    return next(BY_NAME[one, name] for one in ([encoding] if encoding else _ENCODINGS) if (one, name) in BY_NAME)


def ins(name: str, to: str | Sequence[str] = (), *sources: str | int | Source, **fields: Any) -> Instruction:
    """An instruction, not placed yet; what its form implies, like the old destination, is added."""
    form = form_of(name, fields.pop("encoding", None))
    named = [to] if isinstance(to, str) else list(to)
    slots = () if "atomic" in form.flags and not named else form.destinations
    destinations = tuple(
        Destination(replace(register(_fixed(slot) or named.pop(0), slot.type), **_half(slot)), slot.type)
        for slot in slots
    )
    given, packed = list(sources), form.encoding == "VOP3P"
    if form.encoding in _MEMORY:
        return _memory(form, destinations, given, fields)
    read = []
    for slot in form.sources:
        if not slot.written and slot.place not in FIXED:
            read.append(Source(destinations[0].operand, slot.type))
        else:
            read.append(source(_fixed(slot) or given.pop(0), slot, packed))
    if form.encoding == "SMEM":
        fields["has_scalar_base"] = True
        read += [Source(operand(given.pop(0), "u32"), "u32") for _ in given[:1]]
    assert not given, f"{name}: {given} left over"
    return Instruction(0, 0, name, form.encoding, destinations, tuple(read), **fields)


def _half(slot: Slot) -> dict[str, bool]:
    return {"high": True} if slot.high else {}


def _fixed(slot: Slot) -> str | None:
    return slot.place if slot.place in FIXED else None


def _memory(
    form: Form, destinations: tuple[Destination, ...], given: list[str | int | Source], fields: dict[str, Any]
) -> Instruction:
    """ins("global_load_b32", "v1", "v[2:3]"), ("global_store_b32", (), "v2", "v1", "s[0:1]"), ("scratch_load_b32", "v1", "off")."""
    if form.encoding == "DS":
        read = [source(value, slot, False) for value, slot in zip(given, form.sources, strict=True)]
        return Instruction(
            0, 0, form.name, "DS", destinations, tuple(read), has_vector_address=form.name != "ds_swizzle_b32", **fields
        )
    based = len(given) > 1 + len(form.sources)
    kind = "u32" if based or form.encoding == "SCRATCH" else "u64"
    address, *rest = given
    read = [] if address == "off" else [source(address, Slot("", kind, ""), False)]
    read += [source(value, slot, False) for value, slot in zip(rest, form.sources, strict=False)]
    if based:
        read.append(source(rest[-1], Slot("", "u32" if form.encoding == "SCRATCH" else "u64", ""), False))
    return Instruction(
        0,
        0,
        form.name,
        form.encoding,
        destinations,
        tuple(read),
        has_vector_address=address != "off",
        has_scalar_base=based,
        **fields,
    )


def dual(first: Instruction, second: Instruction) -> Instruction:
    """A VOPD of two instructions made by `ins(..., encoding="VOPD")`."""
    return Instruction(0, 0, "v_dual", "VOPD", dual=(first, second))


def code_of(instructions: Sequence[Instruction | str]) -> bytes:
    """The code of a program. A string is a label; an instruction's `target` may be one: its number among the strings."""
    labels: list[int] = []
    placed, pc = [], 0
    for one in instructions:
        if isinstance(one, str):
            labels.append(pc)
        else:
            placed.append(_placed(one, pc))
            pc += len(encode(_placed(replace(one, target=None if one.target is None else 0), 0)))
    return b"".join(encode(_placed(one, one.pc, labels)) for one in placed)


def _placed(instruction: Instruction, pc: int, labels: Sequence[int] | None = None) -> Instruction:
    """The instruction at `pc`, and, given the labels' places, with its target."""
    if instruction.dual is not None:
        first, second = (replace(one, pc=pc) for one in instruction.dual)
        return replace(instruction, pc=pc, dual=(first, second))
    if instruction.target is None:
        return replace(instruction, pc=pc)
    target = instruction.target if labels is None else labels[instruction.target]
    return replace(instruction, pc=pc, target=target, immediate=(target - pc - 4) // 4)


def kernel_of(instructions: Sequence[Instruction | str], **fields: Any) -> KernelCode:
    """A kernel that ends behind `instructions`."""
    return kernel_of_code(code_of([*instructions, ins("s_endpgm")]), **fields)


def kernel_of_code(
    code: bytes,
    shared_bytes: int = 0,
    private_bytes: int = 0,
    argument_bytes: int = 16,
    rsrc2: int = ALL_WORKGROUP_NUMBERS,
) -> KernelCode:
    """A kernel that is set up with all that there is to set up."""
    return KernelCode(
        "k",
        code,
        private_bytes,
        shared_bytes,
        argument_bytes,
        FLOAT_MODE << 12,
        rsrc2,
        0,
        WAVE_32 | ARGUMENT_POINTER,
    )


def launch_of(
    program: Sequence[Instruction | str] | bytes,
    buffers: Sequence[NDArray[Any]] = (),
    global_size: Size3 = (1, 1, 1),
    local_size: Size3 = (32, 1, 1),
    values: Sequence[int] = (),
    **fields: Any,
) -> Launch:
    """A launch: s[0:1] has the address of the kernel's arguments, which are the addresses of `buffers` and then `values`."""
    fields["argument_bytes"] = 8 * len(buffers) + 4 * len(values)
    kernel = kernel_of_code(program, **fields) if isinstance(program, bytes) else kernel_of(program, **fields)
    addresses = np.array([guest_address(slot) for slot in range(len(buffers))], np.uint64)
    arguments = np.concatenate((addresses.view(np.uint8), np.array(values, np.uint32).view(np.uint8)))
    arguments.flags.writeable = False
    bound = tuple(
        BoundBuffer(guest_address(slot), memory.reshape(-1).view(np.uint8))
        for slot, memory in enumerate((*buffers, arguments))
    )
    constants = np.array([guest_address(len(buffers))], np.uint64).tobytes()
    return Launch(kernel, global_size, local_size, constants, bound)


def interpret(launch: Launch, budget: int = 1 << 20) -> int:
    """Run all workgroups of a launch on its memory; returns the instructions executed."""
    interpreter, overlay = Interpreter(launch.kernel), Overlay()
    width, height, depth = launch.global_size
    executed = sum(
        interpreter.run_workgroup(launch, (x, y, z), overlay, budget=budget)
        for z in range(depth)
        for y in range(height)
        for x in range(width)
    )
    overlay.commit()
    return executed


ADDRESSES = [ins("s_load_b64", "s[100:101]", "s[0:1]"), ins("s_load_b64", "s[102:103]", "s[0:1]", immediate=8)]
"""Loads the addresses of the first two buffers. (The second is whatever follows if there is one only.)"""


def in_lanes(
    program: Sequence[Instruction | str],
    result: str = "v1",
    lanes: int = 32,
    data: NDArray[Any] | None = None,
    **fields: Any,
) -> list[int]:
    """What `result` holds at the end, of each of `lanes` threads, which find their number in v0 and v255; s[102:103]: `data`."""
    output = np.zeros(lanes, np.uint32)
    second = np.zeros(4, np.uint32) if data is None else data
    whole = [
        *ADDRESSES,
        ins("v_mov_b32", "v255", "v0"),
        *program,
        ins("s_mov_b32", "exec", 0xFFFFFFFF),
        ins("v_lshlrev_b32", "v254", 2, "v255"),
        ins("v_mov_b32", "v253", result),
        ins("global_store_b32", (), "v254", "v253", "s[100:101]"),
    ]
    interpret(launch_of(whole, [output, second], local_size=(lanes, 1, 1), **fields))
    return output.tolist()


ATOMIC_RETURN = 1 << 2
"""The bit of the policy that asks for what was there before."""

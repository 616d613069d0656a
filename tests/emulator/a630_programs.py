"""Small a630 programs for tests: instructions from strings of operands, encoded, and launches of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from autoclave.emulator.a630.encoder import encode
from autoclave.emulator.a630.encoding.table import FORMS
from autoclave.emulator.a630.instruction import Constant, Image, Immediate, Instruction, Operand, Register, Source
from autoclave.emulator.a630.interpreter import interpret_workgroup
from autoclave.emulator.a630.launch import KernelCode
from autoclave.emulator.launch import Launch
from autoclave.emulator.memory import BoundBuffer, BoundImage, guest_address
from autoclave.emulator.overlay import Overlay

CATEGORIES = {name: form.category for form in FORMS for name in form.names}
_SPECIAL = {"a0": 61, "p0": 62}

WORKGROUP_REGISTER = 4 * 48
THREAD_REGISTER = 0


def operand(text: str | int | Operand) -> Operand:
    """ "r1.x", "hr0.y", "c2.z", "hc0.x", "r<4>" and "c<-1>" (by a0.x), a literal of 32 bits, or "h5", one of 16."""
    if not isinstance(text, str):
        return Immediate(text & 0xFFFFFFFF) if isinstance(text, int) else text
    half, name = text.startswith("h"), text.removeprefix("h")
    if name[0] not in "rcap":
        return Immediate(int(name, 0) & 0xFFFF, half=True)
    kind = Constant if name[0] == "c" else Register
    if name[1] == "<":
        return kind(int(name[2:-1]), half, relative=True)
    vector, component = name.split(".")
    number = _SPECIAL[vector] if vector in _SPECIAL else int(vector[1:])
    return kind(4 * number + "xyzw".index(component), half)


def source(text: str | int | Operand) -> Source:
    """An operand with marks before it: "(neg)r1.x", "(abs)", "(r)", and "!p0.x"."""
    marks = {"(neg)": "negated", "(abs)": "absolute", "(r)": "repeated", "!": "negated"}
    fields: dict[str, bool] = {}
    while isinstance(text, str):
        mark = next((mark for mark in marks if text.startswith(mark)), None)
        if mark is None:
            break
        fields[marks[mark]] = True
        text = text.removeprefix(mark)
    return Source(operand(text), **fields)


def ins(name: str, to: str | Sequence[str] = (), *sources: str | int | Operand, **fields: Any) -> Instruction:
    """An instruction, not placed yet; `to` is its destination or destinations."""
    destinations = tuple(operand(one) for one in ((to,) if isinstance(to, str) else to))
    return Instruction(0, 0, CATEGORIES[name], name, destinations, tuple(source(one) for one in sources), **fields)


def mov(to: str, value: str | int, kind: str = "u32", **fields: Any) -> Instruction:
    """mov of one type."""
    return ins("mov", to, value, source_type=kind, type=kind, **fields)


def load(name: str, to: str, address: str, kind: str = "u32", count: int = 1, offset: int = 0) -> Instruction:
    """ldg, ldl or ldp."""
    return ins(name, to, address, type=kind, count=count, offset=offset)


def store(name: str, address: str, data: str, kind: str = "u32", count: int = 1, offset: int = 0) -> Instruction:
    """stg, stl or stp."""
    return ins(name, (), address, data, type=kind, count=count, offset=offset)


def isam(to: str, coordinates: str, texture: int = 0, kind: str = "f32", mask: int = 0b1111) -> Instruction:
    """Read a pixel of a texture."""
    return ins("isam", to, coordinates, type=kind, image=Image(texture, texture, mask, flags=("1d",)))


def stib(data: str, coordinates: str, image: int = 0, kind: str = "f32") -> Instruction:
    """Write a pixel of an image."""
    return ins("stib.b", (), data, coordinates, type=kind, count=4, image=Image(image, flags=("imm",)))


def atomic(name: str, to: str, address: str, data: str, kind: str = "u32") -> Instruction:
    """atomic.add and its like (shared memory), atomic.g.add and its like (buffers)."""
    return ins(name, to, address, data, type=kind, image=Image(None, typed=False, dimensions=1))


END = ins("end")


def code_of(instructions: Sequence[Instruction]) -> bytes:
    """The machine code, each instruction at its place."""
    placed = (Instruction(**{**_fields(one), "pc": pc}) for pc, one in enumerate(instructions))
    return b"".join(encode(one).to_bytes(8, "little") for one in placed)


def _fields(instruction: Instruction) -> dict[str, Any]:
    return {name: getattr(instruction, name) for name in Instruction.__dataclass_fields__}


def kernel_of(code: bytes, **fields: Any) -> KernelCode:
    """A kernel that finds its workgroup in r48.x and its thread in r0.x."""
    plain: dict[str, Any] = {
        "name": "tested",
        "private_bytes": 0,
        "shared_bytes": 0,
        "work_group_id": WORKGROUP_REGISTER,
        "local_invocation_id": THREAD_REGISTER,
        "merged_registers": False,
        "double_threadsize": False,
        "constant_length": 16,
        "arguments_offset": 0,
        "immediates_offset": 0,
        "immediates": (),
        "driver_params_offset": None,
        "driver_params_size": 0,
        "buffer_slots": (),
        "image_slots": (),
        "texture_slots": (),
        "constant_demotion": True,
    }
    return KernelCode(code=code, **plain | fields)


def launch_of(
    instructions: Sequence[Instruction] | bytes,
    buffers: Sequence[np.ndarray] = (),
    images: Sequence[np.ndarray] = (),
    textures: Sequence[np.ndarray] = (),
    constants: Sequence[int] = (),
    local_size: tuple[int, int, int] = (1, 1, 1),
    global_size: tuple[int, int, int] = (1, 1, 1),
    **fields: Any,
) -> Launch:
    """A launch. The addresses of the buffers are constants c0.xy, c0.zw ...; `constants` follow from c8.x on."""
    code = instructions if isinstance(instructions, bytes) else code_of([*instructions, END])
    addresses = np.array([guest_address(slot) for slot in range(len(buffers))], "<u8").tobytes()
    file = addresses.ljust(16 * 8, b"\0") + np.array(constants, "<u4").tobytes()
    slots = {
        "buffer_slots": tuple(range(len(buffers))),
        "image_slots": tuple(range(len(images))),
        "texture_slots": tuple(range(len(textures))),
    }
    return Launch(
        kernel_of(code, **slots | fields),
        global_size,
        local_size,
        file.ljust(-(-len(file) // 16) * 16, b"\0"),
        tuple(BoundBuffer(guest_address(slot), _bytes(buffer)) for slot, buffer in enumerate(buffers)),
        tuple(_image(image) for image in images),
        tuple(_image(texture) for texture in textures),
    )


def _bytes(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)


def _image(array: np.ndarray) -> BoundImage:
    height, width, _ = array.shape
    return BoundImage(_bytes(array), width, height, array.dtype.name)


def interpret(launch: Launch, workgroup: tuple[int, int, int] = (0, 0, 0), budget: int = 100_000) -> Launch:
    """Interpret a whole workgroup and put what it wrote into the launch's memory; gives the launch."""
    overlay = Overlay()
    interpret_workgroup(launch, workgroup, None, overlay, budget)
    overlay.commit()
    return launch


def results(instructions: Sequence[Instruction], *registers: str, **launch: Any) -> list[int]:
    """What `registers` hold after `instructions` in a single thread, as unsigned patterns."""
    output = np.zeros(len(registers), np.uint32)
    stores = [
        one
        for place, register in enumerate(registers)
        for one in (
            mov("r40.x", "c0.x"),
            mov("r40.y", "c0.y"),
            *_word(register),
            store("stg", "r40.x", "r41.x", offset=4 * place),
        )
    ]
    interpret(launch_of([*instructions, *stores], buffers=[output], **launch))
    return [int(word) for word in output]


def _word(register: str) -> list[Instruction]:
    """Bring a register to r41.x."""
    if register.startswith("h"):
        return [ins("cov", "r41.x", register, source_type="u16", type="u32")]
    return [mov("r41.x", register)]

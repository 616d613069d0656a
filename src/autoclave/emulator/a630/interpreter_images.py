"""Images of the interpreter: isam reads a texture's pixel, ldib.b and stib.b read and write an image's.

Coordinates are signed integers in two registers, x and y. Outside the image a read gives zeros and a write is dropped.
"""

from collections.abc import Callable, Sequence

from autoclave.emulator.a630.instruction import Image, Instruction, Operand, Register
from autoclave.emulator.a630.interpreter_operands import Binder, Write
from autoclave.emulator.a630.machine import Machine
from autoclave.emulator.overlay import PIXEL_BYTES, View
from autoclave.emulator.scalar.conversion import half_to_single, single_to_half_nearest_even
from autoclave.emulator.turns import Step

_COMPONENTS = 4
_ITEM_BYTES = {dtype: size // _COMPONENTS for dtype, size in PIXEL_BYTES.items()}
_SIGN = 1 << 31

Convert = Callable[[int], int]


def _same(bits: int) -> int:
    return bits


_LOADED: dict[tuple[str, str], Convert] = {
    ("float16", "f16"): _same,
    ("float16", "f32"): half_to_single,
    ("float32", "f32"): _same,
    ("float32", "f16"): single_to_half_nearest_even,
}
"""What a register gets, by the image's dtype and the instruction's type."""

_STORED: dict[tuple[str, str], Convert] = {
    ("float16", "f16"): _same,
    ("float16", "f32"): single_to_half_nearest_even,
    ("float32", "f32"): _same,
    ("float32", "f16"): half_to_single,
}
"""What an image gets, by its dtype and the instruction's type."""


def _load(machine: Machine, instruction: Instruction) -> tuple[Step, ...]:
    image = _known_form(machine, instruction)
    views = machine.textures if instruction.name == "isam" else machine.images
    at, kind, pc = _pixel(machine, instruction, instruction.sources[0].operand), instruction.type or "", instruction.pc
    writes = _component_writes(machine, instruction, image)

    def step() -> None:
        view = _bound(machine, views, slot, pc)
        column, row = at()
        assert view.image is not None
        if 0 <= column < view.image.width and 0 <= row < view.image.height:
            loaded = _pixel_bits(machine, view, row * view.image.width + column)
            convert = _LOADED[view.image.dtype, kind]
            for component, write in writes:
                write(convert(loaded[component]))
        else:
            for _, write in writes:
                write(0)

    assert image.texture is not None
    slot = image.texture
    return (step,)


def _store(machine: Machine, instruction: Instruction) -> tuple[Step, ...]:
    image = _known_form(machine, instruction)
    binder, data = Binder(machine, instruction), instruction.sources[0].operand
    at, kind, pc = _pixel(machine, instruction, instruction.sources[1].operand), instruction.type or "", instruction.pc
    if instruction.count != _COMPONENTS:
        machine.unknown(pc, f"{instruction.name} of {instruction.count} components; an image has {_COMPONENTS}")
    reads = [binder.read(data, component) for component in range(_COMPONENTS)]

    def step() -> None:
        view = _bound(machine, machine.images, slot, pc)
        column, row = at()
        assert view.image is not None
        if 0 <= column < view.image.width and 0 <= row < view.image.height:
            convert, size = _STORED[view.image.dtype, kind], _ITEM_BYTES[view.image.dtype]
            offset = (row * view.image.width + column) * size * _COMPONENTS
            for component, read in enumerate(reads):
                machine.store(view, offset + component * size, size, convert(read()), pc)

    assert image.texture is not None
    slot = image.texture
    return (step,)


def _known_form(machine: Machine, instruction: Instruction) -> Image:
    """The instruction's image, if it is of the one form that has a rule: 2D, typed, a literal slot, f16 or f32."""
    image = instruction.image
    assert image is not None
    unknown = set(image.flags) - _IGNORED_FLAGS
    offset = instruction.offset or len(instruction.sources) > _SOURCES[instruction.name]
    if image.texture is None or image.dimensions != 2 or image.array or not image.typed or offset or unknown:
        machine.unknown(instruction.pc, f"{instruction.name} of a form that has no rule: {image}")
    if instruction.type not in ("f16", "f32"):
        machine.unknown(instruction.pc, f"{instruction.name} of type {instruction.type}; an image holds floats")
    return image


_SOURCES = {"isam": 1, "ldib.b": 1, "stib.b": 2}
"""How many sources the known form has."""

_IGNORED_FLAGS = frozenset({"1d", "imm"})
"""`1d` reads x and y too (`instruction.Image`); `imm` says what `Image.texture` is."""


def _bound(machine: Machine, views: Sequence[View], slot: int, pc: int) -> View:
    if slot >= len(views):
        machine.fault(pc, f"uses image slot {slot}; {len(views)} are bound", slot)
    return views[slot]


def _pixel(machine: Machine, instruction: Instruction, operand: Operand) -> Callable[[], tuple[int, int]]:
    """A function that gives the signed column and row."""
    if not isinstance(operand, Register) or operand.half:
        machine.unknown(instruction.pc, f"{instruction.name} has no rule for coordinates that are no full registers")
    binder = Binder(machine, instruction)
    x, y = binder.read(operand, 0), binder.read(operand, 1)
    return lambda: ((x() ^ _SIGN) - _SIGN, (y() ^ _SIGN) - _SIGN)


def _component_writes(machine: Machine, instruction: Instruction, image: Image) -> list[tuple[int, Write]]:
    """Component and write function of each component that the mask asks for; each has its own register, gaps included."""
    binder, (destination,) = Binder(machine, instruction), instruction.destinations
    components = [component for component in range(_COMPONENTS) if image.mask >> component & 1]
    return [(component, binder.write(destination, component)) for component in components]


def _pixel_bits(machine: Machine, view: View, pixel: int) -> Sequence[int]:
    """The four components of a pixel, as the image holds them."""
    assert view.image is not None
    size = _ITEM_BYTES[view.image.dtype]
    offset = pixel * size * _COMPONENTS
    if machine.overlay.covers(view, offset, size * _COMPONENTS):
        return [machine.overlay.load(view, offset + size * component, size) for component in range(_COMPONENTS)]
    elements = view.words if size == 4 else view.halves
    return elements[pixel * _COMPONENTS : (pixel + 1) * _COMPONENTS]


IMAGES = {"isam": _load, "ldib.b": _load, "stib.b": _store}
"""Image instructions, by name."""

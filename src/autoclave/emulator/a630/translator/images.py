"""Images: isam reads a texture's pixel, ldib.b and stib.b read and write an image's.

Coordinates are signed. Outside of the image a read gives zeros and a write is dropped. Where all lanes read one pixel it is
loaded once.
"""

from dataclasses import dataclass

from autoclave.emulator.a630.instruction import Instruction, Register
from autoclave.emulator.a630.translator.content import Content
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.operations import Operation, plus
from autoclave.emulator.ir import Value, lanes_of, vector
from autoclave.emulator.translator.faults import THREAD
from autoclave.emulator.translator.frame import BLACK_AT, IMAGE_BYTES, images_at
from autoclave.emulator.translator.lane_context import are_consecutive

COMPONENTS = 4
_REGISTER = 8
"""Words of 64 bits in a register of AVX-512."""
_KNOWN_FLAGS = frozenset({"1d", "imm"})
"""`1d` reads x and y too; `imm` says that the slot is literal."""

_IMAGE_NAMES = frozenset({"isam", "ldib.b", "stib.b"})


@dataclass(frozen=True, slots=True)
class ImageContext:
    """The launch's images and textures: their formats, and how many buffers stand before them in the launch block."""

    images: tuple[str, ...]
    textures: tuple[str, ...]
    buffers: int


def unknown_image(instruction: Instruction, context: ImageContext) -> str | None:
    """Why there is no rule for an image instruction; None if there is one."""
    image = instruction.image
    if instruction.name not in _IMAGE_NAMES or image is None:
        return ""
    formats = context.textures if instruction.name == "isam" else context.images
    if image.texture is None or image.dimensions != 2 or image.array or not image.typed:
        return f"of the form {image}"
    if instruction.offset or len(instruction.sources) > (2 if instruction.name == "stib.b" else 1):
        return "with an offset, or a source more"
    if unknown := set(image.flags) - _KNOWN_FLAGS:
        return f"with {', '.join(sorted(unknown))}"
    if image.texture >= len(formats):
        return f"of slot {image.texture}, of {len(formats)}"
    if instruction.type not in ("f16", "f32"):
        return f"of type {instruction.type}"
    if instruction.name == "stib.b" and instruction.count != COMPONENTS:
        return f"of {instruction.count} components"
    coordinates = instruction.sources[1 if instruction.name == "stib.b" else 0].operand
    if not isinstance(coordinates, Register) or coordinates.half:
        return "with coordinates that are no full registers"
    return None


@dataclass(frozen=True, slots=True)
class _Image:
    base: Value
    width: Value
    height: Value
    half: bool


@dataclass(frozen=True, slots=True)
class _Pixels:
    """x and y, both scalars or both vectors; inside: whether they are within the image; index: y * width + x."""

    inside: Value
    index: Value

    @property
    def uniform(self) -> bool:
        return lanes_of(self.index.type) is None


def access_image(lanes: Lanes, context: ImageContext, operation: Operation) -> None:
    """Carry out isam, ldib.b or stib.b."""
    storing = operation.name == "stib.b"
    image = _image(lanes, context, operation)
    coordinates = operation.sources[1 if storing else 0].operand
    assert isinstance(coordinates, Register)
    pixels = _pixels(lanes, image, coordinates)
    if storing:
        _store(lanes, operation, image, pixels)
    else:
        _load(lanes, operation, image, pixels)


def _image(lanes: Lanes, context: ImageContext, operation: Operation) -> _Image:
    slot = operation.instruction.image
    assert slot is not None and slot.texture is not None
    texture = operation.name == "isam"
    number = slot.texture + (len(context.images) if texture else 0)
    entry = images_at(context.buffers) + IMAGE_BYTES * number
    return _Image(
        base=lanes.bound(entry, "ptr", 8),
        width=lanes.bound(entry + 8, "i32", 4),
        height=lanes.bound(entry + 12, "i32", 4),
        half=(context.textures if texture else context.images)[slot.texture] == "float16",
    )


def _pixels(lanes: Lanes, image: _Image, coordinates: Register) -> _Pixels:
    ir = lanes.ir
    x, y = lanes.bits(lanes.read(coordinates)), lanes.bits(lanes.read(plus(coordinates, 1)))
    # A negative number is above every unsigned size.
    inside = ir.binary("and", *lanes.alike(_below(lanes, x, image.width), _below(lanes, y, image.height)))
    row = ir.binary("mul", *lanes.alike(y, image.width))
    return _Pixels(inside, ir.binary("add", *lanes.alike(row, x)))


def _below(lanes: Lanes, coordinate: Value, size: Value) -> Value:
    return lanes.ir.compare("ult", *lanes.alike(coordinate, size))


# Reads


def _load(lanes: Lanes, operation: Operation, image: _Image, pixels: _Pixels) -> None:
    wanted = operation.instruction.image
    assert wanted is not None
    (destination,) = operation.destinations
    if pixels.uniform:
        loaded = _load_one(lanes, image, pixels, widening=image.half and not destination.half)
    else:
        loaded = _load_each(lanes, image, pixels)
    for component in range(COMPONENTS):
        if wanted.mask >> component & 1:
            register = plus(destination, component)
            lanes.write(register, _loaded(lanes, operation.instruction, image, loaded[component], register.half))


def _loaded(lanes: Lanes, instruction: Instruction, image: _Image, value: Value, half: bool) -> Content:
    """A component as the register gets it: f16 to f32 exactly, f32 to f16 to nearest even."""
    if image.half == half:
        return Content(half=half, bits=value, opaque=True)
    if image.half:
        return Content(number=_widened(lanes, value), opaque=True)
    number = lanes.ir.convert("bitcast", value, "float")
    return Content(half=True, bits=lanes.library("single_to_half_nearest_even", number), opaque=True)


def _widened(lanes: Lanes, value: Value) -> Value:
    """Halves as f32; a single one may have been widened with its pixel."""
    return value if value.type == "float" else lanes.library("half_to_single", value)


def _load_one(lanes: Lanes, image: _Image, pixels: _Pixels, widening: bool) -> list[Value]:
    """The pixel of all lanes. widening: its halves as f32, all at once."""
    ir = lanes.ir
    element = "i16" if image.half else "i32"
    pointer = ir.offset(image.base, ir.convert("zext", pixels.index, "i64"), f"[4 x {element}]")
    pointer = ir.select(pixels.inside, pointer, ir.offset(THREAD, BLACK_AT))
    pixel = ir.load(pointer, vector(COMPONENTS, element), 2 if image.half else 4)
    if not widening:
        return [ir.element(pixel, component) for component in range(COMPONENTS)]
    # To be taken from memory, one by one: the host loads a number into all lanes, which spares its units for shuffles.
    widened = lanes.library("half_to_single", pixel)
    place = ir.alloca(widened.type)
    ir.store(widened, place, 16, kept=True)
    return [ir.load(ir.offset(place, 4 * component), "float", 4) for component in range(COMPONENTS)]


def _load_each(lanes: Lanes, image: _Image, pixels: _Pixels) -> list[Value]:
    """Each lane's pixel, in words of 64 bits."""
    mask = pixels.inside if lanes.mask is None else lanes.ir.binary("and", pixels.inside, lanes.mask)
    words = [_gather_word(lanes, image, pixels.index, word, mask) for word in range(1 if image.half else 2)]
    return _components(lanes, words, image.half)


def _gather_word(lanes: Lanes, image: _Image, index: Value, word: int, mask: Value) -> Value:
    ir = lanes.ir
    if not image.half:
        index = ir.with_constant("shl", index, 1)
        index = ir.with_constant("or", index, word) if word else index
    return ir.gather(ir.offset(image.base, index, "i64"), vector(lanes.lanes, "i64"), 2 if image.half else 4, mask)


def _components(lanes: Lanes, words: list[Value], half: bool) -> list[Value]:
    """Words of each lane's pixel to a vector for each component."""
    if half and lanes.wide_shuffles and lanes.lanes >= _REGISTER:
        return _halves_of_pairs(lanes, words[0])
    singles = [single for word in words for single in _halves_of_words(lanes, word)]
    return [component for single in singles for component in _halves_of_singles(lanes, single)] if half else singles


def _halves_of_words(lanes: Lanes, words: Value) -> list[Value]:
    """The low and the high 32 bits of each lane's 64."""
    ir, flat = lanes.ir, vector(2 * lanes.lanes, "i32")
    parts = _cast(lanes, words, flat)
    return [ir.shuffle(parts, None, range(part, 2 * lanes.lanes, 2)) for part in range(2)]


def _halves_of_singles(lanes: Lanes, singles: Value) -> list[Value]:
    """The low and the high 16 bits of each lane's 32. As a shuffle, like the above, it takes LLVM ten times as long."""
    ir = lanes.ir
    return [ir.convert("trunc", each, "i16") for each in (singles, ir.with_constant("lshr", singles, 16))]


def _halves_of_pairs(lanes: Lanes, words: Value) -> list[Value]:
    """The four halves of each lane's 64 bits: first side by side in pairs of lanes, then all of one component."""
    ir, parts = lanes.ir, range(0, lanes.lanes, _REGISTER)
    beside = [_paired(lanes, ir.shuffle(words, None, range(first, first + _REGISTER))) for first in parts]
    while len(beside) > 1:
        size = range(2 * (lanes_of(beside[0].type) or 0))
        beside = [ir.shuffle(*two, size) for two in zip(beside[::2], beside[1::2], strict=True)]
    places = [range(component, 2 * lanes.lanes, COMPONENTS) for component in range(COMPONENTS)]
    return [_cast(lanes, ir.shuffle(beside[0], None, each), vector(lanes.lanes, "i16")) for each in places]


def _paired(lanes: Lanes, words: Value) -> Value:
    """Of 8 lanes: each component's halves in lanes 0 and 1, then in 2 and 3 and so on, as 32 bits."""
    halves = _cast(lanes, words, vector(COMPONENTS * _REGISTER, "i16"))
    order = [at + each for at in range(0, COMPONENTS * _REGISTER, 8) for each in (0, 4, 1, 5, 2, 6, 3, 7)]
    beside = lanes.ir.as_it_is(lanes.ir.shuffle(halves, None, order))
    return _cast(lanes, beside, vector(2 * _REGISTER, "i32"))


def _cast(lanes: Lanes, value: Value, type_: str) -> Value:
    return lanes.ir.emit(f"bitcast {value.type} {value.text} to {type_}", type_)


# Writes


def _store(lanes: Lanes, operation: Operation, image: _Image, pixels: _Pixels) -> None:
    ir = lanes.ir
    data = operation.sources[0].operand
    assert isinstance(data, Register)
    components = [
        lanes.vector(_stored(lanes, image, lanes.read(plus(data, component)))) for component in range(COMPONENTS)
    ]
    inside = lanes.vector(pixels.inside)
    mask = inside if lanes.mask is None else ir.binary("and", inside, lanes.mask)
    index = lanes.vector(pixels.index)
    run, apart, done = (ir.name(stem) for stem in ("run", "apart", "stored"))
    whole = ir.binary("and", ir.all(mask), are_consecutive(lanes, index, 1))
    ir.branch(whole, run, apart)
    ir.label(run)
    with lanes.aside():
        start = ir.convert("zext", ir.element(index, 0), "i64")
        element = "i16" if image.half else "i32"
        ir.store(
            _interleaved(lanes, components), ir.offset(image.base, start, f"[4 x {element}]"), 2 if image.half else 4
        )
    ir.jump(done)
    ir.label(apart)
    with lanes.aside():
        _scatter_pixels(lanes, image, components, index, mask)
    ir.jump(done)
    ir.label(done)


def _scatter_pixels(lanes: Lanes, image: _Image, components: list[Value], index: Value, mask: Value) -> None:
    if image.half:
        _scatter_word(lanes, image, components, index, mask)
        return
    index = lanes.ir.with_constant("shl", index, 1)
    _scatter_word(lanes, image, components[:2], index, mask)
    _scatter_word(lanes, image, components[2:], lanes.ir.with_constant("or", index, 1), mask)


def _stored(lanes: Lanes, image: _Image, content: Content) -> Value:
    """A component as the image gets it, its bits."""
    if content.half == image.half:
        return lanes.bits(content)
    if image.half:
        number = lanes.ir.convert("bitcast", lanes.hidden_bits(content), "float")
        return lanes.library("single_to_half_nearest_even", number)
    return lanes.ir.convert("bitcast", lanes.library("half_to_single", lanes.bits(content)), "i32")


def _scatter_word(lanes: Lanes, image: _Image, components: list[Value], index: Value, mask: Value) -> None:
    """Words of 64 bits, each of one lane's components."""
    ir = lanes.ir
    joined = _interleaved(lanes, components)
    word = vector(lanes.lanes, "i64")
    value = ir.emit(f"bitcast {joined.type} {joined.text} to {word}", word)
    ir.scatter(value, ir.offset(image.base, index, "i64"), 2 if image.half else 4, mask)


def _interleaved(lanes: Lanes, components: list[Value]) -> Value:
    """Lane 0 of each component, then lane 1 of each, and so on."""
    ir, count = lanes.ir, lanes.lanes
    if len(components) == 2:
        first, second = components
        return ir.shuffle(first, second, [lane + count * part for lane in range(count) for part in range(2)])
    x_z = _interleaved(lanes, [components[0], components[2]])
    y_w = _interleaved(lanes, [components[1], components[3]])
    return ir.shuffle(x_z, y_w, [at + 2 * count * part for at in range(2 * count) for part in range(2)])

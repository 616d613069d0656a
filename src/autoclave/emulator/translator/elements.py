"""What loads and stores have in common: moving elements at pointers of the host, and lane after lane in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autoclave.emulator.ir import Value, constant, like, vector
from autoclave.emulator.translator.faults import Exits
from autoclave.emulator.translator.lane_context import LaneContext


@dataclass(slots=True)
class MemoryContext:
    """What memory access needs of the kernel. private: where this vector's private memory begins, that of one lane after the other.

    sparse: whether a mask may have no lane at all; then nothing is accessed, so that nothing is wrong.
    """

    exits: Exits
    buffers: int
    shared_bytes: int
    private_bytes: int
    shared: Value
    private: Value
    sparse: bool = False

    def spread(self, lanes: LaneContext, *addresses: Value) -> tuple[Value, ...]:
        """Addresses as they are; in every lane if one of all lanes might be that of none."""
        if self.sparse and lanes.mask is not None:
            return tuple(lanes.vector(address) for address in addresses)
        return addresses


def load_elements(lanes: LaneContext, pointer: Value, size: int, count: int, mask: Value | None) -> list[Value]:
    """`count` elements of `size` bytes. `pointer` is a scalar, or a vector whose lanes of `mask` are loaded from."""
    loaded = []
    for step in range(count):
        place = lanes.ir.offset(pointer, constant(step * size, like(pointer.type, "i64"))) if step else pointer
        if mask is None:
            loaded.append(lanes.ir.load(place, f"i{8 * size}", 1))
        else:
            loaded.append(lanes.ir.gather(place, vector(lanes.lanes, f"i{8 * size}"), 1, mask))
    return loaded


def load_words(lanes: LaneContext, pointers: Value, size: int, count: int, mask: Value) -> list[Value]:
    """As `load_elements`, by as few gathers of 32 or 64 bits as will do: the host has none of less."""
    ir = lanes.ir
    word = 8 if size * count % 8 == 0 else 4
    if size * count % 4:
        return load_elements(lanes, pointers, size, count, mask)
    loaded = []
    for start in range(0, size * count, word):
        place = ir.offset(pointers, constant(start, like(pointers.type, "i64"))) if start else pointers
        bits = ir.gather(place, vector(lanes.lanes, f"i{8 * word}"), 1, mask)
        for at in range(0, word, size):
            part = ir.with_constant("lshr", bits, 8 * at) if at else bits
            loaded.append(ir.convert("trunc", part, f"i{8 * size}"))
    return loaded


def load_part_of_word(lanes: LaneContext, base: Value, low: Value, size: int, mask: Value) -> list[Value]:
    """One element of 8 or 16 bits at each offset from `base`, out of the aligned word of 32 bits that it lies in.

    An aligned word is in one page, so that the host may read it whole. The element must not lie across two.
    """
    ir = lanes.ir
    host = ir.emit(f"ptrtoint ptr {base.text} to i64", "i64")
    lead = ir.with_constant("and", host, 3)
    aligned = ir.offset(base, ir.binary("sub", constant(0, "i64"), lead))
    offset = ir.binary("add", low, lanes.vector(ir.convert("trunc", lead, "i32")))
    words = ir.gather(ir.offset(aligned, ir.with_constant("and", offset, -4)), vector(lanes.lanes, "i32"), 4, mask)
    shift = ir.with_constant("shl", ir.with_constant("and", offset, 3), 3)
    return [ir.convert("trunc", ir.binary("lshr", words, shift), f"i{8 * size}")]


def store_elements(lanes: LaneContext, pointer: Value, size: int, values: Sequence[Value], mask: Value) -> None:
    """All elements of a store, of `size` bytes each, lane by lane in order."""
    for step, value in enumerate(values):
        place = lanes.ir.offset(pointer, constant(step * size, like(pointer.type, "i64"))) if step else pointer
        lanes.ir.scatter(lanes.vector(value), lanes.vector(place), 1, mask)


def each_lane(lanes: LaneContext, visit: Callable[[Value], None]) -> None:
    """A loop over the lanes that take part, in order; `visit` gets the lane's number."""
    ir = lanes.ir
    head, body, chosen, after, done = (ir.name(stem) for stem in ("lane", "lanebody", "look", "lanenext", "lanesdone"))
    counter = ir.alloca("i32")
    ir.store(constant(0, "i32"), counter, 4)
    ir.jump(head)
    ir.label(head)
    lane = ir.load(counter, "i32", 4)
    ir.branch(ir.compare("ult", lane, constant(lanes.lanes, "i32")), body, done)
    ir.label(body)
    ir.branch(ir.element(lanes.all_lanes(), lane), chosen, after)
    ir.label(chosen)
    with lanes.aside():
        visit(lane)
    ir.jump(after)
    ir.label(after)
    ir.store(ir.with_constant("add", lane, 1), counter, 4)
    ir.jump(head)
    ir.label(done)

"""Where host code leaves a kernel that does what it must not: it notes what happened and returns."""

from autoclave.emulator.ir import Builder, Value, constant, lanes_of
from autoclave.emulator.translator.frame import ADDRESS_AT, BYTES_AT, FAULT_AT, FAULTED
from autoclave.emulator.translator.lane_context import LaneContext

THREAD = Value("%thread", "ptr")
LEAVE = "leave"
"""The block that ends the function, with a phi of statuses; see `Exits`."""


class Exits:
    """Ways out of the function before its end: their blocks, and the status that each returns."""

    def __init__(self) -> None:
        self.ways: list[tuple[Value, str]] = []

    def add(self, ir: Builder, status: int) -> None:
        """Leave from the current block."""
        self.ways.append((Value(str(status), "i32"), ir.block))
        ir.jump(LEAVE)


def refuse(lanes: LaneContext, exits: Exits, bad: Value, address: Value, kind: int, size: int) -> None:
    """Leave the kernel if `bad` in any lane. `address` is that of each lane, or of all.

    bad, address: scalars, or vectors that have no lane set that takes no part.
    """
    ir = lanes.ir
    caught, fine = ir.name("caught"), ir.name("fine")
    ir.branch(ir.any(bad), caught, fine, unlikely=True)
    ir.label(caught)
    lane = first_lane(lanes, bad)
    where = address if lanes_of(address.type) is None else ir.element(address, lane)
    note_fault(lanes, exits, kind, lane, where, size)
    ir.label(fine)


def first_lane(lanes: LaneContext, mask: Value) -> Value:
    """The first lane of a mask, any if it has none; of a scalar, the first that takes part."""
    if lanes_of(mask.type) is None:
        if lanes.mask is None:
            return constant(0, "i32")
        mask = lanes.mask
    count = lanes_of(mask.type) or 1
    bits = lanes.ir.emit(f"bitcast {mask.type} {mask.text} to i{count}", f"i{count}")
    lane = lanes.ir.call("llvm.cttz", bits.type, (bits, Value("false", "i1")))
    lane = lanes.ir.with_constant("and", lane, count - 1)  # without any, cttz has counted to the end
    return lane if lane.type == "i32" else lanes.ir.convert("zext", lane, "i32")


def note_fault(lanes: LaneContext, exits: Exits, kind: int, lane: Value, address: Value, size: int) -> None:
    """Write the fault's record and leave."""
    ir = lanes.ir
    for number, at in ((constant(kind, "i32"), 0), (constant(lanes.pc, "i32"), 4), (lane, 8)):
        ir.store(number, ir.offset(THREAD, FAULT_AT + at), 4)
    ir.store(ir.convert("zext", address, "i64"), ir.offset(THREAD, ADDRESS_AT), 8)
    ir.store(constant(size, "i64"), ir.offset(THREAD, BYTES_AT), 8)
    exits.add(ir, FAULTED)

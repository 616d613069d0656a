"""Atomics: lane after lane, in order.

A workgroup is run by one host thread, and a kernel with atomics on buffers by one host thread as a whole (`KernelIr.ordered`),
so that results do not depend on how many there are.
"""

from collections.abc import Callable

from autoclave.emulator.ir import Value, constant, vector
from autoclave.emulator.translator.elements import each_lane
from autoclave.emulator.translator.lane_context import LaneContext


def update_each(lanes: LaneContext, pointers: Value, element: str, new_value: Callable[[Value, Value], Value]) -> Value:
    """Replace what is at each lane's pointer by `new_value(what was there, the lane's number)`; returns what was there, by lane.

    element: "i32" or "i64". Lanes that take no part give 0.
    """
    ir = lanes.ir
    size = int(element[1:]) // 8
    pointers = lanes.vector(pointers)
    before = ir.alloca(vector(lanes.lanes, element))
    ir.store(constant(0, vector(lanes.lanes, element)), before, 64)

    def update(lane: Value) -> None:
        place = ir.element(pointers, lane)
        old = ir.load(place, element, 1)
        ir.store(new_value(old, lane), place, 1)
        ir.store(old, ir.offset(before, ir.convert("zext", lane, "i64"), element), size)

    each_lane(lanes, update)
    return ir.load(before, vector(lanes.lanes, element), 64)

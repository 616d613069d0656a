"""Where a vector's threads are in the launch: the coordinates of their workgroups, and their own within these."""

from autoclave.emulator.ir import Builder, Value, constant, numbers
from autoclave.emulator.translator.geometry import SIDES, Geometry

_LAUNCH = Value("%launch", "ptr")


def workgroup_coordinates(ir: Builder, geometry: Geometry, number: Value) -> list[Value]:
    """x, y and z of the workgroup `number`, which counts x first; of each lane's own if several are packed."""
    groups = [
        ir.convert("zext", ir.load(ir.offset(_LAUNCH, 4 * side), "i32", 4, invariant=True), "i64") for side in range(2)
    ]
    x, row = ir.binary("urem", number, groups[0]), ir.binary("udiv", number, groups[0])
    y, z = ir.binary("urem", row, groups[1]), ir.binary("udiv", row, groups[1])
    first = [ir.convert("trunc", each, "i32") for each in (x, y, z)]
    if geometry.packed == 1:
        return first
    return _counted_on(ir, geometry, first, [ir.convert("trunc", each, "i32") for each in groups])


def _counted_on(ir: Builder, geometry: Geometry, first: list[Value], groups: list[Value]) -> list[Value]:
    """The coordinates of each lane's workgroup, from those of the vector's first."""
    behind = numbers((lane // geometry.threads for lane in range(geometry.lanes)), "i32")
    x = ir.binary("add", ir.splat(first[0], geometry.lanes), behind)
    rows, x = _divided(ir, x, ir.splat(groups[0], geometry.lanes))
    y = ir.binary("add", ir.splat(first[1], geometry.lanes), rows)
    layers, y = _divided(ir, y, ir.splat(groups[1], geometry.lanes))
    return [x, y, ir.binary("add", ir.splat(first[2], geometry.lanes), layers)]


def _divided(ir: Builder, number: Value, by: Value) -> tuple[Value, Value]:
    """Quotient and remainder. binary64 truncates the quotient of any two such numbers right, and is fast in vectors."""
    quotient = ir.binary("fdiv", ir.convert("uitofp", number, "double"), ir.convert("uitofp", by, "double"))
    whole = ir.convert("fptoui", quotient, "i32")
    return whole, ir.binary("sub", number, ir.binary("mul", whole, by))


def thread_coordinates(ir: Builder, geometry: Geometry, threads: Value, first: Value) -> list[Value]:
    """x, y and z of each lane's thread within its workgroup, scalars where all lanes have the same.

    threads: the number of each lane's thread. first: that of the first lane.
    """
    spanned = geometry.spanned()
    found = [constant(0, "i32")] * SIDES
    stride = 1
    for side in geometry.order:
        size = geometry.local_size[side]
        if size > 1:
            index = threads if spanned[side] else first
            found[side] = ir.with_constant("urem", ir.with_constant("udiv", index, stride), size)
        stride *= size
    return found

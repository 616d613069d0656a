"""Blocks and branches as IR: the host's branches where all lanes of a vector go one way, masks where they part.

A masked region (see `divergence`) has a variable for each of its blocks that holds the lanes that are there. Its blocks are
tried in the order of their addresses; a block that is run takes its lanes, and leaves them at its successors. After a
branch backward the order begins again at its target.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from autoclave.emulator.a630.translator.files import members
from autoclave.emulator.a630.translator.flow import END, Block, Condition
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.observation import Uses, uses_behind
from autoclave.emulator.a630.translator.uniformity import Uniformity
from autoclave.emulator.ir import Value, constant, lanes_of, vector
from autoclave.emulator.translator.lane_context import population
from autoclave.emulator.translator.workgroups import VECTOR_DONE, Workgroups

MASK_BYTES = 8

Execute = Callable[[Block], None]
"""Carries out a block's operations."""


@dataclass(slots=True)
class Control:
    """Emits a kernel's blocks. valid: the lanes that hold a thread, None if all do. active: how many those are.

    spilled_masks: where masks lie if they are not to become values.
    """

    lanes: Lanes
    workgroups: Workgroups
    blocks: Sequence[Block]
    uniformity: Uniformity
    uses: Sequence[Uses]
    valid: Value | None
    active: Value
    execute: Execute
    spilled_masks: Value | None
    masks: dict[int, Value] = field(default_factory=dict)

    def emit(self) -> None:
        """All blocks; the vector begins at `enter(0)`."""
        for block in self.blocks:
            if self.uniformity.masked(block.number):
                self._masked_block(block)
            else:
                self._whole_block(block)

    def enter(self, number: int) -> None:
        """Go to a block with all of the vector's lanes."""
        if number != END and self.uniformity.masked(number):
            self._put(number, self._all())
        self.lanes.ir.jump(_label(number))

    def _all(self) -> Value:
        return constant(1, vector(self.lanes.lanes, "i1")) if self.valid is None else self.valid

    def mask_of(self, number: int) -> Value:
        """The variable that holds the lanes that are at a masked block."""
        if number not in self.masks:
            self.masks[number] = self._new_mask(number)
        return self.masks[number]

    def _new_mask(self, number: int) -> Value:
        ir = self.lanes.ir
        if self.spilled_masks is None:
            return ir.alloca(vector(self.lanes.lanes, "i1"))
        return ir.in_entry(f"getelementptr i8, ptr {self.spilled_masks.text}, i64 {MASK_BYTES * number}", "ptr")

    def _put(self, number: int, mask: Value) -> None:
        self.lanes.ir.store(mask, self.mask_of(number), 1)

    # Blocks that all lanes run

    def _whole_block(self, block: Block) -> None:
        ir = self.lanes.ir
        ir.label(_label(block.number))
        self.lanes.begin(self.uniformity.varying[block.number], self.valid)
        self.execute(block)
        condition = self._condition(block.condition) if block.condition else None
        self._finish(block, block.successors)
        self._count(block, self.active)
        if block.barrier and self.workgroups.waits:
            self._wait(block, ())
        if block.target <= block.number or (condition and block.other <= block.number):
            self.workgroups.check_budget()
        if condition is None:
            self.enter(block.target)
        elif lanes_of(condition.type) is None:
            self._choose(block, condition)
        else:
            self._part(block, condition)

    def _choose(self, block: Block, condition: Value) -> None:
        """All lanes go one way."""
        ir = self.lanes.ir
        for number, taken in ((block.target, condition), (block.other, None)):
            if number != END and self.uniformity.masked(number):
                way = ir.invert(condition) if taken is None else taken
                self._put(number, ir.binary("and", self.lanes.vector(way), self._all()))
        ir.branch(condition, _label(block.target), _label(block.other))

    def _part(self, block: Block, condition: Value) -> None:
        """Each lane goes its way; the first of the two blocks that is masked begins the region."""
        ir = self.lanes.ir
        ways = {block.target: condition, block.other: ir.invert(condition)}
        masked = [number for number in ways if number != END and self.uniformity.masked(number)]
        for number in masked:
            self._put(number, ir.binary("and", ways[number], self._all()))
        ir.jump(_test_label(min(masked)) if masked else _label(block.target))

    # Blocks that some lanes run

    def _masked_block(self, block: Block) -> None:
        ir, number = self.lanes.ir, block.number
        ir.label(_test_label(number))
        here = ir.load(self.mask_of(number), vector(self.lanes.lanes, "i1"), 1)
        ir.branch(ir.any(here), _label(number), self._next(number))
        ir.label(_label(number))
        mask = ir.load(self.mask_of(number), vector(self.lanes.lanes, "i1"), 1)
        self._put(number, constant(0, mask.type))
        self.lanes.begin(self.uniformity.varying[number], mask)
        self.execute(block)
        condition = self._condition(block.condition) if block.condition else None
        self._finish(block, ())
        self._count(block, population(self.lanes, mask))
        self._leave_lanes(block, mask, condition)
        if block.barrier and self.workgroups.waits:
            self._wait(block, tuple(sorted(self.uniformity.regions[number][0])))
        self._go_on(block)
        self._region_exit(number)

    def _leave_lanes(self, block: Block, mask: Value, condition: Value | None) -> None:
        """Add the lanes to those at the blocks that they go to; those that leave the region are counted by nobody."""
        ir = self.lanes.ir
        region, _ = self.uniformity.regions[block.number]
        ways = [(block.target, mask)]
        if condition is not None:
            condition = self.lanes.vector(condition)
            ways = [
                (block.target, ir.binary("and", mask, condition)),
                (block.other, ir.binary("and", mask, ir.invert(condition))),
            ]
        for number, lanes in ways:
            if number in region:
                there = ir.load(self.mask_of(number), mask.type, 1)
                self._put(number, ir.binary("or", there, lanes))

    def _go_on(self, block: Block) -> None:
        """To the lowest block that has lanes: one that was branched back to, else a later one."""
        ir = self.lanes.ir
        region, _ = self.uniformity.regions[block.number]
        back = sorted(number for number in block.successors if number <= block.number and number in region)
        if back:
            self.workgroups.check_budget()
        for number in back:
            there = ir.load(self.mask_of(number), vector(self.lanes.lanes, "i1"), 1)
            otherwise = ir.name("forward")
            ir.branch(ir.any(there), _label(number), otherwise)
            ir.label(otherwise)
        ir.jump(self._next(block.number))

    def _next(self, number: int) -> str:
        """The label that tries the region's next block, or leaves it."""
        region, _ = self.uniformity.regions[number]
        later = [other for other in region if other > number]
        return _test_label(min(later)) if later else _exit_label(number)

    def _region_exit(self, number: int) -> None:
        """Behind a region's last block: all lanes are at the block that it leads to."""
        region, meeting = self.uniformity.regions[number]
        if number != max(region):
            return
        self.lanes.ir.label(_exit_label(number))
        self.lanes.begin(self.uniformity.varying[number], self.valid)
        if meeting != END:
            self.lanes.finish(self.uses[meeting].live, 0, 0, (self.uniformity.varying[meeting],), masked=False)
        self.enter(meeting)

    # Both

    def _condition(self, condition: Condition) -> Value:
        """Of each lane, or of all."""
        lanes, ir = self.lanes, self.lanes.ir
        parts = []
        for source in condition.sources:
            part = lanes.predicate(lanes.operand(source.operand))
            parts.append(ir.invert(part) if source.negated else part)
        joined = parts[0]
        for part in parts[1:]:
            joined = ir.binary("and" if condition.every else "or", *lanes.alike(joined, part))
        return joined

    def _finish(self, block: Block, successors: Sequence[int]) -> None:
        uses = uses_behind(block, self.uses)
        if self.uniformity.masked(block.number):
            for number in self.uniformity.regions[block.number][0]:
                uses |= self.uses[number]
        varying = [self.uniformity.varying[number] for number in successors]
        self.lanes.finish(uses.live, uses.observed, uses.floats, varying, self.uniformity.masked(block.number))

    def _count(self, block: Block, active: Value) -> None:
        self.workgroups.spend(self.lanes.ir.with_constant("mul", active, block.weight))

    def _wait(self, block: Block, region: tuple[int, ...]) -> None:
        """Leave the vector until all others have come here, too."""
        self.workgroups.check_budget()
        followers = (*region, *block.successors)
        live = 0
        for number in followers:
            live |= self.uses[number].live
        if region and (meeting := self.uniformity.regions[block.number][1]) != END:
            live |= self.uses[meeting].live
        varying = self.uniformity.varying[region[0] if region else block.target]
        registers = [self.lanes.files.slot(place, bool(varying >> place & 1)) for place in members(live)]
        masks = [(self.mask_of(number), vector(self.lanes.lanes, "i1")) for number in region]
        self.workgroups.barriers.wait((*registers, *masks), cleared=masks)


def _label(number: int) -> str:
    return VECTOR_DONE if number == END else f"block{number}"


def _test_label(number: int) -> str:
    return f"test{number}"


def _exit_label(number: int) -> str:
    return f"exit{number}"

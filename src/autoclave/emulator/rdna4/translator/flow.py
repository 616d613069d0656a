"""Control flow of a kernel: blocks of instructions, and the branches between them. Branches are scalar: the whole wave takes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autoclave.emulator.rdna4.instruction import Instruction, Literal32
from autoclave.errors import UnknownInstruction

END = -1
"""The block number that stands for the wave's end."""

MAX_BLOCKS = 1 << 13
MAX_INSTRUCTIONS = 1 << 17
"""More than any kernel has; they bound what a hostile one can cost to translate."""

CONDITIONS = frozenset(f"s_cbranch_{what}" for what in ("scc0", "scc1", "vccz", "vccnz", "execz", "execnz"))
"""Branches that are taken or not."""

BARRIER = "s_barrier_wait"

NOTHING = frozenset(
    {
        "s_nop", "s_clause", "s_delay_alu", "s_sleep", "s_sleep_var", "s_set_inst_prefetch_distance", "s_sendmsg", "s_setprio",
        "s_icache_inv", "s_version", "s_code_end",
        "s_wait_alu", "s_wait_idle", "s_wait_event", "s_wait_loadcnt", "s_wait_storecnt", "s_wait_samplecnt", "s_wait_bvhcnt",
        "s_wait_expcnt", "s_wait_dscnt", "s_wait_kmcnt", "s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt", "s_wait_xcnt",
        "s_prefetch_inst", "s_prefetch_inst_pc_rel", "s_prefetch_data", "s_prefetch_data_pc_rel", "s_buffer_prefetch_data",
        "s_dcache_inv", "global_inv", "global_wb", "global_wbinv", "buffer_gl0_inv", "v_nop", "v_pipeflush", "s_ttracedata", "s_ttracedata_imm",
        "s_incperflevel", "s_decperflevel", "s_wakeup",
    }
)  # fmt: skip
"""Instructions without an effect: waves run in order, memory is coherent, and all of a workgroup meets at `s_barrier_wait`."""


_WORKGROUP = 0xFFFF
"""The number of the barrier that all of a workgroup's waves have, -1, in 16 bits."""


def names_workgroup_barrier(instruction: Instruction) -> bool:
    """Whether s_barrier_signal or s_barrier_wait is about the workgroup's barrier, the only one that there is a rule for."""
    operands = [source.operand for source in instruction.sources]
    numbers = [operand.bits for operand in operands if isinstance(operand, Literal32)]
    if not operands:
        numbers.append(instruction.immediate)
    return len(numbers) > 0 and all(number & 0xFFFF == _WORKGROUP for number in numbers)


def has_no_effect(instruction: Instruction) -> bool:
    """Whether an instruction does nothing here; of a barrier, signalling: waves wait anyway until all have come."""
    if instruction.name == "s_barrier_signal":
        return names_workgroup_barrier(instruction)
    return instruction.name in NOTHING


@dataclass(slots=True)
class Block:
    """Instructions that run one after the other.

    weight: all instructions, those of its end and those without an effect included. target: the block that follows, or the one that
    `condition` leads to, where `other` is the one that follows. barrier: the wave waits for the workgroup before it goes on.
    """

    number: int
    pc: int
    instructions: tuple[Instruction, ...]
    weight: int
    target: int = END
    condition: str | None = None
    other: int = END
    barrier: bool = False

    @property
    def successors(self) -> tuple[int, ...]:
        """Numbers of blocks that may follow, `END` excluded."""
        both = (self.target, self.other) if self.condition else (self.target,)
        return tuple(dict.fromkeys(number for number in both if number != END))


def find_blocks(instructions: Sequence[Instruction], kernel: str) -> tuple[Block, ...]:
    """The reachable blocks in the order of their program counters; the first is the entry.

    Raises `UnknownInstruction` if control leaves the code or goes between two instructions.
    """
    if len(instructions) > MAX_INSTRUCTIONS:
        raise UnknownInstruction(f"kernel {kernel!r}: it has more than {MAX_INSTRUCTIONS} instructions")
    code = {instruction.pc: instruction for instruction in instructions}
    leaders = _find_leaders(code, kernel)
    if len(leaders) > MAX_BLOCKS:
        raise UnknownInstruction(f"kernel {kernel!r}: it has more than {MAX_BLOCKS} blocks")
    numbers = {pc: number for number, pc in enumerate(sorted(leaders))}
    return tuple(_block(code, pc, numbers) for pc in numbers)


def _find_leaders(code: Mapping[int, Instruction], kernel: str) -> set[int]:
    """Follow control through every reachable instruction once."""
    leaders, visited, waiting = {0}, set[int](), [0]
    while waiting:
        pc = waiting.pop()
        while pc not in visited:
            if pc not in code:
                raise UnknownInstruction(
                    f"kernel {kernel!r}, pc {pc}: control leaves the code of {len(code)} instructions: a wild branch, or no s_endpgm"
                )
            visited.add(pc)
            ways = _ways(code[pc])
            if ways is None:
                pc += code[pc].size
                continue
            leaders.update(ways)
            waiting.extend(ways)
            break
    return leaders


def _ways(instruction: Instruction) -> tuple[int, ...] | None:
    """Where control goes behind an instruction that ends a block; None behind any other."""
    name, behind = instruction.name, instruction.pc + instruction.size
    if name in ("s_endpgm", "s_endpgm_saved"):
        return ()
    if name == BARRIER and names_workgroup_barrier(instruction):
        return (behind,)
    if name == "s_branch" or name in CONDITIONS:
        assert instruction.target is not None
        return (instruction.target,) if name == "s_branch" else (instruction.target, behind)
    return None


def _block(code: Mapping[int, Instruction], start: int, numbers: Mapping[int, int]) -> Block:
    found: list[Instruction] = []
    weight, pc = 0, start
    while True:
        instruction = code[pc]
        weight += 1
        ways = _ways(instruction)
        if ways is not None:
            break
        if not has_no_effect(instruction):
            found.append(instruction)
        pc += instruction.size
        if pc in numbers:
            return Block(numbers[start], start, tuple(found), weight, numbers[pc])
    target = numbers[ways[0]] if ways else END
    block = Block(numbers[start], start, tuple(found), weight, target)
    block.barrier = instruction.name == BARRIER
    if instruction.name in CONDITIONS:
        block.condition, block.other = instruction.name, numbers[ways[1]]
    return block

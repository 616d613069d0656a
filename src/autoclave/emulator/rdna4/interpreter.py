"""A plain interpreter of gfx1200 kernels: one wave at a time, one instruction after the other.

It is there to check the translator, with which it shares the decoder and the names of the arithmetic rules and nothing
else. Each instruction becomes a closure over its operands once; waves of a workgroup run to the next barrier in turn.

    interpreter = Interpreter(launch.kernel)
    overlay = Overlay()
    interpreter.run_workgroup(launch, (0, 0, 0), overlay)   # reads the launch's memory, writes to the overlay alone
"""

from collections import Counter
from collections.abc import Callable, Iterable

from autoclave.emulator.interpretation import DEFAULT_BUDGET
from autoclave.emulator.launch import Launch, Size3, check_workgroup, thread_count
from autoclave.emulator.overlay import Overlay
from autoclave.emulator.rdna4.decoder import decode_kernel
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.interpreter_alu import arithmetic
from autoclave.emulator.rdna4.interpreter_atomics import ATOMICS
from autoclave.emulator.rdna4.interpreter_control import LEAVING, Code, check_barrier, following, reachable_leaders
from autoclave.emulator.rdna4.interpreter_lanes import LANES
from autoclave.emulator.rdna4.interpreter_matrices import MATRICES
from autoclave.emulator.rdna4.interpreter_memory import MEMORY
from autoclave.emulator.rdna4.interpreter_scalar import scalar_arithmetic
from autoclave.emulator.rdna4.launch import KernelCode
from autoclave.emulator.rdna4.machine import WAVE, Machine
from autoclave.emulator.turns import Block, Blocks, Step, counting, executed, run_in_turn
from autoclave.errors import EmulationError, UnknownInstruction

MAX_CODE_BYTES = 1 << 19
"""More than any kernel has: it bounds what a hostile one can cost before it runs."""

Observer = Callable[[Machine, Instruction, Step | None], Step]
"""Wraps the step of an instruction, to see what it reads and writes (`trace`); None if it only leads elsewhere."""


class Interpreter:
    """A kernel, ready to be interpreted: use one for all of a kernel's launches."""

    def __init__(self, kernel: KernelCode, observer: Observer | None = None) -> None:
        """Decode and compile `kernel`. Raises `UnknownInstruction` if a wave could reach what has no rule."""
        if len(kernel.code) > MAX_CODE_BYTES:
            raise UnknownInstruction(
                f"kernel {kernel.name!r}: {len(kernel.code)} bytes of code; at most {MAX_CODE_BYTES} are run"
            )
        self._machine = Machine(kernel)
        self.instructions = decode_kernel(kernel.code, kernel.name)
        self._blocks = _blocks(self._machine, self.instructions, None)
        self._entries = Counter[int]()
        if observer is None:
            self._observed = counting(self._blocks, self._entries)
        else:
            self._observed = _blocks(self._machine, self.instructions, observer)

    def executed(self) -> tuple[tuple[Instruction, int], ...]:
        """As `emulator.interpretation.Interpreter`'s."""
        return tuple(executed(self._blocks, self._entries))

    def run_workgroup(
        self,
        launch: Launch,
        workgroup: Size3,
        overlay: Overlay,
        units: Iterable[int] | None = None,
        budget: int = DEFAULT_BUDGET,
        observed: int | None = None,
    ) -> int:
        """Run some waves (all if `units` is None) of one workgroup; returns how many instructions their threads executed.

        What they write goes to `overlay`, whose bytes they also read. observed: the wave whose instructions the observer sees, or
        `executed` counts.
        Raises `MemoryFault`, `BudgetExceeded` or `UnknownInstruction`, each with kernel, pc and what was wrong.
        """
        check_workgroup(launch, workgroup)
        machine = self._machine
        machine.bind(launch, overlay)
        machine.start_workgroup(workgroup)
        return run_in_turn(
            machine,
            launch.local_size,
            _chosen(launch, units),
            lambda wave: self._observed if wave == observed else self._blocks,
            budget,
        )


def wave_count(launch: Launch) -> int:
    """Waves of a workgroup."""
    return -(-thread_count(launch) // WAVE)


def _chosen(launch: Launch, waves: Iterable[int] | None) -> list[int]:
    count = wave_count(launch)
    chosen = list(range(count) if waves is None else waves)
    for wave in chosen:
        if not 0 <= wave < count:
            raise EmulationError(f"kernel {launch.kernel.name!r}: there is no wave {wave} in a workgroup of {count}")
    return chosen


def _blocks(machine: Machine, instructions: Iterable[Instruction], observer: Observer | None) -> Blocks:
    """The reachable blocks of a kernel, by where they begin."""
    code = {instruction.pc: instruction for instruction in instructions}
    leaders = reachable_leaders(machine, code)
    starts = frozenset(leaders)
    return {leader: _block(machine, code, observer, starts, leader) for leader in leaders}


def _block(machine: Machine, code: Code, observer: Observer | None, starts: frozenset[int], leader: int) -> Block:
    steps: list[Step] = []
    within: list[Instruction] = []
    pc = leader
    while True:
        instruction = code[pc]
        within.append(instruction)
        leaving = LEAVING.get(instruction.name)
        step = None if leaving else compile_instruction(machine, instruction)
        if observer is not None:
            steps.append(observer(machine, instruction, step))
        elif step is not None:
            steps.append(step)
        if leaving:
            return Block(tuple(steps), len(within), leaving(machine, instruction), tuple(within))
        pc = following(instruction)
        if pc in starts:
            return Block(tuple(steps), len(within), _falls_to(pc), tuple(within))


def _falls_to(pc: int) -> Callable[[], int]:
    return lambda: pc


_WITHOUT_EFFECT = (
    "s_nop", "v_nop", "v_pipeflush", "ds_nop", "s_sleep", "s_sleep_var", "s_clause", "s_delay_alu", "s_setprio", "s_sendmsg",
    "s_wakeup", "s_ttracedata", "s_ttracedata_imm", "s_incperflevel", "s_decperflevel", "s_version",
    "s_icache_inv", "s_dcache_inv", "s_prefetch_inst", "s_prefetch_inst_pc_rel", "s_prefetch_data",
    "s_prefetch_data_pc_rel", "global_inv", "global_wb", "global_wbinv",
)  # fmt: skip
"""Hints, waits and caches: memory is always as the program last left it."""


def _barrier_signal(machine: Machine, instruction: Instruction) -> None:
    """Waves meet where they wait, and each signals before it does."""
    check_barrier(machine, instruction)


_COMPILE: dict[str, Callable[[Machine, Instruction], Step | None]] = {
    **dict.fromkeys(_WITHOUT_EFFECT, lambda machine, instruction: None),
    "s_barrier_signal": _barrier_signal,
    **LANES,
    **MATRICES,
    **MEMORY,
    **ATOMICS,
}
"""By name: all but arithmetic and control."""


def compile_instruction(machine: Machine, instruction: Instruction) -> Step | None:
    """What the machine does for `instruction`; None if nothing. Raises `UnknownInstruction`."""
    name = instruction.name
    if name in _COMPILE:
        return _COMPILE[name](machine, instruction)
    if name.startswith("s_wait"):
        return None
    is_vector = name.startswith("v_") and not name.startswith("v_s_")
    return (arithmetic if is_vector else scalar_arithmetic)(machine, instruction)

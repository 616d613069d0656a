"""A plain interpreter of a630 kernels: one thread at a time, one instruction after the other.

It is there to check the translator, with which it shares the decoder and the names of the arithmetic rules and nothing
else. Each instruction becomes a closure over its operands once; threads of a workgroup run to the next barrier in turn.

    interpreter = Interpreter(launch.kernel)
    overlay = Overlay()
    interpreter.run_workgroup(launch, (0, 0, 0), overlay)   # reads the launch's memory, writes to the overlay alone
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from autoclave.emulator.a630.decoder import INSTRUCTION_SIZE, decode_kernel
from autoclave.emulator.a630.instruction import Instruction
from autoclave.emulator.a630.interpreter_alu import arithmetic
from autoclave.emulator.a630.interpreter_atomics import ATOMICS
from autoclave.emulator.a630.interpreter_control import LEAVING, reachable_leaders, region_marks
from autoclave.emulator.a630.interpreter_images import IMAGES
from autoclave.emulator.a630.interpreter_memory import MEMORY
from autoclave.emulator.a630.interpreter_moves import MOVES
from autoclave.emulator.a630.launch import KernelCode, kernel_of
from autoclave.emulator.a630.machine import Machine
from autoclave.emulator.interpretation import DEFAULT_BUDGET
from autoclave.emulator.launch import Launch, Size3, check_workgroup, thread_count
from autoclave.emulator.overlay import Overlay
from autoclave.emulator.turns import Block, Blocks, Step, counting, executed, run_in_turn
from autoclave.errors import EmulationError, UnknownInstruction

MAX_INSTRUCTIONS = 1 << 16
"""More than any kernel has: it bounds what a hostile one can cost before it runs."""

Compile = Callable[[Machine, Instruction], tuple[Step, ...]]
Observer = Callable[[Machine, Instruction, tuple[Step, ...]], tuple[Step, ...]]
"""Wraps the steps of an instruction, to see what it reads and writes (`trace`)."""


def interpret_workgroup(
    launch: Launch,
    workgroup: Size3,
    threads: Iterable[int] | None,
    overlay: Overlay,
    budget: int = DEFAULT_BUDGET,
) -> int:
    """Run `threads` (all if None) of one workgroup; returns how many instructions they executed.

    Threads are numbered with x fastest. What they write goes to `overlay`, whose bytes they also read.
    Raises `MemoryFault`, `BudgetExceeded` or `UnknownInstruction`, each with kernel, pc and what was wrong.
    """
    return Interpreter(kernel_of(launch)).run_workgroup(launch, workgroup, overlay, threads, budget)


class Interpreter:
    """A kernel, ready to be interpreted: use one for all of a kernel's launches."""

    def __init__(self, kernel: KernelCode, observer: Observer | None = None) -> None:
        """Decode and compile `kernel`. Raises `UnknownInstruction` if a thread could reach what has no rule."""
        if len(kernel.code) > INSTRUCTION_SIZE * MAX_INSTRUCTIONS:
            raise UnknownInstruction(
                f"kernel {kernel.name!r}: {len(kernel.code)} bytes of code; at most {MAX_INSTRUCTIONS} instructions are run"
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
        counts = executed(self._blocks, self._entries)
        return tuple((instruction, times * (1 + instruction.repeat)) for instruction, times in counts)

    def run_workgroup(
        self,
        launch: Launch,
        workgroup: Size3,
        overlay: Overlay,
        units: Iterable[int] | None = None,
        budget: int = DEFAULT_BUDGET,
        observed: int | None = None,
    ) -> int:
        """As `interpret_workgroup`; units are threads. `observed`: the one whose instructions the observer sees, or `executed` counts."""
        check_workgroup(launch, workgroup)
        machine = self._machine
        machine.bind(launch, overlay)
        machine.start_workgroup(workgroup)
        return run_in_turn(
            machine,
            launch.local_size,
            _chosen(launch, units),
            lambda thread: self._observed if thread == observed else self._blocks,
            budget,
        )


def _chosen(launch: Launch, threads: Iterable[int] | None) -> list[int]:
    count = thread_count(launch)
    chosen = list(range(count) if threads is None else threads)
    for thread in chosen:
        if not 0 <= thread < count:
            raise EmulationError(
                f"kernel {launch.kernel.name!r}: there is no thread {thread} in a workgroup of {count}"
            )
    return chosen


def _blocks(machine: Machine, instructions: Sequence[Instruction], observer: Observer | None) -> Blocks:
    """The reachable blocks of a kernel, by where they begin."""
    marks = region_marks(instructions)
    leaders = reachable_leaders(machine, instructions, marks)
    starts = frozenset(leaders)
    return {leader: _block(machine, instructions, observer, marks, starts, leader) for leader in leaders}


def _block(
    machine: Machine,
    instructions: Sequence[Instruction],
    observer: Observer | None,
    marks: Mapping[int, int],
    starts: frozenset[int],
    leader: int,
) -> Block:
    steps: list[Step] = []
    weight, pc = 0, leader
    while True:
        instruction = instructions[pc]
        weight += 1 + instruction.repeat
        if instruction.name in LEAVING:
            steps.extend(observer(machine, instruction, ()) if observer else ())
            leave = LEAVING[instruction.name](machine, instruction, marks)
            return Block(tuple(steps), weight, leave, tuple(instructions[leader : pc + 1]))
        compiled = compile_instruction(machine, instruction)
        steps.extend(observer(machine, instruction, compiled) if observer else compiled)
        pc += 1
        if pc in starts:
            return Block(tuple(steps), weight, _falls_to(pc), tuple(instructions[leader:pc]))


def _falls_to(pc: int) -> Callable[[], int]:
    return lambda: pc


def _nothing(machine: Machine, instruction: Instruction) -> tuple[Step, ...]:
    return ()


_COMPILE: dict[str, Compile] = {"nop": _nothing, "fence": _nothing} | MOVES | MEMORY | IMAGES | ATOMICS
"""By name: all but arithmetic (categories 2 to 4), which has a table of its own, and control."""


def compile_instruction(machine: Machine, instruction: Instruction) -> tuple[Step, ...]:
    """What the machine does for `instruction`: one step for each repetition. Raises `UnknownInstruction`."""
    return _COMPILE.get(instruction.name, arithmetic)(machine, instruction)

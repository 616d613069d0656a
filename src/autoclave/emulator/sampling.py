"""Cross-checking a launch: the interpreter runs a few of its threads, and what they write is compared with the launch's.

    result = cross_check(launch, prepared.run)      # runs the launch, once
    assert not result.differences, "\\n".join(map(str, result.differences))

Which threads, or waves of them on a GPU that is interpreted by waves: the first, the last, and others drawn from a seed, until the budget is spent; in kernels whose threads work
together (barriers, shared memory) whole workgroups, chosen likewise. The choice depends on the launch and the seed alone.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from autoclave.emulator.interpretation import Interpreter
from autoclave.emulator.interpretations import interpretation_of
from autoclave.emulator.launch import Launch, Size3
from autoclave.emulator.overlay import Overlay, Written
from autoclave.errors import BudgetExceeded

CHECK_BUDGET = 20_000
"""Instructions, counted for each thread, after which no further threads of a launch are sampled: some 30 ms."""

LONGEST = 2_000_000
"""Instructions that the first sample may take, whatever the budget: some 3 s."""

MOST_SAMPLES = 16
"""Units (threads or waves), or workgroups, of one launch."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Units (see `Interpretation`) of one workgroup; all of them if `units` is None."""

    workgroup: Size3
    units: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Difference:
    """An element of memory that a launch left otherwise than the interpreter. `place` is an address or a pixel."""

    kernel: str
    pc: int
    workgroup: Size3
    thread: int
    place: str
    size: int
    expected: int
    actual: int

    def __str__(self) -> str:
        digits = 2 * self.size
        return (
            f"kernel {self.kernel!r}, pc {self.pc}, workgroup {self.workgroup}, thread {self.thread}: "
            f"{self.place} is {self.actual:#0{digits + 2}x}, by the interpreter {self.expected:#0{digits + 2}x}"
        )


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """What was checked of a launch: how many threads, elements that they wrote, and instructions that they executed."""

    differences: tuple[Difference, ...]
    samples: int
    threads: int
    elements: int
    instructions: int


def cross_check(
    launch: Launch,
    run: Callable[[], object],
    budget: int = CHECK_BUDGET,
    seed: int = 0,
    interpreter: Interpreter | None = None,
    most: int = MOST_SAMPLES,
) -> CrossCheck:
    """Interpret some threads of `launch`, then `run` it, and compare what they wrote with the launch's memory.

    run: runs the whole launch, on its own memory, once. interpreter: of the launch's kernel, if the caller has one.
    budget: instructions after which there are no further samples. most: samples.
    Raises what the interpreter or `run` raise; a first sample beyond `LONGEST` instructions is a `BudgetExceeded`, and
    so are atomics on buffers in more workgroups than can be interpreted.
    """
    known = interpretation_of(launch.kernel)
    interpreter = known.interpreter(launch.kernel) if interpreter is None else interpreter
    overlay = Overlay()
    whole = known.changes_buffers_in_turn(interpreter.instructions)
    samples, instructions = _interpret(
        interpreter,
        launch,
        overlay,
        LONGEST if whole else budget,
        choose(launch, interpreter.instructions, seed, most),
    )
    if whole and len(samples) < prod(launch.global_size):
        raise BudgetExceeded(
            f"kernel {launch.kernel.name!r}: its {prod(launch.global_size)} workgroups change the same memory in turn, and are "
            f"too many to interpret"
        )
    run()
    written = list(overlay.written())
    return CrossCheck(
        tuple(_difference(launch, one) for one in written if one.value != one.actual),
        len(samples),
        sum(known.threads(launch, one.units) for one in samples),
        len(written),
        instructions,
    )


def _interpret(
    interpreter: Interpreter, launch: Launch, overlay: Overlay, budget: int, chosen: Iterable[Sample]
) -> tuple[list[Sample], int]:
    """Run samples until the next one, if it is as long as the last, would exceed `budget`; at least one, whose first unit is observed."""
    samples: list[Sample] = []
    spent = 0
    for sample in chosen:
        observed = None if samples else 0
        last = interpreter.run_workgroup(launch, sample.workgroup, overlay, sample.units, LONGEST, observed)
        samples.append(sample)
        spent += last
        if spent + last > budget:
            break
    return samples, spent


def choose(launch: Launch, instructions: tuple[Any, ...], seed: int, most: int = MOST_SAMPLES) -> Iterator[Sample]:
    """Up to `most` units to check, most telling first: the first, the last, then others; none twice."""
    known = interpretation_of(launch.kernel)
    if known.changes_buffers_in_turn(instructions):
        workgroups = range(min(most, prod(launch.global_size)))
        yield from (Sample(_workgroup(launch.global_size, number), None) for number in workgroups)
        return
    together = known.works_together(instructions)
    size = 1 if together else known.units(launch)
    seen: set[int] = set()
    for number in _numbers(prod(launch.global_size) * size, seed, most):
        if number not in seen:
            seen.add(number)
            workgroup = _workgroup(launch.global_size, number // size)
            yield Sample(workgroup, None if together else (number % size,))


def _numbers(count: int, seed: int, most: int) -> Iterator[int]:
    """0, count - 1, and numbers between, drawn from `seed` in the same way on every machine; all if that is not too many."""
    yield 0
    yield count - 1
    if count <= most:
        yield from range(count)
    for draw in range(most - 2):
        yield int.from_bytes(hashlib.sha256(f"{seed} {draw}".encode()).digest()[:8]) % count


def _workgroup(global_size: Size3, number: int) -> Size3:
    width, height, _ = global_size
    return number % width, number // width % height, number // (width * height)


def _difference(launch: Launch, written: Written) -> Difference:
    origin = written.origin
    return Difference(
        launch.kernel.name,
        origin.pc,
        origin.workgroup,
        origin.thread,
        origin.view.place(origin.offset),
        origin.size,
        written.value,
        written.actual,
    )

"""Interpreter and translated code against the recorded answers of a public a630 emulator, bit for bit."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
from emulator.a630_engines import ENGINES
from emulator.a630_programs import ins, launch_of, load, mov, store
from emulator.recorded_answers import LANES, Answer, recorded_answers

from autoclave.emulator.a630.instruction import ADDRESS_REGISTER, Immediate, Instruction

BATCH = 96
"""Answers that one kernel computes."""

SETUP = [
    *(mov(f"r40.{part}", f"c0.{part}") for part in "xy"),
    *(mov(f"r42.{part}", f"c0.{other}") for part, other in (("x", "z"), ("y", "w"))),
    ins("shl.b", "r44.x", "r0.x", 2),
    ins("add.u", "r40.x", "r40.x", "r44.x"),
    ins("shl.b", "r44.x", "r0.x", 4),
    ins("add.u", "r42.x", "r42.x", "r44.x"),
    mov("r43.x", 16 * LANES),
]
"""r40 and r42 point to the thread's word of the first result and its four words of the first operands."""


def test_the_answers_are_all_there():
    answers = list(recorded_answers())

    assert len(answers) == 1148
    assert sum(not answer.approximate for answer in answers) == 981


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_agree_bit_for_bit(engine: str):
    """All of them, but for SSE2, where every fifth saves half a minute of compiling."""
    step = 5 if engine == "translator-sse2" else 1

    different = [text for batch in batches(step) for text in differing(engine, batch)]

    assert different == []


def batches(step: int) -> Iterator[list[Answer]]:
    """Every `step`-th answer, in batches of one mode of half constants, whose constants do not contradict each other."""
    ordered = sorted(list(recorded_answers())[::step], key=lambda answer: answer.demotion)
    for _, group in groupby(ordered, key=lambda answer: answer.demotion):
        batch: list[Answer] = []
        constants: dict[int, int] = {}
        for answer in group:
            clash = any(constants.get(number, value) != value for number, value in answer.constants.items())
            if batch and (clash or len(batch) == BATCH):
                yield batch
                batch, constants = [], {}
            batch.append(answer)
            constants |= answer.constants
        yield batch


def differing(engine: str, batch: Sequence[Answer]) -> list[str]:
    """Answers of a batch that come out otherwise, all computed by one kernel of 64 threads."""
    wanted = np.array([values for answer in batch for values in answer.results], np.uint32)
    given = np.zeros_like(wanted)
    program = [*SETUP, *(one for answer in batch for one in program_of(answer))]
    launch = launch_of(
        program,
        buffers=[given, operand_rows(batch)],
        local_size=(LANES, 1, 1),
        constant_demotion=batch[0].demotion,
    )
    file = np.frombuffer(launch.constants.ljust(256, b"\0"), "<u4").copy()
    for answer in batch:
        for number, value in answer.constants.items():
            file[number] = value
    ENGINES[engine](replace(launch, constants=file.tobytes()))
    texts = [answer.text for answer in batch for _ in answer.results]
    wrong = given != wanted
    return [f"{text}: lanes {np.flatnonzero(lanes)}" for text, lanes in zip(texts, wrong, strict=True) if lanes.any()]


def program_of(answer: Answer) -> Iterator[Instruction]:
    """Load the operands, put each where the instruction has it; compute; store the results."""
    places = [
        source.operand
        for source, values in zip(answer.instruction.sources, answer.sources, strict=True)
        if values is not None
    ]
    if places:
        yield load("ldg", "r44.x", "r42.x", count=len(places))
        yield ins("add.u", "r42.x", "r42.x", "r43.x")
    for part, register in zip("xyz", places, strict=False):
        kind = "u16" if register.half else "u32"
        yield ins("mov" if kind == "u32" else "cov", [register], f"r44.{part}", source_type="u32", type=kind)
    yield answer.instruction
    for register in answer.instruction.destinations:
        kind = {ADDRESS_REGISTER: "s16"}.get(register.number, "u16" if register.half else "u32")
        source = replace(register, half=kind != "u32")
        wide = "s32" if kind == "s16" else "u32"
        yield ins("mov" if kind == "u32" else "cov", "r44.x", source, source_type=kind, type=wide)
        yield store("stg", "r40.x", "r44.x")
        yield ins("add.u", "r40.x", "r40.x", Immediate(4 * LANES))


def operand_rows(batch: Sequence[Answer]) -> np.ndarray:
    """By answer that has any and by lane: up to four operands."""
    columns = [[values for values in answer.sources if values is not None] for answer in batch]
    rows = [np.array((each + [[0] * LANES] * 4)[:4], np.uint32).T for each in columns if each]
    return np.ascontiguousarray(np.stack([*rows, np.zeros((LANES, 4), np.uint32)]))

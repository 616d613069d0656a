"""Translated code against the recorded answers of a public a630 emulator (data/README.md): each instruction on 64 threads."""

import struct
from dataclasses import replace

import numpy as np
import pytest
from emulator.a630_programs import code_of, ins, launch_of, load, mov, store
from emulator.recorded_answers import LANES, Answer, recorded_answers
from emulator.translated_programs import TARGETS, WIDTHS, run

from autoclave.emulator.a630.instruction import ADDRESS_REGISTER, PREDICATE_REGISTER, Instruction, Register
from autoclave.emulator.memory import guest_address

GROUP = 24
"""Answers that are tested by one kernel, one after the other."""

ADDRESSES = 1000
"""The constant from which on the addresses of buffers lie, behind those of the answers."""


def name(register: Register) -> str:
    special = {ADDRESS_REGISTER: "a0", PREDICATE_REGISTER: "p0"}
    vector = special.get(register.number & ~3, f"r{register.number // 4}")
    return f"{'h' if register.half and vector[0] == 'r' else ''}{vector}.{'xyzw'[register.number % 4]}"


def place(slot: int) -> list[Instruction]:
    """r60.xy: where the thread's word lies in a buffer."""
    return [
        mov("r60.y", guest_address(slot) >> 32),
        ins("shl.b", "r60.x", "r59.w", 2),
    ]


def steps_of(answer: Answer, buffers: list[np.ndarray]) -> tuple[list[Instruction], list[int]]:
    """Load the sources, execute, store the results; and the slots of these."""
    program: list[Instruction] = []
    for source, values in zip(answer.instruction.sources, answer.sources, strict=True):
        if values is not None:
            program += [*place(len(buffers)), load("ldg", "r60.z", "r60.x"), _to(source.operand)]
            buffers.append(np.array(values, np.uint32))
    program.append(answer.instruction)
    slots = []
    for destination in answer.instruction.destinations:
        program += [*place(len(buffers)), _from(destination), store("stg", "r60.x", "r60.w")]
        slots.append(len(buffers))
        buffers.append(np.zeros(LANES, np.uint32))
    return program, slots


def _to(register: Register) -> Instruction:
    if register.half:
        return ins("cov", name(register), "r60.z", source_type="u32", type="u16")
    return mov(name(register), "r60.z")


def _from(register: Register) -> Instruction:
    if register.half and register.number < ADDRESS_REGISTER:
        return ins("cov", "r60.w", name(register), source_type="u16", type="u32")
    return mov("r60.w", name(register))


def differing(answers: list[Answer], target) -> list[str]:
    buffers: list[np.ndarray] = []
    program, slots = [mov("r59.w", "r0.x")], []
    for answer in answers:
        steps, found = steps_of(answer, buffers)
        program += steps
        slots.append(found)
    launch = launch_of(code_of([*program, ins("end")]), buffers=buffers, local_size=(LANES, 1, 1))
    constants = bytearray(8192)
    for answer in answers:
        for number, value in answer.constants.items():
            struct.pack_into("<I", constants, 4 * number, value)
    kernel = replace(launch.kernel, constant_demotion=answers[0].demotion)
    run(replace(launch, kernel=kernel, constants=bytes(constants)), target)
    wrong = []
    for answer, found in zip(answers, slots, strict=True):
        for slot, register, wanted in zip(found, answer.instruction.destinations, answer.results, strict=True):
            mask = 0xFFFF if register.number == ADDRESS_REGISTER else 0xFFFFFFFF
            lanes = [lane for lane in range(LANES) if (int(buffers[slot][lane]) ^ wanted[lane]) & mask]
            if lanes:
                wrong.append(f"{answer.text}: lanes {lanes}")
    return wrong


def groups() -> list[list[Answer]]:
    """Answers that agree about their constants, and about demotion."""
    found: list[list[Answer]] = []
    for answer in sorted(recorded_answers(), key=lambda answer: (bool(answer.constants), answer.demotion)):
        last = found[-1] if found else []
        fits = (
            0 < len(last) < GROUP
            and last[0].demotion == answer.demotion
            and all(
                one.constants.get(number, value) == value for one in last for number, value in answer.constants.items()
            )
        )
        if fits:
            last.append(answer)
        else:
            found.append([answer])
    return found


@pytest.mark.parametrize(
    "target", [replace(TARGETS[0], quick=True), WIDTHS[1]], ids=lambda target: f"{target.cpu}-{target.lanes}"
)
def test_all_answers_agree_bit_for_bit(target) -> None:
    answers = groups()
    assert sum(map(len, answers)) == 1148
    assert [line for group in answers for line in differing(group, target)] == []

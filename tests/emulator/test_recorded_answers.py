"""The interpreter, and with it the scalar arithmetic, against the recorded answers of a public a630 emulator."""

from emulator.a630_programs import kernel_of
from emulator.recorded_answers import LANES, Answer, recorded_answers

from autoclave.emulator.a630.instruction import ADDRESS_REGISTER, Register
from autoclave.emulator.a630.interpreter import compile_instruction
from autoclave.emulator.a630.machine import Machine


def interpreted(answer: Answer) -> list[list[int]]:
    """What the interpreter gives, by destination and lane."""
    machine = Machine(kernel_of(b"", constant_demotion=answer.demotion))
    for number, value in answer.constants.items():
        machine.constants[number] = value
        halves = (value & 0xFFFF,) if answer.demotion else (value & 0xFFFF, value >> 16)
        machine.half_constants[number * len(halves) : (number + 1) * len(halves)] = halves
    steps = compile_instruction(machine, answer.instruction)
    lanes = []
    for lane in range(LANES):
        for source, values in zip(answer.instruction.sources, answer.sources, strict=True):
            if values is not None:
                write(machine, source.operand, values[lane])
        for step in steps:
            step()
        lanes.append([read(machine, one) for one in answer.instruction.destinations])
    return [list(column) for column in zip(*lanes, strict=True)]


def write(machine: Machine, register: Register, value: int) -> None:
    (machine.halves if register.half else machine.registers)[register.number] = value


def read(machine: Machine, register: Register) -> int:
    if register.number == ADDRESS_REGISTER:
        # A signed number of 16 bits, however it is held.
        return ((machine.registers[register.number] & 0xFFFF ^ 0x8000) - 0x8000) & 0xFFFFFFFF
    return (machine.halves if register.half else machine.registers)[register.number]


def differing(answers: list[Answer]) -> list[str]:
    found = []
    for answer in answers:
        pairs = zip(interpreted(answer), answer.results, strict=True)
        lanes = [lane for given, wanted in pairs for lane in range(LANES) if given[lane] != wanted[lane]]
        if lanes:
            found.append(f"{answer.text}: lanes {lanes}")
    return found


def test_all_answers_agree_bit_for_bit():
    answers = list(recorded_answers())

    assert len(answers) == 1148
    assert sum(not answer.approximate for answer in answers) == 981
    assert differing(answers) == []

"""Every rule of the arithmetic table, by values worked out by hand, on the interpreter and on translated code."""

from collections.abc import Sequence

import numpy as np
import pytest
from emulator.a630_engines import ENGINES
from emulator.a630_programs import ins, isam, launch_of, load, mov, stib, store
from emulator.arithmetic_cases import CASES, HALF_CONSTANTS, Case

from autoclave.emulator.a630.arithmetic import RULES
from autoclave.emulator.a630.arithmetic_use import rules_of
from autoclave.emulator.a630.instruction import Instruction
from autoclave.emulator.evidence import Rule, weakest_evidence
from autoclave.errors import MemoryFault

OUTPUT = [mov("r40.x", "c0.x"), mov("r40.y", "c0.y")]
FIRST_OPERAND = 4 * 9
"""The constant behind those that launches begin with and HALF_CONSTANTS."""

engines = pytest.mark.parametrize("engine", ENGINES)


def ran(engine: str, program: Sequence[Instruction], words: int = 1, **launch) -> list[int]:
    """The words that a program of one thread stores behind r40.xy."""
    output = np.zeros(words, np.uint32)
    ENGINES[engine](launch_of([*OUTPUT, *program], buffers=[output], **launch))
    return [int(word) for word in output]


def stored(register: str, place: int) -> list[Instruction]:
    bring = (
        ins("cov", "r41.x", register, source_type="u16", type="u32") if register[0] == "h" else mov("r41.x", register)
    )
    return [bring, store("stg", "r40.x", "r41.x", offset=4 * place)]


def results_of(engine: str, cases: Sequence[Case]) -> list[int]:
    program: list[Instruction] = []
    constants = list(HALF_CONSTANTS)
    for place, one in enumerate(cases):
        program += [*one.program(4 * 8 + len(constants)), *stored(one.to, place)]
        constants += one.operands
    return ran(engine, program, len(cases), constants=constants)


@engines
@pytest.mark.parametrize("rule", CASES)
def test_instructions_that_rely_on_a_rule(rule: str, engine: str):
    cases = CASES[rule]

    given = results_of(engine, cases)

    wrong = [
        f"{one.instruction.name} {[hex(value) for value in one.operands]}: {bits:#x}, not {one.result:#x}"
        for one, bits in zip(cases, given, strict=True)
        if bits != one.result
    ]
    assert wrong == []


@pytest.mark.parametrize("rule", CASES)
def test_cases_rely_on_the_rule_that_they_show(rule: str):
    assert all(rule in rules_of(one.instruction) for one in CASES[rule])


@engines
def test_load_byte(engine: str):
    program = [mov("r1.x", 0x7F80), store("stg", "r40.x", "r1.x"), load("ldg", "r2.x", "r40.x", "u8_32")]
    program += [load("ldg", "hr3.x", "r40.x", "u8"), *stored("r2.x", 0), *stored("hr3.x", 1)]
    assert ran(engine, program, words=2) == [0xFFFFFF80, 0x80]


@engines
def test_isam_outside(engine: str):
    texture = np.ones((2, 2, 4), np.float32)
    program = [mov("r1.x", 0), mov("r1.y", 0), isam("r4.x", "r1.x"), *stored("r4.x", 0)]
    for place, (x, y) in enumerate(((2, 0), (0, 2), (-1, 0), (0, -1)), start=1):
        program += [mov("r1.x", x), mov("r1.y", y), isam("r4.x", "r1.x"), *stored("r4.x", place)]
    assert ran(engine, program, words=5, textures=[texture]) == [0x3F800000, 0, 0, 0, 0]


@engines
def test_stib_outside(engine: str):
    image = np.zeros((2, 2, 4), np.float32)
    program = [mov(f"r2.{part}", 0x3F800000) for part in "xyzw"]
    for x, y in ((2, 0), (0, 2), (-1, 0), (1, 1)):
        program += [mov("r1.x", x), mov("r1.y", y), stib("r2.x", "r1.x")]
    ran(engine, program, images=[image])
    assert image.reshape(4, 4).tolist() == [[0.0] * 4] * 3 + [[1.0] * 4]


@engines
def test_image_formats(engine: str):
    texture = np.array([0x3C01, 0x0001, 0x7C00, 0xFC01], np.uint16).view(np.float16).reshape(1, 1, 4)
    image = np.zeros((1, 1, 4), np.float16)
    written = {"x": 0x3F801FFF, "y": 0x47800000, "z": 0x387FFFFF, "w": 0xBF800000}
    program = [mov("r1.x", 0), mov("r1.y", 0), isam("r4.x", "r1.x")]
    program += [one for place, part in enumerate("xyz") for one in stored(f"r4.{part}", place)]
    program += [mov(f"r2.{part}", bits) for part, bits in written.items()] + [stib("r2.x", "r1.x")]
    assert ran(engine, program, words=3, textures=[texture], images=[image]) == [0x3F802000, 0x33800000, 0x7F800000]
    assert image.view(np.uint16).ravel().tolist() == [0x3C01, 0x7C00, 0x0400, 0xBC00]


@engines
def test_private_outside(engine: str):
    program = [
        mov("r1.x", 0),
        mov("r2.x", 5),
        store("stp", "r1.x", "r2.x"),
        load("ldp", "r3.x", "r1.x"),
        *stored("r3.x", 0),
    ]
    program += [
        mov("r1.x", 64),
        store("stp", "r1.x", "r2.x"),
        mov("r3.x", 9),
        load("ldp", "r3.x", "r1.x"),
        *stored("r3.x", 1),
    ]
    assert ran(engine, program, words=2, private_bytes=64) == [5, 0]


@engines
@pytest.mark.parametrize("offset", [4, -4])
def test_global_outside(engine: str, offset: int):
    program = [ins("add.s", "r40.x", "r40.x", offset & 0xFFFFFFFF), store("stg", "r40.x", "r40.x")]
    with pytest.raises(MemoryFault):
        ran(engine, program)


@engines
def test_memory(engine: str):
    program = [mov("r1.x", 0x11223344), mov("r1.y", 0x55667788), store("stg", "r40.x", "r1.x", count=2)]
    program += [load("ldg", "hr2.x", "r40.x", "u16", count=2, offset=2), *stored("hr2.x", 2), *stored("hr2.y", 3)]
    assert ran(engine, program, words=4) == [0x11223344, 0x55667788, 0x1122, 0x7788]


@engines
@pytest.mark.parametrize(("merged", "full"), [(False, 0), (True, 0x00070000)])
def test_register_files(engine: str, merged: bool, full: int):
    """hr3.x is the low half of r1.z where registers are merged, hr3.y the high one."""
    program = [mov("r1.z", 0), ins("mov", "hr1.y", "h7", source_type="u16", type="u16"), *stored("r0.z", 0)]
    assert ran(engine, program, merged_registers=merged, local_invocation_id=252) == [full]


@engines
def test_special_registers(engine: str):
    program = [
        mov("r5.x", 11),
        mov("r5.y", 12),
        mov("r1.x", 21),
        ins("cov", "hr1.x", "r1.x", source_type="u32", type="u16"),
    ]
    program += [ins("mova", "a0.x", "hr1.x", source_type="s16", type="s16"), mov("r2.x", "r<0>"), *stored("r2.x", 0)]
    program += [mov("r2.x", "r<-1>"), *stored("r2.x", 1)]
    assert ran(engine, program, words=2) == [12, 11]


@engines
@pytest.mark.parametrize("taken", [0, 1])
def test_predication(engine: str, taken: int):
    program = [mov("r1.x", taken), mov("r2.x", 0), mov("r3.x", 0), ins("cmps.u", "p0.x", "r1.x", 0, condition="ne")]
    program += [ins("predt"), mov("r2.x", 1), ins("predf"), mov("r3.x", 1), ins("prede")]
    program += [*stored("r2.x", 0), *stored("r3.x", 1)]
    assert ran(engine, program, words=2) == [taken, 1 - taken]


@engines
@pytest.mark.parametrize(
    ("branch", "x", "y", "jumps"),
    [
        ("br", 1, 0, True),
        ("br", 0, 1, False),
        ("brao", 0, 1, True),
        ("brao", 0, 0, False),
        ("braa", 1, 1, True),
        ("braa", 1, 0, False),
    ],
)
def test_branches(engine: str, branch: str, x: int, y: int, jumps: bool):
    predicates = ["p0.x"] if branch == "br" else ["p0.x", "p0.y"]
    program = [mov("r1.x", x), mov("r1.y", y)]
    program += [ins("cmps.u", f"p0.{part}", f"r1.{part}", 0, condition="ne") for part in "xy"]
    program += [mov("r2.x", 1), ins(branch, (), *predicates, target=2), mov("r2.x", 0), *stored("r2.x", 0)]
    assert ran(engine, program) == [int(jumps)]


# The table itself.

SHOWN_ELSEWHERE = {
    "load-byte": test_load_byte,
    "isam-outside": test_isam_outside,
    "stib-outside": test_stib_outside,
    "image-formats": test_image_formats,
    "private-outside": test_private_outside,
    "global-outside": test_global_outside,
    "memory": test_memory,
    "register-files": test_register_files,
    "special-registers": test_special_registers,
    "predication": test_predication,
    "branches": test_branches,
}
"""Rules that take more than one instruction, and their tests."""


def test_every_rule_has_a_test():
    assert set(RULES) == set(CASES) | set(SHOWN_ELSEWHERE)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_evidence_follows_from_the_sources(rule: Rule):
    assert rule.evidence == ("documented" if set(rule.sources) & set("MQ") else "declared")
    assert rule.sources or rule.choice
    assert set(rule.sources) <= set("MQE")


@pytest.mark.parametrize(
    ("instruction", "rules"),
    [
        (ins("nop"), ()),
        (ins("end"), ()),
        (ins("bar"), ()),
        (ins("add.u", "r1.x", "r2.x", 5), ("integer",)),
        (
            ins("mad.f32", "r1.x", "r2.x", "r3.x", "(neg)r4.x"),
            ("mad-unfused", "float-denormals", "flush-boundary", "nan-canonical", "single-rounding", "float-modifiers"),
        ),
        (mov("r1.x", "c2.x"), ("move", "nan-payload")),
        (ins("cov", "r1.x", "hr2.x", source_type="f16", type="f32"), ("cov-denormals", "cov-nan", "register-files")),
        (isam("r1.x", "r2.x"), ("isam-outside", "image-formats")),
        (
            ins("add.f", "hr1.x", "hr2.x", "hc3.x"),
            ("float-denormals", "flush-boundary", "nan-canonical", "half-rounding", "half-constant", "register-files"),
        ),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_rules_of_an_instruction(instruction: Instruction, rules: tuple[str, ...]):
    assert rules_of(instruction) == rules


def test_the_weakest_rule_is_the_evidence_of_an_instruction():
    assert weakest_evidence(RULES, ()) == "documented"
    assert weakest_evidence(RULES, ("integer", "branches")) == "documented"
    assert weakest_evidence(RULES, ("integer", "elementary")) == "declared"

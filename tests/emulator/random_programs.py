"""Random a630 programs that do nothing wrong, from a seed, to compare one implementation with another.

`arithmetic_launch`: single instructions of categories 1 to 4 with any widths, modifiers, repetitions, constants and literals,
on operands that are often special. `memory_launch`: loads and stores of all types, aligned and not. `control_launch`: branches,
loops, predicated regions, barriers, and memory of every kind, with lanes that part and meet.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from emulator.a630_programs import ins, isam, kernel_of, launch_of, load, mov, stib, store

from autoclave.emulator.a630.decoder import decode
from autoclave.emulator.a630.encoder import encode
from autoclave.emulator.a630.encoding.table import FORMS
from autoclave.emulator.a630.instruction import Constant, Instruction, Operand, Register, Synchronisation
from autoclave.emulator.a630.interpreter import compile_instruction
from autoclave.emulator.a630.machine import Machine
from autoclave.emulator.launch import Launch
from autoclave.errors import UnknownInstruction

SPECIAL_SINGLES = (
    *(
        0,
        1,
        5,
        31,
        32,
        33,
        0x7F,
        0x80,
        0xFF,
        0x7FFF,
        0x8000,
        0xFFFF,
        0x10000,
        0xFFFFFF,
        0x7FFFFFFF,
        0xFFFFFFFF,
        0xFFFFFFFE,
    ),
    *(0x80000000, 0x80000001, 0x7FFFFF, 0x807FFFFF, 0x800000, 0x80800000),  # zeros, denormals, smallest normals
    *(0x3F800000, 0xBF800000, 0x3F000000, 0x40200000, 0xC0200000, 0x3F801000, 0x3F7FFFFF, 0x4B000001),
    *(0x477FE000, 0x477FEFFF, 0x477FF000, 0x38800000, 0x387FFFFF, 0x33800000),  # borders of f16
    *(0x4EFFFFFF, 0x4F000000, 0xCF000000, 0x4F800000, 0xC2FC0000, 0xC3000000, 0x42FE0000),  # of integers, of exp2
    *(0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7FC12345, 0x7F800001, 0xFF812345),
)
SPECIAL_HALVES = (
    *(0, 1, 15, 16, 17, 0x80, 0xFF, 0x3FF, 0x83FF, 0x400, 0x8400, 0x8000, 0x8001, 0x7FFF, 0xFFFF),
    *(0x3C00, 0xBC00, 0x3800, 0x3E00, 0x4100, 0xC100, 0x3C01, 0x1400, 0x7800, 0x7BFF, 0xFBFF),
    *(0x7C00, 0xFC00, 0x7E00, 0xFE00, 0x7E55, 0x7C01, 0xFD23),
)
_SPECIAL_SHARE = 0.6

_ARITHMETIC = tuple(form for form in FORMS if form.category in (1, 2, 3, 4))
_SOURCES = 13
"""Registers and constants from which operands are taken; three more follow, for repetitions."""

_FULL_SOURCES, _FULL_RESULT = 4 * 4, 4 * 10
_FIRST_CONSTANT, _CONSTANTS = 4 * 8, 40


def _special(dice: random.Random, values: Sequence[int], bits: int) -> int:
    return dice.choice(values) if dice.random() < _SPECIAL_SHARE else dice.getrandbits(bits)


# Arithmetic


def arithmetic_launch(seed: int, count: int, threads: int, merged: bool = False, demotion: bool = True) -> Launch:
    """`count` instructions, of each of which every thread stores what it gives for operands of its own."""
    dice = random.Random(seed)
    half_sources, half_result = (4 * 24, 4 * 40) if merged else (4 * 4, 4 * 10)
    program = [
        ins("mull.u", "r0.y", "r0.x", 96),
        ins("add.u", "r2.x", "c0.x", "r0.y"),
        mov("r2.y", "c0.y"),
        mov("r0.z", 64 * count),
        ins("mull.u", "r0.z", "r0.x", "r0.z"),
        ins("add.u", "r3.x", "c0.z", "r0.z"),
        mov("r3.y", "c0.w"),
        *(load("ldg", f"r{4 + at}.x", "r2.x", "u32", 4, 16 * at) for at in range(4)),
        *(load("ldg", f"hr{half_sources // 4 + at}.x", "r2.x", "u16", 4, 64 + 8 * at) for at in range(4)),
    ]
    for _ in range(count):
        instruction = _instruction(dice, half_sources, half_result)
        program += [instruction, *_stores(instruction), ins("add.u", "r3.x", "r3.x", 64)]
    sources = np.array([_operands(dice) for _ in range(threads)], np.uint32)
    constants = [_special(dice, SPECIAL_SINGLES, 32) for _ in range(_CONSTANTS + 8)]
    return launch_of(
        program,
        buffers=[sources, np.zeros(16 * count * threads, np.uint32)],
        constants=constants,
        local_size=(threads, 1, 1),
        merged_registers=merged,
        constant_demotion=demotion,
    )


def _operands(dice: random.Random) -> list[int]:
    """16 full and 16 half operands of a thread."""
    full = [_special(dice, SPECIAL_SINGLES, 32) for _ in range(16)]
    halves = [_special(dice, SPECIAL_HALVES, 16) for _ in range(16)]
    return full + [low | high << 16 for low, high in zip(halves[::2], halves[1::2], strict=True)]


def _instruction(dice: random.Random, half_sources: int, half_result: int) -> Instruction:
    """An instruction that the interpreter has a rule for."""
    while True:
        layout = dice.choice(_ARITHMETIC).layout
        free = dice.getrandbits(64) & (dice.getrandbits(64) if dice.random() < 0.5 else -1)
        try:
            found = decode(layout.match | free & ~layout.mask & ~layout.zero & (1 << 64) - 1)
            found = _with_operands(dice, found, half_sources, half_result)
            found = decode(encode(found))
            compile_instruction(Machine(kernel_of(b"")), found)
        except UnknownInstruction:
            continue
        if found.destinations and found.name not in ("mova", "mova1"):
            return found


def _with_operands(dice: random.Random, found: Instruction, half_sources: int, half_result: int) -> Instruction:
    def source(operand: Operand) -> Operand:
        if isinstance(operand, Register):
            return Register((half_sources if operand.half else _FULL_SOURCES) + dice.randrange(_SOURCES), operand.half)
        if isinstance(operand, Constant):
            return Constant(_FIRST_CONSTANT + dice.randrange(_CONSTANTS), operand.half)
        return operand

    return replace(
        found,
        sources=tuple(replace(one, operand=source(one.operand), last=False) for one in found.sources),
        destinations=tuple(
            Register((half_result if one.half else _FULL_RESULT) + 4 * at, one.half)
            for at, one in enumerate(found.destinations)
        ),
        repeat=min(found.repeat, 3),
        synchronisation=Synchronisation(),
    )


def _stores(instruction: Instruction) -> Iterator[Instruction]:
    """Stores of all that an instruction writes."""
    several = {"gat": 4, "swz": 1, "sct": 1}
    count = several.get(instruction.name, instruction.repeat + 1)
    written = [(one.number + at, one.half) for one in instruction.destinations for at in range(count)]
    for place, (number, half) in enumerate(written):
        name = f"{'hr' if half else 'r'}{number // 4}.{'xyzw'[number % 4]}"
        yield store("stg", "r3.x", name, "u16" if half else "u32", 1, 4 * place)


# Memory

_KINDS = (("u32", ""), ("u16", "h"), ("u8", "h"), ("u8_32", ""), ("f32", ""), ("f16", "h"), ("s16", "h"))
_INPUT_BYTES = 200


def memory_launch(seed: int, count: int, threads: int) -> Launch:
    """`count` loads of one to four elements of any type from anywhere in a buffer, each stored as it was loaded, anywhere."""
    dice = random.Random(seed)
    slot = 24
    program = [
        mov("r2.y", "c0.w"),
        mov("r3.y", "c0.y"),
        mov("r0.y", slot * count),
        ins("mull.u", "r3.x", "r0.x", "r0.y"),
        ins("add.u", "r3.x", "r3.x", "c0.x"),
    ]
    for _ in range(count):
        (kind, half), elements = dice.choice(_KINDS), dice.randrange(1, 5)
        program += [
            # an offset below 128, of each thread or of all
            ins("mull.u", "r0.z", dice.choice(("r0.x", "r0.x", "r48.x")), dice.choice((1, 2, 3, 4, 8, 37))),
            ins("and.b", "r0.z", "r0.z", 127),
            ins("add.u", "r2.x", "c0.z", "r0.z"),
            load("ldg", f"{half}r5.x", "r2.x", kind, elements, dice.randrange(32)),
            ins("and.b", "r0.w", "r0.x", 3),
            ins("add.u", "r0.w", "r0.w", "r3.x"),
            mov("r4.x", "r0.w"),
            mov("r4.y", "r3.y"),
            store("stg", "r4.x", f"{half}r5.x", kind, elements, dice.randrange(4)),
            ins("add.u", "r3.x", "r3.x", slot),
        ]
    source = np.frombuffer(dice.randbytes(_INPUT_BYTES), np.uint8).copy()
    return launch_of(program, buffers=[np.zeros(slot * count * threads, np.uint8), source], local_size=(threads, 1, 1))


# Control flow

_WORK = [f"r{4 + number // 4}.{'xyzw'[number % 4]}" for number in range(12)]
_COUNTERS = [f"r8.{part}" for part in "xyzw"]
_PREDICATES = [f"p0.{part}" for part in "xyzw"]
_THREADS = (3, 4, 3)
_PIXELS = (5, 7)


class _Writer:
    """Writes a program statement by statement; targets are put in when a body's length is known."""

    def __init__(self, dice: random.Random, together: bool) -> None:
        self.dice = dice
        self.together = together

    def work(self) -> str:
        return self.dice.choice(_WORK)

    def body(self, depth: int, statements: int) -> list[Instruction]:
        kinds: list[Callable[[int], list[Instruction]]] = [self.compute] * 3
        kinds += [self.region, self.private, self.image, self.memory]
        if depth > 0:
            kinds += [self.choice, self.loop, self.two_predicates]
        if not self.together:
            kinds.append(self.leave)
        return [one for _ in range(statements) for one in self.dice.choice(kinds)(depth - 1)]

    def compute(self, _: int) -> list[Instruction]:
        name = self.dice.choice(("add.u", "sub.u", "xor.b", "mull.u", "and.b", "max.s", "shr.b"))
        return [ins(name, self.work(), self.work(), self.dice.choice((self.work(), self.dice.randrange(64))))]

    def condition(self, predicate: str) -> Instruction:
        name = self.dice.choice(("cmps.u", "cmps.s"))
        other = self.dice.choice((self.work(), self.work(), "r0.x", "r48.x", self.dice.randrange(64)))
        return ins(
            name, predicate, self.work(), other, condition=self.dice.choice(("lt", "le", "gt", "ge", "eq", "ne"))
        )

    def predicate(self) -> str:
        return self.dice.choice(("", "!")) + self.dice.choice(_PREDICATES)

    def choice(self, depth: int) -> list[Instruction]:
        """if, or if and else, by br and jump."""
        predicate = self.predicate()
        yes, no = self.body(depth, 3), self.body(depth, 2) if self.dice.random() < 0.5 else []
        skip = [ins("jump", (), target=len(no) + 1)] if no else []
        branch = ins("br", (), predicate, target=len(yes) + len(skip) + 1)
        return [self.condition(predicate.removeprefix("!")), branch, *yes, *skip, *no]

    def two_predicates(self, depth: int) -> list[Instruction]:
        first, second = self.predicate(), self.predicate()
        skipped = self.body(depth, 2)
        branch = ins(self.dice.choice(("brao", "braa")), (), first, second, target=len(skipped) + 1)
        return [self.condition(first.removeprefix("!")), self.condition(second.removeprefix("!")), branch, *skipped]

    def loop(self, depth: int) -> list[Instruction]:
        """A number of rounds, up to three, that may differ from lane to lane."""
        counter, predicate = _COUNTERS[depth], self.dice.choice(_PREDICATES)
        body = self.body(depth, 3)
        return [
            ins("and.b", counter, self.work(), 3),
            ins("cmps.s", predicate, counter, 0, condition="le"),
            ins("br", (), predicate, target=len(body) + 3),
            *body,
            ins("add.u", counter, counter, -1),
            ins("jump", (), target=-(len(body) + 3)),
        ]

    def region(self, _: int) -> list[Instruction]:
        """predt, predf or both, with nothing but work within."""
        parts = self.dice.choice((["predt"], ["predf"], ["predt", "predf"]))
        found = [self.condition("p0.x")]
        for part in parts:
            found += [ins(part), *self.compute(0), *self.compute(0), *self.private(0)]
        return [*found, ins("prede")]

    def private(self, _: int) -> list[Instruction]:
        """A store to private memory and a load, both of which may lie outside."""
        kind = self.dice.choice((("u32", ""), ("u16", "h"), ("u8", "h")))
        write = store("stp", "r9.x", f"{kind[1]}r{5 + self.dice.randrange(2)}.x", kind[0], 2, self.dice.randrange(8))
        return [ins("and.b", "r9.x", self.work(), 31), write, load("ldp", self.work(), "r9.x", "u32")]

    def image(self, _: int) -> list[Instruction]:
        """A pixel at coordinates that may lie outside; work registers hold them afterwards."""
        height, width = _PIXELS
        return [
            ins("and.b", "r9.z", self.work(), 7),
            ins("and.b", "r9.w", self.work(), 7),
            ins("add.u", "r9.z", "r9.z", -1),
            isam("r10.x", "r9.z", texture=self.dice.randrange(2)),
            ins("xor.b", self.work(), self.work(), f"r10.{self.dice.choice('xyzw')}"),
        ]

    def memory(self, _: int) -> list[Instruction]:
        """A word or byte of the input, anywhere in it."""
        kind, to = self.dice.choice((("u32", self.work()), ("u8_32", self.work()), ("u16", "hr5.x")))
        return [
            ins("and.b", "r12.x", self.work(), 63),
            ins("add.u", "r12.x", "r12.x", "c0.z"),
            mov("r12.y", "c0.w"),
            load("ldg", to, "r12.x", kind, 1, self.dice.randrange(8)),
        ]

    def leave(self, _: int) -> list[Instruction]:
        """The end of some threads, where no barrier waits for them."""
        which = ins("cmps.u", "p0.w", "r11.x", self.dice.randrange(36), condition=self.dice.choice(("eq", "lt")))
        return [which, ins("kill", (), "p0.w")] if self.dice.random() < 0.2 else []

    def exchange(self) -> list[Instruction]:
        """Each thread gives a word to another one, over a barrier."""
        return [
            ins("mull.u", "r9.y", "r11.x", 4),
            store("stl", "r9.y", self.work()),
            ins("bar", modifiers=("g",)),
            ins("and.b", "r9.x", "r9.y", 60),
            load("ldl", self.work(), "r9.x"),
            ins("bar", modifiers=("g",)),
        ]


def control_launch(seed: int) -> Launch:
    """A launch of three workgroups of 36 threads; every thread stores its work registers and a pixel at its end."""
    dice = random.Random(seed)
    together = dice.random() < 0.5
    writer = _Writer(dice, together)
    width, height, depth = _THREADS
    program = [
        ins("mull.u", "r11.x", "r0.z", height),
        ins("add.u", "r11.x", "r11.x", "r0.y"),
        ins("mull.u", "r11.x", "r11.x", width),
        ins("add.u", "r11.x", "r11.x", "r0.x"),  # the thread's number
        ins("mull.u", "r11.y", "r48.x", width * height * depth),
        ins("add.u", "r11.y", "r11.y", "r11.x"),  # among all threads
    ]
    for number, register in enumerate(_WORK):
        program.append(ins("mull.u", register, "r11.y", 37 + 11 * number))
        program.append(ins("xor.b", register, register, f"c{8 + number // 4}.{'xyzw'[number % 4]}"))
    for _ in range(3):
        program += writer.body(3, 4)
        program += writer.exchange() if together else []
    program += [
        ins("mull.u", "r12.x", "r11.y", 4 * len(_WORK)),
        ins("add.u", "r12.x", "r12.x", "c0.x"),
        mov("r12.y", "c0.y"),
    ]
    program += [store("stg", "r12.x", register, offset=4 * at) for at, register in enumerate(_WORK)]
    program += [mov("r9.z", "r11.y"), mov("r9.w", 0), stib("r4.x", "r9.z")]
    threads = 3 * width * height * depth
    shape = (*_PIXELS, 4)
    return launch_of(
        program,
        buffers=[
            np.zeros(len(_WORK) * threads, np.uint32),
            np.array([dice.getrandbits(32) for _ in range(20)], np.uint32),
        ],
        images=[np.zeros((1, threads, 4), np.float32)],
        textures=[
            np.array([dice.getrandbits(16) for _ in range(35 * 4)], np.uint16).view(np.float16).reshape(shape),
            np.array([dice.getrandbits(32) for _ in range(35 * 4)], np.uint32).view(np.float32).reshape(shape),
        ],
        constants=[dice.getrandbits(32) for _ in range(12)],
        local_size=_THREADS,
        global_size=(3, 1, 1),
        private_bytes=16,
        shared_bytes=4 * 36,
    )

"""Random gfx1200 programs that do nothing wrong, from a seed, to compare one implementation with another.

`arithmetic_launch`: operations on vector and scalar registers in any encoding, with modifiers, DPP, constants and literals, lane
moves and products of matrices, on operands that are often special, while EXEC changes. `memory_launch`: loads, stores and atomics
of all kinds and memories, aligned and not. `control_launch`: branches, loops and barriers, nested.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from emulator.rdna4.encoding_samples import random_code
from emulator.rdna4.wave_programs import ATOMIC_RETURN, ins, launch_of

from autoclave.emulator.launch import Launch
from autoclave.emulator.rdna4.decoder import decode
from autoclave.emulator.rdna4.encoder import encode
from autoclave.emulator.rdna4.encoding.table import FORMS
from autoclave.emulator.rdna4.instruction import EXEC, M0, NULL, SCC, VCC, Instruction, Register
from autoclave.emulator.rdna4.interpreter import compile_instruction
from autoclave.emulator.rdna4.interpreter_memory import LOADS, STORES
from autoclave.emulator.rdna4.launch import KernelCode
from autoclave.emulator.rdna4.machine import Machine
from autoclave.errors import UnknownInstruction

VECTORS = 24
"""Vector registers, from v1 on, that the programs compute with; more follow, for operands of several."""

SCALARS = 32
"""Scalar registers, from s0 on, likewise."""

_WIDEST = 8
_SPECIAL = (
    0, 1, 2, 5, 31, 32, 33, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0xFFFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE,
    0x80000000, 0x80000001, 0x7FFFFF, 0x807FFFFF, 0x800000, 0x80800000, 0x3F800000, 0xBF800000, 0x3F000000, 0x40200000,
    0x3F801000, 0x3F7FFFFF, 0x4B000001, 0x477FE000, 0x477FEFFF, 0x477FF000, 0x38800000, 0x387FFFFF, 0x33800000, 0x4EFFFFFF,
    0x4F000000, 0xCF000000, 0x4F800000, 0xC2FC0000, 0xC3000000, 0x42FE0000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000,
    0x7FC00000, 0xFFC00000, 0x7FC12345, 0x7F800001, 0xFF812345, 0x3C003C00, 0xBC003800, 0x7C00FC00, 0x7E00FE01, 0x04000001,
    0x83FF8001, 0x7BFFFBFF, 0x3F803F80, 0x7FF00000, 0x3FF00000, 0xBFE00000, 0x41DFFFFF, 0x00100000, 0x400921FB,
)  # fmt: skip
_SPECIAL_SHARE = 0.6

_ENCODINGS = ("SOP1", "SOP2", "SOPC", "SOPK", "VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD", "VOP3P", "VOPD")
_CROSS_LANE = ("ds_bpermute_b32", "ds_bpermute_fi_b32", "ds_permute_b32", "ds_swizzle_b32")
_FORMS = tuple(form for form in FORMS if form.encoding in _ENCODINGS or form.name in _CROSS_LANE)
_LEFT_OUT = ("s_barrier", "s_sleep", "s_sendmsg", "s_version", "s_nop")
_WIDE_EXEC = ("saveexec_b64", "wrexec_b64")
"""Ends of names of what is for waves of 64 lanes."""

_EXEC_SHARE = 0.1
"""Of the instructions that write EXEC, how many are kept: most lanes should mostly be on."""


def words(dice: random.Random, count: int) -> np.ndarray:
    """Bits that are often special."""
    return np.array(
        [dice.choice(_SPECIAL) if dice.random() < _SPECIAL_SHARE else dice.getrandbits(32) for _ in range(count)],
        np.uint32,
    )


def arithmetic_launch(seed: int, count: int, threads: int) -> Launch:
    """`count` random operations by `threads` threads, whose registers are stored in the end."""
    dice = random.Random(seed)
    body = [_operation(dice) for _ in range(count)]
    inputs, scalars = words(dice, threads * VECTORS), words(dice, SCALARS)
    output = np.zeros(threads * (VECTORS + SCALARS + 2), np.uint32)
    program = [*_set_up(), *body, *_store_registers()]
    return launch_of(program, [output, inputs, scalars], local_size=(threads, 1, 1))


def _set_up() -> Iterator[Instruction]:
    """Addresses in s[90:95], the thread's number in v200, its inputs in v1 and on, the wave's in s0 and on."""
    for slot in range(3):
        yield ins("s_load_b64", f"s[{90 + 2 * slot}:{91 + 2 * slot}]", "s[0:1]", immediate=8 * slot)
    yield ins("v_mov_b32", "v200", "v0")
    yield ins("v_mul_lo_u32", "v201", 4 * VECTORS, "v0")
    for at in range(VECTORS):
        yield ins("global_load_b32", f"v{1 + at}", "v201", "s[92:93]", immediate=4 * at)
    for at in range(0, SCALARS, 16):
        yield ins("s_load_b512", f"s[{at}:{at + 15}]", "s[94:95]", immediate=4 * at)


def _store_registers() -> Iterator[Instruction]:
    yield ins("s_cselect_b32", "s88", 1, 0)
    yield ins("s_mov_b32", "s89", "exec")
    yield ins("s_mov_b32", "exec", 0xFFFFFFFF)
    yield ins("v_mul_lo_u32", "v201", 4 * (VECTORS + SCALARS + 2), "v200")
    for at in range(VECTORS):
        yield ins("global_store_b32", (), "v201", f"v{1 + at}", "s[90:91]", immediate=4 * at)
    for place, number in enumerate((*range(SCALARS), 88, 89)):
        yield ins("v_mov_b32", "v202", f"s{number}")
        yield ins("global_store_b32", (), "v201", "v202", "s[90:91]", immediate=4 * (VECTORS + place))


_MACHINE = Machine(KernelCode("k", b"", 0, 0, 0, 0, 0, 0, 0))


def _operation(dice: random.Random) -> Instruction:
    """An instruction that has a rule, on registers within the bounds."""
    while True:
        form = dice.choice(_FORMS)
        if form.name.startswith(_LEFT_OUT) or form.name.endswith(_WIDE_EXEC):
            continue
        try:
            found = _within_bounds(decode(random_code(form, dice)))
            compile_instruction(_MACHINE, found)
            if _is_harmless(found) and (not _writes_exec(found) or dice.random() < _EXEC_SHARE):
                return decode(encode(found))
        except UnknownInstruction:
            continue


def _is_harmless(instruction: Instruction) -> bool:
    """Whether it writes no registers that the hardware keeps for itself, nor reads what says where memory is."""
    parts = instruction.dual or (instruction,)
    written = [one.operand for part in parts for one in part.destinations]
    read = [one.operand for part in parts for one in part.sources if isinstance(one.operand, Register)]
    known = (*range(SCALARS), VCC, NULL, M0, EXEC, SCC)
    return all(one.file == "v" or one.number in known for one in (*written, *read)) and instruction.target is None


def _writes_exec(instruction: Instruction) -> bool:
    return (
        "exec_" in instruction.name
        or "cmpx" in instruction.name
        or any(one.operand.file == "s" and one.operand.number == EXEC for one in instruction.destinations)
    )


def _within_bounds(instruction: Instruction) -> Instruction:
    if instruction.dual is not None:
        x, y = instruction.dual
        return replace(instruction, dual=(_moved(x), _moved(y)))
    return _moved(instruction)


def _moved(instruction: Instruction) -> Instruction:
    return replace(
        instruction,
        destinations=tuple(replace(one, operand=_bounded(one.operand)) for one in instruction.destinations),
        sources=tuple(
            replace(one, operand=_bounded(one.operand)) if isinstance(one.operand, Register) else one
            for one in instruction.sources
        ),
    )


def _bounded(register: Register) -> Register:
    """The register of the same file, parity and width that the programs use."""
    if register.file == "v":
        return replace(register, number=2 + register.number % (VECTORS - _WIDEST) // 2 * 2 + register.number % 2 - 1)
    return register if register.number >= 104 else replace(register, number=register.number % SCALARS)


# Memory

_BYTES = 256
"""Of each thread's own in global and shared memory."""

_PRIVATE = 64
_ATOMICS = (
    "add_u32",
    "sub_u32",
    "min_i32",
    "min_u32",
    "max_i32",
    "max_u32",
    "and_b32",
    "or_b32",
    "xor_b32",
    "inc_u32",
    "dec_u32",
)


def memory_launch(seed: int, count: int, threads: int) -> Launch:
    """`count` random accesses by `threads` threads, each to memory of its own, while EXEC changes."""
    dice = random.Random(seed)
    output, inputs = np.zeros(threads * (VECTORS + SCALARS + 2), np.uint32), words(dice, threads * VECTORS)
    scalars, memory = words(dice, SCALARS), np.frombuffer(dice.randbytes(threads * _BYTES), np.uint8).copy()
    program = [
        ins("s_load_b64", "s[86:87]", "s[0:1]", immediate=24),
        *_set_up(),
        ins("v_mul_lo_u32", "v203", _BYTES, "v200"),
        ins("v_mov_b32", "v204", "s86"),
        ins("v_mov_b32", "v205", "s87"),
        ins("v_add_co_u32", ("v204", "vcc"), "v204", "v203"),
        ins("v_add_co_ci_u32", ("v205", "vcc"), 0, "v205", "vcc"),
    ]
    for _ in range(count):
        program += _access(dice)
    program += _store_registers()
    return launch_of(
        program,
        [output, inputs, scalars, memory],
        local_size=(threads, 1, 1),
        shared_bytes=threads * _BYTES,
        private_bytes=_PRIVATE,
    )


def _access(dice: random.Random) -> Sequence[Instruction]:
    """An access, sometimes by a few lanes only."""
    space = dice.choice(("global", "flat", "scratch", "ds", "ds", "atomic", "pair", "scalar"))
    masks = (dice.getrandbits(32), 1 << dice.randrange(32), 0)
    narrowed = [ins("s_mov_b32", "exec", dice.choice(masks))] if dice.random() < 0.3 else []
    return [*narrowed, _MAKERS[space](dice, space), ins("s_mov_b32", "exec", 0xFFFFFFFF)]


def _plain(dice: random.Random, space: str) -> Instruction:
    """A load or store by name, of memory that the thread has to itself."""
    names = [name for name in (*LOADS, *STORES) if name.startswith(f"{space}_")]
    name = dice.choice(names)
    form = LOADS.get(name) or STORES[name]
    register = _registers(dice, max(1, form.size // 4))
    offset = dice.randrange((_PRIVATE if space == "scratch" else _BYTES) - form.size + 1)
    address: tuple[str, ...]
    if space == "scratch":
        address = ("off",)
    elif space == "ds":
        address = ("v203",)
    else:
        address = ("v[204:205]",) if space == "flat" or dice.random() < 0.5 else ("v203", "s[86:87]")
    if name in LOADS:
        return ins(name, register, *address, immediate=offset)
    return ins(name, (), address[0], register, *address[1:], immediate=offset)


def _pair(dice: random.Random, space: str) -> Instruction:
    size = dice.choice((4, 8))
    offsets = {"immediate": dice.randrange(_BYTES // size), "second_immediate": dice.randrange(_BYTES // size)}
    if dice.random() < 0.5:
        return ins(f"ds_load_2addr_b{8 * size}", _registers(dice, size // 2), "v203", **offsets)
    first, second = (_registers(dice, size // 4) for _ in range(2))
    return ins(f"ds_store_2addr_b{8 * size}", (), "v203", first, second, **offsets)


def _atomic(dice: random.Random, space: str) -> Instruction:
    kind, offset = dice.choice(_ATOMICS), dice.randrange(_BYTES // 4) * 4
    operation, _, of = kind.rpartition("_")
    data, to = _registers(dice, 1), _registers(dice, 1)
    if dice.random() < 0.5:
        return ins(f"ds_{operation}_rtn_{of}", to, "v203", data, immediate=offset)
    returns = {"scope_or_policy": ATOMIC_RETURN}
    return ins(f"global_atomic_{kind}", to, "v203", data, "s[86:87]", immediate=offset, **returns)


def _scalar(dice: random.Random, space: str) -> Instruction:
    name, count = dice.choice((("b32", 1), ("b64", 2), ("b128", 4), ("u8", 1), ("i8", 1), ("u16", 1), ("i16", 1)))
    first = dice.randrange(0, SCALARS, 4)
    to = f"s{first}" if count == 1 else f"s[{first}:{first + count - 1}]"
    return ins(f"s_load_{name}", to, "s[94:95]", immediate=dice.randrange(4 * (SCALARS - 4)))


def _registers(dice: random.Random, count: int) -> str:
    first = dice.randrange(1, VECTORS - count)
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


_MAKERS = {
    **dict.fromkeys(("global", "flat", "scratch", "ds"), _plain),
    "atomic": _atomic,
    "pair": _pair,
    "scalar": _scalar,
}


# Control

_THREADS = 64
_SAVED, _COUNTER, _CONDITION = 64, 72, 80
"""Scalar registers of each level of nesting, and one for conditions, which operations do not use."""


def control_launch(seed: int, depth: int = 2) -> Launch:
    """Branches that some lanes take, loops, and barriers between which two waves exchange values, all nested at random."""
    dice = random.Random(seed)
    output = np.zeros(_THREADS * (VECTORS + SCALARS + 2), np.uint32)
    inputs, scalars = words(dice, _THREADS * VECTORS), words(dice, SCALARS)
    program: list[Instruction | str] = [*_set_up(), ins("v_lshlrev_b32", "v206", 2, "v200")]
    for _ in range(4):
        program += _nested(dice, depth) + _exchange(dice)
    program += _store_registers()
    buffers = [output, inputs, scalars]
    return launch_of(_numbered(program), buffers, local_size=(_THREADS, 1, 1), shared_bytes=4 * _THREADS)


def _nested(dice: random.Random, depth: int) -> list[Instruction | str]:
    """Operations, and, unless the depth is reached, branches and loops among them."""
    found: list[Instruction | str] = []
    for _ in range(dice.randrange(1, 4)):
        found += [one for one in (_operation(dice) for _ in range(3)) if not _writes_exec(one)]
        if depth:
            found += dice.choice((_by_lanes, _by_scalar, _loop))(dice, depth - 1)
    return found


def _by_lanes(dice: random.Random, depth: int) -> list[Instruction | str]:
    label = _label(dice)
    saved, comparison = f"s{_SAVED + depth}", dice.choice(("v_cmp_gt_u32", "v_cmp_lt_i32", "v_cmp_eq_u32"))
    return [
        ins(comparison, f"s{_CONDITION}", _any_vector(dice), _any_vector(dice)),
        ins("s_and_saveexec_b32", saved, f"s{_CONDITION}"),
        ins("s_cbranch_execz", target=int(label)),
        *_nested(dice, depth),
        label,
        ins("s_or_b32", "exec", "exec", saved),
    ]


def _by_scalar(dice: random.Random, depth: int) -> list[Instruction | str]:
    label = _label(dice)
    return [
        ins("s_cmp_lt_i32", (), f"s{dice.randrange(SCALARS)}", f"s{dice.randrange(SCALARS)}"),
        ins(dice.choice(("s_cbranch_scc0", "s_cbranch_scc1")), target=int(label)),
        *_nested(dice, depth),
        label,
    ]


def _loop(dice: random.Random, depth: int) -> list[Instruction | str]:
    label, counter = _label(dice), f"s{_COUNTER + depth}"
    return [
        ins("s_mov_b32", counter, dice.randrange(1, 4)),
        label,
        *_nested(dice, depth),
        ins("s_sub_co_u32", counter, counter, 1),
        ins("s_cmp_lg_u32", (), counter, 0),
        ins("s_cbranch_scc1", target=int(label)),
    ]


def _exchange(dice: random.Random) -> list[Instruction | str]:
    """Each thread stores a value, and after a barrier loads another thread's."""
    barrier = [ins("s_barrier_signal", (), -1), ins("s_barrier_wait", immediate=-1)]
    return [
        ins("ds_store_b32", (), "v206", _any_vector(dice)),
        *barrier,
        ins("v_xor_b32", "v207", 4 << dice.randrange(6), "v206"),
        ins("ds_load_b32", _any_vector(dice), "v207"),
        *barrier,
    ]


def _any_vector(dice: random.Random) -> str:
    return f"v{1 + dice.randrange(VECTORS)}"


def _label(dice: random.Random) -> str:
    return str(dice.getrandbits(60))


def _numbered(program: Sequence[Instruction | str]) -> list[Instruction | str]:
    """The program with its branches' targets as places among the labels."""
    places = {label: place for place, label in enumerate(one for one in program if isinstance(one, str))}
    return [
        replace(one, target=places[str(one.target)]) if isinstance(one, Instruction) and one.target is not None else one
        for one in program
    ]

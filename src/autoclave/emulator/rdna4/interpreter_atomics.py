"""Atomics of the interpreter, on shared memory (ds_add_u32) and on buffers (global_atomic_add_u32).

A wave runs alone and its lanes change memory in their order, so an atomic is a load and a store. What was there before goes
to the destination if there is one.
"""

from collections.abc import Callable, Sequence
from typing import cast

from autoclave.emulator.rdna4.instruction import EXEC, Instruction, Register
from autoclave.emulator.rdna4.interpreter_memory import Form, read_stored, write_loaded
from autoclave.emulator.rdna4.interpreter_operands import Binder
from autoclave.emulator.rdna4.interpreter_spaces import data_sources, space_of
from autoclave.emulator.rdna4.lanewise import LANE_OPERATIONS
from autoclave.emulator.rdna4.machine import Lanes, Machine, lanes_of
from autoclave.emulator.turns import Step

Update = Callable[..., int]
"""Gives the new value from the old one and the operands, all of one width."""


def _integers(bits: int) -> dict[str, Update]:
    """The operations on integers of one width, by the end of their names."""
    mask, sign = (1 << bits) - 1, 1 << (bits - 1)
    return {
        f"add_u{bits}": lambda old, value: (old + value) & mask,
        f"sub_u{bits}": lambda old, value: (old - value) & mask,
        f"rsub_u{bits}": lambda old, value: (value - old) & mask,
        f"sub_clamp_u{bits}": lambda old, value: max(0, old - value),
        f"cond_sub_u{bits}": lambda old, value: old - value if old >= value else old,
        f"inc_u{bits}": lambda old, value: 0 if old >= value else old + 1,
        f"dec_u{bits}": lambda old, value: value if old == 0 or old > value else old - 1,
        f"min_u{bits}": min,
        f"max_u{bits}": max,
        f"min_i{bits}": lambda old, value: min(old, value, key=lambda one: (one ^ sign) - sign),
        f"max_i{bits}": lambda old, value: max(old, value, key=lambda one: (one ^ sign) - sign),
        f"and_b{bits}": lambda old, value: old & value,
        f"or_b{bits}": lambda old, value: old | value,
        f"xor_b{bits}": lambda old, value: old ^ value,
        f"mskor_b{bits}": lambda old, cleared, added: old & ~cleared | added,
        **dict.fromkeys((f"swap_b{bits}", f"storexchg_b{bits}"), lambda old, value: value),
        **dict.fromkeys(
            (f"cmpswap_b{bits}", f"cmpstore_b{bits}"), lambda old, value, wanted: value if old == wanted else old
        ),
    }


_FLOATS = {
    "add_f32": "v_add_f32",
    "min_num_f32": "v_min_num_f32",
    "max_num_f32": "v_max_num_f32",
    "min_num_f64": "v_min_num_f64",
    "max_num_f64": "v_max_num_f64",
    "pk_add_f16": "v_pk_add_f16",
}
"""Atomics on floats compute what an operation on registers does."""

UPDATES: dict[str, Update] = {
    **_integers(32),
    **_integers(64),
    **{name: cast(Update, LANE_OPERATIONS[operation].compute) for name, operation in _FLOATS.items()},
}


def _atomic(machine: Machine, instruction: Instruction) -> Step:
    binder, kind = Binder(machine, instruction), _kind(instruction.name)
    update, size = UPDATES[kind], 8 if kind.endswith("64") else 4
    space, form = space_of(binder, size), Form(size)
    reads = [read_stored(binder, register, form) for register in _operands(instruction, kind, size)]
    write = write_loaded(binder, instruction.destinations[0].operand, form) if instruction.destinations else _drop
    load, store, scalars, offset = space.load, space.store, machine.scalars, instruction.immediate

    def step() -> None:
        lanes = lanes_of(scalars[EXEC])
        addresses = space.addresses(lanes)
        operands = zip(*(read(lanes) for read in reads), strict=True)
        found = []
        for at, lane, values in zip(addresses, lanes, operands, strict=True):
            old = load(at + offset, lane)
            store(at + offset, lane, update(old, *values))
            found.append(old)
        write(lanes, found)

    return step


def _drop(lanes: Lanes, values: Sequence[int]) -> None:
    pass


def _operands(instruction: Instruction, kind: str, size: int) -> list[Register]:
    """The registers of an atomic's operands: those that are compared with, in global memory, follow upon the first."""
    registers = data_sources(instruction)
    if kind.startswith("cmpswap"):
        return [registers[0], Register("v", registers[0].number + size // 4)]
    return registers


def _kind(name: str) -> str:
    """ "add_u32" of "global_atomic_add_u32" and of "ds_add_rtn_u32"."""
    _, _, kind = name.rpartition("atomic_")
    return kind.removeprefix("ds_").replace("_rtn", "")


def _names(kind: str) -> list[str]:
    operation, _, of = kind.rpartition("_")
    return [f"ds_{kind}", f"ds_{operation}_rtn_{of}", f"global_atomic_{kind}", f"flat_atomic_{kind}"]


ATOMICS = {name: _atomic for kind in UPDATES for name in _names(kind)}
"""Atomics by name."""

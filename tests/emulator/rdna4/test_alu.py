"""Every rule of the translator's ALU gives the bits of the second implementation, on every processor and in every width."""

from functools import cache

import numpy as np
import pytest
from emulator.rdna4.alu_cases import columns
from emulator.rdna4.alu_harness import compiled, hosts, instruction

from autoclave.emulator.jit import HostTarget
from autoclave.emulator.rdna4.encoding.table import FORMS
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.lanewise import LANE_OPERATIONS, SCALAR_OPERATIONS
from autoclave.emulator.rdna4.translator.alu import SCALAR, VECTOR
from autoclave.emulator.rdna4.translator.exec_moves import EXEC_MOVES
from autoclave.emulator.rdna4.translator.lane_moves import LANE_MOVES

ENCODED = {form.name for form in FORMS}
"""Names that an instruction can have."""

COMPARED = [name for name in VECTOR if name in ENCODED and LANE_OPERATIONS[name].takes != "lane"]
"""Those that see nothing of a lane but its operands."""

HALVES = [
    name
    for name in COMPARED
    if not name.startswith("v_cmp") and [source.type for source in instruction(name).sources] == ["f16"]
]
"""Operations on one half."""

ROWS = 256
ALL_HALVES = np.arange(1 << 16, dtype=np.uint64)
LANES = {"x86-64": 4, "x86-64-v3": 8, "x86-64-v4": 16}


def test_every_operation_of_the_second_implementation_has_a_rule():
    rules = {*VECTOR, *SCALAR, *EXEC_MOVES, *LANE_MOVES}

    missing = {*LANE_OPERATIONS, *SCALAR_OPERATIONS} & ENCODED - rules

    assert {name for name in missing if not name.endswith("exec_b64")} == set()


@cache
def operands(name: str) -> list[np.ndarray]:
    return columns([source.type for source in instruction(name).sources], ROWS, name)


@cache
def expected(name: str) -> list[list[int]]:
    """By the plain implementation: a column for each result."""
    operation = LANE_OPERATIONS[name]
    leading = [False, False] if operation.takes == "signs" else []
    rows = zip(*(map(int, column) for column in operands(name)), strict=True)
    results = [operation.compute(*leading, *row) for row in rows]
    return [
        [*column] for column in zip(*(each if isinstance(each, tuple) else (each,) for each in results), strict=True)
    ]


def first_difference(name: str, taken: list[np.ndarray], given: np.ndarray, wanted: np.ndarray) -> list[object]:
    """The operands, what was given and what was wanted, of the first row in which these differ."""
    return [
        (name, [hex(int(column[row])) for column in taken], hex(int(given[row])), hex(int(wanted[row])))
        for row in np.flatnonzero(given != wanted)[:1]
    ]


@pytest.mark.parametrize("target", hosts(), ids=lambda target: target.cpu)
def test_vector_operations(target: HostTarget):
    rules = compiled([[instruction(name)] for name in COMPARED], LANES[target.cpu], target)

    wrong: list[object] = []
    for number, name in enumerate(COMPARED):
        given = rules.run(number, operands(name))
        for result, wanted in zip(given, expected(name), strict=True):
            wrong += first_difference(name, operands(name), result, np.array(wanted, result.dtype))

    assert wrong == []


@pytest.mark.parametrize("lanes", [8, 32])
def test_operations_on_halves_do_not_depend_on_the_width(lanes: int):
    names = [
        "v_fma_f16",
        "v_fma_mixlo_f16",
        "v_ldexp_f32",
        "v_exp_f32",
        "v_pk_fma_f16",
        "v_cvt_f16_f32",
        "v_cvt_pk_rtz_f16_f32",
    ]
    rules = compiled([[instruction(name)] for name in names], lanes, hosts()[-1])

    wrong: list[object] = []
    for number, name in enumerate(names):
        (given,) = rules.run(number, operands(name))
        wrong += first_difference(name, operands(name), given, np.array(expected(name)[0], np.uint64))

    assert wrong == []


@pytest.mark.parametrize("target", hosts(), ids=lambda target: target.cpu)
def test_operations_on_one_half_are_right_for_all_halves(target: HostTarget):
    rules = compiled([[instruction(name)] for name in HALVES], LANES[target.cpu], target)

    wrong: list[object] = []
    for number, name in enumerate(HALVES):
        (given,) = rules.run(number, [ALL_HALVES])
        wrong += first_difference(name, [ALL_HALVES], given, of_all_halves(name))

    assert wrong == []


@cache
def of_all_halves(name: str) -> np.ndarray:
    compute = LANE_OPERATIONS[name].compute
    return np.array([compute(bits) for bits in range(1 << 16)], np.uint64)


def scalar_instruction(name: str) -> Instruction:
    return instruction(name, immediate=-1234) if instruction(name).encoding == "SOPK" else instruction(name)


@pytest.mark.parametrize("target", (hosts()[0], hosts()[-1]), ids=lambda target: target.cpu)
def test_scalar_operations_and_scc(target: HostTarget):
    instructions = [scalar_instruction(name) for name in SCALAR]
    rules = compiled([[one] for one in instructions], 8, target)
    scc = np.arange(ROWS, dtype=np.uint32) & 1

    wrong = []
    for number, one in enumerate(instructions):
        taken = columns([source.type for source in one.sources], ROWS, one.name)
        given = rules.run(number, taken, scc)
        immediate = [one.immediate & 0xFFFFFFFF] if one.encoding == "SOPK" else []
        for row in range(ROWS):
            sources = [*immediate, *(int(column[row]) for column in taken)]
            results, condition = SCALAR_OPERATIONS[one.name].compute(int(scc[row]), *sources)
            wanted = [*results, int(scc[row]) if condition is None else condition]
            if [int(column[row]) for column in given] != wanted:
                wrong.append((one.name, sources, wanted))

    assert wrong == []


@pytest.mark.parametrize("name", ["v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32"])
def test_lanes_count_the_bits_below_their_own(name: str):
    lanes = 16
    taken = columns(["u32", "u32"], ROWS, name)

    (given,) = compiled([[instruction(name)]], lanes, hosts()[-1]).run(0, taken)

    compute = LANE_OPERATIONS[name].compute
    wanted = [compute(row % lanes, int(a), int(b)) for row, (a, b) in enumerate(zip(*taken, strict=True))]
    assert given.tolist() == wanted


def test_all_ways_to_compute_exponentials_round_alike():
    """By a table, by fused steps and by plain ones: on arguments all over f32, every binade, and those nearest to a tie."""
    draw = np.random.default_rng(0)
    hardest = [
        0xB52D1F9A,
        0xBCF3A937,
        0x3B429D37,
        0xB8D3D026,
        0xBAEC2B40,
        0x3A07857C,
        0x3C02A9AD,
        0x36879CF7,
        0xBE1F29DE,
    ]
    small = draw.integers(0x32000000, 0x43200000, 1 << 20) | draw.integers(0, 2, 1 << 20) << 31
    taken = np.concatenate([np.array(hardest), draw.integers(0, 1 << 32, 1 << 18), small]).astype(np.uint64)

    results = [
        compiled([[instruction("v_exp_f32")]], LANES[target.cpu], target).run(0, [taken])[0] for target in hosts()
    ]

    assert all(np.array_equal(results[0], other) for other in results[1:])

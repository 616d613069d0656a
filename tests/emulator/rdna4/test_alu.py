"""Every rule of the translator's ALU gives the bits of the second implementation, on every processor and in every width."""

from functools import cache

import numpy as np
import pytest
from emulator.rdna4.alu_cases import columns
from emulator.rdna4.alu_harness import compiled, hosts, instruction

from autoclave.emulator.jit import HostTarget
from autoclave.emulator.rdna4.lanewise import LANE_OPERATIONS
from autoclave.emulator.rdna4.translator.alu import VECTOR

ROWS = 320


@cache
def operands(name: str) -> list[np.ndarray]:
    return columns([source.type for source in instruction(name).sources], ROWS, name)


@cache
def expected(name: str) -> list[list[int]]:
    """By the plain implementation: a column for each result."""
    operation = LANE_OPERATIONS[name]
    leading = {"sources": [], "lane": [0], "signs": [False, False]}[operation.takes]
    rows = zip(*(map(int, column) for column in operands(name)), strict=True)
    results = [operation.compute(*leading, *row) for row in rows]
    return [
        list(column) for column in zip(*(each if isinstance(each, tuple) else (each,) for each in results), strict=True)
    ]


CASES = [(target, lanes) for target in hosts() for lanes in ((8,) if target is not hosts()[-1] else (4, 16))]


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_vector_operations_give_the_bits_of_the_second_implementation(target: HostTarget, lanes: int):
    names = [name for name in VECTOR if name in LANE_OPERATIONS and LANE_OPERATIONS[name].takes != "lane"]
    rules = compiled([instruction(name) for name in names], lanes, target)
    wrong = []
    for number, name in enumerate(names):
        given = rules.run(number, operands(name))
        for result, wanted in zip(given, expected(name), strict=True):
            for row in np.flatnonzero(result != np.array(wanted, np.uint64))[:1]:
                taken = [hex(int(column[row])) for column in operands(name)]
                wrong.append((name, taken, hex(int(result[row])), hex(wanted[row])))

    assert wrong == []

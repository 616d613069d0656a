"""Products of matrices (WMMA) of the interpreter: D = A B + C, all of 16 rows and columns, spread over the lanes of a wave.

Lane l holds row l % 16 of A and column l % 16 of B, of both the eight elements from 8 * (l / 16) on; of C and D column
l % 16 and the rows from 8 * (l / 16) on.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from autoclave.emulator.rdna4.instruction import Instruction, Literal32, Register, Source
from autoclave.emulator.rdna4.interpreter_operands import Binder
from autoclave.emulator.rdna4.machine import ALL_LANES, Machine
from autoclave.emulator.turns import Step

_SIDE = 16
_ELEMENTS = 8
"""Of each matrix in a lane."""

Singles = NDArray[np.float32]

_NAN, _HALF_NAN = 0x7FC00000, 0x7E00
_BELOW_HALF = 0x7FFF


def _read_elements(binder: Binder, source: Source) -> Callable[[], NDArray[np.uint32]]:
    """A function that gives the bits of a source's elements: [lane, element], packed ones taken apart."""
    operand, packed = source.operand, "16" in source.type
    if isinstance(operand, Literal32):
        constant = np.full((len(ALL_LANES), _ELEMENTS), operand.bits, np.uint32)
        return lambda: constant
    registers = _registers(binder, operand, packed)

    def read() -> NDArray[np.uint32]:
        words = np.array(registers, np.uint32).T
        return np.stack((words & 0xFFFF, words >> 16), -1).reshape(words.shape[0], -1) if packed else words

    return read


def _registers(binder: Binder, register: Register, packed: bool) -> list[list[int]]:
    if register.file != "v":
        binder.unknown("of a matrix in scalar registers has no rule")
    return [binder.vector(register, at) for at in range(_ELEMENTS // 2 if packed else _ELEMENTS)]


def _values(bits: NDArray[np.uint32], kind: str) -> Singles:
    """Elements of a type as singles, which hold all of them exactly."""
    if kind.startswith("f16"):
        return bits.astype(np.uint16).view(np.float16).astype(np.float32)
    return (bits << 16 if kind.startswith("bf16") else bits).astype(np.uint32).view(np.float32)


def _bits(values: Singles, kind: str) -> NDArray[np.uint32]:
    """Singles as elements of a type, rounded to nearest even; all NaNs are the canonical one."""
    if kind.startswith("f16"):
        with np.errstate(over="ignore"):
            halves = values.astype(np.float16).view(np.uint16)
        return np.where(np.isnan(values), _HALF_NAN, halves).astype(np.uint32)
    bits = np.where(np.isnan(values), _NAN, values.view(np.uint32)).astype(np.uint32)
    return _upper_halves(bits) if kind.startswith("bf16") else bits


def _upper_halves(bits: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The bits of singles rounded to bf16."""
    return (bits + _BELOW_HALF + (bits >> 16 & 1) >> 16).astype(np.uint32)


def _signed(values: Singles, source: Source) -> Singles:
    """NEG and NEG_HI: of packed elements, of the lower and of the upper ones; of f32, NEG_HI is the absolute value."""
    if source.type.startswith("f32"):
        values = np.abs(values) if source.negated_second else values
        return -values if source.negated else values
    signs = np.array([source.negated, source.negated_second] * (_ELEMENTS // 2))
    return np.where(signs, -values, values)


def multiply(a: Singles, b: Singles, c: Singles) -> Singles:
    """A B + C of singles: for one k after the other, an element of C becomes fma(A[row, k], B[k, column], it), rounded to single.

    In binary64 the products are exact; sums that are not are too far from a tie for the second rounding to matter.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        for k in range(_SIDE):
            product = a[:, k, np.newaxis].astype(np.float64) * b[np.newaxis, k].astype(np.float64)
            c = (product + c).astype(np.float32)
    return c


def _across(lanes: NDArray[np.float32]) -> Singles:
    """From [lane, element] to [lane % 16, all sixteen elements]."""
    return np.concatenate((lanes[:_SIDE], lanes[_SIDE:]), axis=1)


def _product(machine: Machine, instruction: Instruction) -> Step:
    """WMMA of floats, for all lanes whatever EXEC is."""
    binder, sources = Binder(machine, instruction), instruction.sources
    reads = [_read_elements(binder, source) for source in sources]
    destination = instruction.destinations[0]
    packed = "16" in destination.type
    registers = _registers(binder, destination.operand, packed)

    def step() -> None:
        a, b, c = (
            _across(_signed(_values(read(), source.type), source)) for read, source in zip(reads, sources, strict=True)
        )
        result = _bits(multiply(a, b.T, c.T).T.copy(), destination.type)
        elements = np.concatenate((result[:, :_ELEMENTS], result[:, _ELEMENTS:]))
        words = elements[:, ::2] | elements[:, 1::2] << 16 if packed else elements
        for register, values in zip(registers, words.T.tolist(), strict=True):
            register[:] = values

    return step


_NAMES: Sequence[str] = (
    "v_wmma_f32_16x16x16_f16",
    "v_wmma_f32_16x16x16_bf16",
    "v_wmma_f16_16x16x16_f16",
    "v_wmma_bf16_16x16x16_bf16",
)

MATRICES = dict.fromkeys(_NAMES, _product)
"""Products of matrices by name."""

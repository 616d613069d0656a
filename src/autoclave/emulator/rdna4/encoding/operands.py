"""Operands by the codes that encode them, in both directions."""

from functools import cache

from autoclave.emulator.rdna4.encoding.layout import Reserved
from autoclave.emulator.rdna4.encoding.types import (
    FIRST_FLOAT,
    LAST_FLOAT,
    element,
    inline_constant,
    literal_constant,
    registers,
    width,
)
from autoclave.emulator.rdna4.instruction import NULL, SCC, Literal32, Operand, Register

LITERAL = 255
"""Code of a constant in the word that follows."""

DPP8_CODES = (233, 234)
"""Codes of a first source with the DPP8 word; the second fetches from inactive lanes."""

DPP16_CODE = 250

FIRST_VECTOR = 256
FIRST_CONSTANT, LAST_INTEGER = 128, 208
_TRAP_TEMPORARIES = range(108, 124)

_RANGES = ((0, 105), (106, 107), (108, 123), (124, 124), (125, 125), (126, 127), (235, 238), (SCC, SCC))
"""Scalar registers that an operand of several may lie in: general ones, VCC, trap temporaries, null, M0, EXEC, the bounds of
memory's apertures, SCC."""

_SHORT_INTEGERS = frozenset({"u16", "i16", "b16"})

_ANY_WIDTH = frozenset({NULL, 235, 236, 237, 238, SCC})
"""Registers that stand for an operand of any width."""


@cache
def scalar_register(number: int, type: str, high: bool = False) -> Register:
    """Scalar register `number` as an operand. `Reserved` if there is none, or if those of a wide operand do not go together."""
    count = registers(type)
    for first, last in _RANGES:
        if first <= number <= last:
            together = number + count - 1 <= last and number % (4 if count > 2 else 2) == 0
            together &= count != 3 or number not in _TRAP_TEMPORARIES
            if number in _ANY_WIDTH or count == 1 or together:
                return Register("s", number, count, high)
            break
    raise Reserved(f"scalar register {number} as an operand of {count}")


@cache
def vector_register(number: int, type: str, high: bool = False) -> Register:
    """Vector register `number` as an operand. `Reserved` if it does not exist, or if a half is asked of a wider operand."""
    count = registers(type)
    if not 0 <= number <= 256 - count:
        raise Reserved(f"vector register {number} as an operand of {count}")
    return Register("v", number, count, high)


@cache
def narrow_vector_register(code: int, type: str) -> Register:
    """As `vector_register`, in an encoding where bit 7 of a 16-bit operand selects the upper half."""
    return vector_register(code & 0x7F, type, bool(code >> 7)) if width(type) == 16 else vector_register(code, type)


@cache
def constant(code: int, type: str, word: int) -> Literal32:
    """The constant `code`; `word` is the literal. `Reserved` if it is none."""
    if code == LITERAL:
        if not _fits(word, type):
            raise Reserved(f"literal {word:#x} as an operand of type {type}")
        return Literal32(literal_constant(word, type), False, word)
    if FIRST_CONSTANT <= code <= LAST_INTEGER or FIRST_FLOAT <= code <= LAST_FLOAT:
        return Literal32(inline_constant(code, type), True, code)
    raise Reserved(f"operand {code}")


def _fits(word: int, type: str) -> bool:
    """Whether the literal `word` is one of this type: compilers extend negative integers of 16 bits to 32."""
    bits = width(element(type))
    extended = bits == 16 and type in _SHORT_INTEGERS and word >> 15 == 0x1FFFF
    return bits >= 32 or not word >> bits or extended


@cache
def scalar_source(code: int, type: str, word: int, high: bool = False) -> Operand:
    """The scalar register or constant `code`; `high` selects the upper half of a register."""
    if FIRST_CONSTANT <= code and code not in _ANY_WIDTH:
        if high:
            raise Reserved("the upper half of a constant")
        return constant(code, type, word)
    return scalar_register(code, type, high)


def code_of(operand: Operand, type: str) -> int:
    """The code of 9 bits that encodes `operand`. `Reserved` if none does."""
    if isinstance(operand, Register):
        return operand.number + (FIRST_VECTOR if operand.file == "v" else 0)
    if operand.encoded is not None:
        return int(operand.encoded) if operand.inline else LITERAL
    if not operand.inline:
        return LITERAL
    code: int
    for code in (*range(FIRST_CONSTANT, LAST_INTEGER + 1), *range(FIRST_FLOAT, LAST_FLOAT + 1)):
        if inline_constant(code, type) == operand.bits:
            return code
    raise Reserved(f"no inline constant {operand.bits:#x} of type {type}")


def literal_of(operand: Literal32, type: str) -> int:
    """The word that encodes a literal. `Reserved` if none does."""
    word = operand.encoded
    if word is None:
        word = operand.bits >> 32 if type == "f64" else operand.bits & 0xFFFFFFFF
    if literal_constant(word, type) != operand.bits:
        raise Reserved(f"no literal {operand.bits:#x} of type {type}")
    return word

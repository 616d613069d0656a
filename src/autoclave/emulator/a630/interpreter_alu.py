"""Arithmetic of the interpreter, categories 2, 3 and 4: a table from names to functions on bit patterns.

Sources all have one width, 16 or 32 bits, at which the operation and (sat) are done; the result then becomes one of the
destination's width. What the rules are and where they come from is in `arithmetic`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from autoclave.emulator.a630.instruction import Instruction, Source
from autoclave.emulator.a630.interpreter_integers import INTEGERS, Integer, wrap
from autoclave.emulator.a630.interpreter_operands import Binder
from autoclave.emulator.a630.machine import Machine
from autoclave.emulator.scalar import conversion, half, single
from autoclave.emulator.turns import Step

Function = Callable[..., int]
"""From the sources' patterns to the result's."""


@dataclass(frozen=True, slots=True)
class Float:
    """An operation on floats, for sources of 16 and of 32 bits; None where there is no such instruction.

    modifiers: which of (neg) and (abs) its sources may have.
    """

    of_half: Function | None
    of_single: Function | None
    modifiers: frozenset[str] = frozenset({"neg", "abs"})


def _both(name: str) -> Float:
    return Float(getattr(half, name), getattr(single, name))


def _select_half(a: int, b: int, c: int) -> int:
    return a if half.less_equal(0, b) else c


def _select_single(a: int, b: int, c: int) -> int:
    return a if single.less_equal(0, b) else c


_NEGATION_ONLY = frozenset({"neg"})

FLOATS: dict[str, Float] = {
    "add.f": _both("add"),
    "mul.f": _both("multiply"),
    "min.f": _both("minimum"),
    "max.f": _both("maximum"),
    "sign.f": _both("sign"),
    "absneg.f": _both("identity"),
    "floor.f": _both("floor"),
    "ceil.f": _both("ceiling"),
    "trunc.f": _both("truncate"),
    "rndne.f": _both("round_even"),
    "mad.f16": Float(half.multiply_add, None, _NEGATION_ONLY),
    "mad.f32": Float(None, single.multiply_add, _NEGATION_ONLY),
    "sel.f16": Float(_select_half, None, _NEGATION_ONLY),
    "sel.f32": Float(None, _select_single, _NEGATION_ONLY),
    "rcp": _both("rcp"),
    "rsq": _both("rsq"),
    "sqrt": _both("sqrt"),
    "log2": _both("log2"),
    "exp2": _both("exp2"),
    "sin": _both("sin"),
    "cos": _both("cos"),
    "hrsq": Float(half.rsq, None),
    "hlog2": Float(half.log2, None),
    "hexp2": Float(half.exp2, None),
}
"""Float operations by name."""

_FLOAT_COMPARISONS: dict[str, str] = {"lt": "less", "le": "less_equal", "eq": "equal"}
"""Functions of `single` and `half`; the other conditions turn the operands around or the result."""

_TURNED = {"gt": "lt", "ge": "le"}

_INTEGER_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}

_NOT = frozenset({"and.b", "or.b", "xor.b", "not.b", "shl.b", "shr.b", "ashr.b", "getbit.b", "clz.b"})
"""Operations in which (neg) is a bitwise NOT and (abs) means nothing."""


def arithmetic(machine: Machine, instruction: Instruction) -> tuple[Step, ...]:
    """The steps of an instruction of categories 2 to 4, one for each repetition."""
    if instruction.category not in (2, 3, 4):
        machine.unknown(instruction.pc, f"{instruction.name} has no rule")
    instruction = _with_full_sources(instruction)
    width = 16 if instruction.sources[0].operand.half else 32
    function = _function(machine, instruction, width)
    binder = Binder(machine, instruction, reads_floats(instruction))
    return tuple(_bound(binder, function, repetition) for repetition in range(instruction.repeat + 1))


def reads_floats(instruction: Instruction) -> bool:
    """Whether an instruction of categories 2 to 4 takes its sources for floats."""
    return instruction.name in FLOATS or instruction.name in ("cmps.f", "cmpv.f")


def _with_full_sources(instruction: Instruction) -> Instruction:
    """mad.u16 with a full destination reads full registers, which its encoding calls half; all else stays as it is."""
    if instruction.name != "mad.u16" or instruction.destinations[0].half:
        return instruction
    full = tuple(replace(source, operand=replace(source.operand, half=False)) for source in instruction.sources)
    return replace(instruction, sources=full)


def _function(machine: Machine, instruction: Instruction, width: int) -> Function:
    """What the instruction does with its sources' bits, modifiers, (sat) and conversion included."""
    if instruction.name in FLOATS:
        return _float_function(machine, instruction, width)
    if instruction.name in INTEGERS:
        return _integer_function(machine, instruction, width, INTEGERS[instruction.name])
    operation, _, kind = instruction.name.partition(".")
    if operation in ("cmps", "cmpv") and kind in ("f", "u", "s"):
        return _comparison(machine, instruction, width, kind, truth=1 if operation == "cmps" else (1 << width) - 1)
    machine.unknown(instruction.pc, f"{instruction.name} has no rule")


def _float_function(machine: Machine, instruction: Instruction, width: int) -> Function:
    operation = FLOATS[instruction.name]
    function = operation.of_half if width == 16 else operation.of_single
    if function is None or instruction.extra:
        machine.unknown(instruction.pc, f"{instruction.name} of {width} bits, (ei) {instruction.extra}, has no rule")
    if instruction.saturate and instruction.name.startswith("sel."):
        # Mesa (ir3.h, is_sat_compatible): "On a6xx saturation doesn't work on sel.*".
        machine.unknown(instruction.pc, f"(sat) of {instruction.name} has no rule")
    function = _modified(function, instruction.sources, [_float_modifier(one, width) for one in instruction.sources])
    if instruction.saturate:
        function = _then(function, half.saturate if width == 16 else single.saturate)
    if _target_width(instruction) == width:
        return function
    return _then(function, conversion.half_to_single if width == 16 else conversion.narrow_toward_zero)


def _target_width(instruction: Instruction) -> int:
    return 16 if instruction.destinations[0].half else 32


def _then(first: Function, second: Callable[[int], int]) -> Function:
    return lambda *operands: second(first(*operands))


Modifier = Callable[[int], int]


def _float_modifier(source: Source, width: int) -> Modifier | None:
    form = half if width == 16 else single
    if source.negated and source.absolute:
        return lambda bits: form.negate(form.absolute(bits))
    negate: Modifier = form.negate
    absolute: Modifier = form.absolute
    if source.negated:
        return negate
    return absolute if source.absolute else None


def _modified(function: Function, sources: tuple[Source, ...], modifiers: list[Modifier | None]) -> Function:
    """`function` of the modified operands; itself if none is modified."""
    if not any(modifiers):
        return function
    each = [modifier or _unchanged for modifier in modifiers]
    return lambda *operands: function(*(modify(bits) for modify, bits in zip(each, operands, strict=True)))


def _unchanged(bits: int) -> int:
    return bits


def _integer_function(machine: Machine, instruction: Instruction, width: int, operation: Integer) -> Function:
    if instruction.extra and (instruction.name != "add.u" or instruction.saturate):
        machine.unknown(instruction.pc, f"(ei) of {instruction.name} has no rule")
    compute, signed, limit = operation.compute, operation.signed, (1 << _target_width(instruction)) - 1
    fit = _integer_result(machine, instruction, width, operation)
    if not signed:
        function: Function = lambda *operands: fit(compute(width, *operands)) & limit  # noqa: E731
    else:
        function = lambda *operands: (  # noqa: E731
            fit(compute(width, *(wrap(bits, width, True) for bits in operands))) & limit
        )
    return _modified(
        function, instruction.sources, [_integer_modifier(instruction, one, width) for one in instruction.sources]
    )


def _integer_result(machine: Machine, instruction: Instruction, width: int, operation: Integer) -> Callable[[int], int]:
    """How a result of any size becomes one of the sources' width."""
    signed = operation.signed
    if instruction.saturate:
        return _clamp(machine, instruction, width, signed)
    if instruction.extra:
        return lambda value: value >> 1
    if operation.exact or _target_width(instruction) <= width:
        return _unchanged
    return lambda value: wrap(value, width, signed)


def _clamp(machine: Machine, instruction: Instruction, width: int, signed: bool) -> Callable[[int], int]:
    if instruction.name not in ("add.u", "add.s", "sub.u", "sub.s"):
        machine.unknown(instruction.pc, f"(sat) of {instruction.name} has no rule")
    lowest, highest = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    return lambda value: max(lowest, min(highest, value))


def _integer_modifier(instruction: Instruction, source: Source, width: int) -> Modifier | None:
    mask = (1 << width) - 1
    if instruction.name in _NOT:
        return (lambda bits: ~bits & mask) if source.negated else None
    if instruction.name != "absneg.s" or not (source.negated or source.absolute):
        return None
    sign = -1 if source.negated else 1
    if source.absolute:
        return lambda bits: sign * abs(wrap(bits, width, True)) & mask
    return lambda bits: -bits & mask


def _comparison(machine: Machine, instruction: Instruction, width: int, kind: str, truth: int) -> Function:
    """cmps (1 if true) and cmpv (all ones of the sources' width); (sat) inverts."""
    assert instruction.condition is not None
    if instruction.extra:
        machine.unknown(instruction.pc, f"(ei) of {instruction.name} has no rule")
    limit = (1 << _target_width(instruction)) - 1
    compare: Callable[..., int] = (
        _float_comparison(instruction, width) if kind == "f" else _INTEGER_COMPARISONS[instruction.condition]
    )
    if kind == "s":
        signed = compare
        compare = lambda a, b: signed(wrap(a, width, True), wrap(b, width, True))  # noqa: E731
    yes, no = (0, truth & limit) if instruction.saturate else (truth & limit, 0)
    return lambda a, b: yes if compare(a, b) else no


def _float_comparison(instruction: Instruction, width: int) -> Function:
    form, condition = half if width == 16 else single, instruction.condition or ""
    if condition == "ne":
        compare: Callable[..., bool] = lambda a, b: not form.equal(a, b)  # noqa: E731
    else:
        compare = getattr(form, _FLOAT_COMPARISONS[_TURNED.get(condition, condition)])
    if condition in _TURNED:
        straight = compare
        compare = lambda a, b: straight(b, a)  # noqa: E731
    return _modified(compare, instruction.sources, [_float_modifier(one, width) for one in instruction.sources])


def _bound(binder: Binder, function: Function, repetition: int) -> Step:
    """One repetition with its operands: straight from list to list where they all lie in lists."""
    steps = [(source.operand, repetition if source.repeated else 0) for source in binder.instruction.sources]
    (destination,) = binder.instruction.destinations
    target, cells = binder.cell(destination, repetition), [binder.cell(*step) for step in steps]
    if target is None or any(cell is None for cell in cells):
        write, reads = binder.write(destination, repetition), [binder.read(*step) for step in steps]
        return lambda: write(function(*(read() for read in reads)))
    return _DIRECT[len(cells)](function, *target, *(part for cell in cells if cell for part in cell))


def _direct_1(function: Function, results: list[int], to: int, a: list[int], i: int) -> Step:
    def step() -> None:
        results[to] = function(a[i])

    return step


def _direct_2(function: Function, results: list[int], to: int, a: list[int], i: int, b: list[int], j: int) -> Step:
    def step() -> None:
        results[to] = function(a[i], b[j])

    return step


def _direct_3(
    function: Function, results: list[int], to: int, a: list[int], i: int, b: list[int], j: int, c: list[int], k: int
) -> Step:
    def step() -> None:
        results[to] = function(a[i], b[j], c[k])

    return step


_DIRECT: Mapping[int, Callable[..., Step]] = {1: _direct_1, 2: _direct_2, 3: _direct_3}
"""Steps by the number of sources."""

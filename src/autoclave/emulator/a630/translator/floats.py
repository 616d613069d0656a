"""Float operations of categories 2, 3 and 4, as IR on f32; halves are taken through f32, which holds every half."""

from collections.abc import Callable
from dataclasses import dataclass

from autoclave.emulator.a630.instruction import Source
from autoclave.emulator.a630.translator.content import Content
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.ir import Value

_SIGNS = {False: 1 << 31, True: 1 << 15}
_INFINITIES = {False: 0x7F800000, True: 0x7C00}


@dataclass(frozen=True, slots=True)
class FloatOperand:
    """A source after its modifiers. bits: of the literal that it is, at its own width, or None. flushed: no denormal."""

    value: Value
    half: bool
    bits: int | None
    flushed: bool


Result = tuple[Value, bool]
"""An f32, flushed, and whether its NaNs are still to be made canonical."""


@dataclass(frozen=True, slots=True)
class FloatRule:
    """widths: whether sources may be halves (True), singles (False). narrowing: how a result becomes a half, of half sources."""

    compute: Callable[..., Result]
    widths: frozenset[bool] = frozenset({False, True})
    narrowing: str = "narrow_nearest_even"


def float_operand(lanes: Lanes, source: Source, content: Content) -> FloatOperand:
    """A source as a float, with (abs) and (neg)."""
    bits = content.literal
    value, flushed = lanes.number(content), content.flushed or content.half
    sign = _SIGNS[content.half]
    if source.absolute:
        value = lanes.ir.call("llvm.fabs", value.type, (value,))
        bits = None if bits is None else bits & (sign - 1)
    if source.negated:
        value = lanes.ir.negate(value)
        bits = None if bits is None else bits ^ sign
    return FloatOperand(
        value, content.half, bits, flushed or (bits is not None and bool(bits & _INFINITIES[content.half]))
    )


def _plain(operation: str) -> Callable[[Lanes, FloatOperand, FloatOperand], Result]:
    def compute(lanes: Lanes, left: FloatOperand, right: FloatOperand) -> Result:
        return lanes.ir.binary(operation, *lanes.alike(left.value, right.value)), True

    return compute


def _multiply_add(lanes: Lanes, left: FloatOperand, right: FloatOperand, third: FloatOperand) -> Result:
    """Not fused: the product is rounded and flushed first."""
    product = lanes.ir.binary("fmul", *lanes.alike(left.value, right.value))
    if left.half:
        product = lanes.library("round_half", product)
    return lanes.ir.binary("fadd", *lanes.alike(product, third.value)), True


def _extreme(condition: str, merge: str) -> Callable[[Lanes, FloatOperand, FloatOperand], Result]:
    """max.f and min.f: a number wins over a NaN, -0 is below +0."""

    def compute(lanes: Lanes, left: FloatOperand, right: FloatOperand) -> Result:
        for one, other in ((left, right), (right, left)):
            if one.bits == 0 and condition == "ogt":
                first, second = lanes.alike(other.value, one.value)
                # Denormals are not beyond 0 for the host, and of two zeros it takes the second.
                return lanes.ir.select(lanes.ir.compare_floats(condition, first, second), first, second), False
            if _is_plain(one):
                first, second = lanes.alike(_flushed(lanes, other), one.value)
                # One host instruction: the second operand unless the first is beyond it, so of a NaN too.
                return lanes.ir.select(lanes.ir.compare_floats(condition, first, second), first, second), False
        first, second = lanes.alike(_flushed(lanes, left), _flushed(lanes, right))
        return _chosen(lanes, condition, merge, first, second), True

    return compute


def _is_plain(operand: FloatOperand) -> bool:
    """Whether it is a literal that is a number and no zero when flushed, so that nothing equals it but itself."""
    if operand.bits is None:
        return False
    magnitude, infinity = operand.bits & (_SIGNS[operand.half] - 1), _INFINITIES[operand.half]
    return bool(magnitude & infinity) and magnitude <= infinity


def _chosen(lanes: Lanes, condition: str, merge: str, first: Value, second: Value) -> Value:
    """Equal operands have equal bits or are zeros, whose signs `merge` decides."""
    ir = lanes.ir
    joined = ir.binary(merge, ir.convert("bitcast", first, "i32"), ir.convert("bitcast", second, "i32"))
    nearer = ir.select(ir.compare_floats(condition, first, second), first, second)
    nearer = ir.select(ir.compare_floats("oeq", first, second), ir.convert("bitcast", joined, "float"), nearer)
    return ir.select(ir.compare_floats("uno", second, second), first, nearer)


def _flushed(lanes: Lanes, operand: FloatOperand) -> Value:
    """The operand without denormals: the host flushes them in a product."""
    if operand.flushed:
        return operand.value
    return lanes.ir.binary("fmul", *lanes.alike(operand.value, lanes.float_literal(1.0)))


def _library(name: str) -> Callable[[Lanes, FloatOperand], Result]:
    def compute(lanes: Lanes, operand: FloatOperand) -> Result:
        return lanes.library(name, operand.value), False

    return compute


def _identity(lanes: Lanes, operand: FloatOperand) -> Result:
    return _flushed(lanes, operand), True


def _select(lanes: Lanes, *operands: FloatOperand) -> Result:
    raise AssertionError("sel has a rule of its own")


_SINGLE = frozenset({False})
_HALF = frozenset({True})
_ELEMENTARY = "narrow_toward_zero"

FLOAT_RULES: dict[str, FloatRule] = {
    "add.f": FloatRule(_plain("fadd")),
    "mul.f": FloatRule(_plain("fmul")),
    "max.f": FloatRule(_extreme("ogt", "and")),
    "min.f": FloatRule(_extreme("olt", "or")),
    "sign.f": FloatRule(_library("sign_single")),
    "absneg.f": FloatRule(_identity),
    "floor.f": FloatRule(_library("floor_single")),
    "ceil.f": FloatRule(_library("ceiling_single")),
    "trunc.f": FloatRule(_library("truncate_single")),
    "rndne.f": FloatRule(_library("round_even_single")),
    "mad.f16": FloatRule(_multiply_add, _HALF),
    "mad.f32": FloatRule(_multiply_add, _SINGLE),
    "sel.f16": FloatRule(_select, _HALF),
    "sel.f32": FloatRule(_select, _SINGLE),
    **{
        name: FloatRule(_library(name), narrowing=_ELEMENTARY)
        for name in ("rcp", "rsq", "sqrt", "log2", "exp2", "sin", "cos")
    },
    "hrsq": FloatRule(_library("rsq"), _HALF, _ELEMENTARY),
    "hlog2": FloatRule(_library("log2"), _HALF, _ELEMENTARY),
    "hexp2": FloatRule(_library("exp2"), _HALF, _ELEMENTARY),
}
"""By name."""

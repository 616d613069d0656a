"""A small builder of LLVM IR text. (llvmlite's own builder takes longer than LLVM does.)

A `Value` is an operand with its type. A builder's methods each append one instruction to the current block and return its
result; vector and scalar operands go through the same methods.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_VECTOR = re.compile(r"<(\d+) x (.+)>")

_METADATA = ("!0 = !{}", '!1 = !{!"branch_weights", i32 1, i32 1000000}')
"""!0: of invariant loads. !1: of branches that are hardly ever taken."""

_MANGLED = {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}


@dataclass(frozen=True, slots=True)
class Value:
    """An operand: `text` as IR names it, of `type`."""

    text: str
    type: str


def vector(lanes: int, element: str) -> str:
    """The type of `lanes` elements."""
    return f"<{lanes} x {element}>"


def element_type(type_: str) -> str:
    """The type of a vector's elements; a scalar's own type."""
    found = _VECTOR.fullmatch(type_)
    return found[2] if found else type_


def lanes_of(type_: str) -> int | None:
    """How many elements a vector type has; None for a scalar."""
    found = _VECTOR.fullmatch(type_)
    return int(found[1]) if found else None


def like(type_: str, element: str) -> str:
    """A type of the same number of lanes as `type_`, of another element."""
    lanes = lanes_of(type_)
    return element if lanes is None else vector(lanes, element)


def constant(number: int, type_: str) -> Value:
    """An integer, in every lane of `type_`."""
    if lanes_of(type_) is None:
        return Value(str(number), type_)
    return Value("zeroinitializer" if number == 0 else f"splat ({element_type(type_)} {number})", type_)


def numbers(items: Iterable[int], element: str) -> Value:
    """A vector of these integers."""
    texts = [f"{element} {item}" for item in items]
    return Value(f"<{', '.join(texts)}>", vector(len(texts), element))


def _mangle(type_: str) -> str:
    lanes, element = lanes_of(type_), element_type(type_)
    name = _MANGLED.get(element, element)
    return name if lanes is None else f"v{lanes}{name}"


@dataclass(slots=True)
class Module:
    """Declarations and definitions. `attributes` are those of every function that is defined."""

    attributes: str
    declarations: dict[str, str] = field(default_factory=dict)
    definitions: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The module as LLVM parses it."""
        return "\n".join(
            [*self.declarations.values(), *self.definitions, f"attributes #0 = {{ {self.attributes} }}", *_METADATA, ""]
        )


class Builder:
    """Appends instructions to a function's body. Names are unique within the function."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.lines: list[str] = []
        self._entry: list[str] = []
        self._count = 0
        self.block = ""
        """The current block's label."""

    def name(self, stem: str = "v") -> str:
        """A fresh name, without its %."""
        self._count += 1
        return f"{stem}{self._count}"

    def label(self, name: str) -> None:
        """Begin the block `name`."""
        self.lines.append(f"{name}:")
        self.block = name

    def emit(self, expression: str, type_: str) -> Value:
        """Append an instruction with a result."""
        name = f"%v{self._count}"
        self._count += 1
        self.lines.append(f"  {name} = {expression}")
        return Value(name, type_)

    def effect(self, instruction: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {instruction}")

    def in_entry(self, expression: str, type_: str) -> Value:
        """An instruction with a result that stands at the function's start: an alloca or a load of what never changes."""
        name = f"%e{self._count}"
        self._count += 1
        self._entry.append(f"  {name} = {expression}")
        return Value(name, type_)

    def at_entry(self, instruction: str) -> None:
        """An instruction without a result at the function's start."""
        self._entry.append(f"  {instruction}")

    def function(self, signature: str) -> str:
        """The whole function: what `in_entry` collected, then the blocks, the first of which must be `start`."""
        return "\n".join([f"{signature} #0 {{", "entry:", *self._entry, "  br label %start", *self.lines, "}"])

    # Arithmetic

    def binary(self, operation: str, left: Value, right: Value) -> Value:
        """`add`, `fmul`, `and` and their like."""
        return self.emit(f"{operation} {left.type} {left.text}, {right.text}", left.type)

    def with_constant(self, operation: str, left: Value, number: int) -> Value:
        """`binary` with an integer on the right."""
        return self.binary(operation, left, constant(number, left.type))

    def compare(self, condition: str, left: Value, right: Value) -> Value:
        """An integer comparison (`ult`, `eq`)."""
        return self.emit(f"icmp {condition} {left.type} {left.text}, {right.text}", like(left.type, "i1"))

    def compare_floats(self, condition: str, left: Value, right: Value) -> Value:
        """A comparison of floats (`olt`, `uno`)."""
        return self.emit(f"fcmp {condition} {left.type} {left.text}, {right.text}", like(left.type, "i1"))

    def negate(self, value: Value) -> Value:
        """A float with its sign turned; nothing else changes."""
        return self.emit(f"fneg {value.type} {value.text}", value.type)

    def invert(self, value: Value) -> Value:
        """All bits turned."""
        return self.with_constant("xor", value, -1 if element_type(value.type) != "i1" else 1)

    def select(self, condition: Value, chosen: Value, other: Value) -> Value:
        """`chosen` where `condition`, else `other`."""
        return self.emit(
            f"select {condition.type} {condition.text}, {chosen.type} {chosen.text}, {other.type} {other.text}",
            chosen.type,
        )

    def convert(self, operation: str, value: Value, element: str) -> Value:
        """A cast (`zext`, `trunc`, `bitcast`, `sitofp`) to `element`, lane by lane."""
        wanted = like(value.type, element)
        if wanted == value.type:
            return value
        return self.emit(f"{operation} {value.type} {value.text} to {wanted}", wanted)

    def call(self, intrinsic: str, result: str, arguments: Sequence[Value], overloads: Sequence[str] = ()) -> Value:
        """An intrinsic ("llvm.ctpop"); `overloads` are the types in its name, by default the result's."""
        name = intrinsic + "".join(f".{_mangle(type_)}" for type_ in (overloads or (result,)))
        return self.emit(self._call(name, result, arguments), result)

    def call_effect(self, intrinsic: str, arguments: Sequence[Value], overloads: Sequence[str]) -> None:
        """An intrinsic without a result."""
        name = intrinsic + "".join(f".{_mangle(type_)}" for type_ in overloads)
        self.effect(self._call(name, "void", arguments))

    def call_exact(self, name: str, result: str, arguments: Sequence[Value]) -> Value:
        """A function or an intrinsic by its full name, which is declared unless the module defines it."""
        return self.emit(self._call(name, result, arguments), result)

    def _call(self, name: str, result: str, arguments: Sequence[Value]) -> str:
        types = ", ".join(argument.type for argument in arguments)
        if name.startswith("llvm."):
            self.module.declarations.setdefault(name, f"declare {result} @{name}({types})")
        return f"call {result} @{name}({', '.join(f'{argument.type} {argument.text}' for argument in arguments)})"

    # Vectors

    def splat(self, value: Value, lanes: int) -> Value:
        """A scalar in every lane; a vector as it is."""
        if lanes_of(value.type) is not None:
            return value
        wanted = vector(lanes, value.type)
        if not value.text.startswith("%") and value.type.startswith("i"):
            number = {"true": 1, "false": 0}.get(value.text)
            return constant(int(value.text) if number is None else number, wanted)
        first = self.emit(f"insertelement {wanted} poison, {value.type} {value.text}, i32 0", wanted)
        return self.emit(
            f"shufflevector {wanted} {first.text}, {wanted} poison, {vector(lanes, 'i32')} zeroinitializer", wanted
        )

    def element(self, value: Value, index: Value | int) -> Value:
        """One lane of a vector."""
        at = Value(str(index), "i32") if isinstance(index, int) else index
        return self.emit(f"extractelement {value.type} {value.text}, {at.type} {at.text}", element_type(value.type))

    def shuffle(self, left: Value, right: Value | None, indices: Sequence[int]) -> Value:
        """Lanes of `left` and, counted on, of `right`."""
        other = "poison" if right is None else right.text
        mask = numbers(indices, "i32")
        return self.emit(
            f"shufflevector {left.type} {left.text}, {left.type} {other}, {mask.type} {mask.text}",
            vector(len(indices), element_type(left.type)),
        )

    def as_it_is(self, value: Value) -> Value:
        """A vector that LLVM must make before it is used: it does not join shuffles before and behind to dearer ones."""
        return self.emit(f'call {value.type} asm "", "=v,0"({value.type} {value.text})', value.type)

    def any(self, mask: Value) -> Value:
        """Whether any lane of a vector of i1 is set; a scalar i1 as it is."""
        lanes = lanes_of(mask.type)
        if lanes is None:
            return mask
        bits = self.emit(f"bitcast {mask.type} {mask.text} to i{lanes}", f"i{lanes}")
        return self.compare("ne", bits, constant(0, bits.type))

    def all(self, mask: Value) -> Value:
        """Whether all lanes of a vector of i1 are set."""
        lanes = lanes_of(mask.type)
        bits = self.emit(f"bitcast {mask.type} {mask.text} to i{lanes}", f"i{lanes}")
        return self.compare("eq", bits, constant(-1, bits.type))

    # Memory

    def alloca(self, type_: str) -> Value:
        """A variable of the function, undefined at first."""
        return self.in_entry(f"alloca {type_}, align 64", "ptr")

    def offset(self, pointer: Value, distance: Value | int, unit: str = "i8") -> Value:
        """A pointer `distance` units on; a vector of distances gives a vector of pointers."""
        by = Value(str(distance), "i64") if isinstance(distance, int) else distance
        result = like(by.type if lanes_of(pointer.type) is None else pointer.type, "ptr")
        return self.emit(f"getelementptr {unit}, {pointer.type} {pointer.text}, {by.type} {by.text}", result)

    def load(self, pointer: Value, type_: str, align: int, invariant: bool = False) -> Value:
        """`invariant`: nothing writes there while the function runs."""
        tail = ", !invariant.load !0" if invariant else ""
        return self.emit(f"load {type_}, ptr {pointer.text}, align {align}{tail}", type_)

    def store(self, value: Value, pointer: Value, align: int, kept: bool = False) -> None:
        """Store to a scalar pointer. `kept`: it is done, and what is loaded from there later really is."""
        how = "store volatile" if kept else "store"
        self.effect(f"{how} {value.type} {value.text}, ptr {pointer.text}, align {align}")

    def gather(self, pointers: Value, type_: str, align: int, mask: Value) -> Value:
        """A load in each lane of `mask`; the others give 0."""
        zero = constant(0, type_)
        arguments = (pointers, Value(str(align), "i32"), mask, zero)
        return self.call("llvm.masked.gather", type_, arguments, (type_, pointers.type))

    def scatter(self, value: Value, pointers: Value, align: int, mask: Value) -> None:
        """A store in each lane of `mask`, in the order of lanes."""
        arguments = (value, pointers, Value(str(align), "i32"), mask)
        self.call_effect("llvm.masked.scatter", arguments, (value.type, pointers.type))

    # Control flow

    def jump(self, label: str) -> None:
        """End the block."""
        self.effect(f"br label %{label}")

    def branch(self, condition: Value, yes: str, no: str, unlikely: bool = False) -> None:
        """End the block by a choice. `unlikely`: `yes` hardly ever happens."""
        tail = ", !prof !1" if unlikely else ""
        self.effect(f"br i1 {condition.text}, label %{yes}, label %{no}{tail}")

    def phi(self, incoming: Sequence[tuple[Value, str]]) -> Value:
        """A value by the block one comes from; must stand at a block's start."""
        pairs = ", ".join(f"[ {value.text}, %{label} ]" for value, label in incoming)
        return self.emit(f"phi {incoming[0][0].type} {pairs}", incoming[0][0].type)

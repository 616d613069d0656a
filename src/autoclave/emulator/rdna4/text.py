"""Instructions as LLVM's assembler for gfx1200 reads them.

Of compiled code it is what LLVM prints, but that branches have distances in words for labels. Halves of registers are told by
op_sel or by ".h" and ".l", as LLVM 20 has it for the operation; it reads the latter with its feature real-true16 only.
"""

from collections.abc import Callable, Sequence
from functools import cache

from autoclave.emulator.rdna4.encoding.form import Form
from autoclave.emulator.rdna4.encoding.table import BY_NAME
from autoclave.emulator.rdna4.instruction import Destination, Instruction, Register, Source
from autoclave.emulator.rdna4.text_immediates import immediate_text
from autoclave.emulator.rdna4.text_modifiers import dpp_text, list_text, output_text, policy_text
from autoclave.emulator.rdna4.text_operands import operand_text, signed_text
from autoclave.errors import UnknownInstruction


def text(instruction: Instruction) -> str:
    """`instruction` in LLVM's syntax. Raises `UnknownInstruction` if there is no such operation in its encoding."""
    if instruction.dual is not None:
        return " :: ".join(text(operation) for operation in instruction.dual)
    form = BY_NAME.get((instruction.encoding, instruction.name))
    if form is None:
        raise UnknownInstruction(f"pc {instruction.pc}: no gfx1200 instruction is called {instruction.name!r}")
    operands, modifiers = _PRINTERS[instruction.encoding](form, instruction)
    shown = ", ".join(operand for operand in operands if operand)
    return " ".join(part for part in (_mnemonic(instruction), shown, *modifiers) if part)


Parts = tuple[Sequence[str], Sequence[str]]
"""Operands, and what follows them."""


def _mnemonic(instruction: Instruction) -> str:
    """AMD's name with LLVM's ending for the encoding, where there are several."""
    name, encoding = instruction.name, instruction.encoding
    if encoding in ("VOP3", "VOP3SD", "VOP3P"):
        ending = "_e64" if _is_short(name) or instruction.dpp is not None else ""
    else:
        ending = "_e32" if encoding in _SHORT and instruction.dpp is None and _is_long(name) else ""
    return name + ending + ("_dpp" if instruction.dpp is not None else "")


_SHORT = ("VOP1", "VOP2", "VOPC")


@cache
def _is_short(name: str) -> bool:
    return any((encoding, name) in BY_NAME for encoding in _SHORT)


@cache
def _is_long(name: str) -> bool:
    return any((encoding, name) in BY_NAME for encoding in ("VOP3", "VOP3SD"))


def _written(form: Form, instruction: Instruction, halves: bool = False) -> list[str]:
    """The operands that assembly shows, destinations first; `halves`: with ".h" or ".l" behind those of 16 bits."""
    shown = [
        operand_text(destination.operand, slot.type, halves)
        for slot, destination in zip(form.destinations, instruction.destinations, strict=False)
        if slot.written
    ]
    for slot, source in zip(form.sources, instruction.sources, strict=True):
        if slot.written:
            shown.append(signed_text(source, source.type, halves))
    return shown


def _scalar(form: Form, instruction: Instruction) -> Parts:
    operands = _written(form, instruction)
    return ([*operands, str(instruction.immediate)] if "message" in form.flags else operands), ()


def _immediate(form: Form, instruction: Instruction) -> Parts:
    operands = _written(form, instruction)
    if "plain" in form.flags:
        return operands, ()
    immediate = immediate_text(form.name, instruction.immediate, bool(form.flags & {"signed", "target"}))
    first = not form.destinations
    return ([immediate, *operands] if first else [*operands, immediate]), ()


def _short_vector(form: Form, instruction: Instruction) -> Parts:
    return _written(form, instruction, _has_halves(instruction)), (dpp_text(instruction.dpp),)


def _long_vector(form: Form, instruction: Instruction) -> Parts:
    suffixed = _is_suffixed(form) and _has_halves(instruction)
    selected = ""
    if "select" in form.flags:
        selected = list_text("op_sel", (instruction.immediate & 1, instruction.immediate >> 1), 0)
    elif form.flags & {"byte_sel", "byte_sel_to"}:
        selected = f"byte_sel:{instruction.immediate}" if instruction.immediate else ""
    else:
        shown = [source.operand for slot, source in zip(form.sources, instruction.sources, strict=True) if slot.written]
        written = [slot.written for slot in form.destinations[:1]]
        operands = [*shown, *(each.operand for each in instruction.destinations[:1] if written[0])]
        registers = [operand for operand in operands if isinstance(operand, Register)]
        if not suffixed or any(register.high and register.file == "s" for register in registers):
            selected = list_text("op_sel", [int(isinstance(each, Register) and each.high) for each in operands], 0)
    return _written(form, instruction, suffixed), (selected, *output_text(instruction), dpp_text(instruction.dpp))


def _has_halves(instruction: Instruction) -> bool:
    """Whether halves are to be told: one is an upper one, or LLVM knows the operation with halves only."""
    operands: tuple[Destination | Source, ...] = (*instruction.destinations, *instruction.sources)
    registers = [each.operand for each in operands if isinstance(each.operand, Register)]
    return instruction.name in _ALWAYS_HALVES or any(register.high for register in registers)


_ALWAYS_HALVES = ("v_mov_b16", "v_swap_b16")


@cache
def _is_suffixed(form: Form) -> bool:
    """Whether LLVM 20 tells halves of this VOP3 operation by ".h" and ".l" rather than by op_sel."""
    return form.name in _SUFFIXED or (_is_short(form.name) and "op_sel" not in form.flags)


_SUFFIXED = frozenset(
    {
        "v_cndmask_b16",
        "v_mul_lo_u16",
        *(f"v_{operation}_{type}" for operation in ("max", "min") for type in ("u16", "i16")),
        *("v_lshlrev_b16", "v_lshrrev_b16", "v_ashrrev_i16"),
        *(f"v_{operation}_b16" for operation in ("and", "or", "xor")),
    }
)


def _packed(form: Form, instruction: Instruction) -> Parts:
    sources = instruction.sources
    mixed = "mix" in form.flags
    modifiers = [
        list_text("op_sel", [int(source.high) for source in sources], 0),
        list_text("op_sel_hi", _upper(form, instruction), 0 if mixed else 1),
    ]
    if mixed:
        operands = _written(form, instruction)
    else:
        plain = [operand_text(source.operand, source.type) for source in sources]
        operands = [*(operand_text(each.operand, each.type) for each in instruction.destinations), *plain]
        modifiers += [
            list_text("neg_lo", [int(source.negated) for source in sources], 0),
            list_text("neg_hi", [int(source.negated_second) for source in sources], 0),
        ]
    return operands, (*modifiers, *output_text(instruction), dpp_text(instruction.dpp))


def _upper(form: Form, instruction: Instruction) -> list[int]:
    """OPSEL_HI: for operands that are no packed pairs, 1 but of v_fma_mix."""
    mixed = "mix" in form.flags
    return [int(source.high_of_second or not (mixed or source.type.endswith("x2"))) for source in instruction.sources]


def _scalar_memory(form: Form, instruction: Instruction) -> Parts:
    if "plain" in form.flags:
        return (), ()
    to = [operand_text(destination.operand, destination.type) for destination in instruction.destinations]
    sources = [operand_text(source.operand, source.type) for source in instruction.sources]
    base, offset = sources[: len(form.sources)], sources[len(form.sources) :]
    immediate = hex(instruction.immediate)
    if "prefetch" in form.flags:
        return (*base, immediate, *(offset or ["null"]), str(instruction.second_immediate)), ()
    policy = policy_text(form, instruction)
    if not offset:
        return (*to, *base, immediate), policy
    return (*to, *base, *offset), (f"offset:{immediate}" if instruction.immediate else "", *policy)


def _local_memory(form: Form, instruction: Instruction) -> Parts:
    first, second = instruction.immediate, instruction.second_immediate
    if "pair" in form.flags:
        offsets = [f"offset{number}:{offset}" for number, offset in enumerate((first, second)) if offset]
    else:
        offsets = [f"offset:{first}"] if first else []
    return _written(form, instruction), offsets


def _global_memory(form: Form, instruction: Instruction) -> Parts:
    modifiers = (f"offset:{instruction.immediate}" if instruction.immediate else "", *policy_text(form, instruction))
    if "plain" in form.flags:
        return (), modifiers
    sources = [operand_text(source.operand, source.type) for source in instruction.sources]
    address = sources.pop(0) if instruction.has_vector_address else "off" if form.encoding == "SCRATCH" else ""
    base = sources.pop() if instruction.has_scalar_base else "" if form.encoding == "FLAT" else "off"
    to = [operand_text(destination.operand, destination.type) for destination in instruction.destinations]
    return (*to, address, *sources, base), modifiers


_PRINTERS: dict[str, Callable[[Form, Instruction], Parts]] = {
    "SOP1": _scalar,
    "SOP2": _scalar,
    "SOPC": _scalar,
    "SOPK": _immediate,
    "SOPP": _immediate,
    "SMEM": _scalar_memory,
    "VOP1": _short_vector,
    "VOP2": _short_vector,
    "VOPC": _short_vector,
    "VOP3": _long_vector,
    "VOP3SD": _long_vector,
    "VOP3P": _packed,
    "VOPD": _scalar,
    "DS": _local_memory,
    "FLAT": _global_memory,
    "GLOBAL": _global_memory,
    "SCRATCH": _global_memory,
}

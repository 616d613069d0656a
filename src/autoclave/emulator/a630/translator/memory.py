"""Loads and stores of category 6 by their space. Every access is checked."""

from autoclave.emulator.a630.translator.global_memory import access_global
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.local_memory import access_private, access_shared
from autoclave.emulator.a630.translator.operations import Operation
from autoclave.emulator.translator.elements import MemoryContext

_SPACES = {
    "ldg": access_global,
    "stg": access_global,
    "ldl": access_shared,
    "stl": access_shared,
    "ldp": access_private,
    "stp": access_private,
}

MEMORY_NAMES = frozenset({*_SPACES, "ldg.a", "stg.a"})


def access_memory(lanes: Lanes, context: MemoryContext, operation: Operation) -> None:
    """Carry out a load or store."""
    _SPACES[operation.name.removesuffix(".a")](lanes, context, operation)

"""What a rule of arithmetic is, and on what evidence it stands. Each GPU's package has one table of them, `arithmetic`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Evidence = Literal["documented", "declared", "hardware"]
"""Sources say so; it is our choice, or another emulator's; a recording from a device agrees."""

_ORDER: Final[tuple[Evidence, ...]] = ("declared", "documented", "hardware")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    sources: letters of the list in the table's module, "" if none says anything.
    choice: why this statement, where sources disagree or say nothing.
    """

    name: str
    statement: str
    evidence: Evidence
    sources: str
    choice: str = ""


def weakest_evidence(rules: Mapping[str, Rule], names: Iterable[str]) -> Evidence:
    """What an instruction that relies on all of the named rules has. Of none: documented."""
    return min((rules[name].evidence for name in names), key=_ORDER.index, default="documented")

"""What is simulated: actions, the files between them, and keys that decide what a cache already knows."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Blob:
    """A file, or a tree that is moved as a whole. `name` stands for its content: equal names are equal bytes.

    `size` is in bytes; `files` is how many files the tree has.
    """

    name: str
    size: int
    files: int = 1


@dataclass(frozen=True)
class Action:
    """One process: `seconds` on one worker, from `tools` (toolchain trees, library) and `inputs` to `outputs`.

    `model` names it in reports and, as in a build, is no part of its key. `delivered` outputs end up with who asked for the build.
    """

    stage: str
    model: str
    seconds: float
    tools: tuple[Blob, ...]
    inputs: tuple[Blob, ...]
    outputs: tuple[Blob, ...]
    delivered: bool = False

    @cached_property
    def key(self) -> str:
        """What the result is stored under: the stage and the content of everything that goes in."""
        return "|".join((self.stage, *sorted(blob.name for blob in self.needed)))

    @property
    def needed(self) -> tuple[Blob, ...]:
        """Everything that a worker has to have before it starts."""
        return (*self.tools, *self.inputs)


def distinct(actions: Iterable[Action]) -> list[Action]:
    """The actions without those that another one before them is equal to: they are carried out once. It is delivered if one of
    them is."""
    found: dict[str, Action] = {}
    for action in actions:
        earlier = found.get(action.key)
        if earlier is None or (action.delivered and not earlier.delivered):
            found[action.key] = action
    return list(found.values())


def bytes_of(blobs: Iterable[Blob]) -> int:
    """How many bytes these are, each content counted once."""
    return sum({blob.name: blob.size for blob in blobs}.values())

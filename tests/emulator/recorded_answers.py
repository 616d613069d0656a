"""The recorded answers of a public a630 emulator (data/README.md), lane by lane."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autoclave.emulator.a630.decoder import decode
from autoclave.emulator.a630.instruction import Instruction

LANES = 64


@dataclass(frozen=True)
class Answer:
    """One instruction; `sources` are None for literals and constants."""

    text: str
    instruction: Instruction
    sources: tuple[tuple[int, ...] | None, ...]
    results: tuple[tuple[int, ...], ...]
    constants: dict[int, int]
    demotion: bool
    approximate: bool


def recorded_answers() -> Iterator[Answer]:
    """All records, decoded."""
    path = Path(__file__).parent / "data" / "a630-answers.json.gz"
    for record in json.loads(gzip.decompress(path.read_bytes())):
        yield Answer(
            record["text"],
            decode(record["word"]),
            tuple(_lanes(values) if values else None for values in record["sources"]),
            tuple(_lanes(values) for values in record["results"]),
            {int(number): value for number, value in record.get("constants", {}).items()},
            record.get("demotion", True),
            record.get("approximate", False),
        )


def _lanes(values: list[int]) -> tuple[int, ...]:
    return tuple(values if len(values) > 1 else values * LANES)

"""Running the `autoclave` command within the test's process."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autoclave.cli.main import main


@dataclass(frozen=True)
class Finished:
    """Exit code, standard output and standard error of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def autoclave(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Finished:
    """Run `autoclave WORDS...`."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    printed = capsys.readouterr()
    return Finished(code, printed.out, printed.err)

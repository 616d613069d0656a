"""Entry point of the backend `autoclave_pants.lint`."""

from __future__ import annotations

from collections.abc import Iterable

from pants.engine.rules import Rule
from pants.engine.unions import UnionRule

from autoclave_pants.lint import ruff


def rules() -> Iterable[Rule | UnionRule]:
    """Ruff's linter, fixer and formatter."""
    return ruff.rules()

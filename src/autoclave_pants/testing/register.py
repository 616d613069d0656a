"""Entry point of the backend `autoclave_pants.testing`, which needs the backends `autoclave_pants` and `pants.backend.python`."""

from __future__ import annotations

from collections.abc import Iterable

from pants.engine.rules import Rule
from pants.engine.unions import UnionRule

from autoclave_pants.testing import missing_packages


def rules() -> Iterable[Rule | UnionRule]:
    """Warnings of tests that a machine cannot run."""
    return missing_packages.rules()

"""The backend without processes: its rules, with predictions in place of what runs or fetches something."""

from __future__ import annotations

from pants.engine.rules import Rule
from pants.engine.target import Target
from pants.engine.unions import UnionRule

from autoclave_pants import register as backend
from autoclave_pants.forecast import fingerprints, predictions
from autoclave_pants.rules.actions import ActionResult
from autoclave_pants.rules.fetching import FetchedFile
from autoclave_pants.rules.toolchains import Component, Toolchain

PREDICTED = (ActionResult, FetchedFile, Component, Toolchain)


def rules() -> list[Rule | UnionRule]:
    real = (each for each in backend.rules() if getattr(each, "output_type", None) not in PREDICTED)
    return [*real, *predictions.rules(), *fingerprints.rules()]


def target_types() -> list[type[Target]]:
    return backend.target_types()

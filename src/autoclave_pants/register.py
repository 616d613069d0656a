"""What the backend adds to Pants."""

from __future__ import annotations

from pants.engine.rules import Rule
from pants.engine.target import Target
from pants.engine.unions import UnionRule

from autoclave_pants import target_types as vocabulary
from autoclave_pants.remote_options import guard_remote_options
from autoclave_pants.rules import (
    actions,
    affected,
    artifacts,
    cache_doctor,
    cache_report,
    catalogue,
    commands,
    driving,
    driving_plan,
    emulation,
    execution,
    fetching,
    interpreters,
    library,
    models,
    monitoring,
    package,
    packaging,
    parity,
    rebuild,
    reproducibility,
    sources,
    toolchain_info,
    toolchains,
    warps,
)
from autoclave_pants.warm_requests import warm_requests

STAGES = (
    interpreters,
    library,
    fetching,
    toolchains,
    execution,
    actions,
    emulation,
    sources,
    artifacts,
    models,
    warps,
    driving_plan,
    driving,
    monitoring,
    packaging,
    package,
    parity,
    reproducibility,
    rebuild,
    toolchain_info,
    cache_doctor,
    cache_report,
    commands,
    catalogue,
    affected,
)


warm_requests()
guard_remote_options()


def rules() -> list[Rule | UnionRule]:
    return [each for stage in STAGES for each in stage.rules()]


def target_types() -> list[type[Target]]:
    return vocabulary.targets()

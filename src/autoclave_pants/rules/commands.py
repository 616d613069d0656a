"""`./pants run` on a `library_command`: the module and what it imports, on an interpreter of this machine."""

from __future__ import annotations

from dataclasses import dataclass

from pants.core.goals.run import RunFieldSet, RunInSandboxBehavior, RunRequest
from pants.engine.rules import Get, Rule, collect_rules, rule
from pants.engine.unions import UnionRule

from autoclave_pants.errors import BuildError
from autoclave_pants.rules.interpreters import CACHE_DIRECTORY, CACHE_NAME, HostPython, HostPythonRequest
from autoclave_pants.rules.library import SOURCES, LibraryClosure, LibraryClosureRequest
from autoclave_pants.target_types.commands import ModuleField

PYTHONS = ("3.13", "3.12")


@dataclass(frozen=True)
class LibraryCommandFieldSet(RunFieldSet):
    required_fields = (ModuleField,)
    run_in_sandbox_behavior = RunInSandboxBehavior.NOT_SUPPORTED

    module: ModuleField


@rule
async def run_library_command(fields: LibraryCommandFieldSet) -> RunRequest:
    python = await Get(HostPython, HostPythonRequest(PYTHONS))
    if python.version is None:
        raise BuildError(
            str(fields.address), "start", f"this machine has no CPython {' or '.join(PYTHONS)} on PATH, in pyenv or uv"
        )
    library = await Get(LibraryClosure, LibraryClosureRequest(fields.module.value))
    return RunRequest(
        digest=library.digest,
        args=(f"{{chroot}}/{python.link}", "-s", "-m", fields.module.value),
        extra_env={"PYTHONPATH": f"{{chroot}}/{SOURCES}", "PYTHONDONTWRITEBYTECODE": "1"},
        append_only_caches={CACHE_NAME: CACHE_DIRECTORY},
    )


def rules() -> list[Rule | UnionRule]:
    return [*collect_rules(), *LibraryCommandFieldSet.rules()]

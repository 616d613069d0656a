"""Ruff as linter (`lint`), fixer (`fix`) and formatter (`fmt`, and checked by `lint`).

Pants 2.17 has a ruff backend, but calls `ruff FILE`, which today's ruff rejects for `ruff check FILE`, and knows no
`ruff format`. Only its options (the section `[ruff]`) and its field set are used here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pants.backend.python.lint.ruff.subsystem import Ruff, RuffFieldSet
from pants.backend.python.util_rules import pex
from pants.backend.python.util_rules.pex import PexRequest, VenvPex, VenvPexProcess
from pants.core.goals.fix import FixResult, FixTargetsRequest
from pants.core.goals.fmt import FmtResult, FmtTargetsRequest
from pants.core.goals.lint import LintResult, LintTargetsRequest
from pants.core.util_rules.config_files import ConfigFiles, ConfigFilesRequest
from pants.core.util_rules.partitions import PartitionerType
from pants.core.util_rules.source_files import SourceFiles, SourceFilesRequest
from pants.engine.fs import Digest, MergeDigests, Snapshot
from pants.engine.process import FallibleProcessResult
from pants.engine.rules import Get, MultiGet, Rule, collect_rules, rule
from pants.engine.unions import UnionRule
from pants.util.logging import LogLevel
from pants.util.meta import classproperty
from pants.util.strutil import pluralize


class RuffLintRequest(LintTargetsRequest):
    field_set_type = RuffFieldSet
    tool_subsystem = Ruff  # type: ignore[assignment]
    partitioner_type = PartitionerType.DEFAULT_SINGLE_PARTITION

    @classproperty
    def tool_name(cls) -> str:
        return "ruff check"


class RuffFixRequest(FixTargetsRequest):
    field_set_type = RuffFieldSet
    tool_subsystem = Ruff  # type: ignore[assignment]
    partitioner_type = PartitionerType.DEFAULT_SINGLE_PARTITION

    @classproperty
    def tool_name(cls) -> str:
        return "ruff check --fix"

    @classproperty
    def tool_id(cls) -> str:
        return "ruff-fix"


class RuffFormatRequest(FmtTargetsRequest):
    field_set_type = RuffFieldSet
    tool_subsystem = Ruff  # type: ignore[assignment]
    partitioner_type = PartitionerType.DEFAULT_SINGLE_PARTITION

    @classproperty
    def tool_name(cls) -> str:
        return "ruff format"

    @classproperty
    def tool_id(cls) -> str:
        return "ruff-format"


@dataclass(frozen=True)
class RuffProcess:
    """A call of ruff on files, which it may rewrite: `ruff SUBCOMMAND... FILES`."""

    subcommand: tuple[str, ...]
    snapshot: Snapshot


@rule(level=LogLevel.DEBUG)
async def run_ruff(request: RuffProcess, ruff: Ruff) -> FallibleProcessResult:
    ruff_pex, config_files = await MultiGet(
        Get(VenvPex, PexRequest, ruff.to_pex_request()),
        Get(ConfigFiles, ConfigFilesRequest, ruff.config_request(request.snapshot.dirs)),
    )
    inputs = await Get(Digest, MergeDigests((request.snapshot.digest, config_files.snapshot.digest)))
    config = (f"--config={ruff.config}",) if ruff.config else ()
    return await Get(
        FallibleProcessResult,
        VenvPexProcess(
            ruff_pex,
            argv=(*request.subcommand, "--no-cache", *config, *ruff.args, *request.snapshot.files),
            input_digest=inputs,
            output_files=request.snapshot.files,
            description=f"Run ruff {request.subcommand[0]} on {pluralize(len(request.snapshot.files), 'file')}",
            level=LogLevel.DEBUG,
        ),
    )


@rule(desc="Lint with ruff", level=LogLevel.DEBUG)
async def ruff_lint(request: RuffLintRequest.Batch[RuffFieldSet, Any]) -> LintResult:
    sources = await Get(SourceFiles, SourceFilesRequest(field_set.source for field_set in request.elements))
    result = await Get(FallibleProcessResult, RuffProcess(("check", "--output-format=concise"), sources.snapshot))
    return LintResult.create(request, result, strip_chroot_path=True)


@rule(desc="Fix with ruff", level=LogLevel.DEBUG)
async def ruff_fix(request: RuffFixRequest.Batch) -> FixResult:
    # Exits 1 when something is left that it cannot fix; what it fixed counts all the same.
    result = await Get(FallibleProcessResult, RuffProcess(("check", "--fix"), request.snapshot))
    return await FixResult.create(request, result, strip_chroot_path=True)


@rule(desc="Format with ruff", level=LogLevel.DEBUG)
async def ruff_format(request: RuffFormatRequest.Batch) -> FmtResult:
    result = await Get(FallibleProcessResult, RuffProcess(("format",), request.snapshot))
    if result.exit_code != 0:
        raise ValueError(f"ruff format failed (exit code {result.exit_code}):\n{result.stderr.decode()}")
    return await FmtResult.create(request, result, strip_chroot_path=True)


def rules() -> Iterable[Rule | UnionRule]:
    """The rules of this module and what they stand on."""
    return (
        *collect_rules(),
        *RuffLintRequest.rules(),
        *RuffFixRequest.rules(),
        *RuffFormatRequest.rules(),
        *pex.rules(),  # type: ignore[no-untyped-call]
    )

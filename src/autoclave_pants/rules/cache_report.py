"""Tells at the end of each build what the remote cache did for it, and writes that to dist/cache-report.json."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path

from pants.base.build_environment import get_buildroot
from pants.engine.rules import Rule, collect_rules, rule
from pants.engine.streaming_workunit_handler import (
    StreamingWorkunitContext,
    WorkunitsCallback,
    WorkunitsCallbackFactory,
    WorkunitsCallbackFactoryRequest,
)
from pants.engine.unions import UnionRule
from pants.option.global_options import GlobalOptions

from autoclave_pants.cache_counters import CacheUse, cache_use, judge, line, report
from autoclave_pants.subsystem import CacheReportSubsystem

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CacheReportRequest:
    """Installed to have the callback made."""


class CacheReport(WorkunitsCallback):
    """Logs and writes the report when the build ends. It cannot change the build's exit code: `cache-doctor --report` can."""

    def __init__(self, path: Path, address: str, required: bool) -> None:
        super().__init__()
        self.path, self.address, self.required = path, address, required

    @property
    def can_finish_async(self) -> bool:
        return False  # it logs to the console

    def __call__(self, *, finished: bool, context: StreamingWorkunitContext, **_: object) -> None:
        if finished:
            self.tell(cache_use(context.get_metrics()), tuple(context.run_tracker.goals))

    def tell(self, use: CacheUse, goals: tuple[str, ...]) -> None:
        """Log one line, and write the report. A build that asks nothing of the cache says nothing, and leaves an earlier report."""
        verdict = judge(use)
        if verdict.state == "unused":
            if not self.path.exists():
                write(self.path, report(use, goals, self.address))
            return
        write(self.path, report(use, goals, self.address))
        if verdict.state == "ok":
            logger.info(line(use))
            return
        level = logging.ERROR if self.required and verdict.state == "failed" else logging.WARNING
        logger.log(
            level, f"{line(use)}\nThe remote cache {self.address}: {verdict.reason}. See `./pants cache-doctor`."
        )


def write(path: Path, text: str) -> None:
    """Write in one step. A build does not fail because its report cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        temporary.write_text(text)
        temporary.replace(path)
    except OSError as error:
        logger.warning(f"{path} could not be written: {error.strerror}")


@rule
def construct_cache_report(
    _: CacheReportRequest, subsystem: CacheReportSubsystem, options: GlobalOptions
) -> WorkunitsCallbackFactory:
    used = options.remote_cache_read or options.remote_cache_write or options.remote_execution
    path = Path(get_buildroot(), subsystem.report)
    address = options.remote_store_address or ""
    return WorkunitsCallbackFactory(lambda: CacheReport(path, address, subsystem.required) if used else None)


def rules() -> list[Rule | UnionRule]:
    return [*collect_rules(), UnionRule(WorkunitsCallbackFactoryRequest, CacheReportRequest)]

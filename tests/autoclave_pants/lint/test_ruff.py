"""The backend `autoclave_pants.lint`: what its requests are called, and that both kinds of ruff call reach `lint`."""

from __future__ import annotations

from pants.backend.python.target_types import PythonSourcesGeneratorTarget
from pants.core.goals.lint import LintTargetsRequest
from pants.core.util_rules import config_files, external_tool, source_files
from pants.engine.process import FallibleProcessResult
from pants.testutil.rule_runner import QueryRule, RuleRunner

from autoclave_pants.lint import ruff
from autoclave_pants.lint.register import rules


def test_each_request_has_a_name_and_an_id_of_its_own() -> None:
    requests = (ruff.RuffLintRequest, ruff.RuffFixRequest, ruff.RuffFormatRequest)

    assert [r.tool_name for r in requests] == ["ruff check", "ruff check --fix", "ruff format"]
    assert len({r.tool_id for r in requests}) == 3


def test_rules_form_a_solvable_graph_with_targets() -> None:
    runner = RuleRunner(
        rules=[
            *rules(),
            *config_files.rules(),
            *external_tool.rules(),
            *source_files.rules(),
            QueryRule(FallibleProcessResult, [ruff.RuffProcess]),
        ],
        target_types=[PythonSourcesGeneratorTarget],
    )

    runner.write_files({"a.py": "x = 1\n", "BUILD": "python_sources()\n"})

    assert runner.union_membership.get(LintTargetsRequest) is not None

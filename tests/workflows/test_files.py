"""The files of .github: their schema, and what makes a workflow safe to run for strangers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner
from ruamel.yaml import YAML

CHECKOUT = Path(__file__).resolve().parents[2]
GITHUB = CHECKOUT / ".github"
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
ACTIONS = sorted(GITHUB.glob("actions/*/action.yml"))
PINNED = re.compile(r"uses: +(?P<action>[\w-]+/[\w./-]+)@(?P<commit>[0-9a-f]{40}) # v\d+\.\d+\.\d+$")


def load(path: Path) -> dict[str, Any]:
    return dict(YAML(typ="safe").load(path.read_text()))  # type: ignore[no-untyped-call]


def steps_of(path: Path) -> Iterator[dict[str, Any]]:
    declared = load(path)
    for job in declared.get("jobs", {"": declared.get("runs")}).values():
        yield from job.get("steps", ())


def validation(schema: str, *paths: Path) -> tuple[int, str]:
    result = CliRunner().invoke(check_jsonschema, ["--builtin-schema", schema, *map(str, paths)])
    return result.exit_code, result.output


def zizmor() -> str:
    """The program of the wheel: beside this interpreter, or in the wheel's own folder, as Pants unpacks it."""
    distribution = metadata.distribution("zizmor")
    root = Path(str(distribution.locate_file("")))
    places = [Path(sys.prefix, "bin"), root / "bin", root / ".prefix/bin"]
    places += [
        Path(str(distribution.locate_file(each))).parent for each in distribution.files or () if each.name == "zizmor"
    ]
    found = shutil.which("zizmor", path=os.pathsep.join(map(str, places)))
    assert found, f"the wheel zizmor has no program in {places}"
    return found


def test_workflows_and_actions_fit_their_schemas() -> None:
    assert len(WORKFLOWS) >= 5 and ACTIONS
    assert validation("vendor.github-workflows", *WORKFLOWS) == (0, "ok -- validation done\n")
    assert validation("vendor.github-actions", *ACTIONS) == (0, "ok -- validation done\n")


def test_a_workflow_with_a_mistake_does_not_fit(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[0].read_text().replace("runs-on:", "run-on:"))
    code, output = validation("vendor.github-workflows", wrong)
    assert code == 1 and "jobs" in output


def test_zizmor_finds_nothing(tmp_path: Path) -> None:
    command = [zizmor(), "--offline", "--no-progress", "--color=never"]
    result = subprocess.run([*command, str(GITHUB)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr

    unsafe = tmp_path / ".github/workflows/unsafe.yml"
    unsafe.parent.mkdir(parents=True)
    unsafe.write_text(
        "on: pull_request_target\njobs: {a: {runs-on: ubuntu-24.04, steps: [{run: 'echo ${{ github.event.pull_request.title }}'}]}}\n"
    )
    assert subprocess.run([*command, str(unsafe)], capture_output=True).returncode != 0


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=lambda path: path.relative_to(GITHUB).as_posix())
def test_actions_of_others_are_pinned_and_no_script_has_an_expression_in_it(path: Path) -> None:
    for line in path.read_text().splitlines():
        if "uses:" in line and "uses: ./" not in line:
            assert PINNED.search(line), line
    for step in steps_of(path):
        assert "${{" not in step.get("run", ""), step["run"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_job_ends_and_has_no_more_rights_than_it_needs(path: Path) -> None:
    declared = load(path)
    assert set(declared["permissions"].items()) <= {("contents", "read")}
    assert "concurrency" in declared
    for name, job in declared["jobs"].items():
        assert "uses" in job or job["timeout-minutes"] <= 120, name
    writing = {
        (path.name, name) for name, job in declared["jobs"].items() if "write" in job.get("permissions", {}).values()
    }
    assert writing <= {("build-all.yml", "publish"), ("pull-request-comment.yml", "comment")}


def test_code_of_pull_requests_sees_no_secrets_and_what_may_write_checks_nothing_out() -> None:
    for name in ("pull-request.yml", "ci.yml"):
        assert "secrets." not in (GITHUB / "workflows" / name).read_text()
        for job in load(GITHUB / "workflows" / name)["jobs"].values():
            assert job["runs-on"] == "ubuntu-24.04", "a machine of GitHub's, that is thrown away"
    comment = (GITHUB / "workflows/pull-request-comment.yml").read_text()
    assert "actions/checkout" not in comment and "uses: ./" not in comment

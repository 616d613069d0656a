"""Runs the jobs of a workflow on this machine, with the commands that its file has.

What is ours runs as it is: `run` steps in bash, composite actions, called workflows, matrices, conditions, outputs. GitHub's own actions
are stood in for: a checkout is a clone, artifacts are folders, and its cache is empty. Jobs run one after another.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from workflows.expressions import as_text, condition, evaluate
from workflows.job import Empty, Job, JobResult, pairs
from workflows.stand_ins import STAND_INS, Place, StepFailed

STEP_SECONDS = 900
INHERITED = (
    "AUTOCLAVE_MIRRORS",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "PATH",
    "PIP_CERT",
    "PIP_EXTRA_INDEX_URL",
    "PIP_INDEX_URL",
    "PYENV_ROOT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "XDG_CACHE_HOME",
)
"""What a step sees of this machine's environment."""


@dataclass
class Runner:
    """A repository (a folder with a git repository) whose workflows are run. `log` has what each step printed.

    `event`: the context `github.event`. `stand_ins`: a folder of programs that are found before this machine's.
    """

    repository: Path
    folder: Path
    stand_ins: Path
    event: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    artifacts: dict[str, Path] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def run(
        self, workflow: str, inputs: Mapping[str, Any] = {}, trigger: str = "workflow_dispatch"
    ) -> dict[str, JobResult]:
        """Run a workflow of `.github/workflows`; the results of its jobs by name."""
        declared = yaml.safe_load((self.repository / ".github/workflows" / workflow).read_text())
        triggers: Mapping[str, Any] = declared[True]  # YAML 1.1 reads `on` as a boolean
        taken = {name: (each or {}).get("inputs", {}) for name, each in triggers.items() if isinstance(each, dict)}
        own = {name: each.get("default", "") for name, each in taken.get(trigger, {}).items()}
        assert set(inputs) <= set(own), f"{workflow} takes {sorted(own)}, not {sorted(inputs)}"
        # What only another trigger takes is empty.
        given = {**{name: "" for each in taken.values() for name in each}, **own, **inputs}
        for text in (declared.get("run-name"), *(declared.get("concurrency") or {}).values()):
            evaluate(text, self._context(given, {}))
        return self._jobs(declared, given)

    def _jobs(self, declared: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, JobResult]:
        done: dict[str, JobResult] = {}
        waiting = dict(declared["jobs"])
        while waiting:
            name = next(each for each, job in waiting.items() if set(_names(job.get("needs"))) <= set(done))
            job = waiting.pop(name)
            done[name] = self._job(name, job, declared, inputs, {need: done[need] for need in _names(job.get("needs"))})
        return done

    def _context(self, inputs: Mapping[str, Any], needs: Mapping[str, JobResult]) -> dict[str, Any]:
        commit = self._git("rev-parse", "HEAD")
        github = {
            "event": self.event,
            "repository": "owner/models",
            "ref": "refs/heads/main",
            "sha": commit,
            "token": "token",
            "workflow": "test",
            "event_name": event_of(self.event),
        }
        return {
            "github": github,
            "inputs": inputs,
            "needs": {name: {"result": need.result, "outputs": need.outputs} for name, need in needs.items()},
            "runner": {"os": "Linux"},
            # What a repository has not set is empty.
            "vars": Empty(self.variables),
            "secrets": Empty(self.secrets),
        }

    def _git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=self.repository, check=True, capture_output=True, text=True
        ).stdout.strip()

    def _job(
        self,
        name: str,
        job: Mapping[str, Any],
        declared: Mapping[str, Any],
        inputs: Mapping[str, Any],
        needs: Mapping[str, JobResult],
    ) -> JobResult:
        context = self._context(inputs, needs)
        fine = all(need.result == "success" for need in needs.values())
        functions = {"success": lambda: fine, "cancelled": lambda: False, "always": lambda: True}
        if not condition(job.get("if", "success()"), context, functions):
            return JobResult("skipped", {})
        matrix = evaluate((job.get("strategy") or {}).get("matrix"), context)
        results = []
        for entry in matrix["include"] if matrix else [None]:
            one = context if entry is None else {**context, "matrix": entry}
            evaluate(job.get("name"), one)
            results.append(self._called(job, one) if "uses" in job else self._steps(name, job, declared, one))
        worst = "success" if all(each.result == "success" for each in results) else "failure"
        return JobResult(worst, results[-1].outputs)

    def _called(self, job: Mapping[str, Any], context: Mapping[str, Any]) -> JobResult:
        """A job that calls a workflow of this repository."""
        given = {name: evaluate(value, context) for name, value in (job.get("with") or {}).items()}
        secrets, self.secrets = (
            self.secrets,
            {name: evaluate(value, context) for name, value in (job.get("secrets") or {}).items()},
        )
        try:
            results = self.run(Path(job["uses"]).name, given, "workflow_call")
        finally:
            self.secrets = secrets
        return JobResult("success" if all(each.result != "failure" for each in results.values()) else "failure", {})

    def _steps(
        self, name: str, job: Mapping[str, Any], declared: Mapping[str, Any], context: Mapping[str, Any]
    ) -> JobResult:
        place = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))
        workspace, temporary = place / "workspace", place / "temporary"
        workspace.mkdir()
        temporary.mkdir()
        known = {**context, "env": {}, "runner": {"os": "Linux", "temp": str(temporary)}}
        run = Job(workspace, temporary, known, self._environment(workspace, temporary))
        for each in (declared.get("env"), job.get("env")):
            values = {key: as_text(run.value(value)) for key, value in (each or {}).items()}
            run.environment.update(values)
            run.context["env"] = {**run.context["env"], **values}
        evaluate(job["runs-on"], known)
        for step in job["steps"]:
            self._step(step, run, None)
        outputs = {key: as_text(run.value(value)) for key, value in (job.get("outputs") or {}).items()}
        return JobResult("failure" if run.failed else "success", outputs)

    def _environment(self, workspace: Path, temporary: Path) -> dict[str, str]:
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        summary = temporary / "summary.md"
        summary.touch()
        return {
            **environment,
            "PATH": f"{self.stand_ins}{os.pathsep}{environment['PATH']}",
            "CI": "true",
            "LANG": "C.UTF-8",
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_WORKSPACE": str(workspace),
            "RUNNER_TEMP": str(temporary),
            "RUNNER_TOOL_CACHE": str(temporary / "no-tools"),
        }

    def _step(self, step: Mapping[str, Any], run: Job, inputs: Mapping[str, Any] | None) -> None:
        """One step of a job or, with `inputs`, of a composite action."""
        known = {**run.context, "steps": run.steps, **({} if inputs is None else {"inputs": inputs})}
        if not condition(step.get("if", "success()"), known, run.functions()):
            self._note(step, run, "skipped", {})
            return
        try:
            outputs = self._script(step, run, inputs) if "run" in step else self._action(step, run, inputs)
        except StepFailed as failure:
            self.log.append(f"FAILED {step.get('name', step.get('uses', 'a step'))}\n{failure}")
            run.failed = run.failed or not step.get("continue-on-error")
            self._note(step, run, "failure", failure.outputs)
        else:
            self._note(step, run, "success", outputs)

    @staticmethod
    def _note(step: Mapping[str, Any], run: Job, outcome: str, outputs: Mapping[str, str]) -> None:
        if "id" in step:
            run.steps[step["id"]] = {"outcome": outcome, "outputs": Empty(outputs)}

    def _script(self, step: Mapping[str, Any], run: Job, inputs: Mapping[str, Any] | None) -> dict[str, str]:
        files = {name: run.temporary / f"{name.lower()}.txt" for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH")}
        for file in files.values():
            file.write_text("")
        own = {key: as_text(run.value(value, inputs)) for key, value in (step.get("env") or {}).items()}
        strict = ["--noprofile", "--norc", "-e", "-o", "pipefail"] if step.get("shell") == "bash" else ["-e"]
        script = run.temporary / "step.sh"
        script.write_text(run.value(step["run"], inputs))
        result = subprocess.run(
            ["bash", *strict, str(script)],
            cwd=run.workspace,
            env={**run.environment, **own, **{name: str(file) for name, file in files.items()}},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=STEP_SECONDS,
        )
        self.log.append(f"{step.get('name', 'a step')}\n{result.stdout}")
        run.environment.update(pairs(files["GITHUB_ENV"]))
        for folder in files["GITHUB_PATH"].read_text().splitlines():
            run.environment["PATH"] = f"{folder}{os.pathsep}{run.environment['PATH']}"
        outputs = pairs(files["GITHUB_OUTPUT"])
        if result.returncode != 0:
            raise StepFailed(result.stdout, outputs)
        return outputs

    def _action(self, step: Mapping[str, Any], run: Job, inputs: Mapping[str, Any] | None) -> dict[str, str]:
        given = {key: run.value(value, inputs) for key, value in (step.get("with") or {}).items()}
        if step["uses"].startswith("./"):
            return self._composite(run.workspace / step["uses"] / "action.yml", given, run)
        STAND_INS[step["uses"].partition("@")[0]](
            given, Place(run.workspace, self.repository, self.folder, self.artifacts)
        )
        return {}

    def _composite(self, file: Path, given: Mapping[str, Any], run: Job) -> dict[str, str]:
        action = yaml.safe_load(file.read_text())
        unknown = set(given) - set(action["inputs"])
        assert not unknown, f"{file} has no inputs {unknown}"
        inputs = {name: as_text(given.get(name, each.get("default", ""))) for name, each in action["inputs"].items()}
        for step in action["runs"]["steps"]:
            self._step(step, run, inputs)
        return {}


def event_of(event: Mapping[str, Any]) -> str:
    """The name of what started a workflow."""
    return next((name for name in ("pull_request", "workflow_run") if name in event), "workflow_dispatch")


def _names(needs: str | Sequence[str] | None) -> list[str]:
    return [needs] if isinstance(needs, str) else list(needs or ())

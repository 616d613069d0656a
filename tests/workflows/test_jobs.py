"""The jobs of .github/workflows, run here with the commands that they have there, on small catalogues."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

# Lets tests import from the other folders of tests/ as they do under Pants, whose source root it is.
sys.path.insert(0, str(Path(__file__).parent.parent))

from e2e.catalogue_models import declare, tiny_model
from workflows.runner import Runner

from autoclave.servers.casd import start_casd
from autoclave.servers.debian import BUILDBOX, programs
from autoclave.servers.errors import ProgramsUnavailable
from autoclave.servers.running import RunningServer

CHECKOUT = Path(__file__).resolve().parents[2]
CONTENTS = (
    ".github",
    ".pants.bootstrap",
    "3rdparty",
    "BUILD",
    "models/prelude.py",
    "pants",
    "pants*.toml",
    "pyproject.toml",
    "src",
    "tinygrad_repo",
    "toolchains",
)
"""What a repository has of the checkout."""

GH = """#!/bin/sh
# Stands in for GitHub's command: notes its arguments, and answers from files.
echo "$*" >> "{folder}/gh.log"
case "$*" in
    *"--method GET"*"/pulls "*) cat "{folder}/pulls.json" ;;
    *"--paginate"*"/comments"*) cat "{folder}/comments.json" ;;
    *"body=@comment.md"*) cp comment.md "{folder}/posted.md" ;;
    "release create "*) cp -r publication "{folder}/published" ;;
esac
"""
SUDO = """#!/bin/sh
# Stands in for sudo, so that no step changes this machine.
echo "$*" >> "{folder}/sudo.log"
"""
SERVED = re.compile(r"remote cache: (\d+) hits, (\d+) misses, (\d+) errors, (\d+) written")
FAILING = """
onnx_file(name="bad-onnx", source="bad.onnx")
onnx_model(name="bad", source=":bad-onnx", hardware="cpu")
parity_test(name="bad-parity", model=":bad", pinned_outputs={"y": "0000000000000000000000000000000000000000000000000000000000000000"})
"""
MADE_UP = """
synthetic_onnx(name="made-up-onnx", scale="S", seed=7)
onnx_model(name="made-up", source=":made-up-onnx", hardware="cpu")
parity_test(name="made-up-parity", model=":made-up")
"""
TOO_MANY = """
for number in range(257):
    onnx_model(name=f"many-{number}", source=":good-onnx", hardware="cpu")
"""
UNTESTED = """
onnx_file(name="untested-onnx", source="untested.onnx")
onnx_model(name="untested", source=":untested-onnx", hardware="cpu")
"""


class Repository:
    """A git repository with a copy of the checkout and a catalogue of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        for source in (path for pattern in CONTENTS for path in CHECKOUT.glob(pattern)):
            target = root / source.relative_to(CHECKOUT)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".pants.d", "dist"))
            else:
                target.parent.mkdir(exist_ok=True)
                shutil.copy2(source, target)
        (root / ".gitignore").write_text("/dist/\n/.pants.d/\n__pycache__/\n")
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        identity = {f"GIT_{role}_{what}": "test" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        command = ["git", *arguments]
        return subprocess.run(
            command, cwd=self.root, env=environment, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "-q", "-m", "A change")

    def declare(self, name: str, seed: int) -> None:
        declare(SimpleNamespace(root=self.root), name, tiny_model(seed=seed), hardware=("cpu",))  # type: ignore[arg-type]

    def declare_as(self, name: str, build: str) -> None:
        (self.root / f"models/{name}.onnx").write_bytes(tiny_model(seed=1))
        (self.root / f"models/BUILD.{name}").write_text(build)

    def withdraw(self, name: str) -> None:
        (self.root / f"models/BUILD.{name}").unlink()

    def replace(self, path: str, *texts: tuple[str, str]) -> None:
        """Edit a file, which has to have each of these texts."""
        content = (self.root / path).read_text()
        for before, after in texts:
            assert before in content
            content = content.replace(before, after)
        (self.root / path).write_text(content)

    def keep_in(self, store: Path) -> None:
        """From now on jobs have this as Pants' local store, instead of this user's."""
        (self.root / ".pants.rc").write_text(f'[GLOBAL]\nlocal_store_dir = "{store}"\n')
        self.commit()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    if shutil.which("jq") is None:
        pytest.skip("there is no jq on this machine, which the workflows' commands use: GitHub's runners have it")
    found = Repository(tmp_path / "repository")
    found.declare("good", seed=41)
    found.commit()
    return found


@pytest.fixture
def gh(tmp_path: Path) -> Path:
    """A folder with the stand-in for GitHub's command, what it answers, and what it was asked."""
    folder = tmp_path / "gh"
    folder.mkdir()
    for name, script in (("gh", GH), ("sudo", SUDO)):
        (folder / name).write_text(script.format(folder=folder))
        (folder / name).chmod(0o755)
    (folder / "gh.log").touch()
    (folder / "comments.json").write_text("[]")
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[RunningServer]:
    """An empty cache."""
    try:
        folder = programs(BUILDBOX)
    except ProgramsUnavailable as error:
        pytest.skip(str(error))
    server = start_casd(tmp_path / "casd", folder=folder)
    yield server
    server.stop()


def runner(repository: Repository, gh: Path, **event: object) -> Runner:
    folder = gh.parent / f"jobs-{len(list(gh.parent.iterdir()))}"
    folder.mkdir()
    return Runner(repository.root, folder, gh, event)


def results(run: Runner, workflow: str, **inputs: object) -> dict[str, str]:
    return {name: job.result for name, job in run.run(workflow, inputs).items()}


def ended(head: str) -> dict[str, object]:
    """What GitHub tells of the end of pull-request.yml for a stranger's commit."""
    owner = {"full_name": "stranger/models", "owner": {"login": "stranger"}}
    return {"event": "pull_request", "id": 1, "head_repository": owner, "head_branch": "change", "head_sha": head}


def test_only_a_catalogue_that_passes_parity_is_published(repository: Repository, gh: Path) -> None:
    repository.declare_as("bad", FAILING)
    repository.declare_as("untested", UNTESTED)
    repository.commit()
    run = runner(repository, gh)
    found = results(run, "build-all.yml", release="v1", models="models:bad models:good")
    assert found == {"plan": "success", "build": "failure", "publish": "skipped"}, "\n".join(run.log)
    assert set(run.artifacts) == {"unverified-models.bad-cpu", "verified-models.good-cpu"}
    assert (gh / "gh.log").read_text() == ""

    repository.withdraw("bad")
    repository.withdraw("untested")
    repository.declare_as("made-up", MADE_UP)
    repository.commit()
    run = runner(repository, gh)
    found = results(run, "build-all.yml", release="v1")
    assert found == {"plan": "success", "build": "success", "publish": "success"}, "\n".join(run.log)
    assert set(run.artifacts) == {"verified-models.good-cpu", "verified-models.made-up-cpu"}
    assert "::warning::models/made-up/cpu has made-up weights, and is left out of the release" in "\n".join(run.log)
    assert (gh / "gh.log").read_text().startswith("release create v1 --repo owner/models --target ")
    published = gh / "published"
    artifact = "models.good.cpu.good_tinygrad.pkl"
    expected = {artifact, f"{artifact}.check.zst", f"{artifact}.provenance.json"}
    assert {path.name for path in published.iterdir()} == {*expected, "SHA256SUMS"}
    sums = dict(reversed(line.split()) for line in (published / "SHA256SUMS").read_text().splitlines())
    assert sums == {name: hashlib.sha256((published / name).read_bytes()).hexdigest() for name in expected}


def test_more_models_than_a_matrix_holds_are_refused(repository: Repository, gh: Path) -> None:
    repository.declare_as("many", TOO_MANY)
    repository.commit()
    run = runner(repository, gh)
    found = results(run, "build-all.yml")
    assert found == {"plan": "failure", "build": "skipped", "publish": "skipped"}, "\n".join(run.log)
    assert "::error::These are 258 models, and GitHub takes 256 jobs" in "\n".join(run.log)


@pytest.mark.parametrize(
    "source, hardware, message",
    [
        ("--help", "cpu", "source is '--help', not an address"),
        ("models:good", "qcom", "models:good is no model for qcom"),
        ("models:untested", "cpu", "models:untested has no parity test for cpu"),
    ],
)
def test_what_cannot_be_built_or_tested_is_refused(
    repository: Repository, gh: Path, source: str, hardware: str, message: str
) -> None:
    repository.declare_as("untested", UNTESTED)
    repository.commit()
    run = runner(repository, gh)
    assert results(run, "build-model.yml", source=source, hardware=hardware) == {"build": "failure"}
    assert f"::error::{message}" in "\n".join(run.log)
    assert not run.artifacts


def test_a_job_with_a_token_fills_the_cache_and_jobs_without_take_from_it(
    repository: Repository, gh: Path, cache: RunningServer
) -> None:
    compiled, served = [], []
    for name, secrets in (("writes", {"AUTOCLAVE_CACHE_TOKEN": "a-token"}), ("reads", {})):
        repository.keep_in(gh.parent / f"store-that-{name}")
        run = runner(repository, gh)
        run.variables = {"AUTOCLAVE_CACHE_ADDRESS": cache.address, "AUTOCLAVE_CACHE_INSTANCE": cache.instance}
        run.secrets = secrets
        found = results(run, "build-model.yml", source="models:good", hardware="cpu")
        log = "\n".join(run.log)
        assert found == {"build": "success"}, log
        assert "this cache works" in log
        compiled.append("Starting: Compile models:good" in log)
        (step,) = (each for each in run.log if each.startswith("See that the cache served the build\n"))
        (counts,) = SERVED.findall(step)
        served.append([int(count) for count in counts])
    assert compiled == [True, False]
    (hits, misses, errors, written), second = served
    assert (hits, errors) == (0, 0) and misses > 0 and written > 0
    assert second[0] > 0 and second[1:] == [0, 0, 0]

    repository.replace(
        ".github/workflows/pull-request.yml",
        ('PUBLIC_CACHE_ADDRESS: ""', f'PUBLIC_CACHE_ADDRESS: "{cache.address}"'),
        ('PUBLIC_CACHE_INSTANCE: ""', f'PUBLIC_CACHE_INSTANCE: "{cache.instance}"'),
    )
    repository.keep_in(gh.parent / "store-of-a-pull-request")
    repository.replace("models/BUILD.good", ("hardware=('cpu',)", "hardware=('cpu',), tolerance=0.00005"))
    repository.commit()
    run = runner(repository, gh, pull_request={"number": 7})
    found = results(run, "pull-request.yml")
    log = "\n".join(run.log)
    assert found == {"plan": "success", "build": "success", "report": "success"}, log
    assert "Starting: Compile models:good" not in log
    (step,) = (each for each in run.log if each.startswith("See that the cache served the build\n"))
    (counts,) = SERVED.findall(step)
    assert [int(count) for count in counts] == second


def test_a_job_whose_cache_cannot_be_used_fails_before_it_builds(
    repository: Repository, gh: Path, cache: RunningServer
) -> None:
    run = runner(repository, gh)
    run.variables = {"AUTOCLAVE_CACHE_ADDRESS": cache.address, "AUTOCLAVE_CACHE_INSTANCE": "nope"}
    assert results(run, "build-model.yml", source="models:good", hardware="cpu") == {"build": "failure"}
    log = "\n".join(run.log)
    assert "PANTS_REMOTE_INSTANCE_NAME=main" in log
    assert "Find the model and its parity tests" not in log
    assert not run.artifacts


def test_a_pull_request_shows_what_it_does_to_artifacts_and_gets_it_as_a_comment(
    repository: Repository, gh: Path
) -> None:
    repository.git("checkout", "-q", "-b", "change")
    (repository.root / "models/good.onnx").write_bytes(tiny_model(seed=42))
    repository.commit()
    head = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "Merge", "change")

    run = runner(repository, gh, pull_request={"number": 7})
    found = results(run, "pull-request.yml")
    assert found == {"plan": "success", "build": "success", "report": "success"}, "\n".join(run.log)
    report = (run.artifacts["report"] / "report.txt").read_text()
    assert "Models that this touches: 1; their builds and parity tests: success" in report
    assert "  models:good: artifact, other sources\n" in report
    assert "A  base/dist/models/good/cpu/good_tinygrad.pkl: " in report
    assert "B  after/models/good/cpu/good_tinygrad.pkl: " in report
    assert "run: w: " in report and "float32 differ" in report

    hostile = "@everyone <img src=x>\n```\n[link](http://x)\rtext\r@somebody\r\n" + "\n" * 70_000
    (run.artifacts["report"] / "report.txt").write_bytes((report + hostile).encode())
    (gh / "pulls.json").write_text(
        json.dumps([{"number": 6, "head": {"sha": "0" * 40}}, {"number": 7, "head": {"sha": head}}])
    )
    comments = runner(repository, gh, workflow_run=ended(head))
    comments.artifacts = run.artifacts
    assert results(comments, "pull-request-comment.yml") == {"comment": "success"}, "\n".join(comments.log)
    comment = (gh / "posted.md").read_bytes().decode()
    posted = comment.splitlines()
    assert posted[0].startswith("<!-- autoclave")
    assert {"    @everyone <img src=x>", "    [link](http://x)", "    text", "    @somebody"} <= set(posted)
    assert all(line.startswith("    ") for line in posted[3:-1]) and "    ".startswith(posted[-1])
    assert len(comment) < 65_536
    assert "api --method POST repos/owner/models/issues/7/comments" in (gh / "gh.log").read_text()


def test_a_comment_replaces_the_one_before_and_a_pull_request_that_moved_on_gets_none(
    repository: Repository, gh: Path
) -> None:
    report = gh.parent / "report"
    report.mkdir()
    (report / "report.txt").write_text("nothing\n")
    run = runner(repository, gh, workflow_run=ended("1" * 40))
    run.artifacts["report"] = report
    (gh / "pulls.json").write_text(json.dumps([{"number": 7, "head": {"sha": "2" * 40}}]))
    assert results(run, "pull-request-comment.yml") == {"comment": "success"}
    assert not (gh / "posted.md").exists()

    (gh / "pulls.json").write_text(json.dumps([{"number": 7, "head": {"sha": "1" * 40}}]))
    mark = "<!-- autoclave: models that a pull request touches -->\n"
    comments = [
        {"id": 1, "user": {"login": "stranger"}, "body": mark},
        {"id": 2, "user": {"login": "github-actions[bot]"}, "body": "something else"},
        {"id": 3, "user": {"login": "github-actions[bot]"}, "body": mark},
    ]
    (gh / "comments.json").write_text(json.dumps(comments))
    assert results(run, "pull-request-comment.yml") == {"comment": "success"}, "\n".join(run.log)
    assert "api --method PATCH repos/owner/models/issues/comments/3" in (gh / "gh.log").read_text()


def test_a_report_that_is_a_link_is_not_posted(repository: Repository, gh: Path) -> None:
    report = gh.parent / "report"
    report.mkdir()
    # What the job itself keeps from others, as its environment would be.
    (gh.parent / "private.txt").write_text("private\n")
    (report / "report.txt").symlink_to(gh.parent / "private.txt")
    run = runner(repository, gh, workflow_run=ended("1" * 40))
    run.artifacts["report"] = report
    (gh / "pulls.json").write_text(json.dumps([{"number": 7, "head": {"sha": "1" * 40}}]))
    assert results(run, "pull-request-comment.yml") == {"comment": "failure"}
    assert "has no file report.txt" in "\n".join(run.log)
    assert not (gh / "posted.md").exists()

"""How the files of another revision are written, by real git, and what of a command line holds for a forecast."""

import os

import pytest
from catalogue_repository import git  # pants: no-infer-dep

from autoclave_pants.revisions import RevisionError, commit_of, passed_on, write_tree


def test_a_revision_is_written_as_a_checkout_has_it(tmp_path):
    top = tmp_path / "top"
    inner = top / "inner"
    inner.mkdir(parents=True)
    git(top, "init", "-q")
    (inner / "run.sh").write_text("first")
    (inner / "run.sh").chmod(0o755)
    (inner / "gone.txt").write_text("later deleted")
    (inner / "link").symlink_to("run.sh")
    (top / "outside.txt").write_text("not below the checkout")
    git(top, "add", "--all")
    git(top, "commit", "-q", "-m", "First")
    git(top, "tag", "first")
    (inner / "run.sh").write_text("second")
    (inner / "gone.txt").unlink()
    git(top, "commit", "-q", "-a", "-m", "Second")
    status = git(top, "status", "--porcelain")

    write_tree(inner, commit_of(inner, "first", os.environ), tmp_path / "before", os.environ)

    before = tmp_path / "before"
    assert sorted(path.name for path in before.iterdir()) == ["gone.txt", "link", "run.sh"]
    assert (before / "run.sh").read_text() == "first" and os.access(before / "run.sh", os.X_OK)
    assert os.readlink(before / "link") == "run.sh"
    assert git(top, "status", "--porcelain") == status == ""


@pytest.mark.parametrize("revision", ["no-such-branch", "--help", "0" * 40])
def test_a_revision_that_is_not_there_is_an_error_that_says_what_to_do(tmp_path, revision):
    git(tmp_path, "init", "-q")
    with pytest.raises(RevisionError, match="(?s)names no commit.*fetch-depth: 0"):
        commit_of(tmp_path, revision, os.environ)


def test_only_options_that_matter_to_a_forecast_are_passed_on():
    line = [
        "pants",
        "--no-pantsd",
        "--autoclave-sandbox=none",
        "--pants-config-files=x.toml",
        "affected",
        "--since=main",
        "--json",
    ]
    assert passed_on(line) == ["--autoclave-sandbox=none", "--pants-config-files=x.toml"]

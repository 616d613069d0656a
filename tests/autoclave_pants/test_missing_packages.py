"""The backend `autoclave_pants.testing` on a real engine: what is said of tests that need packages which cannot be had."""

import hashlib
import logging
import sys

import pytest
from package_files import make_deb  # pants: no-infer-dep
from pants.backend.python.goals.pytest_runner import PytestPluginSetup
from pants.core.target_types import GenericTarget
from pants.engine.addresses import Address
from pants.engine.fs import DigestContents
from pants.engine.rules import QueryRule
from pants.testutil.rule_runner import RuleRunner

from autoclave_pants import target_types
from autoclave_pants.rules import fetching, interpreters, library, toolchains
from autoclave_pants.testing.missing_packages import NeedsRequest, rules

BUILD = """
deb_lock(name="comgr", source="comgr.lock", component="comgr", provides="a compiler")
target(name="hip", tags=["e2e", "needs://:comgr"])
target(name="server", tags=["needs-programs:buildbox"])
target(name="plain", tags=["e2e"])
"""
FETCH = """
import sys
print("error: " + sys.argv[1] + ": no apt here", file=sys.stderr)
sys.exit({code})
"""
PACKAGE_LINE = "libcomgr 1.0 amd64 sid pool/main/c/comgr/libcomgr_1.0_amd64.deb {size} {sha256}\n"


@pytest.fixture
def package(tmp_path):
    """A package's bytes."""
    return make_deb(tmp_path / "debs", "libcomgr", {"./usr/lib/libcomgr.so": b"a compiler"}).read_bytes()


def own_folders(tmp_path):
    """A store of the test's own, too: in that of the machine, a package stays that was fetched once."""
    return [f"--named-caches-dir={tmp_path / 'named'}", f"--local-store-dir={tmp_path / 'store'}"]


@pytest.fixture
def rule_runner(package, tmp_path):
    runner = RuleRunner(
        rules=[
            *interpreters.rules(),
            *fetching.rules(),
            *library.rules(),
            *toolchains.rules(),
            *rules(),
            QueryRule(PytestPluginSetup, (NeedsRequest,)),
        ],
        target_types=[*target_types.targets(), GenericTarget],
        bootstrap_args=own_folders(tmp_path),
    )
    sha256 = hashlib.sha256(package).hexdigest()
    runner.write_files({"BUILD": BUILD, "comgr.lock": PACKAGE_LINE.format(size=len(package), sha256=sha256)})
    (tmp_path / "bin").mkdir()
    interpreter = tmp_path / "bin/python3.13"
    # Says of itself what the backend looks for, and is the interpreter of these tests.
    interpreter.write_text(
        f'#!/bin/sh\ncase "$*" in *version_info*) echo cpython 3.13 ;; *) exec {sys.executable} "$@" ;; esac\n'
    )
    interpreter.chmod(0o755)
    return runner


def set_up(runner, tmp_path, *options, name="hip"):
    """What a test's sandbox has in addition, on a machine without an archive and with these options."""
    nowhere = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    runner.set_options([*own_folders(tmp_path), *options], env={"PATH": str(tmp_path / "bin"), **nowhere})
    target = runner.get_target(Address("", target_name=name))
    setup = runner.request(PytestPluginSetup, [NeedsRequest(target)])
    return {file.path: file.content for file in runner.request(DigestContents, [setup.digest])}


def fetch_that_ends_with(code):
    """A library whose module of that name says what the real one says."""
    empty = ("__init__.py", "servers/__init__.py", "sandbox/launch.sh")
    return {f"src/autoclave/{path}": "" for path in empty} | {"src/autoclave/servers/fetch.py": FETCH.format(code=code)}


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_tests_that_will_skip_are_named_with_the_reason_and_run_once_the_packages_are_there(
    rule_runner, package, tmp_path, caplog
):
    before = set_up(rule_runner, tmp_path)
    (warning,) = warnings(caplog)
    assert "//:hip: tests that need //:comgr are SKIPPED: component comgr" in warning

    caplog.clear()
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / hashlib.sha256(package).hexdigest()).write_bytes(package)
    after = set_up(rule_runner, tmp_path, f"--autoclave-mirrors={tmp_path / 'mirror'}")
    assert warnings(caplog) == []
    assert before.keys() == after.keys()
    assert before != after, "or Pants would take the skipped tests' result from its cache"


def test_tests_without_their_servers_programs_are_named_and_run_once_these_are_there(rule_runner, tmp_path, caplog):
    rule_runner.write_files(fetch_that_ends_with(3))
    before = set_up(rule_runner, tmp_path, name="server")
    (warning,) = warnings(caplog)
    assert warning == "//:server: tests that need the programs of buildbox are SKIPPED: buildbox: no apt here"

    caplog.clear()
    rule_runner.write_files(fetch_that_ends_with(0))
    after = set_up(rule_runner, tmp_path, name="server")
    assert warnings(caplog) == []
    assert before == {".needs/programs.buildbox": b"missing\n"}
    assert after == {".needs/programs.buildbox": b"there\n"}


def test_other_failures_of_programs_are_the_tests_own(rule_runner, tmp_path, caplog):
    rule_runner.write_files(fetch_that_ends_with(2))
    assert set_up(rule_runner, tmp_path, name="server") == {".needs/programs.buildbox": b"there\n"}
    assert warnings(caplog) == []


def test_other_tests_are_not_concerned(rule_runner):
    assert not NeedsRequest.is_applicable(rule_runner.get_target(Address("", target_name="plain")))
    assert NeedsRequest.is_applicable(rule_runner.get_target(Address("", target_name="hip")))

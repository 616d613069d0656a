"""Finding the machine's interpreters, and hiding where they are."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from pants.engine.rules import QueryRule
from pants.testutil.rule_runner import RuleRunner

from autoclave_pants.rules import interpreters
from autoclave_pants.rules.interpreters import (
    CACHE_NAME,
    HostPython,
    HostPythonRequest,
    PantsInterpreter,
    candidates,
    is_cpython,
)

OWN_VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def rule_runner(tmp_path):
    runner = RuleRunner(
        rules=[
            *interpreters.rules(),
            QueryRule(HostPython, (HostPythonRequest,)),
            QueryRule(PantsInterpreter, ()),
        ],
        bootstrap_args=[f"--named-caches-dir={tmp_path / 'named'}"],
    )
    runner.named = tmp_path / "named" / CACHE_NAME
    return runner


def directory_with_interpreter(directory):
    directory.mkdir()
    (directory / f"python{OWN_VERSION}").symlink_to(sys.executable)
    return directory


def find(runner, path, versions=(OWN_VERSION,)):
    runner.set_options([f"--named-caches-dir={runner.named.parent}"], env={"PATH": str(path), "HOME": "/nonexistent"})
    return runner.request(HostPython, [HostPythonRequest(versions)])


def test_interpreters_in_two_places_give_the_same_answer(rule_runner, tmp_path):
    first = find(rule_runner, directory_with_interpreter(tmp_path / "here"))
    second = find(rule_runner, directory_with_interpreter(tmp_path / "elsewhere"))
    assert first == second == HostPython(OWN_VERSION, f"interpreters/cp{OWN_VERSION.replace('.', '')}")


def test_link_leads_to_the_interpreter(rule_runner, tmp_path):
    found = find(rule_runner, directory_with_interpreter(tmp_path / "here"))
    assert (rule_runner.named / Path(found.link).name).resolve() == Path(sys.executable).resolve()


def test_missing_version_is_none(rule_runner, tmp_path):
    assert find(rule_runner, tmp_path, versions=("3.99",)).version is None


def test_program_of_another_version_is_not_taken(rule_runner, tmp_path):
    (tmp_path / "python3.99").symlink_to(sys.executable)
    assert find(rule_runner, tmp_path, versions=("3.99",)).version is None


def test_program_that_is_no_python_is_not_taken(tmp_path):
    impostor = tmp_path / "python3.13"
    impostor.write_text("#!/bin/sh\necho hello\n")
    impostor.chmod(0o755)
    assert not is_cpython(impostor, "3.13")


def test_pants_interpreter_is_started_by_a_script_at_a_fixed_place(rule_runner):
    found = rule_runner.request(PantsInterpreter, [])
    starter = rule_runner.named / "pants"
    assert found.path == "interpreters/pants"
    assert os.access(starter, os.X_OK)
    assert sys.executable in starter.read_text()


def test_what_only_the_machine_knows_comes_in_by_a_script_of_its_owner_s(rule_runner):
    found = rule_runner.request(PantsInterpreter, [])
    path = found.with_environment("fetch-x", {"HF_TOKEN": 'it\'s $HOME; "secret"\nand so on'})
    script = rule_runner.named / "fetch-x"
    assert path == "interpreters/fetch-x"
    assert stat.S_IMODE(script.stat().st_mode) == 0o700
    program = "import os; print(os.environ['HF_TOKEN'])"
    result = subprocess.run(["/bin/sh", str(script), "-I", "-c", program], capture_output=True, text=True, env={})
    assert result.stdout == 'it\'s $HOME; "secret"\nand so on\n'


def test_places_are_tried_in_order(tmp_path):
    for directory in ("home/.pyenv/versions/3.13.1/bin", "home/.local/share/uv/python/cpython-3.13.2-linux/bin"):
        (tmp_path / directory).mkdir(parents=True)
        (tmp_path / directory / "python3.13").touch()
    found = list(candidates("3.13", "/a:/root/shims:/b", str(tmp_path / "home"), None, "/launchers"))
    assert found == [
        Path("/a/python3.13"),
        Path("/b/python3.13"),
        tmp_path / "home/.pyenv/versions/3.13.1/bin/python3.13",
        tmp_path / "home/.local/share/uv/python/cpython-3.13.2-linux/bin/python3.13",
        Path("/launchers/python3.13"),
    ]


def test_what_the_launcher_brought_is_found(rule_runner, tmp_path):
    launchers = directory_with_interpreter(tmp_path / "pythons")
    rule_runner.set_options(
        [f"--named-caches-dir={rule_runner.named.parent}"],
        env={"PATH": "/nowhere", "HOME": "/nonexistent", "AUTOCLAVE_PYTHONS": str(launchers)},
    )
    assert rule_runner.request(HostPython, [HostPythonRequest((OWN_VERSION,))]).version == OWN_VERSION

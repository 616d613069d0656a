"""Wheels come as locked, from mirrors or an index, or one error says what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from package_files import make_sdist, make_wheel, sha256  # pants: no-infer-dep

from autoclave_pants.fetch import wheels as module
from autoclave_pants.fetch.wheels import FetchError, Tags, parse_lock

SCRIPT = str(Path(module.__file__).resolve())
"""Absolute: the first releases of Python 3.9 leave `__file__` relative when the search path is."""


@pytest.fixture(scope="module")
def pip_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter that has pip: this one, or a venv's."""
    if find_spec("pip"):
        return sys.executable
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True, symlinks=True)
    return str(folder / "bin/python")


@pytest.fixture
def pip_index(pip_python: str) -> None:
    """Skips what needs `pip index`: Pants' own pip has it, the one bundled with an old interpreter has not."""
    if subprocess.run([pip_python, "-I", "-m", "pip", "index", "--help"], capture_output=True).returncode != 0:
        pytest.skip("this interpreter's pip has no `index` command")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """A package index: a folder that pip looks into instead of one."""
    folder = tmp_path / "index"
    folder.mkdir()
    return folder


class Fetch:
    """Runs the script as the backend does, with one lock."""

    def __init__(self, python: str, tmp_path: Path, index: Path) -> None:
        self.python, self.folder, self.index = python, tmp_path, index

    def __call__(
        self, lock: str, abi: str = "cp313", mirrors: Sequence[object] = ()
    ) -> subprocess.CompletedProcess[str]:
        (self.folder / "part.lock").write_text(lock)
        options = [word for mirror in mirrors for word in ("--mirror", str(mirror))]
        return subprocess.run(
            [self.python, "-I", SCRIPT, "--component", "part", "--lock", "part.lock"]
            + ["--python-abi", abi, "--output", "out", *options],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.index)},
            capture_output=True,
            text=True,
        )

    def output(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "out").iterdir())


@pytest.fixture
def fetch(pip_python: str, tmp_path: Path, index: Path) -> Fetch:
    return Fetch(pip_python, tmp_path, index)


def pin(wheel: Path, *others: Path) -> str:
    name, version = wheel.name.split("-")[:2]
    hashes = " ".join(f"--hash=sha256:{sha256(file)}" for file in (wheel, *others))
    return f"{name}=={version} {hashes}\n"


def error_of(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 2, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr.strip().splitlines()[-1]


def test_each_python_gets_its_wheel(fetch: Fetch, index: Path) -> None:
    old = make_wheel(index, "part", "1.0", "cp312-cp312-manylinux_2_28_x86_64", {"part.py": b"12"})
    new = make_wheel(index, "part", "1.0", "cp313-cp313-manylinux_2_28_x86_64", {"part.py": b"13"})

    result = fetch(pin(old, new), "cp313")

    assert result.returncode == 0, result.stderr
    assert fetch.output() == [new.name]
    assert result.stdout == f"{sha256(new)} {new.stat().st_size} {new.name}\n"


@pytest.mark.parametrize(
    "tag", ["py3-none-any", "cp310-abi3-manylinux2014_x86_64", "py2.py3-none-manylinux_2_32_x86_64"]
)
def test_wheels_for_several_pythons_serve(fetch: Fetch, index: Path, tag: str) -> None:
    wheel = make_wheel(index, "part", "1.0", tag)

    assert fetch(pin(wheel), "cp312").returncode == 0


def test_a_mirror_comes_before_the_index(fetch: Fetch, index: Path, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "mirror", "part", "1.0", files={"part.py": b""})
    lock = pin(wheel)
    wheel.rename(wheel.with_name(sha256(wheel)))

    result = fetch(lock, mirrors=[tmp_path / "no-such-mirror", tmp_path / "mirror"])

    assert result.returncode == 0, result.stderr
    assert fetch.output() == ["part-1.0-py3-none-any.whl"]


def test_a_mirror_by_address(fetch: Fetch, index: Path, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "mirror", "part", "1.0")
    lock = pin(wheel)
    wheel.rename(wheel.with_name(sha256(wheel)))

    assert fetch(lock, mirrors=[(tmp_path / "mirror").as_uri()]).returncode == 0


def test_a_mirror_that_does_not_answer_is_passed_over(fetch: Fetch, index: Path) -> None:
    wheel = make_wheel(index, "part", "1.0")

    result = fetch(pin(wheel), mirrors=["http://127.0.0.1:9/mirror"])

    assert result.returncode == 0
    assert "warning: mirror http://127.0.0.1:9/mirror/" in result.stderr


def test_a_mirror_that_lies_is_an_error(fetch: Fetch, index: Path, tmp_path: Path) -> None:
    wheel = make_wheel(index, "part", "1.0")
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / sha256(wheel)).write_bytes(b"other")

    message = error_of(fetch(pin(wheel), mirrors=[tmp_path / "mirror"]))

    assert f"mirror/{sha256(wheel)}: its name says sha256 {sha256(wheel)}" in message
    assert "Remove it from the mirror" in message


def test_a_wrong_hash(fetch: Fetch, index: Path) -> None:
    wheel = make_wheel(index, "part", "1.0")

    message = error_of(fetch(f"part==1.0 --hash=sha256:{'1' * 64}"))

    assert message.startswith("error: component part: part.lock:1: the index offers part==1.0 for cp313 with sha256")
    assert sha256(wheel) in message and "1" * 64 in message
    assert "autoclave lock wheels part==1.0 --output part.lock" in message


@pytest.mark.usefixtures("pip_index")
def test_a_wheel_for_another_python(fetch: Fetch, index: Path) -> None:
    wheel = make_wheel(index, "part", "1.0", "cp312-cp312-manylinux_2_28_x86_64")

    message = error_of(fetch(pin(wheel), "cp313"))

    assert "component part: part.lock:1: part==1.0 has wheels for cp312, but none for CPython cp313" in message


@pytest.mark.parametrize(
    "tag", ["cp313-cp313-macosx_11_0_arm64", "cp313-cp313-manylinux_2_28_aarch64", "cp312-cp312-win_amd64"]
)
def test_a_wheel_for_another_platform_in_a_mirror(fetch: Fetch, index: Path, tmp_path: Path, tag: str) -> None:
    wheel = make_wheel(tmp_path / "mirror", "part", "1.0", tag)
    lock = pin(wheel)
    wheel.rename(wheel.with_name(sha256(wheel)))

    message = error_of(fetch(lock, mirrors=[tmp_path / "mirror"]))

    assert f"part.lock:1: part==1.0 is locked as part-1.0-{tag}.whl" in message
    assert "CPython cp313 on x86-64 Linux cannot import" in message
    assert "`autoclave lock wheels part==1.0 --output part.lock --python 3.13`" in message


@pytest.mark.usefixtures("pip_index")
def test_a_source_distribution_on_the_index(fetch: Fetch, index: Path) -> None:
    sdist = make_sdist(index, "part", "1.0")

    message = error_of(fetch(f"part==1.0 --hash=sha256:{sha256(sdist)}"))

    assert "part==1.0 has no wheel for CPython cp313 on x86-64 Linux, only a source distribution" in message


def test_a_source_distribution_in_a_mirror(fetch: Fetch, index: Path, tmp_path: Path) -> None:
    sdist = make_sdist(tmp_path / "mirror", "part", "1.0")
    lock = f"part==1.0 --hash=sha256:{sha256(sdist)}"
    sdist.rename(sdist.with_name(sha256(sdist)))

    assert "is not a wheel (a source distribution?)" in error_of(fetch(lock, mirrors=[tmp_path / "mirror"]))


@pytest.mark.usefixtures("pip_index")
def test_a_version_that_the_index_does_not_have(fetch: Fetch, index: Path) -> None:
    make_wheel(index, "part", "1.0")
    make_wheel(index, "part", "1.1")

    message = error_of(fetch(f"part==2.0 --hash=sha256:{'1' * 64}"))

    assert "part==2.0 is not on the package index for CPython cp313 on x86-64 Linux; it has 1.1, 1.0" in message


def test_a_name_that_the_index_does_not_have(fetch: Fetch, index: Path) -> None:
    message = error_of(fetch(f"prat==1.0 --hash=sha256:{'1' * 64}"))

    assert "prat==1.0 is not on the package index" in message
    assert "Check the name and PIP_INDEX_URL, or give a mirror" in message


def test_a_file_of_another_release_under_the_locked_hash(fetch: Fetch, index: Path, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "mirror", "part", "1.0")
    digest = sha256(wheel)
    wheel.rename(wheel.with_name(digest))

    message = error_of(fetch(f"part==2.0 --hash=sha256:{digest}", mirrors=[tmp_path / "mirror"]))

    assert "the file with the locked hash is part 1.0, not part==2.0" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("part==1.0\n", "a.lock:1: part==1.0 needs at least one `--hash=sha256:`"),
        ("part==1.0 --hash=md5:abc\n", "and no other kind of hash"),
        ("part==1.0 --hash=sha256:abc\n", "of 64 hexadecimal digits"),
        ("# head\npart>=1.0\n", "a.lock:2: expected `NAME==VERSION --hash=sha256:...`, found `part>=1.0`"),
        ("--index-url https://example.invalid\n", "no options, addresses or ranges"),
        ("part @ https://example.invalid/part.whl\n", "no options, addresses or ranges"),
        (
            f"part==1 --hash=sha256:{'a' * 64}\nPart==2 --hash=sha256:{'b' * 64}",
            "a.lock:2: Part==2 conflicts with part==1 on line 1",
        ),
        ("# nothing\n", "a.lock: names no wheel"),
    ],
)
def test_a_lock_that_is_none(text: str, message: str) -> None:
    with pytest.raises(FetchError) as error:
        parse_lock(text, "a.lock")

    assert message in str(error.value)


def test_a_lock_may_continue_lines_and_have_comments() -> None:
    text = f"# head\n\npart==1.0 \\\n    --hash=sha256:{'a' * 64} \\\n    --hash=sha256:{'b' * 64}  # both\n"

    (found,) = parse_lock(text, "a.lock")

    assert (str(found), found.hashes, found.line) == ("part==1.0", ("a" * 64, "b" * 64), 3)


@pytest.mark.parametrize(
    ("tag", "suits"),
    [
        ("cp313-cp313-manylinux_2_36_x86_64", True),
        ("cp313-cp313-manylinux_2_39_x86_64", False),
        ("cp313-cp313t-manylinux_2_28_x86_64", False),
        ("cp314-abi3-manylinux_2_28_x86_64", False),
        ("cp39-abi3-manylinux1_x86_64", True),
        ("cp312-cp312-any", False),
        ("py313-none-any", True),
        ("py2-none-any", False),
        ("cp313-none-musllinux_1_2_x86_64", False),
    ],
)
def test_tags_that_suit(tag: str, suits: bool) -> None:
    python, abi, platform = tag.split("-")

    assert Tags("part", "1.0", ((python, abi, platform),)).suits("cp313") is suits

"""Models from their declaration to their artifact, through the real ./pants: what runs, what does not, what it says."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import onnx
import pytest
import tinygrad
from e2e.catalogue_models import HARDWARE, declare, started, succeeded, tiny_model

if TYPE_CHECKING:
    from subprocess import CompletedProcess

    from conftest import Workspace  # pants: no-infer-dep


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_package_writes_artifact_check_file_and_provenance_for_each_hardware(catalogue: Workspace) -> None:
    declare(catalogue, "first", tiny_model(), filename="first_driving_tinygrad.pkl")
    result = succeeded(catalogue.pants("package", "models:first"))
    for hardware in HARDWARE:
        folder = catalogue.root / "dist/models/first" / hardware
        artifact = folder / "first_driving_tinygrad.pkl"
        assert sorted(path.name for path in folder.iterdir()) == [
            "first_driving_tinygrad.pkl",
            "first_driving_tinygrad.pkl.check.zst",
            "first_driving_tinygrad.pkl.provenance.json",
        ]
        statement = json.loads((folder / "first_driving_tinygrad.pkl.provenance.json").read_text())
        assert statement["subject"] == [{"name": artifact.name, "digest": {"sha256": sha256(artifact)}}]
        materials = {each["name"] for each in statement["predicate"]["buildDefinition"]["resolvedDependencies"]}
        assert {"onnx", "tinygrad", "llvm"} <= materials
        assert ("mesa" in materials) is (hardware == "qcom")
        assert f"sha256 {sha256(artifact)}" in result.stderr
        assert str(catalogue.root).encode() not in artifact.read_bytes()


def test_nothing_changed_runs_nothing(catalogue: Workspace) -> None:
    declare(catalogue, "still", tiny_model(seed=2), hardware=("cpu",))
    succeeded(catalogue.pants("package", "models::"))
    assert started(succeeded(catalogue.pants("package", "models::"))) == []


def test_one_changed_model_runs_its_own_actions_only(catalogue: Workspace) -> None:
    declare(catalogue, "changing", tiny_model(seed=3), hardware=("cpu", "chestnut"))
    declare(catalogue, "constant", tiny_model(seed=4), hardware=("cpu", "chestnut"))
    succeeded(catalogue.pants("package", "models::"))
    (catalogue.root / "models/changing.onnx").write_bytes(tiny_model(seed=5))
    result = succeeded(catalogue.pants("package", "models::"))
    assert started(result, "Compile", "Record") == sorted(
        f"models:changing@hardware={hardware}" for hardware in ("cpu", "chestnut") for _ in ("Compile", "Record")
    )
    assert not [target for target in started(result) if "constant" in target]


def test_display_data_is_not_part_of_any_key(catalogue: Workspace) -> None:
    declare(catalogue, "named", tiny_model(seed=6), hardware=("cpu",))
    succeeded(catalogue.pants("package", "models::"))
    (catalogue.root / "models/BUILD.named").unlink()
    declare(catalogue, "renamed", tiny_model(seed=6), hardware=("cpu",), description="Another name", filename="x.pkl")
    assert started(succeeded(catalogue.pants("package", "models::"))) == []


def relocated_interpreter(destination: Path) -> Path:
    """A copy of the interpreter that runs this test, somewhere else; the directory to put on PATH."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    prefix = Path(sys.base_prefix)
    (destination / "bin").mkdir(parents=True)
    shutil.copy2(Path(prefix, "bin", version).resolve(), destination / "bin" / version)
    unneeded = shutil.ignore_patterns(
        "__pycache__", "test", "tests", "site-packages", "dist-packages", "idlelib", "config-*"
    )
    shutil.copytree(prefix / "lib" / version, destination / "lib" / version, ignore=unneeded, symlinks=True)
    for library in prefix.glob("lib/libpython3*.so*"):
        shutil.copy2(library, destination / "lib")
    return destination / "bin"


def test_second_checkout_with_an_interpreter_elsewhere_compiles_nothing(
    catalogue: Workspace, workspace: Workspace, tmp_path: Path
) -> None:
    results = []
    for name in ("here", "somewhere/else/entirely"):
        checkout = type(catalogue)(tmp_path / name / "checkout", catalogue.store)
        shutil.copytree(catalogue.root, checkout.root, symlinks=True)
        declare(checkout, "moved", tiny_model(seed=7), hardware=("cpu", "qcom"))
        interpreter = relocated_interpreter(tmp_path / name / "python")
        arguments = (
            "--autoclave-python=host",
            f"--named-caches-dir={tmp_path / name / 'caches'}",
            "package",
            "models::",
        )
        results.append(
            succeeded(
                checkout.pants(*arguments, env={"PATH": f"{interpreter}:/usr/bin:/bin", "PYENV_ROOT": "/nonexistent"})
            )
        )
    first, second = results
    assert len(started(first, "Compile")) == 2
    assert started(second) == []
    assert [line for line in second.stderr.splitlines() if "sha256" in line] == [
        line for line in first.stderr.splitlines() if "sha256" in line
    ]


LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"1" * 64 + b"\nsize 60934112\n"
BROKEN = {
    "pointer": (LFS_POINTER, {}, ["LFS pointer", "1" * 64]),
    "page": (b"<!DOCTYPE html><html><body>404</body></html>", {}, ["HTML"]),
    "empty": (b"", {}, ["empty"]),
    "truncated": (tiny_model()[:-1000], {}, ["truncated"]),
    "random": (bytes(range(256)) * 8, {}, ["ONNX"]),
    "axis": (tiny_model(batch="N"), {}, ["'N'", "dimensions"]),
    "operator": (tiny_model(operator="Frobnicate"), {}, ["Frobnicate"]),
    "input": (tiny_model(), {"inputs": ["x", "calib"]}, ["calib"]),
    "renderer": (tiny_model(), {"renderer": "ir3"}, ["renderer", "ir3", "cpu"]),
    "absent": (b"removed below", {}, ["`source`", "'absent.onnx'"]),
    "astray": (tiny_model(), {"toolchain": "toolchains:nowhere"}, ["toolchains:nowhere"]),
}


@pytest.fixture
def rebuilt(catalogue: Workspace) -> Iterator[tuple[Workspace, CompletedProcess[str]]]:
    for name, (model, fields, _) in BROKEN.items():
        declare(catalogue, name, model, hardware=("cpu",), **fields)
    (catalogue.root / "models/absent.onnx").unlink()
    declare(catalogue, "good", tiny_model(seed=8), hardware=("cpu",))
    yield catalogue, catalogue.pants("rebuild", "models::")


def test_rebuild_builds_what_it_can_and_records_what_failed(rebuilt: tuple[Workspace, CompletedProcess[str]]) -> None:
    catalogue, result = rebuilt
    assert result.returncode == 1
    assert f"1 built, {len(BROKEN)} failed" in result.stdout
    assert (catalogue.root / "dist/models/good/cpu/good_tinygrad.pkl").is_file()
    for name, (_, _, words) in BROKEN.items():
        record = json.loads((catalogue.root / f"dist/failures/models.{name}.json").read_text())
        assert record["target"] == f"models:{name}"
        assert record["command"] == f"./pants package models:{name}"
        for word in words:
            assert word in record["reason"], (name, record["reason"])
        assert "Traceback" not in record["reason"]
        assert f"models:{name}" in result.stdout

    # The tests of a model that cannot be built fail with the build's reason.
    tests = catalogue.pants("test", "models:pointer-parity", "models:good-parity")
    assert tests.returncode == 1
    assert "LFS pointer" in tests.stderr + tests.stdout
    assert "✓ models:good-parity" in tests.stderr

    # An artifact that an older build left does not pass for one of a model that fails now.
    (catalogue.root / "models/good.onnx").write_bytes(LFS_POINTER)
    assert catalogue.pants("rebuild", "models:good").returncode == 1
    assert not (catalogue.root / "dist/models/good/cpu").exists()
    (catalogue.root / "models/good.onnx").write_bytes(tiny_model(seed=8))

    # What has been repaired leaves no record behind. Failures are tried again, what succeeded is not.
    (catalogue.root / "models/pointer.onnx").write_bytes(tiny_model(seed=9))
    again = catalogue.pants("rebuild", "models::")
    assert started(again, "Compile") == ["models:operator", "models:pointer"]
    assert not (catalogue.root / "dist/failures/models.pointer.json").exists()


def test_package_names_target_and_reason(catalogue: Workspace) -> None:
    declare(catalogue, "pointer", LFS_POINTER, hardware=("cpu",))
    result = catalogue.pants("package", "models:pointer")
    assert result.returncode == 1
    assert "models:pointer" in result.stderr
    assert "LFS pointer" in result.stderr
    assert "Traceback" not in result.stderr


def test_wrong_hash_of_a_file_in_the_checkout_is_refused(catalogue: Workspace) -> None:
    declare(catalogue, "hashed", tiny_model(), hardware=("cpu",))
    build = catalogue.root / "models/BUILD.hashed"
    build.write_text(build.read_text().replace('source="hashed.onnx"', f'source="hashed.onnx", sha256="{"0" * 64}"'))
    result = catalogue.pants("package", "models:hashed")
    assert result.returncode == 1
    for word in ("models:hashed-onnx", hashlib.sha256(tiny_model()).hexdigest(), "0" * 64):
        assert word in result.stderr


def test_parity_passes_and_warns_of_rungs_that_could_not_be_climbed(catalogue: Workspace) -> None:
    declare(catalogue, "checked", tiny_model(seed=10))
    result = succeeded(catalogue.pants("test", "models:checked-parity"))
    assert result.stderr.count("✓ models:checked-parity") == 3
    for hardware in ("qcom", "chestnut"):
        assert re.search(rf"WARN.*checked-parity@model={hardware}.*rung 6 device.*no device_recording", result.stderr)
    assert not re.search(r"WARN.*model=cpu", result.stderr)


def test_failing_parity_says_what_differs_and_how_to_repeat_it(catalogue: Workspace) -> None:
    declare(catalogue, "pinned", tiny_model(seed=11), hardware=("cpu",))
    build = catalogue.root / "models/BUILD.pinned"
    build.write_text(
        build.read_text() + f'parity_test(name="p", model=":pinned", pinned_outputs={{"y": "{"0" * 64}"}})\n'
    )
    result = catalogue.pants("test", "models:p")
    assert result.returncode == 1
    for word in ("y", "0" * 64, "./pants test --force models:p"):
        assert word in result.stdout + result.stderr


def test_reproducibility_varies_python_and_shows_what_differs(catalogue: Workspace) -> None:
    declare(catalogue, "again", tiny_model(seed=13), hardware=("cpu",))
    build = catalogue.root / "models/BUILD.again"
    build.write_text(build.read_text() + 'reproducibility_test(name="r", model=":again")\n')
    same = succeeded(catalogue.pants("test", "--output=all", "models:r"))
    assert "✓ models:r" in same.stderr
    assert "the same bytes with another hash seed, directory, user" in same.stdout + same.stderr

    compiler = catalogue.root / "src/autoclave/compiler/__main__.py"
    honest = '"synthetic": request.synthetic,'
    assert honest in compiler.read_text()
    compiler.write_text(compiler.read_text().replace(honest, f'{honest} "user": __import__("os").getuid(),'))
    different = catalogue.pants("test", "models:r")
    assert different.returncode == 1
    assert "metadata.user: 1000 -> 54321" in different.stdout + different.stderr


def test_looser_tolerance_needs_a_reason(catalogue: Workspace) -> None:
    declare(catalogue, "loose", tiny_model(seed=11), hardware=("cpu",))
    build = catalogue.root / "models/BUILD.loose"
    build.write_text(build.read_text() + 'parity_test(name="p", model=":loose", tolerance=0.5)\n')
    result = catalogue.pants("test", "models:p")
    assert result.returncode != 0
    assert "tolerance_reason" in result.stdout + result.stderr


def test_toolchain_info_prints_components_versions_and_hashes(catalogue: Workspace) -> None:
    result = succeeded(catalogue.pants("toolchain-info", "--json", "toolchains:tinygrad-0.14"))
    (described,) = json.loads(result.stdout)
    assert described["python"]["kind"] in ("deb", "host")
    names = {each["name"]: each for each in described["components"]}
    assert set(names) >= {"tinygrad", "llvm", "numpy"}
    assert [each["name"] for each in described["renderers"]["ir3"]["components"]] == ["mesa"]
    assert names["tinygrad"]["pins"] == ["tinygrad==0.14.0"]
    assert all(re.fullmatch("[0-9a-f]{64}", each["identity"]) and each["size"] > 0 for each in described["components"])


def test_another_tinygrad_is_refused_with_a_sentence(catalogue: Workspace) -> None:
    declare(catalogue, "future", tiny_model(), hardware=("cpu",), toolchain="toolchains:future")
    with (catalogue.root / "toolchains/BUILD").open("a") as build:
        build.write(
            dedent("""
            tinygrad_source(name="future-tinygrad", commit="f" * 40, path="future", adapter="9.9.9")
            toolchain(
                name="future",
                python=[":python-3.13", ":python-host"],
                tinygrad=":future-tinygrad",
                components=[":llvm-20", ":numpy"],
                ir3=":tinymesa",
            )
            """)
        )
    (catalogue.root / "toolchains/future/tinygrad").mkdir(parents=True)
    (catalogue.root / "toolchains/future/tinygrad/__init__.py").write_text("")
    result = catalogue.pants("package", "models:future")
    assert result.returncode == 1
    assert re.search(r"9\.9\.9.*0\.14\.0", result.stderr)


def archive_of_tinygrad(destination: Path) -> str:
    """A source archive, as code hosts make them, of the installed release; its sha256."""
    package = Path(tinygrad.__file__).parent
    with tarfile.open(destination, "w:gz") as archive:
        for path in sorted(package.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                archive.add(path, f"tinygrad-0.14.0/tinygrad/{path.relative_to(package)}")
    return sha256(destination)


def test_commit_with_the_sources_of_a_release_builds_the_same_bytes(catalogue: Workspace) -> None:
    declare(catalogue, "released", tiny_model(seed=12), hardware=("cpu", "qcom"))
    declare(catalogue, "archived", tiny_model(seed=12), hardware=("cpu", "qcom"), toolchain="toolchains:archived")
    declare(catalogue, "vendored", tiny_model(seed=12), hardware=("cpu", "qcom"), toolchain="toolchains:vendored")
    pinned = archive_of_tinygrad(catalogue.root / "toolchains/tinygrad.tar.gz")
    with tarfile.open(catalogue.root / "toolchains/tinygrad.tar.gz") as archive:
        archive.extractall(catalogue.root / "toolchains", filter="data")
    with (catalogue.root / "toolchains/BUILD").open("a") as build:
        for name, pin in (
            ("archived", f'archive="tinygrad.tar.gz", sha256="{pinned}"'),
            ("vendored", 'path="tinygrad-0.14.0"'),
        ):
            build.write(
                dedent(f"""
                tinygrad_source(name="{name}-tinygrad", commit="{"c" * 40}", adapter="0.14.0", {pin})
                toolchain(
                    name="{name}",
                    python=[":python-3.13", ":python-host"],
                    tinygrad=":{name}-tinygrad",
                    components=[":llvm-20", ":numpy"],
                    ir3=":tinymesa",
                    absent_flags=["TC_MIN_GLOBALS"],
                )
                """)
            )
    result = succeeded(catalogue.pants("package", "models::"))
    assert len(started(result, "Compile")) == 4, (
        "the two commits have one identity, the release (with its metadata) another"
    )
    for hardware in ("cpu", "qcom"):
        built = {
            sha256(catalogue.root / f"dist/models/{name}/{hardware}/{name}_tinygrad.pkl")
            for name in ("released", "archived", "vendored")
        }
        assert len(built) == 1


def test_a_valid_onnx_is_what_the_tests_build() -> None:
    onnx.checker.check_model(onnx.load_from_string(tiny_model()), full_check=True)

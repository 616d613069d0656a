"""The package can be copied into another project: it needs no file of Autoclave's but its own, and Python 3.11."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from artifact.sample_artifacts import write_sample

import autoclave.runtime

FOLDER = Path(autoclave.runtime.__file__).parent
MODULES = sorted(FOLDER.glob("*.py"))

OPEN = """
import sys
before = set(sys.modules)
from copied import load
from copied.errors import LoadError
try:
    load(sys.argv[1], allow_unverified=True, allow_synthetic=True)
except LoadError as error:
    print(error)
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)))
"""


def test_a_copy_under_another_name_reads_artifacts_with_the_standard_library_alone(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "copied", ignore=shutil.ignore_patterns("__pycache__"))
    write_sample(tmp_path / "model.pkl")

    done = subprocess.run(
        [sys.executable, "-S", "-c", OPEN, "model.pkl"],
        cwd=tmp_path,
        env={"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )

    assert done.stderr == ""
    message, packages = done.stdout.splitlines()
    assert message == "importing tinygrad: No module named 'tinygrad'; put it on the path"
    assert packages == "copied"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_a_module_is_python_3_11(module: Path) -> None:
    ast.parse(module.read_text(), feature_version=(3, 11))
    assert not _newer_syntax(module.read_text())


def _newer_syntax(source: str) -> list[str]:
    """What Python 3.12 brought and `feature_version` lets pass: type parameters and `type` statements."""
    nodes = ast.walk(ast.parse(source))
    return [
        type(node).__name__ for node in nodes if getattr(node, "type_params", None) or isinstance(node, ast.TypeAlias)
    ]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_a_module_imports_the_standard_library_its_siblings_and_no_more(module: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            imported.add(str(node.module).partition(".")[0])
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 1
    assert imported <= set(sys.stdlib_module_names) | {"numpy"}

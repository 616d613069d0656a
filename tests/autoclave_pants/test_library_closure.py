"""Which library files an action has among its inputs."""

from pathlib import Path

import pytest

import autoclave_pants
from autoclave_pants.rules.emulation import other_emulators
from autoclave_pants.rules.library import closure, imported_modules

LIBRARY = Path(autoclave_pants.__file__).parents[1]

TOY = {
    "autoclave/__init__.py": b"",
    "autoclave/errors.py": b"",
    "autoclave/shared/__init__.py": b"from autoclave.errors import Failure\n",
    "autoclave/shared/deep.py": b"import os\n",
    "autoclave/one/__init__.py": b"",
    "autoclave/one/__main__.py": b"def main():\n    from autoclave.shared import deep\n",
    "autoclave/one/unused.py": b"",
    "autoclave/other.py": b"from . import errors\n",
}


def test_package_brings_its_main_its_imports_and_their_packages():
    assert closure("autoclave.one", TOY) == {
        "autoclave/__init__.py",
        "autoclave/one/__init__.py",
        "autoclave/one/__main__.py",
        "autoclave/shared/__init__.py",
        "autoclave/shared/deep.py",
        "autoclave/errors.py",
    }


def test_relative_import_is_followed():
    assert closure("autoclave.other", TOY) == {"autoclave/__init__.py", "autoclave/other.py", "autoclave/errors.py"}


def test_packages_that_an_action_does_without_are_left_out_and_not_followed():
    files = {**TOY, "autoclave/shared/__init__.py": b"", "autoclave/shared/deep.py": b"from autoclave import other\n"}
    assert closure("autoclave.one", files, without=("autoclave.shared.deep", "autoclave.oth")) == {
        "autoclave/__init__.py",
        "autoclave/one/__init__.py",
        "autoclave/one/__main__.py",
        "autoclave/shared/__init__.py",
    }


@pytest.mark.parametrize(
    "source, module, is_package, expected",
    [
        ("import autoclave.errors", "autoclave.x", False, ["autoclave.errors"]),
        ("from autoclave import errors", "autoclave.x", False, ["autoclave", "autoclave.errors"]),
        ("from .near import thing", "autoclave.one.x", False, ["autoclave.one.near", "autoclave.one.near.thing"]),
        ("from . import near", "autoclave.one", True, ["autoclave.one", "autoclave.one.near"]),
        (
            "from autoclave.a import (\n    b,  # why, oh\n    c as d,\n)",
            "autoclave.x",
            False,
            ["autoclave.a", "autoclave.a.b", "autoclave.a.c"],
        ),
        ("if x:\n    import autoclave.a as a, os  # here", "autoclave.x", False, ["autoclave.a", "os"]),
        ("load('autoclave.late.module')", "autoclave.x", False, ["autoclave.late.module"]),
        ("from .. import errors", "autoclave.one.x", False, ["autoclave", "autoclave.errors"]),
    ],
)
def test_names_of_imports(source, module, is_package, expected):
    assert list(imported_modules(source.encode(), module, is_package)) == expected


def real_closure(module):
    files = {str(path.relative_to(LIBRARY)): path.read_bytes() for path in LIBRARY.glob("autoclave/**/*.py")}
    return {path.split("/")[1] for path in closure(module, files) if path.count("/") > 1}


@pytest.mark.parametrize(
    "module, forbidden",
    [
        ("autoclave.compiler", {"parity", "native", "cli", "emulator"}),
        ("autoclave.parity", {"compiler", "cli", "emulator"}),
        ("autoclave.parity.record", {"compiler", "cli", "source", "emulator"}),
        ("autoclave.parity.emulated", {"compiler", "cli"}),
        ("autoclave.parity.emulated.record", {"compiler", "cli", "source"}),
        ("autoclave.emulator.extract", {"compiler", "cli", "source", "parity"}),
        ("autoclave.emulator.translate", {"compiler", "cli", "source", "parity"}),
        ("autoclave.source.check", {"compiler", "parity", "cli", "artifact"}),
    ],
)
def test_stage_does_not_see_stages_it_must_not_depend_on(module, forbidden):
    packages = real_closure(module)
    assert packages, f"{module} is not in the library"
    assert not packages & forbidden


MODULES = (
    "autoclave.emulator.extract",
    "autoclave.emulator.translate",
    "autoclave.parity.emulated",
    "autoclave.parity.emulated.record",
)
"""What runs on an emulator."""


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("hardware, own, other", [("qcom", "a630", "rdna4"), ("chestnut", "rdna4", "a630")])
def test_emulator_of_other_hardware_is_no_input(module, hardware, own, other):
    files = {str(path.relative_to(LIBRARY)): path.read_bytes() for path in LIBRARY.glob("autoclave/**/*.py")}
    paths = closure(module, files, other_emulators(hardware))
    assert f"autoclave/emulator/{own}/architecture.py" in paths
    assert not any(path.startswith(f"autoclave/emulator/{other}/") for path in paths)

"""Which models a change touches: real rules, real git repositories, the real library; expectations are what the actions' inputs are."""

import json

import pytest
from catalogue_repository import PLAIN_ONE, Repository  # pants: no-infer-dep

from autoclave_pants.forecast.predictions import significant
from autoclave_pants.rules.affected import effects_of

PLAINS = {f"models:plain@hardware={hardware}" for hardware in ("cpu", "qcom", "chestnut")}
DRIVINGS = {f"models:driving@hardware={hardware}" for hardware in ("cpu", "qcom", "chestnut")}
ALL = {*PLAINS, *DRIVINGS, "models:hip", "models:monitoring"}
OF_A_RELEASE = ALL - {"models:monitoring"}
ON_CPU = {"models:plain@hardware=cpu", "models:driving@hardware=cpu", "models:monitoring"}


@pytest.fixture(scope="module")
def shared():
    return Repository()


@pytest.fixture(scope="module")
def committed(shared):
    """The forecast of the commit."""
    return shared.forecast()


@pytest.fixture
def repository(shared):
    yield shared
    shared.restore()


def touched(before, now):
    """The models by what is touched of them: their artifacts, or only their checks."""
    effects = effects_of(now, before)
    artifacts = {address for address, effect in effects.items() if effect.artifact}
    return artifacts, set(effects) - artifacts


def test_every_model_and_hardware_can_be_told(committed):
    assert set(committed) == ALL
    assert [each["error"] for each in committed.values() if each["error"]] == []
    assert committed["models:plain@hardware=qcom"]["tests"].keys() == {"models:plain-parity@model=qcom"}


NOTHING = set()
EMULATED_QCOM = {"models:plain@hardware=qcom", "models:driving@hardware=qcom"}
EMULATED_CHESTNUT = {"models:plain@hardware=chestnut", "models:driving@hardware=chestnut", "models:hip"}

EDITS = {
    # what is edited: (path, text, its replacement, models whose artifacts it touches, models whose checks alone it touches)
    "README": ("README.md", "Read", "Do read", NOTHING, NOTHING),
    "file of a model": ("models/plain.onnx", "plain", "other", PLAINS, NOTHING),
    "pinned hash of a model": ("models/BUILD.hip", "1111", "1112", {"models:hip"}, NOTHING),
    "address of a pinned file": ("models/BUILD.hip", "models.invalid", "mirror.invalid", NOTHING, NOTHING),
    "source of one hardware": (
        "models/BUILD.driving",
        "seed=2",
        "seed=3",
        {"models:driving@hardware=chestnut"},
        NOTHING,
    ),
    "source of other hardware": ("models/BUILD.driving", "seed=1", "seed=4", DRIVINGS - EMULATED_CHESTNUT, NOTHING),
    "field of a model": ("models/BUILD.driving", '"v16"', '"v15"', DRIVINGS, NOTHING),
    "camera of a model": ("models/BUILD.driving", "# cameras", 'camera_resolutions=["64x32"],', DRIVINGS, NOTHING),
    "file name of a model": ("models/BUILD.hip", "# name", 'filename="x.pkl",', {"models:hip"}, NOTHING),
    "comment in a BUILD file": ("models/BUILD.plain", "# A model", "# One model", NOTHING, NOTHING),
    "inputs that a model must have": ("models/BUILD.plain", "# inputs", 'inputs=["x"],', NOTHING, PLAINS),
    "tolerance of a test": ("models/BUILD.plain", "tolerance=0.00001", "tolerance=0.00002", NOTHING, PLAINS),
    "hardware of a model": ("models/BUILD.hip", 'renderer="hip"', 'renderer="llvm"', {"models:hip"}, NOTHING),
    "lock of one toolchain": ("toolchains/tinygrad.lock", "1.0", "1.1", OF_A_RELEASE, NOTHING),
    "lock of all compilers": ("toolchains/llvm.lock", "1.0", "1.1", ALL, NOTHING),
    "tinygrad of a commit": ("toolchains/tree/tinygrad/tensor.py", "first", "second", {"models:monitoring"}, NOTHING),
    "what lies beside it": ("toolchains/tree/README.md", "first", "second", NOTHING, NOTHING),
    "lock of the renderer of one hardware": ("toolchains/mesa.lock", "1.0", "1.1", EMULATED_QCOM, NOTHING),
    "lock of one renderer": ("toolchains/comgr.lock", "1.0", "1.1", {"models:hip"}, NOTHING),
    "comment and layout of a lock": ("toolchains/llvm.lock", "# By hand", "\n# Written by hand\n\n", NOTHING, NOTHING),
    "description of a component": ("toolchains/BUILD", 'provides="Mesa"', 'provides="Mesa 3D"', NOTHING, EMULATED_QCOM),
    "fallback of the interpreter": ("toolchains/BUILD", '"3.13", "3.12"', '"3.12", "3.13"', ALL, NOTHING),
    "compiler": ("src/autoclave/compiler/lowering.py", '"""', '"""New. ', ALL, NOTHING),
    "compiler of warps": (
        "src/autoclave/compiler/warp_request.py",
        '"""',
        '"""New. ',
        {*DRIVINGS, "models:monitoring"},
        NOTHING,
    ),
    "emulator of one GPU": (
        "src/autoclave/emulator/a630/decoder.py",
        '"""',
        '"""New. ',
        NOTHING,
        EMULATED_QCOM,
    ),
    "emulator of both GPUs": (
        "src/autoclave/emulator/translate.py",
        '"""',
        '"""New. ',
        NOTHING,
        {*EMULATED_QCOM, *EMULATED_CHESTNUT},
    ),
    "check of sources": (
        "src/autoclave/source/check.py",
        '"""',
        '"""New. ',
        NOTHING,
        {*PLAINS, "models:hip", "models:monitoring"},
    ),
    "conversion to fp32": ("src/autoclave/source/upcast.py", '"""', '"""New. ', ON_CPU, PLAINS - ON_CPU),
    "command line": ("src/autoclave/cli/bar_chart.py", '"""', '"""New. ', NOTHING, NOTHING),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_touches_exactly(repository, committed, edit):
    path, old, new, artifacts, checks = EDITS[edit]
    repository.replace(path, old, new)
    assert touched(committed, repository.forecast()) == (artifacts, checks)


def test_the_sandbox_mode_is_part_of_every_key_and_mirrors_of_none(repository, committed):
    assert touched(committed, repository.forecast("--autoclave-sandbox=none"))[0] == ALL
    assert touched(committed, repository.forecast("--autoclave-mirrors=['/somewhere']")) == (NOTHING, NOTHING)


def test_models_that_come_and_go(repository, committed):
    (repository.root / "models/BUILD.hip").unlink()
    repository.runner.write_files({"models/BUILD.added": PLAIN_ONE.format(name="added")})
    now = repository.forecast()
    assert touched(committed, now) == ({"models:added"}, NOTHING)
    assert "models:hip" not in now


def test_a_model_that_cannot_be_told_counts_as_affected(repository, committed):
    repository.replace("models/BUILD.hip", 'renderer="hip"', 'renderer="ir3"')
    broken = repository.forecast()
    assert touched(committed, broken) == ({"models:hip"}, NOTHING)
    assert touched(broken, broken) == ({"models:hip"}, NOTHING)
    assert "has no renderer 'ir3'" in effects_of(broken, broken)["models:hip"].why


def test_each_effect_says_why(repository, committed):
    repository.replace("models/plain.onnx", "plain", "other")
    repository.replace("toolchains/comgr.lock", "1.0", "1.1")
    repository.replace("models/BUILD.monitoring", "# cameras", 'camera_resolutions=["64x32"],')
    repository.replace("src/autoclave/emulator/a630/decoder.py", '"""', '"""New. ')
    whys = {address: effect.why for address, effect in effects_of(repository.forecast(), committed).items()}
    assert whys == {
        **dict.fromkeys(PLAINS, "other sources"),
        "models:hip": "other toolchain",
        "models:monitoring": "its declaration or the compiler",
        "models:driving@hardware=qcom": "check file or provenance",
    }


def test_what_a_lock_says_does_not_depend_on_its_layout():
    one = "a==1 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\nb==2 --hash=sha256:3\n"
    other = "# A comment\nb==2   --hash=sha256:3  # another\n\na==1 --hash=sha256:2 --hash=sha256:1\n"
    assert significant(one) == significant(other) != significant(one.replace("a==1", "a==2"))


def test_without_a_revision_the_matrix_has_the_whole_catalogue(repository):
    result = repository.affected("--json")
    entries = {each["model"]: each for each in json.loads(result.stdout)["include"]}
    assert entries.keys() == ALL
    assert entries["models:plain@hardware=qcom"] == {
        "model": "models:plain@hardware=qcom",
        "hardware": "qcom",
        "artifact": True,
        "tests": "models:plain-parity@model=qcom",
        "name": "models.plain-qcom",
        "why": "there is nothing to compare with",
    }
    assert entries["models:hip"]["tests"] == ""
    assert len({each["name"] for each in entries.values()}) == len(ALL)
    assert result.stderr == "8 of 8 models affected: 8 by their artifacts, 0 by their checks only\n"


@pytest.mark.parametrize(
    "arguments, lines",
    [
        (["--list=models", "models:plain"], sorted(PLAINS)),
        (["--list=artifacts", "--hardware=qcom", "models::"], sorted(EMULATED_QCOM)),
        (["--list=tests", "--hardware=cpu"], ["models:plain-parity@model=cpu"]),
        (["models:hip"], ["models:hip  artifact  there is nothing to compare with"]),
        (["--hardware=qcom", "models:hip"], []),
    ],
)
def test_addresses_and_hardware_choose(repository, arguments, lines):
    assert repository.affected(*arguments).stdout.splitlines() == lines


def test_unknown_hardware_is_an_error(repository):
    result = repository.affected("--hardware=quantum")
    assert result.exit_code == 1
    assert result.stderr == "--hardware=quantum is none of cpu, qcom, chestnut.\n"

"""One model, compiled by each of the compilers, once a session."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from amd_compilers.varied_model import varied_model
from compiler.compile_action import action_environment, compile_model, request_for
from sandbox.locked_trees import deb_tree, wheel_tree

MODEL = varied_model()


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="autoclave-compilers-"))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def comgr_toolchain(place: Path) -> Path:
    """A directory with the component comgr, as the sandbox has them at /toolchain; skips where it cannot be had."""
    (place / "toolchain").mkdir()
    (place / "toolchain/comgr").symlink_to(deb_tree("comgr", "toolchains/comgr-7.0.2.lock", place))
    return place / "toolchain"


@pytest.fixture(scope="session")
def clang(place: Path) -> Path:
    """The executable of ziglang 0.15.2, which has clang 20.1.2 with all of LLVM's targets."""
    return wheel_tree("ziglang", "3rdparty/ziglang.lock", place, "ziglang/lib/*") / "ziglang/zig"


@pytest.fixture(scope="session")
def compiled(place: Path, request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """Gives the model's artifact by a compiler: `llvm`, `told` and `clang` (see `variant`), or `hip`, which is comgr."""
    done: dict[str, Path] = {}

    def by_hip(directory: Path) -> Path:
        toolchain = request.getfixturevalue("comgr_toolchain")
        result = compile_model(directory, MODEL, "chestnut", {"AUTOCLAVE_TOOLCHAIN": str(toolchain)}, renderer="hip")
        assert result.code == 0, result.log
        return result.artifact

    def by_llvm(directory: Path, variant: str) -> Path:
        (directory / "model.onnx").write_bytes(MODEL)
        (directory / "request.json").write_text(json.dumps(request_for(MODEL, "chestnut")))
        path = str(request.getfixturevalue("clang")) if variant == "clang" else ""
        environment = action_environment()
        environment["PYTHONPATH"] += os.pathsep + str(Path(__file__).parents[1])
        command = [sys.executable, "-m", "amd_compilers.variant", variant, path, "request.json"]
        result = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return directory / "out/artifact.pkl"

    def get(variant: str) -> Path:
        if variant not in done:
            directory = place / variant
            directory.mkdir()
            done[variant] = by_hip(directory) if variant == "hip" else by_llvm(directory, variant)
        return done[variant]

    return get

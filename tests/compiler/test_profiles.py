"""The table of hardware profiles, and what it makes of the environment."""

from pathlib import Path

import pytest

from autoclave.artifact.model import Target
from autoclave.compiler.environment import library_pins, mesa_library, prepare_environment, profile_flags
from autoclave.compiler.profiles import PROFILES, default_renderer, profile_for
from autoclave.compiler.renderers.hip import comgr_library
from autoclave.errors import CompileError, ToolchainError


@pytest.mark.parametrize(
    ("hardware", "renderer", "target"),
    [
        ("cpu", "llvm", Target("CPU", "LLVM", "x86_64,x86-64-v3")),
        ("qcom", "ir3", Target("QCOM", "IR3", "a630,IMAGE_PITCH_ALIGNMENT=64")),
        ("chestnut", "llvm", Target("AMD", "LLVM", "gfx1200")),
    ],
)
def test_hardware_has_a_default_renderer_and_a_target(hardware: str, renderer: str, target: Target) -> None:
    assert default_renderer(hardware) == renderer
    assert profile_for(hardware).target == target
    assert profile_for(hardware, renderer) is profile_for(hardware)


def test_chestnut_has_a_second_renderer() -> None:
    profile = profile_for("chestnut", "hip")

    assert profile.target == Target("AMD", "HIP", "gfx1200")
    assert profile_flags(profile).items() - {("DEV", profile.device)} == profile_flags(
        profile_for("chestnut")
    ).items() - {("DEV", profile_for("chestnut").device)}


def test_no_profile_depends_on_the_machine() -> None:
    for profile in PROFILES:
        flags = profile_flags(profile)
        assert "native" not in profile.device
        assert flags["CACHELEVEL"] == "0"
        assert flags["PARALLEL"] == "0"
        assert flags["NUM_CPU_THREADS"] == "1"


def test_unknown_hardware_names_the_known() -> None:
    with pytest.raises(CompileError, match="'tici' is unknown; known are 'cpu', 'qcom', 'chestnut'"):
        profile_for("tici")


@pytest.mark.parametrize(
    ("hardware", "renderer", "message"),
    [
        ("chestnut", "cl", "it has no such renderer; use 'llvm', 'hip'"),
        ("qcom", "cl", "Qualcomm's own compiler is not built in yet; use 'ir3'"),
        ("cpu", "ir3", "it has no such renderer; use 'llvm'"),
    ],
)
def test_a_renderer_that_the_hardware_lacks_is_refused(hardware: str, renderer: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        profile_for(hardware, renderer)


def test_the_environment_holds_the_profile_and_nothing_of_the_user() -> None:
    environ = {
        "BEAM": "4",
        "CPU": "1",
        "DEBUG": "7",
        "PATH": "/bin",
        "PYTHONHASHSEED": "3",
        "XDG_CACHE_HOME": "/home/me",
    }

    prepare_environment(profile_for("chestnut"), ("TC_MIN_GLOBALS",), environ)

    assert {"BEAM", "CPU", "DEBUG", "XDG_CACHE_HOME"}.isdisjoint(environ)
    assert environ["PATH"] == "/bin"
    assert environ["PYTHONHASHSEED"] == "3"
    assert environ["DEV"] == "NULL:AMDLLVM20:gfx1200"
    assert environ["TC_OPT"] == "2"
    assert "TC_MIN_GLOBALS" not in environ


def comgr_in(toolchain: Path) -> Path:
    """Put a stand-in for the comgr component into a toolchain; the library's path."""
    folder = toolchain / "comgr/usr/lib/x86_64-linux-gnu"
    folder.mkdir(parents=True)
    for name in ("ld-linux-x86-64.so.2", "libamd_comgr.so.3"):
        (folder / name).write_bytes(b"")
    return folder / "libamd_comgr.so.3"


def test_every_library_is_pinned_to_an_existing_file(tmp_path: Path) -> None:
    comgr_in(tmp_path)
    for profile in PROFILES:
        pins = library_pins(profile, {"AUTOCLAVE_TOOLCHAIN": str(tmp_path)} if profile.renderer == "hip" else {})
        paths = {name: Path(value) for name, value in pins.items() if name.endswith("_PATH")}
        assert all(path.is_file() for path in paths.values())
        assert {"LLVM_PATH", "LIBC_PATH", "COMGR_PATH", "COMGR_3_PATH", "MESA_PATH"} <= set(paths)


def test_comgr_comes_from_the_toolchain_alone(tmp_path: Path) -> None:
    library = comgr_in(tmp_path)
    environ = {
        "AUTOCLAVE_TOOLCHAIN": str(tmp_path),
        "ROCM_PATH": "/opt/rocm",
        "COMGR_PATH": "/opt/rocm/lib/libamd_comgr.so",
    }

    prepare_environment(profile_for("chestnut", "hip"), (), environ)

    assert environ["COMGR_PATH"] == environ["COMGR_3_PATH"] == str(library)
    assert environ["AMD_COMGR_CACHE"] == "0"
    assert "ROCM_PATH" not in environ


def test_other_renderers_do_not_find_comgr(tmp_path: Path) -> None:
    library = comgr_in(tmp_path)

    assert str(library) not in library_pins(profile_for("chestnut"), {"AUTOCLAVE_TOOLCHAIN": str(tmp_path)}).values()


def test_a_toolchain_without_comgr_is_refused(tmp_path: Path) -> None:
    message = "there is no libamd_comgr.so.3 in .*; name a `deb_lock` of libamd-comgr3 in the toolchain's field `hip`"
    with pytest.raises(ToolchainError, match=message):
        comgr_library({"AUTOCLAVE_TOOLCHAIN": str(tmp_path)})


def test_mesa_comes_from_the_toolchain_alone(tmp_path: Path) -> None:
    library = tmp_path / "mesa" / "tinymesa" / "libtinymesa.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"")

    assert mesa_library({"AUTOCLAVE_TOOLCHAIN": str(tmp_path)}) == library


def test_a_toolchain_without_mesa_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="expected one, found 0; check the toolchain's mesa component"):
        mesa_library({"AUTOCLAVE_TOOLCHAIN": str(tmp_path)})

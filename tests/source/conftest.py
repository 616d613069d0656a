"""Models that several tests of sources share."""

from pathlib import Path

import pytest

from autoclave.source.synthetic import generate


@pytest.fixture(scope="session")
def small_supercombo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The synthetic supercombo at scale S, seed 1."""
    path = tmp_path_factory.mktemp("supercombo") / "model.onnx"
    generate("supercombo", "S", 1, path)
    return path

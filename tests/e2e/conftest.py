"""A copy of the checkout for each end-to-end test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# Lets tests import from the other folders of tests/ as they do under Pants, whose source root it is.
sys.path.insert(0, str(Path(__file__).parent.parent))

from e2e.workspaces import Workspace, copy_checkout, without_models


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A store that the tests of a module share, so that toolchains are fetched once. Its checkout does not exist."""
    folder = tmp_path_factory.mktemp("warm")
    return Workspace(folder / "checkout", folder / "store")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A fresh copy of the checkout."""
    return copy_checkout(tmp_path / "checkout", tmp_path / "store")


@pytest.fixture
def catalogue(workspace: Workspace, warm: Workspace) -> Workspace:
    """A checkout without models; toolchains come from a store that all tests of this module share."""
    return Workspace(without_models(workspace).root, warm.store)

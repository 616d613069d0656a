"""A cache that CI has filled, and checkouts that have its toolchains and none of its models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from compiler.driving_onnx import supercombo
from e2e.catalogue_models import HARDWARE, declare, tiny_model
from remote.cached_builds import Build, build, copy_folder
from remote.checkouts import Checkout, new_checkout

from autoclave.servers.casd import start_casd
from autoclave.servers.running import RunningServer

ROAD = """
onnx_file(name="road-onnx", source="road.onnx")
driving_model(
    name="road", sources=[":road-onnx"], behavior_version="v16", camera_resolutions=["128x96", "64x48"], hardware="cpu"
)
"""


@dataclass(frozen=True)
class Filled:
    """A build of CI's that began with nothing, the checkout it ran in, and the cache that has all of its results."""

    checkout: Checkout
    server: RunningServer
    built: Build


@dataclass(frozen=True)
class Kept:
    """A cache's folder with the results of one build of the model `one` for cpu, and no server. `built` is that build."""

    data: Path
    built: Build


@pytest.fixture(scope="session")
def ci(casd_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """CI built models for all hardware with an empty store and an empty cache; the server runs on."""
    place = tmp_path_factory.mktemp("ci")
    server = start_casd(place / "casd", folder=casd_programs)
    checkout = new_checkout(place / "checkout", place / "store")
    declare_shared(checkout)
    yield Filled(checkout, server, build(checkout, *checkout.options(server), whole=True))
    server.stop()


def declare_shared(checkout: Checkout) -> None:
    """The models of `ci`: a small one for all hardware, and a driving model."""
    declare(checkout, "small", tiny_model(seed=31), HARDWARE)
    (checkout.root / "models/road.onnx").write_bytes(supercombo())
    (checkout.root / "models/BUILD.road").write_text(ROAD)


@pytest.fixture(scope="session")
def kept(ci: Filled, casd_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    place = tmp_path_factory.mktemp("kept")
    server = start_casd(place / "casd", folder=casd_programs)
    checkout = new_checkout(place / "checkout", copy_folder(ci.checkout.store, place / "store"))
    declare(checkout, "one", tiny_model(seed=32), ("cpu",))
    built = build(checkout, *checkout.options(server))
    server.stop()
    return Kept(server.data, built)


@pytest.fixture
def developer(ci: Filled, tmp_path: Path) -> Callable[[str], Checkout]:
    """Makes checkouts that have the toolchains and declare the model `one`, which their stores do not know."""

    def make(name: str = "developer") -> Checkout:
        checkout = new_checkout(tmp_path / name, copy_folder(ci.checkout.store, tmp_path / f"{name}-store"))
        declare(checkout, "one", tiny_model(seed=32), ("cpu",))
        return checkout

    return make

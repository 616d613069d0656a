"""The servers that the other tests here use: each starts, serves, and comes back with what it kept."""

from __future__ import annotations

from autoclave.servers.buildgrid import BuildGrid
from autoclave.servers.farm import Farm
from autoclave.servers.running import RunningServer, answers


def test_a(casd: RunningServer, execution: RunningServer, buildgrid: BuildGrid, farm: Farm) -> None:
    assert answers(casd.port)
    casd.freeze()
    assert not answers(casd.port)
    casd.thaw()
    assert answers(casd.port)
    assert answers(buildgrid.server.port, buildgrid.ca)
    assert answers(farm.server.port)
    assert all(worker.running() for worker in farm.workers)

"""Real builds beside simulated ones, and the command that draws it all."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from simulation.measured_samples import written

from autoclave.errors import AutoclaveError
from autoclave.simulation.__main__ import main
from autoclave.simulation.measurements import read_measurements
from autoclave.simulation.validation import read_servers, simulated

SERVERS = {
    "how": "by hand",
    "machine": "none",
    "models": 6,
    "start": 5,
    "lookup": 0,
    "dispatch": 0.5,
    "per_file": 0,
    "builds": [
        {"name": "here", "workers": 2, "remote": False, "seconds": 60},
        {"name": "executed", "workers": 1, "remote": True, "seconds": 120},
    ],
}


def test_a_build_is_simulated_on_as_many_workers(tmp_path: Path) -> None:
    (tmp_path / "servers.json").write_text(json.dumps(SERVERS))
    measured, servers = read_measurements(written(tmp_path)), read_servers(tmp_path / "servers.json")

    # Synthesize 1, check 1, upcast 2, compile 10, record 3: 17 s a model; three models for each of two workers; 5 s to start.
    here, executed = (simulated(build, measured, servers) for build in servers.builds)
    assert here == pytest.approx(5 + 3 * 17, abs=2)
    # On a server, each of 30 actions takes half a second more.
    assert executed == pytest.approx(5 + 6 * 17 + 30 * 0.5, abs=0.01)


def test_the_command_draws_and_tells_the_same_each_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path)
    (tmp_path / "servers.json").write_text(json.dumps(SERVERS))
    command = [str(tmp_path), "--models", "10", "--scale", "S"]

    first, second = (main([command[0], str(tmp_path / name), *command[1:]]) for name in ("one", "two"))

    assert (first, second) == (0, 0)
    graphs = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    assert sorted(graphs) == ["scale-bump.svg", "scale-new.svg", "scale-validation.svg", "scale-workers.svg"]
    assert graphs == {path.name: path.read_bytes() for path in (tmp_path / "two").iterdir()}
    for content in graphs.values():
        ElementTree.fromstring(content)
    assert "| executed | 120.0 s | 122.0 s | +1.7% |" in capsys.readouterr().out


def test_a_folder_without_measurements_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path)
    (tmp_path / "servers.json").write_text("{}")

    assert main([str(tmp_path), str(tmp_path / "out")]) == 1
    assert "holds no measurements of benchmarks/remote_cache.py" in capsys.readouterr().err
    with pytest.raises(AutoclaveError, match="cannot be read"):
        read_servers(tmp_path / "none.json")

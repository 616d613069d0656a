"""Writing is atomic and refuses what a reader would refuse: the old file or the new one, never anything in between."""

import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from artifact.sample_artifacts import sample_header, write_sample

from autoclave.artifact.model import Span
from autoclave.artifact.reader import open_artifact
from autoclave.artifact.writer import ArtifactWriter
from autoclave.errors import ArtifactError

OLD = b"the old artifact"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that is there already, in a folder of its own."""
    (tmp_path / "artifact.pkl").write_bytes(OLD)
    return tmp_path / "artifact.pkl"


def only_old_file_is_left(path: Path) -> bool:
    return path.read_bytes() == OLD and os.listdir(path.parent) == [path.name]


def test_new_file_replaces_the_old_one_only_at_the_end(path: Path) -> None:
    with ArtifactWriter(path) as writer:
        spans = [writer.add_weight(data) for data in (b"w" * 1024, b"v" * 32, b"u" * 8)]
        libs = [writer.add_blob(b"code"), writer.add_blob(b"more")]
        assert path.read_bytes() == OLD
        writer.finish(sample_header(spans, libs))
        assert os.listdir(path.parent) == [path.name]
    with open_artifact(path) as artifact:
        assert artifact.header == sample_header(spans, libs)


def test_error_in_the_block_leaves_the_old_file_and_nothing_else(path: Path) -> None:
    with pytest.raises(RuntimeError, match="compiler failed"), ArtifactWriter(path) as writer:
        writer.add_weight(b"weight")
        raise RuntimeError("compiler failed")
    assert only_old_file_is_left(path)


def test_block_without_finish_leaves_the_old_file_and_nothing_else(path: Path) -> None:
    with ArtifactWriter(path) as writer:
        writer.add_weight(b"weight")
    assert only_old_file_is_left(path)


def test_header_that_a_reader_would_refuse_is_not_written(path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"writing .*artifact\.pkl: header: kernels.0..lib: ends at byte"):
        with ArtifactWriter(path) as writer:
            spans = [writer.add_weight(data) for data in (b"w" * 1024, b"v" * 32, b"u" * 8)]
            writer.finish(sample_header(spans, [Span(4096, 1 << 20), Span(4096, 1 << 20)]))
    assert only_old_file_is_left(path)


@pytest.mark.parametrize(
    "metadata",
    [{"x": float("nan")}, {"x": "\ud800"}, {"x": b"bytes"}, {"x": 1 << 60}, {b"x": 2}],
    ids=["nan", "surrogate", "bytes", "big integer", "key that is no string"],
)
def test_metadata_that_is_not_json_is_not_written(path: Path, metadata: dict[str, Any]) -> None:
    with pytest.raises(ArtifactError, match="header"), ArtifactWriter(path) as writer:
        spans = [writer.add_weight(data) for data in (b"w" * 1024, b"v" * 32, b"u" * 8)]
        header = sample_header(spans, [writer.add_blob(b"code"), writer.add_blob(b"more")])
        writer.finish(replace(header, metadata=metadata))
    assert only_old_file_is_left(path)


def test_full_disk_is_an_artifact_error_and_leaves_the_old_file(path: Path) -> None:
    script = """
import resource, signal, sys
from autoclave.artifact.writer import ArtifactWriter
from autoclave.errors import ArtifactError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    with ArtifactWriter(sys.argv[1]) as writer:
        writer.add_weight(bytes(1_000_000))
except ArtifactError as error:
    print(error)
"""
    done = run_python(script, path)
    assert done.stdout == f"writing {path}: File too large\n"
    assert only_old_file_is_left(path)


def test_kill_in_the_middle_of_writing_leaves_the_old_file(path: Path) -> None:
    script = """
import os, signal, sys
from autoclave.artifact.writer import ArtifactWriter
with ArtifactWriter(sys.argv[1]) as writer:
    writer.add_weight(bytes(1_000_000))
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert run_python(script, path).returncode == -signal.SIGKILL
    assert path.read_bytes() == OLD


def test_kill_at_each_system_call_of_finish_leaves_the_old_file_or_the_new_one(path: Path) -> None:
    script = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from artifact.sample_artifacts import write_sample
def deadly(call):
    def counted(*arguments, **options):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **options)
    return counted
left = int(sys.argv[2])
for name in ("pwrite", "fsync", "replace", "close"):
    setattr(os, name, deadly(getattr(os, name)))
write_sample(Path(sys.argv[1]))
"""
    new = path.with_name("new.pkl")
    write_sample(new)
    outcomes = []
    for calls in range(100):
        path.write_bytes(OLD)
        done = run_python(script, path, calls, Path(__file__).parent.parent)
        assert path.read_bytes() in (OLD, new.read_bytes())
        outcomes.append(path.read_bytes() == OLD)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert outcomes == sorted(outcomes, reverse=True)
    assert set(outcomes) == {True, False}


def run_python(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_concurrent_writers_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "artifact.pkl"
    with ArtifactWriter(path) as first, ArtifactWriter(path) as second:
        for writer in (first, second):
            spans = [writer.add_weight(data) for data in (b"w" * 1024, b"v" * 32, b"u" * 8)]
            writer.finish(sample_header(spans, [writer.add_blob(b"code"), writer.add_blob(b"more")]))
    assert os.listdir(tmp_path) == ["artifact.pkl"]


def test_file_mode_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_sample(tmp_path / "artifact.pkl")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "artifact.pkl").stat().st_mode) == 0o640


def test_weight_after_a_blob_is_refused(path: Path) -> None:
    with ArtifactWriter(path) as writer:
        writer.add_blob(b"code")
        with pytest.raises(ValueError, match="weights must be added before blobs"):
            writer.add_weight(b"weight")


def test_empty_section_is_refused(path: Path) -> None:
    with ArtifactWriter(path) as writer, pytest.raises(ValueError, match="may not be empty"):
        writer.add_weight(np.zeros((0, 4), np.float32))


@pytest.mark.parametrize("place", ["missing/artifact.pkl", "folder"])
def test_place_that_cannot_be_written_is_an_artifact_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ArtifactError, match="is a directory|writing .*: No such file or directory"):
        ArtifactWriter(tmp_path / place).__enter__()


def test_writing_takes_no_memory_of_a_weight_s_size(tmp_path: Path) -> None:
    script = """
import mmap, resource, sys
from autoclave.artifact.model import Buffer, Header, Part, Target
from autoclave.artifact.writer import ArtifactWriter
size = 64 << 20
weight = mmap.mmap(-1, size)
for at in range(0, size, 4096):
    weight[at] = at // 4096 % 251
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with ArtifactWriter(sys.argv[1]) as writer:
    span = writer.add_weight(weight)
    part = Part("run", Target("CPU", "LLVM", "x86_64"), (), (), (Buffer("constant", size, span),), (), ())
    writer.finish(Header({}, (), (part,)))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = run_python(script, tmp_path / "large.pkl")
    assert int(done.stdout) * 1024 < 8 << 20, done.stderr

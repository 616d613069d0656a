"""Opening hostile files, each in a process of its own, with the memory it takes measured.

A lean server process has the reader imported; it forks per file, so that a crash, a hang or memory belongs to one file.
"""

import json
import os
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

ALLOWANCE = 16 << 20
"""Bytes of memory that opening a file may take besides twice the file's size."""

_TIME_LIMIT = 30
"""Seconds until a file counts as hanging the reader, on a slow machine too."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a file: "opened", "refused" (ArtifactError) or a defect; memory in bytes over the baseline."""

    result: str
    memory: int
    detail: str

    @property
    def is_defect(self) -> bool:
        return self.result not in ("opened", "refused")


class HostileTrial:
    """The server, as a context manager. `warm` is a valid artifact that each process opens first, for its baseline."""

    def __init__(self, warm: Path) -> None:
        self._warm = warm

    def __enter__(self) -> "HostileTrial":
        self._server = subprocess.Popen(
            [sys.executable, __file__, str(self._warm)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # an interrupt is for whoever asked
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.communicate()

    def open(self, file: Path) -> Outcome:
        """Open `file` as every command does: header, summary, each section mapped and read."""
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(f"{file}\n")
        self._server.stdin.flush()
        return Outcome(**json.loads(self._server.stdout.readline()))


def _serve(warm: str) -> None:
    for line in sys.stdin:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _try(warm, line.rstrip("\n"), writing)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            report = pipe.read()
        _, status, usage = os.wait4(child, 0)
        baseline, result, detail = json.loads(report) if report else (0, "nothing reported", "")
        if os.WIFSIGNALED(status):
            result = f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
        memory = max(0, usage.ru_maxrss * 1024 - baseline)
        print(json.dumps({"result": result, "memory": memory, "detail": detail}), flush=True)


def _try(warm: str, file: str, report: int) -> None:
    """In the child: open the valid artifact, note the memory in use, then open `file`; never returns."""
    signal.alarm(_TIME_LIMIT)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _open(warm)
    baseline = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    result, detail = _open(file)
    os.write(report, json.dumps((baseline, result, detail)).encode())
    os._exit(0)


def _open(file: str) -> tuple[str, str]:
    from autoclave.artifact.reader import open_artifact
    from autoclave.artifact.summary import summarize
    from autoclave.artifact.validate import sections
    from autoclave.errors import ArtifactError

    try:
        with open_artifact(file) as artifact:
            summarize(artifact.header)
            for _, span in sections(artifact.header):
                sum(artifact.read(span)[::4096])
    except ArtifactError as error:
        return "refused", str(error)[:200]
    except BaseException as error:
        return f"{type(error).__name__}", str(error)[:200]
    return "opened", ""


if __name__ == "__main__":
    import autoclave.artifact.reader
    import autoclave.artifact.summary  # noqa: F401

    _serve(sys.argv[1])

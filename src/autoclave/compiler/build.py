"""What every compile action does, whatever it compiles: settle the environment, capture, write the artifact, report."""

import gc
import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from autoclave.compiler.captured import Capture
from autoclave.compiler.environment import prepare_environment
from autoclave.compiler.profiles import HardwareProfile, profile_for
from autoclave.compiler.renderers.hip import start_under_loader
from autoclave.errors import AutoclaveError

Progress = Callable[[str], None]


class Settings(Protocol):
    """What a request says whatever it asks for: the hardware, the toolchain, and where the artifact goes."""

    @property
    def hardware(self) -> str: ...
    @property
    def renderer(self) -> str | None: ...
    @property
    def tinygrad(self) -> str: ...
    @property
    def absent_flags(self) -> tuple[str, ...]: ...
    @property
    def output(self) -> Path: ...


class FlagChecker(Protocol):
    """What all adapters offer."""

    def check_flags(self, profile: HardwareProfile, absent_flags: tuple[str, ...]) -> None:
        """Raise `ToolchainError` for a flag that this tinygrad does not know and nobody declared absent."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to compile besides the settings. `metadata` says what the artifact's header holds, `key` names its part."""

    key: str | tuple[int, int]
    metadata: Callable[[Capture], Mapping[str, Any]]


def build[A: FlagChecker](
    settings: Settings,
    plan: Plan,
    load_adapter: Callable[[str], A],
    capture: Callable[[A, HardwareProfile, Progress], Capture],
) -> dict[str, Any]:
    """Compile one part into an artifact of its own, once per process: tinygrad's settings are fixed when it is imported.

    Returns the report: sha256, size and figures.
    """
    from autoclave.artifact.writer import ArtifactWriter
    from autoclave.compiler.lowering import lower

    started = time.monotonic()
    profile = profile_for(settings.hardware, settings.renderer)
    prepare_environment(profile, settings.absent_flags)
    # tinygrad's graphs have no cycles: collecting them finds nothing and takes a quarter of the time.
    gc.disable()
    adapter = load_adapter(settings.tinygrad)
    adapter.check_flags(profile, settings.absent_flags)
    imported = time.monotonic()
    captured_model = capture(adapter, profile, report_progress)
    captured = time.monotonic()
    settings.output.parent.mkdir(parents=True, exist_ok=True)
    with ArtifactWriter(settings.output) as writer:
        lowered = lower(captured_model, profile, plan.metadata(captured_model), writer, plan.key)
        sha256 = writer.finish(lowered.header)
    part = lowered.header.parts[0]
    return {
        "sha256": sha256,
        "size": settings.output.stat().st_size,
        "launches": len(part.calls),
        "init_launches": len(part.init),
        "kernels": len(lowered.header.kernels),
        "arena": lowered.arena,
        "live_peak": lowered.live_peak,
        "weights": lowered.weights,
        "seconds": {
            "import": round(imported - started, 3),
            "capture": round(captured - imported, 3),
            "write": round(time.monotonic() - captured, 3),
        },
        "peak_rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def state_pairs(capture: Capture) -> list[list[str]]:
    """Which inputs are state: an input X whose next value is the output next_X. The runner feeds the one to the other."""
    outputs = {tensor.name for tensor in capture.outputs}
    return [[tensor.name, f"next_{tensor.name}"] for tensor in capture.inputs if f"next_{tensor.name}" in outputs]


def report_progress(message: str) -> None:
    """One line of progress on standard error."""
    print(message, file=sys.stderr, flush=True)


def run_action[R: Settings](
    module: str, arguments: list[str], load: Callable[[Path], R], act: Callable[[R], dict[str, Any]]
) -> int:
    """Run the compile action `python -m module request.json`; returns its exit code, 2 after one line for an error."""
    if len(arguments) != 1:
        print(f"usage: python -m {module} REQUEST.json", file=sys.stderr)
        return 2
    try:
        request = load(Path(arguments[0]))
        if profile_for(request.hardware, request.renderer).renderer == "hip":
            start_under_loader()
        report = act(request)
    except AutoclaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report, sort_keys=True))
    return 0

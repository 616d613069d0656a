"""The two implementations of the a630 behind one signature: run a launch, whose memory then holds what it wrote."""

from collections.abc import Callable
from dataclasses import replace

from emulator.a630_programs import interpret

from autoclave.emulator.jit import BASELINE, best_target
from autoclave.emulator.launch import Launch
from autoclave.emulator.program import launch_shape, load_programs, translate


def translated_for_sse2(launch: Launch) -> None:
    """Translate for any x86-64, and run."""
    _translated(launch, BASELINE)


def translated_for_this_host(launch: Launch) -> None:
    """Translate for the best that this machine has, and run."""
    _translated(launch, best_target())


def _translated(launch: Launch, target) -> None:
    kernel = replace(
        launch.kernel,
        buffer_slots=tuple(range(len(launch.buffers))),
        image_slots=tuple(range(len(launch.images))),
        texture_slots=tuple(range(len(launch.textures))),
    )
    launch = replace(launch, kernel=kernel)
    (program,) = load_programs([translate(launch_shape(launch), target)])
    program.run(launch)


ENGINES: dict[str, Callable[[Launch], object]] = {
    "interpreter": interpret,
    "translator-sse2": translated_for_sse2,
    "translator-host": translated_for_this_host,
}

"""Code that nobody compiled: the interpreter gives a typed error or a result, and never writes to the launch's memory."""

import numpy as np
from emulator.a630_programs import launch_of
from hypothesis import given, settings
from hypothesis import strategies as st

from autoclave.emulator.a630.encoding.table import FORMS
from autoclave.emulator.a630.interpreter import interpret_workgroup
from autoclave.emulator.overlay import Overlay
from autoclave.errors import ArtifactError, EmulationError

END_WORD = 0x0300 << 48


@st.composite
def plausible_words(draw: st.DrawFn) -> int:
    """The fixed bits of some instruction, and any others."""
    layout = FORMS[draw(st.integers(0, len(FORMS) - 1))].layout  # sampled_from would hash all forms each time
    free = draw(st.integers(0, (1 << 64) - 1)) & ~layout.mask & ~layout.zero
    if draw(st.booleans()):  # fewer bits, so that small registers and targets are likely
        free &= draw(st.integers(0, (1 << 64) - 1)) & draw(st.integers(0, (1 << 64) - 1))
    return layout.match | free & (1 << 64) - 1


programs = st.lists(plausible_words() | st.integers(0, (1 << 64) - 1), max_size=12)


@settings(max_examples=1500, deadline=None)
@given(words=programs, shared=st.sampled_from([0, 16]), merged=st.booleans(), demotion=st.booleans())
def test_any_code_ends_in_a_result_or_a_typed_error(
    words: list[int], shared: int, merged: bool, demotion: bool
) -> None:
    buffer, image = np.arange(16, dtype=np.uint32), np.arange(24, dtype=np.float16).reshape(2, 3, 4)
    before = buffer.tobytes(), image.tobytes()
    launch = launch_of(
        b"".join(word.to_bytes(8, "little") for word in [*words, END_WORD]),
        buffers=[buffer],
        images=[image],
        textures=[image],
        local_size=(2, 1, 1),
        shared_bytes=shared,
        private_bytes=8,
        merged_registers=merged,
        constant_demotion=demotion,
    )
    overlay = Overlay()
    try:
        interpret_workgroup(launch, (0, 0, 0), None, overlay, budget=2000)
    except (EmulationError, ArtifactError) as error:
        assert "kernel 'tested'" in str(error)
    list(overlay.written())
    assert (buffer.tobytes(), image.tobytes()) == before


@settings(max_examples=1500, deadline=None)
@given(word=plausible_words())
def test_every_single_instruction_runs_or_is_refused(word: int) -> None:
    image = np.ones((2, 3, 4), np.float32)
    launch = launch_of(
        word.to_bytes(8, "little") + END_WORD.to_bytes(8, "little"),
        buffers=[np.zeros(64, np.uint32)],
        images=[image],
        textures=[image],
        private_bytes=64,
        shared_bytes=64,
    )
    try:
        interpret_workgroup(launch, (0, 0, 0), None, Overlay(), budget=100)
    except EmulationError as error:
        assert "kernel 'tested'" in str(error)

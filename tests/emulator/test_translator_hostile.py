"""Code that nobody compiled: translated, it gives a typed error or a result, and writes to nothing but its launch's memory."""

import numpy as np
from emulator.a630_programs import atomic, code_of, ins, isam, launch_of, load, mov, stib, store
from emulator.test_interpreter_hostile import END_WORD, plausible_words
from emulator.translated_programs import LEVELS, run
from hypothesis import given, settings
from hypothesis import strategies as st

from autoclave.emulator.jit import HostTarget
from autoclave.errors import ArtifactError, EmulationError

TARGETS = [HostTarget(level, "", lanes, quick) for level in LEVELS[:2] for lanes in (4, 8) for quick in (True, False)]
PADDING = 6
"""Instructions behind a program, so that its branches lead to somewhere."""

GUARD = 1024
"""Bytes before and behind a buffer that nobody may write to."""

START = [ins("shl.b", "r1.x", "r0.x", 2), mov("r1.y", "c0.y"), ins("cmps.u", "p0.x", "r0.x", 3, condition="lt")]

ACCESSES = [
    *(load("ldg", "hr2.x", "r1.x", kind, count) for kind in ("u8", "u16") for count in (1, 3, 4)),
    *(load("ldg", "r2.x", "r1.x", count=count) for count in (1, 3, 4)),
    *(store("stg", "r1.x", "hr0.x", "u8", count) for count in (1, 2, 3, 4)),
    *(store("stg", "r1.x", "r0.x", count=count) for count in (1, 2, 3, 4)),
    load("ldl", "r3.x", "r0.x"),
    store("stl", "r0.x", "r1.x", count=2),
    load("ldp", "r0.x", "r1.x", count=2),
    store("stp", "r0.x", "r1.x"),
    atomic("atomic.g.add", "r2.x", "r1.x", "r0.x"),
    atomic("atomic.add", "r2.x", "r0.x", "r1.x"),
    isam("r4.x", "r0.x"),
    stib("r4.x", "r0.x"),
    mov("r5.x", "r<3>"),
    mov("hr<5>", "hr1.x", "u16"),
]


near = st.integers(-len(START), PADDING)
branches = (
    near.map(lambda target: ins("br", (), "p0.x", target=target))
    | near.map(lambda target: ins("jump", (), target=target))
    | st.sampled_from([ins("bar", modifiers=("g",)), ins("kill", (), "p0.x")])
).map(lambda one: code_of([one]))
regions = st.sampled_from([code_of([ins(name)]) for name in ("predt", "predf", "prede")])
accesses = st.sampled_from([code_of([one]) for one in ACCESSES])
words = plausible_words().map(lambda word: word.to_bytes(8, "little"))

tame = st.lists(accesses | branches, max_size=10).map(b"".join)
"""Most of these run: what they do is at fault, not what they are."""
wild = st.lists(accesses | branches | regions | words, max_size=10).map(b"".join)


@settings(max_examples=400, deadline=None)
@given(
    body=tame | wild,
    size=st.sampled_from([0, 77, 80, 93]),
    lead=st.integers(0, 3),
    threads=st.sampled_from([1, 19, 20]),
    merged=st.booleans(),
    target=st.sampled_from(TARGETS),
)
def test_any_code_ends_in_a_result_or_a_typed_error(
    body: bytes, size: int, lead: int, threads: int, merged: bool, target: HostTarget
) -> None:
    memory = np.full(2 * GUARD + size + lead, 0xA5, np.uint8)
    start, end = GUARD + lead, GUARD + lead + size
    launch = launch_of(
        code_of(START) + body + code_of([ins("nop")] * PADDING) + END_WORD.to_bytes(8, "little"),
        buffers=[memory[start:end]],
        images=[np.ones((2, 3, 4), np.float16)],
        textures=[np.ones((2, 3, 4), np.float32)],
        local_size=(threads, 1, 1),
        global_size=(2, 1, 1),
        shared_bytes=16,
        private_bytes=8,
        merged_registers=merged,
    )
    try:
        run(launch, target, threads=2, budget=20_000)
    except (EmulationError, ArtifactError) as error:
        assert "kernel 'tested'" in str(error)
    assert set(memory[:start].tolist() + memory[end:].tolist()) == {0xA5}

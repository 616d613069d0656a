"""Code that nobody compiled: translated, it gives a typed error or a result, and writes to nothing but its launch's memory."""

import random

import numpy as np
import pytest
from emulator.rdna4.encoding_samples import random_code
from emulator.rdna4.test_interpreter_wave_hostile import PROGRAM
from emulator.rdna4.translated_waves import LEVELS, run
from emulator.rdna4.wave_programs import ADDRESSES, code_of, ins, launch_of

from autoclave.emulator.jit import HostTarget
from autoclave.emulator.rdna4.decoder import decode
from autoclave.emulator.rdna4.encoding.table import FORMS
from autoclave.errors import ArtifactError, EmulationError, UnknownInstruction

TARGETS = [HostTarget(level, "", 8, quick) for level in (LEVELS[0], LEVELS[-1]) for quick in (True, False)]
GUARD = 1024
"""Bytes before and behind a buffer that nobody may write to."""

START = [*ADDRESSES, ins("v_lshlrev_b32", "v1", 2, "v0"), ins("v_mov_b32", "v2", 0)]
END = code_of([ins("s_endpgm")])

ACCESSES = [
    *(
        ins(f"global_load_{kind}", to, "v1", "s[100:101]")
        for kind, to in (("u8", "v3"), ("b32", "v1"), ("b128", "v[4:7]"))
    ),
    *(ins(f"global_store_{kind}", (), "v1", of, "s[100:101]") for kind, of in (("b8", "v0"), ("b64", "v[0:1]"))),
    ins("global_store_b32", (), "v1", "v0", "s[100:101]", immediate=0x7FFFFF),
    ins("global_store_b32", (), "v[1:2]", "v0"),
    ins("global_atomic_add_u32", (), "v1", "v0", "s[100:101]"),
    ins("s_load_b512", "s[8:23]", "s[100:101]"),
    ins("s_load_b32", "s100", "s[100:101]", immediate=0x1000),
    ins("ds_load_b64", "v[1:2]", "v1"),
    ins("ds_store_b32", (), "v1", "v0"),
    ins("ds_bpermute_b32", "v1", "v1", "v0"),
    ins("scratch_store_b32", (), "v1", "v0"),
    ins("scratch_load_b32", "v3", "off", immediate=12),
    ins("v_readlane_b32", "s101", "v1", "s100"),
    ins("v_cmpx_gt_u32", (), 20, "v0", encoding="VOPC"),
    ins("s_mov_b32", "exec", "s100"),
    ins("s_not_b32", "exec", "exec"),
    ins("v_wmma_f32_16x16x16_f16", "v[8:15]", "v[0:3]", "v[2:5]", 0),
    ins("s_barrier_wait", immediate=-1),
]
"""What reaches somewhere, or decides who does."""

BRANCHES = ("s_branch", "s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_execz", "s_cbranch_execnz")


def known_code(dice: random.Random) -> bytes:
    """Any instruction that the decoder takes for one."""
    while True:
        code = random_code(dice.choice(FORMS), dice)
        try:
            return code[: decode(code).size]
        except UnknownInstruction:
            continue


def branch_code(dice: random.Random) -> bytes:
    """A branch by a few words, to the middle of instructions too."""
    placed = bytearray(code_of([ins(dice.choice(BRANCHES), target=0), "behind"]))
    placed[:2] = dice.randint(-8, 6).to_bytes(2, "little", signed=True)
    return bytes(placed)


def tame(dice: random.Random) -> bytes:
    """Most of these run: what they do is at fault, not what they are."""
    return b"".join(
        branch_code(dice) if dice.random() < 0.2 else code_of([dice.choice(ACCESSES)])
        for _ in range(dice.randint(1, 8))
    )


def wild(dice: random.Random) -> bytes:
    """Instructions of any kind between others."""
    return b"".join(dice.choice((tame, known_code))(dice) for _ in range(dice.randint(1, 4)))


def altered(dice: random.Random) -> bytes:
    """A program whose instructions are left out, repeated, and moved."""
    pieces = [code_of([one]) for one in PROGRAM if not isinstance(one, str) and one.target is None]
    return b"".join(dice.choices(pieces, k=dice.randint(1, len(pieces))))


@pytest.mark.parametrize("make", [tame, wild, altered])
@pytest.mark.parametrize(
    "target", TARGETS, ids=lambda target: f"{target.cpu}-{'quick' if target.quick else 'optimised'}"
)
def test_any_code_ends_in_a_result_or_a_typed_error(make, target: HostTarget) -> None:
    dice = random.Random(f"{make.__name__} {TARGETS.index(target)}")
    for _ in range(25):
        size, threads = dice.choice((0, 77, 160, 256)), dice.choice((1, 19, 32, 40))
        memory = np.full(2 * GUARD + size, 0xA5, np.uint8)
        launch = launch_of(
            code_of(START) + make(dice) + END,
            [memory[GUARD : GUARD + size], np.zeros(16, np.uint32)],
            local_size=(threads, 1, 1),
            global_size=(2, 1, 1),
            shared_bytes=64,
            private_bytes=16,
        )
        try:
            run(launch, target, budget=20_000)
        except (EmulationError, ArtifactError) as error:
            assert "kernel 'k'" in str(error)
        assert set(memory[:GUARD].tolist() + memory[GUARD + size :].tolist()) == {0xA5}

"""Code that nobody meant to be run: the wave interpreter answers with its own errors, and in time."""

import numpy as np
import pytest
from emulator.rdna4.wave_programs import ADDRESSES, code_of, dual, ins, launch_of

from autoclave.emulator.launch import Launch
from autoclave.emulator.overlay import Overlay
from autoclave.emulator.rdna4.encoding.table import FORMS
from autoclave.emulator.rdna4.interpreter import MAX_CODE_BYTES, Interpreter
from autoclave.errors import EmulationError, UnknownInstruction

BUDGET = 32 * 2000

PROGRAM = [
    *ADDRESSES,
    ins("v_lshlrev_b32", "v1", 2, "v0"),
    ins("global_load_b32", "v2", "v1", "s[100:101]"),
    ins("v_cvt_f32_f16", "v3", "v2.h"),
    ins("v_fma_f32", "v3", "v3", "-v2", "|v3|", clamp=True),
    ins("v_pk_fma_f16", "v4", "v2", "v3", "v2"),
    dual(ins("v_dual_mul_f32", "v5", "v2", "v3", encoding="VOPD"), ins("v_dual_mov_b32", "v6", "v4", encoding="VOPD")),
    ins("v_cmp_gt_u32", "vcc", 16, "v0"),
    ins("v_cndmask_b32", "v6", "v5", "v6", "vcc"),
    ins("v_wmma_f32_16x16x16_f16", "v[8:15]", "v[2:5]", "v[2:5]", 0),
    ins("s_and_saveexec_b32", "s4", "vcc"),
    ins("s_cbranch_execz", target=0),
    ins("ds_store_b32", (), "v1", "v6"),
    ins("ds_load_b64", "v[8:9]", "v1"),
    ins("scratch_store_b32", (), "off", "v6", immediate=4),
    ins("v_readfirstlane_b32", "s5", "v8"),
    ins("v_permlane16_b32", "v7", "v6", "s5", "s4"),
    "behind",
    ins("s_or_b32", "exec", "exec", "s4"),
    ins("global_store_b32", (), "v1", "v7", "s[100:101]"),
    ins("s_endpgm"),
]


def run(code: bytes) -> None:
    """Run code in a workgroup of two waves, one of them short; only the emulator's own errors may come of it."""
    launch: Launch = launch_of(
        code, [np.zeros(64, np.uint32)], values=[0, 0], local_size=(40, 1, 1), shared_bytes=256, private_bytes=16
    )
    try:
        Interpreter(launch.kernel).run_workgroup(launch, (0, 0, 0), Overlay(), budget=BUDGET)  # type: ignore[arg-type]
    except EmulationError as error:
        assert "kernel 'k'" in str(error)


def test_the_program_itself_runs() -> None:
    launch = launch_of(
        code_of(PROGRAM),
        [np.zeros(64, np.uint32)],
        values=[0, 0],
        local_size=(40, 1, 1),
        shared_bytes=256,
        private_bytes=16,
    )
    Interpreter(launch.kernel).run_workgroup(launch, (0, 0, 0), Overlay())  # type: ignore[arg-type]


def test_random_words() -> None:
    random = np.random.default_rng(1)
    for _ in range(300):
        run(random.integers(0, 1 << 32, 12, dtype=np.uint32).tobytes())


def test_a_program_with_flipped_bits() -> None:
    random, code = np.random.default_rng(2), code_of(PROGRAM)
    for _ in range(400):
        bits = bytearray(code)
        for at in random.integers(0, 8 * len(bits), random.integers(1, 4)):
            bits[at // 8] ^= 1 << at % 8
        run(bytes(bits))


def test_a_program_with_any_word_replaced_by_another_operation() -> None:
    random, code = np.random.default_rng(3), np.frombuffer(code_of(PROGRAM), np.uint32)
    words = [encoded_opcode(form.encoding, form.opcode) for form in FORMS]
    for _ in range(400):
        changed = code.copy()
        changed[random.integers(len(code))] = random.choice(words) ^ random.integers(0, 1 << 16)
        run(changed.tobytes())


def encoded_opcode(encoding: str, opcode: int) -> int:
    """A first word of an encoding with an opcode; some are of none, which is as good."""
    prefixes = {
        "SOP2": 0x80000000 | opcode << 23,
        "SOP1": 0xBE800000 | opcode << 8,
        "SOPC": 0xBF000000 | opcode << 16,
        "SOPK": 0xB0000000 | opcode << 23,
        "SOPP": 0xBF800000 | opcode << 16,
        "VOP2": opcode << 25,
        "VOP1": 0x7E000000 | opcode << 9,
        "VOPC": 0x7C000000 | opcode << 17,
        "DS": 0xD8000000 | opcode << 18,
        "GLOBAL": 0xEE000000 | opcode << 14,
    }
    return prefixes.get(encoding, 0xD4000000 | opcode << 16) & 0xFFFFFFFF


def test_code_that_is_too_long() -> None:
    launch = launch_of(bytes(MAX_CODE_BYTES + 4))
    with pytest.raises(UnknownInstruction, match="bytes of code; at most"):
        Interpreter(launch.kernel)  # type: ignore[arg-type]


def test_masks_of_lanes_that_never_repeat_cost_no_memory() -> None:
    """Each round has another EXEC: what is kept of them is bounded."""
    from autoclave.emulator.rdna4.machine import lanes_of

    program = [
        ins("s_mov_b32", "s4", 0x9E3779B1),
        ins("s_mov_b32", "s5", 0),
        "again",
        ins("s_mul_i32", "s4", "s4", 0x85EBCA6B),
        ins("s_add_co_u32", "s5", "s5", 1),
        ins("s_mov_b32", "exec", "s4"),
        ins("v_mov_b32", "v1", 0),
        ins("s_cmp_lt_u32", (), "s5", 6000),
        ins("s_cbranch_scc1", target=0),
        ins("s_endpgm"),
    ]
    launch = launch_of(code_of(program))
    Interpreter(launch.kernel).run_workgroup(launch, (0, 0, 0), Overlay())  # type: ignore[arg-type]
    assert lanes_of.cache_info().currsize <= 4096

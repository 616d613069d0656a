"""Where translated accesses go: runs, lanes apart, several buffers, lanes that are off, what faults, and in which order lanes store."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from emulator.rdna4.translated_waves import BEST, TARGETS, assert_agree, run
from emulator.rdna4.wave_programs import ADDRESSES, ins, launch_of
from numpy.typing import NDArray

from autoclave.emulator.jit import HostTarget
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.errors import MemoryFault

_SIZES = {"u8": 1, "u16": 2, "b32": 4, "b64": 8, "b96": 12, "b128": 16}


def _stored(words: int) -> list[Instruction]:
    """Store v[4:7], as many of them as there are, 16 bytes a lane."""
    return [
        ins("v_lshlrev_b32", "v20", 4, "v0"),
        *(
            ins("global_store_b32", (), "v20", f"v{4 + step}", "s[100:101]", immediate=4 * step)
            for step in range(words)
        ),
    ]


def _output() -> NDArray[np.uint32]:
    return np.zeros(4 * 32, np.uint32)


@pytest.mark.parametrize("target", [TARGETS[0], BEST], ids=str)
@pytest.mark.parametrize("name", _SIZES)
@pytest.mark.parametrize("stride", [0, 1, 24], ids=["one place", "a run", "apart"])
def test_loads(name: str, stride: int, target: HostTarget) -> None:
    size = _SIZES[name]
    data = np.random.default_rng(1).integers(0, 256, 2048, np.uint8)
    step = size if stride == 1 else stride
    program = [
        *ADDRESSES,
        ins("v_mul_u32_u24", "v1", step, "v0"),
        ins(f"global_load_{name}", "v4" if size <= 4 else f"v[4:{3 + size // 4}]", "v1", "s[102:103]", immediate=3),
        *_stored(max(1, size // 4)),
    ]
    output = _output()
    run(launch_of(program, [output, data]), target)
    for lane in range(32):
        expected = data[3 + lane * step :][:size].tobytes().ljust(16, b"\0")
        assert output[4 * lane : 4 * lane + 4].tobytes() == expected


@pytest.mark.parametrize("name", ["b8", "b16", "b32", "b64", "b96", "b128"])
@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x80000005, 0])
def test_stores(name: str, mask: int) -> None:
    size = int(name[1:]) // 8
    output = np.full(32 * 20, 0xEE, np.uint8)
    program = [
        *ADDRESSES,
        *(ins("v_add_nc_u32", f"v{4 + step}", 0x01020304 * (step + 1), "v0") for step in range(4)),
        ins("v_mul_u32_u24", "v1", 20, "v0"),
        ins("s_mov_b32", "exec", mask),
        ins(f"global_store_{name}", (), "v1", "v4" if size <= 4 else f"v[4:{3 + size // 4}]", "s[100:101]"),
    ]
    run(launch_of(program, [output, _output()]))
    for lane in range(32):
        words = np.array([0x01020304 * (step + 1) + lane for step in range(4)], np.uint32).tobytes()
        kept = size if mask >> lane & 1 else 0
        assert output[20 * lane :][:20].tobytes() == words[:kept] + b"\xee" * (20 - kept)


def _addresses_of_two_buffers() -> list[Instruction]:
    """v[2:3]: of even lanes in the first buffer, of odd lanes in the second, 4 bytes a lane."""
    return [
        *ADDRESSES,
        ins("v_and_b32", "v1", 1, "v0"),
        ins("v_cmp_eq_u32", "vcc", 1, "v1"),
        ins("v_mov_b32", "v2", "s100"),
        ins("v_mov_b32", "v4", "s102"),
        ins("v_cndmask_b32", "v2", "v2", "v4", "vcc"),
        ins("v_mov_b32", "v3", "s101"),
        ins("v_mov_b32", "v4", "s103"),
        ins("v_cndmask_b32", "v3", "v3", "v4", "vcc"),
        ins("v_lshlrev_b32", "v1", 2, "v0"),
        ins("v_add_nc_u32", "v2", "v2", "v1"),
    ]


def test_lanes_in_different_buffers() -> None:
    first, second = np.arange(64, dtype=np.uint32), np.arange(1000, 1064, dtype=np.uint32)
    program = [
        *_addresses_of_two_buffers(),
        ins("global_load_b32", "v4", "v[2:3]", immediate=4),
        ins("v_add_nc_u32", "v4", 500, "v4"),
        ins("global_store_b32", (), "v[2:3]", "v4"),
    ]
    run(launch_of(program, [first, second]))
    assert first[:4].tolist() == [501, 1, 503, 3]
    assert second[:4].tolist() == [1000, 1502, 1002, 1504]


def test_offsets_below_zero() -> None:
    data, output = np.arange(64, dtype=np.uint32), _output()
    program = [
        *ADDRESSES,
        ins("v_add_nc_u32", "v1", 8, "v0"),
        ins("v_lshlrev_b32", "v1", 2, "v1"),
        ins("global_load_b32", "v4", "v1", "s[102:103]", immediate=-32),
        ins("global_load_b32", "v5", "v1", "s[102:103]", immediate=32),
        *_stored(2),
    ]
    run(launch_of(program, [output, data]))
    assert output.reshape(32, 4)[:, :2].tolist() == [[lane, lane + 16] for lane in range(32)]


def test_lanes_that_are_off_may_point_anywhere() -> None:
    data, output = np.arange(8, dtype=np.uint32), _output()
    program = [
        *ADDRESSES,
        ins("v_mul_lo_u32", "v1", 4, "v0"),
        ins("v_mov_b32", "v4", 7),
        ins("v_cmp_gt_u32", "vcc", 8, "v0"),
        ins("s_and_saveexec_b32", "s4", "vcc"),
        ins("global_load_b32", "v4", "v1", "s[102:103]"),
        ins("s_or_b32", "exec", "exec", "s4"),
        *_stored(1),
    ]
    run(launch_of(program, [output, data]))
    assert output[::4].tolist() == [*range(8), *[7] * 24]


def test_the_highest_lane_wins() -> None:
    output = np.zeros(1, np.uint32)
    store = [ins("v_mov_b32", "v1", 0), ins("global_store_b32", (), "v1", "v0", "s[100:101]")]
    run(launch_of([*ADDRESSES, *store], [output, _output()]))
    assert output.tolist() == [31]


def _faulting(program: Sequence[Instruction], buffers: Sequence[NDArray[Any]], **fields: Any) -> str:
    with pytest.raises(MemoryFault) as caught:
        run(launch_of([*ADDRESSES, *program], buffers, **fields))
    return str(caught.value)


def test_the_first_lane_beyond_a_buffer_is_named() -> None:
    program = [ins("v_lshlrev_b32", "v1", 2, "v0"), ins("global_load_b32", "v4", "v1", "s[102:103]", immediate=8)]
    message = _faulting(program, [_output(), np.zeros(20, np.uint32)])
    assert "pc 24" in message and "thread (18, 0, 0)" in message and "80 bytes into buffer 1, which has 80" in message


def test_later_accesses_of_a_window_fault_where_they_are() -> None:
    program = [
        ins("v_lshlrev_b32", "v1", 2, "v0"),
        ins("global_load_b32", "v4", "v1", "s[102:103]"),
        ins("global_load_b32", "v5", "v1", "s[102:103]", immediate=4),
    ]
    message = _faulting(program, [_output(), np.zeros(32, np.uint32)])
    assert "pc 36" in message and "thread (31, 0, 0)" in message


def test_stores_to_what_may_only_be_read() -> None:
    data = np.zeros(32, np.uint32)
    data.flags.writeable = False
    program = [ins("v_lshlrev_b32", "v1", 2, "v0"), ins("global_store_b32", (), "v1", "v0", "s[102:103]")]
    assert "buffer 1" in _faulting(program, [_output(), data])


def test_shared_memory_has_an_end() -> None:
    program = [ins("v_lshlrev_b32", "v1", 2, "v0"), ins("ds_store_b32", (), "v1", "v0")]
    assert "thread (16, 0, 0)" in _faulting(program, [_output(), _output()], shared_bytes=64)


def test_no_lane_accesses_nothing() -> None:
    program = [
        ins("s_mov_b32", "exec", 0),
        ins("v_mov_b32", "v1", -4),
        ins("global_store_b32", (), "v1", "v0", "s[100:101]"),
    ]
    output = np.zeros(4, np.uint32)
    run(launch_of([*ADDRESSES, *program], [output, _output()]), BEST)
    assert not output.any()


@pytest.mark.parametrize(
    "name",
    ["add_u32", "rsub_u32", "inc_u32", "dec_u32", "max_i32", "sub_clamp_u32", "cond_sub_u32", "add_f32", "pk_add_f16"],
)
def test_atomics_by_lanes_in_turn(name: str) -> None:
    space = "ds_" if name.startswith("rsub") else "global_atomic_"
    data = np.array([5, 0x80000001, 0x3C003C00, 70], np.uint32)
    end = [] if space == "ds_" else ["s[102:103]"]
    operation, _, kind = name.rpartition("_")
    returning = f"ds_{operation}_rtn_{kind}" if space == "ds_" else f"global_atomic_{name}"
    program = [
        *ADDRESSES,
        ins("v_and_b32", "v1", 12, "v0"),
        ins("v_add_nc_u32", "v2", 0x3C004000, "v0"),
        ins(returning, "v4", "v1", "v2", *end, **({} if space == "ds_" else {"scope_or_policy": _RETURN})),
        *_stored(1),
    ]
    assert_agree(launch_of(program, [_output(), data], shared_bytes=64), [TARGETS[0], BEST])


_RETURN = 1 << 2
"""The bit of an atomic's policy that asks for what was there before."""

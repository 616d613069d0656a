"""Memory of the wave interpreter: scalar loads, global, shared and private memory, atomics; what faults."""

import numpy as np
import pytest
from emulator.rdna4.wave_programs import ADDRESSES, ATOMIC_RETURN, in_lanes, ins, interpret, launch_of

from autoclave.emulator.memory import BUFFER_STRIDE, guest_address
from autoclave.emulator.overlay import Overlay
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.interpreter import Interpreter
from autoclave.errors import MemoryFault

DATA = np.arange(0x80, 0x100, dtype=np.uint8)
"""Bytes 0x80, 0x81, ..., which are negative if they are signed."""

SECOND_ADDRESS = [ins("v_mov_b32", "v2", "s102"), ins("v_mov_b32", "v3", "s103")]


@pytest.mark.parametrize(
    ("name", "offset", "expected"),
    [
        ("u8", 1, [0x81, 0]),
        ("i8", 1, [0xFFFFFF81, 0]),
        ("u16", 2, [0x8382, 0]),
        ("i16", 3, [0xFFFF8483, 0]),
        ("b32", 1, [0x84838281, 0]),  # not aligned
        ("b64", 0, [0x83828180, 0x87868584]),
        ("d16_b16", 0, [0x55558180, 0]),
        ("d16_u8", 0, [0x55550080, 0]),
        ("d16_i8", 0, [0x5555FF80, 0]),
        ("d16_hi_b16", 0, [0x81805555, 0]),
        ("d16_hi_u8", 0, [0x00805555, 0]),
        ("d16_hi_i8", 0, [0xFF805555, 0]),
    ],
)
def test_global_loads(name: str, offset: int, expected: list[int]) -> None:
    to = "v[4:5]" if name == "b64" else "v4"
    old = [ins("v_mov_b32", "v4", 0x55555555)]
    program = [*SECOND_ADDRESS, *old, ins(f"global_load_{name}", to, "v[2:3]", immediate=offset)]
    assert [in_lanes(program, f"v{4 + at}", lanes=1, data=DATA)[0] for at in range(2)] == expected


@pytest.mark.parametrize("name", ["b96", "b128"])
def test_wide_global_loads(name: str) -> None:
    count = int(name[1:]) // 32
    program = [*SECOND_ADDRESS, ins(f"global_load_{name}", f"v[4:{3 + count}]", "v[2:3]", immediate=4)]
    words = DATA.view(np.uint32).tolist()
    assert [in_lanes(program, f"v{4 + at}", lanes=1, data=DATA)[0] for at in range(count)] == words[1 : 1 + count]


def test_global_load_from_a_scalar_base_and_an_offset_of_each_lane() -> None:
    program = [
        ins("v_lshlrev_b32", "v2", 2, "v0"),
        ins("global_load_b32", "v1", "v2", "s[102:103]", immediate=-4),
    ]
    data = np.arange(100, 140, dtype=np.uint32)
    program = [ins("s_add_co_u32", "s102", "s102", 4), *program]
    assert in_lanes(program, data=data) == list(range(100, 132))


def test_offsets_of_lanes_are_unsigned() -> None:
    program = [ins("v_mov_b32", "v2", 0xFFFFFFFC), ins("global_load_b32", "v1", "v2", "s[102:103]", immediate=4)]
    with pytest.raises(MemoryFault, match=f"at {1 << 32} of buffer 1"):
        in_lanes(program, lanes=1, data=DATA)


def test_flat_addresses_are_global_ones() -> None:
    program = [*SECOND_ADDRESS, ins("flat_load_b32", "v1", "v[2:3]", immediate=4)]
    assert in_lanes(program, lanes=1, data=DATA) == [0x87868584]


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("b8", "v2", [0x78, 9, 9, 9]),
        ("b16", "v2", [0x78, 0x56, 9, 9]),
        ("d16_hi_b8", "v2", [0x34, 9, 9, 9]),
        ("d16_hi_b16", "v2", [0x34, 0x12, 9, 9]),
        ("b32", "v2", [0x78, 0x56, 0x34, 0x12]),
    ],
)
def test_global_stores(name: str, data: str, expected: list[int]) -> None:
    memory = np.full(4, 9, np.uint8)
    program = [
        *ADDRESSES,
        ins("v_mov_b32", "v1", 0),
        ins("v_mov_b32", "v2", 0x12345678),
        ins(f"global_store_{name}", (), "v1", data, "s[100:101]"),
    ]
    interpret(launch_of(program, [memory], local_size=(1, 1, 1), values=[0, 0]))
    assert memory.tolist() == expected


def test_wide_global_stores() -> None:
    memory = np.zeros(6, np.uint32)
    values = [ins("v_mov_b32", f"v{4 + at}", 10 + at) for at in range(4)]
    program = [*ADDRESSES, *values, ins("v_mov_b32", "v1", 4)]
    program += [ins("global_store_b128", (), "v1", "v[4:7]", "s[100:101]")]
    interpret(launch_of(program, [memory], local_size=(1, 1, 1), values=[0, 0]))
    assert memory.tolist() == [0, 10, 11, 12, 13, 0]


def test_of_lanes_that_store_to_the_same_place_the_highest_wins() -> None:
    memory = np.zeros(1, np.uint32)
    program = [*ADDRESSES, ins("v_mov_b32", "v1", 0), ins("global_store_b32", (), "v1", "v0", "s[100:101]")]
    interpret(launch_of(program, [memory], values=[0, 0]))
    assert memory.tolist() == [31]


def test_lanes_that_are_off_access_nothing() -> None:
    program = [
        ins("v_mov_b32", "v1", 7),
        ins("v_mul_lo_u32", "v2", "v0", 1 << 20),  # in the buffer for lane 0 only
        ins("s_mov_b32", "exec", 1),
        ins("global_load_b32", "v1", "v2", "s[102:103]"),
    ]
    assert in_lanes(program, lanes=3, data=DATA) == [0x83828180, 7, 7]


@pytest.mark.parametrize(
    ("name", "words"), [("b32", 1), ("b64", 2), ("b96", 3), ("b128", 4), ("b256", 8), ("b512", 16)]
)
def test_scalar_loads(name: str, words: int) -> None:
    first = 12 if words == 3 else 16
    to = f"s{first}" if words == 1 else f"s[{first}:{first + words - 1}]"
    program = [ins("s_mov_b32", "s4", 8), ins(f"s_load_{name}", to, "s[102:103]", "s4", immediate=4)]
    expected = DATA.view(np.uint32).tolist()[3 : 3 + words]
    assert [in_lanes(program, f"s{first + at}", lanes=1, data=DATA)[0] for at in range(words)] == expected


@pytest.mark.parametrize(("name", "expected"), [("u8", 0x83), ("i8", 0xFFFFFF83), ("u16", 0x8483), ("i16", 0xFFFF8483)])
def test_narrow_scalar_loads(name: str, expected: int) -> None:
    assert in_lanes([ins(f"s_load_{name}", "s4", "s[102:103]", immediate=3)], "s4", lanes=1, data=DATA) == [expected]


def test_scalar_loads_of_words_begin_at_words() -> None:
    assert in_lanes([ins("s_load_b32", "s4", "s[102:103]", immediate=7)], "s4", lanes=1, data=DATA) == [0x87868584]


def test_what_is_stored_is_read_while_memory_stays_as_it_was() -> None:
    memory = np.array([1, 2], np.uint32)
    program = [
        *ADDRESSES,
        ins("v_mov_b32", "v1", 0),
        ins("v_mov_b32", "v2", 0xAABBCCDD),
        ins("global_store_b32", (), "v1", "v2", "s[100:101]", immediate=2),
        ins("global_load_b64", "v[4:5]", "v1", "s[100:101]"),
        ins("v_add_nc_u32", "v4", "v4", "v5"),
        ins("global_store_b32", (), "v1", "v4", "s[100:101]"),
    ]
    launch, overlay = launch_of(program, [memory], local_size=(1, 1, 1), values=[0, 0]), Overlay()
    Interpreter(launch.kernel).run_workgroup(launch, (0, 0, 0), overlay)
    assert memory.tolist() == [1, 2]
    overlay.commit()
    assert memory.tolist() == [(0xCCDD0001 + 0x0000AABB) & 0xFFFFFFFF, 0x0000AABB]


def test_shared_memory() -> None:
    program = [
        ins("v_lshlrev_b32", "v2", 3, "v0"),
        ins("v_add_nc_u32", "v4", "v0", 100),
        ins("v_add_nc_u32", "v5", "v0", 200),
        ins("ds_store_b64", (), "v2", "v[4:5]", immediate=8),
        ins("v_xor_b32", "v2", 8, "v2"),
        ins("ds_load_2addr_b32", "v[6:7]", "v2", immediate=2, second_immediate=3),
        ins("v_sub_nc_u32", "v1", "v7", "v6"),
        ins("v_lshl_add_u32", "v1", "v1", 16, "v6"),
    ]
    assert in_lanes(program, lanes=2, shared_bytes=24) == [(100 << 16) + 101, (100 << 16) + 100]


def test_two_addresses_far_apart() -> None:
    program = [
        ins("v_mov_b32", "v2", 0),
        ins("v_mov_b32", "v4", 11),
        ins("v_mov_b32", "v5", 22),
        ins("ds_store_2addr_stride64_b32", (), "v2", "v4", "v5", immediate=0, second_immediate=1),
        ins("ds_load_b32", "v1", "v2", immediate=256),
    ]
    assert in_lanes(program, lanes=1, shared_bytes=260) == [22]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("u8", 0x84), ("i8", 0xFFFFFF84), ("u16", 0x8584), ("i16", 0xFFFF8584),
        ("u8_d16", 0x11110084), ("i8_d16_hi", 0xFF841111), ("u16_d16_hi", 0x85841111),
    ],
)  # fmt: skip
def test_narrow_shared_loads(name: str, expected: int) -> None:
    program = [
        ins("v_mov_b32", "v1", 0x11111111),
        ins("v_mov_b32", "v2", 0),
        ins("v_mov_b32", "v3", 0x87868584),
        ins("ds_store_b32", (), "v2", "v3"),
        ins(f"ds_load_{name}", "v1", "v2"),
    ]
    assert in_lanes(program, lanes=1, shared_bytes=4) == [expected]


def test_private_memory_is_each_lane_s_own_and_begins_as_zeros() -> None:
    program = [
        ins("s_mov_b32", "s4", 4),
        ins("scratch_load_b32", "v3", "off", immediate=8),
        ins("scratch_store_b32", (), "v0", "v0", "s4"),
        ins("v_mov_b32", "v2", 8),
        ins("scratch_load_b32", "v1", "off", immediate=5),
        ins("v_add_nc_u32", "v1", "v1", "v3"),
    ]
    # Lane 1 stores its number at byte 1 + 4, lane 0 its at 4.
    assert in_lanes(program, lanes=2, private_bytes=12) == [0, 1]


def atomic(name: str, *values: int, memory: int = 10, lanes: int = 1, returns: bool = True) -> tuple[list[int], int]:
    """What an atomic on a buffer gives each lane, and what it leaves."""
    data = np.array([memory], np.uint32)
    moves = [ins("v_mov_b32", f"v{4 + at}", value) for at, value in enumerate(values)]
    operand = "v[4:5]" if len(values) > 1 else "v4"
    instruction = ins(name, "v1", "v2", operand, "s[102:103]", scope_or_policy=ATOMIC_RETURN)
    return in_lanes([ins("v_mov_b32", "v2", 0), *moves, instruction], lanes=lanes, data=data), int(data[0])


MINUS_ONE = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("add_u32", (5,), 15),
        ("sub_u32", (11,), MINUS_ONE),
        ("sub_clamp_u32", (11,), 0),
        ("min_i32", (MINUS_ONE,), MINUS_ONE),
        ("min_u32", (MINUS_ONE,), 10),
        ("max_i32", (MINUS_ONE,), 10),
        ("max_u32", (MINUS_ONE,), MINUS_ONE),
        ("and_b32", (6,), 2),
        ("or_b32", (5,), 15),
        ("xor_b32", (3,), 9),
        ("swap_b32", (7,), 7),
        ("inc_u32", (10,), 0),
        ("inc_u32", (11,), 11),
        ("dec_u32", (5,), 5),
        ("dec_u32", (20,), 9),
        ("cmpswap_b32", (99, 10), 99),
        ("cmpswap_b32", (99, 11), 10),
    ],
)
def test_atomics_on_buffers(name: str, values: tuple[int, ...], expected: int) -> None:
    assert atomic(f"global_atomic_{name}", *values) == ([10], expected)


def test_lanes_take_their_turns_in_atomics() -> None:
    assert atomic("global_atomic_add_u32", 5, lanes=4) == ([10, 15, 20, 25], 30)


def test_atomic_sum_of_floats() -> None:
    one, half = (int(np.float32(value).view(np.uint32)) for value in (1.0, 0.5))
    assert atomic("global_atomic_add_f32", half, memory=one)[1] == int(np.float32(1.5).view(np.uint32))


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("ds_add_rtn_u32", ("v4",), [3, 7]),
        ("ds_rsub_rtn_u32", ("v4",), [3, 1]),
        ("ds_storexchg_rtn_b32", ("v4",), [3, 4]),
        ("ds_cmpstore_rtn_b32", ("v4", "v5"), [3, 4]),
        ("ds_mskor_rtn_b32", ("v5", "v4"), [3, 4]),
    ],
)
def test_atomics_on_shared_memory(name: str, operands: tuple[str, ...], expected: list[int]) -> None:
    # Shared memory has 3; v4 is 4, v5 is 3.
    program = [
        ins("v_mov_b32", "v2", 0),
        ins("v_mov_b32", "v4", 4),
        ins("v_mov_b32", "v5", 3),
        ins("ds_store_b32", (), "v2", "v5"),
        ins(name, "v1", "v2", *operands),
    ]
    before = in_lanes(program, lanes=1, shared_bytes=4)
    after = in_lanes([*program, ins("ds_load_b32", "v1", "v2")], lanes=1, shared_bytes=4)
    assert before + after == expected


def fault(program: list[Instruction], **launch: object) -> str:
    """The message of the fault that a program of two threads runs into."""
    memory = np.zeros(4, np.uint8)
    with pytest.raises(MemoryFault) as caught:
        interpret(launch_of([*ADDRESSES, *program], [memory], local_size=(2, 1, 1), values=[0, 0], **launch))  # type: ignore[arg-type]
    return str(caught.value)


def test_access_beyond_a_buffer_names_who_did_what() -> None:
    message = fault([ins("v_mov_b32", "v1", "v0"), ins("global_load_b32", "v2", "v1", "s[100:101]")])
    assert message == (
        f"kernel 'k', pc 24, workgroup (0, 0, 0), thread 1: access of 4 bytes at 1 of buffer 0, which has 4 "
        f"(address {guest_address(0) + 1:#x})"
    )


@pytest.mark.parametrize(
    ("instruction", "what"),
    [
        (ins("global_load_b64", "v[4:5]", "v[2:3]"), "no buffer of the launch"),
        (ins("global_store_b32", (), "v2", "v3", "s[2:3]"), "no buffer of the launch"),
        (ins("global_load_b64", "v[4:5]", "v2", "s[100:101]"), "8 bytes at 0 of buffer 0, which has 4"),
        (ins("global_load_u8", "v4", "v2", "s[100:101]", immediate=-1), "of buffer|no buffer"),
        (ins("global_store_b32", (), "v2", "v3", "s[0:1]"), "writes to buffer 1, which is read-only"),
        (ins("global_atomic_add_u32", (), "v2", "v3", "s[0:1]"), "writes to buffer 1, which is read-only"),
        (ins("s_load_b128", "s[4:7]", "s[100:101]"), "16 bytes at 0 of buffer 0, which has 4"),
        (ins("ds_load_b32", "v4", "v2", immediate=6), "4 bytes at 6 of shared memory, which has 8"),
        (ins("ds_store_b128", (), "v2", "v[4:7]"), "16 bytes at 0 of shared memory, which has 8"),
        (ins("ds_add_u32", (), "v2", "v3", immediate=5), "4 bytes at 5 of shared memory, which has 8"),
        (ins("scratch_load_b32", "v4", "off", immediate=13), "4 bytes at 13 of private memory, which has 16"),
        (ins("scratch_store_b32", (), "off", "v4", immediate=-4), "of private memory, which has 16"),
    ],
)  # fmt: skip
def test_stray_accesses_fault(instruction: Instruction, what: str) -> None:
    program = [ins("v_mov_b32", "v2", 0), ins("v_mov_b32", "v3", 0), instruction]
    assert __import__("re").search(what, fault(program, shared_bytes=8, private_bytes=16))


def test_no_buffer_begins_at_zero() -> None:
    assert guest_address(0) == BUFFER_STRIDE

"""Memory of the interpreter: loads, stores, atomics and images; what faults and what has a defined result."""

import numpy as np
import pytest
from emulator.a630_programs import atomic, ins, interpret, isam, launch_of, load, mov, results, stib, store

from autoclave.emulator.a630.interpreter import interpret_workgroup
from autoclave.emulator.memory import BUFFER_STRIDE
from autoclave.emulator.overlay import Overlay
from autoclave.errors import MemoryFault, UnknownInstruction

ADDRESS = [mov("r40.x", "c0.x"), mov("r40.y", "c0.y")]
SECOND_ADDRESS = [mov("r42.x", "c0.z"), mov("r42.y", "c0.w")]


def loaded(kind: str, to: str, data: bytes, count: int = 1, offset: int = 0) -> list[int]:
    """What ldg of `kind` brings from `data` to `count` registers from `to` on."""
    source = np.frombuffer(data, np.uint8).copy()
    output = np.zeros(count, np.uint32)
    program = [*ADDRESS, *SECOND_ADDRESS, load("ldg", to, "r42.x", kind, count, offset)]
    name, component = to.split(".")
    for place in range(count):
        register = f"{name}.{'xyzw'['xyzw'.index(component) + place]}"
        move = ins("cov", "r41.x", register, source_type="u16", type="u32") if to[0] == "h" else mov("r41.x", register)
        program += [move, store("stg", "r40.x", "r41.x", offset=4 * place)]
    interpret(launch_of(program, buffers=[output, source]))
    return output.tolist()


@pytest.mark.parametrize(
    ("kind", "to", "count", "offset", "expected"),
    [
        ("u32", "r1.x", 2, 0, [0x83828180, 0x87868584]),
        ("u32", "r1.x", 1, 3, [0x86858483]),  # not aligned
        ("u16", "hr1.x", 3, 2, [0x8382, 0x8584, 0x8786]),
        ("u8", "hr1.x", 2, 1, [0x81, 0x82]),
        ("u8_32", "r1.x", 1, 4, [0xFFFFFF84]),  # a signed byte
    ],
)
def test_ldg(kind: str, to: str, count: int, offset: int, expected: list[int]) -> None:
    assert loaded(kind, to, bytes(range(0x80, 0x8C)), count, offset) == expected


def test_ldg_with_an_index() -> None:
    # address + ((index << 1) + 1) * 4
    source, output = np.arange(100, 110, dtype=np.uint32), np.zeros(1, np.uint32)
    indexed = ins("ldg.a", "r1.x", "r42.x", "r2.x", type="u32", count=1, shift=1, offset=1)
    program = [*ADDRESS, *SECOND_ADDRESS, mov("r2.x", 3), indexed, store("stg", "r40.x", "r1.x")]
    interpret(launch_of(program, buffers=[output, source]))
    assert output[0] == 107


def test_stg_with_an_index() -> None:
    output = np.zeros(4, np.uint16)
    indexed = ins("stg.a", (), "r40.x", "r2.x", "hr1.x", type="u16", count=2, shift=0, offset=1)
    halves = [
        ins("mov", f"hr1.{part}", f"h{value}", source_type="u16", type="u16") for part, value in (("x", 5), ("y", 6))
    ]
    interpret(launch_of([*ADDRESS, mov("r2.x", 1), *halves, indexed], buffers=[output]))
    assert output.tolist() == [0, 0, 5, 6]


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [("u32", "r1.x", [0x78, 0x56, 0x34, 0x12]), ("u16", "hr1.x", [0xCD, 0xAB, 9, 9]), ("u8", "hr1.x", [0xCD, 9, 9, 9])],
)
def test_stg_writes_as_many_bytes_as_its_type_has(kind: str, data: str, expected: list[int]) -> None:
    output = np.full(4, 9, np.uint8)
    half = ins("mov", "hr1.x", "h0xabcd", source_type="u16", type="u16")
    interpret(launch_of([*ADDRESS, mov("r1.x", 0x12345678), half, store("stg", "r40.x", data, kind)], buffers=[output]))
    assert output.tolist() == expected


def test_thread_reads_what_it_wrote_while_memory_stays_as_it_was() -> None:
    buffer, output = np.array([1, 2], np.uint32), np.zeros(1, np.uint32)
    program = [
        *ADDRESS,
        *SECOND_ADDRESS,
        mov("r1.x", 0xAABBCCDD),
        store("stg", "r42.x", "r1.x", offset=2),
        load("ldg", "r2.x", "r42.x"),
        store("stg", "r40.x", "r2.x"),
    ]
    launch, overlay = launch_of(program, buffers=[output, buffer]), Overlay()
    interpret_workgroup(launch, (0, 0, 0), None, overlay)
    assert (buffer.tolist(), output.tolist()) == ([1, 2], [0])
    overlay.commit()
    assert output[0] == 0xCCDD0001
    assert buffer.tolist() == [0xCCDD0001, 0x0000AABB]


def test_two_buffers_may_be_the_same_memory() -> None:
    memory = np.array([5, 0], np.uint32)
    program = [
        *ADDRESS,
        *SECOND_ADDRESS,
        mov("r1.x", 9),
        store("stg", "r42.x", "r1.x"),
        load("ldg", "r2.x", "r40.x"),
        store("stg", "r40.x", "r2.x", offset=4),
    ]
    interpret(launch_of(program, buffers=[memory, memory]))
    assert memory.tolist() == [9, 9]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ([], "access of 4 bytes at 8 of buffer 0, which has 8"),
        ([ins("add.u", "r40.x", "r40.x", 0xFFFFFFFE)], "access of 4 bytes at 4294967302 of buffer 0, which has 8"),
        ([ins("sub.u", "r40.x", "r40.x", 16), ins("sub.u", "r40.y", "r40.y", 1)], "to no buffer of the launch"),
        ([mov("r40.x", 0), mov("r40.y", 0)], "to no buffer of the launch"),
        ([mov("r40.y", 0xFFFFFFFF)], "to no buffer of the launch"),
    ],
)
@pytest.mark.parametrize("access", [load("ldg", "r1.x", "r40.x", offset=8), store("stg", "r40.x", "r1.x", offset=8)])
def test_global_access_outside_every_buffer_is_a_fault(access: object, change: list, what: str) -> None:
    program = [*ADDRESS, *change, access]
    with pytest.raises(MemoryFault, match=rf"kernel 'tested', pc {len(program) - 1}, workgroup .*, thread 0: .*{what}"):
        interpret(launch_of(program, buffers=[np.zeros(2, np.uint32)]))


def test_fault_names_the_address() -> None:
    with pytest.raises(MemoryFault, match=f"address {BUFFER_STRIDE + 4:#x}"):
        interpret(launch_of([*ADDRESS, load("ldg", "r1.x", "r40.x", offset=4)], buffers=[np.zeros(1, np.uint32)]))


def test_all_elements_of_a_load_have_to_lie_within_the_buffer() -> None:
    with pytest.raises(MemoryFault, match="access of 16 bytes at 0 of buffer 0, which has 12"):
        interpret(launch_of([*ADDRESS, load("ldg", "r1.x", "r40.x", count=4)], buffers=[np.zeros(3, np.uint32)]))


def test_memory_that_is_read_only_is_not_written() -> None:
    constant = np.zeros(1, np.uint32)
    constant.flags.writeable = False
    with pytest.raises(MemoryFault, match="writes to buffer 0, which is read-only"):
        interpret(launch_of([*ADDRESS, store("stg", "r40.x", "r1.x")], buffers=[constant]))


@pytest.mark.parametrize("access", [load("ldl", "r1.x", "r2.x", offset=13), store("stl", "r2.x", "r1.x", offset=13)])
def test_shared_access_outside_is_a_fault(access: object) -> None:
    with pytest.raises(MemoryFault, match="access of 4 bytes at 13 of shared memory, which has 16"):
        interpret(launch_of([access], shared_bytes=16))


def test_private_access_outside_reads_zero_and_is_dropped() -> None:
    program = [
        mov("r1.x", 5),
        mov("r1.y", 6),
        mov("r2.x", 4),
        store("stp", "r2.x", "r1.x", count=2),  # the second element lies outside
        load("ldp", "r3.x", "r2.x", count=2),
        load("ldp", "r4.x", "r2.x", offset=-8),
    ]
    assert results(program, "r3.x", "r3.y", "r4.x", private_bytes=8) == [5, 0, 0]


def test_private_memory_begins_as_zero() -> None:
    assert results([load("ldp", "r1.x", "r2.x")], "r1.x", private_bytes=4) == [0]


@pytest.mark.parametrize(
    ("operation", "kind", "old", "value", "new"),
    [
        ("add", "u32", 0xFFFFFFFF, 2, 1),
        ("xchg", "u32", 5, 7, 7),
        ("min", "u32", 5, 0xFFFFFFFF, 5),
        ("min", "s32", 5, 0xFFFFFFFF, 0xFFFFFFFF),
        ("max", "u32", 5, 0xFFFFFFFF, 0xFFFFFFFF),
        ("max", "s32", 5, 0xFFFFFFFF, 5),
        ("and", "u32", 0b1100, 0b1010, 0b1000),
        ("or", "u32", 0b1100, 0b1010, 0b1110),
        ("xor", "u32", 0b1100, 0b1010, 0b0110),
    ],
)
def test_global_atomics(operation: str, kind: str, old: int, value: int, new: int) -> None:
    memory = np.array([old, 0], np.uint32)
    update = atomic(f"atomic.g.{operation}", "r3.x", "r40.x", "r1.x", kind)
    interpret(
        launch_of([*ADDRESS, mov("r1.x", value), update, store("stg", "r40.x", "r3.x", offset=4)], buffers=[memory])
    )
    assert memory.tolist() == [new, old]


@pytest.mark.parametrize(("compared", "left"), [(5, 9), (6, 5)])
def test_cmpxchg_takes_the_new_value_and_the_one_to_compare_with(compared: int, left: int) -> None:
    memory = np.array([5, 0], np.uint32)
    operands = [mov("r1.x", 9), mov("r1.y", compared)]
    update = atomic("atomic.g.cmpxchg", "r3.x", "r40.x", "r1.x")
    interpret(launch_of([*ADDRESS, *operands, update, store("stg", "r40.x", "r3.x", offset=4)], buffers=[memory]))
    assert memory.tolist() == [left, 5]


def test_shared_atomics_count_all_threads() -> None:
    memory = np.zeros(1, np.uint32)
    program = [
        *ADDRESS,
        mov("r1.x", 1),
        mov("r2.x", 0),
        atomic("atomic.add", "r3.x", "r2.x", "r1.x"),
        ins("bar", modifiers=("l",)),
        load("ldl", "r4.x", "r2.x"),
        store("stg", "r40.x", "r4.x"),
    ]
    interpret(launch_of(program, buffers=[memory], local_size=(7, 1, 1), shared_bytes=4))
    assert memory[0] == 7


def test_atomic_outside_is_a_fault() -> None:
    with pytest.raises(MemoryFault, match="access of 4 bytes at 4 of buffer 0"):
        program = [*ADDRESS, ins("add.u", "r40.x", "r40.x", 4), atomic("atomic.g.add", "r3.x", "r40.x", "r1.x")]
        interpret(launch_of(program, buffers=[np.zeros(1, np.uint32)]))


def coordinates(x: int, y: int) -> list:
    return [mov("r5.x", x), mov("r5.y", y)]


def pixels(dtype: type) -> np.ndarray:
    """2 rows of 3 pixels: 0, 1, 2, ..."""
    return np.arange(24, dtype=dtype).reshape(2, 3, 4)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (0, 0, [0, 1, 2, 3]),
        (2, 1, [20, 21, 22, 23]),
        (3, 0, [0] * 4),
        (0, 2, [0] * 4),
        (-1, 1, [0] * 4),
        (0, -1, [0] * 4),
    ],
)
def test_isam_reads_a_pixel_and_zeros_outside(dtype: type, x: int, y: int, expected: list[int]) -> None:
    program = [*coordinates(x, y), mov("r1.x", 0x42F60000), isam("r1.x", "r5.x")]
    found = results(program, "r1.x", "r1.y", "r1.z", "r1.w", textures=[pixels(dtype)])
    assert np.array(found, np.uint32).view(np.float32).tolist() == expected


def test_isam_to_half_registers_with_some_components() -> None:
    program = [*coordinates(1, 0), isam("hr1.x", "r5.x", kind="f16", mask=0b1010)]
    found = results(program, "hr1.x", "hr1.y", "hr1.z", "hr1.w", textures=[pixels(np.float16)])
    assert found == [0, 0x4500, 0, 0x4700]


@pytest.mark.parametrize(
    ("dtype", "kind", "bits", "expected"),
    [
        (np.float32, "f32", 0x3F800001, 0x3F800001),
        (np.float16, "f32", 0x3F801FFF, 0x3C01),  # to nearest even
        (np.float16, "f32", 0x33800000, 0x0000),  # a denormal is flushed
        (np.float16, "f16", 0x3C01, 0x3C01),
    ],
)
def test_stib_writes_a_pixel(dtype: type, kind: str, bits: int, expected: int) -> None:
    image = np.zeros((2, 3, 4), dtype)
    data = "hr1.x" if kind == "f16" else "r1.x"
    value = ins(
        "mov",
        data,
        f"h{bits:#x}" if kind == "f16" else bits,
        source_type="u16" if kind == "f16" else "u32",
        type="u16" if kind == "f16" else "u32",
    )
    interpret(launch_of([*coordinates(2, 1), value, stib(data, "r5.x", kind=kind)], images=[image]))
    found = image.view(np.uint16 if dtype is np.float16 else np.uint32)
    assert found[1, 2].tolist() == [expected, 0, 0, 0]
    assert np.count_nonzero(found) == (1 if expected else 0)


@pytest.mark.parametrize(("x", "y"), [(3, 0), (0, 2), (-1, 0), (0, -1)])
def test_stib_outside_is_dropped(x: int, y: int) -> None:
    image = np.zeros((2, 3, 4), np.float32)
    interpret(launch_of([*coordinates(x, y), mov("r1.x", 0x3F800000), stib("r1.x", "r5.x")], images=[image]))
    assert not image.any()


def test_image_slot_that_is_not_bound_is_a_fault() -> None:
    with pytest.raises(MemoryFault, match="uses image slot 1; 1 are bound"):
        interpret(launch_of([isam("r1.x", "r5.x", texture=1)], textures=[pixels(np.float32)]))


def test_image_of_integers_is_unknown() -> None:
    with pytest.raises(UnknownInstruction, match="isam of type u32"):
        interpret(launch_of([isam("r1.x", "r5.x", kind="u32")], textures=[pixels(np.float32)]))

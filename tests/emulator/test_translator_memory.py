"""Memory of translated code: every access is checked, and a fault says where it happened."""

import numpy as np
import pytest
from emulator.a630_programs import atomic, ins, launch_of, load, mov, store
from emulator.translated_programs import TARGETS, WIDTHS, per_thread, run, store_result

from autoclave.errors import EmulationError, MemoryFault

targets = pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.cpu}-{target.lanes}")
few = pytest.mark.parametrize("target", [TARGETS[0], WIDTHS[1]], ids=lambda target: f"{target.cpu}-{target.lanes}")
widths = pytest.mark.parametrize("target", WIDTHS, ids=lambda target: f"{target.lanes}")

THREADS = 21


def address(low: str, register: int = 2, slot: str = "c0.w") -> list:
    """r<register>.xy: byte `low` of the buffer in slot 1."""
    return [mov(f"r{register}.x", low), mov(f"r{register}.y", slot)]


@few
@pytest.mark.parametrize(("kind", "size", "dtype"), [("u8", 1, np.uint8), ("u16", 2, np.uint16), ("u32", 4, np.uint32)])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("lead", [0, 1, 2])
def test_elements_of_every_size_at_any_address(target, kind: str, size: int, dtype, count: int, lead: int) -> None:
    # Thread t adds up `count` elements from byte lead + t * size on; the buffer itself starts at an odd place.
    data = np.random.default_rng(5).integers(0, 256, 200, np.uint8)[1:]
    to = "r5.x" if size == 4 else "hr5.x"
    parts = [f"{'h' if size < 4 else ''}r5.{'xyzw'[part]}" for part in range(count)]
    wide = [
        step
        for part in parts
        for step in (
            [mov("r6.x", part)] if size == 4 else [ins("cov", "r6.x", part, source_type="u16", type="u32")],
            [ins("add.u", "r1.x", "r1.x", "r6.x")],
        )
    ]
    program = [
        mov("r1.x", 0),
        ins("mull.u", "r3.x", "r0.x", size),
        ins("add.u", "r3.x", "r3.x", lead),
        *address("r3.x"),
        load("ldg", to, "r2.x", kind, count),
        *(instruction for step in wide for instruction in step),
    ]

    def expected(thread: int) -> int:
        start = lead + thread * size
        elements = data[start : start + size * count].tobytes()
        return int(np.frombuffer(elements, dtype).astype(np.uint64).sum()) & 0xFFFFFFFF

    found = per_thread(target, program, THREADS, more_buffers=[data])
    assert found == [expected(thread) for thread in range(THREADS)]


@targets
def test_all_threads_read_and_write_one_place(target) -> None:
    # The last thread's store is the one that stays.
    data = np.array([5, 6], np.uint32)
    program = [
        *address("c8.x"),
        load("ldg", "r1.x", "r2.x", offset=4),
        store("stg", "r2.x", "r0.x"),
    ]
    assert per_thread(target, program, THREADS, more_buffers=[data], constants=[0]) == [6] * THREADS
    assert data.tolist() == [THREADS - 1, 6]


@targets
def test_lanes_may_use_different_buffers(target) -> None:
    first, second = np.arange(100, 130, dtype=np.uint32), np.arange(200, 230, dtype=np.uint32)
    # Odd threads read from slot 2, even ones from slot 1.
    program = [
        ins("and.b", "r4.x", "r0.x", 1),
        ins("cmps.u", "p0.x", "r4.x", 1, condition="eq"),
        ins("shl.b", "r2.x", "r0.x", 2),
        ins("shl.b", "r4.y", "r4.x", 4),
        ins("add.u", "r2.y", "c0.w", "r4.y"),
        load("ldg", "r1.x", "r2.x"),
        ins("add.u", "r1.y", "r1.x", 1000),
        store("stg", "r2.x", "r1.y"),
    ]
    found = per_thread(target, program, 30, more_buffers=[first, second])
    assert found == [(200 if thread % 2 else 100) + thread for thread in range(30)]
    assert first[:4].tolist() == [1100, 101, 1102, 103]
    assert second[:4].tolist() == [200, 1201, 202, 1203]


@targets
def test_a_negative_offset_borrows_from_the_high_word(target) -> None:
    data = np.array([41, 42], np.uint32)
    # The address 2^32 beyond the buffer's start, less 2^32: high word + 1, low word 4 - 8 + 2^32 - ...
    program = [
        ins("add.u", "r2.y", "c0.w", 0),
        mov("r2.x", 8),
        load("ldg", "r1.x", "r2.x", offset=-4),
    ]
    assert per_thread(target, program, 3, more_buffers=[data]) == [42] * 3


@targets
@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("storing", [False, True])
def test_an_access_beyond_a_buffer_is_a_fault(target, uniform: bool, storing: bool) -> None:
    data = np.zeros(12, np.uint32)
    at = "c8.x" if uniform else "r3.x"
    program = [
        ins("shl.b", "r3.x", "r0.x", 2),
        *address(at),
        store("stg", "r2.x", "r0.x") if storing else load("ldg", "r1.x", "r2.x"),
    ]
    launch = launch_of(
        program, buffers=[data, data.copy()], constants=[48], local_size=(16, 1, 1), global_size=(2, 1, 1)
    )
    with pytest.raises(MemoryFault) as caught:
        run(launch, target)
    message = str(caught.value)
    thread = 0 if uniform else 12
    assert "kernel 'tested', pc 3, workgroup (0, 0, 0)" in message
    assert f"thread ({thread}, 0, 0)" in message
    assert f"of 4 bytes at address {(2 << 36) + 48:#x}, 48 bytes into buffer 1, which has 48" in message


@widths
@pytest.mark.parametrize("high", [0, 1 << 4 | 15, 3 << 4, 0xFFFFFFFF])
def test_an_address_of_no_buffer_is_a_fault(target, high: int) -> None:
    data = np.zeros(4, np.uint32)
    program = [mov("r2.x", "r0.x"), mov("r2.y", "c8.x"), load("ldg", "r1.x", "r2.x")]
    with pytest.raises(MemoryFault, match=rf"address {high << 32:#x}"):
        run(launch_of(program, buffers=[data, data.copy()], constants=[high], local_size=(9, 1, 1)), target)


@widths
def test_an_access_that_ends_beyond_a_buffer_is_a_fault(target) -> None:
    data = np.zeros(10, np.uint8)
    program = [*address("c8.x"), load("ldg", "r4.x", "r2.x", count=2)]
    with pytest.raises(MemoryFault, match="of 8 bytes at .* 3 bytes into buffer 1, which has 10"):
        run(launch_of(program, buffers=[data, data.copy()], constants=[3]), target)


@widths
@pytest.mark.parametrize("uniform", [False, True])
def test_writing_to_what_must_not_be_written_is_a_fault(target, uniform: bool) -> None:
    output, data = np.zeros(4, np.uint32), np.zeros(4, np.uint32)
    data.flags.writeable = False
    program = [
        ins("shl.b", "r3.x", "r0.x", 2),
        *address("c8.x" if uniform else "r3.x"),
        load("ldg", "r1.x", "r2.x"),
        store("stg", "r2.x", "r1.x"),
    ]
    launch = launch_of(program, buffers=[output, data], constants=[4], local_size=(4, 1, 1))
    with pytest.raises(MemoryFault, match="pc 4.* in buffer 1, which must not be written"):
        run(launch, target)


@widths
def test_lanes_that_take_no_part_do_not_fault(target) -> None:
    # Threads from 4 on would read beyond the end, and do not.
    data = np.array([7, 8, 9, 10], np.uint32)
    program = [
        mov("r1.x", 1),
        ins("shl.b", "r3.x", "r0.x", 2),
        *address("r3.x"),
        ins("cmps.u", "p0.x", "r0.x", 4, condition="lt"),
        ins("predt"),
        load("ldg", "r1.x", "r2.x"),
        ins("prede"),
    ]
    assert per_thread(target, program, 10, more_buffers=[data]) == [7, 8, 9, 10, *[1] * 6]


@widths
def test_the_first_fault_is_reported_however_many_host_threads_run(target) -> None:
    data = np.zeros(400, np.uint32)
    # Workgroup 100 and all behind it fault.
    program = [ins("shl.b", "r3.x", "r48.x", 2), *address("r3.x"), load("ldg", "r1.x", "r2.x")]
    for threads in (1, 2):
        launch = launch_of(program, buffers=[data[:1], data[:100]], global_size=(400, 1, 1))
        with pytest.raises(MemoryFault, match=r"workgroup \(100, 0, 0\)"):
            run(launch, target, threads=threads)


# Shared and private memory


@widths
@pytest.mark.parametrize("offset", [61, 64, -4])
def test_shared_memory_ends_where_the_kernel_says(target, offset: int) -> None:
    program = [mov("r2.x", offset), load("ldl", "r1.x", "r2.x")]
    with pytest.raises(MemoryFault, match="pc 1.*of 64 bytes of shared memory"):
        run(launch_of(program, shared_bytes=64, local_size=(5, 1, 1)), target)


@targets
def test_private_memory_is_each_threads_own_and_indexed_by_it(target) -> None:
    # p[0..3] = thread * 10 + 0..3; read p[thread % 4]
    program = [
        ins("mull.u", "r3.x", "r0.x", 10),
        ins("add.u", "r3.y", "r3.x", 1),
        ins("add.u", "r3.z", "r3.x", 2),
        ins("add.u", "r3.w", "r3.x", 3),
        mov("r2.x", 0),
        store("stp", "r2.x", "r3.x", count=4),
        ins("and.b", "r2.x", "r0.x", 3),
        ins("shl.b", "r2.x", "r2.x", 2),
        load("ldp", "r1.x", "r2.x"),
    ]
    found = per_thread(target, program, THREADS, private_bytes=16)
    assert found == [10 * thread + thread % 4 for thread in range(THREADS)]


@widths
def test_private_memory_beyond_its_end_reads_0_and_drops_writes(target) -> None:
    program = [
        mov("r3.x", 5),
        mov("r2.x", 12),
        store("stp", "r2.x", "r3.x", offset=1),
        store("stp", "r2.x", "r3.x"),
        load("ldp", "r4.x", "r2.x", count=2),
        load("ldp", "r5.x", "r2.x", offset=-13),
        ins("add.u", "r1.x", "r4.x", "r4.y"),
        ins("add.u", "r1.x", "r1.x", "r5.x"),
    ]
    assert per_thread(target, program, THREADS, private_bytes=16) == [5] * THREADS


@widths
def test_private_memory_is_zero_when_a_thread_begins(target) -> None:
    program = [
        mov("r2.x", 0),
        load("ldp", "r1.x", "r2.x"),
        store("stp", "r2.x", "r0.x"),
    ]
    assert per_thread(target, program, 70, private_bytes=4) == [0] * 70


# Registers by a0.x


@targets
def test_registers_that_a0_names(target) -> None:
    # r4.x..r5.w hold 100..107; read r<thread % 8 + 16>
    program = [
        *(mov(f"r{4 + number // 4}.{'xyzw'[number % 4]}", 100 + number) for number in range(8)),
        ins("and.b", "r2.x", "r0.x", 7),
        ins("cov", "hr2.x", "r2.x", source_type="u32", type="u16"),
        ins("mova", "a0.x", "hr2.x", source_type="s16", type="s16"),
        mov("r1.x", "r<16>"),
        mov("r<16>", "r0.x"),
        mov("r1.y", "r<16>"),
        ins("shl.b", "r1.y", "r1.y", 8),
        ins("add.u", "r1.x", "r1.x", "r1.y"),
        ins("shl.b", "r4.x", "r4.x", 16),
        ins("add.u", "r1.x", "r1.x", "r4.x"),
    ]

    def expected(thread: int) -> int:
        first = thread if thread % 8 == 0 else 100
        return 100 + thread % 8 + (thread << 8) + (first << 16)

    assert per_thread(target, program, THREADS) == [expected(thread) for thread in range(THREADS)]


@targets
@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("first", [64, 65])
def test_half_registers_that_a0_names(target, merged: bool, first: int) -> None:
    # Eight registers from number `first` on hold 100..107; read the one of thread % 8, and put the thread's number there
    names = [f"hr{number // 4}.{'xyzw'[number % 4]}" for number in range(first, first + 8)]
    program = [
        *(mov(name, f"h{100 + number}", "u16") for number, name in enumerate(names)),
        ins("and.b", "r2.x", "r0.x", 7),
        ins("cov", "hr6.x", "r2.x", source_type="u32", type="u16"),
        ins("cov", "hr6.y", "r0.x", source_type="u32", type="u16"),
        ins("mova", "a0.x", "hr6.x", source_type="s16", type="s16"),
        mov("hr6.z", f"hr<{first}>", "u16"),
        mov(f"hr<{first}>", "hr6.y", "u16"),
        mov("hr6.w", f"hr<{first}>", "u16"),
        ins("cov", "r1.x", "hr6.z", source_type="u16", type="u32"),
        ins("cov", "r1.y", "hr6.w", source_type="u16", type="u32"),
        ins("shl.b", "r1.y", "r1.y", 8),
        ins("add.u", "r1.x", "r1.x", "r1.y"),
    ]
    found = per_thread(target, program, THREADS, merged_registers=merged)
    assert found == [100 + thread % 8 + (thread << 8) for thread in range(THREADS)]


@targets
def test_constants_that_a0_names(target) -> None:
    program = [
        ins("cov", "hr2.x", "r0.x", source_type="u32", type="u16"),
        ins("mova", "a0.x", "hr2.x", source_type="s16", type="s16"),
        mov("r1.x", "c<32>"),
    ]
    assert per_thread(target, program, 5, constants=[3, 1, 4, 1, 5]) == [3, 1, 4, 1, 5]


@widths
@pytest.mark.parametrize(("named", "thread"), [("r<240>", 4), ("c<-1>", 0)])
def test_a_register_or_constant_that_there_is_not_is_a_fault(target, named: str, thread: int) -> None:
    program = [
        ins("cov", "hr2.x", "r0.x", source_type="u32", type="u16"),
        ins("mova", "a0.x", "hr2.x", source_type="s16", type="s16"),
        mov("r1.x", named),
    ]
    with pytest.raises(MemoryFault, match=rf"pc 2.*thread \({thread}, 0, 0\).*an index names"):
        run(launch_of(program, local_size=(6, 1, 1)), target)


# Atomics


@widths
@pytest.mark.parametrize(
    ("name", "kind", "before", "expected"),
    [
        ("add", "u32", 1, 1 + sum(range(40))),
        ("sub", "u32", 1000, 1000 - sum(range(40))),
        ("max", "u32", 5, 39),
        ("min", "s32", 5, 0),
        ("or", "u32", 0, 63),
        ("and", "u32", 0xFFFF, 0),
        ("xor", "u32", 0, 0),
        ("xchg", "u32", 77, 39),
    ],
)
def test_atomics_on_a_buffer(target, name: str, kind: str, before: int, expected: int) -> None:
    data = np.array([before], np.uint32)
    program = [*address("c8.x"), atomic(f"atomic.g.{name}", "r1.x", "r2.x", "r0.x", kind)]
    found = per_thread(target, program, 40, more_buffers=[data], constants=[0])
    assert data.tolist() == [expected]
    assert found[0] == before


@widths
def test_atomics_on_shared_memory_give_what_was_there_before(target) -> None:
    program = [mov("r2.x", 4), mov("r3.x", 3), atomic("atomic.add", "r1.x", "r2.x", "r3.x")]
    assert per_thread(target, program, THREADS, shared_bytes=8) == [3 * thread for thread in range(THREADS)]


@widths
def test_atomics_of_several_workgroups_do_not_depend_on_host_threads(target) -> None:
    output, counter = np.zeros(50, np.uint32), np.zeros(1, np.uint32)
    program = [
        *address("c8.x"),
        mov("r3.x", 1),
        atomic("atomic.g.add", "r1.x", "r2.x", "r3.x"),
        mov("r0.x", "r48.x"),
        *store_result("r1.x"),
    ]
    run(launch_of(program, buffers=[output, counter], constants=[0], global_size=(50, 1, 1)), target, threads=2)
    assert output.tolist() == list(range(50))


# What is bound


def test_a_launch_of_another_shape_is_refused() -> None:
    from emulator.translated_programs import bound, program_of

    launch = bound(launch_of([mov("r1.x", 1)], local_size=(4, 1, 1)))
    other = bound(launch_of([mov("r1.x", 1)], local_size=(5, 1, 1)))
    with pytest.raises(EmulationError, match="not that which was translated"):
        program_of(launch, WIDTHS[0]).prepare(other)


def test_an_image_that_is_written_must_be_writeable() -> None:
    image = np.zeros((2, 2, 4), np.float16)
    image.flags.writeable = False
    with pytest.raises(EmulationError, match="must not be written"):
        run(launch_of([mov("r1.x", 1)], images=[image]), WIDTHS[0])

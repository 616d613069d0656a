"""`autoclave trace`, through the command's own entry point, down to the interpreter."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from artifact.kernel_code import CPU, write_kernels, x86_object
from cli.command_line import autoclave
from emulator.a630_artifacts import ASTRAY, ELEMENT, FOREVER, STORE, WEIGHTS, example_inputs, write_artifact
from emulator.a630_programs import ins, mov
from emulator.gfx1200_artifacts import write_gfx1200_artifact

if TYPE_CHECKING:  # found by name or run as processes of their own; said here so that Pants knows
    import autoclave.cli.trace
    import autoclave.emulator.trace  # noqa: F401

OPEN = ("--sandbox", "none")

COUNTING = [
    *ELEMENT,
    mov("r5.x", 0),
    mov("r6.x", 0),
    ins("cmps.s", "p0.x", "r6.x", 5, condition="ge"),
    ins("br", (), "p0.x", target=4),
    ins("add.f", "r5.x", "r5.x", "r4.x"),
    ins("add.u", "r6.x", "r6.x", 1),
    ins("jump", (), target=-4),
    *STORE,
]
"""out = a, five times over; the loop is at pc 9 to 13."""


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: an artifact and inputs."""
    monkeypatch.chdir(tmp_path)
    write_artifact(tmp_path / "model.pkl")
    np.savez(tmp_path / "in.npz", **example_inputs())  # type: ignore[arg-type]
    return tmp_path


def columns(line: str) -> tuple[int, str, str]:
    """pc, instruction and values of a line."""
    return int(line[:6]), line[8:52].strip(), line[54:]


def test_every_instruction_with_what_it_writes_and_reads(capsys: pytest.CaptureFixture[str]) -> None:
    done = autoclave(capsys, "trace", "model.pkl", "add_bytes", "--lane", "1", "--inputs", "in.npz")

    assert done.code == 0, done.err
    title, *lines, last = done.out.splitlines()
    assert title == "kernel 2 add_bytes, launch 0 of 1, workgroup 0,0,0 of 2 x 1 x 1, lane 1 of 4 x 1 x 1"
    assert last == "the thread ended; 14 executions"
    assert [columns(line)[0] for line in lines] == list(range(14))
    inputs = {name: tensor.ravel() for name, tensor in example_inputs().items()}
    product = np.float32(inputs["x"][1] * np.float32(3 * WEIGHTS[1]))
    pixel = np.float32(inputs["pixels"][1])
    total = np.float32(product + pixel)
    bits = {value: f"{value.view(np.uint32):08x}" for value in (product, pixel, total)}
    pc, instruction, values = columns(lines[11])
    assert (pc, instruction) == (11, "add.f r5.x, r4.x, r4.y")
    assert f"r5.x {bits[total]} (" in values
    assert f"<- r4.x {bits[product]} (" in values
    assert f"r4.y {bits[pixel]} (" in values


def test_half_constants_are_shown_as_they_are_read(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demoting = [
        *ELEMENT,
        mov("r5.x", "c8.x"),
        mov("hr0.x", "h0x3C00", "u16"),
        ins("add.f", "hr1.x", "hr0.x", "hc8.x"),
        ins("add.u", "hr1.z", "hr0.x", "hc8.x"),
        *STORE,
    ]
    write_artifact(
        directory / "half.pkl", demoting, name="half", immediates_offset=128, immediates=[0xC3000000, 0, 0, 0]
    )
    done = autoclave(capsys, "trace", "half.pkl", "half", "--from-pc", "7", *OPEN)

    values = [columns(line)[2] for line in done.out.splitlines()[1:-3]]
    assert values == [
        "r5.x c3000000 (-128.0) <- c8.x c3000000 (-128.0)",
        "hr0.x 3c00 (1.0)",
        "hr1.x d7f0 (-127.0) <- hr0.x 3c00 (1.0), hc8.x d800 (-128.0)",
        "hr1.z 3c00 (1.0) <- hr0.x 3c00 (1.0), hc8.x 0000 (0)",
    ]


def test_another_workgroup_and_launch(capsys: pytest.CaptureFixture[str]) -> None:
    done = autoclave(capsys, "trace", "model.pkl", "2", "--workgroup", "1,0,0", "--lane", "2", "--limit", "2", *OPEN)

    assert done.out.splitlines() == [
        "kernel 2 add_bytes, launch 0 of 1, workgroup 1,0,0 of 2 x 1 x 1, lane 2 of 4 x 1 x 1",
        "     0  shl.b r1.x, r48.x, 2                          r1.x 00000004 (4) <- r48.x 00000001 (1)",
        "     1  add.u r1.x, r1.x, r0.x                        r1.x 00000006 (6) <- r1.x 00000004 (4), r0.x 00000002 (2)",
        "stopped, 2 executions shown; --limit shows more, --from-pc begins later",
    ]


def test_loop_is_shown_a_few_times(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_artifact(directory / "loop.pkl", COUNTING, name="counting")
    done = autoclave(capsys, "trace", "loop.pkl", "counting", "--times", "1", "--from-pc", "9", *OPEN)

    assert [line[:6].strip() for line in done.out.splitlines()[1:-1]] == [
        "9",
        "10",
        "11",
        "12",
        "13",
        "...",
        "14",
        "15",
    ]
    assert "22 executions of pc 9 to 13; --times shows more" in done.out
    everything = autoclave(capsys, "trace", "loop.pkl", "counting", "--times", "0", *OPEN).out.splitlines()
    assert len(everything) == 2 + 9 + 5 * 5 + 2 + 2


def test_pc_that_is_never_reached(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skipping = [*ELEMENT, mov("r5.x", 0), ins("jump", (), target=2), mov("r5.x", 1), *STORE]
    write_artifact(directory / "skipping.pkl", skipping, name="skipping")
    done = autoclave(capsys, "trace", "skipping.pkl", "skipping", "--from-pc", "9", *OPEN)
    assert done.out.splitlines()[-1] == "the thread ended and never reached pc 9"


def test_pc_between_two_instructions_is_refused(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_gfx1200_artifact(directory / "chestnut.pkl")
    listed = autoclave(capsys, "disasm", "chestnut.pkl", "multiply", "--json").json
    long = next(at for at, instruction in enumerate(listed) if len(instruction["code"]) > 8)
    before, after = listed[long]["pc"], listed[long + 1]["pc"]

    done = autoclave(capsys, "trace", "chestnut.pkl", "multiply", "--from-pc", str(before + 4), *OPEN)

    assert done.code == 2
    assert f"no instruction begins at pc {before + 4}; it is between pc {before} and pc {after}" in done.err


def test_fault_ends_the_trace_behind_what_led_to_it(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_artifact(directory / "astray.pkl", ASTRAY, name="astray")
    done = autoclave(capsys, "trace", "astray.pkl", "astray", "--lane", "3", *OPEN)

    assert done.code == 2
    assert "kernel 'astray', pc 9, workgroup (0, 0, 0), thread 3: access of 4 bytes to no buffer" in done.err
    assert [columns(line)[0] for line in done.out.splitlines()[1:]] == list(range(9))


def test_endless_loop_ends_with_the_limit(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_artifact(directory / "forever.pkl", FOREVER, name="forever")
    done = autoclave(capsys, "trace", "forever.pkl", "forever", "--limit", "20", "--times", "0", *OPEN)
    assert done.out.splitlines()[-1].startswith("stopped, 20 executions shown")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add_byte5",), "there is no kernel 'add_byte5'; did you mean add_bytes or"),
        (("2", "--launch", "1"), "launches kernel 2 1 time; --launch counts from 0"),
        (("2", "--workgroup", "2,0,0"), "there is no workgroup 2,0,0; the launch has 2 x 1 x 1"),
        (("2", "--lane", "4"), "there is no lane 4; a workgroup has 4 threads, 4 x 1 x 1"),
        (("2", "--part", "rum"), "there is no part rum; did you mean run?"),
        (("2", "--workgroup", "1,b,0"), "expected three numbers such as 0,3,1, got 1,b,0"),
        (("2", "--workgroup", "1"), "expected three numbers such as 0,3,1, got 1"),
        (("2", "--workgroup", "1,0,0,0"), "expected three numbers such as 0,3,1, got 1,0,0,0"),
        (("2", "--from-pc", "99"), "kernel 'add_bytes': no instruction begins at pc 99; the last is at pc 13"),
        (("2", "--limit", "-1"), "expected a whole number from 0 up, got -1"),
    ],
)
def test_what_is_not_there(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str) -> None:
    done = autoclave(capsys, "trace", "model.pkl", *words)
    assert done.code == 2
    assert message in done.err


def test_other_hardware_is_refused(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_kernels(directory / "cpu.pkl", CPU, [("add", x86_object("add"))])
    done = autoclave(capsys, "trace", "cpu.pkl", "0")
    assert (done.code, "trace takes artifacts of hardware qcom and chestnut" in done.err) == (2, True)


def test_a_thread_of_chestnut(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_gfx1200_artifact(directory / "chestnut.pkl")

    done = autoclave(capsys, "trace", "chestnut.pkl", "multiply", "--inputs", "in.npz", "--lane", "1", *OPEN)

    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "kernel 1 multiply, launch 0 of 1, workgroup 0,0,0 of 2 x 1 x 1, lane 1 of 4 x 1 x 1"
    assert any("v_mul_f32" in line or "v_dual_mul_f32" in line for line in lines)
    assert lines[-1].startswith("the thread ended; ")


@pytest.mark.parametrize("hardware", ["qcom", "chestnut"])
@pytest.mark.parametrize("kernel", ["add_bytes", "multiply"])
def test_pc_of_a_trace_is_found_in_disasm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hardware: str, kernel: str
) -> None:
    artifact = tmp_path / "either.pkl"
    if hardware == "qcom":
        write_artifact(artifact)
    else:
        write_gfx1200_artifact(artifact)

    traced = autoclave(capsys, "trace", artifact, kernel, *OPEN).out.splitlines()[1:-1]
    disassembled = autoclave(capsys, "disasm", artifact, kernel, "--json")

    assert disassembled.code == 0, disassembled.err
    codes = {instruction["pc"]: instruction["text"].split()[-1] for instruction in disassembled.json}
    assert len(traced) > 5
    assert all(codes[columns(line)[0]] in line for line in traced)


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    done = autoclave(capsys, "trace", "--help")
    assert done.code == 0
    assert "autoclave trace ARTIFACT 3 --workgroup 0,0,7" in done.out

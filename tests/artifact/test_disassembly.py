"""Kernels as instructions: what the decoders say, and what happens to code that is none."""

import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from artifact.kernel_code import A630_LOOP, CHESTNUT, CPU, QCOM, amd_object, gfx1200_object, write_kernels, x86_object

import autoclave
from autoclave.artifact.disassembly.disassemble import architecture, disassemble
from autoclave.artifact.disassembly.instruction import Instruction
from autoclave.artifact.model import Target
from autoclave.artifact.reader import open_artifact
from autoclave.cli.decoders import DECODERS
from autoclave.errors import ArtifactError, ToolchainError

if TYPE_CHECKING:  # run as a process of its own; said here so that Pants knows
    import autoclave.cli.main  # noqa: F401


def decoded(tmp_path: Path, target: Target, code: bytes, name: str = "kernel") -> tuple[Instruction, ...]:
    write_kernels(tmp_path / "artifact.pkl", target, [(name, code)])
    with open_artifact(tmp_path / "artifact.pkl") as artifact:
        return disassemble(artifact, [0], DECODERS)[0]


def test_a630_code_is_shown_as_mesa_shows_it(tmp_path: Path) -> None:
    instructions = decoded(tmp_path, QCOM, A630_LOOP)
    assert [instruction.text for instruction in instructions] == [
        "(rpt2)mov.f32f32 r0.w, (r)c2.x",
        "add.u r3.z, r3.z, r3.w",
        "madsh.m16 r4.x, c4.x, r2.y, r4.x",
        "jump #l1",
        "end",
    ]
    assert [instruction.label for instruction in instructions] == [None, "l1", None, None, None]
    assert b"".join(instruction.code for instruction in instructions) == A630_LOOP


def test_a630_word_that_is_no_instruction_is_shown_as_such(tmp_path: Path) -> None:
    *_, last = decoded(tmp_path, QCOM, A630_LOOP + struct.pack("<Q", (1 << 64) - 1))
    assert last.offset == len(A630_LOOP)
    assert last.text == "no match: ffffffffffffffff"


def test_a630_noise_is_decoded_one_instruction_per_eight_bytes(tmp_path: Path) -> None:
    noise = random.Random(630).randbytes(8 * 500)
    instructions = decoded(tmp_path, QCOM, noise)
    assert [instruction.offset for instruction in instructions] == list(range(0, len(noise), 8))
    assert all(instruction.text for instruction in instructions)


def test_a630_code_of_odd_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="kernel 'kernel': a630 code of 41 bytes is not whole instructions of 8"):
        decoded(tmp_path, QCOM, A630_LOOP + b"x")


def test_gfx1200_code_object_is_decoded_up_to_its_function_s_end(tmp_path: Path) -> None:
    instructions = decoded(tmp_path, CHESTNUT, gfx1200_object("exp"), "exp")
    texts = [instruction.text for instruction in instructions]
    assert "v_exp_f16_e32 v1, v1" in texts
    assert "v_and_b32_e32 v0, 0x3ff, v0" in texts
    assert "global_load_u16 v1, v0, s[2:3]" in texts
    assert texts[0].startswith("s_load_b128 s[0:3], s[")
    assert texts[-1] == "s_endpgm"
    assert [instruction.offset for instruction in instructions[1:]] == [
        instruction.offset + len(instruction.code) for instruction in instructions[:-1]
    ]


COUNT = """
define amdgpu_kernel void @count(ptr addrspace(1) %out, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%next, %loop]
  store volatile i32 %i, ptr addrspace(1) %out
  %next = add i32 %i, 1
  %go = icmp slt i32 %next, %n
  br i1 %go, label %loop, label %end
end:
  ret void
}
"""


def test_gfx1200_branch_names_the_instruction_that_it_goes_to(tmp_path: Path) -> None:
    instructions = decoded(tmp_path, CHESTNUT, amd_object(COUNT), "count")
    (branch,) = [instruction for instruction in instructions if "branch" in instruction.text]
    (labelled,) = [instruction for instruction in instructions if instruction.label is not None]
    (distance,) = struct.unpack("<h", branch.code[:2])
    assert branch.text == f"s_cbranch_scc1 {labelled.label}"
    assert labelled.pc == branch.pc + 4 + 4 * distance < branch.pc
    assert labelled.label == f"l{labelled.pc}"


def test_pc_counts_instructions_of_the_a630_and_bytes_elsewhere(tmp_path: Path) -> None:
    a630 = decoded(tmp_path, QCOM, A630_LOOP)
    others = decoded(tmp_path, CHESTNUT, gfx1200_object("exp"), "exp"), decoded(tmp_path, CPU, x86_object("f"), "f")
    assert [instruction.pc for instruction in a630] == [0, 1, 2, 3, 4]
    assert all(instruction.pc == instruction.offset for code in others for instruction in code)


def test_gfx1200_is_decoded_without_any_compiler(tmp_path: Path) -> None:
    write_kernels(tmp_path / "artifact.pkl", CHESTNUT, [("exp", gfx1200_object("exp"))])
    script = (
        "import sys; from pathlib import Path; from autoclave.cli.main import main; "
        "main(['disasm', sys.argv[1], '0']); print(*{name.partition('.')[0] for name in sys.modules})"
    )
    environment = {"PYTHONPATH": ":".join([str(Path(autoclave.__file__).parents[1]), *sys.path])}
    command = [sys.executable, "-c", script, str(tmp_path / "artifact.pkl")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    *_, end, imported = done.stdout.splitlines()
    assert end.endswith("s_endpgm")
    assert not {"tinygrad", "llvmlite", "tinymesa"} & set(imported.split())


def test_gfx1200_word_that_is_no_instruction_is_shown_as_data(tmp_path: Path) -> None:
    code = gfx1200_object("exp")
    endpgm = struct.pack("<I", 0xBFB00000)
    instructions = decoded(tmp_path, CHESTNUT, code.replace(endpgm, b"\xff" * 4, 1), "exp")
    assert instructions[-1].text == ".long 0xffffffff"


def test_gfx1200_noise_is_decoded_to_its_last_byte(tmp_path: Path) -> None:
    code = bytearray(gfx1200_object("exp"))
    section = code.find(struct.pack("<I", 0xBF870001))
    code[section - 16 : section + 48] = random.Random(1200).randbytes(64)
    assert sum(len(instruction.code) for instruction in decoded(tmp_path, CHESTNUT, bytes(code), "exp")) == 64


def test_x86_object_is_decoded_by_function(tmp_path: Path) -> None:
    texts = [instruction.text for instruction in decoded(tmp_path, CPU, x86_object("add"), "add")]
    assert texts == ["lea eax, [rdi + rsi]", "ret"]


@pytest.mark.parametrize("target", [CHESTNUT, CPU], ids=["gfx1200", "x86-64"])
@pytest.mark.parametrize(
    ("code", "message"),
    [
        (b"no object", "not a 64-bit little-endian ELF file"),
        (b"\x7fELF\x02\x01" + b"\xff" * 100, "section table is malformed"),
        (b"\x7fELF\x02\x01" + bytes(100), "section table is malformed"),
    ],
    ids=["not ELF", "everything huge", "no sections"],
)
def test_malformed_object_is_refused(tmp_path: Path, target: Target, code: bytes, message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        decoded(tmp_path, target, code)


def test_mutated_objects_are_decoded_or_refused(tmp_path: Path) -> None:
    from autoclave.artifact.disassembly.elf import function_code

    chance = random.Random(64)
    valid = gfx1200_object("exp")
    for _ in range(2000):
        code = bytearray(valid)
        for _ in range(chance.randint(1, 6)):
            code[chance.choice((chance.randrange(64), chance.randrange(len(code))))] = chance.choice(
                (0, 1, 127, 128, 255)
            )
        try:
            assert len(function_code(bytes(code), "exp")) <= len(code)
        except ArtifactError:
            pass


@pytest.mark.parametrize(
    ("target", "package"),
    [(QCOM, "tinymesa"), (CPU, "capstone")],
    ids=["a630", "x86-64"],
)
def test_missing_decoder_is_named_with_the_way_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: Target, package: str
) -> None:
    for module in ("a630", "x86"):
        monkeypatch.delitem(sys.modules, f"autoclave.artifact.disassembly.{module}", raising=False)
    for module in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [_Missing(package), *sys.meta_path])
    with pytest.raises(ToolchainError, match=rf"needs the package {package}: pip install {package}"):
        decoded(tmp_path, target, b"code")


class _Missing:
    """An import finder that has never heard of one package."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.split(".")[0] == self._package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_unknown_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ArtifactError, match="architecture 'gfx942' has no disassembler; there are ones for a630, gfx1200"
    ):
        decoded(tmp_path, Target("AMD", "HIP", "gfx942"), b"code")


def test_kernel_s_architecture_is_that_of_the_part_that_launches_it(tmp_path: Path) -> None:
    write_kernels(tmp_path / "artifact.pkl", QCOM, [("kernel", A630_LOOP)])
    with open_artifact(tmp_path / "artifact.pkl") as artifact:
        assert architecture(artifact.header, 0) == "a630,IMAGE_PITCH_ALIGNMENT=64"

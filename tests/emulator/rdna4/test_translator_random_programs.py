"""Random programs compute the same in translated host code as in the interpreter: registers in all forms, halves, EXEC, loads, stores.

A program is made of statements, some of them within regions that switch lanes off, nested, with both sides of an if. It ends by
storing all of its registers, in all lanes.
"""

import random

import numpy as np
import pytest
from emulator.rdna4.translated_waves import LEVELS, TARGETS, assert_agree
from emulator.rdna4.wave_programs import ADDRESSES, dual, ins, launch_of
from numpy.typing import NDArray

from autoclave.emulator.launch import Size3
from autoclave.emulator.rdna4.instruction import Instruction, Source

_REGISTERS = 10
_MASKS = ("s40", "s41", "vcc")
_SINGLE = ("v_add_f32", "v_mul_f32", "v_sub_f32", "v_max_num_f32", "v_min_num_f32")
_HALF = ("v_add_f16", "v_mul_f16", "v_sub_f16", "v_max_num_f16")
_INTEGER = ("v_add_nc_u32", "v_xor_b32", "v_and_b32", "v_or_b32", "v_lshlrev_b32", "v_lshrrev_b32")
_PACKED = ("v_pk_add_f16", "v_pk_mul_f16", "v_pk_max_num_f16")
_COMPARE = ("v_cmp_lt_f32", "v_cmp_gt_u32", "v_cmp_lt_f16", "v_cmp_neq_f16", "v_cmp_eq_u32")
_LAST = 150
_DATA_BYTES = 4096

Statement = Instruction | str


class _Maker:
    """Makes one program. Registers v1 to v10 are the program's, v250 and up say where things lie."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.statements: list[Statement] = []
        self.labels = 0
        self.saved = 50

    def register(self) -> str:
        """One of the program's."""
        return f"v{self.random.randint(1, _REGISTERS)}"

    def half(self) -> str:
        """A half of one."""
        return self.register() + self.random.choice(("", "", ".h"))

    def value(self) -> str | int:
        """A register or a small constant."""
        return self.random.choice((self.register(), self.register(), self.register(), self.random.randint(0, 20)))

    def simple(self) -> list[Statement]:
        """One statement without a branch."""
        pick = self.random.choice
        return pick((self._single, self._halves, self._integers, self._packed, self._move, self._mask, self._memory))()

    def _single(self) -> list[Statement]:
        if self.random.random() < 0.3:
            return [ins("v_fma_f32", self.register(), self.register(), f"-{self.register()}", f"|{self.register()}|")]
        return [ins(self.random.choice(_SINGLE), self.register(), self.register(), self.register(), encoding="VOP3")]

    def _halves(self) -> list[Statement]:
        kind = self.random.random()
        if kind < 0.2:
            return [ins("v_cvt_f16_f32", self.half(), self.register())]
        if kind < 0.4:
            return [ins("v_cvt_f32_f16", self.register(), self.half())]
        return [ins(self.random.choice(_HALF), self.half(), self.half(), f"-{self.half()}", encoding="VOP3")]

    def _integers(self) -> list[Statement]:
        return [ins(self.random.choice(_INTEGER), self.register(), self.value(), self.register())]

    def _packed(self) -> list[Statement]:
        first, second = (
            Source(ins("v_mov_b32", self.register(), 0).destinations[0].operand, "f16x2", high=low, high_of_second=high)
            for low, high in ((self._flip(), self._flip()) for _ in range(2))
        )
        return [ins(self.random.choice(_PACKED), self.register(), first, second)]

    def _flip(self) -> bool:
        return self.random.random() < 0.5

    def _move(self) -> list[Statement]:
        kind = self.random.randint(0, 5)
        if kind == 0:
            return [ins("v_cndmask_b32", self.register(), self.value(), self.register(), self.random.choice(_MASKS))]
        if kind == 1:
            return [ins("v_pack_b32_f16", self.register(), self.half(), self.half())]
        if kind == 2:
            selector = self.random.choice((0x05040100, 0x07060302, 0x07060100, 0x05040302, 0x01000504, 0x0C0C0100))
            return [ins("v_perm_b32", self.register(), self.register(), self.register(), selector)]
        if kind == 3:
            return [ins("v_alignbit_b32", self.register(), self.register(), self.register(), 16)]
        if kind == 4:
            even, odd = (f"v{2 * self.random.randint(1, 4) + step}" for step in range(2))
            first = ins("v_dual_mov_b32", even, odd, encoding="VOPD")
            return [dual(first, ins("v_dual_mov_b32", odd, self.random.randint(0, 9), encoding="VOPD"))]
        return [ins("v_mov_b32", self.register(), self.value())]

    def _mask(self) -> list[Statement]:
        if self._flip():
            name = self.random.choice(_COMPARE)
            return [ins(name, self.random.choice(_MASKS), self.register(), self.register(), encoding="VOP3")]
        names = ("s_and_b32", "s_or_b32", "s_xor_b32", "s_and_not1_b32")
        first, second = self.random.choice((*_MASKS, "exec")), self.random.choice(_MASKS)
        return [ins(self.random.choice(names), self.random.choice(_MASKS), first, second)]

    def _memory(self) -> list[Statement]:
        """A load from the second buffer, from somewhere that depends on the lane, or on a register."""
        place = [ins("v_lshlrev_b32", "v250", self.random.randint(0, 4), "v255")]
        if self._flip():
            place = [ins("v_and_b32", "v250", 0xFF0, self.register())]
        name = self.random.choice(("b32", "u16", "u8", "i8", "d16_b16", "d16_hi_b16"))
        offset = self.random.randint(0, 8)
        return [*place, ins(f"global_load_{name}", self.register(), "v250", "s[102:103]", immediate=offset)]

    def region(self, depth: int) -> None:
        """Statements for some of the lanes; maybe others for those that are off meanwhile."""
        saved = f"s{self.saved}"
        self.saved += 1
        self.statements.append(ins("s_and_saveexec_b32", saved, self.random.choice(_MASKS)))
        label = len([one for one in self.statements if isinstance(one, str)])
        if self._flip():
            self.statements += [ins("s_xor_b32", saved, "exec", saved)]
            self.body(depth + 1)
            self.statements += [ins("s_or_saveexec_b32", saved, saved), ins("s_xor_b32", "exec", "exec", saved)]
            self.body(depth + 1)
        else:
            self._skip(label, depth)
        self.statements.append(ins("s_or_b32", "exec", "exec", saved))

    def _skip(self, label: int, depth: int) -> None:
        """A body that is jumped over where no lane is on. Labels are numbered by place, so it holds no regions."""
        self.statements.append(ins("s_cbranch_execz", target=label))
        for _ in range(self.random.randint(1, 4)):
            self.statements += self.simple()
        self.statements.append(f"behind {label}")

    def body(self, depth: int) -> None:
        """Some statements, and regions if it is not too deep."""
        for _ in range(self.random.randint(2, 6)):
            if depth < 3 and self.random.random() < 0.3:
                self.region(depth)
            else:
                self.statements += self.simple()


def _program(seed: int) -> list[Statement]:
    maker = _Maker(seed)
    start: list[Statement] = [
        *ADDRESSES,
        ins("s_mul_i32", "s60", "ttmp9", _REGISTERS * 4 * 64),
        ins("s_add_nc_u64", "s[100:101]", "s[100:101]", "s[60:61]"),
        ins("v_and_b32", "v255", 0x3FF, "v0"),
    ]
    for number in range(1, _REGISTERS + 1):
        start += [
            ins("v_lshlrev_b32", "v250", 2, "v255"),
            ins("global_load_b32", f"v{number}", "v250", "s[102:103]", immediate=128 * number),
        ]
    start += [ins("v_cmp_gt_f32", mask, "v1", f"v{place + 2}", encoding="VOP3") for place, mask in enumerate(_MASKS)]
    for _ in range(4):
        maker.body(0)
    end: list[Statement] = [ins("v_lshlrev_b32", "v250", 2, "v255")]
    end += [
        ins("global_store_b32", (), "v250", f"v{number}", "s[100:101]", immediate=256 * (number - 1))
        for number in range(1, _REGISTERS + 1)
    ]
    return [*start, *maker.statements, *end]


def _data(seed: int) -> NDArray[np.uint32]:
    """Half of it small numbers as f32 or f16, the rest any bits, special values among them."""
    generator = np.random.default_rng(seed)
    words = generator.integers(0, 1 << 32, _DATA_BYTES // 4, np.uint32)
    words[::4] = generator.standard_normal(words[::4].size).astype(np.float32).view(np.uint32)
    words[1::4] = generator.standard_normal(2 * words[1::4].size).astype(np.float16).view(np.uint32)
    special = np.array(
        [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x7C007C00, 0xFE017D00, 1, 0x03FF0001]
    )
    words[2::4][: 4 * special.size : 4] = special.astype(np.uint32)
    return words


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed: int) -> None:
    sizes: tuple[Size3, ...] = ((32, 1, 1), (16, 1, 1), (5, 1, 1), (48, 1, 1))
    local_size = sizes[seed % len(sizes)]
    output = np.zeros((2, _REGISTERS, 64), np.uint32)
    launch = launch_of(_program(seed), [output, _data(seed)], (2, 1, 1), local_size)
    targets = TARGETS if seed % 4 == 0 else [TARGETS[seed % len(LEVELS)]]
    assert_agree(launch, targets)

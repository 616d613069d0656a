"""Which products of matrices all lanes reach."""

import pytest
from emulator.rdna4.wave_programs import ins, launch_of

from autoclave.emulator.interpretation import MatrixUse
from autoclave.emulator.rdna4.decoder import decode_kernel
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.launch import kernel_of
from autoclave.emulator.rdna4.matrices import matrix_use

Program = list[Instruction | str]

PRODUCT = ins("v_wmma_f32_16x16x16_f16", "v[8:15]", "v[2:5]", "v[2:5]", 0)
"""Of 8 bytes."""

FIRST_EIGHT = ins("v_cmpx_gt_u32", (), 8, "v0", encoding="VOPC")
"""Of 4 bytes."""


def use(program: Program, threads: int = 32) -> MatrixUse:
    launch = launch_of(program, local_size=(threads, 1, 1))
    kernel = kernel_of(launch)
    return matrix_use(launch, decode_kernel(kernel.code, kernel.name))


def test_all_lanes_reach_what_is_not_behind_a_branch() -> None:
    assert use([PRODUCT, FIRST_EIGHT, ins("v_mov_b32", "v1", "v8")]) == MatrixUse(1, ())


def test_product_behind_a_comparison_that_switches_lanes_off() -> None:
    assert use([PRODUCT, FIRST_EIGHT, PRODUCT]) == MatrixUse(2, (12,))


def test_all_lanes_are_back_behind_the_branch() -> None:
    program: Program = [
        ins("s_and_saveexec_b32", "s4", "vcc"),
        ins("s_cbranch_execz", target=0),
        ins("v_mov_b32", "v2", 0),
        "behind",
        ins("s_or_b32", "exec", "exec", "s4"),
        PRODUCT,
    ]
    assert use(program) == MatrixUse(1, ())


@pytest.mark.parametrize(("threads", "partial"), [(32, ()), (64, ()), (16, (0,)), (48, (0,))])
def test_lanes_that_hold_no_thread_reach_nothing(threads: int, partial: tuple[int, ...]) -> None:
    assert use([PRODUCT], threads) == MatrixUse(1, partial)


def test_product_that_is_never_reached_does_not_count() -> None:
    assert use([ins("s_branch", target=0), PRODUCT, "end"]) == MatrixUse(0, ())


def test_kernel_without_products() -> None:
    assert use([FIRST_EIGHT]) == MatrixUse(0, ())

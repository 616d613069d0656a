"""Where the translator knows that all lanes are on: so it leaves EXEC alone there. And what lanes that are off have to keep."""

from collections.abc import Mapping, Sequence

from emulator.rdna4.wave_programs import code_of, ins

from autoclave.emulator.rdna4.decoder import decode_kernel
from autoclave.emulator.rdna4.instruction import EXEC, Instruction
from autoclave.emulator.rdna4.translator.effects import effect_of
from autoclave.emulator.rdna4.translator.execution import analyse_execution, full_at
from autoclave.emulator.rdna4.translator.flow import Block, find_blocks
from autoclave.emulator.rdna4.translator.observation import Observation, analyse_uses
from autoclave.emulator.rdna4.translator.variables import scalar_place, vector_place

Program = Sequence[Instruction | str]


def _blocks(program: Program) -> tuple[Block, ...]:
    return find_blocks(decode_kernel(code_of([*program, ins("s_endpgm")])), "k")


def _full(program: Program) -> dict[str, bool]:
    """Whether all lanes are on at each v_mov_b32, by the register that it writes."""
    blocks = _blocks(program)
    known: Mapping[int, bool] = full_at(analyse_execution(blocks), blocks)
    moves = [one for block in blocks for one in block.instructions if one.name == "v_mov_b32"]
    return {f"v{one.destinations[0].operand.number}": known[one.pc] for one in moves}


def test_a_region_that_is_left_again() -> None:
    program = [
        ins("v_mov_b32", "v1", 0),
        ins("s_and_saveexec_b32", "s4", "vcc"),
        ins("s_cbranch_execz", target=0),
        ins("v_mov_b32", "v2", 0),
        "behind",
        ins("s_or_b32", "exec", "exec", "s4"),
        ins("v_mov_b32", "v3", 0),
    ]
    assert _full(program) == {"v1": True, "v2": False, "v3": True}


def test_a_region_after_a_comparison_that_writes_exec() -> None:
    program = [
        ins("s_mov_b32", "s4", "exec"),
        ins("v_cmpx_gt_u32", (), 8, "v0"),
        ins("v_mov_b32", "v2", 0),
        ins("s_mov_b32", "exec", "s4"),
        ins("v_mov_b32", "v3", 0),
    ]
    assert _full(program) == {"v2": False, "v3": True}


def test_both_sides_of_an_if() -> None:
    program = [
        ins("s_and_saveexec_b32", "s4", "vcc"),
        ins("s_xor_b32", "s4", "exec", "s4"),
        ins("v_mov_b32", "v1", 0),
        ins("s_or_saveexec_b32", "s4", "s4"),
        ins("v_mov_b32", "v2", 0),
        ins("s_xor_b32", "exec", "exec", "s4"),
        ins("v_mov_b32", "v3", 0),
        ins("s_or_b32", "exec", "exec", "s4"),
        ins("v_mov_b32", "v4", 0),
    ]
    assert _full(program) == {"v1": False, "v2": True, "v3": False, "v4": True}


def test_regions_in_regions() -> None:
    program = [
        ins("s_and_saveexec_b32", "s4", "vcc"),
        ins("s_and_saveexec_b32", "s5", "s6"),
        ins("s_or_b32", "exec", "exec", "s5"),
        ins("v_mov_b32", "v1", 0),
        ins("s_or_b32", "exec", "exec", "s4"),
        ins("v_mov_b32", "v2", 0),
    ]
    assert _full(program) == {"v1": False, "v2": True}


def test_a_saved_mask_that_is_overwritten_restores_nothing() -> None:
    program = [
        ins("s_and_saveexec_b32", "s4", "vcc"),
        ins("s_mov_b32", "s4", 1),
        ins("s_or_b32", "exec", "exec", "s4"),
        ins("v_mov_b32", "v1", 0),
    ]
    assert _full(program) == {"v1": False}


def test_a_condition_of_an_earlier_iteration_is_another_one() -> None:
    # s5 is what EXEC was at the loop's last pass, so that putting it together with this pass's rest gives nothing known.
    program = [
        ins("s_mov_b32", "s5", 0),
        "again",
        ins("s_and_saveexec_b32", "s4", "vcc"),
        ins("s_xor_b32", "s6", "exec", "s4"),
        ins("s_or_b32", "exec", "s6", "s5"),
        ins("v_mov_b32", "v1", 0),
        ins("s_mov_b32", "exec", "s4"),
        ins("s_xor_b32", "s5", "s6", "s4"),
        ins("v_cmp_gt_u32", "vcc", 8, "v0"),
        ins("s_cbranch_scc1", target=0),
    ]
    assert _full(program) == {"v1": False}


def _observed(program: Program) -> tuple[tuple[Block, ...], Observation]:
    blocks = _blocks(program)
    effects = [[effect_of(one) for one in block.instructions] for block in blocks]
    return blocks, analyse_uses(blocks, effects, analyse_execution(blocks))


def test_lanes_that_are_off_keep_what_is_read_behind_the_region() -> None:
    program = [
        ins("s_and_saveexec_b32", "s4", "vcc"),
        ins("v_mov_b32", "v1", "v9"),
        ins("v_mov_b32", "v2", "v1"),
        ins("s_or_b32", "exec", "exec", "s4"),
        ins("global_store_b32", (), "v[4:5]", "v2"),
    ]
    _, observation = _observed(program)
    (behind,) = observation.behind
    assert behind[1].kept & vector_place(1) == 0  # read within the region only
    assert behind[1].kept & vector_place(2) == vector_place(2)


def test_halves_are_observed_apart() -> None:
    program = [
        ins("v_add_f16", "v1", "v2", "v3", encoding="VOP3"),
        ins("global_store_b16", (), "v[4:5]", "v1"),
    ]
    _, observation = _observed(program)
    assert observation.behind[0][0].live & vector_place(1) == vector_place(1, 1)


def test_exec_is_always_read() -> None:
    _, observation = _observed([ins("v_mov_b32", "v1", 0)])
    assert observation.at_begin[0].live & scalar_place(EXEC)

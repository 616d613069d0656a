"""What is told of the kernels that ran on an emulated device."""

import json
from pathlib import Path

import pytest
from emulator.rdna4.wave_programs import dual, ins, kernel_of, kernel_of_code

from autoclave.emulator.tinygrad_device.survey import Survey
from autoclave.errors import UnknownInstruction


def written(survey: Survey, tmp_path: Path) -> dict:
    survey.write(tmp_path / "survey.json")
    return json.loads((tmp_path / "survey.json").read_text())


def test_both_operations_of_a_pair_are_counted(tmp_path: Path) -> None:
    first = ins("v_dual_mul_f32", "v0", "v2", "v4", encoding="VOPD")
    second = ins("v_dual_add_f32", "v1", "v3", "v5", encoding="VOPD")
    survey = Survey()

    with survey.launch(kernel_of([dual(first, second)])):
        pass

    assert written(survey, tmp_path)["instructions"] == {"v_dual_mul_f32": 1, "v_dual_add_f32": 1, "s_endpgm": 1}


def test_kernel_that_cannot_be_decoded_is_told_of(tmp_path: Path) -> None:
    unknown = bytes.fromhex("0000bdbf")
    survey = Survey()

    with pytest.raises(UnknownInstruction), survey.launch(kernel_of_code(unknown)):
        raise UnknownInstruction("no operation 61")
    told = written(survey, tmp_path)

    assert (told["launches"], told["kernels"], told["instructions"]) == (1, 1, {})
    assert told["refused"] == [{"kernel": "k", "code": "0000bdbf", "reason": "no operation 61"}]


def test_kernel_that_runs_twice_is_counted_once(tmp_path: Path) -> None:
    survey = Survey()

    for _ in range(2):
        with survey.launch(kernel_of([ins("v_mov_b32", "v1", "v0")])):
            survey.checked(3)
    told = written(survey, tmp_path)

    assert (told["launches"], told["kernels"]) == (2, 1)
    assert told["instructions"] == {"v_mov_b32": 1, "s_endpgm": 1}
    assert told["checked"] == {"shapes": 2, "elements": 6, "too_long": 0}

"""Simulated catalogues: which actions they have, what they share, and what a bump of tinygrad makes of them."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from simulation.measured_samples import measured, written

from autoclave.errors import AutoclaveError
from autoclave.simulation.actions import bytes_of, distinct
from autoclave.simulation.catalogue import Generation, Scope, catalogue_actions, generated_models
from autoclave.simulation.farm import Farm, simulate
from autoclave.simulation.measurements import Measurements, read_measurements
from autoclave.simulation.scenarios import Plan, after, bumps, by_workers, chance_of_change, everything_new

FARM = Farm(workers=1, cache_rate=1e12, worker_rate=1e12, client_rate=1e12)


@pytest.fixture
def measurements(tmp_path: Path) -> Measurements:
    return read_measurements(written(tmp_path))


def stages(actions) -> dict[str, int]:
    return dict(Counter(action.stage for action in actions))


def test_a_packaged_cpu_model_is_what_the_backend_runs(measurements: Measurements) -> None:
    actions = catalogue_actions(
        generated_models(1, "S", 1, ("cpu",)), measurements, Scope(synthesized=True, parity=False)
    )

    assert stages(actions) == {"Synthesize": 1, "Check": 1, "Upcast": 1, "Compile": 1, "Record": 1}
    assert simulate(actions, FARM).seconds == pytest.approx(1 + 1 + 2 + 10 + 3)
    assert bytes_of(blob for action in actions if action.delivered for blob in action.outputs) == 1100 + 30


def test_each_source_is_made(measurements: Measurements) -> None:
    actions = catalogue_actions(generated_models(3, "S", 1, ("cpu",)), measurements, Scope(synthesized=True))

    assert stages(distinct(actions))["Synthesize"] == 3


def test_a_tested_emulated_model_is_what_the_backend_runs(measurements: Measurements) -> None:
    actions = catalogue_actions(generated_models(1, "S", 1, ("qcom",)), measurements)

    assert stages(actions) == {
        "Check": 1, "Upcast": 1, "Compile": 1, "Extract": 1, "Translate": 1, "Translate again": 1, "Record": 1, "Test": 1,
    }  # fmt: skip
    assert simulate(actions, FARM).seconds == pytest.approx(1 + 2 + 10 + 1 + 4 + 5 + 3 + 6)


def test_models_of_a_family_share_their_translations(measurements: Measurements) -> None:
    actions = distinct(catalogue_actions(generated_models(6, "S", 2, ("qcom", "cpu")), measurements))

    assert stages(actions) == {
        "Check": 6, "Upcast": 6, "Compile": 12, "Extract": 6, "Translate": 2, "Translate again": 2, "Record": 12, "Test": 12,
    }  # fmt: skip


def test_a_bump_that_changes_no_kernel_compiles_and_does_nothing_else(measurements: Measurements) -> None:
    models = generated_models(4, "S", 2, ("cpu", "qcom", "chestnut"))
    known = after(catalogue_actions(models, measurements))

    outcome = simulate(catalogue_actions(models, measurements, generation=Generation(2)), FARM, known)

    assert outcome.carried_out == {"Compile": 12}
    assert (outcome.to_cache, outcome.delivered) == (0, 0)


def test_a_bump_that_changes_one_family_goes_on_with_that_family(measurements: Measurements) -> None:
    models = generated_models(4, "S", 2, ("cpu", "qcom"))
    known = after(catalogue_actions(models, measurements))
    bump = Generation(2, lambda model, hardware: model.family == "S0")

    outcome = simulate(catalogue_actions(models, measurements, generation=bump), FARM, known)

    assert outcome.carried_out == {
        "Compile": 8, "Extract": 2, "Translate": 1, "Translate again": 1, "Record": 4, "Test": 4,
    }  # fmt: skip
    # Two models' artifacts and check files for two kinds of hardware, and one family's kernels and translations.
    assert outcome.to_cache == 4 * (1100 + 30) + 50 + 60 + 70
    assert outcome.delivered == 4 * (1100 + 30)


def test_weights_that_are_stored_apart_do_not_move(measurements: Measurements) -> None:
    models, scope = generated_models(1, "S", 1, ("cpu",)), Scope(split_artifacts=True)
    known = after(catalogue_actions(models, measurements, scope))

    outcome = simulate(
        catalogue_actions(models, measurements, scope, Generation(2, lambda model, hardware: True)), FARM, known
    )

    assert outcome.to_cache == (1100 - 1000) + 30


def test_a_new_compiler_is_taken_by_each_worker(measurements: Measurements) -> None:
    models = generated_models(1, "S", 1, ("cpu",))
    known = after(catalogue_actions(models, measurements))

    outcome = simulate(catalogue_actions(models, measurements, generation=Generation(2)), FARM, known)

    assert outcome.from_cache == 40 + 2000  # the new tinygrad, and the graph in fp32


def test_the_questions_have_answers(measurements: Measurements) -> None:
    plan = Plan(models=10, scale="S", families=10)

    moved = [each.outcome.from_cache for each in everything_new(plan, measurements, replace(FARM, workers=2))]
    assert (
        moved[0] > moved[1] > moved[2] == 10 * 1000
    )  # in the end, each worker takes its models' sources and nothing else
    seconds = [each.outcome.built for _, each in by_workers(plan, measurements, FARM, (1, 2, 4), 10)]
    assert seconds[0] == pytest.approx(2 * seconds[1], rel=0.05)
    compiled = [each.outcome.carried_out for each in bumps(plan, measurements, FARM)]
    assert [each["Compile"] for each in compiled] == [30] * 5
    assert [each["Record"] for each in compiled] == [0, 3, 30, 3, 30]


def test_one_changed_kernel_changes_an_artifact() -> None:
    assert chance_of_change(1, 0.1) == pytest.approx(0.1)
    assert chance_of_change(2, 0.1) == pytest.approx(0.19)
    assert chance_of_change(0, 0.1) == 0


def test_what_was_not_measured_is_said(tmp_path: Path) -> None:
    found = read_measurements(written(tmp_path, measured(("cpu",))))

    with pytest.raises(
        AutoclaveError, match=r"`Compile` of a model of scale S for qcom was not measured \(measured scales: S\)"
    ):
        catalogue_actions(generated_models(1, "S", 1, ("qcom",)), found)


def test_a_file_without_measurements_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AutoclaveError, match="cannot be read: No such file"):
        read_measurements(tmp_path / "none.json")
    with pytest.raises(AutoclaveError, match="holds no measurements"):
        read_measurements(written(tmp_path, {"machine": "x"}))

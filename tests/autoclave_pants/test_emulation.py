"""Which actions translate an artifact's kernels, and what they get."""

import json

import pytest
from pants.engine.fs import AddPrefix, Digest, MergeDigests
from pants.testutil.rule_runner import MockGet, run_rule_with_mocks

from autoclave_pants.rules.actions import TOLD_PROCESSORS, ActionRequest, ActionResult
from autoclave_pants.rules.emulation import (
    RECORDING,
    REPLAYING,
    Emulator,
    Kernels,
    KernelsRequest,
    Translation,
    TranslationRequest,
    extract_kernels,
    other_emulators,
    translate,
)
from autoclave_pants.rules.toolchains import Toolchain, ToolchainPython

ARTIFACT = Digest("a" * 64, 1)
KERNELS = Digest("b" * 64, 2)
RESULT = Digest("c" * 64, 3)
RECORDED = Digest("d" * 64, 4)
PLACED = {AddPrefix(RECORDED, "known"): Digest("e" * 64, 5)}
MERGED = Digest("f" * 64, 6)
WITH_RECORDING = MergeDigests((KERNELS, *PLACED.values()))

TRANSLATED_FROM = (
    MockGet(output_type=Kernels, input_types=(KernelsRequest,), mock=lambda _: Kernels(KERNELS)),
    MockGet(output_type=Translation, input_types=(TranslationRequest,), mock=lambda _: Translation(RECORDED)),
    MockGet(output_type=Digest, input_types=(MergeDigests,), mock={WITH_RECORDING: MERGED}.__getitem__),
)
"""What the translation's rule asks for: the kernels, and for some a translation that there is already."""


@pytest.fixture
def emulator():
    return Emulator(Toolchain(ToolchainPython("host", "3.13", None, "python"), (), None, ()))


def requested(rule, request, emulator, *mocks):
    """The action that a rule asks for, and what the rule makes of its result."""
    asked = []

    def run(action):
        asked.append(action)
        return ActionResult(0, RESULT, "", "", None)

    gets = [
        MockGet(output_type=Digest, input_types=(AddPrefix,), mock=lambda prefixed: PLACED.get(prefixed, prefixed)),
        MockGet(output_type=ActionResult, input_types=(ActionRequest,), mock=run),
        *mocks,
    ]
    made = run_rule_with_mocks(rule, rule_args=[request, emulator], mock_gets=gets)
    (action,) = asked
    return action, made


def test_kernels_are_taken_out_of_the_artifact(emulator):
    action, made = requested(extract_kernels, KernelsRequest(ARTIFACT, "artifact.pkl", "qcom", "models:m"), emulator)
    assert (action.module, action.inputs) == ("autoclave.emulator.extract", AddPrefix(ARTIFACT, "inputs"))
    assert json.loads(action.request)["artifact"] == "inputs/artifact.pkl"
    assert action.without == ("autoclave.emulator.rdna4",)
    assert made == Kernels(RESULT)


def test_translation_has_kernels_alone_as_input_and_what_it_is_for_in_its_request(emulator):
    request = TranslationRequest(KernelsRequest(ARTIFACT, "artifact.pkl", "qcom", "models:m"), REPLAYING["qcom"])
    action, made = requested(translate, request, emulator, *TRANSLATED_FROM)
    assert (action.module, action.target) == ("autoclave.emulator.translate", "models:m")
    assert action.inputs == AddPrefix(KERNELS, "inputs")
    assert json.loads(action.request) == {
        "cpu": "x86-64-v3",
        "kernels": "inputs/kernels.json",
        "lanes": 8,
        "output": "out/translations",
        "quick": False,
    }
    assert action.processors > 1
    assert action.without == ("autoclave.emulator.rdna4",)
    assert made.request_fields("inputs") == {"translations": "inputs/translations", "cpu": "x86-64-v3"}


def test_chestnuts_replay_takes_over_what_was_translated_for_recording(emulator):
    request = KernelsRequest(ARTIFACT, "artifact.pkl", "chestnut", "models:m")
    action, _ = requested(translate, TranslationRequest(request, REPLAYING["chestnut"]), emulator, *TRANSLATED_FROM)
    assert json.loads(action.request)["known"] == "inputs/known/translations"
    assert action.inputs == AddPrefix(MERGED, "inputs")
    assert action.without == ("autoclave.emulator.a630",)


@pytest.mark.parametrize(
    "hardware, others",
    [
        ("qcom", ("autoclave.emulator.rdna4",)),
        ("chestnut", ("autoclave.emulator.a630",)),
        ("cpu", ("autoclave.emulator.a630", "autoclave.emulator.rdna4")),
    ],
)
def test_actions_do_without_the_emulators_of_other_hardware(hardware, others):
    assert other_emulators(hardware) == others


def test_the_name_of_a_target_is_part_of_no_key():
    requests = {KernelsRequest(ARTIFACT, "artifact.pkl", "qcom", target) for target in ("models:a", "models:b")}
    assert len(requests) == 1


def test_replay_has_other_code_than_recording():
    assert RECORDING.lanes != REPLAYING["qcom"].lanes
    assert all(RECORDING.quick and not code.quick for code in REPLAYING.values())


def test_pants_fills_in_the_processors():
    assert TOLD_PROCESSORS.endswith("={pants_concurrency}")

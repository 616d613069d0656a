"""Reports: what a person reads and what a program reads."""

import json
import math

import numpy as np

from autoclave.artifact.model import Target
from autoclave.canonical import canonical_json
from autoclave.parity.gates import GateResult, finite_gate, replay_gate
from autoclave.parity.report import PartReport, Report

TARGET = Target("CPU", "LLVM", "x86_64,x86-64-v3")
PASSED = GateResult(3, "finite", "out", "passed", "all 4 values are finite")
WARNING = GateResult(4, "reference", "all outputs", "warning", "no reference model was given")


def report(*results: GateResult) -> Report:
    return Report(
        "ab" * 32,
        "cpu (autoclave.native 1)",
        "./pants test models:sample-parity",
        (PartReport("run", TARGET, results),),
    )


def failed_replay() -> GateResult:
    expected, actual = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)
    actual[1] = [0.5, 0.0, -0.25]
    return replay_gate("out", expected, actual)


def test_failure_says_everything_needed_to_go_on() -> None:
    text = report(PASSED, failed_replay()).text()

    assert (
        text
        == f"""\
artifact sha256 {"ab" * 32}, outputs recorded by cpu (autoclave.native 1)
part run on CPU LLVM x86_64,x86-64-v3
ok      rung 3 replay, finite: out: all 4 values are finite
FAILED  rung 3 replay: out: 2 of 6 values differ from the recorded ones
          2 of 6 values, the first at index [1, 0]
          expected 0x00000000 = 0.0
          got      0x3f000000 = 0.5
          absolute error over all values: max 0.5, mean 0.125
parity: FAILED
reproduce with: ./pants test models:sample-parity
"""
    )


def test_warning_stands_at_the_start_of_a_line() -> None:
    lines = report(PASSED, WARNING).text().splitlines()

    assert "WARNING rung 4 reference: all outputs: no reference model was given" in lines
    assert lines[-1] == "parity: WARNING"


def test_status_is_the_worst_of_all() -> None:
    assert report(PASSED).status == "passed"
    assert report(PASSED, WARNING).status == "warning"
    assert report(WARNING, failed_replay(), PASSED).status == "failed"


def test_missing_evidence_is_a_status_of_its_own() -> None:
    unverified = GateResult(5, "evidence", "executed instructions", "unverified", "not verified for x")

    found = report(PASSED, WARNING, unverified)

    assert found.status == "unverified"
    assert found.text().splitlines()[-3:] == [
        "UNVERIFIED rung 5 evidence: executed instructions: not verified for x",
        "parity: UNVERIFIED",
        "reproduce with: ./pants test models:sample-parity",
    ]
    assert report(unverified, failed_replay()).status == "failed"


def test_json_has_all_of_it() -> None:
    document = json.loads(canonical_json(report(PASSED, failed_replay()).json()))

    assert (document["status"], document["format"]) == ("failed", 1)
    result = document["parts"][0]["results"][1]
    assert (result["rung"], result["gate"], result["subject"], result["status"]) == (3, "replay", "out", "failed")
    assert result["difference"]["first_index"] == [1, 0]
    assert document["parts"][0]["target"]["device"] == "CPU"


def test_json_has_words_for_nan() -> None:
    values = np.array([math.nan, math.inf], np.float32)

    document = report(replay_gate("out", np.zeros(2, np.float32), values), finite_gate("out", values)).json()

    assert document["parts"][0]["results"][0]["difference"]["actual"] == "nan"
    assert canonical_json(document)

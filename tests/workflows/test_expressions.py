"""The expressions, by examples of GitHub's documentation and by what our workflows rely on."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from workflows.expressions import ExpressionError, condition, evaluate

CHECKOUT = Path(__file__).resolve().parents[2]
CONTEXT = {"inputs": {"name": "models:a", "on": False, "empty": ""}, "needs": {"plan": {"outputs": {"count": "0"}}}}


@pytest.mark.parametrize(
    "text, value",
    [
        ("plain", "plain"),
        ("${{ inputs.name }}", "models:a"),
        ("${{ inputs.on }}", False),
        ("a ${{ inputs.name }} b ${{ inputs.on }}", "a models:a b false"),
        ("${{ 'it''s' }}", "it's"),
        ("${{ inputs.on && 'yes' || 'no' }}", "no"),
        ("${{ inputs.empty || 'default' }}", "default"),
        ("${{ !inputs.on && needs.plan.outputs.count == '0' }}", True),
        ("${{ inputs.name != 'MODELS:A' }}", False),
        ('${{ fromJSON(\'["self-hosted", "x"]\') }}', ["self-hosted", "x"]),
        ("${{ fromJSON(format('[\"{0}\"]', inputs.name)) }}", ["models:a"]),
        ("${{ (true || false) && 3 }}", 3.0),
        (7, 7),
    ],
)
def test_values(text: object, value: object) -> None:
    assert evaluate(text, CONTEXT) == value


@pytest.mark.parametrize(
    "text",
    [
        "${{ inputs.nmae }}",
        "${{ neds.plan }}",
        "${{ unknown() }}",
        "${{ 'a' 'b' }}",
        "${{ (1 }}",
        "${{ a ? b }}",
        "${{ }}",
    ],
)
def test_mistakes_are_errors(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, CONTEXT)


@pytest.mark.parametrize(
    "text, failed, holds",
    [
        ("true", False, True),
        ("true", True, False),
        ("${{ always() }}", True, True),
        ("${{ !cancelled() && inputs.on }}", True, False),
        ("${{ failure() }}", True, True),
    ],
)
def test_a_condition_implies_success_unless_it_asks_itself(text: str, failed: bool, holds: bool) -> None:
    functions = {
        "success": lambda: not failed,
        "failure": lambda: failed,
        "always": lambda: True,
        "cancelled": lambda: False,
    }
    assert condition(text, CONTEXT, functions) is holds


@pytest.mark.parametrize(
    ("hardware", "on_device", "machine"),
    [
        ("qcom", True, ["self-hosted", "tici"]),
        ("chestnut", True, ["self-hosted", "chestnut"]),
        ("cpu", True, ["ubuntu-24.04"]),
        ("qcom", False, ["ubuntu-24.04"]),
        ("chestnut", False, ["ubuntu-24.04"]),
    ],
)
def test_on_device_chooses_the_machine_that_builds(hardware: str, on_device: bool, machine: list[str]) -> None:
    declared = yaml.safe_load((CHECKOUT / ".github/workflows/build-model.yml").read_text())
    inputs = {"hardware": hardware, "on_device": on_device}
    assert evaluate(declared["jobs"]["build"]["runs-on"], {"inputs": inputs}) == machine

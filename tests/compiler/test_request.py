"""Requests: each field is checked before anything starts."""

from pathlib import Path
from typing import Any

import pytest

from autoclave.compiler.request import CompileRequest
from autoclave.errors import CompileError

_GOOD: dict[str, Any] = {
    "model": "model.onnx",
    "hardware": "cpu",
    "tinygrad": "0.14.0",
    "source_sha256": "0" * 64,
    "source_size": 100,
}


def test_defaults() -> None:
    request = CompileRequest.from_json(_GOOD)

    assert request.renderer is None
    assert request.output == Path("out/artifact.pkl")
    assert request.absent_flags == ()
    assert not request.synthetic


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": None}, "the field 'model' is missing"),
        ({"hardwear": "cpu"}, "unknown field 'hardwear'"),
        ({"source_size": "100"}, "'source_size' should be int, got '100'"),
        ({"source_size": True}, "'source_size' should be int, got True"),
        ({"synthetic": 1}, "'synthetic' should be bool, got 1"),
        ({"dimensions": {"N": 0}}, r"dimensions\['N'\] should be a positive number, got 0"),
        ({"dimensions": {"N": "1"}}, r"dimensions\['N'\] should be a positive number, got '1'"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        CompileRequest.from_json({**_GOOD, **change})


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_what_is_not_a_request_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "request.json"
    path.write_text(content)

    with pytest.raises(CompileError, match="expected a JSON object"):
        CompileRequest.load(path)

"""The assemble action: `python -m autoclave.artifact.assemble request.json`.

Makes one artifact of part artifacts: the policy part of a driving model and its warps. The request is

    {"parts": ["inputs/run_policy.pkl", "inputs/1928x1208.pkl"], "behavior_version": "v16", "output": "out/artifact.pkl"}

The last line of standard output is a JSON object: the artifact's sha256 and size, the numbers of its kernels and parts.
Exit code 2: the parts do not fit together, and the message says how.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from autoclave.artifact.driving_parts import driving_metadata
from autoclave.artifact.merge import merge_artifacts
from autoclave.artifact.model import Header
from autoclave.artifact.reader import open_artifact
from autoclave.artifact.writer import ArtifactWriter
from autoclave.errors import ArtifactError, AutoclaveError


def assemble(parts: Sequence[Path], behaviour_version: str, output: Path) -> dict[str, Any]:
    """Write the artifact made of `parts`, the policy part's first, to `output`; returns the report.

    Raises `ArtifactError` if a file is no part artifact, or they do not fit together, and what
    `autoclave.driving.metadata` raises for a model that is not of `behaviour_version`.
    """
    with ExitStack() as stack:
        artifacts = [stack.enter_context(open_artifact(path)) for path in parts]
        metadata = driving_metadata([artifact.header for artifact in artifacts], behaviour_version)
        output.parent.mkdir(parents=True, exist_ok=True)
        writer = stack.enter_context(ArtifactWriter(output))
        merged = merge_artifacts(artifacts, writer)
        sha256 = writer.finish(Header(metadata, merged.kernels, merged.parts))
    return {
        "sha256": sha256,
        "size": output.stat().st_size,
        "kernels": len(merged.kernels),
        "parts": len(merged.parts),
    }


_FIELDS: dict[str, type] = {"parts": list, "behavior_version": str, "output": str}


def read_request(path: Path) -> dict[str, Any]:
    """The request. Raises `ArtifactError` that names the field which is missing, unknown or of the wrong type."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArtifactError(f"reading the assemble request {path}: expected a JSON object, but {error}") from error
    if not isinstance(document, dict):
        raise ArtifactError(f"reading the assemble request {path}: expected a JSON object, got {document!r}")
    _check_fields(document, path)
    return document


def _check_fields(document: Mapping[str, Any], path: Path) -> None:
    for name in document:
        if name not in _FIELDS:
            raise ArtifactError(f"reading {path}: unknown field {name!r}; known are {', '.join(_FIELDS)}")
    for name, kind in _FIELDS.items():
        if name not in document:
            raise ArtifactError(f"reading {path}: the field {name!r} is missing")
        if not isinstance(document[name], kind):
            raise ArtifactError(f"reading {path}: the field {name!r} should be {kind.__name__}, got {document[name]!r}")
    if not document["parts"] or not all(isinstance(part, str) for part in document["parts"]):
        raise ArtifactError(f"reading {path}: the field 'parts' should be a list of paths, got {document['parts']!r}")


def main(arguments: list[str]) -> int:
    """Run the action. Returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m autoclave.artifact.assemble REQUEST.json", file=sys.stderr)
        return 2
    try:
        request = read_request(Path(arguments[0]))
        parts = [Path(part) for part in request["parts"]]
        report = assemble(parts, request["behavior_version"], Path(request["output"]))
    except AutoclaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Reading an action's request, and how an action ends."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from autoclave.errors import AutoclaveError, SourceError


def read_request(path: Path, required: Iterable[str]) -> dict[str, Any]:
    """The request in the JSON file `path`.

    Raises `SourceError` if it cannot be read, is no JSON object, or lacks one of the `required` keys.
    """
    try:
        request = json.loads(path.read_bytes())
    except OSError as error:
        raise SourceError(f"{path}: the request cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SourceError(f"{path}: the request is not JSON: {error}") from error
    missing = [key for key in required if not isinstance(request, dict) or key not in request]
    if missing or not isinstance(request, dict):
        raise SourceError(f"{path}: the request lacks {', '.join(missing) or 'everything: it is no JSON object'}")
    return request


def run_action(
    module: str, arguments: list[str], required: Iterable[str], action: Callable[[Mapping[str, Any]], None]
) -> int:
    """Run `action` on the request that the command line names; returns the exit code, 2 after one line for an error."""
    if len(arguments) != 1:
        print(f"usage: python -m {module} request.json", file=sys.stderr)
        return 2
    try:
        action(read_request(Path(arguments[0]), required))
    except AutoclaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0

"""The request file of an entry module: a small JSON object."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autoclave.errors import AutoclaveError

MAX_REQUEST_SIZE = 1 << 20
UNUSABLE = 2
"""Exit code of an entry module whose request, or a file in it, is unusable."""


def carried_out(arguments: list[str], module: str, carry_out: Callable[[dict[str, Any]], int]) -> int:
    """The exit code of `carry_out` on the request that `arguments` names; `UNUSABLE` and a message if it cannot."""
    try:
        return carry_out(read_request(arguments, module))
    except AutoclaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return UNUSABLE


def read_request(arguments: list[str], module: str) -> dict[str, Any]:
    """The JSON object in the file that `arguments`, an entry module's only one, names. Raises `AutoclaveError`."""
    if len(arguments) != 1:
        raise AutoclaveError(f"usage: python -m {module} request.json")
    try:
        with Path(arguments[0]).open("rb") as file:
            request = json.loads(file.read(MAX_REQUEST_SIZE))
    except (OSError, ValueError, RecursionError) as error:
        raise AutoclaveError(f"reading the request {arguments[0]}: {error}") from error
    if not isinstance(request, dict):
        raise AutoclaveError(f"reading the request {arguments[0]}: expected a JSON object")
    return Request(request)


class Request(dict[str, Any]):
    """A request whose missing fields are errors of the user's."""

    def __missing__(self, field: str) -> Any:
        raise AutoclaveError(f"the request has no field {field!r}; it has {', '.join(sorted(self)) or 'none'}")


def part_key(value: str | list[int]) -> str | tuple[int, int]:
    """A part's key as JSON writes it: a name, or [width, height]."""
    return value if isinstance(value, str) else (int(value[0]), int(value[1]))

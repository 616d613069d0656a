"""Canonical JSON: one byte sequence for one value, on any machine."""

import json
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Encode `value` as UTF-8 JSON with sorted keys and no spaces.

    Raises `ValueError` for NaN and infinities, which JSON has no words for.
    """
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

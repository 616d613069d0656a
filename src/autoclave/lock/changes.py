"""Replace a lock and tell what changed."""

import difflib
import os
import tempfile
from pathlib import Path


def replace_lock(path: Path, text: str) -> str:
    """Write `text` to `path` atomically if it differs; return the difference, empty if nothing changed."""
    before = path.read_text() if path.exists() else ""
    if before == text:
        return ""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    os.chmod(scratch, path.stat().st_mode & 0o777 if path.exists() else 0o644)
    os.replace(scratch, path)
    return "".join(
        difflib.unified_diff(
            before.splitlines(True), text.splitlines(True), f"{path.name} (before)", f"{path.name} (now)", n=0
        )
    )

"""The error of a build: which stage of which target failed, why, and the log that shows it."""

from __future__ import annotations

from pants.engine.addresses import Address
from pants.engine.target import SourcesField


class BuildError(Exception):
    """A stage of a target's build failed.

    `stage` is a word of the pipeline ("fetch", "compile"); `reason` is for people; `log` is what the process printed.
    """

    def __init__(self, target: str, stage: str, reason: str, log: str = "") -> None:
        self.target = target
        self.stage = stage.lower()
        super().__init__(f"{target}: {self.stage} failed: {reason}")
        self.reason = reason
        self.log = log


class ConfigurationError(Exception):
    """An option has a value that nothing can be built with. The message says which, and what to write instead."""


def missing_file(address: Address, field: SourcesField) -> BuildError:
    """The error for a field that names a file which is not in the checkout."""
    return BuildError(
        str(address),
        "fetch",
        f"the field `{field.alias}` names {field.value!r}, which is not in {address.spec_path or 'the root'}: "
        "correct the name, or bring the file (one that .gitignore matches does not count)",
    )


def reason_in(log: str) -> str:
    """What an entry module says went wrong: its last `error:` message with the lines that follow it, else the last line."""
    lines = log.strip().splitlines()
    for index in range(len(lines) - 1, -1, -1):
        before, marker, after = lines[index].partition("error: ")
        if marker and len(before) < 40:
            return "\n".join([after, *lines[index + 1 :]])
    return lines[-1] if lines else "it printed nothing"

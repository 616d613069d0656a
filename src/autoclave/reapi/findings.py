"""What the doctor finds: one row for each thing it looked at, and what to do where something is wrong."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from textwrap import wrap

WIDTH = 118
"""Columns of the table."""


class State(Enum):
    """`skipped`: could not be looked at, because of something said before or because nothing shows it."""

    ok = "ok"
    warning = "warning"
    failed = "failed"
    skipped = "skipped"


@dataclass(frozen=True)
class Finding:
    """One row: what was looked at, how it is, what was seen, and what to do about it (empty if nothing is to be done)."""

    check: str
    state: State
    seen: str
    fix: str = ""


def ok(check: str, seen: str) -> Finding:
    return Finding(check, State.ok, seen)


def warning(check: str, seen: str, fix: str) -> Finding:
    return Finding(check, State.warning, seen, fix)


def failed(check: str, seen: str, fix: str) -> Finding:
    return Finding(check, State.failed, seen, fix)


def skipped(check: str, seen: str) -> Finding:
    return Finding(check, State.skipped, seen)


def option(name: str, value: str) -> str:
    """How a user sets an option of Pants: in pants.toml, or by its environment variable."""
    quoted = value if value in ("true", "false") or value.isdigit() else f'"{value}"'
    return f"[GLOBAL] {name} = {quoted} (PANTS_{name.upper()}={value})"


def rows(findings: Iterable[Finding]) -> Iterator[str]:
    """The table, line by line as the findings come; a remedy is below its row."""
    for each in findings:
        state = each.state.value.upper() if each.state is State.failed else each.state.value
        yield from _wrapped(f"{each.check:<18} {state:<8} ", each.seen)
        if each.fix:
            yield from _wrapped(f"{'':<27} fix: ", each.fix)


def _wrapped(head: str, text: str) -> Iterator[str]:
    indent = " " * len(head)
    yield from wrap(text, WIDTH, initial_indent=head, subsequent_indent=indent, break_long_words=False) or [head]


def summary(findings: Sequence[Finding]) -> str:
    """One line with the verdict."""
    counts = {state: sum(each.state is state for each in findings) for state in State}
    verdict = (
        "this cache does not work" if counts[State.failed] else "this cache works" if counts[State.ok] else "no cache"
    )
    warnings = f"{counts[State.warning]} warning{'' if counts[State.warning] == 1 else 's'}"
    return (
        f"{verdict}: {counts[State.ok]} ok, {warnings}, {counts[State.failed]} failed, {counts[State.skipped]} skipped"
    )


def exit_code(findings: Iterable[Finding]) -> int:
    """1 if anything failed."""
    return 1 if any(each.state is State.failed for each in findings) else 0


def as_json(findings: Sequence[Finding]) -> str:
    """All findings as one JSON document."""
    checks = [{"check": f.check, "state": f.state.value, "seen": f.seen, "fix": f.fix} for f in findings]
    return json.dumps({"failed": bool(exit_code(findings)), "checks": checks}, indent=2)

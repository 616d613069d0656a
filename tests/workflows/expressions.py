"""The expressions of GitHub's workflows, `${{ ... }}`: as much of them as ours use, and an error for anything else.

https://docs.github.com/actions/reference/workflows-and-actions/expressions
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

Context = Mapping[str, Any]

EMBEDDED = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_][\w-]*)|(?P<mark>==|!=|&&|\|\||[()!.,]))"
)
CONSTANTS = {"true": True, "false": False, "null": None}


class ExpressionError(Exception):
    """An expression that GitHub would refuse, or that this module does not know."""


class Expression:
    """One expression, evaluated while it is read: a recursive descent, one method a level of precedence."""

    def __init__(self, text: str, context: Context, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.text, self.context, self.functions = text, context, functions
        self.tokens = self._tokens()

    def _tokens(self) -> list[tuple[str, str]]:
        found, place = [], 0
        while self.text[place:].strip():
            match = TOKEN.match(self.text, place)
            if match is None or match.lastgroup is None:
                raise ExpressionError(f"{self.text!r}: what is {self.text[place:].strip()[:20]!r}?")
            found.append((match.lastgroup, match[match.lastgroup]))
            place = match.end()
        return found

    def value(self) -> Any:
        """The value of the whole."""
        result = self._either()
        if self.tokens:
            raise ExpressionError(f"{self.text!r}: {self.tokens[0][1]!r} is one too many")
        return result

    def _take(self, *marks: str) -> str | None:
        if self.tokens and self.tokens[0] in {("mark", mark) for mark in marks}:
            return self.tokens.pop(0)[1]
        return None

    def _expect(self, mark: str) -> None:
        if self._take(mark) is None:
            raise ExpressionError(f"{self.text!r}: {mark!r} is missing")

    def _either(self) -> Any:
        left = self._both()
        while self._take("||"):
            right = self._both()
            left = left or right
        return left

    def _both(self) -> Any:
        left = self._compared()
        while self._take("&&"):
            right = self._compared()
            left = left and right
        return left

    def _compared(self) -> Any:
        left = self._negated()
        while mark := self._take("==", "!="):
            left = equal(left, self._negated()) == (mark == "==")
        return left

    def _negated(self) -> Any:
        return not self._negated() if self._take("!") else self._single()

    def _single(self) -> Any:
        if self._take("("):
            result = self._either()
            self._expect(")")
            return result
        if not self.tokens:
            raise ExpressionError(f"{self.text!r} ends too early")
        kind, token = self.tokens.pop(0)
        if kind == "text":
            return token[1:-1].replace("''", "'")
        if kind == "number":
            return float(token)
        if kind == "mark":
            raise ExpressionError(f"{self.text!r}: unexpected {token!r}")
        if token in CONSTANTS:
            return CONSTANTS[token]
        return self._called(token) if self._take("(") else self._looked_up(token)

    def _called(self, name: str) -> Any:
        arguments: list[Any] = []
        while not self._take(")"):
            if arguments:
                self._expect(",")
            arguments.append(self._either())
        if name not in self.functions:
            raise ExpressionError(f"{self.text!r}: there is no function {name}()")
        return self.functions[name](*arguments)

    def _looked_up(self, name: str) -> Any:
        value: Any = self.context
        path = [name]
        while self._take("."):
            path.append(self.tokens.pop(0)[1])
        for number, each in enumerate(path):
            if not isinstance(value, Mapping) or each not in value:
                raise ExpressionError(f"{self.text!r}: there is no {'.'.join(path[: number + 1])}")
            value = value[each]
        return value


def equal(left: Any, right: Any) -> bool:
    """Whether two values are equal to GitHub, which compares texts without regard to case."""
    if isinstance(left, str) and isinstance(right, str):
        return left.casefold() == right.casefold()
    return bool(left == right)


def as_text(value: Any) -> str:
    """A value as it stands in a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def formatted(pattern: str, *values: Any) -> str:
    return re.sub(r"\{(\d+)\}", lambda match: as_text(values[int(match[1])]), pattern)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "fromJSON": json.loads,
    "format": formatted,
    "hashFiles": lambda *patterns: "hash-of-" + "-".join(patterns),
}


def evaluate(value: Any, context: Context, functions: Mapping[str, Callable[..., Any]] = {}) -> Any:
    """A value of a workflow with its expressions evaluated: a text that is one expression has that one's value.

    Raises:
        ExpressionError: an expression is wrong, or names what there is not.
    """
    known = {**FUNCTIONS, **functions}
    if not isinstance(value, str):
        return value
    whole = EMBEDDED.fullmatch(value.strip())
    if whole is not None and "}}" not in whole[1]:
        return Expression(whole[1], context, known).value()
    return EMBEDDED.sub(lambda match: as_text(Expression(match[1], context, known).value()), value)


def condition(text: Any, context: Context, functions: Mapping[str, Callable[..., Any]]) -> bool:
    """Whether an `if` holds. Without a function that asks for the state of affairs, `success()` has to hold too."""
    text = str(text)
    whole = EMBEDDED.fullmatch(text.strip())
    inner = whole[1] if whole else text
    if not re.search(r"\b(success|failure|cancelled|always)\(", inner):
        inner = f"success() && ({inner})"
    return bool(Expression(inner, context, {**FUNCTIONS, **functions}).value())

"""Parser of the manual's pseudo-code: statements and expressions as nested tuples, the first of each its kind."""

import re
from collections.abc import Iterator
from typing import Any

Node = tuple[Any, ...]

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<sized>\d+'(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?)[UIFB]?)"
    r"|(?P<cast>\d+'[UIFB])"
    r"|(?P<number>0x[0-9a-fA-F]+(?:U?LL|U)?|\d+\.\d+F?|\d+(?:U?LL|U)?)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>\*\*|\|\||&&|==|!=|<>|<=|>=|<<|>>|\+=|-=|\+:|[-+*/%&|^~!<>=?:;,.(){}\[\]])"
    r")"
)
_COMMENT = re.compile(r"//[^\n]*")

_BINARY = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "<>"),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
    ("**",),
)
"""Operators, those that bind least first."""


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    text = _COMMENT.sub("", text).strip()
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match, text[at : at + 40]
        yield str(match.lastgroup), match.group(match.lastgroup or 0)
        at = match.end()


def parse(text: str) -> list[Node]:
    """The statements of an operation."""
    return _Parser(text).program()


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = [*_tokens(text), ("end", "")]
        self.at = 0

    def program(self) -> list[Node]:
        statements = self.block()
        assert self.tokens[self.at][0] == "end", self.tokens[self.at :]
        return statements

    def peek(self, *texts: str) -> bool:
        return self.tokens[self.at][1] in texts and self.tokens[self.at][0] in ("name", "sign")

    def take(self, text: str) -> bool:
        if self.peek(text):
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        assert self.take(text), (text, self.tokens[self.at : self.at + 8])

    def name(self) -> str:
        kind, text = self.tokens[self.at]
        assert kind == "name", self.tokens[self.at :]
        self.at += 1
        return text

    def block(self) -> list[Node]:
        """Statements up to what ends or continues an enclosing one."""
        statements = []
        while True:
            while self.take(";"):
                pass
            if self.tokens[self.at][0] == "end" or self.peek("endif", "else", "elsif", "endfor", ")"):
                return statements
            statements.append(self.statement())

    def statement(self) -> Node:
        if self.take("if"):
            return self.branches()
        if self.take("for"):
            variable = self.name()
            self.expect("in")
            first = self.expression()
            self.expect(":")
            last = self.expression()
            self.expect("do")
            body = self.block()
            self.expect("endfor")
            return ("for", variable, first, last, body)
        if self.take("break"):
            return ("break",)
        if self.take("return"):
            return ("return", self.expression())
        if self.take("declare"):
            return self.declaration()
        target = self.postfix()
        for sign in ("=", "+=", "-="):
            if self.take(sign):
                if self.take("lambda"):
                    return self.function(target[1])
                return ("assign", sign, target, self.expression())
        return ("expression", target)

    def branches(self) -> Node:
        arms = []
        otherwise: list[Node] = []
        condition = self.expression()
        self.expect("then")
        arms.append((condition, self.block()))
        while self.take("elsif"):
            condition = self.expression()
            self.expect("then")
            arms.append((condition, self.block()))
        if self.take("else"):
            otherwise = self.block()
        self.expect("endif")
        return ("if", arms, otherwise)

    def declaration(self) -> Node:
        name = self.name()
        self.expect(":")
        kind, text = self.tokens[self.at]
        assert kind == "cast"
        self.at += 1
        count = None
        if self.take("["):
            count = self.expression()
            self.expect("]")
        return ("declare", name, text, count)

    def function(self, name: str) -> Node:
        self.expect("(")
        names = [self.name()]
        while self.take(","):
            names.append(self.name())
        self.expect(")")
        self.expect("(")
        if self.peek("if", "declare"):
            body = self.block()
        else:
            body = [("return", self.expression())]
        self.expect(")")
        return ("function", name, names, body)

    def expression(self) -> Node:
        condition = self.binary(0)
        if not self.take("?"):
            return condition
        first = self.expression()
        self.expect(":")
        return ("choose", condition, first, self.expression())

    def binary(self, level: int) -> Node:
        if level == len(_BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek(*_BINARY[level]):
            sign = self.tokens[self.at][1]
            self.at += 1
            left = ("binary", sign, left, self.binary(level + 1))
        return left

    def unary(self) -> Node:
        for sign in ("-", "+", "!", "~"):
            if self.take(sign):
                return ("unary", sign, self.unary())
        return self.postfix()

    def postfix(self) -> Node:
        node = self.primary()
        while True:
            if self.take("."):
                node = ("typed", node, self.name())
            elif self.take("["):
                first = self.expression()
                if self.take("+:"):
                    node = ("part", node, first, self.expression())
                elif self.take(":"):
                    node = ("slice", node, first, self.expression())
                else:
                    node = ("index", node, first)
                self.expect("]")
            else:
                return node

    def primary(self) -> Node:
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind in ("sized", "number"):
            return ("literal", text)
        if kind == "cast":
            self.expect("(")
            inner = self.expression()
            self.expect(")")
            return ("cast", text, inner)
        if text == "(":
            inner = self.expression()
            self.expect(")")
            return inner
        if text == "{":
            members = [self.expression()]
            while self.take(","):
                members.append(self.expression())
            self.expect("}")
            return ("concatenation", members)
        assert kind == "name", self.tokens[self.at - 1 :]
        if self.take("("):
            arguments = []
            while not self.take(")"):
                arguments.append(self.expression())
                self.take(",")
            return ("call", text, arguments)
        return ("name", text)

"""Reads statements of the library's host code (plain C over double) as values of the algebra (algebra.py), so that what a call computes once,
numbers and bounds alike, is taken from the source as it stands.

It reads declarations and assignments of doubles, conditionals whose outcome a claim states, and calls of functions that a claim gives. Host code is
compiled without contraction: each operation rounds once, except products with powers of two and sums with 0, which are exact.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable
from fractions import Fraction

from .algebra import Algebra, U, Unknown, Value, atom, is_power, minus, number, plus, times

TOKEN = re.compile(r"0x[0-9a-f.]+p[-+]?\d+|\d+\.\d*|\d+|[A-Za-z_]\w*|->|&&|\|\||[-+*/=!<>]=|[^\sA-Za-z_0-9]")
DEFINE = re.compile(r"^#define (RM_\w+) \(?(-?0x[0-9a-f.]+p-?\d+|RM_BOUND\(0x[0-9a-f.]+p-?\d+\))\)?(?: |$)", re.M)


class NotRead(Exception):
    """Source of another form than a claim knows."""


def text_of(root: pathlib.Path, path: str, first: str, last: str | int) -> str:
    """The text from `first`, which stands in the file once, to the end of the next `last`, or of so many statements."""
    text = (root / path).read_text()
    if text.count(first) != 1:
        raise NotRead(f"{path}: {first!r} stands there {text.count(first)} times")
    begin = end = text.index(first)
    for mark in [";"] * last if isinstance(last, int) else [last]:
        if mark not in text[end:]:
            raise NotRead(f"{path}: no {mark!r} after {first!r}")
        end = text.index(mark, end) + len(mark)
    return text[begin:end]


def constants(root: pathlib.Path, *paths: str) -> dict[str, Fraction]:
    """The numbers that headers define."""
    found = {}
    for path in paths:
        for name, value in DEFINE.findall((root / path).read_text()):
            found[name] = Fraction(float.fromhex(value.removeprefix("RM_BOUND(").removesuffix(")")))
    return found


class Host:
    """values: what is known by name, as the code writes it; cases: the outcomes of conditions, by their text without spaces; calls: what functions
    give. `own`: variables whose magnitude a bound is made of though they are sums: what they are is a number of its own."""

    def __init__(
        self,
        algebra: Algebra,
        values: dict[str, Value],
        cases: dict[str, bool] | None = None,
        calls: dict[str, Callable[..., Value]] | None = None,
        own: tuple[str, ...] = (),
        sums: tuple[tuple[str, Value], ...] = (),
    ):
        self.algebra, self.values, self.cases, self.calls, self.own, self.sums = (
            algebra,
            dict(values),
            cases or {},
            calls or {},
            own,
            sums,
        )
        self.tokens: list[str] = []
        self.target, self.rests = "", 0

    # ------------------------------------------------------------------------------------------- statements

    def run(self, text: str) -> Host:
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        text = re.sub(r"RM_ROW\(\w+, (\w+)\)", r"\1", text)
        self.tokens = TOKEN.findall(text)
        while self.tokens:
            self.statement(True)
        return self

    def take(self, token: str) -> None:
        if not self.tokens or self.tokens[0] != token:
            raise NotRead(f"{token!r} expected at {' '.join(self.tokens[:8])!r}")
        self.tokens.pop(0)

    def at(self, *tokens: str) -> bool:
        return self.tokens[: len(tokens)] == list(tokens)

    def skip(self) -> None:
        """A statement that is not taken."""
        if self.at("{"):
            depth = 0
            while True:
                token = self.tokens.pop(0)
                depth += (token == "{") - (token == "}")
                if not depth:
                    return
        if self.at("if"):
            self.tokens.pop(0)
            self.condition()
            self.skip()
            if self.at("else"):
                self.tokens.pop(0)
                self.skip()
            return
        while self.tokens.pop(0) != ";":
            pass

    def condition(self) -> str:
        """The text in brackets."""
        self.take("(")
        depth, text = 1, ""
        while True:
            token = self.tokens.pop(0)
            depth += (token == "(") - (token == ")")
            if not depth:
                return text
            text += token

    def statement(self, taken: bool) -> None:
        if not taken:
            self.skip()
        elif self.at("{"):
            self.tokens.pop(0)
            while not self.at("}"):
                self.statement(True)
            self.tokens.pop(0)
        elif self.at("if"):
            self.tokens.pop(0)
            goes = self.case(self.condition())
            self.statement(goes)
            if self.at("else"):
                self.tokens.pop(0)
                self.statement(not goes)
        elif self.at(";"):
            self.tokens.pop(0)
        else:
            while self.tokens and self.tokens[0] in ("const", "double", "vf64", "int", "rm_row_store"):
                self.tokens.pop(0)
            self.assignment()
            while self.at(","):
                self.tokens.pop(0)
                self.assignment()
            self.take(";")

    def case(self, text: str) -> bool:
        if text not in self.cases:
            raise NotRead(f"a condition of which nothing is said: {text}")
        return self.cases[text]

    def assignment(self) -> None:
        if self.at("*"):
            self.tokens.pop(0)
        name = self.name()
        if self.at("("):  # a call of what matters to nothing here
            if name not in self.calls:
                raise NotRead(f"a call of {name}")
            self.call(name)
            return
        if self.tokens[0] in (";", ","):
            return  # declared
        operation = self.tokens.pop(0)
        self.target = name
        value = self.expression()
        if operation == "=":
            self.values[name] = value
        elif operation in ("+=", "-="):
            self.values[name] = self.sum(self.values[name], minus(value) if operation == "-=" else value)
        else:
            raise NotRead(f"{name} {operation}")

    # ------------------------------------------------------------------------------------------ expressions

    def name(self) -> str:
        text = self.tokens.pop(0)
        while self.tokens and self.tokens[0] in (".", "->", "["):
            mark = self.tokens.pop(0)
            if mark == "[":
                inner = ""
                while not self.at("]"):
                    inner += self.tokens.pop(0)
                self.tokens.pop(0)
                text += f"[{inner}]"
            else:
                text += mark + self.tokens.pop(0)
        return text

    def expression(self) -> Value:
        save, depth, question = list(self.tokens), 0, -1
        for i, token in enumerate(save):
            depth += (token in "([{") - (token in ")]}")
            if depth < 0 or (not depth and token in (",", ";", ":")):
                break
            if not depth and token == "?":
                question = i
                break
        if question < 0:
            return self.additive()
        text = "".join(save[:question])
        self.tokens = save[question + 1 :]
        goes = self.case(text)
        first = self.expression() if goes else self.passed()
        self.take(":")
        second = self.passed() if goes else self.expression()
        return first if goes else second

    def passed(self) -> Value:
        """An expression that is not taken."""
        depth = 0
        while not (depth == 0 and self.tokens[0] in (":", ",", ";", ")")):
            token = self.tokens.pop(0)
            if token == "?":
                self.passed()
                self.take(":")
                continue
            depth += (token in "([") - (token in ")]")
        return {}

    def additive(self) -> Value:
        value = self.product()
        while self.tokens and self.tokens[0] in "+-":
            sign = self.tokens.pop(0)
            other = self.product()
            value = self.sum(value, minus(other) if sign == "-" else other)
        return value

    def product(self) -> Value:
        value = self.unary()
        while self.tokens and self.tokens[0] in "*/":
            by = self.tokens.pop(0)
            other = self.unary()
            value = self.times(value, other) if by == "*" else self.over(value, other)
        return value

    def unary(self) -> Value:
        if self.at("-"):
            self.tokens.pop(0)
            return minus(self.unary())
        if self.at("("):
            self.tokens.pop(0)
            if self.tokens[0] in ("double", "int64_t", "unsigned") and self.tokens[1] == ")":
                del self.tokens[:2]
                return self.unary()
            value = self.expression()
            self.take(")")
            return value
        token = self.tokens[0]
        if token[0].isdigit():
            self.tokens.pop(0)
            return number(Fraction(float.fromhex(token)) if token.startswith("0x") else Fraction(float(token)))
        name = self.name()
        if self.at("("):
            return self.call(name)
        if name not in self.values:
            raise NotRead(f"{name} of which nothing is known")
        return self.values[name]

    def argument(self) -> Value | str:
        """A value, or the name of a variable whose address is given."""
        if not self.at("&"):
            return self.expression()
        self.tokens.pop(0)
        return self.name()

    def call(self, name: str) -> Value:
        if name in self.calls and getattr(self.calls[name], "whole", False):
            self.condition()
            return self.calls[name]()
        self.take("(")
        target, self.target = self.target, ""
        given = [self.argument()]
        while self.at(","):
            self.tokens.pop(0)
            given.append(self.argument())
        self.take(")")
        self.target = target
        if name == "RM_BOUND":
            return given[0]
        if name == "rm_two_sum" and name not in self.calls:
            return self.two_sum(*given)
        if name in ("__builtin_fabs", "vf64_abs"):
            return self.algebra.magnitude(given[0])
        if name == "__builtin_sqrt":
            return self.root(given[0])
        if name in self.calls:
            return self.calls[name](*given)
        raise NotRead(f"a call of {name}")

    # ------------------------------------------------------------------------------------------- operations

    def rounded(self, value: Value) -> Value:
        return self.algebra.pruned(self.algebra.off(value, U))

    def sum(self, a: Value, b: Value) -> Value:
        whole = plus(a, b)
        if not a or not b:
            return whole
        for name, by in self.sums:
            if whole == by:
                whole = atom(name)
        if self.target in self.own and len({atoms for atoms, _ in whole}) > 1:
            return self.algebra.named(whole, self.target)
        return self.rounded(whole)

    def two_sum(self, a: Value, b: Value, rest: str) -> Value:
        """Knuth's: the sum, which is a + b less what is left over, a number of its own."""
        self.rests += 1
        self.values[rest] = atom(f"{rest}{self.rests}")
        return plus(a, b, minus(self.values[rest]))

    def times(self, a: Value, b: Value) -> Value:
        exact = times(a, b)
        return self.algebra.pruned(exact) if is_power(a) or is_power(b) or not exact else self.rounded(exact)

    def over(self, a: Value, b: Value) -> Value:
        if len({atoms for atoms, _ in b}) > 1:
            b = self.algebra.divisor(b)
        atoms, c, relative = self.algebra.one_monomial(b)
        inverse = {(tuple((name, -k) for name, k in atoms), ()): 1 / c}
        if relative:
            inverse = self.algebra.off(inverse, relative / (1 - relative))
        value = times(a, inverse)
        return self.algebra.pruned(value) if is_power(b) or not value else self.rounded(value)

    def root(self, value: Value) -> Value:
        atoms, c, relative = self.algebra.one_monomial(value)
        if any(k % 2 for _, k in atoms) or c != 1:
            raise Unknown(f"the root of {c} {atoms}")
        half = {(tuple((name, k // 2) for name, k in atoms), ()): Fraction(1)}
        return self.rounded(self.algebra.off(half, relative) if relative else half)

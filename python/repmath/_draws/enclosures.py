"""Enclosures of real numbers by pairs of decimal numbers, of any precision, and their rounding to a format.

The decimal module rounds sums, products, quotients in the direction that a context has, and square roots, logarithms and exponentials to the
nearest, whence the neighbours of these enclose."""

import decimal
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .._narrow import narrow

FIRST, LAST = 40, 5200
"""Digits of the first and of the last precision that is tried; each has three times as many as the one before."""


class Arithmetic:
    """Enclosures (low, high) of so many digits."""

    def __init__(self, digits: int) -> None:
        def context(rounding: str) -> decimal.Context:
            return decimal.Context(
                digits,
                rounding,
                decimal.MIN_EMIN,
                decimal.MAX_EMAX,
                1,
                0,
                [],
                [decimal.InvalidOperation, decimal.DivisionByZero],
            )

        self.down, self.up = context(decimal.ROUND_FLOOR), context(decimal.ROUND_CEILING)
        self.near = context(decimal.ROUND_HALF_EVEN)

    def of(self, x: Any) -> "Enclosure":
        """Of an integer, a float or a fraction."""
        f = Fraction(x)
        above, below = Decimal(f.numerator), Decimal(f.denominator)
        return Enclosure(self, self.down.divide(above, below), self.up.divide(above, below))


class Enclosure:
    """A real number between two decimal ones."""

    def __init__(self, by: Arithmetic, low: Decimal, high: Decimal) -> None:
        self.by, self.low, self.high = by, low, high

    def __add__(self, other: "Enclosure") -> "Enclosure":
        return Enclosure(self.by, self.by.down.add(self.low, other.low), self.by.up.add(self.high, other.high))

    def __neg__(self) -> "Enclosure":
        return Enclosure(self.by, self.low.copy_negate(), self.high.copy_negate())

    def __sub__(self, other: "Enclosure") -> "Enclosure":
        return self + -other

    def _ends(self, other: "Enclosure", down: Callable[..., Decimal], up: Callable[..., Decimal]) -> "Enclosure":
        pairs = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Enclosure(self.by, min(down(a, b) for a, b in pairs), max(up(a, b) for a, b in pairs))

    def __mul__(self, other: "Enclosure") -> "Enclosure":
        return self._ends(other, self.by.down.multiply, self.by.up.multiply)

    def __truediv__(self, other: "Enclosure") -> "Enclosure":
        """By a number whose enclosure does not contain 0."""
        assert other.low > 0 or other.high < 0
        return self._ends(other, self.by.down.divide, self.by.up.divide)

    def _grown(self, function: Callable[[Decimal], Decimal]) -> "Enclosure":
        low, high = function(self.low), function(self.high)
        return Enclosure(self.by, self.by.near.next_minus(low), self.by.near.next_plus(high))

    def sqrt(self) -> "Enclosure":
        return self._grown(self.by.near.sqrt)

    def ln(self) -> "Enclosure":
        return self._grown(self.by.near.ln)

    def exp(self) -> "Enclosure":
        return self._grown(self.by.near.exp)

    def below(self, other: "Enclosure") -> bool | None:
        """Whether it is the smaller one; None where that is undecided."""
        return True if self.high < other.low else False if self.low > other.high else None


def precisions() -> Iterator[Arithmetic]:
    """Arithmetics of growing precision."""
    digits = FIRST
    while digits <= LAST:
        yield Arithmetic(digits)
        digits *= 3


def rounded(value: Decimal, dtype: np.dtype[Any]) -> Any:
    """The decimal number rounded to nearest in the format, as an array of one element. (float rounds to nearest, for numerals have a correct rounding.)"""
    near = float(value)
    exact = Decimal(near) if abs(near) != float("inf") else Decimal(near).copy_sign(value)
    sign = float((value > exact) - (value < exact))
    with np.errstate(over="ignore", under="ignore"):
        return narrow(np.array([near]), dtype, lambda at: np.full(at[0].shape, sign))


def round_enclosure(enclose: Callable[[Arithmetic], Enclosure], dtype: np.dtype[Any]) -> Any:
    """The number that `enclose` encloses, rounded to nearest: by the first precision whose ends round alike. If none has such ends, the number is taken to be
    the boundary that the last enclosure contains."""
    for by in precisions():
        with decimal.localcontext(by.near):  # not the caller's
            x = enclose(by)
        low, high = rounded(x.low, dtype), rounded(x.high, dtype)
        if low[0] == high[0]:
            return low[0]
    halfway = (Fraction(float(low[0])) + Fraction(float(high[0]))) / 2
    with decimal.localcontext(x.by.near):
        return rounded(Decimal(halfway.numerator) / Decimal(halfway.denominator), dtype)[0]

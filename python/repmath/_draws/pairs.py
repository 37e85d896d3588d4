"""Arrays of unevaluated sums of two binary64 numbers, the second at most half a unit in the last place of the first or little more.

A product, a quotient, a sum of positive numbers and a root are within 2^-98 of themselves (Joldes, Muller, Popescu, "Tight and rigorous error bounds for
basic building blocks of double-word arithmetic", ACM TOMS 44(2), 2017, has bounds below 16 u^2 = 2^-102 for such algorithms); this holds while no product is
subnormal or overflows, which the callers see to."""

import functools
from decimal import Context, Decimal
from typing import Any, TypeAlias

import numpy as np

from .. import _core

_A: TypeAlias = np.ndarray[Any, Any]
Pair: TypeAlias = tuple[_A, _A]


def two_sum(a: Any, b: Any) -> Pair:
    """The rounded sum and its error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def fast_two_sum(a: Any, b: Any) -> Pair:
    """The same where a is the larger one (Dekker)."""
    s = a + b
    return s, b - (s - a)


def two_product(a: Any, b: Any) -> Pair:
    """The rounded product and its error."""
    p = a * b
    return p, _core.ufuncs["fma"](a, b, -p)


def plus(x: Pair, y: Pair) -> Pair:
    s, e = two_sum(x[0], y[0])
    t, f = two_sum(x[1], y[1])
    s, e = fast_two_sum(s, e + t)
    return fast_two_sum(s, e + f)


def times(x: Pair, y: Pair) -> Pair:
    p, e = two_product(x[0], y[0])
    return fast_two_sum(p, e + (x[0] * y[1] + x[1] * y[0]))


def scaled(x: Pair, power: Any) -> Pair:
    """Times powers of two."""
    return x[0] * power, x[1] * power


def over(x: Pair, y: Pair) -> Pair:
    q = x[0] / y[0]
    p, e = two_product(q, y[0])
    rest = (((x[0] - p) - e) + x[1]) - q * y[1]
    return fast_two_sum(q, rest / y[0])


def root(x: Pair) -> Pair:
    s = np.sqrt(x[0])
    p, e = two_product(s, s)
    return fast_two_sum(s, (((x[0] - p) - e) + x[1]) / (2.0 * s))


def constant(value: Decimal) -> tuple[float, float]:
    """A decimal number as a pair."""
    high = float(value)
    return high, float(_WIDE.subtract(value, Decimal(high)))


_WIDE = Context(60)
_HALVINGS, _TERMS = 8, 10


@functools.cache
def _constants() -> tuple[tuple[float, float, float], list[tuple[float, float]]]:
    """ln 2 in three parts, of which multiples by integers below 2^13 are exact for the first, and 1/j!."""
    ln2 = _WIDE.ln(Decimal(2))
    first = float(int(_WIDE.multiply(ln2, Decimal(2**40)))) / 2.0**40
    coefficients, factorial = [], 1
    for j in range(1, _TERMS + 1):
        factorial *= j
        coefficients.append(constant(_WIDE.divide(Decimal(1), Decimal(factorial))))
    return (first, *constant(_WIDE.subtract(ln2, Decimal(first)))), coefficients


def exp(t: Pair) -> Pair:
    """Of numbers from -700 to 700, within 2^-88 of itself.

    r = (t - k ln 2)/256 is below 2^-9.5 and within 2^-106 of t's 256th part, of |k| 2^-146 and of 2^-97 of itself. The series, of ten terms, is short by less
    than 2^-119 of exp(r) - 1, and its steps round by less than 2^-95 of it; each of the eight steps e (2 + e) from exp(r) - 1 to exp(2 r) - 1 rounds by
    less than 2^-96, and their errors add up. The sum with 1, which is above 0.7, rounds by 2^-98."""
    (first, second, third), coefficients = _constants()
    k = np.rint(t[0] * (1.0 / 0.6931471805599453))
    nothing = np.zeros_like(k)
    r = plus(t, (-k * first, nothing))
    p, e = two_product(-k, second)
    r = plus(r, fast_two_sum(p, e - k * third))
    r = scaled(r, 2.0**-_HALVINGS)
    total = coefficients[-1][0] + nothing, coefficients[-1][1] + nothing
    for c in coefficients[-2::-1]:
        total = plus((c[0] + nothing, c[1] + nothing), times(r, total))
    total = times(r, total)
    two, one = nothing + 2.0, nothing + 1.0
    for _ in range(_HALVINGS):
        total = times(total, plus((two, nothing), total))
    y = plus((one, nothing), total)
    power = k.astype(np.int64)
    return np.ldexp(y[0], power), np.ldexp(y[1], power)


def log(u: Pair) -> Pair:
    """Of numbers from 2^-66 to 1, within 2^-86: y + log(1 + r), where y is the logarithm rounded to binary64 and 1 + r = u exp(-y).

    |y| < 46, so |r| < 2^-46, and the terms beyond r^2/2 are below 2^-139. r has the error of the exponential and of the product, 2^-87."""
    y = _core.ufuncs["log"](u[0])
    q = times(u, exp((-y, np.zeros_like(y))))
    r = (q[0] - 1.0) + q[1]
    rest = ((q[0] - 1.0) - r) + q[1]
    s, e = two_sum(y, r)
    return fast_two_sum(s, e + (rest - 0.5 * r * r))

"""Bessel functions of the orders 0 and 1: RN of the sum of their power series, enclosed between whole multiples of 2**-f.

f grows until both ends of the interval round to one number. That happens: at rational numbers other than 0 these functions, and their quotients by
exp, are transcendental (Siegel, Shidlovskii), and so no boundary of rounding. Of numbers up to 64 the series is first summed in double-double, and before
that for formats below binary64 in binary64 (src/special/kernels.c).
"""

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from .. import _core
from .._dtypes import F64, NAMES
from .._narrow import convert_array
from .enclosures import Interval, decided, div
from .functions import Array, bessel_j, scaled_bessel_i

_Interval: TypeAlias = tuple[int, int]
TERMS = 110  # what the series takes at 64
FAR = 4096  # beyond which series are too long: expansions serve there
OVERFLOW = 720  # exp(x)/sqrt(2 pi x) is beyond binary64 from there on


def _sum(first: _Interval, a: int, b: Callable[[int], int], sign: int) -> _Interval:
    """Of terms that begin with the first, each a/b(k) of the one before, with signs that alternate where `sign` is -1. b is increasing."""
    low, high = first
    total_low, total_high, k, s = low, high, 0, 1
    while high > 1 or 2 * a > b(k + 1):  # then the rest is at most the last term
        k, s = k + 1, s * sign
        below = b(k)
        low, high = low * a // below, -(-high * a // below)
        total_low, total_high = total_low + (low if s > 0 else -high), total_high + (high if s > 0 else -low)
    return total_low - (high if sign < 0 else 0), total_high + high


def _value(m: int, q: int, order: int, sign: int, scaled: bool, f: int) -> _Interval:
    """I (sign 1) or J (sign -1) at m/q above 0, or I over exp(m/q), in units of 2**-f."""
    first = (1 << f, 1 << f) if order == 0 else ((m << f) // (2 * q), -(-(m << f) // (2 * q)))
    made = _sum(first, m * m, lambda k: 4 * q * q * k * (k + order), sign)
    if not scaled:
        return made
    low, high = _sum((1 << f, 1 << f), m, lambda k: q * k, 1)
    return (made[0] << f) // high, -(-(made[1] << f) // low)


def _rounded(x: float, order: int, sign: int, scaled: bool, dtype: Any) -> float:
    """At a number above 0, in binary64; for a narrower format to odd."""
    if scaled and x > FAR:
        return decided(functools.partial(scaled_bessel_i, x, order), dtype, f"a Bessel function at {x}")
    m, q = x.as_integer_ratio()
    more = max(0, q.bit_length() - m.bit_length()) + (3 * int(x) if sign < 0 else 0)

    def value(p: int) -> Interval:
        if sign < 0 and x > min(FAR, 0.35 * (p + 16)):  # expansions have more bits than that
            return bessel_j(x, order, p)
        return *_value(m, q, order, sign, scaled, p + more), -(p + more)

    return decided(value, dtype, f"a Bessel function at {x}")


def one(x: float, order: int, sign: int, scaled: bool, dtype: Any) -> float:
    if x != x:
        return math.nan
    flip = -1.0 if order and math.copysign(1.0, x) < 0 else 1.0
    x = abs(x)
    if x == 0:
        return flip * (1.0 - order)
    if sign > 0 and not scaled and x > OVERFLOW:
        return flip * math.inf
    if x == math.inf:
        return flip * 0.0
    return flip * _rounded(x, order, sign, scaled, dtype)


def kaiser(places: list[int], width: int, beta: float, dtype: Any) -> list[float]:
    """I0(beta sqrt(4 j (d - j))/d) over I0(beta) at places j from 0 to d/2, in binary64; for a narrower format to odd.

    I0 of both is a sum of rational numbers. Of rational squares that differ the two values are algebraically independent (Siegel), and so their quotient is no boundary of
    rounding; of j = d/2 and of beta = 0 it is 1."""
    m, q = beta.as_integer_ratio()

    @functools.cache
    def below(p: int) -> Interval:
        return *_value(abs(m), q, 0, 1, False, p), -p

    def value(j: int, p: int) -> Interval:
        f = p + 16
        above = _sum((1 << f, 1 << f), m * m * j * (width - j), lambda k: (q * width * k) ** 2, 1)
        return div((*above, -f), below(f), f)

    return [
        1.0
        if 2 * j == width or m == 0
        else decided(functools.partial(value, j), dtype, f"a Kaiser window of {beta} at {j} of {width}")
        for j in places
    ]


@functools.cache
def _table(order: int) -> list[float]:
    """The coefficients of I over x**order: 64**k/(2 k! (k + order)!) of (x/16)**(2 k), in two parts, as many as x = 64 needs."""
    made: list[float] = []
    for k in range(TERMS):
        value = Fraction(64**k, math.factorial(k) * math.factorial(k + order) * 2**order)
        made += [float(value), float(value - Fraction(float(value)))]
    return made


def _rest(x: Array, order: int, sign: int, scaled: bool, dtype: Any) -> Array:
    """The values that the series leaves undecided, in the format."""
    far = np.abs(x) > OVERFLOW if sign > 0 and not scaled else np.isinf(x)
    made = np.where(far & (sign > 0) & (not scaled), np.inf, 0.0)
    made = np.where(x == 0, 1.0 - order, np.where(np.isnan(x), np.nan, made))
    if order:
        made = np.copysign(made, x)
    made = convert_array(made, dtype)
    left = np.flatnonzero(~(far | (x == 0) | np.isnan(x)))
    if left.size:
        made[left] = convert_array(np.array([one(v, order, sign, scaled, dtype) for v in x[left].tolist()], F64), dtype)
    return made


# The order, the sign of the terms, and whether e^-|x| scales it.
KINDS = {
    "i0": (0, 1, False),
    "i1": (1, 1, False),
    "i0e": (0, 1, True),
    "i1e": (1, 1, True),
    "j0": (0, -1, False),
    "j1": (1, -1, False),
}


@functools.cache
def series(name: str) -> _core.Special:
    """The series of a function, which is a prepared call of PyTorch's operators too."""
    return _core.Special(1, KINDS[name], _table(KINDS[name][0]))


def values(name: str, target: np.dtype[Any], points: Array) -> Array:
    """The function of an array of one of the formats with one axis, rounded once to another, or to its own."""
    made, undecided = np.empty(points.shape, target), np.empty(points.shape, np.uint8)
    if points.size and series(name).values(NAMES[points.dtype], NAMES[target], points, made, undecided):
        rest = np.flatnonzero(undecided)
        made[rest] = _rest(points[rest].astype(F64), *KINDS[name], target)
    return made

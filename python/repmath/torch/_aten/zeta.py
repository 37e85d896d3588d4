"""Derivatives of digamma, and Hurwitz's zeta function of whole orders: RN of the sum, enclosed between whole multiples of 2**-f.

Of q above 0 the sum of (q + k)**-s is taken term by term to a = q + n, and from there by Euler's and Maclaurin's formula. Its rest is below the first
term that is left out, since all derivatives of x**-s have one sign. Below 0 the sum over all whole numbers is that of the fractional part,
less the terms on the other side. f grows until both ends of the interval round to one number.
"""

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from ..._dtypes import F64
from .._tensors import FORMATS, as_array, as_tensor
from .common import Array, Uncovered, apply, convert, convert_array, kernel, ratio, ratio_to_odd

_Interval = tuple[int, int]
ORDERS = 200
BITS = 1 << 15  # after so many more a value is not decided


@functools.cache
def _bernoulli(j: int) -> Fraction:
    """B[2 j]/(2 j)!, by the recurrence of the series of x/(exp(x) - 1)."""
    return -sum((_series(i) / math.factorial(2 * j - i + 1) for i in range(2 * j) if i < 2 or i % 2 == 0), Fraction(0))


def _series(i: int) -> Fraction:
    return Fraction(1) if i == 0 else Fraction(-1, 2) if i == 1 else _bernoulli(i // 2)


def _power(m: int, q: int, s: int, f: int, a: int = 1, b: int = 1) -> _Interval:
    """a/b times (m/q)**-s, m, q and b above 0."""
    low, rest = divmod(a * q**s << f, b * m**s)
    return low, low + (rest != 0)


def _above(m: int, q: int, s: int, f: int) -> _Interval:
    """The sum of (m/q + k)**-s over k, from 0 on, of m/q above 0."""
    n = max(0, f // 6 + s - m // q)
    low = high = 0
    for k in range(n):
        a, b = _power(m + k * q, q, s, f)
        low, high = low + a, high + b
    m += n * q
    for a, b in (_power(m, q, s - 1, f, 1, s - 1), _power(m, q, s, f, 1, 2)):
        low, high = low + a, high + b
    rising, j = s, 1  # s (s + 1) ... (s + 2 j - 2)
    while True:
        scale = _bernoulli(j) * rising
        a, b = _power(m, q, s + 2 * j - 1, f, scale.numerator, scale.denominator)
        if -2 <= a and b <= 2:  # the rest has its sign and is smaller
            return low + min(a, 0), high + max(b, 0)
        low, high = low + a, high + b
        rising *= (s + 2 * j - 1) * (s + 2 * j)
        j += 1


def _sum(m: int, q: int, s: int, f: int) -> _Interval:
    """The same of any m/q that is not a whole number at or below 0."""
    if m > 0:
        return _above(m, q, s, f)
    part = m % q  # the fractional part
    sign = -1 if s % 2 else 1
    first, second, third = (_above(v, q, s, f) for v in (part, q - part, q - m))
    other = second[0] - third[1], second[1] - third[0]
    other = (-other[1], -other[0]) if sign < 0 else other
    return first[0] + other[0], first[1] + other[1]


def _rounded(x: float | int, s: int, factor: int, dtype: Any) -> float:
    """The factor times the sum, in binary64; for a narrower format to odd."""
    m, q = x.as_integer_ratio()
    f = 96 + max(0, (s - 1) * (abs(m) // q).bit_length())
    round_one, last = ratio if dtype == F64 else ratio_to_odd, f + BITS
    while f < last:
        low, high = (v * factor for v in _sum(m, q, s, f))
        low, high = min(low, high), max(low, high)
        a, b = round_one(low, 1 << f), round_one(high, 1 << f)
        if a == b and math.copysign(1.0, a) == math.copysign(1.0, b):
            return a
        f *= 2
    raise Uncovered(f"a value at {x} that {BITS} bits do not decide")


def _one(x: float | int, n: int, dtype: Any) -> float:
    """The n-th derivative of digamma at a number, n above 0."""
    sign = 1 if n % 2 else -1
    if x != x or x == -math.inf:
        return math.nan
    if x == math.inf:
        return math.copysign(0.0, sign)
    if x <= 0 and x == math.floor(x):
        return sign * math.inf
    return _rounded(x, n + 1, sign * math.factorial(n), dtype)


_SHIFT = 16  # terms before the formula, whose first terms then do


def _fast(x: Array, n: int, dtype: Any) -> tuple[Array, Array]:
    """In a format below binary64, and where that is sure: of x above -16 and small orders."""
    made, sure = _from(x, n, dtype, _SHIFT)
    below = np.flatnonzero((x < 0) & (x > -_SHIFT))
    if below.size:
        made[below], sure[below] = _from(x[below], n, dtype, 2 * _SHIFT)
    return made, sure


def _from(x: Array, n: int, dtype: Any, shift: int) -> tuple[Array, Array]:
    """The same by so many terms before the formula, of x + shift not below 16.

    Of a term x + k is rounded, its power n times and the quotient once, which is less than (2 n + 3) 2**-53 of it; of the formula's three parts less
    than (2 n + 12) 2**-53. All but the last part is positive where x is, and this is below 2**-5 of the first; below 0 the terms have the signs of their
    powers, their sizes are added, and the formula is below 2**-5 of the largest, since |x + k| is at most 1/2 for one. Up to 33 sums and the factor of the
    result, n at most 7, are less than 60 2**-53 of the sizes in all. Of the formula 8 terms are taken: what is left is below 2**-49 of the sizes, as a is
    at least 16. The sizes are within 2**-47 of their sum.
    """
    s = n + 1
    with np.errstate(all="ignore"):
        total, size = np.zeros_like(x), np.zeros_like(x)
        for k in range(shift):
            term = 1.0 / _whole_power(x + k, s)
            total, size = total + term, size + np.abs(term)
        a = x + shift
        inner = 1.0 / a
        square = inner * inner
        series = np.zeros_like(x)
        for j in range(8, 0, -1):
            series = series * square + float(_bernoulli(j) * math.prod(range(s, s + 2 * j - 1)))
        tail = (a / (s - 1) + 0.5 + series * inner) / _whole_power(a, s)
        factor = float(math.factorial(n))
        value, margin = (total + tail) * (factor if n % 2 else -factor), (size + tail) * factor * 2.0**-44
        low, high = (convert_array(value + t * margin, dtype) for t in (-1, 1))
        known = (a >= _SHIFT) & (x < 1e30) & (np.abs(value) > 1e-200) & np.isfinite(margin)
        known &= np.abs(value) > margin * 16
    return low, known & (low == high)


def _whole_power(x: Array, s: int) -> Array:
    made = x
    for _ in range(s - 1):
        made = made * x
    return made


@kernel
def polygamma(n: int, x: torch.Tensor) -> torch.Tensor:
    if x.is_complex():
        raise Uncovered("complex numbers")
    dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    if dtype not in FORMATS:
        raise Uncovered(f"results of {dtype}")
    if n < 0:
        raise ValueError("n must not be below 0")
    if n == 0:
        return apply("digamma", x, dtype=dtype)
    if n == 1:
        return apply("trigamma", x, dtype=dtype)
    if n > ORDERS:
        raise Uncovered(f"n={n}, above {ORDERS}")
    target = FORMATS[dtype]
    made = np.empty(x.numel(), target)
    sure = np.zeros(x.numel(), bool)
    if target != F64 and n <= 7 and x.is_floating_point():
        made, sure = _fast(as_array(convert(x, torch.float64)).reshape(-1), n, target)
    rest = np.flatnonzero(~sure)
    if rest.size:
        numbers = x.reshape(-1)[torch.from_numpy(rest)].tolist()
        made[rest] = convert_array(np.array([_one(v, n, target) for v in numbers]), target)
    return as_tensor(made).view(x.shape)


@kernel
def polygamma_into(x: torch.Tensor, n: int) -> torch.Tensor:
    return polygamma(n, x)

"""Derivatives of digamma, and Hurwitz's zeta function of whole orders: RN of the sum, enclosed between whole multiples of 2**-f.

Of q above 0 the sum of (q + k)**-s is taken term by term to a = q + n, and from there by Euler's and Maclaurin's formula. Its rest is below the first
term that is left out, since all derivatives of x**-s have one sign. Below 0 the sum over all whole numbers is that of the fractional part,
less the terms on the other side. f grows until both ends of the interval round to one number. Orders up to 7 at numbers from -15 on are first
summed in double-double (src/special/kernels.c).
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from ... import _core
from ..._dtypes import F64, NAMES
from ..._special.enclosures import Interval, bernoulli, decided
from .._tensors import FORMATS, as_array, as_tensor
from .common import Array, Uncovered, apply, convert_array, deciding, kernel

_Interval = tuple[int, int]
ORDERS = 200


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
        scale = bernoulli(j) * rising
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
    more = max(0, (s - 1) * (abs(m) // q).bit_length())

    def value(p: int) -> Interval:
        low, high = sorted(v * factor for v in _sum(m, q, s, p + more))
        return low, high, -(p + more)

    return decided(value, dtype, f"a derivative of digamma at {x}")


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


def _coefficients() -> list[float]:
    """Those of Euler's and Maclaurin's formula, in two parts: 21 for each order from 2 on."""
    made: list[float] = []
    for n in range(2, FAST_ORDERS + 1):
        for j in range(1, 22):
            value = bernoulli(j) * math.prod(range(n, n + 2 * j))
            made += [float(value), float(value - Fraction(float(value)))]
    return made


FAST_ORDERS = 7
# The sum in double-double (src/special/kernels.c), which is a prepared call too.
CALL = _core.Special(2, (), _coefficients())


def _rest(x: Array, n: int, dtype: Any) -> Array:
    """The values that it leaves undecided, of numbers of binary64."""
    pole = (x <= 0) & (x == np.floor(x)) & (x > -np.inf)
    none, sign = np.isnan(x) | (x == -np.inf), 1.0 if n % 2 else -1.0
    known = pole | none | (x == np.inf)
    made = convert_array(np.where(pole, sign * np.inf, np.where(none, np.nan, sign * 0.0)), dtype)
    left = np.flatnonzero(~known)
    if left.size:
        made[left] = convert_array(np.array([_one(v, n, dtype) for v in x[left].tolist()]), dtype)
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
    if not x.is_floating_point():
        with deciding():
            whole = np.array([_one(v, n, target) for v in x.reshape(-1).tolist()], F64)
        return as_tensor(convert_array(whole, target)).view(x.shape)
    points = as_array(x.contiguous()).reshape(-1)
    made, undecided = np.empty(points.shape, target), np.ones(points.shape, np.uint8)
    if points.size and (n > FAST_ORDERS or CALL.values(NAMES[target], NAMES[target], points, made, undecided, order=n)):
        rest = np.flatnonzero(undecided)
        with deciding():
            made[rest] = _rest(points[rest].astype(F64), n, target)
    return as_tensor(made).view(x.shape)


@kernel
def polygamma_into(x: torch.Tensor, n: int) -> torch.Tensor:
    return polygamma(n, x)

"""Orthogonal polynomials: RN of the value at the number that x is, by recurrence.

The degree is the whole part of n; below 0 the value is 0, as PyTorch has it. For formats below binary64 the recurrence runs in binary64 with a
bound on its error; what the bound leaves undecided, and binary64, is computed with integers.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..._dtypes import F64
from .._tensors import FORMATS, as_tensor
from .common import KERNELS, Array, Uncovered, convert_array, format_of, ratio, ratio_to_odd

DEGREES = 4096


@dataclass(frozen=True)
class _Family:
    """P[0] = 1, P[1] = a x + b; d P[k+1] = (a x + b) P[k] - c P[k-1], of a, b and c at k, d = k + 1 where `divided`, else 1."""

    first: tuple[int, int]
    next: Callable[[int], tuple[int, int, int]]
    divided: bool = False
    leading: int = 1  # the sign of the coefficient of x**n, where n is odd


def _chebyshev(a: int, b: int) -> _Family:
    return _Family((a, b), lambda k: (2, 0, 1))


def _shifted(a: int, b: int) -> _Family:
    return _Family((a, b), lambda k: (4, -2, 1))


FAMILIES = {
    "chebyshev_polynomial_t": _chebyshev(1, 0),
    "chebyshev_polynomial_u": _chebyshev(2, 0),
    "chebyshev_polynomial_v": _chebyshev(2, -1),
    "chebyshev_polynomial_w": _chebyshev(2, 1),
    "shifted_chebyshev_polynomial_t": _shifted(2, -1),
    "shifted_chebyshev_polynomial_u": _shifted(4, -2),
    "shifted_chebyshev_polynomial_v": _shifted(4, -3),
    "shifted_chebyshev_polynomial_w": _shifted(4, -1),
    "hermite_polynomial_h": _Family((2, 0), lambda k: (2, 0, 2 * k)),
    "hermite_polynomial_he": _Family((1, 0), lambda k: (1, 0, k)),
    "laguerre_polynomial_l": _Family((-1, 1), lambda k: (-1, 2 * k + 1, k), True, -1),
    "legendre_polynomial_p": _Family((1, 0), lambda k: (2 * k + 1, 0, k), True),
}


def _exact(family: _Family, x: float | int, n: int) -> tuple[int, int]:
    """The value at a number, as a quotient of integers: with x = m/q, of q**k k! P[k], or of q**k P[k]."""
    m, q = x.as_integer_ratio()
    before, now = 1, family.first[0] * m + family.first[1] * q
    if n == 0:
        return 1, 1
    for k in range(1, n):
        a, b, c = family.next(k)
        c = c * k if family.divided else c
        before, now = now, (a * m + b * q) * now - c * q * q * before
    return now, q**n * (math.factorial(n) if family.divided else 1)


def _at_infinity(family: _Family, x: float, n: int) -> float:
    """The limit."""
    odd = n % 2 == 1
    return (family.leading if odd else 1) * (x if odd else math.inf)


def _one(family: _Family, x: float | int, n: int, dtype: Any) -> float:
    """In binary64; for a narrower format to odd."""
    if n <= 0:
        return float(n == 0)
    if isinstance(x, float) and not math.isfinite(x):
        return x if x != x else _at_infinity(family, x, n)
    value = _exact(family, x, n)
    return ratio(*value) if dtype == F64 else ratio_to_odd(*value)


# Above 1, for the roundings of a bound itself: of at most 16 operations on numbers that are not negative.
_MORE = 1 + 2.0**-48
_U = 2.0**-53
_TINY = 2.0**-1000  # above what is lost below the normal numbers


def _by_recurrence(family: _Family, x: Array, n: Array) -> tuple[Array, Array]:
    """The values in binary64, and bounds of their errors; these are not finite where nothing is known."""
    a, b = family.first
    before, at = np.ones_like(x), a * x
    now = at + b
    error_before, error = np.zeros_like(x), (_U * (np.abs(at) + np.abs(now)) + _TINY) * _MORE
    made, bound = np.where(n == 1, now, 1.0), np.where(n == 1, error, 0.0)
    for k in range(1, int(n.max(initial=0))):
        a, b, c = family.next(k)
        at = a * x
        slope = at + b
        of_slope = _U * (np.abs(at) + np.abs(slope)) + _TINY
        first, second = slope * now, c * before
        following = first - second
        of_first = _U * np.abs(first) + (np.abs(now) + error) * of_slope + np.abs(slope) * error
        wrong = of_first + (_U * np.abs(second) + c * error_before) + _U * np.abs(following) + _TINY
        if family.divided:
            following = following / (k + 1)
            wrong = wrong / (k + 1) + _U * np.abs(following)
        before, now, error_before, error = now, following, error, wrong * _MORE
        here = n == k + 1
        made, bound = np.where(here, now, made), np.where(here, error, bound)
    return made, bound


def _fast(family: _Family, x: Array, n: Array, dtype: Any) -> tuple[Array, Array]:
    """In a format below binary64, and where that is sure."""
    with np.errstate(all="ignore"):
        made, bound = _by_recurrence(family, x, n)
        low = np.nextafter(made - bound, -np.inf)
        high = np.nextafter(made + bound, np.inf)
        exact = bound == 0
        low, high = np.where(exact, made, low), np.where(exact, made, high)
        known = np.isfinite(low) & np.isfinite(high)
        below, above = (convert_array(v, dtype) for v in (low, high))
    return below, known & (below == above) & (np.signbit(low) == np.signbit(high))


def _numbers(v: Any) -> torch.Tensor:
    if not isinstance(v, torch.Tensor):
        return torch.tensor(v, dtype=torch.float64 if isinstance(v, float) else None)
    if v.is_complex():
        raise Uncovered("complex numbers")
    return v


def _polynomial(family: _Family, x: Any, n: Any) -> torch.Tensor:
    dtype = format_of(x, n)
    dtype = dtype if dtype.is_floating_point or dtype.is_complex else torch.get_default_dtype()
    if dtype not in FORMATS:
        raise Uncovered(f"results of {dtype}")
    target = FORMATS[dtype]
    at, degree = torch.broadcast_tensors(_numbers(x), _numbers(n))
    shape, points, degrees = at.shape, at.reshape(-1).tolist(), degree.reshape(-1).tolist()
    if not all(math.isfinite(v) and v < DEGREES + 1 for v in degrees):
        raise Uncovered(f"a degree that is not finite, or above {DEGREES}")
    whole = [max(int(v), -1) for v in degrees]
    made, sure = np.empty(len(points), target), np.zeros(len(points), bool)
    if target != F64 and points:
        if not any(isinstance(v, int) and abs(v) > 2**53 for v in points):
            made, sure = _fast(family, np.array(points, F64), np.array(whole), target)
    rest = np.flatnonzero(~sure | np.isin(whole, -1))
    if rest.size:
        made[rest] = convert_array(np.array([_one(family, points[i], whole[i], target) for i in rest.tolist()]), target)
    return as_tensor(made).view(shape)


def _enter(name: str, family: _Family) -> None:
    def call(x: Any, n: Any) -> torch.Tensor:
        return _polynomial(family, x, n)

    KERNELS[name] = call


for _name, _family in FAMILIES.items():
    _enter(_name, _family)

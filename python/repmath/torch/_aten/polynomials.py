"""Orthogonal polynomials: RN of the value at the number that x is, by recurrence.

The degree is the whole part of n; below 0 the value is 0, as PyTorch has it. The recurrence runs in double-double with a bound on its error
(src/special/kernels.c). What this leaves undecided is NaN, infinite, exact in binary64, as zeros and midpoints of few digits are, or computed with
integers.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ... import _core
from ..._dtypes import F64, NAMES
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Array, Uncovered, convert, convert_array, format_of, ratio, ratio_to_odd

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


def _short(family: _Family, x: Array, n: Array) -> tuple[Array, Array]:
    """The values, and where they are known: where every step is exact in binary64.

    With x a multiple of the power of two g, g at most 1, all that step k makes is a multiple of g**k; it is exact where it is below 2**53 times that. So a
    value of a recurrence that divides is exact as k! times itself, which for k up to 2 is a power of two.
    """
    with np.errstate(all="ignore"):
        mantissa, power = np.frexp(x)
        whole = np.ldexp(mantissa, 53).astype(np.int64)
        grid = np.minimum(np.ldexp((whole & -whole).astype(F64), power - 53), 1.0)
        grid = np.where(x == 0, 1.0, grid)
        a, b = family.first
        before, now = np.ones_like(x), a * x + b
        unit, largest = grid, np.maximum(np.abs(a * x), np.abs(now))
        fits = largest < 2.0**53 * unit
        made, known = np.where(n == 1, now, 0.0), (n == 1) & fits
        last = int(n.max(initial=0))
        for k in range(1, min(last, 2) if family.divided else last):
            if not fits.any():
                break
            a, b, c = family.next(k)
            c = c * k if family.divided else c
            unit = unit * grid
            at = a * x
            first, second = (at + b) * now, c * before
            before, now = now, first - second
            for v in (at, at + b, first, second, now):
                fits &= np.abs(v) < 2.0**53 * unit
            here = fits & (n == k + 1) & (unit > 2.0**-1000)
            made, known = np.where(here, now / 2 if family.divided else now, made), known | here
        made = made + 0.0  # an exact 0 is +0
    return made, known


def _rest(family: _Family, x: Array, n: Array, dtype: Any) -> Array:
    """The values that the recurrence leaves undecided, in the format."""
    with np.errstate(all="ignore"):
        odd = n % 2 == 1
        limit = np.where(odd, family.leading * x, np.inf)
        made, known = _short(family, np.where(np.isfinite(x), x, 0.0), n)
        made, known = np.where(np.isfinite(x), made, limit), known | ~np.isfinite(x)
        made, known = np.where(np.isnan(x), np.nan, made), known | (n <= 0)
        made = np.where(n <= 0, (n == 0) * 1.0, made)
    left = np.flatnonzero(~known)
    made = convert_array(made, dtype)
    if left.size:
        made[left] = convert_array(np.array([_one(family, x[i], int(n[i]), dtype) for i in left.tolist()]), dtype)
    return made


def _numbers(v: Any) -> torch.Tensor:
    if not isinstance(v, torch.Tensor):
        return torch.tensor(v, dtype=torch.float64 if isinstance(v, float) else None)
    if v.is_complex():
        raise Uncovered("complex numbers")
    return v


def _polynomial(name: str, x: Any, n: Any) -> torch.Tensor:
    family = FAMILIES[name]
    dtype = format_of(x, n)
    dtype = dtype if dtype.is_floating_point or dtype.is_complex else torch.get_default_dtype()
    if dtype not in FORMATS:
        raise Uncovered(f"results of {dtype}")
    target = FORMATS[dtype]
    at, degree = torch.broadcast_tensors(_numbers(x), _numbers(n))
    if not bool(((degree > -math.inf) & (degree < DEGREES + 1)).all()):
        raise Uncovered(f"a degree that is not finite, or above {DEGREES}")
    whole = np.maximum(np.trunc(as_array(convert(degree, torch.float64)).reshape(-1)), -1.0)
    if not at.is_floating_point() and bool(((at > 2**53) | (at < -(2**53))).any()):
        values = [_one(family, v, int(k), target) for v, k in zip(at.reshape(-1).tolist(), whole.tolist(), strict=True)]
        return as_tensor(convert_array(np.array(values), target)).view(at.shape)
    points = as_array(convert(at, torch.float64 if at.dtype not in FORMATS else at.dtype).contiguous()).reshape(-1)
    made, undecided = np.empty(points.shape, target), np.empty(points.shape, np.uint8)
    if points.size and CALLS[name].values(
        NAMES[points.dtype], NAMES[target], points, made, undecided, np.ascontiguousarray(whole)
    ):
        rest = np.flatnonzero(undecided)
        made[rest] = _rest(family, points[rest].astype(F64), whole[rest], target)
    return as_tensor(made).view(at.shape)


# Of a family: its recurrence, which is a prepared call too.
CALLS: dict[str, _core.Special] = {}


def _numbers_of(family: _Family) -> list[int]:
    """The members of rm_recurrence, of a, b and c that are linear in k."""
    at, after = family.next(0), family.next(1)
    return [*family.first, *(v for a, b in zip(at, after, strict=True) for v in (a, b - a)), int(family.divided)]


def _enter(name: str, family: _Family) -> None:
    def call(x: Any, n: Any) -> torch.Tensor:
        return _polynomial(name, x, n)

    KERNELS[name], CALLS[name] = call, _core.Special(0, _numbers_of(family), [])


for _name, _family in FAMILIES.items():
    _enter(_name, _family)

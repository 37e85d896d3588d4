"""Bessel functions of the orders 0 and 1: RN of the sum of their power series, enclosed between whole multiples of 2**-f.

f grows until both ends of the interval round to one number. That happens: at rational numbers other than 0 these functions, and their quotients by
exp, are transcendental (Siegel, Shidlovskii), and so no boundary of rounding. For formats below binary64 the series is first summed in binary64.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch

from ..._dtypes import F64
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, UFUNCS, Array, Uncovered, convert, convert_array, ratio, ratio_to_odd

_Interval: TypeAlias = tuple[int, int]
FAR = 4096  # beyond which series are too long
_OVERFLOW = 720  # exp(x)/sqrt(2 pi x) is beyond binary64 from there on


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
    m, q = x.as_integer_ratio()
    f = 96 + max(0, q.bit_length() - m.bit_length()) + (3 * int(x) if sign < 0 else 0)
    round_one = ratio if dtype == F64 else ratio_to_odd
    while True:
        a, b = (round_one(v, 1 << f) for v in _value(m, q, order, sign, scaled, f))
        if a == b and (a != 0 or math.copysign(1.0, a) == math.copysign(1.0, b)):
            return a
        f *= 2


def _one(x: float, order: int, sign: int, scaled: bool, dtype: Any) -> float:
    if x != x:
        return math.nan
    flip = -1.0 if order and math.copysign(1.0, x) < 0 else 1.0
    x = abs(x)
    if x == 0:
        return flip * (1.0 - order)
    if sign > 0 and not scaled and x > _OVERFLOW:
        return flip * math.inf
    if x == math.inf:
        return flip * 0.0
    return flip * _rounded(x, order, sign, scaled, dtype)


_TERMS = 64
_NEAR = (24.0, 8.0)  # where the sum in binary64 is taken: of I, and of J


def _fast(x: Array, order: int, sign: int, scaled: bool, dtype: Any) -> tuple[Array, Array]:
    """In a format below binary64, and where that is sure.

    The square, a product and a quotient make the k-th term, which is off by at most 3 k roundings; each of 63 sums is rounded; then exp and a product. In all
    that is less than 256 2**-53 of the sum of magnitudes, which is that of I. At x = 24 the first term that is left out is below 2**-150 of the sum.
    """
    near = (np.abs(x) <= _NEAR[sign < 0]) & (np.abs(x) > 2.0**-60)
    with np.errstate(all="ignore"):
        at = np.where(near, x, 1.0)
        square = at * at * 0.25
        term = at * 0.5 if order else np.ones_like(at)
        total, size = term, np.abs(term)
        for k in range(1, _TERMS):
            term = term * square / (k * (k + order))
            total = total + (term if sign > 0 or k % 2 == 0 else -term)
            size = size + np.abs(term)
        if scaled:
            factor = np.asarray(UFUNCS["exp"](-np.abs(at)))
            total, size = total * factor, size * factor
        beyond = size * 2.0**-44
        low, high = (convert_array(total + s * beyond, dtype) for s in (-1, 1))
        return low, near & (low == high) & (low != 0)


def _enter(name: str, order: int, sign: int, scaled: bool) -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        if x.is_complex():
            raise Uncovered("complex numbers")
        dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
        if dtype not in FORMATS:
            raise Uncovered(f"results of {dtype}")
        if not x.is_floating_point() and bool((x.abs() > 2**53).any()):
            raise Uncovered("integers beyond 2**53")
        wide, target = as_array(convert(x, torch.float64)).reshape(-1), FORMATS[dtype]
        far = np.isfinite(wide) & (np.abs(wide) > FAR)
        if (scaled or sign < 0) and far.any():
            raise Uncovered(f"numbers beyond {FAR}")
        made, sure = np.empty(wide.shape, target), np.zeros(wide.shape, bool)
        if target != F64:
            made, sure = _fast(wide, order, sign, scaled, target)
        rest = np.flatnonzero(~sure)
        if rest.size:
            values = [_one(v, order, sign, scaled, target) for v in wide[rest].tolist()]
            made[rest] = convert_array(np.array(values, F64), target)
        return as_tensor(made).view(x.shape)

    KERNELS[name] = call


for _name, _kind in {
    "i0": (0, 1, False),
    "i1": (1, 1, False),
    "i0e": (0, 1, True),
    "i1e": (1, 1, True),
    "j0": (0, -1, False),
    "j1": (1, -1, False),
}.items():
    _enter(_name, *_kind)

"""What the arithmetics of stochastic() share: radii that are upper bounds, and bounds of exp and log of rational numbers."""

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

_Array: TypeAlias = np.ndarray


def above(radius: Any) -> _Array:
    radius = np.where(radius > 0, radius * (1 + 2.0**-48) + 2.0**-1060, radius)
    return np.where(np.isnan(radius), np.inf, radius)


# What is smaller than this is not told apart: see exp.
FAINT = Fraction(1, 2**6000)


def exp_bounds(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Bounds of e^x, x ≤ 2000 and not 0.

    e^x = (e^t)^(2^n) with t = x/2^n, |t| < 1/16. In units of 2^-w each term of the series is cut off, with an error below 2, and the terms that
    are left out are below the last one; each squaring doubles the relative error. Below -2000 the bounds are FAINT and 2^-2880: a positive
    number that is compared with thresholds of a format, which are 0 or above 2^-1110, alone or beside numbers that are known to 2^-2880."""
    if x < -2000:
        return FAINT, Fraction(1, 2**2880)
    n = max(0, (abs(x.numerator) // x.denominator).bit_length() + 4)
    w = bits + 2 * n + 32
    t = (x.numerator << w) // (x.denominator << n)
    total = term = 1 << w
    k = 0
    while term not in (0, -1):
        k += 1
        term = ((term * t) >> w) // k
        total += term
    low, high = total - 4 * k - 8, total + 4 * k + 8
    for _ in range(n):
        low, high = (low * low) >> w, ((high * high) >> w) + 1
    return Fraction(low, 1 << w), Fraction(high, 1 << w)


def _atanh(n: int, d: int, w: int) -> tuple[int, int]:
    """Bounds of artanh(n/d), |n/d| ≤ 1/3, in units of 2^-w: terms are cut off, and those left out are below the last one."""
    z = (n << w) // d
    square = (z * z) >> w
    total, power, k = 0, z, 1
    while power not in (0, -1):
        total += power // k
        power = (power * square) >> w
        k += 2
    return total - 4 * k - 8, total + 4 * k + 8


def log_bounds(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Bounds of the logarithm of x > 0, x not 1: of 1 + d with tiny d by d - d²/2 and d, else k log 2 + 2 artanh((z - 1)/(z + 1))."""
    d = x - 1
    if 0 < d and d.numerator << (bits // 2) < d.denominator:
        return d - d * d / 2, d
    k = x.numerator.bit_length() - x.denominator.bit_length()
    z = x / 2**k if k >= 0 else x * 2**-k
    if z > Fraction(4, 3):
        z, k = z / 2, k + 1
    if z < Fraction(2, 3):
        z, k = z * 2, k - 1
    w = bits + 64
    low, high = _atanh(z.numerator - z.denominator, z.numerator + z.denominator, w)
    two = [k * v for v in _atanh(1, 3, w)]
    return Fraction(2 * (low + min(two)), 1 << w), Fraction(2 * (high + max(two)), 1 << w)

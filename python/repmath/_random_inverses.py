"""erfinv and ndtri of float64 under the mode "stochastic", by rational numbers: the C library has no enclosure of them that is narrow enough for thresholds.

y = erfinv(x) is enclosed by erf, which grows: where erf(y - d) < x < erf(y + d), y is in between. ndtri(p) is sqrt(2) erfinv(2 p - 1). erf is its series
2/sqrt(pi) * sum of (-1)^n y^(2n+1)/(n! (2n+1)), in whole numbers of units 2^-B. Each term y^(2n+1)/n! is made of the one before by a product with y^2, which is off by 1 unit, a
division and two cuts; an error of at most 2 + t units, t ≤ e^(y^2) the term, is made in each step and grows by at most e^(y^2) afterwards. So N terms and their sum are off by less
than 6 N^2 e^(2 y^2) units, below 2^(3 y^2 + 2 log2 N + 3); what is left out is below the last term."""

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np

from . import _core, _random_modes
from ._random_balls import Interval, Last

_Array = np.ndarray[Any, Any]


@functools.cache
def pi(bits: int) -> Interval:
    """By Machin's formula; each of the fewer than bits + 40 terms of the series is cut to units of 2^-(bits + 20) and off by less than 2, times 20 in all."""
    unit = 1 << (bits + 20)

    def arctan(n: int) -> int:
        total, power, k = 0, unit // n, 0
        while power:
            total += (-1) ** k * (power // (2 * k + 1))
            power //= n * n
            k += 1
        return total

    whole, off = 16 * arctan(5) - 4 * arctan(239), 40 * (bits + 40)
    return Interval(Fraction(whole - off, unit), Fraction(whole + off, unit), bits)


def erf(y: Fraction, bits: int) -> Interval:
    """Of a number, within some 2^-bits."""
    square = math.ceil(float(y * y)) + 1
    b = bits + 3 * square + 64
    scaled = (y.numerator << b) // y.denominator
    factor, term, total, n = scaled * scaled >> b, scaled, 0, 0
    while term > 1 or term < -1:
        total += (-1) ** n * (term // (2 * n + 1))
        n += 1
        term = (term * factor >> b) // n
    error = 1 << (3 * square + 2 * n.bit_length() + 4)
    unit = 1 << b
    made = Interval(Fraction(total - error, unit), Fraction(total + error, unit), b)
    return made * 2.0 / pi(b).sqrt()


def _inverse(x: Fraction, start: float, bits: int) -> Interval:
    """erfinv(x), from a number near it."""
    square = start * start
    k = math.floor(square / math.log(2))
    slope = Fraction(2 / math.sqrt(math.pi) * math.exp(-(square - k * math.log(2)))) / (1 << k)
    y, near = Fraction(start), bits + 2 * k + 40
    d = Fraction(1, 1 << bits)
    for _ in range(bits // 20 + 8):
        value = erf(y, near)
        step = ((value.low + value.high) / 2 - x) / slope
        y = Fraction(math.floor((y - step) * (1 << (bits + 8))), 1 << (bits + 8))
        if abs(step) < d / 4 and erf(y + d, near).low > x > erf(y - d, near).high:
            return Interval(y - d, y + d, bits + 60)
    return Interval(y - 1, y + 1, bits)  # not found: more bits are asked for


def _value(name: str, x: float, nearest: float, bits: int) -> Interval:
    more = bits + max(0, -math.frexp(nearest)[1])
    if name == "erfinv":
        return _inverse(Fraction(x), nearest, more)
    root = Interval(Fraction(2), Fraction(2), more + 60).sqrt()
    return _inverse(2 * Fraction(x) - 1, nearest / math.sqrt(2), more) * root


def elementwise(name: str, x: _Array, place: tuple[str, int, int, int], out: _Array) -> None:
    """Writes the function of a vector of float64 to `out`."""
    near = np.asarray(_core.ufuncs[name](x))
    out[...] = near
    left = np.flatnonzero(np.isfinite(near) & (near != 0)).tolist()
    if left:
        Last(out.dtype, place).enclosed(
            out, left, lambda places, bits: [_value(name, float(x[i]), float(near[i]), bits) for i in places]
        )


_random_modes.BY_ENCLOSURES.update(dict.fromkeys(("erfinv", "ndtri"), elementwise))

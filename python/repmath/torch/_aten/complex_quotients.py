"""Quotients of complex numbers, each part rounded once: (a c + b d)/(c**2 + d**2) and (b c - a d)/(c**2 + d**2).

An estimate has a bound on its error, whose two ends are rounded: where they agree, this is the result. Rational numbers decide the others.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from ... import _core
from .common import Array, convert_array, nearest_odd

_fma = _core.ufuncs["fma"]


def _two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    s = x + y
    t = s - x
    return s, (x - (s - t)) + (y - t)


def _narrow(n: tuple[Array, Array], d: tuple[Array, Array]) -> tuple[Array, Array]:
    """Of binary32: sums of two products of 48 digits are two binary64 numbers, exactly, so that the quotient of the leading ones has a
    relative error of at most 2**-53 for each of the sums and for itself, together below 2**-51."""
    top = n[0] + n[1]
    q = np.where(top == 0, 0.0, top / (d[0] + d[1]))
    low, high = ((q * (1 + s * 2.0**-50)).astype(np.float32) for s in (-1, 1))
    return q.astype(np.float32), low == high


def _scaled(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """The two by a power of two, the larger magnitude then in [1/2, 1), and its exponent."""
    e = np.frexp(np.maximum(np.abs(x), np.abs(y)))[1]
    return np.ldexp(x, -e), np.ldexp(y, -e), e


def _wide(n: tuple[Array, Array, Array, Array], d: tuple[Array, Array], exponent: Array) -> tuple[Array, Array]:
    """Of binary64, by double-double. n: w x + y z; d: the two whose squares are added.

    Products are exact as pairs where no factor but 0 is below 2**-450: then their last digits are above 2**-1010. The sum of the pairs
    is off by at most 2**-104 times the sum of the products' magnitudes, in the denominator of the sum itself, which is at least 1/4. The
    quotient q of the leading parts is corrected once, by a remainder that is exact but for what is said; what is left out of the correction
    is below 2**-104 of q. So bound, with eight times these, is generous.
    """

    def total(w: Array, x: Array, y: Array, z: Array) -> tuple[Array, Array, Array]:
        p, r = w * x, y * z
        s, e = _two_sum(p, r)
        rest = e + (_fma(w, x, -p) + _fma(y, z, -r))
        high, low = _two_sum(s, rest)
        return high, low, np.abs(p) + np.abs(r)

    nh, nl, size = total(*n)
    dh, dl, _ = total(d[0], d[0], d[1], d[1])
    q = nh / dh
    rest = (_fma(-q, dh, nh) + (nl - q * dl)) / dh
    bound = (np.abs(q) + size / dh) * 2.0**-100
    low, high = q + (rest - bound), q + (rest + bound)
    made = np.ldexp(low, exponent)
    inside = (np.abs(made) > 2.0**-1021) & (np.abs(made) < np.inf)
    return made, (low == high) & inside


def quotients(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    """The parts of (a + i b)/(c + i d), of one format. A divisor of 0 divides as its magnitude +0 does; where a part is not finite, the
    parts are those of the formula in binary64 with a rounding for each operation."""
    dtype = a.dtype
    with np.errstate(all="ignore"):
        wide = [np.atleast_1d(v).astype(np.float64) for v in (a, b, c, d)]
        a64, b64, c64, d64 = wide
        none = (c64 == 0) & (d64 == 0)
        if dtype == np.float32:
            square = (c64 * c64, d64 * d64)
            found = [_narrow(n, square) for n in ((a64 * c64, b64 * d64), (b64 * c64, -(a64 * d64)))]
        else:
            (p, q, e), (r, s, f) = _scaled(a64, b64), _scaled(c64, d64)
            near = np.ones(p.shape, bool)
            for v in (p, q, r, s):
                near &= (v == 0) | (np.abs(v) >= 2.0**-450)
            found = [_wide(n, (r, s), e - f) for n in ((p, r, q, s), (q, r, p, -s))]
            found = [(made, known & near) for made, known in found]
        finite = np.isfinite(wide).all(axis=0) & ~none
        parts = []
        for k, (made, known) in enumerate(found):
            plain = (b64 * c64 - a64 * d64 if k else a64 * c64 + b64 * d64) / (c64 * c64 + d64 * d64)
            made = np.where(finite, made, plain.astype(dtype)).astype(dtype)
            made = np.where(none, ((b64 if k else a64) / np.abs(c64)).astype(dtype), made)
            for i in np.argwhere(finite & ~known):
                w, x, y, z = (Fraction(float(v[tuple(i)])) for v in wide)
                made[tuple(i)] = _rounded((x * y - w * z if k else w * y + x * z) / (y * y + z * z), dtype)
            parts.append(np.ascontiguousarray(made.reshape(np.shape(a))))
    return parts[0], parts[1]


def _rounded(value: Fraction, dtype: Any) -> float:
    """To the format; +0 of 0, infinity beyond it."""
    try:
        if dtype == np.float64:
            return float(value)
        return float(convert_array(np.asarray(nearest_odd(value)), dtype))
    except OverflowError:
        return np.inf if value > 0 else -np.inf

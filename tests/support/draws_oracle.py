"""The definitions of specification section 6a, followed naively: gamma numbers by mpmath with hundreds of digits, counts by rational numbers."""

import functools
import math
from fractions import Fraction

import mpmath
import numpy as np
import random_oracle as oracle

DIGITS = 200


def sequence(seed, stream, j, i):
    """Number j of element i: the place of its draw."""
    a, b, c, d = (int(w) for w in oracle.blocks(seed, stream, [2**64 - 1])[0])
    return a + 2**32 * b, (c + 2**32 * d + j) % 2**64, i


@functools.cache
def draw(seed, stream, j, i):
    return int(oracle.draws(*sequence(seed, stream, j, i), 1)[0])


@functools.cache
def normal(seed, stream, j, i):
    bits = oracle.rounded(oracle.quantile(draw(seed, stream, j, i)), "f64")
    return float(np.array(bits, np.uint64).view(np.float64))


def to_fraction(x):
    """An mpf as it is."""
    sign, m, e, _ = x._mpf_
    return Fraction(-int(m) if sign else int(m)) * Fraction(2) ** e


def real(x):
    """A rational number as an mpf."""
    f = Fraction(x)
    return mpmath.mpf(f.numerator) / f.denominator


def decision(x, m, a):
    """log u - R, negative where the attempt is accepted; +1 where z <= -1."""
    with mpmath.workdps(DIGITS):
        b = Fraction(a) + (1 if a < 1 else 0)
        s = mpmath.sqrt(real(9 * b - 3))
        v = (1 + real(x) / s) ** 3
        if v <= 0:
            return mpmath.mpf(1)
        if m == 0:
            return mpmath.mpf(-1)
        d = real(b - Fraction(1, 3))
        return mpmath.log(real(Fraction(m, 2**53))) - (real(x) ** 2 / 2 + d - d * v + d * mpmath.log(v))


def attempt(seed, stream, i, t):
    """x and m of attempt t."""
    return normal(seed, stream, 2 * t - 1, i), draw(seed, stream, 2 * t, i) >> 11


def gamma_value(seed, stream, i, a):
    """X, an mpf."""
    t = 1
    while decision(*attempt(seed, stream, i, t), a) >= 0:
        t += 1
    x, _ = attempt(seed, stream, i, t)
    with mpmath.workdps(DIGITS):
        b = Fraction(a) + (1 if a < 1 else 0)
        y = real(b - Fraction(1, 3)) * (1 + real(x) / mpmath.sqrt(real(9 * b - 3))) ** 3
        if a < 1:
            y *= real(Fraction(2 * draw(seed, stream, 0, i) + 1, 2**65)) ** (1 / real(a))
        return y


def rounded(y, fmt):
    """The bits of an mpf. Below 2^-1200 it is 0, which spares the powers of two."""
    return 0 if y < mpmath.mpf(2) ** -1200 else oracle.rounded(to_fraction(y), fmt)


def gamma(fmt, seed, stream, first, shapes, scales):
    with mpmath.workdps(DIGITS):
        return [
            rounded(gamma_value(seed, stream, first + k, a) * real(s), fmt)
            for k, (a, s) in enumerate(zip(shapes, scales, strict=True))
        ]


def dirichlet(fmt, seed, stream, first, rows):
    out, k = [], first
    with mpmath.workdps(DIGITS):
        for row in rows:
            x = [gamma_value(seed, stream, k + c, a) for c, a in enumerate(row)]
            k += len(row)
            out.append([rounded(y / mpmath.fsum(x), fmt) for y in x])
    return out


def width(variance):
    """h, by operations of binary64."""
    return 1.7156 * math.sqrt(variance + 0.5) + 0.899


def count_attempts(seed, stream, i):
    """U and V of each attempt."""
    t = 1
    while True:
        yield tuple(Fraction((draw(seed, stream, j, i) >> 11) + one, 2**53) for j, one in ((2 * t - 1, 1), (2 * t, 0)))
        t += 1


def place(mean, h, u, v):
    """W."""
    return Fraction(mean) + Fraction(1, 2) + Fraction(h) * (v - Fraction(1, 2)) / u


def poisson(seed, stream, i, mean):
    if mean == 0:
        return 0
    mean, h = Fraction(mean), width(mean)
    m = math.floor(mean)
    for u, v in count_attempts(seed, stream, i):
        k = math.floor(place(mean, h, u, v))
        if 0 <= k < m + 3000 and u * u <= mean ** (k - m) * Fraction(math.factorial(m), math.factorial(k)):
            return k


def binomial(seed, stream, i, n, p):
    if p in (0, 1) or n == 0:
        return n * int(p)
    h, p = width((n * p) * (1.0 - p)), Fraction(p)
    m = min(math.floor((n + 1) * p), n)
    for u, v in count_attempts(seed, stream, i):
        k = math.floor(place(n * p, h, u, v))
        if 0 <= k <= n:
            ratio = Fraction(math.comb(n, k), math.comb(n, m)) * (p / (1 - p)) ** (k - m)
            if u * u <= ratio:
                return k

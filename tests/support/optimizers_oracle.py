"""Optimiser steps by exact rationals and gmpy2, one element at a time: an oracle that shares nothing with the library.

A number is an exact rational, or a float that is infinite or NaN; operations on the latter are IEEE 754's."""

from __future__ import annotations

import functools
import math

import gmpy2
import numpy as np
import rounding_oracle
from exact_oracle import CANONICAL_NAN, FORMATS, rational_of, round_rational
from gmpy2 import mpq

SPECIAL = float


def number(x: float):
    return mpq(*float(x).as_integer_ratio()) if math.isfinite(x) else float(x)


def sign(x):
    return math.nan if x != x else (x > 0) - (x < 0)


def add(a, b):
    if SPECIAL in (type(a), type(b)):
        return (a if type(a) is SPECIAL else 0.0) + (b if type(b) is SPECIAL else 0.0)
    return a + b


def mul(a, b):
    if SPECIAL in (type(a), type(b)):
        return float(sign(a)) * float(sign(b)) * math.inf if sign(a) * sign(b) != 0 or a != a or b != b else math.nan
    return a * b


def neg(a):
    return -a


def div(a, b):
    if type(b) is not SPECIAL and b == 0:
        return math.nan if a != a or a == 0 else sign(a) * math.inf
    if type(b) is SPECIAL:
        return math.nan if b != b or type(a) is SPECIAL else mpq(0)
    return sign(a) * math.inf if type(a) is SPECIAL else a / b


def bits(x, fmt: str, mode=None, word=0) -> int:
    """RN(x), or x rounded under a random mode with a word."""
    if type(x) is not SPECIAL:
        return round_rational(x, fmt) if mode is None or x == 0 else rounding_oracle.rounded(x, fmt, mode, word)
    if x != x:
        return CANONICAL_NAN[fmt]
    return FORMATS[fmt][4] << FORMATS[fmt][2] | (x < 0) << FORMATS[fmt][5]


def value(b: int, fmt: str):
    kind, unsigned = FORMATS[fmt][:2]
    x = float(np.array(b, unsigned).view(kind))
    return rational_of(b, fmt) * mpq(1) if math.isfinite(x) else x


def direction(o, p, g):
    d = neg(g) if o["maximize"] else g
    return add(d, mul(number(o["weight_decay"]), p)) if o["weight_decay"] and not o.get("decoupled") else d


def sgd(o, fmt, p, g, b, mode=None, words=(0, 0, 0)):
    """(bits of p', of b'); b None without momentum. words: of the parameter, of the first and of the second moment."""
    p, g = value(p, fmt), value(g, fmt)
    d = x = direction(o, p, g)
    if o["momentum"]:
        mu, keep = number(o["momentum"]), 1 - number(o["dampening"])
        b = bits(d if o["first"] else add(mul(mu, value(b, fmt)), mul(keep, d)), fmt, mode, words[1])
        x = add(d, mul(mu, value(b, fmt))) if o["nesterov"] else value(b, fmt)
    return bits(add(p, neg(mul(number(o["lr"]), x))), fmt, mode, words[0]), b


@functools.cache
def one_minus_power(beta: float, t: int):
    """1 - beta^t: exact while that is short, else to 40,000 bits."""
    if t <= 2000 or np.frexp(beta)[0] == 0.5:
        return 1 - mpq(*beta.as_integer_ratio()) ** t
    with gmpy2.context(precision=40000, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min()):
        return mpq(1 - gmpy2.mpfr(beta) ** t)


def root(x, precision):
    """sqrt(x): exact for a square, else a rational within 2^-precision of it."""
    n, d = x.numerator, x.denominator
    if gmpy2.is_square(n) and gmpy2.is_square(d):
        return mpq(gmpy2.isqrt(n), gmpy2.isqrt(d)), True
    with gmpy2.context(precision=precision + 10, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min()):
        return mpq(gmpy2.sqrt(gmpy2.mpfr(x, precision + 10))), False


def adam(o, fmt, p, g, m, v, w, mode=None, words=(0, 0, 0)):
    """(bits of p', m', v', w'); w None without amsgrad."""
    p, g = value(p, fmt), value(g, fmt)
    d, beta1, beta2 = direction(o, p, g), number(o["beta1"]), number(o["beta2"])
    m = bits(add(mul(beta1, value(m, fmt)), mul(1 - beta1, d)), fmt, mode, words[1])
    v = bits(add(mul(beta2, value(v, fmt)), mul(1 - beta2, mul(d, d))), fmt, mode, words[2])
    s = value(v, fmt)
    if w is not None:
        old = value(w, fmt)
        if old != old:
            w = CANONICAL_NAN[fmt]
        elif not old > s:
            w = v
        s = value(w, fmt)
    lr, eps, mean = number(o["lr"]), number(o["eps"]), value(m, fmt)
    kept = mul(1 - lr * number(o["weight_decay"]), p) if o["decoupled"] else p
    if s < 0:
        return CANONICAL_NAN[fmt], m, v, w
    if type(s) is SPECIAL or type(mean) is SPECIAL or type(kept) is SPECIAL or (s == 0 and eps == 0):
        return bits(add(kept, neg(div(mul(lr, mean), add(s, eps)))), fmt, mode, words[0]), m, v, w
    above = lr * mean / one_minus_power(o["beta1"], o["step"])
    for precision in (300, 2000, 30000, 120000):
        r, exact = root(s / one_minus_power(o["beta2"], o["step"]), precision)
        near = [kept - above / (r * f + eps) for f in (1 - mpq(1, 1 << precision), 1 + mpq(1, 1 << precision))]
        if exact:
            near = [kept - above / (r + eps)]
        found = {bits(x, fmt, mode, words[0]) for x in near}
        if len(found) == 1:
            return found.pop(), m, v, w
    raise AssertionError("irrational, yet on a boundary")


def squares(arrays):
    """The exact sum of the squares of all elements, each a (bits, format)."""
    total = mpq(0)
    for b, fmt in arrays:
        x = value(b, fmt)
        total = add(total, mul(x, x))
    return total


def clipped(b: int, fmt: str, total, limit: float) -> int:
    """The bits of RN(min(1, limit/sqrt(total)) g)."""
    g, limit = value(b, fmt), number(limit)
    if type(total) is SPECIAL:
        return bits(math.nan if total != total or type(g) is SPECIAL else mpq(0), fmt)
    if total <= limit * limit:
        return b
    for precision in (300, 3000, 30000):
        r, exact = root(total, precision)
        ends = [r] if exact else [r * (1 - mpq(1, 1 << precision)), r * (1 + mpq(1, 1 << precision))]
        found = {round_rational(g * limit / e, fmt) for e in ends}
        if len(found) == 1:
            return found.pop()
    raise AssertionError("irrational, yet on a boundary")

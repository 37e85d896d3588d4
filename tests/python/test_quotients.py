"""Whole quotients beside rational numbers: beside whole numbers, beside midpoints of binary64 beyond 2^53, of any size, infinite and zero."""

import math
from fractions import Fraction

import numpy as np
import pytest

from repmath import array_api
from repmath._quotients import rest, whole


def exact(a: float, b: float, mode: str) -> float:
    """Of finite numbers, b not 0."""
    q = Fraction(a) / Fraction(b)
    n = math.floor(q) if mode == "floor" else math.trunc(q)
    try:
        size = float(abs(n))
    except OverflowError:
        size = math.inf
    return math.copysign(size, math.copysign(1, a) * math.copysign(1, b))


def beside_midpoints(rng, n):
    """a/b = (M B + d) 2^k/B for a midpoint M of 54 bits and a small d, so that the whole number below it may be the midpoint itself."""
    found = []
    while len(found) < n:
        y, d = int(rng.integers(2**52, 2**53)) | 1, int(rng.integers(-5, 6)) or 1
        m = -d * pow(y, -1, 2**54) % 2**54
        x = (m * y + d) >> 54
        if m >= 2**53 and 0 < x < 2**53:
            k, e = int(rng.integers(0, 58)), int(rng.integers(-1000, 800))
            found.append((math.ldexp(x, 54 + k + e), math.ldexp(y, e)))
    return np.array(found).T


def pairs(rng, n=600):
    b = np.ldexp(rng.uniform(1, 2, n), rng.integers(-1060, 900, n))
    with np.errstate(all="ignore"):
        near = np.nan_to_num(b * 2.0 ** rng.integers(0, 53, n) // 1, posinf=1e308)
        q = np.floor(2.0 ** rng.uniform(0, 53, n))
        yield np.nan_to_num(q * b, posinf=1e308), b  # rounded: quotients beside whole numbers
        yield near, b
    yield np.ldexp(rng.uniform(1, 2, n), rng.integers(-1070, 1023, n)), b
    yield rng.integers(-60, 60, n).astype(float), rng.choice([-1.0, 1], n) * rng.integers(1, 9, n)
    yield beside_midpoints(rng, n)


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_whole_quotients(mode):
    rng, moved = np.random.default_rng(8), 0
    for a, b in pairs(rng):
        a, b = a * rng.choice([-1.0, 1], a.size), b * rng.choice([-1.0, 1], b.size)
        want = np.array([exact(u, v, mode) for u, v in zip(a.tolist(), b.tolist(), strict=True)])
        assert (whole(a, b, mode, a.dtype).view(np.uint64) == want.view(np.uint64)).all()
        with np.errstate(all="ignore"):
            moved += int((want != (np.floor if mode == "floor" else np.trunc)(a / b)).sum())
    assert moved > 100  # the control: the whole number of the rounded quotient


def test_ends():
    """As IEEE 754 and PyTorch have them."""
    inf, nan = math.inf, math.nan
    a = np.array([inf, -inf, inf, 1.0, -1.0, -1.0, 0.0, -0.0, 1.0, -1.0, 0.0, nan, 5e-324, -5e-324, 1e308, -1e308])
    b = np.array([2.0, 2.0, inf, inf, inf, -inf, inf, inf, 0.0, 0.0, 0.0, 1.0, 1e308, 1e308, 1e-308, 1e-308])
    trunc = np.array([inf, -inf, nan, 0.0, -0.0, 0.0, 0.0, -0.0, inf, -inf, nan, nan, 0.0, -0.0, inf, -inf])
    floor = np.array([nan, nan, nan, 0.0, -1.0, 0.0, 0.0, -0.0, inf, -inf, nan, nan, 0.0, -1.0, inf, -inf])
    for mode, want in (("trunc", trunc), ("floor", floor)):
        got = whole(a, b, mode, a.dtype)
        assert np.array_equal(got, want, equal_nan=True)
        assert (np.signbit(got) == np.signbit(want))[~np.isnan(want)].all()
    assert np.array_equal(array_api.floor_divide(a[:4], b[:4]), floor[:4], equal_nan=True)


def test_remainders():
    """Exact, also of quotients with two thousand bits, in which the control's one step is wrong."""
    rng, n, moved = np.random.default_rng(9), 600, 0
    far = (
        np.ldexp(rng.uniform(1, 2, n), rng.integers(-1074, 1023, n)),
        np.ldexp(rng.uniform(1, 2, n), rng.integers(-1074, 1023, n)),
    )
    whole_ones = (
        np.ldexp(rng.integers(1, 2**53, n), rng.integers(-1074, 970, n)),
        np.ldexp(rng.integers(1, 100, n).astype(float), rng.integers(-1074, 1000, n)),
    )
    ends = np.array([5e-324, 2.0**-1022, 1.7976931348623157e308, 3.0, 0.1, 2.0**1023])
    for a, b in (*pairs(rng), far, whole_ones, (np.repeat(ends, ends.size), np.tile(ends, ends.size))):
        a, b = a * rng.choice([-1.0, 1], a.size), b * rng.choice([-1.0, 1], b.size)
        b[b == 0] = 1.0
        sizes = [abs(Fraction(u)) % abs(Fraction(v)) for u, v in zip(a.tolist(), b.tolist(), strict=True)]
        want = np.array([math.copysign(float(v), u) for u, v in zip(a.tolist(), sizes, strict=True)])
        assert all(Fraction(abs(v)) == size for v, size in zip(want.tolist(), sizes, strict=True))
        assert (rest(a, b).view(np.uint64) == want.view(np.uint64)).all()
        with np.errstate(all="ignore"):
            moved += int((want != a - np.trunc(a / b) * b).sum())
    assert moved > 100
    inf, nan = math.inf, math.nan
    a = np.array([inf, -inf, 1.0, -1.0, 0.0, -0.0, 1.0, 0.0, nan, 1.0, 5e-324, 1e308])
    b = np.array([2.0, inf, inf, -inf, inf, 3.0, 0.0, 0.0, 1.0, nan, inf, inf])
    want = np.array([nan, nan, 1.0, -1.0, 0.0, -0.0, nan, nan, nan, nan, 5e-324, 1e308])
    made = rest(a, b)
    assert np.array_equal(made, want, equal_nan=True)
    assert (np.signbit(made) == np.signbit(want))[~np.isnan(want)].all()

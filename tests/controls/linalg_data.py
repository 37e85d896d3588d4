"""Data beside boundaries of rounding for the bounds of src/linalg: solutions, determinants and entries of factors that are
midpoints of two numbers of a format."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from linalg_library import Linalg, bits, exact_determinant

PRECISION = {"f4": 24, "f8": 53}


def midpoint_system(rng, n: int, dtype: str):
    """A X = b of small integers A whose solution has one bit more than the format in each component: all rows of A but the
    last add up to 0, so that of solutions near each other b has few bits, and the last to 2, which moves the last bit up."""
    p = PRECISION[dtype]
    while True:
        a = rng.integers(-9, 10, (n, n))
        a[:, -1] = -a[:, :-1].sum(1)
        a[-1, -1] += 2
        x = [int(rng.integers(2 ** (p - 1), 2**p - 2**8) * 2 + 1)] * n
        x = [v + 2 * int(t) for v, t in zip(x, rng.integers(0, 60, n), strict=True)]
        rows = [sum(int(c) * v for c, v in zip(row, x, strict=True)) for row in a]
        b = np.array(rows, object).astype(dtype)
        if all(Fraction(float(v)) == r for v, r in zip(b, rows, strict=True)) and exact_determinant(a.astype("f8")):
            return a.astype(dtype), b[:, None]


def midpoint_solutions(lib, rng):
    """Their approximations lie on either side, some 2^-100 away, and a component of 1/3 keeps the solutions from being short."""
    calls, found = Linalg(lib), []
    for dtype in PRECISION:
        for n in (3, 4, 6, 9, 16):
            for _ in range(8):
                part, b = midpoint_system(rng, n, dtype)
                a = np.pad(part, (0, 1))
                a[-1, -1], b = 3, np.append(b, [[1]], 0).astype(dtype)
                found.append(bits(calls.solve(a[None], b[None])[0]).ravel().astype(np.uint64))
    return np.concatenate(found)


def midpoint_determinants(lib, rng):
    """A triangle of threes and sevens, mixed by rows of small integers, whose determinant has one bit more than the format."""
    calls, found = Linalg(lib), []
    for dtype, p in PRECISION.items():
        for n in (3, 4, 6, 9):
            for _ in range(60):
                low, up = (np.eye(n, dtype=int) + np.tril(rng.integers(-3, 4, (n, n)), -1) for _ in range(2))
                odd = [int(v) * 2 + 1 for v in rng.integers(1, 4, n)]
                rest = 2**p
                for v in odd[1:]:
                    rest //= v
                odd[0] = int(rng.integers(rest, 2 * rest)) | 1
                a = (low * np.array(odd)) @ up.T
                x = a.astype(dtype)
                if (x.astype(object) == a).all():
                    found.append(bits(calls.det(x[None]))[0])
    return np.array(found, np.uint64)


def number(rng, p: int, exponent: int = 0, odd: int = 0) -> Fraction:
    """Of p bits, its magnitude from 2^exponent on and below twice that; odd is 1 where its last bit is to be 1."""
    m = int(rng.integers(2 ** (p - 1), 2**p)) | odd
    return int(rng.choice([-1, 1])) * Fraction(m) * Fraction(2) ** (exponent - p + 1)


def nearest(x: Fraction, p: int) -> Fraction:
    """x rounded down to p bits, or towards zero: what is left has the sign of x."""
    if not x:
        return x
    e = abs(x).numerator.bit_length() - abs(x).denominator.bit_length() - p + 1
    unit = Fraction(2) ** e
    return (1 if x > 0 else -1) * (abs(x) // unit) * unit


def pieces(rest: Fraction, p: int, count: int) -> list[Fraction]:
    """`count` numbers of p bits whose sum is the number."""
    found = []
    for _ in range(count):
        found.append(nearest(rest, p))
        rest -= found[-1]
    assert not rest
    return found


def midpoint_numerators(rng, n: int, dtype: str):
    """A matrix with n rows of the unit matrix first, so that row n of U has sums of n + 1 terms, all midpoints of two numbers: the last terms are what is left.
    Terms are larger than the sum, as errors shall be."""
    p, columns = PRECISION[dtype], 24
    a = np.zeros((n + 1, n + columns), dtype)
    a[:n, :n] = np.eye(n)
    x = [number(rng, p, -1) for _ in range(n - 4)] + [Fraction(1, 2)] * 4
    a[n, :n] = [float(v) for v in x]
    for c in range(n, n + columns):
        b = [number(rng, p, 5) for _ in range(n - 4)]
        total = sum((v * w for v, w in zip(x, b, strict=False)), Fraction(0))
        want = number(rng, p + 1, odd=1) if rng.random() < 0.9 else number(rng, p)
        a[n, c] = float(nearest(total, p))
        b += pieces((Fraction(float(a[n, c])) - total - want) * 2, p, 4)
        a[:n, c] = [float(v) for v in b]
    return a


def midpoint_quotients(rng, n: int, dtype: str):
    """As midpoint_numerators, but column n of L has the midpoints, of sums over the pivot."""
    p, rows = PRECISION[dtype], 24
    a = np.zeros((n + 1 + rows, n + 1), dtype)
    a[:n, :n] = np.eye(n)
    b = [number(rng, p, 5) for _ in range(n - 4)] + [Fraction(1)] * 4
    a[:n, n] = [float(v) for v in b]
    pivot = number(rng, p, 1)
    a[n, n] = float(pivot)
    for r in range(n + 1, n + 1 + rows):
        x = [number(rng, p, -1) for _ in range(n - 4)]
        total = sum((v * w for v, w in zip(x, b, strict=False)), Fraction(0))
        want = number(rng, p + 1, -1, odd=1) * pivot
        a[r, n] = float(nearest(total + want, p))
        rest = Fraction(float(a[r, n])) - total - want
        x += pieces(rest, p, 4)
        a[r, :n] = [float(v) for v in x]
    return a


def edges(dtype: str) -> list[np.ndarray]:
    """Matrices that begin with a unit matrix, of whose last entries approximations say what is not so, or too little."""
    n, least = 24, -149 if dtype == "f4" else -1074
    small = 2.0**-30 if dtype == "f4" else 2.0**-600
    zero, lost, lost_quotient, near = (np.zeros((n + 3, n + 3)) for _ in range(4))
    for a in (zero, lost, lost_quotient):
        a[:n, :n] = np.eye(n)
        a[n:, n:] = np.eye(3)
    # Sums that are 0 but for their errors, which are below the least number of binary32.
    x, b = np.arange(1, n + 1) % 7 + 1, np.arange(1, n + 1) % 5 + 1
    zero[n + 1, n + 1] = zero[n + 2, n + 2] = 2.0 ** (least + 16)
    zero[n, :n], zero[:n, n + 1], zero[n, n + 1] = x / 8, b * 2.0 ** (least + 16), (x * b).sum() * 2.0 ** (least + 13)
    # The second product is lost beside the first, or is no number of the format.
    lost[n, :2], lost[:2, n + 1], lost[n, n + 1] = (0.5, small), (2, small), 1
    lost_quotient[n + 1, :2], lost_quotient[:2, n], lost_quotient[n + 1, n] = (0.25, small), (2, small), 0.5
    found = [zero, lost, lost_quotient]
    if dtype == "f8":  # small quotients beside midpoints: N 2^54 = odd D +- 1
        near[:] = np.eye(n + 3)
        for i in range(1, n + 3):
            d = 2**52 + 2 * 7919 * 1234567 + 1
            odd = pow(d, -1, 2**54) * (1 if i % 2 else -1) % 2**54
            near[i, 0] = ((odd * d - (1 if i % 2 else -1)) >> 54) * 2.0 ** (-1060 - i)
        near[0, 0] = d * 2.0**-52
        found.append(near)
    return [a.astype(dtype) for a in found]


def midpoint_factors(lib, rng):
    """Numerators and quotients of LU, with terms of several panels, and edges."""
    calls, found = Linalg(lib), []
    for dtype in PRECISION:
        for n in (9, 24, 45, 70):
            for make in (midpoint_numerators, midpoint_quotients):
                found.append(bits(calls.lu_factor(make(rng, n, dtype)[None])[0]).ravel().astype(np.uint64))
        found += [bits(calls.lu_factor(a[None])[0]).ravel().astype(np.uint64) for a in edges(dtype)]
    return np.concatenate(found)

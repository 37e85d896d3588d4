"""Data beside boundaries of rounding for the bounds of src/linalg: solutions and determinants that are midpoints of two
numbers of a format."""

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
    """Their approximations lie on either side, some 2^-100 away."""
    calls, found = Linalg(lib), []
    for dtype in PRECISION:
        for n in (3, 4, 6, 9, 16):
            for _ in range(8):
                a, b = midpoint_system(rng, n, dtype)
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

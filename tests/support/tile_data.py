"""Products of 16-bit formats with an element beside a tie, nearer to it than digits of a row tell (src/blas/gemm/digits.h)."""

from fractions import Fraction

import numpy as np
from convolution_library import dtype_of
from exact_oracle import round_rational

PRECISION = {"bf16": 8, "f16": 11}
FILLED = {"bf16": 4, "f16": 2}  # further terms, each of which takes what is left to 2^-precision of itself


def exact(x, y) -> Fraction:
    return sum((Fraction(float(u)) * Fraction(float(v)) for u, v in zip(x, y, strict=True)), Fraction(0))


def beside_a_tie(rng, fmt, k, side):
    """Rows x and y of k elements whose product is a hair above or below the midpoint of two numbers of the format, and the bits it rounds to."""
    dtype, count = dtype_of(fmt), FILLED[fmt]
    x, y = (rng.standard_normal(k).astype(dtype) for _ in range(2))
    x[-count - 1 :], y[-count - 1 :] = 0, 1
    total = exact(x, y)
    exponent = max(int(np.frexp(float(total))[1]), -3)
    unit = Fraction(2) ** (exponent - PRECISION[fmt])  # of the format there; midpoints are odd multiples of its half
    tie = (2 * int(total / unit) + 1) * unit / 2
    for i in range(k - count, k):
        x[i] = dtype.type(float(tie - total))
        total += Fraction(float(x[i]))
    if (total - tie) * side <= 0:  # and over to the other side
        hair = float(abs(total - tie)) * 1.5 or 2.0 ** (-12 if fmt == "f16" else -40)
        x[-count - 1] = dtype.type(side * hair)
    return x, y, round_rational(exact(x, y), fmt)


def beside_ties(fmt, tries):
    """Matrices a and b of Gaussian numbers but for row i and column j, and the bits of that element."""
    rng = np.random.default_rng(7)
    for attempt in range(tries):
        k, side = int(rng.integers(150, 300)), 1 - attempt % 2 * 2
        m, n = (int(v) for v in rng.integers(90, 110, 2))
        a, b = (rng.standard_normal(s).astype(dtype_of(fmt)) for s in ((m, k), (k, n)))
        i, j = int(rng.integers(m)), int(rng.integers(n))
        a[i], b[:, j], want = beside_a_tie(rng, fmt, k, side)
        yield a, b, i, j, want
    for side in (1, -1) if fmt == "bf16" else ():  # so near that the bound is smaller than a last place of binary64
        a, b = (rng.standard_normal(s).astype(dtype_of(fmt)) for s in ((100, 200), (200, 90)))
        a[7], b[:, 9] = 0, 0
        a[7, :3], b[:3, 9] = (1, 2.0**-4, side * 2.0**-60), (1, 2.0**-4, 1)
        yield a, b, 7, 9, round_rational(exact(a[7], b[:, 9]), fmt)


def remainders(fmt):
    """Matrices a and b of Gaussian numbers but for row i and column j, and the bits of that element: what the digits of the row leave out is the same
    of each term but three, and the column has ones, so that the bound of what is left out (Cauchy-Schwarz) has hardly any room. The digits alone give
    a number on the other side of a midpoint, nearer to it than the bound, farther than half of it."""
    rng, dtype = np.random.default_rng(8), dtype_of(fmt)
    k = {"bf16": 4096, "f16": 1024}[fmt]
    last = 2.0**-12  # of a digit, the row being below 2^10
    for side in (1, -1):
        a, b = (rng.standard_normal(s).astype(dtype) for s in ((64, k), (k, 64)))
        a[7] = side * last / 2 * (1 - 2.0 ** -PRECISION[fmt])
        beside = round(0.75 * (k - 3) / 2) * last
        a[7, :3] = 1.5 * 2.0**9, 2.0 ** (9 - PRECISION[fmt]), -side * beside
        b[:, 9] = 1
        yield a, b, 7, 9, round_rational(exact(a[7], b[:, 9]), fmt)

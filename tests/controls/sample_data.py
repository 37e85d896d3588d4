"""Data beside boundaries of rounding for sums of a few weighted elements (src/nn/sample), and sums that are NaN or infinite (src/reduce/axes.c)."""

import numpy as np
from exact_oracle import bits
from reductions_library import I64, OK, pointer
from sampling_library import NAMES, gather_sum

SUMS = 4096


def _midpoints(rng, n):
    return (2 * rng.integers(2**23, 2**24, n) + 1) * 2.0**-24


def _solved(rng, terms):
    """Weights, of which the last is the nearest that makes a sum a midpoint, and elements."""
    w, x = rng.uniform(1, 2, (terms, SUMS)), rng.uniform(1, 2, (terms, SUMS)).astype("f4")
    rest = _midpoints(rng, SUMS)
    for k in range(terms - 1):
        rest = rest - w[k] * x[k]
    w[-1] = rest / x[-1]
    return w, x


def _hidden(rng):
    """The first product is a midpoint and what its rounding leaves over, which the third takes away; the second, which is far below, decides."""
    w, x = np.ones((3, SUMS)), rng.uniform(1, 2, (3, SUMS)).astype("f4")
    middle = _midpoints(rng, SUMS)
    w[0] = middle / x[0]
    for i in range(SUMS):  # exactly, by integers: both factors have at most 53 bits
        exact = int(w[0, i] * 2**60) * int(float(x[0, i]) * 2**23) - (int(middle[i] * 2**60) << 23)
        w[2, i] = -exact * 2.0**-83
    w[1] = rng.choice([-1, 1], SUMS) * 2.0**-120
    x[1:] = 1
    return w, x


def weighted(lib, rng):
    found = []
    for w, x in (_solved(rng, 2), _solved(rng, 3), _solved(rng, 6), _hidden(rng)):
        terms = len(w)
        at = np.arange(terms * SUMS, dtype=np.int64).reshape(1, terms, SUMS)
        y = np.zeros((1, SUMS, 1), "f4")
        assert gather_sum(lib, "f32", "f32", x.reshape(1, -1, 1).copy(), at, w[None].copy(), y) == OK
        found.append(bits(y).ravel())
    return np.concatenate(found)


def not_finite(lib, rng):
    """Sums of rows some of which hold a NaN or an infinity."""
    x, out, code = rng.standard_normal((40, 50)).astype("f4"), np.zeros(40, "f4"), NAMES.index("f32")
    x[3, 2], x[5, 7], x[9, 9] = np.nan, np.inf, -np.inf
    assert lib.rm_sum_axes(code, (I64 * 4)(1, 40, 1, 50), (I64 * 4)(0, 200, 0, 4), pointer(x), code, pointer(out)) == OK
    return bits(out).ravel()

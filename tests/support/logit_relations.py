"""Rows of logits whose sums of exponentials are related: the logarithms cancel, and the loss is rational."""

import ctypes
import itertools
from fractions import Fraction

import numpy as np
from cross_entropy_library import SIZE, problem
from format_ties import NAMES, exact
from reductions_library import pointer
from statistics_library import dtype_of


def times(*polynomials):
    """The product, as {exponent: coefficient}."""
    out = {0: 1}
    for p in polynomials:
        new = {}
        for (a, m), (b, n) in itertools.product(out.items(), p.items()):
            new[a + b] = new.get(a + b, 0) + m * n
        out = {a: m for a, m in new.items() if m}
    return out


def polynomial(*coefficients):
    return {i: c for i, c in enumerate(coefficients) if c}


def logits(rows, unit, shifts, dtype):
    """For each row the numbers shift - unit e, each e as often as its coefficient says, the greatest first."""
    out = []
    for p, shift in zip(rows, shifts, strict=True):
        assert all(c > 0 for c in p.values()) and p[0] > 0
        v = [Fraction(shift) - Fraction(unit) * e for e, c in sorted(p.items()) for _ in range(c)]
        out.append(np.array([float(a) for a in v]).astype(dtype))
        assert exact(out[-1]) == v  # the format has them
    return out


def run(lib, fmt, rows, weights, parts, reduction):
    """The total of rows, each with its weight at its greatest logit, of two pairs of like rows whose rational parts are the parts of a tie, and of a
    row of one logit that makes the sum of all weights 4. Row i has class i."""
    dtype = dtype_of(fmt)
    rows, weights = list(rows), list(weights)
    for part in parts:
        rows += [np.array([-float(part), 0]).astype(dtype), np.array([0, -float(part)]).astype(dtype)]
        weights += [1, -1]
    rows.append(np.zeros(1, dtype))
    weights.append(float(4 - sum(map(Fraction, weights))))
    n = max(len(rows), *(len(row) for row in rows)) + 1
    x, w = np.full((len(rows), n), -np.inf, dtype), np.zeros(n, dtype)
    rng = np.random.default_rng(8)
    for i, row in enumerate(rows):
        at = rng.permutation([c for c in range(n) if c != i])[: len(row) - 1]
        x[i, i], x[i, at] = row[0], row[1:]
    w[: len(rows)] = weights
    assert exact(w[: len(rows)]) == [Fraction(float(v)) for v in weights]
    out = np.full(1, 7, {2: "u2", 4: "u4", 8: "u8"}[dtype.itemsize])
    order = rng.permutation(len(rows))
    x, target = np.ascontiguousarray(x[order]), order.astype(np.int64)
    args = problem(x, target, weight=w, reduction=reduction)
    status = lib.rm_cross_entropy(NAMES.index(fmt), ctypes.byref(args), pointer(out), SIZE(out.itemsize))
    return status, int(out[0])


A, B, C, D = polynomial(1, 1), polynomial(1, 0, 1), polynomial(1, 1, 1), polynomial(2, 0, 0, 1)
MINUS = polynomial(1, -1, 1)  # A MINUS = 1 + z^3, C MINUS = 1 + z^2 + z^4
RELATIONS = [
    ([A, times(A, A)], [2, -1]),
    ([A, times(A, A, A)], [-3, 1]),
    ([A, B, times(A, B)], [1, 1, -1]),
    ([A, B, times(A, B), times(A, A, B)], [-4.25, -3, 1.75, 1.25]),
    ([times(A, B), times(C, D), times(A, C), times(B, D)], [1, 1, -1, -1]),
    ([times(A, MINUS), C, A, times(C, MINUS)], [1.5, 1.5, -1.5, -1.5]),
    ([times(A, MINUS, B), times(C, D), times(A, D), times(C, MINUS, B)], [-3, -3, 3, 3]),
    ([{0: 2}, {0: 4}], [2, -1]),
    ([{0: 6}, {0: 4}, {0: 9}], [2, -1, -1]),
    ([times({0: 2}, A), A, {0: 8}], [3, -3, -1]),
    ([times(D, D), D, {0: 3}], [1, -2, 0]),
]

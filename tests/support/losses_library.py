"""rm_regression_loss of a C library by ctypes, its gradient, and what they must return."""

import ctypes
from fractions import Fraction

import numpy as np
import oracle
from exact_oracle import bits, rounded
from reductions_library import I64, OK, pointer
from statistics_library import dtype_of

NAMES = list(oracle.FORMATS)
LOSSES = {"mse": 0, "l1": 1, "smooth_l1": 2, "huber": 3}
REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
STRIDE, REAL = ctypes.c_ssize_t, ctypes.c_double
CASES = [
    ("mse", 0.0),
    ("l1", 0.0),
    ("smooth_l1", 1.0),
    ("smooth_l1", 0.3),
    ("smooth_l1", 0.0),
    ("huber", 1.0),
    ("huber", 0.7),
]


def head(loss, p, fmt, reduction, n):
    return LOSSES[loss], REAL(p), NAMES.index(fmt), REDUCTIONS[reduction], I64(n)


def vectors(*arrays):
    return [v for a in arrays for v in (pointer(a), STRIDE(a.strides[0] if a.ndim else 0))]


def forward(lib, loss, p, fmt, reduction, x, y):
    out = np.full(len(x) if reduction == "none" else 1, 7, dtype_of(fmt))
    assert lib.rm_regression_loss(*head(loss, p, fmt, reduction, len(x)), *vectors(x, y, out)) == OK
    return bits(out).tolist()


def backward(lib, loss, p, fmt, reduction, g, x, y):
    out = np.full(len(x), 7, dtype_of(fmt))
    assert lib.rm_regression_loss_backward(*head(loss, p, fmt, reduction, len(x)), *vectors(g, x, y, out)) == OK
    return bits(out).tolist()


def real(v):
    return Fraction(float(v))


def term(loss, p, d):
    p, a = Fraction(p), abs(d)
    if loss == "mse":
        return d * d
    if loss == "l1" or (loss == "smooth_l1" and p == 0):
        return a
    inside = d * d / 2 if a < p else p * (a - p / 2)
    return inside / p if loss == "smooth_l1" else inside


def slope(loss, p, d):
    p, sign = Fraction(p), (d > 0) - (d < 0)
    if loss == "mse":
        return 2 * d
    if loss == "l1" or (loss == "smooth_l1" and p == 0):
        return Fraction(sign)
    inside = d if abs(d) < p else sign * p
    return inside / p if loss == "smooth_l1" else inside


def expected(loss, p, fmt, reduction, x, y):
    terms = [term(loss, p, real(a) - real(b)) for a, b in zip(x, y, strict=True)]
    if reduction != "none":
        terms = [sum(terms, Fraction(0)) / (len(terms) if reduction == "mean" else 1)]
    return [rounded(t, dtype_of(fmt)) for t in terms]


def expected_gradient(loss, p, fmt, reduction, g, x, y):
    n = len(x) if reduction == "mean" else 1
    every = g if reduction == "none" else np.repeat(g, len(x))
    d = [real(a) - real(b) for a, b in zip(x, y, strict=True)]
    return [rounded(real(a) * slope(loss, p, v) / n, dtype_of(fmt)) for a, v in zip(every, d, strict=True)]

"""Softmax, log_softmax and logsumexp of a C library by ctypes, their gradients, and what they must return."""

import ctypes
from fractions import Fraction

import mpmath
import numpy as np
import oracle
from exact_oracle import FORMATS, exact, rounded
from real_oracle import precise, reals, rounded_real
from reductions_library import I64, OK, pointer
from statistics_library import dtype_of

NAMES = list(oracle.FORMATS)
STRIDE = ctypes.c_ssize_t


def kind(fmt):
    return np.dtype(FORMATS[fmt][1])


def infinity(fmt, sign=1):
    _, _, fraction, _, field, shift = FORMATS[fmt]
    return field << fraction | (sign < 0) << shift


def call(lib, what, fmt, *arrays):
    """rm_<what> over arrays of rows; the last is the result."""
    rows, n = arrays[0].shape
    arguments = [NAMES.index(fmt), I64(rows), I64(n)]
    for a in arrays:
        arguments += [pointer(a), *(STRIDE(s) for s in a.strides)]
    return getattr(lib, f"rm_{what}")(*arguments)


def result(lib, what, fmt, *arrays):
    """The bits."""
    shape = arrays[0].shape[:1] if what == "logsumexp" else arrays[0].shape
    out = np.full(shape, 7, kind(fmt))
    assert call(lib, what, fmt, *arrays, out) == OK
    return out


@precise
def expected(what, fmt, x, y=None):
    """The bits for one row."""
    dtype = dtype_of(fmt)
    if what == "softmax_backward":
        total = exact(x, y)
        return [rounded(Fraction(float(b)) * (Fraction(float(a)) - total), dtype) for a, b in zip(x, y, strict=True)]
    v = reals(x)
    if y is not None:
        w, total = reals(y), mpmath.fsum(v)
        return [
            rounded_real(a - mpmath.exp(b) * total if mpmath.isfinite(b) else a, dtype, exact=b == 0)
            for a, b in zip(v, w, strict=True)
        ]
    most = max(v)
    others = mpmath.fsum(mpmath.exp(a - most) for i, a in enumerate(v) if i != v.index(most))
    log = mpmath.log1p(others)
    if 0 < log < mpmath.ldexp(1, -1150):  # a hair, below what the precision shows beside the others
        log = mpmath.ldexp(1, -1150)
    if what == "logsumexp":
        return rounded_real(most + log, dtype)
    if what == "softmax":
        return [rounded_real(mpmath.exp(a - most) / (1 + others), dtype, exact=others == 0) for a in v]
    return [rounded_real(a - most - log, dtype) if mpmath.isfinite(a) else infinity(fmt, -1) for a in v]

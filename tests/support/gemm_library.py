"""rm_gemm of a C library by ctypes, and what it must return: alpha A B + beta C, rounded once."""

import ctypes
import math
from fractions import Fraction

import numpy as np
from convolution_library import FORMATS, dtype_of
from exact_oracle import bits, exact, rounded
from reductions_library import (
    I64,
    NO_TRANS,
    OK,
    ROW_MAJOR,
    pointer,
)

F64 = ctypes.c_double


def gemm(lib, fmt, alpha, a, b, beta, c, layout=ROW_MAJOR, ta=NO_TRANS, tb=NO_TRANS, shape=None, ld=None):
    """C in place, for whole arrays in row-major order."""
    m, n, k = shape or (*c.shape, a.shape[1] if ta == NO_TRANS else a.shape[0])
    lda, ldb, ldc = ld or (max(1, x.shape[1]) for x in (a, b, c))
    sizes = (I64(m), I64(n), I64(k))
    return lib.c.rm_gemm(
        FORMATS.index(fmt), layout, ta, tb, *sizes, F64(alpha), pointer(a), I64(lda), pointer(b), I64(ldb), F64(beta), pointer(c), I64(ldc)
    )  # fmt: skip


def sign(x):
    return x if not math.isfinite(x) else float(x > 0) - float(x < 0)


def expected(fmt, alpha, a, b, beta, c):
    dtype = dtype_of(fmt)
    out = np.zeros(c.shape, f"u{dtype.itemsize}")
    nan, infinity = (int(bits(np.array(v, dtype))) & (2 ** (8 * dtype.itemsize - 1) - 1) for v in (np.nan, np.inf))
    for i, j in np.ndindex(c.shape):
        row, col, old = a[i].astype(float), b[:, j].astype(float), float(c[i, j]) if beta else 0.0
        factors = [alpha, beta, old] if alpha else [beta, old]
        finite = np.isfinite(row).all() and np.isfinite(col).all() if alpha else True
        if finite and all(map(math.isfinite, factors)):
            total = Fraction(alpha) * exact(row, col) if alpha else Fraction(0)
            out[i, j] = rounded(total + Fraction(beta) * Fraction(old), dtype)
            continue
        with np.errstate(all="ignore"):
            s = float(np.sum(np.array([sign(x) for x in row]) * np.array([sign(x) for x in col]))) if not finite else None
            s = sign(float(exact(row, col) > 0) - float(exact(row, col) < 0)) if s is None and alpha else s
            value = np.float64(sign(alpha)) * (0.0 if s is None else s) if alpha else 0.0
            value = value + (np.float64(sign(beta)) * sign(old) if beta else 0.0)
        out[i, j] = nan if np.isnan(value) else infinity | (int(value < 0) << (8 * dtype.itemsize - 1))
    return out


def check(lib, fmt, alpha, a, b, beta, c):
    got = c.copy()
    assert gemm(lib, fmt, alpha, a, b, beta, got) == OK
    want = expected(fmt, alpha, a, b, beta, c)
    wrong = np.argwhere(bits(got) != want)
    assert not len(wrong), (alpha, beta, len(wrong), wrong[0], hex(bits(got)[tuple(wrong[0])]), hex(want[tuple(wrong[0])]))

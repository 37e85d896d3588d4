"""rm_bce_with_logits of a C library by ctypes, its gradient, and what they must return."""

import ctypes

import mpmath
import numpy as np
import oracle
from exact_oracle import bits
from real_oracle import precise, reals, rounded_real
from reductions_library import I64, OK, pointer
from statistics_library import dtype_of

NAMES = list(oracle.FORMATS)
S = ctypes.c_ssize_t


def vectors(*arrays):
    return [v for a in arrays for v in ((pointer(a), S(a.strides[0])) if a is not None else (None, S(0)))]


def run(lib, fmt, reduction, g, *arrays):
    n = len(arrays[0])
    out = np.full(n if reduction == 0 or g is not None else 1, 7, dtype_of(fmt))
    name = "rm_bce_with_logits" + ("_backward" if g is not None else "")
    first = () if g is None else (g,)
    assert getattr(lib, name)(NAMES.index(fmt), reduction, I64(n), *vectors(*first, *arrays, out)) == OK
    return bits(out).tolist()


def values(reduction, g, x, y, w, p):
    """The real numbers of the loss, or of its gradient."""
    n = len(x)
    one = [mpmath.mpf(1)] * n
    x, y, w, p = reals(x), reals(y), one if w is None else reals(w), one if p is None else reals(p)
    if g is not None:
        g = reals(g) * (1 if reduction == 0 else n)
        return [
            c * b * ((1 - v) - (1 + (q - 1) * v) / (1 + mpmath.exp(u))) / (n if reduction == 1 else 1)
            for c, u, v, b, q in zip(g, x, y, w, p, strict=True)
        ]
    terms = [
        b * ((1 - v) * u + (1 + (q - 1) * v) * mpmath.log1p(mpmath.exp(-u))) for u, v, b, q in zip(x, y, w, p, strict=True)
    ]
    return [mpmath.fsum(terms) / (n if reduction == 1 else 1)] if reduction else terms


@precise
def expected(fmt, *arguments):
    return [rounded_real(v, dtype_of(fmt), exact=v == 0) for v in values(*arguments)]

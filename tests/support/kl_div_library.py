"""rm_kl_div of a C library by ctypes, its gradient, and what they must return."""

import mpmath
import numpy as np
import oracle
from bce_library import vectors
from exact_oracle import bits
from real_oracle import precise, reals, rounded_real
from reductions_library import I64, OK
from statistics_library import dtype_of

NAMES = list(oracle.FORMATS)
NONE, MEAN, SUM = range(3)


def run(lib, fmt, reduction, log_target, count, *arrays, backward=False):
    n = len(arrays[-1])
    out = np.full(n if reduction == NONE or backward else 1, 7, dtype_of(fmt))
    name = "rm_kl_div" + ("_backward" if backward else "")
    where = NAMES.index(fmt), reduction, log_target, I64(count), I64(n)
    assert getattr(lib, name)(*where, *vectors(*arrays, out)) == OK
    return bits(out).tolist()


def values(reduction, log_target, count, x, t):
    """The real numbers of the loss."""
    terms = []
    for a, b in zip(reals(x), reals(t), strict=True):
        terms.append(mpmath.exp(b) * (b - a) if log_target else b * (mpmath.log(b) - a) if b else mpmath.mpf(0))
    return [mpmath.fsum(terms) / (count if reduction == MEAN else 1)] if reduction else terms


def gradients(reduction, log_target, count, g, t):
    gs = reals(g) * (1 if reduction == NONE else len(t))
    each = [-a * (mpmath.exp(b) if log_target else b) for a, b in zip(gs, reals(t), strict=True)]
    return [v / (count if reduction == MEAN else 1) for v in each]


@precise
def expected(fmt, *arguments):
    return [rounded_real(v, dtype_of(fmt), exact=v == 0) for v in values(*arguments)]

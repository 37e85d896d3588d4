"""rm_cross_entropy of a C library by ctypes, its gradient, and what they must return."""

import ctypes

import mpmath
import numpy as np
import oracle
from real_oracle import precise, reals, rounded_real
from reductions_library import OK, pointer
from softmax_library import kind
from statistics_library import dtype_of

NAMES = list(oracle.FORMATS)
I64, SIZE, POINTER = ctypes.c_int64, ctypes.c_ssize_t, ctypes.c_void_p
NONE, MEAN, SUM = range(3)
IGNORED = -100
UNDECIDED = 13  # RM_ERR_UNDECIDED


class Problem(ctypes.Structure):
    _fields_ = [
        *(("rows", I64), ("n", I64), ("x", POINTER), ("row_x", SIZE), ("stride_x", SIZE)),
        *(("target", POINTER), ("stride_target", SIZE)),
        *(("probability", POINTER), ("row_probability", SIZE), ("stride_probability", SIZE)),
        *(("weight", POINTER), ("stride_weight", SIZE), ("ignore_index", I64), ("label_smoothing", ctypes.c_double)),
        ("reduction", ctypes.c_int),
    ]


def problem(x, target=None, probability=None, weight=None, smoothing=0.0, reduction=MEAN):
    strides = (0, 0) if probability is None else probability.strides
    address = [None if a is None else a.ctypes.data for a in (x, target, probability, weight)]
    return Problem(
        *x.shape,
        address[0],
        *x.strides,
        address[1],
        8,
        address[2],
        *strides,
        address[3],
        x.itemsize,
        IGNORED,
        smoothing,
        reduction,
    )


def forward(lib, fmt, p):
    out = np.full(p.rows if p.reduction == NONE else 1, 7, kind(fmt))
    assert lib.rm_cross_entropy(NAMES.index(fmt), ctypes.byref(p), pointer(out), SIZE(out.itemsize)) == OK
    return out


def backward(lib, fmt, p, g):
    out = np.full((p.rows, p.n), 7, kind(fmt))
    strides = [SIZE(s) for s in out.strides]
    assert (
        lib.rm_cross_entropy_backward(NAMES.index(fmt), ctypes.byref(p), pointer(g), SIZE(g.itemsize), pointer(out), *strides)
        == OK
    )
    return out


def values(x, target, probability, weight, smoothing, reduction, g):
    """The real numbers of the loss, and of its gradient."""
    rows, n = x.shape
    s, w = mpmath.mpf(smoothing), [mpmath.mpf(1)] * n if weight is None else reals(weight)
    losses, gradients, divisor = [], [], mpmath.mpf(0)
    for r in range(rows):
        if target is not None and target[r] == IGNORED:
            losses.append(mpmath.mpf(0))
            gradients.append([mpmath.mpf(0)] * n)
            continue
        v = reals(x[r])
        most = max(v)
        others = mpmath.fsum(mpmath.exp(a - most) for i, a in enumerate(v) if i != v.index(most))
        log = mpmath.log1p(others)
        p = reals(probability[r]) if target is None else [mpmath.mpf(int(c == target[r])) for c in range(n)]
        q = [((1 - s) * p[c] + s / n) * w[c] for c in range(n)]
        losses.append(mpmath.fsum(a * (most - b + log) for a, b in zip(q, v, strict=True) if a != 0))
        divisor += 1 if target is None else w[target[r]]
        total = mpmath.fsum(q)
        each = [mpmath.exp(a - most) for a in v]
        rest = [mpmath.fsum(e for i, e in enumerate(each) if i != c) for c in range(n)]
        all_ = 1 + others
        gradients.append(
            [
                -q[c] * rest[c] / all_
                if target is not None and smoothing == 0 and c == target[r]
                else each[c] / all_ * total - q[c]
                for c in range(n)
            ]
        )
    one = reduction != MEAN
    value = losses if reduction == NONE else [mpmath.fsum(losses) / (1 if one else divisor)]
    gs = reals(g) if reduction == NONE else reals(g) * rows
    factor = [a / (1 if one else divisor) for a in gs]
    return value, [[a * f for a in row] for row, f in zip(gradients, factor, strict=True)]


@precise
def expected(fmt, *arguments):
    dtype, (value, gradients) = dtype_of(fmt), values(*arguments)
    return [rounded_real(v, dtype) for v in value], [[rounded_real(v, dtype) for v in row] for row in gradients]

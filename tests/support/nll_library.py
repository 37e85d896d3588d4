"""rm_nll_loss of a C library by ctypes, and its gradient."""

import ctypes

import numpy as np
import oracle
from exact_oracle import bits
from reductions_library import I64, OK, pointer
from statistics_library import dtype_of

NAMES = list(oracle.FORMATS)
P, S = ctypes.c_void_p, ctypes.c_ssize_t


class Problem(ctypes.Structure):
    _fields_ = [
        *(("rows", I64), ("n", I64), ("x", P), ("row_x", S), ("stride_x", S), ("target", P), ("stride_target", S)),
        *(("probability", P), ("row_probability", S), ("stride_probability", S), ("weight", P), ("stride_weight", S)),
        *(("ignore_index", I64), ("label_smoothing", ctypes.c_double), ("reduction", ctypes.c_int)),
    ]


def problem(x, target, weight, reduction):
    w = (pointer(weight), weight.strides[0]) if weight is not None else (None, 0)
    return Problem(*x.shape, pointer(x), *x.strides, pointer(target), target.strides[0], None, 0, 0, *w, -100, 0.0, reduction)


def forward(lib, fmt, *arguments):
    p = problem(*arguments)
    out = np.full(p.rows if p.reduction == 0 else 1, 7, dtype_of(fmt))
    assert lib.rm_nll_loss(NAMES.index(fmt), ctypes.byref(p), pointer(out), S(out.itemsize)) == OK
    return bits(out).tolist()


def backward(lib, fmt, g, *arguments):
    p = problem(*arguments)
    out = np.full((p.rows, p.n), 7, dtype_of(fmt))
    place = pointer(out), *(S(s) for s in out.strides)
    assert lib.rm_nll_loss_backward(NAMES.index(fmt), ctypes.byref(p), pointer(g), S(g.itemsize), *place) == OK
    return bits(out).tolist()

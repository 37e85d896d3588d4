"""The arguments of the C library's weighted sums of elements at given places."""

import ctypes

import numpy as np
import oracle
from reductions_library import pointer

NAMES = list(oracle.FORMATS)


class Gather(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("lines", "elements", "inner", "points", "taps", "group")] + [
        ("first", ctypes.c_void_p),
        ("at", ctypes.c_void_p),
        ("weight", ctypes.c_void_p),
        ("mean", ctypes.c_int),
    ]


def gather_sum(lib, format_x, fmt, x, at, weight, y, first=None, group=None, mean=False):
    """rm_gather_sum of x (lines, elements, inner), at and weight (lists, taps, points), or those of all terms with `first`."""
    taps = 0 if first is not None else at.shape[-2]
    address = [None if a is None else a.ctypes.data for a in (first, at, weight)]
    g = Gather(*x.shape, y.shape[1], taps, group or max(len(x), 1), *address, mean)
    strides = (ctypes.c_ssize_t * 3)(*x.strides)
    return lib.rm_gather_sum(NAMES.index(format_x), NAMES.index(fmt), ctypes.byref(g), pointer(x), strides, pointer(y))


def sum_of_all(lib, fmt, rows, mean=False):
    """One result from each row of numbers."""
    y = np.empty((len(rows), 1, 1), rows.dtype)
    at = np.arange(rows.shape[1], dtype=np.int64)[None, :, None].copy()
    assert gather_sum(lib, fmt, fmt, rows[..., None], at, None, y, mean=mean) == 0
    return y

"""rm_fft of a C library by ctypes."""

import ctypes

import numpy as np
from exact_oracle import FORMATS
from fft_oracle import COMPLEX, FROM_REAL, ONE, TO_REAL
from reductions_library import I64, pointer

NAMES = ["f16", "bf16", "f32", "f64"]  # the order of RM_FORMAT_...
COMPLEX_TYPES = {"f32": np.complex64, "f64": np.complex128}


def call(lib, x, fmt, out, sizes, kind=COMPLEX, sign=-1, scale=ONE, transformed=None):
    """The status of rm_fft."""
    rank = len(sizes)
    size = (I64 * rank)(*sizes)
    strides = [(ctypes.c_ssize_t * rank)(*a.strides) for a in (x, out)]
    return lib.rm_fft(
        NAMES.index(fmt), kind, sign, scale, rank, size, rank if transformed is None else transformed, pointer(x), strides[0],
        pointer(out), strides[1]
    )  # fmt: skip


def empty(fmt, kind, sizes):
    shape = (*sizes[:-1], sizes[-1] // 2 + 1) if kind == FROM_REAL else tuple(sizes)
    return np.full(shape, 7, FORMATS[fmt][0] if kind == TO_REAL else COMPLEX_TYPES[fmt])


def transform(lib, x, fmt, kind=COMPLEX, sign=-1, scale=ONE, sizes=None, transformed=None):
    """The bits of the results, parts in a last axis where they are complex."""
    sizes = tuple(x.shape if sizes is None else sizes)
    out = empty(fmt, kind, sizes)
    status = call(lib, x, fmt, out, sizes, kind, sign, scale, transformed)
    assert status == 0, status
    return bits(out, fmt)


def bits(out, fmt):
    unsigned = FORMATS[fmt][1]
    return out.view(unsigned) if out.dtype.kind == "f" else out.view(unsigned).reshape(*out.shape, 2)

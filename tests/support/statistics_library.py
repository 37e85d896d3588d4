"""rm_mean, rm_var, rm_std, rm_norm and rm_cumsum of a C library by ctypes, and what the statistics must return."""

import ctypes

import numpy as np
import oracle
from exact_oracle import exact, exact_variance, rounded, rounded_root
from reductions_library import I64, OK, pointer

FORMATS = list(oracle.FORMATS)  # f16, bf16, f32, f64: the order of RM_FORMAT_...


def kind(fmt):
    return oracle.FORMATS[fmt][2]


def dtype_of(fmt):
    import ml_dtypes

    return np.dtype({"f16": "f2", "f32": "f4", "f64": "f8"}.get(fmt) or ml_dtypes.bfloat16)


def call(lib, what, fmt, x, out_fmt, ddof=None):
    """The bits of the result. var and std are of a sample where ddof is not given."""
    out = np.full(1, 7, kind(out_fmt))
    stride = I64(x.strides[0] if x.size else 0)
    f = getattr(lib.c, f"rm_{what}")
    last = [ctypes.c_double(1 if ddof is None else ddof)] if what in ("var", "std") else []
    assert f(FORMATS.index(fmt), I64(x.size), pointer(x), stride, FORMATS.index(out_fmt), pointer(out), *last) == OK
    return int(out[0])


def cumsum(lib, fmt, x, out_fmt):
    out = np.full(x.size, 7, kind(out_fmt))
    strides = I64(x.strides[0] if x.size else 0), I64(out.itemsize)
    f = lib.c.rm_cumsum
    assert f(FORMATS.index(fmt), I64(x.size), pointer(x), strides[0], FORMATS.index(out_fmt), pointer(out), strides[1]) == OK
    return out.tolist()


def expected(what, x, out_fmt, ddof=1):
    if what in ("var", "std"):
        return (rounded if what == "var" else rounded_root)(exact_variance(x, ddof), dtype_of(out_fmt))
    if what in ("sum", "mean"):
        return rounded(exact(x) / (len(x) if what == "mean" else 1), dtype_of(out_fmt))
    return rounded_root(exact(x, x), dtype_of(out_fmt))

"""rm_index_add and its like of a C library by ctypes."""

import reduction_data as data
from reductions_library import I64, pointer

NAMES = ["f16", "bf16", "f32", "f64"]  # the order of RM_FORMAT_...
KINDS = sorted({f.__name__ for pair in data.PAIRS.values() for f in pair})


def call(lib, function, fmt, out, index, src):
    """The status; out is written."""
    view = lambda x: (pointer(x), I64(x.strides[0]), I64(x.strides[1]))  # noqa: E731
    f = getattr(lib.c, f"rm_{function}")
    sizes = I64(out.shape[0]), I64(out.shape[1])
    return f(NAMES.index(fmt), *sizes, *view(out), I64(len(index)), pointer(index), I64(index.strides[0]), *view(src))

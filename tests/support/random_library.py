"""rm_random_* and rm_dropout of a C library by ctypes."""

import ctypes

import numpy as np
from exact_oracle import FORMATS
from reductions_library import I64, OK, pointer

NAMES = ["f16", "bf16", "f32", "f64"]  # the order of RM_FORMAT_...
U64, F64 = ctypes.c_uint64, ctypes.c_double


def kind(fmt):
    return np.dtype(FORMATS[fmt][0])


class Random:
    """The functions of a library; arrays out."""

    def __init__(self, library):
        self.c = library

    def fill(self, name, dtype, place, n, *parameters, fmt=None, out=None):
        out = np.zeros(n, dtype) if out is None else out
        seed, stream, first = place
        head = () if fmt is None else (NAMES.index(fmt),)
        tail = pointer(out), I64(out.strides[0])
        assert getattr(self.c, name)(*head, U64(seed), U64(stream), I64(first), I64(n), *parameters, *tail) == OK
        return out

    def words32(self, place, n, **kw):
        return self.fill("rm_random_words32", np.uint32, place, n, **kw)

    def words64(self, place, n, **kw):
        return self.fill("rm_random_words64", np.uint64, place, n, **kw)

    def uniform(self, fmt, place, n, low=0.0, high=1.0, **kw):
        return self.fill("rm_random_uniform", kind(fmt), place, n, F64(low), F64(high), fmt=fmt, **kw)

    def normal(self, fmt, place, n, mean=0.0, std=1.0, **kw):
        return self.fill("rm_random_normal", kind(fmt), place, n, F64(mean), F64(std), fmt=fmt, **kw)

    def truncated(self, fmt, place, n, mean, std, low, high, **kw):
        ends = F64(mean), F64(std), F64(low), F64(high)
        return self.fill("rm_random_truncated_normal", kind(fmt), place, n, *ends, fmt=fmt, **kw)

    def bernoulli(self, place, n, p, **kw):
        return self.fill("rm_random_bernoulli", np.uint8, place, n, F64(p), **kw)

    def integers(self, place, n, low, last, **kw):
        return self.fill("rm_random_integers", np.int64, place, n, I64(low), I64(last), **kw)

    def permutation(self, place, n, **kw):
        return self.fill("rm_random_permutation", np.int64, place, n, **kw)

    def dropout(self, fmt, place, x, p, **kw):
        more = F64(p), pointer(x), I64(x.strides[0])
        return self.fill("rm_dropout", x.dtype, place, len(x), *more, fmt=fmt, **kw)

    def everything(self, place, n):
        """One fill of each kind."""
        x = np.linspace(-3, 3, n)
        return {
            "words32": lambda **kw: self.words32(place, n, **kw),
            "words64": lambda **kw: self.words64(place, n, **kw),
            "bernoulli": lambda **kw: self.bernoulli(place, n, 0.3, **kw),
            "integers": lambda **kw: self.integers(place, n, -7, 99, **kw),
            "permutation": lambda **kw: self.permutation(place, n, **kw),
            **{f"uniform_{f}": lambda f=f, **kw: self.uniform(f, place, n, -0.3, 1.7, **kw) for f in NAMES},
            **{f"normal_{f}": lambda f=f, **kw: self.normal(f, place, n, **kw) for f in NAMES},
            **{f"scaled_{f}": lambda f=f, **kw: self.normal(f, place, n, 0.7, 3.1, **kw) for f in NAMES},
            **{f"truncated_{f}": lambda f=f, **kw: self.truncated(f, place, n, 0.0, 1.0, -2.0, 2.0, **kw) for f in NAMES},
            **{f"dropout_{f}": lambda f=f, **kw: self.dropout(f, place, x.astype(kind(f)), 0.1, **kw) for f in NAMES},
        }


SELDOM = [((1, 0, i), 2**32 - 1) for i in (6296106689, 7184522185, 8385340366, 8471140278)]

"""rm_sum_<format>, rm_dot_<format>, rm_matmul_<format> and the accumulator of a C library by ctypes, on NumPy arrays of any strides."""

from __future__ import annotations

import ctypes

import numpy as np

I64, P = ctypes.c_int64, ctypes.c_void_p
TYPES = {"f32": np.float32, "f64": np.float64}
ROW_MAJOR, COL_MAJOR, NO_TRANS, TRANS, CONJ_TRANS = 101, 102, 111, 112, 113
OK, NULL, SIZE, LD, ENUM, ISA, MEMORY, OVERLAP = range(8)
RANGE = 10
FE_INVALID, FE_OVERFLOW = 1, 8  # x86-64; AArch64 has 1 and 4


class Stats(ctypes.Structure):
    _fields_ = [("fast", ctypes.c_uint64), ("double_double", ctypes.c_uint64), ("accumulator", ctypes.c_uint64)]


def status(code: int, argument: int = 0) -> int:
    return code | argument << 8


def pointer(x: np.ndarray | None):
    return P(x.ctypes.data) if x is not None else None


class Reductions:
    def __init__(self, library):
        """library: a path, or what ctypes has loaded already."""
        self.c = library if isinstance(library, ctypes.CDLL) else ctypes.CDLL(str(library))
        self.c.rm_isa.restype = ctypes.c_char_p
        self.c.rm_accumulator_new.restype = P

    def isa(self) -> str:
        return self.c.rm_isa().decode()

    def threads(self, n: int) -> None:
        assert self.c.rm_set_num_threads(n) == OK

    def stats(self) -> tuple[int, int, int]:
        """The counters since the last call."""
        s = Stats()
        self.c.rm_get_reduction_stats(ctypes.byref(s))
        self.c.rm_reset_reduction_stats()
        return s.fast, s.double_double, s.accumulator

    def sum(self, fmt: str, x: np.ndarray):
        out = np.full(1, 7, TYPES[fmt])
        assert getattr(self.c, f"rm_sum_{fmt}")(I64(x.size), pointer(x), I64(x.strides[0]), pointer(out)) == OK
        return out[0]

    def dot(self, fmt: str, x: np.ndarray, y: np.ndarray):
        out = np.full(1, 7, TYPES[fmt])
        f = getattr(self.c, f"rm_dot_{fmt}")
        assert f(I64(x.size), pointer(x), I64(x.strides[0]), pointer(y), I64(y.strides[0]), pointer(out)) == OK
        return out[0]

    def strided(self, fmt: str, a, b, c, bias=None, shape=None) -> int:
        m, n, k = shape or (a.shape[0], b.shape[1], a.shape[1])
        sizes = [I64(v) for v in (m, n, k)]
        strides = [[I64(s) for s in x.strides] for x in (a, b, c)]
        f = getattr(self.c, f"rm_matmul_strided_{fmt}")
        bias_args = (pointer(bias), I64(bias.strides[0] if bias is not None else 0))
        return f(*sizes, pointer(a), *strides[0], pointer(b), *strides[1], *bias_args, pointer(c), *strides[2])

    def matmul(self, fmt: str, a, b, bias=None):
        c = np.full((a.shape[0], b.shape[1]), 7, TYPES[fmt])
        assert self.strided(fmt, a, b, c, bias) == OK
        return c

    def batched(self, fmt: str, a, b, c) -> int:
        number = ("f16", "bf16", "f32", "f64").index(fmt)
        sizes = [I64(v) for v in (len(a), a.shape[1], b.shape[2], a.shape[2])]
        x, y, z = ((pointer(v), *map(I64, v.strides)) for v in (a, b, c))
        return self.c.rm_matmul_batched(number, number, *sizes, *x, *y, pointer(None), I64(0), I64(0), *z)

    def dense(self, fmt: str, layout, ta, tb, m, n, k, a, lda, b, ldb, bias, c, ldc) -> int:
        f = getattr(self.c, f"rm_matmul_{fmt}")
        sizes = I64(m), I64(n), I64(k)
        return f(layout, ta, tb, *sizes, pointer(a), I64(lda), pointer(b), I64(ldb), pointer(bias), pointer(c), I64(ldc))


class Accumulator:
    def __init__(self, library: Reductions):
        self.c = library.c
        self.handle = P(self.c.rm_accumulator_new())

    def __del__(self):
        self.c.rm_accumulator_free(self.handle)

    def add(self, fmt: str, x: np.ndarray):
        f = getattr(self.c, f"rm_accumulator_add_{fmt}")
        assert f(self.handle, I64(x.size), pointer(x), I64(x.strides[0])) == OK
        return self

    def add_products(self, x: np.ndarray, y: np.ndarray):
        f = self.c.rm_accumulator_add_products_f64
        assert f(self.handle, I64(x.size), pointer(x), I64(x.strides[0]), pointer(y), I64(y.strides[0])) == OK
        return self

    def merge(self, other: Accumulator):
        assert self.c.rm_accumulator_merge(self.handle, other.handle) == OK
        return self

    def round(self, fmt: str):
        out = np.full(1, 7, TYPES[fmt])
        assert getattr(self.c, f"rm_accumulator_round_{fmt}")(self.handle, pointer(out)) == OK
        return out[0]

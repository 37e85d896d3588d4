"""rm_sum_axes and rm_mean_axes: every way of adding the terms, on every instruction set, beside sums of single elements and exact integers."""

import ctypes
import itertools
import math

import numpy as np
import pytest
import reduction_data as data
from reductions_library import ENUM, I64, NULL, OK, SIZE, pointer, status
from statistics_library import FORMATS, call, dtype_of, expected, kind

INVALID = 1
# Axes of an array in C order that are kept, and summed over; the rest of its shape.
COLUMNS = [((2, 5, 41), (0, 2), (1,)), ((37, 70), (1,), (0,)), ((3, 20, 2, 19), (1, 3), (0, 2)), ((3000, 9), (1,), (0,))]
ROWS = [((5, 130), (0,), (1,)), ((3, 11, 2, 75), (1,), (0, 2, 3)), ((2, 3, 999), (0, 1), (2,))]
GATHERED = [
    ((70, 4), (0,), (1,)),
    ((9, 2), (0,), (1,)),
    ((5, 7, 3), (0, 2), (1,)),
    ((4, 100, 5), (0, 2), (1,)),
    ((3, 13), (), (0, 1)),
]


def over_axes(lib, what, x, kept, summed, out_fmt, fmt):
    """The bits of the results; axes of x in C order, at most two of each kind."""
    order = [None] * (2 - len(kept)) + list(kept) + [None] * (2 - len(summed)) + list(summed)
    if len(summed) == 3:  # the last two are one
        order = [None] * (2 - len(kept)) + [*kept, summed[0], summed[1:]]
    size, stride = [], []
    for axis in order:
        one = axis if isinstance(axis, tuple) else () if axis is None else (axis,)
        size.append(math.prod(x.shape[i] for i in one))
        stride.append(x.strides[one[-1]] if one else 0)
    out = np.full(size[0] * size[1], 7, kind(out_fmt))
    f = getattr(lib.c, f"rm_{what}_axes")
    codes = FORMATS.index(fmt), FORMATS.index(out_fmt)
    assert f(codes[0], (I64 * 4)(*size), (I64 * 4)(*stride), pointer(x), codes[1], pointer(out)) == OK
    return out.tolist()


def alone(lib, what, x, kept, summed, out_fmt, fmt):
    rows = np.ascontiguousarray(x.transpose(*kept, *summed)).reshape(math.prod(x.shape[i] for i in kept), -1)
    return [call(lib, what, fmt, row, out_fmt) for row in rows], rows


def made(name, rng, dtype, shape):
    return getattr(data, name)(rng, dtype.type, math.prod(shape[:-1]), shape[-1]).reshape(shape)


BOTH = pytest.mark.parametrize("what", ["sum", "mean"])


@BOTH
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("case", [*COLUMNS, *ROWS, *GATHERED], ids=str)
def test_beside_single_sums(lib, what, fmt, case):
    shape, kept, summed = case
    rng = np.random.default_rng(len(shape))
    names = (
        ("gaussian", "cancelling", "special")
        if fmt in ("f16", "bf16")
        else ("cancelling", "spread", "subnormal", "huge", "special")
    )
    for name in names if math.prod(shape) < 3000 else names[:1]:
        x = made(name, rng, np.dtype("f4") if fmt in ("f16", "bf16") else dtype_of(fmt), shape).astype(dtype_of(fmt))
        for out_fmt in FORMATS if name == "cancelling" else (fmt,):
            got = over_axes(lib, what, x, kept, summed, out_fmt, fmt)
            want, rows = alone(lib, what, x, kept, summed, out_fmt, fmt)
            assert got == want, (name, out_fmt)
            if np.isfinite(rows.astype("f8")).all():
                assert got[0] == expected(what, rows[0], out_fmt)


@BOTH
@pytest.mark.parametrize("fmt", FORMATS)
def test_ties(lib, what, fmt):
    """Sums and means that are midpoints, and beside them: 1 + k/2 ulp, split into as many terms as there are."""
    p = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}[fmt]
    dtype = dtype_of(fmt)
    rng = np.random.default_rng(3)
    for terms, width in itertools.product((2, 3, 4, 8, 24, 40), (1, 12)):
        x = np.zeros((40, terms, width))
        x[:, 0] = 1 + rng.integers(0, 8, (40, width)) * 2.0 ** (1 - p)
        x[:, 1] = rng.integers(0, 2, (40, width)) * 2.0**-p  # a half of the last place
        if terms > 2:
            x[:, 2] = rng.integers(-1, 2, (40, width)) * 2.0 ** -(p + 3 if fmt == "f16" else p + 9)
        if what == "mean":
            x[:, -1] += (terms - 1) * (1 + 2.0 ** (1 - p)) if terms > 3 else 0
        x = rng.permuted(x, axis=1).astype(dtype)
        assert over_axes(lib, what, x, (0, 2), (1,), fmt, fmt) == alone(lib, what, x, (0, 2), (1,), fmt, fmt)[0]
        one = x[7, :, 0]
        assert over_axes(lib, what, x, (0, 2), (1,), fmt, fmt)[7 * width] == expected(what, one, fmt)


@BOTH
def test_quotients_near_the_ends_of_binary64(lib, what):
    rng = np.random.default_rng(4)
    for e in (-1074, -1000, -900, -880, 960, 1020):
        for terms in (3, 4, 7):
            x = np.ldexp(rng.integers(-9, 10, (30, terms)).astype("f8"), e)
            got, want = over_axes(lib, what, x, (0,), (1,), "f64", "f64"), alone(lib, what, x, (0,), (1,), "f64", "f64")
            assert got == want[0]
            assert got[:4] == [expected(what, row, "f64") for row in want[1][:4]]


@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_threads_strides_and_no_terms(lib, fmt):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((300, 2, 1500)).astype(dtype_of(fmt))[::-1, :, ::3]
    try:
        for kept, summed in (((0,), (1, 2)), ((2,), (0, 1)), ((0, 1), (2,)), ((1, 2), (0,))):
            want = alone(lib, "sum", x, kept, summed, fmt, fmt)[0]
            for threads in (1, 2, 3):
                lib.threads(threads)
                assert over_axes(lib, "sum", x, kept, summed, fmt, fmt) == want
    finally:
        lib.threads(1)
    none = np.zeros((3, 0), dtype_of(fmt))
    assert over_axes(lib, "sum", none, (0,), (1,), fmt, fmt) == [0] * 3
    nan = over_axes(lib, "mean", none, (0,), (1,), fmt, fmt)
    assert np.isnan(np.array(nan, kind(fmt)).view(dtype_of(fmt))).all()


def test_long_rows(lib):
    """Beyond the rows that are taken in vectors of their own, and strips whose sums are joined."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((2, 70_001)).astype("f4")
    for what in ("sum", "mean"):
        assert over_axes(lib, what, x, (0,), (1,), "f32", "f32") == alone(lib, what, x, (0,), (1,), "f32", "f32")[0]
        tall = np.ascontiguousarray(x[:, :20_000].reshape(-1, 8))
        assert over_axes(lib, what, tall, (1,), (0,), "f32", "f32") == alone(lib, what, tall, (1,), (0,), "f32", "f32")[0]


def test_tiers(lib):
    """Data of all kinds are decided without the accumulator, and single ones by it."""
    rng = np.random.default_rng(7)
    lib.stats()
    for shape, kept, summed in ((64, 40), (0,), (1,)), ((40, 64), (1,), (0,)), ((64, 4), (0,), (1,)):
        for name in ("gaussian", "integers", "ternary", "relu"):
            over_axes(lib, "mean", made(name, rng, np.dtype("f4"), shape), kept, summed, "f32", "f32")
    fast, double_double, accumulator = lib.stats()
    assert fast + double_double == 64 * 12 and fast > 64 * 11 and accumulator == 0
    hard = np.array([[2.0**60, 2.0**36, 2.0**-70, 2.0**-130]], "f4")
    assert over_axes(lib, "sum", hard, (0,), (1,), "f32", "f32") == [expected("sum", hard[0], "f32")]
    assert lib.stats()[2] == 1


def test_bad_arguments(lib):
    x, out = np.ones(4, "f4"), np.full(4, 7, "f4")
    f, size, stride = lib.c.rm_sum_axes, (I64 * 4)(1, 1, 1, 4), (I64 * 4)(0, 0, 0, 4)
    assert f(4, size, stride, pointer(x), 2, pointer(out)) == status(ENUM, 1)
    assert f(2, None, stride, pointer(x), 2, pointer(out)) == status(NULL, 2)
    assert f(2, (I64 * 4)(1, 1, -1, 4), stride, pointer(x), 2, pointer(out)) == status(SIZE, 2)
    assert f(2, (I64 * 4)(1, 1, 2**40, 2**40), stride, pointer(x), 2, pointer(out)) == status(SIZE, 2)
    assert f(2, size, None, pointer(x), 2, pointer(out)) == status(NULL, 3)
    assert f(2, size, stride, None, 2, pointer(out)) == status(NULL, 4)
    assert f(2, size, stride, pointer(x), -1, pointer(out)) == status(ENUM, 5)
    assert f(2, size, stride, pointer(x), 2, None) == status(NULL, 6)
    assert (out == 7).all()


@pytest.mark.parametrize(
    "terms, flag", [([np.inf, -np.inf], INVALID), ([np.inf, 1], 0), ([np.nan, 1], 0), ([3e38, 3e38], 8)], ids=str
)
def test_flags(lib, terms, flag):
    libm = ctypes.CDLL("libm.so.6")
    for n in (2, 40):
        x = np.zeros((3, n), "f4")
        x[1, :2] = terms
        libm.feclearexcept(0x3F)
        for y, kept, summed in (x, (0,), (1,)), (np.tile(x.T, (1, 9)).copy(), (1,), (0,)):
            libm.feclearexcept(0x3F)
            over_axes(lib, "sum", y, kept, summed, "f32", "f32")
            assert libm.fetestexcept(INVALID | 8) == flag

"""rm_max_pool, rm_avg_pool and the gradient of the latter against exact rationals, on every instruction set, in every format."""

import ctypes
import itertools
from fractions import Fraction

import numpy as np
import oracle
import pytest
from exact_oracle import CANONICAL_NAN, bits, rounded
from pooling_library import CASES, THREE, outputs, pool_of, strides
from reductions_library import ENUM, NULL, OK, OVERLAP, RANGE, SIZE, pointer, status
from statistics_library import dtype_of

NAMES = list(oracle.FORMATS)


DILATED = [((1, 2, 9, 8), (3, 4), (3, 2), (2, 1), (2, 3), (1, 0)), ((1, 1, 1), (2,), (2,), (1,), (5,), (3,))]


def data(rng, fmt, shape):
    dtype = dtype_of(fmt)
    x = rng.standard_normal(shape)
    yield x.astype(dtype)
    yield (np.round(x * 2) / 2).astype(dtype)
    yield (x * 2.0 ** rng.integers(-12, 12, shape)).astype(dtype)
    yield (np.round(x * 9) * (2.0**-1074 if fmt == "f64" else 2.0**-24 if fmt == "f16" else 2.0**-133)).astype(dtype)
    yield (np.where(rng.random(shape) < 0.5, 1, -1) * (6e4 if fmt == "f16" else 3e38 if fmt != "f64" else 1.7e308)).astype(
        dtype
    )
    big = rng.integers(-2, 3, shape) * 2.0 ** (100 if fmt != "f16" else 12)
    yield (big + np.where(big == 0, x, 0)).astype(dtype)  # cancels


@pytest.mark.sample(4)
@pytest.mark.parametrize("fmt", NAMES)
def test_average(isa_library, fmt):
    rng = np.random.default_rng(1)
    dtype = dtype_of(fmt)
    for case, (pad, divisor) in itertools.product(CASES, ((1, 0), (0, 0), (1, 7))):
        shape, out, *rest = case
        p, axes = pool_of(shape, out, *rest)
        index = ctypes.c_int(NAMES.index(fmt))
        for j, x in enumerate(data(rng, fmt, shape)):
            if (j + len(shape) + len(out)) % 3 != (pad + (divisor > 0)) and j:  # a third of them for each divisor
                continue
            y = np.full(shape[:2] + out, 7, dtype)
            f = isa_library.rm_avg_pool
            assert (
                f(index, ctypes.byref(p), pad, ctypes.c_int64(divisor), pointer(x), strides(x), pointer(y), strides(y)) == OK
            )
            got = bits(y)
            exact = np.vectorize(lambda v: Fraction(float(v)), otypes=[object])(x)
            g = next(itertools.islice(data(rng, fmt, y.shape), j, None))
            gx = np.full(shape, 7, dtype)
            f = isa_library.rm_avg_pool_backward
            assert (
                f(index, ctypes.byref(p), pad, ctypes.c_int64(divisor), pointer(g), strides(g), pointer(gx), strides(gx))
                == OK
            )
            want = np.full(shape, Fraction(0), object)
            for at, window, padded in outputs(shape, axes):
                by = divisor or (padded if pad else len(window))
                if not window and not by:
                    assert got[at] == CANONICAL_NAN[fmt]
                    continue
                total = sum((exact[at[:2] + w] for w in window), Fraction(0))
                assert got[at] == rounded(total / by, dtype), (case, at)
                for w in window:
                    want[at[:2] + w] += Fraction(float(g[at])) / by
            assert [rounded(v, dtype) for v in want.ravel()] == bits(gx).ravel().tolist(), case


@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_ties_of_long_windows(isa_library, fmt):
    """u + v over the length of one axis, by quotients 3 u/3 and 4 v/4 of which neither is exact, is a tie, or beside one."""
    dtype, n = dtype_of(fmt), 14001
    digits = 24 if fmt == "f32" else 53
    p, axes = pool_of((1, 1, n, 12), (1, 5))
    (_, three), (_, four) = axes[1][1], axes[1][2]
    assert (three, four) == (3, 4) and set(axes[1][1][0]) & set(axes[1][2][0]) == {4}
    for more in (-1, 0, 1):
        u, v = Fraction(1, 4) + Fraction(n + more, 2**digits), n - Fraction(1, 4)
        g = np.zeros((1, 1, 1, 5), dtype)
        g[..., 1], g[..., 2] = float(3 * u), float(4 * v)
        gx = np.full((1, 1, n, 12), 7, dtype)
        arguments = ctypes.c_int(NAMES.index(fmt)), ctypes.byref(p), 1, ctypes.c_int64(0)
        assert isa_library.rm_avg_pool_backward(*arguments, pointer(g), strides(g), pointer(gx), strides(gx)) == OK
        exact = (Fraction(float(g[0, 0, 0, 1])) / 3 + Fraction(float(g[0, 0, 0, 2])) / 4) / n
        assert exact == 1 + (1 + Fraction(more, n)) / 2**digits
        assert set(bits(gx[0, 0, :, 4]).tolist()) == {rounded(exact, dtype)}


@pytest.mark.parametrize("divisor", [1, 3, 7, 9, 1048575])
def test_averages_beside_ties(isa_library, divisor):
    """Windows of nine numbers of binary64 whose sum is a hair from the divisor times a tie; two of them cancel."""
    rng, windows = np.random.default_rng(divisor), []
    for k in range(600):
        tie = Fraction(int(rng.integers(2**52, 2**53)) * 2 + 1, 2)
        total = tie * divisor
        high = float(total)
        hair = float(rng.choice([-1.0, 1.0]) * rng.uniform(1, 2)) * 2.0 ** -(20 + k % 120) if k % 5 else 0.0
        big = 2.0 ** int(rng.integers(40, 90))
        window = [high, float(total - Fraction(high)), hair, big, -big, 0.0, 0.0, 0.0, 0.0]
        scale = 2.0 ** int(rng.integers(-40, 40))
        windows.append(rng.permutation(window) * scale)
    x = np.ascontiguousarray(np.array(windows).reshape(1, 1, -1))
    p, _ = pool_of(x.shape, (len(windows),), (9,), (9,), (1,), (0,))
    y = np.full((1, 1, len(windows)), 7.0)
    arguments = ctypes.byref(p), 1, ctypes.c_int64(divisor), pointer(x), strides(x), pointer(y), strides(y)
    assert isa_library.rm_avg_pool(NAMES.index("f64"), *arguments) == OK
    exact = [sum((Fraction(v) for v in window.tolist()), Fraction(0)) / divisor for window in windows]
    assert bits(y).ravel().tolist() == [rounded(v, np.dtype("f8")) for v in exact]
    nearest = [rounded(v + Fraction(float(v)) / 2**60 * side, np.dtype("f8")) for v in exact for side in (1, -1)]
    assert nearest[::2] != nearest[1::2]  # hairs decide


@pytest.mark.parametrize("fmt", NAMES)
def test_greatest(isa_library, fmt):
    rng = np.random.default_rng(2)
    dtype = dtype_of(fmt)
    for case in CASES + DILATED:
        shape, out, *rest = case
        p, axes = pool_of(shape, out, *rest)
        for ties in (False, True):
            x = rng.standard_normal(shape)
            x = np.round(x) if ties else x
            x = np.where(rng.random(shape) < 0.05, np.nan, np.where(rng.random(shape) < 0.1, -np.inf, x)).astype(dtype)
            y, index = np.full(shape[:2] + out, 7, dtype), np.full(shape[:2] + out, 7, np.int64)
            arguments = NAMES.index(fmt), ctypes.byref(p), pointer(x), strides(x)
            assert isa_library.rm_max_pool(*arguments, pointer(y), strides(y), pointer(index), strides(index)) == OK
            values = x.astype(np.float64)
            for at, window, _ in outputs(shape, axes):
                if not window:
                    assert index[at] == -1 and float(y[at]) == -np.inf
                    continue
                line = np.array([values[at[:2] + w] for w in window])
                first = int(np.argmax(line))  # the first NaN, or the first greatest
                where = int(np.ravel_multi_index(window[first], shape[2:]))
                assert index[at] == where, (case, at)
                nan = np.isnan(line[first])
                assert bits(y)[at] == (CANONICAL_NAN[fmt] if nan else bits(x)[at[:2] + window[first]])
            y2 = np.full_like(y, 7)
            assert isa_library.rm_max_pool(*arguments, pointer(y2), strides(y2), None, None) == OK
            assert (bits(y2) == bits(y)).all()


def test_special_averages(isa_library):
    x = np.array([[[1, np.inf, 2, -np.inf, np.nan, 3, 4]]], "f4")
    p, _ = pool_of(x.shape, (5,), (3,), (1,), (1,), (0,))
    y = np.empty((1, 1, 5), "f4")
    arguments = ctypes.byref(p), 1, ctypes.c_int64(0), pointer(x), strides(x), pointer(y), strides(y)
    assert isa_library.rm_avg_pool(2, *arguments) == OK
    assert bits(y).ravel().tolist() == [0x7F800000, *[CANONICAL_NAN["f32"]] * 4]


@pytest.mark.parametrize("fmt", NAMES)
def test_infinities_and_runs_in_gradients(isa_library, fmt):
    """Adaptive windows of several lengths: infinities of one sign and of both, and neighbours with the same windows."""
    rng = np.random.default_rng(4)
    dtype = dtype_of(fmt)
    shape, out = (2, 2, 13, 17), (4, 5)
    p, axes = pool_of(shape, out)
    for _ in range(4):
        g = rng.integers(-3, 4, shape[:2] + out).astype(dtype)
        g[rng.random(g.shape) < 0.2] = rng.choice([np.inf, -np.inf])
        g[1, 1, 0, 0], g[1, 1, 0, 1], g[0, 1, 2, 2] = np.inf, -np.inf, np.nan
        gx = np.full(shape, 7, dtype)
        arguments = ctypes.c_int(NAMES.index(fmt)), ctypes.byref(p), 1, ctypes.c_int64(0)
        assert isa_library.rm_avg_pool_backward(*arguments, pointer(g), strides(g), pointer(gx), strides(gx)) == OK
        special = np.zeros(shape)
        exact = np.full(shape, Fraction(0), object)
        for at, window, _ in outputs(shape, axes):
            for w in window:
                v = float(g[at])
                with np.errstate(invalid="ignore"):
                    special[at[:2] + w] += 0 if np.isfinite(v) else v
                exact[at[:2] + w] += Fraction(v) / len(window) if np.isfinite(v) else 0
        infinity = np.array([np.inf, -np.inf], dtype)
        want = [
            (CANONICAL_NAN[fmt] if np.isnan(s) else int(bits(infinity)[int(s < 0)]))
            if s or np.isnan(s)
            else rounded(e, dtype)
            for s, e in zip(special.ravel(), exact.ravel(), strict=True)
        ]
        assert bits(gx).ravel().tolist() == want
        assert any(np.isnan(special.ravel())) and len({len(w) for _, w, _ in outputs(shape, axes)}) > 1


def test_views(isa_library):
    """Channels last, negative strides, results with gaps."""
    rng = np.random.default_rng(3)
    shape, out, *rest = CASES[2]
    p, _ = pool_of(shape, out, *rest)
    x = rng.standard_normal(shape).astype("f4")
    y = np.empty(shape[:2] + out, "f4")
    last = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    back = x[:, :, ::-1, ::-1].copy()[:, :, ::-1, ::-1]
    for name in ("rm_avg_pool", "rm_max_pool"):
        results = []
        for view in (x, last, back):
            place = np.empty((*y.shape[:3], y.shape[3] * 2), "f4")[..., ::2]
            tail = (None, None) if name == "rm_max_pool" else ()
            more = () if name == "rm_max_pool" else (1, ctypes.c_int64(0))
            f = getattr(isa_library, name)
            assert f(2, ctypes.byref(p), *more, pointer(view), strides(view), pointer(place), strides(place), *tail) == OK
            results.append(bits(place.copy()))
        assert (results[0] == results[1]).all() and (results[0] == results[2]).all()


@pytest.mark.parametrize("fmt", NAMES)
def test_channels_next_to_each_other(isa_library, fmt):
    """Rows are those of channels then: results, places and gradients are those of contiguous planes."""
    rng, dtype = np.random.default_rng(5), dtype_of(fmt)

    def last(x):
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)

    for (_, _, *size), out, *rest in CASES:
        if len(size) > 2:
            continue
        shape = (2, 9, *size)
        p, _ = pool_of(shape, out, *rest)
        with np.errstate(all="ignore"):
            x = np.round(rng.standard_normal(shape), 1) * rng.choice(
                [0.0, -0.0, 1.0, 2.0**-24, np.inf, np.nan], shape, p=[0.1, 0.1, 0.6, 0.1, 0.05, 0.05]
            )
        x, kind = x.astype(dtype), NAMES.index(fmt)
        g, zero = rng.standard_normal((2, 9, *out)).astype(dtype), ctypes.c_int64(0)
        results = []
        for lay in (np.ascontiguousarray, last):
            u, v = lay(x), lay(g)
            y, most, gx = (lay(np.full(s, 7, dtype)) for s in (g.shape, g.shape, shape))
            index = lay(np.full(g.shape, 7, np.int64))
            for c in (isa_library.rm_avg_pool(kind, ctypes.byref(p), 1, zero, pointer(u), strides(u), pointer(y), strides(y)),
                      isa_library.rm_avg_pool_backward(kind, ctypes.byref(p), 1, zero, pointer(v), strides(v), pointer(gx), strides(gx)),
                      isa_library.rm_max_pool(kind, ctypes.byref(p), pointer(u), strides(u), pointer(most), strides(most), pointer(index), strides(index))):  # fmt: skip
                assert c == OK
            results.append([bits(np.ascontiguousarray(w)).tolist() for w in (y, most, gx)] + [index.tolist()])
        assert results[0] == results[1], size


def test_bad_arguments(isa_library):
    shape, out, *rest = CASES[1]
    p, _ = pool_of(shape, out, *rest)
    x, y = np.ones(shape, "f4"), np.full(shape[:2] + out, 7, "f4")
    sx, sy, zero = strides(x), strides(y), ctypes.c_int64(0)
    f = isa_library.rm_avg_pool
    assert f(4, ctypes.byref(p), 1, zero, pointer(x), sx, pointer(y), sy) == status(ENUM, 1)
    assert f(2, None, 1, zero, pointer(x), sx, pointer(y), sy) == status(NULL, 2)
    assert f(2, ctypes.byref(p), 1, ctypes.c_int64(-1), pointer(x), sx, pointer(y), sy) == status(RANGE, 4)
    assert f(2, ctypes.byref(p), 1, zero, None, sx, pointer(y), sy) == status(NULL, 5)
    assert f(2, ctypes.byref(p), 1, zero, pointer(x), sx, None, sy) == status(NULL, 7)
    assert f(2, ctypes.byref(p), 1, zero, pointer(x), sx, pointer(x), sy) == status(OVERLAP, 7)
    for name, value in (
        ("dims", 4),
        ("batch", -1),
        ("kernel", THREE(0, 2)),
        ("stride", THREE(1, 0)),
        ("padding", THREE(-1, 0)),
    ):
        bad, _ = pool_of(shape, out, *rest)
        setattr(bad, name, value)
        assert f(2, ctypes.byref(bad), 1, zero, pointer(x), sx, pointer(y), sy) == status(SIZE, 2), name
    g = isa_library.rm_max_pool
    assert g(2, ctypes.byref(p), None, sx, pointer(y), sy, None, None) == status(NULL, 3)
    assert g(2, ctypes.byref(p), pointer(x), sx, pointer(y), sy, pointer(y), strides(y)) == status(OVERLAP, 7)
    assert (y == 7).all()

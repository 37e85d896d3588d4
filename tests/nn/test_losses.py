"""rm_regression_loss and its gradient against exact rationals, on every instruction set, in every format."""

import numpy as np
import pytest
from exact_oracle import CANONICAL_NAN, bits
from losses_library import (
    CASES,
    LOSSES,
    NAMES,
    REAL,
    REDUCTIONS,
    STRIDE,
    backward,
    expected,
    expected_gradient,
    forward,
    head,
    vectors,
)
from reductions_library import ENUM, I64, NULL, OK, OVERLAP, RANGE, SIZE, Reductions, pointer, status
from statistics_library import dtype_of


def pairs_of(rng, fmt, n):
    """Pairs that have something about them."""
    dtype = dtype_of(fmt)
    tiny = float(np.finfo(np.float64 if fmt == "f64" else np.float16 if fmt == "f16" else np.float32).smallest_subnormal)
    tiny *= 65536 if fmt == "bf16" else 1
    x = rng.standard_normal(n)
    yield x, rng.standard_normal(n)
    yield np.round(x * 4) / 4, np.round(rng.standard_normal(n) * 4) / 4  # exact, with ties
    yield (
        x,
        x.astype(dtype).astype(np.float64) + rng.choice([0.0, 1.0, -1.0, 0.5], n) * 2.0**-7,
    )  # near cancellation, and exact zeros
    yield x * tiny * 9, np.round(rng.standard_normal(n) * 5) * tiny  # subnormal
    yield x * 2.0 ** rng.integers(-9, 9, n), rng.standard_normal(n) * 2.0 ** rng.integers(-9, 9, n)
    most = 3e4 if fmt == "f16" else 1e38 if fmt != "f64" else 1.5e308
    yield x * most / 9, -x * most / 7  # squares overflow
    yield np.where(np.arange(n) % 2, 0.7, -1.0) + x * tiny, np.full(n, 1.0) * (np.arange(n) % 3 - 1) * 0.3


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("loss, p", CASES)
def test_values(isa_library, loss, p, fmt):
    rng = np.random.default_rng(LOSSES[loss])
    dtype = dtype_of(fmt)
    for n in (1, 19):
        for pair in pairs_of(rng, fmt, n):
            with np.errstate(over="ignore"):
                x, y = (np.clip(v, -3e38, 3e38).astype(dtype) if fmt != "f64" else v for v in pair)
            x, y = (np.where(np.isfinite(v.astype(float)), v, dtype.type(1)) for v in (x, y))
            for reduction in REDUCTIONS:
                g = rng.standard_normal(n if reduction == "none" else 1).astype(dtype)
                assert forward(isa_library, loss, p, fmt, reduction, x, y) == expected(loss, p, fmt, reduction, x, y)
                got = backward(isa_library, loss, p, fmt, reduction, g, x, y)
                assert got == expected_gradient(loss, p, fmt, reduction, g, x, y), reduction


@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_long(isa_library, fmt):
    """More than a block, strides of every kind, a result in the place of an argument; and by which tier."""
    rng = np.random.default_rng(3)
    dtype, n = dtype_of(fmt), 1500
    x, y, g = (rng.standard_normal(n).astype(dtype) for _ in range(3))
    tiers = Reductions(isa_library)
    for loss, p in (("mse", 0.0), ("huber", 0.5)):
        tiers.stats()
        assert forward(isa_library, loss, p, fmt, "mean", x, y) == expected(loss, p, fmt, "mean", x, y)
        assert tiers.stats() == (1, 0, 0)
        want = expected(loss, p, fmt, "none", x, y)
        assert forward(isa_library, loss, p, fmt, "none", x, y) == want
        assert tiers.stats()[0] > 0.99 * n
        assert forward(isa_library, loss, p, fmt, "none", np.repeat(x, 2)[::2], y[::-1].copy()[::-1]) == want
        place = x.copy()
        assert isa_library.rm_regression_loss(*head(loss, p, fmt, "none", n), *vectors(place, y, place)) == OK
        assert bits(place).tolist() == want
        assert backward(isa_library, loss, p, fmt, "none", g, x, y) == expected_gradient(loss, p, fmt, "none", g, x, y)


def test_underflow_on_the_way(isa_library):
    """Products that lose digits below binary64's range before a factor brings the rest back into it; a tie and a hair that underflows."""
    for x, g, n in ((0.0001733e-300, 2.0**606, 4), (-3 * 2.0**-1074, 1e300, 2), (5 * 2.0**-1074, 2.0**900, 8)):
        x, y, g = np.full(n, x), np.zeros(n), np.array([g])
        assert backward(isa_library, "huber", 1.0, "f64", "mean", g, x, y) == expected_gradient(
            "huber", 1.0, "f64", "mean", g, x, y
        )
    p = 2.0**-100  # p (x - p/2): x is long, and p y far below
    x, y = np.array([2.0 + 2.0**-52, 3 * 2.0**-51]), np.array([2.0**-1020, -(2.0**-1074)])
    assert forward(isa_library, "huber", p, "f64", "none", x, y) == expected("huber", p, "f64", "none", x, y)


def test_sums_at_boundaries(isa_library):
    """A tie, and a hair beside it that only the exact sum sees."""
    tiers = Reductions(isa_library)
    for fmt, p in (("f32", 24), ("f64", 53)):
        dtype = dtype_of(fmt)
        x = np.array([2.0 ** (p // 2), 1.0, 2.0**-70], dtype)
        y = np.zeros(3, dtype)
        x[0] = 2.0 ** ((p + 1) // 2)
        for hair in (0.0, 2.0**-70):
            x[2] = hair
            x[1] = 1.0 if p % 2 == 0 else 1.0
            tiers.stats()
            assert forward(isa_library, "mse", 0.0, fmt, "sum", x, y) == expected("mse", 0.0, fmt, "sum", x, y)
        assert forward(isa_library, "l1", 0.0, fmt, "sum", np.array([2.0**p, 1.0, 2.0**-70], dtype), y) == expected(
            "l1", 0.0, fmt, "sum", np.array([2.0**p, 1.0, 2.0**-70], dtype), y
        )
        assert tiers.stats()[2] == 1


@pytest.mark.parametrize("fmt", NAMES)
def test_special(isa_library, fmt):
    dtype, nan = dtype_of(fmt), CANONICAL_NAN[fmt]
    inf, one = int(bits(np.array(np.inf, dtype))), int(bits(np.array(1, dtype)))
    sign = 1 << (8 * dtype.itemsize - 1)
    x = np.array([np.inf, -np.inf, np.inf, np.nan, 1.0], dtype)
    y = np.array([1.0, 1.0, np.inf, 1.0, -np.inf], dtype)
    ones = np.ones(5, dtype)
    for loss, p in CASES:
        assert forward(isa_library, loss, p, fmt, "none", x, y) == [inf, inf, nan, nan, inf]
        assert forward(isa_library, loss, p, fmt, "sum", x, y) == [nan]
        assert forward(isa_library, loss, p, fmt, "mean", x[:2], y[:2]) == [inf]
        assert forward(isa_library, loss, p, fmt, "sum", x[:0], y[:0]) == [0]
        assert forward(isa_library, loss, p, fmt, "mean", x[:0], y[:0]) == [nan]
        got = backward(isa_library, loss, p, fmt, "none", ones, x, y)
        at = inf if loss == "mse" else int(bits(np.array(p, np.float64).astype(dtype))) if loss == "huber" else one
        assert got == [at, at | sign, nan, nan, at]
        g = np.array([np.inf, np.nan, 0.0, -np.inf, 0.0], dtype)
        a, b = np.array([2.0, 2.0, 2.0, 3.0, np.inf], dtype), np.array([1.0, 1.0, 1.0, 3.0, 1.0], dtype)
        got = backward(isa_library, loss, p, fmt, "none", g, a, b)
        assert got == [inf, nan, 0, nan, nan if loss == "mse" else 0]


def test_bad_arguments(isa_library):
    x, out = np.ones(3, "f4"), np.full(3, 7, "f4")
    f, four = isa_library.rm_regression_loss, STRIDE(4)
    a, o = pointer(x), pointer(out)
    one = REAL(1.0)
    assert f(9, one, 2, 0, I64(3), a, four, a, four, o, four) == status(ENUM, 1)
    assert f(3, REAL(0.0), 2, 0, I64(3), a, four, a, four, o, four) == status(RANGE, 2)
    assert f(2, REAL(-1.0), 2, 0, I64(3), a, four, a, four, o, four) == status(RANGE, 2)
    assert f(2, REAL(np.inf), 2, 0, I64(3), a, four, a, four, o, four) == status(RANGE, 2)
    assert f(0, one, 4, 0, I64(3), a, four, a, four, o, four) == status(ENUM, 3)
    assert f(0, one, 2, 3, I64(3), a, four, a, four, o, four) == status(ENUM, 4)
    assert f(0, one, 2, 0, I64(-1), a, four, a, four, o, four) == status(SIZE, 5)
    assert f(0, one, 2, 0, I64(3), None, four, a, four, o, four) == status(NULL, 6)
    assert f(0, one, 2, 0, I64(3), a, four, None, four, o, four) == status(NULL, 8)
    assert f(0, one, 2, 0, I64(3), a, four, a, four, None, four) == status(NULL, 10)
    assert f(0, one, 2, 0, I64(3), a, four, o, STRIDE(8), o, four) == status(OVERLAP, 10)
    assert f(0, one, 2, 0, I64(3), a, four, a, four, o, STRIDE(0)) == status(OVERLAP, 10)
    b = isa_library.rm_regression_loss_backward
    assert b(0, one, 2, 0, I64(3), None, four, a, four, a, four, o, four) == status(NULL, 6)
    assert b(0, one, 2, 0, I64(3), a, four, a, four, a, four, None, four) == status(NULL, 12)
    assert (out == 7).all()

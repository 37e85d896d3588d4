"""Regression losses of contiguous arrays below binary64, which take one pass: ties and values beside them against rationals, and what is not
finite against the same numbers in strided arrays, which take blocks."""

import ctypes

import numpy as np
import pytest
from exact_oracle import FORMATS, bits
from losses_library import CASES, backward, expected, expected_gradient, forward
from statistics_library import dtype_of

BELOW = [f for f in FORMATS if f != "f64"]


def beside_ties(rng, n):
    """Pairs whose difference has 25 bits, a last one that is 1, and something far below, or nothing."""
    x = np.ldexp((2 * rng.integers(2**22, 2**23, n) + 1).astype(float), -23)
    y = np.ldexp(-1.0 + 0 * x, -24)
    y += rng.choice([0.0, 2.0**-40, -(2.0**-40)], n)
    x[::3], y[::3] = 1 + 2.0**-23 * rng.integers(0, 9, len(x[::3])), -(2.0**-24)
    x[1::3], y[1::3] = rng.choice([2.0**60, 2.0**36], len(x[1::3])), rng.choice([1.0, -1.0], len(x[1::3]))
    sign = rng.choice([-1.0, 1.0], n)
    return (sign * x).astype(np.float32), (sign * y).astype(np.float32)


@pytest.mark.parametrize("loss, p", [case for case in CASES if case[0] != "l1"])
def test_gradients_beside_ties(isa_library, loss, p):
    rng = np.random.default_rng(70)
    for n, reduction in ((16, "mean"), (37, "sum"), (24, "mean"), (64, "mean")):
        x, y = beside_ties(rng, n)
        for number in (1.0, -0.5, 0.7, 0.0):
            g = np.array([number], np.float32)
            got = backward(isa_library, loss, p, "f32", reduction, g, x, y)
            assert got == expected_gradient(loss, p, "f32", reduction, g, x, y), (n, number)


def beside_subnormal_ties():
    """Gradients of a mean of 16 that are 1 1/2 of the least number, 2 1/2, ..., or beside that by less than the last place of binary64."""
    x = 4.0 * np.arange(1, 17).astype(np.float32) * np.float32(-1) ** np.arange(16).astype(np.float32)
    y = np.ldexp(np.array([-1.0, 1.0, 1.0, -1.0, 0.0, 1.0, -1.0, 1.0] * 2), -60).astype(np.float32)
    return np.array([2.0**-149], np.float32), x, y


@pytest.mark.parametrize("loss, p", [("mse", 0.0), ("huber", 100.0), ("huber", 12.0), ("smooth_l1", 128.0)])
def test_subnormal_gradients_beside_ties(isa_library, loss, p):
    g, x, y = beside_subnormal_ties()
    for scale in (1, 2, 64):
        got = backward(isa_library, loss, p, "f32", "mean", g * np.float32(scale), x, y)
        assert got == expected_gradient(loss, p, "f32", "mean", g * np.float32(scale), x, y)


def test_control():
    """Rounded to binary64 first, some of these are wrong."""
    g, x, y = beside_subnormal_ties()
    twice = ((x.astype(float) - y.astype(float)) * (float(g[0]) / 8)).astype(np.float32)
    assert bits(twice).tolist() != expected_gradient("mse", 0.0, "f32", "mean", g, x, y)


@pytest.mark.parametrize("fmt", BELOW)
@pytest.mark.parametrize("loss, p", CASES)
def test_sums(isa_library, loss, p, fmt):
    rng = np.random.default_rng(71)
    for n in (1030, 64):
        x, y = (rng.standard_normal(n).astype(dtype_of(fmt)) for _ in range(2))
        for reduction in ("sum", "mean"):
            assert forward(isa_library, loss, p, fmt, reduction, x, y) == expected(loss, p, fmt, reduction, x, y)


@pytest.mark.parametrize("fmt", BELOW)
def test_special_numbers(isa_library, fmt):
    """A few numbers that are not finite, of both operands at times: the bits and the exceptions of strided arrays."""
    libm = ctypes.CDLL(None)
    rng = np.random.default_rng(72)
    dtype = dtype_of(fmt)
    quiet = np.array([np.inf, -np.inf, np.nan, 3e38 if fmt != "f16" else 6e4], dtype)
    signalling = np.array([np.inf], dtype)
    signalling.view(bits(signalling).dtype)[:] += 1
    n = 70

    def both(call, x, y):
        found = []
        for a, b in ((x, y), (np.repeat(x, 2)[::2], np.repeat(y, 2)[::2])):
            libm.feclearexcept(29)
            result = call(a, b)
            found.append((result, libm.fetestexcept(29)))
        assert found[0] == found[1], (
            call,
            [(float(u), float(v)) for u, v in zip(x, y, strict=True) if not np.isfinite(float(u - v))],
        )

    for trial in range(60):
        x, y = (rng.standard_normal(n).astype(dtype) for _ in range(2))
        for at in rng.integers(0, n, rng.integers(1, 4)):
            x[at] = rng.choice(quiet)
            if trial % 3 == 0:
                y[at] = x[at] if rng.random() < 0.5 else rng.choice(quiet)
        if trial % 5 == 0:
            (x if trial % 2 else y)[rng.integers(n)] = signalling[0]
        g = np.array([rng.choice([1.0, -0.7, 0.0, np.inf])], dtype)
        for loss, p in CASES:
            both(lambda a, b, loss=loss, p=p: forward(isa_library, loss, p, fmt, "sum", a, b), x, y)
            both(lambda a, b, loss=loss, p=p, g=g: backward(isa_library, loss, p, fmt, "mean", g, a, b), x, y)

"""repmath.rounding: MPFR's results in each rounding mode, NumPy's conventions, clear errors."""

import numpy as np
import oracle
import pytest

import repmath
from repmath import rounding


@pytest.mark.parametrize("mode", oracle.RULES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(mode, dtype):
    x = np.random.default_rng(1).uniform(-5, 5, 500).astype(dtype)
    fmt = {np.float32: "f32", np.float64: "f64"}[dtype]
    y = rounding.tanh(x, mode)
    assert y.dtype == dtype
    assert np.array_equal(y.view(oracle.FORMATS[fmt][2]), oracle.values("tanh", x.astype(np.float64), fmt, mode))
    assert np.array_equal(rounding.tanh(x, mode=mode, out=np.empty_like(x)), y)


def test_down_and_up_enclose_the_value():
    x = np.linspace(0.1, 9.9, 1000)
    down, nearest, up = (rounding.log(x, mode) for mode in ("down", "nearest", "up"))
    assert np.array_equal(nearest, repmath.log(x))
    assert np.array_equal(np.nextafter(down, np.inf), up)
    assert ((down == nearest) | (up == nearest)).all()


def test_every_function_is_there():
    assert set(repmath._core.ufuncs) <= set(rounding.__all__)
    for name in repmath._core.ufuncs:
        assert getattr(rounding, name).__doc__.startswith(f"{name}(")


def test_other_types():
    assert rounding.exp([1, 2], "up").dtype == np.float64
    assert rounding.exp(np.float16(1), "up").dtype == np.float32
    with pytest.raises(TypeError):
        rounding.exp(1j, "up")


def test_errors():
    with pytest.raises(
        ValueError, match="mode must be one of nearest, toward_zero, down, up, stochastic, random, up_down, not 'sideways'"
    ):
        rounding.exp(1.0, "sideways")
    with pytest.raises(TypeError, match="exp takes x and mode: 2 arguments, 1 were given"):
        rounding.exp(1.0)
    with pytest.raises(AttributeError, match="no attribute 'sine'"):
        rounding.sine  # noqa: B018

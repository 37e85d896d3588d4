"""pown, rootn and compound as ufuncs: types, broadcasting, bfloat16, rounding modes, errors. Their bits are compared in tests/elementwise/test_powers.py."""

import ml_dtypes
import numpy as np
import oracle
import powers
import pytest

import repmath
from repmath import rounding

BF16 = ml_dtypes.bfloat16
DTYPES = {"f16": np.float16, "bf16": BF16, "f32": np.float32, "f64": np.float64}


def made(kind, fmt, x, n):
    with np.errstate(all="ignore"):
        return getattr(repmath, kind)(x.astype(DTYPES[fmt]), n)


@pytest.mark.parametrize("kind", powers.KINDS)
def test_bits(kind):
    for fmt, dtype in DTYPES.items():
        x, n = powers.samples(kind, fmt, 300, 9)
        got = made(kind, fmt, x, n)
        assert got.dtype == dtype and (got.view(oracle.FORMATS[fmt][2]) == powers.values(kind, x, n, fmt)[0]).all()


def test_types_and_broadcasting():
    x = np.linspace(0.5, 2, 12).reshape(3, 4)
    for fmt, dtype in DTYPES.items():
        values = x.astype(dtype)
        for n in (
            3,
            True,
            np.int8(3),
            np.arange(4),
            np.arange(4, dtype=np.int32),
            np.arange(3, dtype=np.uint8)[:, None],
            [[1], [2], [3]],
        ):
            for kind in powers.KINDS:
                if kind == "rootn":
                    n = np.asarray(n) + 1
                got = getattr(repmath, kind)(values, n)
                wide = np.broadcast_to(np.asarray(n, np.int64), (3, 4))
                assert got.dtype == dtype and got.shape == (3, 4)
                want = powers.values(kind, values.astype(np.float64).ravel(), wide.ravel(), fmt)[0]
                assert (got.view(oracle.FORMATS[fmt][2]).ravel() == want).all()
    assert isinstance(repmath.pown(2.5, 3), np.float64) and repmath.pown(2.5, 3) == 15.625
    assert repmath.pown(np.arange(4), 2).dtype == np.float64 and repmath.rootn(8, 3) == 2.0
    assert isinstance(repmath.pown(np.float32(3), 2), np.float32)
    out = np.empty(4, np.float32)
    assert repmath.pown(np.ones(4, np.float32), 2, out=out) is out
    assert repmath.pown(np.ones(4)[::2], np.arange(4)[::-2]).tolist() == [1.0, 1.0]


def test_errors():
    x = np.ones(3)
    for n in (2.0, np.ones(3), np.ones(3, np.uint64), "a", None):
        with pytest.raises(TypeError):
            repmath.pown(x, n)
    for wrong in (np.ones(3, np.longdouble), np.ones(3, complex)):
        with pytest.raises(TypeError):
            repmath.rootn(wrong, 2)
    with pytest.raises(OverflowError):
        repmath.pown(x, 1 << 70)
    with pytest.raises(ValueError):
        repmath.pown(np.ones(3), np.ones(2, int))
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError, match="invalid"):
            repmath.rootn(x, 0)
        with pytest.raises(FloatingPointError, match="divide"):
            repmath.pown(0.0, -1)
        with pytest.raises(FloatingPointError, match="overflow"):
            repmath.compound(1e300, 2)
        assert repmath.pown(np.nan, 0) == 1


@pytest.mark.parametrize("kind", powers.KINDS)
def test_rounding_modes(kind):
    for fmt in ("f32", "f64"):
        x, n = powers.samples(kind, fmt, 100, 4)
        values = x.astype(DTYPES[fmt])
        with np.errstate(all="ignore"):
            for rule in oracle.RULES:
                got = getattr(rounding, kind)(values, n, rule)
                assert (got.view(oracle.FORMATS[fmt][2]) == powers.values(kind, x, n, fmt, rule)[0]).all()
    with pytest.raises(ValueError, match="mode"):
        getattr(rounding, kind)(values, n, "sideways")


@pytest.mark.parametrize("kind", powers.KINDS)
def test_random_modes(kind):
    """Each is one of the neighbours, chosen by the element's word; the mean of stochastic ones is near the value. A scope has them too."""
    for fmt, dtype in DTYPES.items():
        x, n = np.full(2000, 1.2109375).astype(dtype), 5
        wide = x.astype(np.float64)
        numbers = np.full(x.size, n)
        low, high = (
            oracle.to_double(powers.values(kind, wide[:1], numbers[:1], fmt, rule)[0], fmt)[0] for rule in ("down", "up")
        )
        f = getattr(rounding, kind)
        got = f(x, n, "stochastic", seed=3).astype(np.float64)
        assert set(got.tolist()) == {low, high}
        assert (got == f(x, n, "stochastic", seed=3).astype(np.float64)).all()
        assert set(f(x, numbers, "random", seed=1).astype(np.float64).tolist()) == {low, high}
        with rounding.scope("stochastic", seed=3):
            assert getattr(repmath, kind)(x, n).dtype == dtype
        with np.errstate(all="ignore"):
            exact = float(getattr(repmath, kind)(np.float64(1.2109375), n))
        if fmt != "f64":
            share = (exact - low) / (high - low)
            assert abs((got == high).mean() - share) < 0.06

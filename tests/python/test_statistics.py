"""repmath.mean, norm, var and std: NumPy's axes and keywords; values are those of the C functions (test_statistics.py)."""

from fractions import Fraction

import numpy as np
import pytest
from exact_oracle import bits, exact, exact_variance, rounded, rounded_root
from numpy_dtypes import DTYPES

import repmath

RNG = np.random.default_rng(40)


@pytest.fixture(params=DTYPES, ids=lambda d: d.name)
def dtype(request):
    return request.param


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (2, 1), (0, 1, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes(dtype, axis, keepdims):
    x = RNG.standard_normal((3, 4, 5)).astype(dtype)
    reduced = tuple(range(3)) if axis is None else np.atleast_1d(np.array(axis, int)) % 3
    kept = [i for i in range(3) if i not in reduced]
    rows = np.moveaxis(x, kept, range(len(kept))).reshape(*(x.shape[i] for i in kept), -1)
    shape = tuple(1 if i in reduced else n for i, n in enumerate(x.shape)) if keepdims else rows.shape[:-1]
    rows = rows.reshape(-1, rows.shape[-1])
    for function, want in (
        (repmath.mean, [rounded(exact(row) / len(row), dtype) for row in rows]),
        (repmath.norm, [rounded_root(exact(row, row), dtype) for row in rows]),
        (repmath.var, [rounded(exact_variance(row), dtype) for row in rows]),
        (repmath.std, [rounded_root(exact_variance(row), dtype) for row in rows]),
    ):
        got = function(x, axis=axis, keepdims=keepdims)
        assert np.shape(got) == shape and got.dtype == dtype
        assert np.ravel(bits(got)).tolist() == want


def test_result_dtypes(dtype):
    x = RNG.standard_normal(50).astype(dtype)
    for result in DTYPES:
        assert int(bits(repmath.mean(x, dtype=result))) == rounded(exact(x) / 50, result)
        assert repmath.norm(x, dtype=result).dtype == result
        assert int(bits(repmath.var(x, dtype=result, ddof=1))) == rounded(exact_variance(x, 1), result)
        assert int(bits(repmath.std(x, dtype=result, correction=1))) == rounded_root(exact_variance(x, 1), result)


def test_integers():
    assert repmath.mean([1, 2, 4]) == 7 / 3 and repmath.mean(np.array([True, False])) == 0.5
    assert repmath.norm(np.arange(5, dtype="i1")) == np.sqrt(30.0)
    big = np.array([[2**63 - 1, 2**62 + 1, -(2**63)], [2**53 + 1, 2**53 + 3, 2**53 + 5]])
    for result in DTYPES:
        with np.errstate(over="ignore"):
            got = repmath.mean(big, axis=1, dtype=result)
        want = [rounded(Fraction(sum(map(int, row)), 3), result) for row in big]
        assert bits(got).tolist() == want
    assert repmath.var(np.arange(5)) == 2 and repmath.std([True, False]) == 0.5
    with pytest.raises(ValueError, match="x has integers beyond"):
        repmath.norm(big)
    for function in (repmath.var, repmath.std):
        with pytest.raises(ValueError, match="a has integers beyond"):
            function(big)
    mask = np.array([[True, True, False], [False, False, True]])
    assert repmath.mean(big, axis=1, where=mask).tolist() == [(2**63 - 1 + 2**62 + 1) / 2, float(2**53 + 5)]


def test_where():
    x = RNG.standard_normal((6, 7))
    mask = RNG.random((6, 7)) < 0.5
    mask[2] = False
    got = repmath.mean(x, axis=1, where=mask)
    for i in range(6):
        n = int(mask[i].sum())
        assert (np.isnan(got[i]) and n == 0) or int(bits(got[i])) == rounded(exact(x[i][mask[i]]) / n, x.dtype)
    assert repmath.mean(x, where=False).shape == () and np.isnan(repmath.mean(x, where=False))


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), -1])
def test_where_of_every_statistic(dtype, axis):
    """A mask that differs from row to row, and one that is broadcast, beside the elements themselves."""
    x = RNG.standard_normal((4, 5, 6)).astype(dtype)
    for mask in (RNG.random(x.shape) < 0.6, RNG.random((5, 1)) < 0.6):
        full = np.broadcast_to(mask, x.shape)
        reduced = tuple(range(3)) if axis is None else np.atleast_1d(np.array(axis, int)) % 3
        kept = [i for i in range(3) if i not in reduced]
        cells = lambda v: np.moveaxis(v, kept, range(len(kept))).reshape(int(np.prod([v.shape[i] for i in kept])), -1)  # noqa: B023, E731
        chosen = [row[m] for row, m in zip(cells(x), cells(full), strict=True)]
        nan = int(bits(np.array(np.nan, dtype)))
        for function, value in (
            (repmath.mean, lambda row: rounded(exact(row) / len(row), row.dtype)),
            (repmath.var, lambda row: rounded(exact_variance(row), row.dtype)),
            (repmath.std, lambda row: rounded_root(exact_variance(row), row.dtype)),
        ):
            got = function(x, axis=axis, where=mask)
            assert np.ravel(bits(got)).tolist() == [value(row) if row.size else nan for row in chosen]


def test_degrees_of_freedom():
    x = np.array([[1.0, 2.0, 4.0], [3.0, 3.0, 3.0]])
    with np.errstate(all="ignore"):
        for ddof in (0, 1, 2, 2.5, 3, 4, -1):
            for function in ("var", "std"):
                got = getattr(repmath, function)(x, axis=1, ddof=ddof)
                value = [exact_variance(row, Fraction(ddof)) if ddof < 3 else None for row in x]
                want = [(rounded if function == "var" else rounded_root)(v, x.dtype) for v in value if v is not None]
                assert bits(got).tolist() == want or (ddof >= 3 and got[0] == np.inf and np.isnan(got[1]))
    for bad in (np.nan, np.inf, 2.0**-70):
        with pytest.raises(ValueError, match="ddof must be"):
            repmath.var(x, ddof=bad)
    with pytest.raises(ValueError, match="ddof and correction"):
        repmath.std(x, ddof=1, correction=1)
    with pytest.raises(TypeError):
        repmath.std(x, ddof="1.5x")


def test_counts_of_how_results_were_decided():
    repmath.reset_stats()
    assert repmath.stats() == {"fast": 0, "double_double": 0, "accumulator": 0}
    repmath.mean(RNG.standard_normal((40, 100)), axis=1)
    repmath.sum(np.array([1e308, 1e308, -1e308]))
    counts = repmath.stats()
    assert sum(counts.values()) == 41 and counts["fast"] >= 30 and counts["accumulator"] >= 1
    repmath.reset_stats()
    assert set(repmath.stats().values()) == {0}


def test_out():
    x = RNG.standard_normal((4, 5)).astype("f4")
    for function in (repmath.mean, repmath.norm, repmath.var, repmath.std):
        out = np.zeros(4)
        assert function(x, axis=1, out=out) is out and np.array_equal(out, function(x, axis=1))
        kept = np.full(5, 7.0, "f4")
        with pytest.raises(ValueError, match="out has shape"):
            function(x, axis=1, out=kept)
        with pytest.raises(TypeError, match="out has dtype"):
            function(x, axis=0, out=np.zeros(5, "f2"))
        kept.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            function(x, axis=0, out=kept)
        assert (kept == 7).all()


def test_empty_arrays_and_bad_arguments():
    assert np.isnan(repmath.mean([])) and repmath.norm([]) == 0
    assert np.isnan(repmath.mean(np.zeros((2, 0)), axis=1)).tolist() == [True, True]
    assert repmath.mean(np.zeros((0, 3)), axis=1).shape == (0,)
    assert np.isnan(repmath.var([])) and repmath.std(5.0) == 0 and repmath.var(np.zeros((0, 3)), axis=1).shape == (0,)
    assert repmath.norm(5.0) == 5 and repmath.mean(np.float32(5)) == 5
    for function in (repmath.mean, repmath.norm, repmath.var, repmath.std):
        with pytest.raises(TypeError, match="has dtype complex128"):
            function([1j])
        with pytest.raises(TypeError, match="dtype must be one of"):
            function([1.0], dtype=int)
        with pytest.raises(np.exceptions.AxisError):
            function(np.ones((2, 2)), axis=2)
        with pytest.raises(ValueError, match="repeated axis"):
            function(np.ones((2, 2)), axis=(0, 0))


def test_byte_order_and_layout():
    x = RNG.standard_normal((8, 9)).astype(">f4")
    native = x.astype("f4")
    for function in (repmath.mean, repmath.norm, repmath.var, repmath.std):
        want = function(native, axis=0)
        for view in (x, np.asfortranarray(native), np.pad(native, 1)[1:-1, 1:-1], native[:, ::-1][:, ::-1]):
            assert np.array_equal(function(view, axis=0), want)

"""repmath.array_api: the names of the standard, its rules of types, and repmath's bits. NumPy's functions are the oracle of what rounds nothing."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import repmath
from repmath import array_api as xp

# The functions of version 2024.12.
STANDARD = """
    abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor ceil
    clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal
    log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive
    pow real reciprocal remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc arange asarray empty empty_like eye from_dlpack
    full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like astype can_cast finfo iinfo isdtype result_type matmul
    matrix_transpose tensordot vecdot broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze
    stack tile unstack argmax argmin count_nonzero nonzero searchsorted where take take_along_axis unique_all unique_counts unique_inverse
    unique_values argsort sort cumulative_prod cumulative_sum max mean min prod std sum var all any diff __array_namespace_info__
""".split()
LINALG = """
    cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer pinv qr slogdet solve svd
    svdvals tensordot trace vecdot vector_norm
""".split()
FFT = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift".split()


@pytest.mark.parametrize("names, space, missing", [(STANDARD, xp, ""), (LINALG, xp.linalg, "linalg"), (FFT, xp.fft, "fft")])
def test_names(names, space, missing):
    assert [name for name in names if not hasattr(space, name)] == sorted(xp.NOT_COVERED.get(missing, []), key=names.index)


def test_what_is_missing_says_why():
    with pytest.raises(AttributeError, match="prod: it rounds"):
        xp.prod  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'zeta'"):
        xp.zeta  # noqa: B018


def test_info():
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] and info.default_device() == "cpu" and list(info.devices()) == ["cpu"]
    assert info.default_dtypes()["real floating"] == np.float64
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert all(getattr(xp, name) == dtype for name, dtype in info.dtypes().items())


FLOATS = st.floats(width=32, allow_nan=False)


@settings(max_examples=60, deadline=None)
@given(st.lists(FLOATS.filter(lambda x: abs(x) < 2**60), min_size=1, max_size=40), st.sampled_from([np.float32, np.float64]))
def test_reductions_are_the_rounded_rationals(numbers, dtype):
    x = np.array(numbers, dtype)
    exact = [Fraction(float(v)) for v in x]
    total, n = total_of(exact), len(exact)

    def rounded(value):  # Fraction to float rounds once; a float32 comes from comparing its neighbours
        near = dtype(float(value))
        around = [near, np.nextafter(near, dtype(np.inf)), np.nextafter(near, dtype(-np.inf))]
        return (
            min(around, key=lambda v: (abs(Fraction(float(v)) - value), int(v.view(f"u{v.itemsize}")) & 1))
            if value
            else dtype(0)
        )

    assert xp.sum(x) == rounded(total) and xp.sum(x).dtype == dtype
    assert xp.mean(x) == rounded(total / n)
    assert xp.var(x) == rounded(total_of((v - total / n) ** 2 for v in exact) / n)
    running = [total_of(exact[: i + 1]) for i in range(n)]
    assert xp.cumulative_sum(x).tolist() == [float(rounded(v)) for v in running]
    assert xp.cumulative_sum(x, include_initial=True).tolist() == [0.0] + [float(rounded(v)) for v in running]
    assert xp.vecdot(x, x) == rounded(total_of(v * v for v in exact)) == xp.matmul(x, x) == xp.tensordot(x, x, axes=1)


def total_of(values):
    return sum(values, Fraction(0))


def test_control_numpy_rounds_more_than_once():
    x = np.array([1.0, 1e100, 1.0, -1e100])
    assert xp.sum(x) == 2 and np.sum(x) != 2
    assert xp.cumulative_sum(x)[-1] == 2 and np.cumulative_sum(x)[-1] != 2


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint32, np.bool_])
def test_integers_stay_integers(dtype):
    x = np.array([[1, 0, 1], [1, 1, 0]]).astype(dtype)
    for ours, theirs in [
        (xp.sum(x, axis=1), np.sum(x, axis=1)),
        (xp.cumulative_sum(x, axis=0, include_initial=True), np.cumulative_sum(x, axis=0, include_initial=True)),
        (xp.matmul(x, x.T), np.matmul(x, x.T)),
        (xp.tensordot(x, x.T, axes=1), np.tensordot(x, x.T, axes=1)),
        (xp.vecdot(x, x), np.vecdot(x, x)),
        (xp.add(x, x), np.add(x, x)),
        (xp.multiply(x, x), np.multiply(x, x)),
        (xp.linalg.outer(x[0], x[1]), np.linalg.outer(x[0], x[1])),
        (xp.linalg.trace(x), np.linalg.trace(x)),
        (xp.square(x), np.square(x)),
    ]:
        assert ours.dtype == theirs.dtype and (ours == theirs).all()
    if dtype != np.bool_:
        assert xp.pow(x, x).dtype == dtype and xp.subtract(x, x).dtype == dtype


def test_initial_zero_on_an_inner_axis():
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    for axis in (0, 1, 2, -1):
        ours, theirs = (space.cumulative_sum(x, axis=axis, include_initial=True) for space in (xp, np))
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape and (ours == theirs).all()
    with pytest.raises(ValueError, match="axis"):
        xp.cumulative_sum(x)


def test_elementwise_are_the_ufuncs():
    x = np.array([0.25, 0.5, 0.75])
    for name in "acos asin atan cos exp expm1 log log1p log2 log10 sin sinh sqrt tan tanh".split():
        assert getattr(xp, name) is getattr(repmath, name)
    assert (xp.pow(x, 2.0) == repmath.pow(x, 2.0)).all() and xp.pow(x, 2.0).dtype == np.float64
    assert (xp.reciprocal(x.astype(np.float32)) == (1 / x).astype(np.float32)).all()
    assert xp.reciprocal(x.astype(np.float32)).dtype == np.float32
    assert (xp.square(x) == x * x).all()


def test_diff_and_arange():
    x = np.array([[1.5, 2.0, 4.0], [0.1, 0.3, 0.2]])
    for keywords in ({}, {"axis": 0}, {"n": 2}, {"prepend": np.zeros((2, 1)), "append": np.ones((2, 2))}, {"n": 0}):
        assert (xp.diff(x, **keywords) == np.diff(x, **keywords)).all()
    assert xp.arange(3).tolist() == [0, 1, 2] and xp.arange(1, 7, 2, dtype=xp.float32).tolist() == [1, 3, 5]
    with pytest.raises(TypeError, match="step"):
        xp.arange(0, 1, 0.1)


def test_unique_values_are_in_order():
    x = np.array([3, 1, 2, 0, 1, 2])
    assert xp.unique_values(x).tolist() == [0, 1, 2, 3] and np.isnan(xp.unique_values([np.nan, 1.0, np.nan])).tolist() == [
        0,
        1,
        1,
    ]


def test_norms():
    x = np.array([[3.0, -4.0], [0.0, 12.0]])
    for order in (2, 1, 0, np.inf, -np.inf):
        for axis in (None, 0, 1):
            assert (xp.linalg.vector_norm(x, ord=order, axis=axis) == np.linalg.vector_norm(x, ord=order, axis=axis)).all()
    for order in ("fro", 1, -1, np.inf, -np.inf):
        assert xp.linalg.matrix_norm(x, ord=order) == np.linalg.matrix_norm(x, ord=order)
        assert xp.linalg.matrix_norm(x, ord=order, keepdims=True).shape == (1, 1)
    for function, order in ((xp.linalg.vector_norm, 3), (xp.linalg.matrix_norm, "nuc")):
        with pytest.raises(ValueError, match="ord"):
            function(x, ord=order)


def test_linalg_and_fft():
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    assert (xp.linalg.cholesky(a, upper=True) == repmath.linalg.cholesky(a).T).all()
    assert xp.linalg.det(a) == 11 and xp.linalg.slogdet(a).sign == 1
    assert (xp.linalg.solve(a, a @ np.array([1.0, 2.0])) == [1, 2]).all()
    assert (xp.fft.fft(a) == repmath.fft.fft(a)).all()

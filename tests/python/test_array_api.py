"""repmath.array_api: the names of the standard, its rules of types, and repmath's bits. NumPy's functions are the oracle of what rounds nothing."""

import inspect
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


@pytest.mark.parametrize("names, space", [(STANDARD, xp), (LINALG, xp.linalg), (FFT, xp.fft)])
def test_names(names, space):
    assert [name for name in names if not hasattr(space, name)] == []


def test_info():
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] and info.default_device() == "cpu" and list(info.devices()) == ["cpu"]
    assert info.default_dtypes()["real floating"] == np.float64
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert all(getattr(xp, name) == dtype for name, dtype in info.dtypes().items())


FLOATS = st.floats(width=32, allow_nan=False)


def nearest(value, dtype):
    """A rational rounded once: Python rounds it to binary64, and that decides between neighbours in a narrower format."""
    if not value:
        return dtype(0)
    with np.errstate(over="ignore"):
        try:
            near = dtype(float(value))
        except OverflowError:
            return dtype(np.inf if value > 0 else -np.inf)
        around = [v for v in (near, np.nextafter(near, dtype(np.inf)), np.nextafter(near, dtype(-np.inf))) if np.isfinite(v)]
    return (
        min(around, key=lambda v: (abs(Fraction(float(v)) - value), int(v.view(f"u{v.itemsize}")) & 1))
        if np.isfinite(near)
        else near
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(FLOATS.filter(lambda x: abs(x) < 2**60), min_size=1, max_size=40), st.sampled_from([np.float32, np.float64]))
def test_reductions_are_the_rounded_rationals(numbers, dtype):
    x = np.array(numbers, dtype)
    exact = [Fraction(float(v)) for v in x]
    total, n = total_of(exact), len(exact)

    def rounded(value):
        return nearest(value, dtype)

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
    for function, order in ((xp.linalg.vector_norm, 3), (xp.linalg.matrix_norm, "one")):
        with pytest.raises(ValueError, match="ord"):
            function(x, ord=order)


def test_linalg_and_fft():
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    assert (xp.linalg.cholesky(a, upper=True) == repmath.linalg.cholesky(a).T).all()
    assert xp.linalg.det(a) == 11 and xp.linalg.slogdet(a).sign == 1
    assert (xp.linalg.solve(a, a @ np.array([1.0, 2.0])) == [1, 2]).all()
    assert (xp.fft.fft(a) == repmath.fft.fft(a)).all()


DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def rational_product(numbers):
    made = Fraction(1)
    for v in numbers:
        made *= Fraction(float(v))
    return made


@DTYPES
def test_products_are_rational(dtype):
    """Factors far apart in magnitude, and few bits of each, so that many products lie on boundaries of rounding."""
    rng = np.random.default_rng(5)
    reach = 60 if dtype == np.float32 else 400
    x = (rng.integers(1, 64, (200, 6)) * 2.0 ** rng.integers(-reach, reach, (200, 6)) * rng.choice([-1, 1], (200, 6))).astype(
        dtype
    )
    x[:100] *= (1 + rng.random((100, 6))).astype(dtype)
    x[:, 5] = (2.0 ** -np.log2(np.abs(x[:, :5]).astype(float)).sum(axis=1).clip(-100, 100)).astype(dtype)
    every, running = xp.prod(x, axis=1), xp.cumulative_prod(x, axis=1)
    assert every.dtype == running.dtype == dtype
    for row, total, partial in zip(x, every, running):
        assert total == nearest(rational_product(row), dtype)
        assert partial.tolist() == [float(nearest(rational_product(row[: i + 1]), dtype)) for i in range(6)]
    with np.errstate(all="ignore"):
        assert not (np.prod(x, axis=1) == every).all()  # the control: NumPy rounds each step


def test_shapes_of_products():
    x = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)
    for axis in (None, 0, 1, -1, (0, 2), (1, 0), ()):
        for keepdims in (False, True):
            ours, theirs = (space.prod(x, axis=axis, keepdims=keepdims) for space in (xp, np))
            assert ours.shape == theirs.shape and ours.dtype == np.float32 and np.allclose(ours, theirs)
    for axis in (0, 1, -1):
        for initial in (False, True):
            ours, theirs = (space.cumulative_prod(x, axis=axis, include_initial=initial) for space in (xp, np))
            assert ours.shape == theirs.shape and ours.dtype == np.float32 and np.allclose(ours, theirs)
    assert xp.prod(x[:0], axis=0).tolist() == np.ones((3, 4)).tolist() and xp.prod(np.float32(3)) == 3
    assert (
        xp.prod(x, dtype=xp.float64) == float(rational_product(x.reshape(-1)))
        and xp.prod(x, dtype=xp.float64).dtype == np.float64
    )
    assert xp.prod(np.int8([100, 100])) == 10000 and xp.prod(np.int8([100, 100])).dtype == np.int64
    assert xp.prod(np.array([3, 5]), dtype=xp.float32).dtype == np.float32 and xp.cumulative_prod(
        np.array([2, 3])
    ).tolist() == [2, 6]
    assert xp.prod(np.array([1.5, 2.0], ">f4")) == 3
    with pytest.raises(TypeError, match="complex"):
        xp.prod(np.array([1j]))
    with pytest.raises(ValueError, match="axis"):
        xp.cumulative_prod(x)


@DTYPES
def test_quotients_and_remainders_are_rational(dtype):
    rng = np.random.default_rng(6)
    reach = 40 if dtype == np.float32 else 80
    y = (rng.standard_normal(3000) * 2.0 ** rng.integers(-reach, reach, 3000)).astype(dtype)
    x = (y * rng.integers(-(2**20), 2**20, 3000)).astype(dtype)  # beside multiples, and some of them
    x[::3] = (rng.standard_normal(1000) * 2.0 ** rng.integers(-reach, reach, 1000)).astype(dtype)
    x[1::7] = y[1::7] * dtype(2.0**12)
    quotients, rests = xp.floor_divide(x, y), xp.remainder(x, y)
    assert quotients.dtype == rests.dtype == dtype
    for a, b, q, r in zip(x, y, quotients, rests):
        whole = Fraction(float(a)) // Fraction(float(b))
        assert q == nearest(Fraction(whole), dtype)
        assert r == nearest(Fraction(float(a)) - whole * Fraction(float(b)), dtype)
    assert not (np.floor_divide(x, y) == quotients).all() or not (np.remainder(x, y) == rests).all() or dtype == np.float32


def test_special_quotients_and_remainders():
    """The standard's special cases: zeros have signs, infinities and 0 as divisors."""
    inf, nan = np.inf, np.nan
    cases = [  # x1, x2: floor_divide, remainder
        (0.0, 2.0, 0.0, 0.0),
        (-0.0, 2.0, -0.0, 0.0),
        (0.0, -2.0, -0.0, -0.0),
        (-0.0, -2.0, 0.0, -0.0),
        (4.0, 2.0, 2.0, 0.0),
        (4.0, -2.0, -2.0, -0.0),
        (-4.0, 2.0, -2.0, 0.0),
        (5.0, inf, 0.0, 5.0),
        (5.0, -inf, -1.0, -inf),
        (-5.0, inf, -1.0, inf),
        (-5.0, -inf, 0.0, -5.0),
        (3.0, 0.0, inf, nan),
        (-3.0, 0.0, -inf, nan),
        (3.0, -0.0, -inf, nan),
        (0.0, 0.0, nan, nan),
        (inf, inf, nan, nan),
        (inf, 2.0, nan, nan),
        (nan, 1.0, nan, nan),
        (1.0, nan, nan, nan),
    ]
    for dtype in (np.float32, np.float64):
        for x, y, *expected in cases:
            found = [f(dtype(x), dtype(y)) for f in (xp.floor_divide, xp.remainder)]
            assert [v.dtype for v in found] == [dtype] * 2
            for v, e in zip(found, expected):
                assert (np.isnan(v) and np.isnan(e)) or (v == e and np.signbit(v) == np.signbit(e)), (x, y, found)
    a = np.array([7, -7])
    assert (
        xp.floor_divide(a, 2).tolist() == [3, -4]
        and xp.remainder(a, 2).tolist() == [1, 1]
        and xp.remainder(a, 2).dtype == a.dtype
    )
    assert xp.remainder(np.float32([0.3]), 0.1).dtype == np.float32
    assert xp.floor_divide(np.ones((2, 1), np.float32), np.ones(3)).dtype == np.float64
    with pytest.raises(TypeError, match="complex"):
        xp.remainder(np.array([1j]), 1.0)


@DTYPES
def test_spaced_numbers_are_rational(dtype):
    rng = np.random.default_rng(7)
    for k in range(60):
        start, stop = (float(v) for v in rng.standard_normal(2) * 2.0 ** rng.integers(-30, 30, 2))
        num, end = int(rng.integers(0, 40)), bool(k % 2)
        found = xp.linspace(start, stop, num, dtype=dtype, endpoint=end)
        n = max(num - 1 if end else num, 1)
        expected = [nearest(Fraction(start) + i * (Fraction(stop) - Fraction(start)) / n, dtype) for i in range(num)]
        assert found.dtype == dtype and found.tolist() == [float(v) for v in expected]
    assert xp.linspace(0, 1, 5).dtype == np.float64 and xp.linspace(2, 2, 1).tolist() == [2.0]
    for wrong, error in (
        (lambda: xp.linspace(0, 1j, 3), TypeError),
        (lambda: xp.linspace(0, 1, 3, dtype=xp.int32), TypeError),
        (lambda: xp.linspace(0, np.inf, 3), ValueError),
        (lambda: xp.linspace(0, 1, -1), ValueError),
    ):
        with pytest.raises(error):
            wrong()


def test_norms_by_singular_values():
    a = np.array([[3.0, 0.0], [0.0, -4.0], [0.0, 0.0]])
    stack = np.stack((a, 2 * a)).astype(np.float32)
    for order, expected in (("nuc", 7), (2, 4), (-2, 3)):
        assert xp.linalg.matrix_norm(a, ord=order) == expected
        found = xp.linalg.matrix_norm(stack, ord=order, keepdims=True)
        assert found.tolist() == [[[expected]], [[2 * expected]]] and found.dtype == np.float32


def test_signatures_are_the_standards():
    """Each parameter that array_api_strict has, of the same kind and with the same default, and no other without a default."""
    strict = pytest.importorskip("array_api_strict")
    compared = 0
    for names, space, theirs in ((STANDARD, xp, strict), (LINALG, xp.linalg, strict.linalg), (FFT, xp.fft, strict.fft)):
        for name in names:
            function = getattr(space, name)
            if (
                name.startswith("__")
                or isinstance(function, np.ufunc)
                or getattr(function, "__module__", "").startswith("numpy")
            ):
                continue  # ufuncs have no signature of their own; NumPy's functions are compared by its developers
            ours, standard = (inspect.signature(f).parameters for f in (function, getattr(theirs, name)))
            by_position = [p.name for p in standard.values() if p.kind is p.POSITIONAL_ONLY]
            assert len([p for p in ours.values() if p.kind is not p.KEYWORD_ONLY]) >= len(by_position), name
            for p in standard.values():
                if p.kind is not p.POSITIONAL_ONLY and p.name not in ("copy", "norm"):  # of transforms, None is "backward"
                    assert p.name in ours, (name, p.name)
                    if p.name != "dtype" or ours[p.name].default is not None:
                        assert ours[p.name].default == p.default, (name, p.name)
            compared += 1
    assert compared > 35


def test_results_of_decompositions_are_the_standards():
    """Names, shapes and dtypes of tuples, beside array_api_strict's."""
    strict = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(8)
    for dtype in ("float32", "float64"):
        a = rng.standard_normal((2, 4, 3)).astype(dtype)
        square = a[:, :3]
        for name, x, options in (
            ("qr", a, {}),
            ("qr", a, {"mode": "complete"}),
            ("svd", a, {}),
            ("svd", a, {"full_matrices": False}),
            ("eigh", square + np.swapaxes(square, 1, 2), {}),
            ("slogdet", square, {}),
        ):
            ours, theirs = getattr(xp.linalg, name)(x, **options), getattr(strict.linalg, name)(strict.asarray(x), **options)
            assert ours._fields == theirs._fields
            for p, q in zip(ours, theirs):
                assert p.shape == q.shape and p.dtype == np.asarray(q).dtype, name
        for name, x in (("svdvals", a), ("eigvalsh", square), ("pinv", a), ("matrix_rank", a)):
            ours, theirs = getattr(xp.linalg, name)(x), getattr(strict.linalg, name)(strict.asarray(x))
            assert ours.shape == theirs.shape and ours.dtype == np.asarray(theirs).dtype, name
        assert xp.linalg.matrix_power(square, 3).dtype == xp.linalg.cross(a[..., :3], a[..., :3]).dtype == np.dtype(dtype)
    with pytest.raises(ValueError, match="mode"):
        xp.linalg.qr(np.eye(2), mode="r")
    assert xp.linalg.cross(np.array([1, 0, 0]), np.array([0, 1, 0])).dtype == np.int64


def test_frequencies_are_rational():
    for name in ("fftfreq", "rfftfreq"):
        for n, d in ((7, 0.1), (8, 3.0), (5, 1e30)):
            single, double = (getattr(xp.fft, name)(n, d=d, dtype=dtype) for dtype in (np.float32, None))
            whole = [i - n if name == "fftfreq" and i > (n - 1) // 2 else i for i in range(len(single))]
            for found, dtype in ((single, np.float32), (double, np.float64)):
                assert found.dtype == dtype
                assert found.tolist() == [float(nearest(k / (n * Fraction(d)), dtype)) for k in whole]
    with pytest.raises(TypeError, match="int32"):
        xp.fft.fftfreq(4, dtype=np.int32)

"""rm_softmax, rm_log_softmax, rm_logsumexp and gradients against mpmath, on every instruction set, in every format."""

import ctypes
from fractions import Fraction

import ml_dtypes
import mpmath
import numpy as np
import pytest
from exact_oracle import CANONICAL_NAN, FORMATS, rounded
from real_oracle import reals, rounded_real
from reductions_library import ENUM, I64, NULL, OK, OVERLAP, SIZE, Reductions, pointer, status
from softmax_library import NAMES, STRIDE, call, expected, infinity, kind, result
from statistics_library import dtype_of


def rows_of(rng, fmt, n):
    """Rows that have something about them."""
    dtype = dtype_of(fmt)
    x = [rng.standard_normal(n) * s for s in (1, 1e-3, 30, 200)]
    x.append(np.full(n, rng.standard_normal()))  # all equal
    x.append(np.where(np.arange(n) == n // 2, 40.0, rng.standard_normal(n)))  # one dominates
    x.append(np.where(np.arange(n) % 3 == 1, -np.inf, rng.standard_normal(n)))  # masked
    x.append(rng.standard_normal(n) * 1e-7)
    x.append(np.round(rng.standard_normal(n) * 3))
    return np.array(x).astype(dtype)


@pytest.mark.sample(3)
@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("n", [1, 2, 3, 8, 31, 100])
def test_values(isa_library, fmt, n):
    rng = np.random.default_rng(n)
    x = rows_of(rng, fmt, n)
    g = rng.standard_normal(x.shape).astype(x.dtype)
    g[1] = np.round(g[1] * 4) / 4
    got = {what: result(isa_library, what, fmt, x) for what in ("softmax", "log_softmax", "logsumexp")}
    for what, values in got.items():
        assert [v.tolist() for v in values] == [expected(what, fmt, row) for row in x], what
    for what in ("softmax", "log_softmax"):
        y = got[what].view(x.dtype)
        values = result(isa_library, what + "_backward", fmt, g, y)
        want = [expected(what + "_backward", fmt, a, b) for a, b in zip(g, y, strict=True)]
        assert [v.tolist() for v in values] == want, what


@pytest.mark.parametrize("fmt", NAMES)
def test_far_gradients(isa_library, fmt):
    """The gradient of log_softmax where e^y is below every number: g itself, and beside a zero g a zero of the right sign."""
    dtype = dtype_of(fmt)
    far = -60000.0 if fmt == "f16" else -1000.0
    y = np.array([[0.0, far, -150.0, -200.0, far]] * 4).astype(dtype)
    least = np.nextafter(dtype.type(0), dtype.type(1)) if fmt != "bf16" else dtype.type(1e-40)
    g = np.array([[1, 0, 0, 0, 1], [-1, 0, 0, 0, 2], [3, least, -least, least, 1], [-3, least, -least, 0, 1]]).astype(dtype)
    got = result(isa_library, "log_softmax_backward", fmt, g, y)
    assert [v.tolist() for v in got] == [expected("log_softmax_backward", fmt, a, b) for a, b in zip(g, y, strict=True)]


@pytest.mark.parametrize("fmt", NAMES)
def test_gradients_far_above(isa_library, fmt):
    """The gradient of log_softmax at a y that no log_softmax gives: e^y is large, overflows, or is NaN. The sum of g is 4."""
    dtype = dtype_of(fmt)
    y = np.array([[3.0, 11.0, 80.0, 169.0, 171.0, 200.0, 800.0, 60000.0, np.inf, np.nan]]).astype(dtype)
    g = np.array([[1, -2, 3, 0.5, 0.5, 4, -1, -1, -2, 1]]).astype(dtype)
    got = result(isa_library, "log_softmax_backward", fmt, g, y)[0].tolist()
    with mpmath.workprec(2000):
        want = [
            rounded_real(mpmath.mpf(float(a)) - 4 * mpmath.exp(float(b)), dtype)
            for a, b in zip(g[0, :6], y[0, :6], strict=True)
        ]
    overflow = rounded_real(-(mpmath.mpf(2) ** 1100), dtype)
    assert got == [*want, overflow, overflow, infinity(fmt, -1), CANONICAL_NAN[fmt]]


@pytest.mark.parametrize("n", [1025, 20001])
def test_long_rows(isa_library, n):
    """A sample of a long row's results, and the same row by columns."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((1, n)).astype("f4")
    for what in ("softmax", "log_softmax"):
        got = result(isa_library, what, "f32", x)
        with mpmath.workprec(300):
            v = reals(x)
            log = mpmath.log(mpmath.fsum(map(mpmath.exp, v)))
            for i in range(0, n, n // 20):
                value = v[i] - log
                result_there = value if what == "log_softmax" else mpmath.exp(value)
                assert got[0, i] == rounded_real(result_there, np.dtype("f4"), bits=300)
    y = got.view("f4")
    g = rng.standard_normal((1, n)).astype("f4")
    got = result(isa_library, "softmax_backward", "f32", g, y)
    want = expected("softmax_backward", "f32", g[0], y[0])
    assert got[0].tolist() == want


@pytest.mark.parametrize("fmt", NAMES)
def test_hairs(isa_library, fmt):
    """Differences that are midpoints of the format, and something too small to see below them; zeros of both kinds."""
    p = FORMATS[fmt][2] + 1
    big = 2.0 ** (p + 1) if fmt != "f16" else 4096.0
    dtype = dtype_of(fmt)
    for low in (-1.0, -2.0, -3.0, 1.0, 3.0):
        x = np.array([[low, big]]).astype(dtype)
        got = result(isa_library, "log_softmax", fmt, x)
        assert got[0].tolist() == expected("log_softmax", fmt, x[0]), low
        assert result(isa_library, "logsumexp", fmt, x).tolist() == [expected("logsumexp", fmt, x[0])]
    one = np.array([[1.0]]).astype(dtype)
    assert result(isa_library, "log_softmax", fmt, one).tolist() == [[0]]
    # y (g - sum) with g = sum: an exact zero is +0
    y = np.array([[-0.5, 0.5]]).astype(dtype)
    g = np.array([[0.0, 0.0]]).astype(dtype)
    assert result(isa_library, "softmax_backward", fmt, g, y).tolist() == [[0, 0]]


@pytest.mark.parametrize("fmt", NAMES)
def test_sharp_rows(isa_library, fmt):
    """One element far above the others, as the differences to it end in midpoints of the format: beside those the logarithm decides, from
    2^-20 to far below every number. None takes multiprecision evaluations of the exponentials that nobody needs."""
    dtype, p = dtype_of(fmt), FORMATS[fmt][2] + 1
    rng = np.random.default_rng(8)
    rows = []
    for gap in (10, 60, 120, 160, 169, 171, 180, 300, 800, 2000, 9000):
        for scale in (1.0, 2.0 ** -(p - 4)):
            top = gap + scale * rng.integers(0, 16)
            below = -(2.0 ** np.arange(3, 13)) * (1 + 2.0 ** (1 - p) * rng.integers(0, 4, 10)) - scale * rng.integers(
                0, 4, 10
            )
            rows.append([top, *np.minimum(below, 0.0), 0.0, -np.inf])
    x = np.array(rows).astype(dtype)
    counted = Reductions(isa_library)
    counted.stats()
    got = result(isa_library, "log_softmax", fmt, x)
    assert counted.stats()[2] < x.size / 4
    for row, bits in zip(x, got, strict=True):
        assert bits.tolist() == expected("log_softmax", fmt, row), row


@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("n", [7, 64])
def test_gradients_that_cancel(isa_library, fmt, n):
    """Gradients that are their weighted sum, or near to it: rows of one 1 and zeros, or nearly so, and equal gradients. The compensated sum
    decides them, or is exact, so that none goes to the accumulator below binary64."""
    rng = np.random.default_rng(n)
    sharp = np.exp(-np.abs(rng.standard_normal((4, n))) * [[2], [20], [60], [200]])
    sharp[:, n // 2] = 1
    hot = np.eye(n)[[0, 3]]
    y = np.array([*hot, *sharp / sharp.sum(1, keepdims=True), *hot, *sharp[:2] / n, np.full(n, 1 / 64), np.zeros(n)])
    g = rng.standard_normal(y.shape)
    g[1], g[6:8], g[8:] = np.round(g[1] * 4), g[6:8] * 1e-3 + 5, np.linspace(-1, 2, 4)[:, None]
    y, g = y.astype(dtype_of(fmt)), g.astype(dtype_of(fmt))
    counted = Reductions(isa_library)
    counted.stats()
    got = result(isa_library, "softmax_backward", fmt, g, y)
    assert fmt == "f64" or counted.stats()[2] == 0
    want = [expected("softmax_backward", fmt, a, b) for a, b in zip(g, y, strict=True)]
    assert [v.tolist() for v in got] == want
    # The control: the same from sums of binary64 by NumPy.
    a, b = g.astype("f8"), y.astype("f8")
    plain = (b * (a - (a * b).sum(1, keepdims=True))).astype(y.dtype)
    assert (plain.view(kind(fmt)) != got).any()


def test_equal_gradients(isa_library):
    """In float64 they are their weighted sum up to its last digits: beside it, equal to it, and with a difference below the normal range."""
    rng = np.random.default_rng(12)
    y = rng.dirichlet(np.ones(19), 40)
    y[30:] = np.eye(19)[:10] + (rng.random((10, 19)) < 0.1) * 2.0**-1000
    g = np.repeat(rng.choice([1.0, -3.0, 0.1, 2.0**-1074, -(2.0**-1022), 2.0**-950, 1e300, 0.0], (40, 1)), 19, axis=1)
    got = result(isa_library, "softmax_backward", "f64", g, y)
    assert [v.tolist() for v in got] == [expected("softmax_backward", "f64", a, b) for a, b in zip(g, y, strict=True)]


@pytest.mark.parametrize("fmt", NAMES)
def test_gradients_below_the_range(isa_library, fmt):
    """The gradient of log_softmax where e^y is taken for 2^-245, or is 0, beside gradients of which some are 0 and sums of any sign and size."""
    dtype = dtype_of(fmt)
    info = np.finfo(dtype) if fmt != "bf16" else np.finfo("f4")
    least, most = (
        float(info.smallest_subnormal) if fmt != "bf16" else 2.0**-133,
        float(info.max) / 4 if fmt != "f64" else 2.0**250,
    )
    far = [-169.75, -170.25, -171, -180, -300, -700, -1000, -8000, -9000, -np.inf]
    y = np.array([[0.0, *far, *far, *far]] * 7).astype(dtype)
    g = np.zeros(y.shape)
    g[:, 1 + len(far) : 1 + 2 * len(far)] = least
    g[:, 1 + 2 * len(far) :] = -3 * least
    g[:, 0] = [1, -1, most, -most, least, 20 * least, 0]
    g[:, 1] += [0, 0, 0, 0, 0, 0, 2]  # the last sum is 2 and of mixed signs
    g = g.astype(dtype)
    got = result(isa_library, "log_softmax_backward", fmt, g, y)
    assert [v.tolist() for v in got] == [expected("log_softmax_backward", fmt, a, b) for a, b in zip(g, y, strict=True)]


@pytest.mark.parametrize("fmt", NAMES)
def test_signs_of_tiny_results(isa_library, fmt):
    """A result that is not 0 keeps its sign when it rounds to 0, however small it is, and whatever smaller terms are beside it."""
    dtype, minus = dtype_of(fmt), infinity(fmt, -1) & ~infinity(fmt)
    top = 53248.0
    for others in (
        [-8192.0],
        [-16384.0, -8192.0],
        [-8192.0, -8320.0],
        [-8320.0],
        [-16384.0, -8224.0, -16384.0],
        [-8192.0] * 3,
    ):
        x = np.array([[top, *(top + v for v in others)]]).astype(dtype)
        assert result(isa_library, "log_softmax", fmt, x)[0, 0] == minus, others
    assert result(isa_library, "log_softmax", fmt, np.array([[top, -np.inf]]).astype(dtype))[0, 0] == 0
    # A midpoint, and the hair of a logarithm beside it.
    low, p = -32768.0, FORMATS[fmt][2] + 1
    for top, near in (
        ((2.0**p - 1, 1 - 2.0**p), (2.0**p - 1, 2 - 2.0**p)) if fmt != "f16" else ((32768.0 + 16, -16.0), (32768.0, -16.0))
    ):
        x = np.array([[top, near, low]]).astype(dtype)
        got = result(isa_library, "log_softmax", fmt, x)[0, 1]
        d = Fraction(float(x[0, 1])) - Fraction(float(x[0, 0]))
        assert got == rounded(d - Fraction(1, 2**1200), dtype), (top, near)


def test_signs_of_tiny_gradients(isa_library):
    """An element of g that is 0 leaves the sum of g y, of which nothing but the sign may be left."""
    rng = np.random.default_rng(12)
    rows = [([0.0, 5e-324], [1e-6, 0.5]), ([0.0, -5e-324], [1e-6, 0.5]), ([0.0, 5e-324, -5e-324], [0.25, 0.5, 0.5])]
    for _ in range(60):
        y, g = rng.random(5), np.ldexp(rng.standard_normal(5), rng.integers(-1080, -1000, 5))
        rows.append((np.where(rng.random(5) < 0.5, 0.0, g), y / y.sum()))
    for g, y in rows:
        g, y = np.array(g), np.array(y)
        got = result(isa_library, "softmax_backward", "f64", g[None], y[None])[0].tolist()
        assert got == expected("softmax_backward", "f64", g, y), (g, y)


@pytest.mark.parametrize("fmt", NAMES)
def test_special_rows(isa_library, fmt):
    dtype, nan = dtype_of(fmt), CANONICAL_NAN[fmt]
    inf = np.inf
    rows = np.array([[1.0, np.nan, 2.0], [1.0, inf, -inf], [-inf, -inf, -inf]]).astype(dtype)
    for what in ("softmax", "log_softmax"):
        assert (result(isa_library, what, fmt, rows) == nan).all()
    assert result(isa_library, "logsumexp", fmt, rows).tolist() == [nan, infinity(fmt), infinity(fmt, -1)]
    nothing = np.empty((2, 0), dtype)
    assert result(isa_library, "logsumexp", fmt, nothing).tolist() == [infinity(fmt, -1)] * 2
    g = np.array([[1.0, inf, 2.0], [1.0, 2.0, 3.0], [1.0, np.nan, 2.0]]).astype(dtype)
    y = np.array([[0.25, 0.5, 0.25], [0.25, inf, 0.0], [0.5, 0.25, 0.25]]).astype(dtype)
    got = result(isa_library, "softmax_backward", fmt, g, y)
    assert got.tolist() == [
        [infinity(fmt, -1), nan, infinity(fmt, -1)],
        [infinity(fmt, -1), infinity(fmt, -1), nan],
        [nan] * 3,
    ]
    y = np.array([[-1.0, -inf, 0.0], [-1.0, inf, -inf], [-1.0, -1.0, -1.0]]).astype(dtype)
    g = np.array([[1.0, -2.0, 1.0], [1.0, 2.0, 3.0], [1.0, np.nan, 2.0]]).astype(dtype)
    got = result(isa_library, "log_softmax_backward", fmt, g, y)
    minus_two, three = (int(np.array(v, dtype).view(kind(fmt))) for v in (-2.0, 3.0))
    assert got[0].tolist() == [
        int(np.array(1.0, dtype).view(kind(fmt))),
        minus_two,
        int(np.array(1.0, dtype).view(kind(fmt))),
    ]
    assert got[1, 1:].tolist() == [infinity(fmt, -1), three] and got[2].tolist() == [nan] * 3


@pytest.mark.parametrize("fmt", NAMES)
def test_overflow(isa_library, fmt):
    """A logarithm beyond the largest number is an overflow; that of an element that is -infinity is exact."""
    dtype, libm = dtype_of(fmt), ctypes.CDLL(None)
    most, below = ml_dtypes.finfo(dtype).max, infinity(fmt, -1)
    hair = int(np.array(-0.0, dtype).view(kind(fmt)))  # the other logarithm is negative, but for exp(-inf)
    for low, flags, zero in ((-most, 8, hair), (-np.inf, 0, 0)):
        libm.feclearexcept(61)
        got = result(isa_library, "log_softmax", fmt, np.array([[low, most], [most, low]], dtype))
        assert libm.fetestexcept(13) == flags
        assert got.tolist() == [[below, zero], [zero, below]]


def test_views_and_places(isa_library):
    """Strides of every kind, a result in the place of an argument, and columns as rows."""
    rng = np.random.default_rng(8)
    for fmt in NAMES:
        x = rows_of(rng, fmt, 40)[:8]
        want = result(isa_library, "softmax", fmt, x)
        for view in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[:, ::-1].copy()[:, ::-1]):
            assert (result(isa_library, "softmax", fmt, view) == want).all()
            out = np.empty((40, 8), kind(fmt)).T
            assert call(isa_library, "softmax", fmt, view, out) == OK and (out == want).all()
        place = x.copy()
        assert call(isa_library, "softmax", fmt, place, place) == OK and (place.view(kind(fmt)) == want).all()
        g = rng.standard_normal(x.shape).astype(x.dtype)
        y = want.view(x.dtype)
        gradient = result(isa_library, "softmax_backward", fmt, g, y)
        for place, others in ((g.copy(), (None, y)), (y.copy(), (g, None))):
            arrays = [place if a is None else a for a in others]
            assert call(isa_library, "softmax_backward", fmt, *arrays, place) == OK
            assert (place.view(kind(fmt)) == gradient).all()


def test_rows_side_by_side(isa_library):
    """Columns of a matrix are moved some at a time: the bits of rows, into an argument too, and nothing beside the result is written."""
    rng = np.random.default_rng(9)
    for fmt in NAMES:
        x = rng.standard_normal((37, 19)).astype(dtype_of(fmt))  # more rows than are moved at a time, no multiple of them
        x[3], x[5, 2], x[7, 1], x[11] = -np.inf, np.nan, np.inf, 0.5
        g = rng.standard_normal(x.shape).astype(x.dtype)
        for what, arrays in (
            ("softmax", [x]),
            ("log_softmax", [x]),
            ("softmax_backward", [g, x]),
            ("log_softmax_backward", [g, x]),
        ):
            want = result(isa_library, what, fmt, *arrays)
            columns = [np.asfortranarray(a) for a in arrays]
            around = np.full((21, 40), 7, kind(fmt))
            assert call(isa_library, what, fmt, *columns, around[1:20, 1:38].T) == OK
            assert (around[1:20, 1:38].T == want).all()
            assert (around == 7).sum() - (want == 7).sum() == around.size - want.size
            for k in range(len(columns)):
                copies = [np.asfortranarray(a) for a in arrays]
                assert call(isa_library, what, fmt, *copies, copies[k]) == OK
                assert (copies[k].view(kind(fmt)) == want).all()
            assert (
                result(isa_library, what, fmt, *[a[:19, :19].T for a in arrays]) != want[:19, :19]
            ).any()  # the other axis


def test_bad_arguments(isa_library):
    x = np.ones((2, 3), "f4")
    out = np.full((2, 3), 7, "f4")
    rows, n, size = I64(2), I64(3), STRIDE(4)
    row = STRIDE(12)
    f = isa_library.rm_softmax
    assert f(9, rows, n, pointer(x), row, size, pointer(out), row, size) == status(ENUM, 1)
    assert f(2, I64(-1), n, pointer(x), row, size, pointer(out), row, size) == status(SIZE, 2)
    assert f(2, rows, I64(-1), pointer(x), row, size, pointer(out), row, size) == status(SIZE, 3)
    assert f(2, rows, n, None, row, size, pointer(out), row, size) == status(NULL, 4)
    assert f(2, rows, n, pointer(x), row, size, None, row, size) == status(NULL, 7)
    assert f(2, rows, n, pointer(x), row, size, pointer(out), STRIDE(0), size) == status(OVERLAP, 7)
    assert f(2, rows, n, pointer(out), row, size, pointer(out), STRIDE(8), size) == status(OVERLAP, 7)
    b = isa_library.rm_softmax_backward
    assert b(2, rows, n, pointer(x), row, size, pointer(x), row, size, None, row, size) == status(NULL, 10)
    assert (out == 7).all()

"""sum, dot and matmul of the Python package: NumPy's shapes, exact values, one rounding."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from exact_oracle import bits, rounded

import repmath
from repmath import _sums

ml_dtypes = pytest.importorskip("ml_dtypes")
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype("f2"), BF16, np.dtype("f4"), np.dtype("f8")]
RNG = np.random.default_rng(11)


@pytest.fixture(params=DTYPES, ids=lambda d: d.name)
def dtype(request):
    return request.param


def wild(shape, dtype, rng=RNG):
    """Values of widely different magnitude, so that order matters to ordinary sums; finite in every format."""
    with np.errstate(all="ignore"):
        return (rng.standard_normal(shape) * 2.0 ** rng.integers(-9, 5, shape)).astype(dtype)


def nearest(value, dtype):
    """The Fraction rounded to dtype, ties to even: by exact comparison of the candidates around it."""
    s = float(value)
    with np.errstate(all="ignore"):
        guess = np.array([s], "f8").astype(dtype)
    finite = [
        c
        for c in (np.nextafter(guess, np.array([-np.inf], dtype)), guess, np.nextafter(guess, np.array([np.inf], dtype)))
        if np.isfinite(c[0])
    ]
    even = lambda c: int(c.view(f"u{dtype.itemsize}")[0]) & 1  # noqa: E731
    best = min(finite, key=lambda c: (abs(Fraction(float(c[0])) - value), even(c)))
    return float(best[0])


def exact_sum(values):
    return sum((Fraction(float(v)) for v in np.ravel(values)), Fraction(0))


def exact_matmul(a, b, bias=None):
    out = np.empty((a.shape[0], b.shape[1]), object)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            out[i, j] = sum(
                (Fraction(float(p)) * Fraction(float(q)) for p, q in zip(a[i], b[:, j], strict=True)), Fraction(0)
            )
            if bias is not None:
                out[i, j] += Fraction(float(bias[j]))
    return out


# ---- sum ----


def test_sum_is_exact_and_rounded_once(dtype):
    for n in (0, 1, 2, 7, 64, 1000):
        x = wild(n, dtype)
        assert float(repmath.sum(x)) == nearest(exact_sum(x), dtype)
        assert repmath.sum(x).dtype == dtype


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, -3, (0, 1), (0, 2), (2, 0), (-1, 1), (0, 1, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sum_axes(axis, keepdims, dtype):
    x = wild((3, 4, 5), dtype)
    result = repmath.sum(x, axis=axis, keepdims=keepdims)
    shape = np.sum(x.astype("f8"), axis=axis, keepdims=keepdims).shape
    assert result.shape == shape and result.dtype == dtype
    for view in (np.asfortranarray(x), x[::-1][::-1], np.ascontiguousarray(x.T).T):
        assert np.array_equal(repmath.sum(view, axis=axis, keepdims=keepdims), result)
    if axis == 1:
        expected = [[nearest(exact_sum(x[i, :, k]), dtype) for k in range(5)] for i in range(3)]
        assert np.array_equal(result.astype("f8").reshape(3, 5), expected)


def test_sum_errors_name_the_argument():
    x = np.ones((2, 3), "f4")
    with pytest.raises(np.exceptions.AxisError, match="axis"):
        repmath.sum(x, axis=2)
    with pytest.raises(ValueError, match="axis"):
        repmath.sum(x, axis=(0, 0))
    with pytest.raises(TypeError, match="a has dtype complex"):
        repmath.sum(x * 1j)
    with pytest.raises(TypeError, match="dtype"):
        repmath.sum(x, dtype="i4")
    with pytest.raises(TypeError, match="initial"):
        repmath.sum(x, initial="1")
    with pytest.raises(ValueError, match="initial"):
        repmath.sum(x, initial=[1.0, 2.0])
    for out, error in ((np.ones(4, "f4"), ValueError), (np.ones(3, "f2"), TypeError), ([0, 0, 0], TypeError)):
        before = np.array(out)
        with pytest.raises(error, match="out"):
            repmath.sum(x, axis=0, out=out)
        assert np.array_equal(out, before)
    for out, hint in ((np.ones(3, "f2"), "pass dtype=float16"), (np.ones(3, "i4"), "must be one of float16, .*float64")):
        with pytest.raises(TypeError, match=f"does not hold the float32 result; (it )?{hint}"):
            repmath.sum(x, axis=0, out=out)
    out = np.ones(3, "f4")
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        repmath.sum(x, axis=0, out=out)


def test_sum_out_initial_where():
    x = wild((6, 7), np.dtype("f4"))
    out = np.empty(7, "f4")
    assert repmath.sum(x, axis=0, out=out) is out
    assert np.array_equal(out, repmath.sum(x, axis=0))
    mask = RNG.random((6, 7)) < 0.5
    expected = [nearest(exact_sum(x[mask[:, j], j]) + Fraction(0.1), np.dtype("f4")) for j in range(7)]
    assert np.array_equal(repmath.sum(x, axis=0, where=mask, initial=0.1), np.array(expected, "f4"))
    assert repmath.sum([np.nan, 1.0], where=[False, True]) == 1
    assert repmath.sum(np.array([], "f4"), initial=np.float32(2)) == 2
    assert math.isnan(repmath.sum([1.0], initial=np.nan))
    with np.errstate(all="raise"):
        assert repmath.sum([1e308, 1e308, -1e308]) == 1e308


def test_sum_of_large_integers_is_exact():
    assert repmath.sum([2**62 + 1, -(2**62)]) == 1.0
    assert repmath.sum(np.array([2**64 - 1, 2**64 - 1], "u8")) == float(2**65 - 2)
    assert repmath.sum(np.array([True, True])) == 2.0
    assert repmath.sum(np.array([1, 2], "i1")).dtype == np.float64
    assert repmath.dot([2**62 + 1, 2**62], [1, -1]) == 1.0
    x = np.array([[2**60 + 1, 3]])
    assert repmath.matmul(x, np.array([[2**61 + 1], [-(2**59)]]))[0, 0] == float((2**60 + 1) * (2**61 + 1) - 3 * 2**59)


def test_sum_dtype_rounds_once():
    """1 + 2**-24 + 2**-60 is just above a boundary of float32, and on it once rounded to float64."""
    x = np.array([1, 2.0**-24, 2.0**-60])
    assert repmath.sum(x, dtype="f4") == np.float32(1 + 2**-23)
    assert repmath.sum(-x, dtype="f4") == np.float32(-1 - 2**-23)
    x[2] = -x[2]
    assert repmath.sum(x, dtype="f4") == 1
    x[2] = 0
    assert repmath.sum(x, dtype="f4") == 1  # a tie, to even
    assert repmath.sum(x.astype("f4"), dtype="f8") == 1 + 2.0**-24
    # The same around the overflow threshold.
    edge = np.array([3.4028234663852886e38, 2.0**103, -1e-300])
    assert repmath.sum(edge, dtype="f4") == np.finfo("f4").max
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert repmath.sum(edge[:2], dtype="f4") == np.inf


def test_zeros_and_non_finite(dtype):
    one = lambda *v: repmath.sum(np.array(v, dtype))  # noqa: E731
    for zero in (one(), one(-0.0), one(-0.0, -0.0), one(1, -1)):
        assert zero == 0 and not np.signbit(zero)
    assert one(np.inf, 1) == np.inf and one(-np.inf, -np.inf) == -np.inf
    with np.errstate(invalid="ignore"):
        for nan in (one(np.inf, -np.inf), one(np.nan, 1)):
            assert np.isnan(nan) and not np.signbit(nan)


def test_sums_down_sums(dtype):
    """Over leading axes, where terms are far apart and results are neighbours."""
    x = wild((5, 60, 3, 8), dtype)
    x[1:] -= x[:1] * np.arange(1, 5, dtype="f4").reshape(4, 1, 1, 1).astype(dtype)  # cancels
    x[..., 1, 2] = np.tile(np.array([-0.0, 0.0, 1, -1], dtype), 75).reshape(5, 60)
    for axis, count in (((0, 1), 24), (0, 1440)):
        whole = repmath.sum(x, axis=axis).reshape(count)
        columns = x.reshape(-1, count)
        for j in range(0, count, 7):
            assert float(whole[j]) == nearest(exact_sum(columns[:, j]), dtype)
            alone = repmath.sum(np.ascontiguousarray(columns[:, j]))
            assert alone.tobytes() == whole[j].tobytes()
    wide = repmath.sum(x, axis=0, dtype="f8")
    assert (wide.astype("f4") == repmath.sum(x.astype("f8"), axis=0).astype("f4")).all() and wide.dtype == np.float64
    x[3, 4, 0, 0], x[0, 0, 0, 1], x[1, 0, 0, 1] = np.inf, np.inf, -np.inf
    with pytest.warns(RuntimeWarning, match="invalid value encountered in sum"):
        got = repmath.sum(x, axis=(0, 1))
    assert got[0, 0] == np.inf and np.isnan(got[0, 1]) and np.isfinite(got[1]).all()


def test_sums_of_rows_in_every_layout(dtype):
    """Over every set of axes of dense arrays in any order of their axes; beside a sum of each result's terms alone."""
    x = wild((3, 4, 1, 2, 20), dtype)
    x[0] = -x[1] * dtype.type(0.75)
    taken = set()
    for order in ((0, 1, 2, 3, 4), (4, 0, 3, 2, 1), (1, 4, 2, 0, 3)):
        a = np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))
        for axes in itertools.chain.from_iterable(itertools.combinations(range(5), k) for k in range(1, 5)):
            taken.add(_sums.over_axes("sum", a, axes, dtype) is not None)
            rows = np.moveaxis(a, axes, range(5 - len(axes), 5))
            rows = np.ascontiguousarray(rows).reshape(*rows.shape[: 5 - len(axes)], -1)
            want = np.array([repmath.sum(row) for row in rows.reshape(-1, rows.shape[-1])], dtype)
            assert repmath.sum(a, axis=axes).tobytes() == want.tobytes(), (order, axes)
    assert taken == {True, False}


# ---- dot and matmul ----


def test_matmul_is_exact(dtype):
    a, b, bias = wild((5, 30), dtype), wild((30, 4), dtype), wild(4, dtype)
    for c in (None, bias):
        expected = exact_matmul(a, b, c)
        result = repmath.matmul(a, b, bias=c)
        assert result.dtype == dtype
        assert np.array_equal(result.astype("f8"), [[nearest(v, dtype) for v in row] for row in expected])
    assert np.array_equal(repmath.dot(a[0], b[:, 0]), repmath.matmul(a, b)[0, 0])


def test_float64_to_bfloat16_does_not_pass_through_float32():
    """float32 holds midpoints of bfloat16 numbers, to which it rounds what lies beside them."""
    for scale in (1.0, 2.0**-130):
        beside = (1 + 2.0**-8 + 2.0**-40) * scale, (1 + 3 * 2.0**-8 - 2.0**-40) * scale
        for value in (*beside, *(-v for v in beside)):
            x, expected = np.array([value]), nearest(Fraction(value), BF16)
            assert float(repmath.sum(x, dtype=BF16)) == expected
            assert float(repmath.matmul(np.ones(1), x, dtype=BF16)) == expected


@pytest.mark.parametrize("narrow", [np.dtype("f2"), BF16], ids=lambda d: d.name)
def test_boundary_cases_of_16_bit_products(narrow):
    """Sums just beside a boundary, and on it, of both signs and among the subnormals."""
    digits = {"float16": 10, "bfloat16": 7}[narrow.name]
    rows, expected = [], []
    for scale in (1.0, 2.0**-13 if narrow == BF16 else 2.0**-5):
        for sign in (1, -1):
            for odd in (0, 1):
                for tail in (0.0, 2.0**-14, -(2.0**-14)):
                    terms = np.array([1 + odd * 2.0**-digits, 2.0 ** (-digits - 1), tail])
                    rows.append(sign * scale * terms)
                    expected.append(nearest(exact_sum(rows[-1].astype(narrow)), narrow))
    a = np.array(rows).astype(narrow)
    ones = np.ones((3, 2), narrow)
    assert repmath.matmul(a, ones)[:, 1].astype("f8").tolist() == expected
    assert repmath.matmul(a, ones[:, 0]).astype("f8").tolist() == expected
    assert repmath.matmul(ones.T, a.T)[0].astype("f8").tolist() == expected
    assert repmath.matmul(ones[:, 0], a.T).astype("f8").tolist() == expected
    assert [float(repmath.dot(row, ones[:, 0])) for row in a] == expected
    assert repmath.sum(a, axis=1).astype("f8").tolist() == expected
    assert repmath.matmul(a[:, :2], ones[:2], bias=np.zeros(2, narrow)).shape == (len(a), 2)
    batched = repmath.matmul(np.stack([a, a]), np.stack([ones, -ones]))
    assert batched[1, :, 0].astype("f8").tolist() == [-v for v in expected]
    with_bias = [float(repmath.matmul(row[None, :2], ones[:2], bias=np.array([0, row[2]], narrow))[0, 1]) for row in a]
    assert with_bias == expected


def test_rests_too_small_for_float64():
    """float64 products that underflow still decide on which side of a float32 boundary the sum lies."""
    x = np.array([1.0, 2.0**-24, 2.0**-600])
    for sign, expected in ((1, 1 + 2**-23), (-1, 1.0), (0, 1.0)):
        y = np.array([1.0, 1.0, sign * 2.0**-600])
        assert repmath.matmul(x, y, dtype="f4") == np.float32(expected)


SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (6, 3, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((2, 0), (0, 3)),
    ((0, 3), (3, 2)),
    ((2, 3), (3, 0)),
]


@pytest.mark.parametrize("left, right", SHAPES)
def test_matmul_shapes(left, right, dtype):
    a, b = RNG.integers(-8, 8, left).astype(dtype), RNG.integers(-8, 8, right).astype(dtype)
    expected = np.matmul(a.astype("f8"), b.astype("f8"))
    result = repmath.matmul(a, b)
    assert result.dtype == dtype and np.shape(result) == expected.shape
    assert np.array_equal(np.asarray(result).astype("f8"), expected)
    out = np.empty(expected.shape, dtype)
    assert repmath.matmul(a, b, out=out) is out
    assert np.array_equal(out.astype("f8"), expected)


DOTS = [*((s, t) for s, t in SHAPES if len(s) < 3 and len(t) < 3), ((2, 5, 3), (4, 3, 6)), ((), (3,)), ((2, 3), ()), ((), ())]


@pytest.mark.parametrize("left, right", DOTS)
def test_dot_shapes(left, right, dtype):
    a, b = RNG.integers(-8, 8, left), RNG.integers(-8, 8, right)
    a, b = np.asarray(a).astype(dtype), np.asarray(b).astype(dtype)
    expected = np.dot(a.astype("f8"), b.astype("f8"))
    result = repmath.dot(a, b)
    assert result.dtype == dtype and np.shape(result) == np.shape(expected)
    assert np.array_equal(np.asarray(result).astype("f8"), expected)


def test_matmul_layouts():
    a, b = wild((20, 30), np.dtype("f4")), wild((30, 10), np.dtype("f4"))
    expected = repmath.matmul(a, b)
    for x in (a, np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2], a[::-1][::-1], a.astype(">f4")):
        for y in (b, np.asfortranarray(b), np.repeat(b, 3, 0)[::3]):
            assert np.array_equal(repmath.matmul(x, y), expected)
    assert np.array_equal(repmath.matmul(a[::-1], b[:, ::-1]), expected[::-1, ::-1])
    out = np.empty((10, 20), "f4").T
    repmath.matmul(a, b, out=out)
    assert np.array_equal(out, expected)
    square = wild((16, 16), np.dtype("f4"))
    expected = repmath.matmul(square, square)
    repmath.matmul(square, square, out=square)  # the output is both inputs
    assert np.array_equal(square, expected)


def test_matmul_mixed_types():
    f2, f4, f8 = (wild((3, 3), np.dtype(c)) for c in ("f2", "f4", "f8"))
    bf = wild((3, 3), BF16)
    assert repmath.matmul(f2, f4).dtype == np.float32
    assert repmath.matmul(f2, bf).dtype == np.float32
    assert repmath.matmul(bf, f8).dtype == np.float64
    assert repmath.matmul(f4, np.eye(3, dtype="i1")).dtype == np.float32
    assert repmath.matmul(f4, np.eye(3, dtype="i8")).dtype == np.float64
    assert np.array_equal(repmath.matmul(f4, np.eye(3, dtype="i8")), f4.astype("f8"))
    assert np.array_equal(repmath.matmul(f2, bf, dtype="f8"), repmath.matmul(f2.astype("f8"), bf.astype("f8")))


def test_matmul_errors_name_the_argument():
    a = np.ones((2, 3), "f4")
    cases = [
        (lambda: repmath.matmul(a, a), ValueError, "x1 has 3 elements but x2 has 2"),
        (lambda: repmath.matmul(a, np.float32(2)), ValueError, "x2 is a scalar"),
        (
            lambda: repmath.matmul(np.ones((2, 2, 3), "f4"), np.ones((3, 3, 2), "f4")),
            ValueError,
            "x1 and x2 do not broadcast",
        ),
        (lambda: repmath.matmul(a, a.T, bias=a[0]), ValueError, "bias"),
        (lambda: repmath.matmul(a, a.T * 1j), TypeError, "x2 has dtype complex"),
        (lambda: repmath.matmul(a, a.T, dtype="i4"), TypeError, "dtype"),
        (lambda: repmath.dot(a, a), ValueError, "a has 3 elements but b has 2"),
        (lambda: repmath.dot(a, "x"), TypeError, "b must be an array, not str"),
        (lambda: repmath.dot(a, ["x"]), TypeError, "b has dtype <U1"),
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("bias", [None, np.zeros(2, "f4")])
def test_matmul_errors_leave_out_untouched(bias):
    a = np.ones((2, 3), "f4")
    read_only = np.full((2, 2), 7, "f4")
    read_only.flags.writeable = False
    for out, error in (
        (np.full((2, 3), 7, "f4"), ValueError),
        (np.full((2, 2), 7, "f2"), TypeError),
        (read_only, ValueError),
    ):
        with pytest.raises(error, match="out"):
            repmath.matmul(a, a.T, out=out, bias=bias)
        assert np.all(out == 7)
    out = np.full((2, 2), 7, "f4")
    with pytest.raises(ValueError):
        repmath.matmul(a, a, out=out, bias=bias)
    assert np.all(out == 7)


def test_matmul_non_finite():
    a = np.array([[np.inf, 0], [1, np.nan], [np.inf, -np.inf], [np.inf, 1]], "f4")
    with np.errstate(invalid="ignore"):
        result = repmath.matmul(a, np.array([[0, 1], [1, 1]], "f4"))
    assert np.isnan(result).tolist() == [[True, False], [True, True], [True, True], [True, False]]
    assert not np.signbit(result[np.isnan(result)]).any()


@pytest.mark.parametrize("kind", ["i8", "u8"])
def test_integers_times_infinity(kind):
    """An integer is the real number that it is, also where it is computed in two parts: times an infinity it is infinite, 0 is NaN."""
    info = np.iinfo(kind)
    beyond = [
        2**60,
        2**60 + 1,
        2**53 + 1,
        2**32,
        1,
        0,
        info.max,
        info.min,
        info.max - 2**32 + 1,
        *([-(2**60) - 1, -3] if kind == "i8" else []),
    ]
    for inf in (np.inf, -np.inf):
        for n in beyond:
            x, y = np.array([n, 2**60 + 1], kind), np.array([inf, 1.0])
            with np.errstate(invalid="ignore"):
                want = np.float64(n) * inf if n else np.nan
                results = [
                    repmath.dot(x, y),
                    repmath.matmul(x, y),
                    repmath.matmul(y[None], x[:, None])[0, 0],
                    repmath.einsum("i,i", x, y),
                    repmath.vecdot(x, y),
                    repmath.tensordot(x, y, 1),
                    repmath.matmul(x[None], np.tile(y[:, None], 3), dtype="f4")[0, 1],
                ]
            assert all(np.array_equal(np.float64(r), want, equal_nan=True) for r in results), (n, inf, results)
    x = RNG.integers(info.min, info.max, (5, 40), kind, endpoint=True)
    y = RNG.standard_normal(40) * 2.0 ** RNG.integers(-1074, 400, 40)
    got = repmath.matmul(x, y)
    for i in range(5):
        total = sum((int(a) * Fraction(float(b)) for a, b in zip(x[i], y, strict=True)), Fraction(0))
        assert float(got[i]) == float(total), i  # Python divides integers with one rounding
    assert float(repmath.sum(x)) == float(sum(map(int, x.ravel())))


@pytest.mark.parametrize("kind", ["i1", "i4", "i8", "u8", ">i8", ">u8", "?"])
@pytest.mark.parametrize("dtype", [None, "f4", "f2"])
def test_sums_of_integers(kind, dtype):
    """Any byte order, strides and axes; halves of 64 bits are added apart."""
    native = np.dtype(kind).newbyteorder("=")
    least, most = (0, 1) if native.kind == "b" else (np.iinfo(native).min, np.iinfo(native).max)
    for shape, axis in (((3, 4, 5), None), ((3, 4, 5), (0, 2)), ((7, 0), 1), ((50,), 0)):
        x = RNG.integers(least, most, shape, "i8" if native.kind == "b" else native, endpoint=True).astype(kind)
        for view in (x, x[::-2], x.T if axis is None else x[..., ::-1]):
            with np.errstate(over="ignore"):
                got = np.asarray(repmath.sum(view, axis=axis, dtype=dtype))
            want = np.asarray(np.sum(view.astype(object), axis=axis), object)
            assert [int(b) for b in bits(got).ravel()] == [rounded(Fraction(int(v)), got.dtype) for v in want.ravel()]

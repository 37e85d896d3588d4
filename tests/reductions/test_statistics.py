"""rm_sum, rm_mean, rm_norm, rm_var and rm_std against exact integers, on every instruction set: all formats in and out, hard data, every tier, bad arguments."""

import ctypes
from fractions import Fraction

import elementwise_library
import native
import numpy as np
import oracle
import pytest
import reduction_data as data
from exact_oracle import exact_variance, rounded
from reductions_library import ENUM, I64, NULL, RANGE, SIZE, Reductions, pointer, status
from statistics_library import (
    FORMATS,
    call,
    dtype_of,
    expected,
    kind,
)

SIZES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}


@pytest.fixture
def rng():
    return np.random.default_rng(30)


BOTH = pytest.mark.parametrize("what", ["sum", "mean", "norm"])
SPREAD = pytest.mark.parametrize("what", ["var", "std"])
ALL = pytest.mark.parametrize("what", ["sum", "mean", "norm", "var", "std"])


@ALL
@pytest.mark.parametrize("fmt", FORMATS)
def test_every_pair_of_formats(lib, rng, what, fmt):
    for n in (2, 3, 7, 64, 1000):
        x = (rng.standard_normal(n) * 2.0 ** rng.integers(-6, 7, n)).astype(dtype_of(fmt))
        for out_fmt in FORMATS:
            assert call(lib, what, fmt, x, out_fmt) == expected(what, x, out_fmt), (n, out_fmt)


@pytest.mark.sample(4)
@ALL
@pytest.mark.parametrize("fmt", ["f32", "f64"])
@pytest.mark.parametrize("name", sorted({f.__name__ for pair in data.PAIRS.values() for f in pair}))
def test_hard_data(lib, rng, what, fmt, name):
    x = getattr(data, name)(rng, dtype_of(fmt).type, 12, 101)
    for row in x:
        for out_fmt in FORMATS:
            assert call(lib, what, fmt, row, out_fmt) == expected(what, row, out_fmt)


@pytest.mark.parametrize("fmt", FORMATS)
def test_ties_of_means(lib, fmt):
    """Means that are midpoints, and a hair beside one."""
    p = oracle.FORMATS[fmt][0]
    one, step = 1.0, 2.0 ** (1 - p)
    for up in range(4):
        x = np.array([one + up * step, one + (up + 1) * step], dtype_of(fmt))
        assert call(lib, "mean", fmt, x, fmt) == expected("mean", x, fmt)
        least = np.array([2.0**-20], dtype_of(fmt))
        beside = np.concatenate([x, x, least, -least * 2, least, least]).astype(dtype_of(fmt))
        assert call(lib, "mean", fmt, beside, fmt) == expected("mean", beside, fmt)


def test_squares_are_exact_roots(lib):
    for a, b, c in ((3, 4, 5), (20, 21, 29), (4059, 4060, 5741)):
        for scale in (1.0, 2.0**-530, 2.0**500):
            x = np.array([a, b]) * scale
            assert call(lib, "norm", "f64", x, "f64") == int(np.array(c * scale).view(np.uint64))


def test_norms_of_numbers_whose_squares_leave_the_range(lib, rng):
    """Of zeros, subnormal numbers, numbers at either end and over all of the range, some of one element: rows of the length at which a copy is
    scaled, and beyond; in every format of the result."""
    for n in (1, 2, 5, 64, 4096, 4097):
        for low, high in (
            (-1074, -1074),
            (-1074, -1060),
            (-1074, -1022),
            (-1022, -1010),
            (-600, -480),
            (-1074, 1000),
            (480, 600),
            (1000, 1023),
        ):
            for share in (0.0, 0.9):
                with np.errstate(all="ignore"):
                    x = np.ldexp(rng.uniform(1, 2, n), rng.integers(low, high + 1, n)) * rng.choice([-1.0, 1.0], n)
                x[rng.random(n) < share] = 0.0
                for out_fmt in ("f64", "f32") if n > 64 else FORMATS:
                    assert call(lib, "norm", "f64", x, out_fmt) == expected("norm", x, out_fmt), (n, low, high)
    least = 2.0**-1074
    for x in (
        [3 * least, 4 * least],
        [least, least],
        [least * 2**51, least],
        [1.5 * 2.0**1023, 1.5 * 2.0**1023],
        [0.0, least],
    ):
        assert call(lib, "norm", "f64", np.array(x), "f64") == expected("norm", np.array(x), "f64")


def test_exceptions_of_norms(lib):
    """Of all numbers that are not finite only a signalling NaN raises one."""
    libm = ctypes.CDLL(None)
    for at, value, want in (
        (5, 0x7FF0000000000001, 1),
        (5, 0x7FF8000000000001, 0),
        (5, 0xFFF0000000000000, 0),
        (0, 0xFFF7FFFFFFFFFFFF, 1),
    ):
        x = np.ones(70)
        x[9] = np.inf
        x.view(np.uint64)[at] = value
        libm.feclearexcept(61)
        got = call(lib, "norm", "f64", x, "f64")
        assert libm.fetestexcept(61) & ~32 == want, hex(value)
        assert got == (0x7FF0000000000000 if value == 0xFFF0000000000000 else 0x7FF8000000000000)


@ALL
@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_permutations_strides_and_threads(lib, rng, what, fmt):
    x = data.spread(rng, dtype_of(fmt).type, 1, 700_000)[0]
    want = call(lib, what, fmt, x, fmt)
    for threads in (1, 2, 3):
        lib.threads(threads)
        assert call(lib, what, fmt, rng.permutation(x), fmt) == want
        assert call(lib, what, fmt, x[::-1], fmt) == want
    wide = np.zeros((700_000, 3), x.dtype)
    wide[:, 1] = x
    assert call(lib, what, fmt, wide[:, 1], fmt) == want


@BOTH
def test_special_values(lib, what):
    inf, nan = np.inf, np.nan
    canonical = {"f16": 0x7E00, "bf16": 0x7FC0, "f32": 0x7FC00000, "f64": 0x7FF8000000000000}
    for fmt in FORMATS:
        infinity = int(np.array(inf, dtype_of(fmt)).view(kind(fmt)))
        sign = 1 << (8 * SIZES[fmt] - 1)
        bits = lambda values, fmt=fmt: call(lib, what, fmt, np.array(values, dtype_of(fmt)), fmt)  # noqa: E731
        assert bits([1, nan]) == bits([nan, inf]) == canonical[fmt]
        assert bits([1, -inf, 2]) == (infinity if what == "norm" else infinity | sign)
        assert bits([inf, -inf]) == (infinity if what == "norm" else canonical[fmt])
        assert bits([0.0, -0.0]) == bits([-0.0]) == 0
        assert bits([]) == (canonical[fmt] if what == "mean" else 0)


@ALL
def test_every_tier_is_taken(lib, rng, what):
    lib.threads(1)
    x = rng.standard_normal((300, 2000)).astype("f4")
    lib.stats()
    for row in x:
        call(lib, what, "f32", row, "f32")
    fast, double_double, accumulator = lib.stats()
    assert fast > 250 and fast + double_double + accumulator == 300
    for row in x.astype("f8"):  # of binary64 the first tier is the compensated one
        call(lib, what, "f64", row * 2.0**-520, "f64")
    assert sum(lib.stats()) == 300
    for value in (1e308, -1e-200):  # sums beyond the range; squares below it
        call(lib, what, "f64", np.resize([value, value, value, value / 2], 5000), "f64")
    assert lib.stats()[2] >= 1


def test_bad_arguments_write_nothing(lib):
    x, out = np.ones(3), np.full(1, 7.0)
    for what in ("mean", "norm", "var", "std"):
        f = getattr(lib.c, f"rm_{what}")
        good = [3, I64(3), pointer(x), I64(8), 3, pointer(out)] + [ctypes.c_double(0)] * (what in ("var", "std"))
        for position, value, code in (
            (0, 4, ENUM),
            (0, -1, ENUM),
            (1, I64(-1), SIZE),
            (2, None, NULL),
            (4, 9, ENUM),
            (5, None, NULL),
        ):
            arguments = list(good)
            arguments[position] = value
            assert f(*[ctypes.c_void_p(None) if a is None else a for a in arguments]) == status(code, position + 1)
        for ddof in (np.nan, np.inf, -np.inf, 2.0**62, 2.0**-70, -(2.0**-61)) if len(good) > 6 else ():
            assert f(*good[:6], ctypes.c_double(ddof)) == status(RANGE, 7)
        assert out[0] == 7


@SPREAD
@pytest.mark.parametrize("fmt", FORMATS)
def test_degrees_of_freedom(lib, rng, what, fmt):
    x = rng.standard_normal(9).astype(dtype_of(fmt))
    for ddof in (0, 1, 8, -3, 1.5, 8.75, -(2.0**40), 2.0**-20, -0.1):
        assert call(lib, what, fmt, x, "f64", ddof) == expected(what, x, "f64", Fraction(ddof)), ddof
    infinity, nan = 0x7FF0000000000000, 0x7FF8000000000000
    for ddof in (9, 9.5, 1e10):  # a divisor of 0, as NumPy has it
        assert call(lib, what, fmt, x, "f64", ddof) == infinity
        assert call(lib, what, fmt, np.repeat(x[:1], 9), "f64", ddof) == nan
    assert call(lib, what, fmt, x[:1], "f64", 1) == nan and call(lib, what, fmt, x[:1], "f64", 0) == 0


@SPREAD
@pytest.mark.parametrize("fmt", FORMATS)
def test_spread_of_special_values(lib, what, fmt):
    inf, nan = np.inf, np.nan
    canonical = {"f16": 0x7E00, "bf16": 0x7FC0, "f32": 0x7FC00000, "f64": 0x7FF8000000000000}
    bits = lambda values: call(lib, what, fmt, np.array(values, dtype_of(fmt)), fmt)  # noqa: E731
    for values in ([1, nan], [nan, inf], [1, inf, 2], [-inf, 1], [inf, inf], [inf, -inf], [], [1.0] * 100 + [nan]):
        assert bits(values) == canonical[fmt]
    assert bits([0.0, -0.0]) == bits([-0.0, -0.0]) == bits([1.5] * 100) == bits([-3.0] * 1000) == 0


@SPREAD
@pytest.mark.parametrize("fmt", FORMATS)
def test_large_means_and_narrow_spreads(lib, rng, what, fmt):
    """Standard deviations of a few last places of the mean, and terms at both ends of the range."""
    dtype = dtype_of(fmt)
    place = 2.0 ** (1 - oracle.FORMATS[fmt][0])
    for n in (2, 5, 100, 1000):
        x = (1 + place * rng.integers(0, 4, n)).astype(dtype)
        ends = np.array([float(np.array(2.0**8, dtype)), *(x * dtype.type(2.0**-6))], dtype)
        one = np.array([*([1.0] * n), 1 + place], dtype)
        for row in (x, -x, ends, one, x * dtype.type(2.0**-10), x * dtype.type(2.0**10)):
            if (row != row[0]).any():
                for out in (fmt, "f32"):
                    assert call(lib, what, fmt, row, out) == expected(what, row, out)


@SPREAD
def test_spread_at_the_ends_of_the_range(lib, rng, what):
    for scale in (2.0**1023, 2.0**-1074, 2.0**-1022, 2.0**-537, 2.0**511):
        x = rng.integers(-(2**20), 2**20, 50) * 2.0**-20 * scale
        x[0], x[1] = scale, -scale
        for row in (x, np.append(x, 1.0), np.array([scale, -scale]), np.abs(x)):
            for out in FORMATS:
                assert call(lib, what, "f64", row, out) == expected(what, row, out)


def beside_a_variance(rng):
    """Pairs a, -a, of which the last are chosen so that the variance is a hair from the midpoint of two f32 numbers."""
    a = [Fraction(float(v)) for v in (rng.standard_normal(500)).astype("f4")]
    square = sum(v * v for v in a)
    n = 1024
    want = (1 + Fraction(int(square * 2**24 // 512) | 1, 2**24)) * 512  # n/2 times an odd multiple of 2^-24, above square
    rest = want - square
    while len(a) < n // 2:
        root = np.array([float(rest) ** 0.5 * (1 - 2.0**-24)], "f4") if rest > 0 else np.zeros(1, "f4")
        v = Fraction(float(root[0]))
        a.append(v if rest >= v * v else Fraction(0))
        rest -= a[-1] * a[-1]
    a = np.array([float(v) for v in a], "f4")
    return rng.permutation(np.concatenate([a, -a]))


def test_variances_beside_a_midpoint_and_the_control(lib, rng):
    rows = [beside_a_variance(rng) for _ in range(40)]
    want = [rounded(exact_variance(row, 0), dtype_of("f32")) for row in rows]
    assert [call(lib, "var", "f32", row, "f32", 0) for row in rows] == want
    shrunk = elementwise_library.libraries(native.control_library())
    control = Reductions(shrunk[lib.isa()].library)
    assert [call(control, "var", "f32", row, "f32", 0) for row in rows] != want


def beside_a_midpoint(rng):
    """1024 terms whose mean is a hair from the midpoint of two f32 numbers; binary64 sums of them err by more than the hair."""
    noise = (rng.standard_normal(510) * 1000).astype("f4")
    hair = 2.0**-40 * rng.choice([-1, 1])
    return rng.permutation(np.concatenate([noise, -noise, np.array([1024, 2.0**-14, hair, 0], "f4")]))


def test_means_beside_a_midpoint_and_the_control(lib, rng):
    rows = [beside_a_midpoint(rng) for _ in range(50)]
    want = [expected("mean", row, "f32") for row in rows]
    assert [call(lib, "mean", "f32", row, "f32") for row in rows] == want
    shrunk = elementwise_library.libraries(native.control_library())
    control = Reductions(shrunk[lib.isa()].library)
    assert [call(control, "mean", "f32", row, "f32") for row in rows] != want

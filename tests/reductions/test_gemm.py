"""rm_gemm, RN(alpha A B + beta C), against exact rationals on every instruction set: one rounding, whatever the factors."""

import itertools
import math
from fractions import Fraction

import ml_dtypes
import native
import numpy as np
import pytest
from convolution_library import FORMATS, dtype_of
from exact_oracle import bits, exact
from flushing import flushing
from gemm_library import (
    F64,
    check,
    expected,
    gemm,
)
from reductions_library import (
    COL_MAJOR,
    ENUM,
    I64,
    LD,
    NO_TRANS,
    NULL,
    OK,
    OVERLAP,
    ROW_MAJOR,
    SIZE,
    TRANS,
    Reductions,
    pointer,
    status,
)


@pytest.fixture
def rng():
    return np.random.default_rng(70)


def data(rng, kind, shape, dtype):
    x = rng.standard_normal(shape)
    if kind == "integers":
        x = np.rint(2 * x)
    elif kind == "spread":
        x *= 2.0 ** rng.integers(-6, 7, shape)
    elif kind in ("wide", "least"):  # exponents over half of the range; subnormal numbers beside a few others
        info = ml_dtypes.finfo(dtype)
        wide = np.ldexp(x, rng.integers(info.minexp // 2, info.maxexp // 2, shape))
        x = (
            np.where(rng.random(shape) < 0.9, np.rint(8 * x) * float(info.smallest_subnormal), wide)
            if kind == "least"
            else wide
        )
    return x.astype(dtype)


FACTORS = [(1.0, 1.0), (1.0, -1.0), (0.5, 3.0), (-1 / 3, 1e-3), (np.pi, 0.0), (0.0, 0.1), (0.0, 0.0), (-2.0, 2.0**-40)]


@pytest.mark.sample(6)
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("kind", ["gaussian", "integers", "spread", "wide", "least"])
def test_values(lib, rng, fmt, kind):
    dtype = dtype_of(fmt)
    for (m, n, k), (alpha, beta) in itertools.product(((3, 5, 4), (9, 27, 140), (2, 2, 0)), FACTORS):
        check(lib, fmt, alpha, *(data(rng, kind, s, dtype) for s in ((m, k), (k, n))), beta, data(rng, kind, (m, n), dtype))


@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_cancellation(lib, rng, fmt):
    """beta C all but takes alpha A B away: what is left is exact, ties included."""
    dtype = dtype_of(fmt)
    for alpha in (1.0, 0.75, 1 / 3):
        a, b = data(rng, "gaussian", (6, 40), dtype), data(rng, "gaussian", (40, 9), dtype)
        c = np.zeros((6, 9), dtype)
        assert gemm(lib, fmt, alpha, a, b, 0.0, c) == OK
        check(lib, fmt, alpha, a, b, -1.0, c)
        check(lib, fmt, alpha, a, b, -1.0 + 2.0**-52, c)
    half = np.finfo(dtype).eps / 2
    for off in (0.0, half * 2.0**-60, -half * 2.0**-60):  # 1 + half an ulp, and a hair beside it
        check(lib, fmt, 1.0, np.array([[1.0, half, off]], dtype), np.ones((3, 1), dtype), 1.0, np.zeros((1, 1), dtype))
        check(lib, fmt, 1.0, np.array([[half, off]], dtype), np.ones((2, 1), dtype), 1.0, np.ones((1, 1), dtype))


def test_scaled_products_beside_ties(lib, rng):
    """alpha A B in float64, whose sums are brought to a tie of the scaled result, up to 2^-100 of it, by the last two products."""
    for alpha in (1 / math.sqrt(32), 1 / math.sqrt(128), -0.1, 3.0, 0.125):
        a, b = rng.standard_normal((12, 9)), rng.standard_normal((9, 5))
        b[-2:] = [[2.0**-60], [1.0]]
        for row in a:
            product = Fraction(alpha) * exact(row[:-2], b[:-2, 0])
            tie = Fraction(float(product)) + Fraction(math.ulp(float(product))) / 2
            rest = tie / Fraction(alpha) - product / Fraction(alpha)
            row[-1] = float(rest)
            row[-2] = float((rest - Fraction(row[-1])) * 2**60)
        check(lib, "f64", alpha, a, b, 0.0, np.full((12, 5), np.nan))


@pytest.mark.parametrize("fmt", ["f16", "bf16", "f32"])
def test_products_that_vanish(lib, rng, fmt):
    """Sums of zeros, as of sparse factors, are told from sums that cancel, which are tiny or 0: columns side by side, and not."""
    dtype = dtype_of(fmt)
    for shape in ((12, 40, 27), (7, 130, 8)):
        a, b = (
            data(rng, "gaussian", s, dtype) * (rng.random(s) < share) for s, share in ((shape[:2], 0.05), (shape[1:], 0.2))
        )
        a[3, :2], b[:2, 5] = [1, 1], [0.75, -0.75]  # cancels
        a[4, :3], b[:3, 5] = [1, 1, 2.0**-10], [0.75, -0.75, 2.0**-10]
        a, b = a.astype(dtype), b.astype(dtype)
        old = np.full((shape[0], shape[2]), np.nan, dtype)
        check(lib, fmt, 1.0, a, b, 0.0, old)
        assert gemm(lib, fmt, 1.0, a, np.ascontiguousarray(b.T), 0.0, old, tb=TRANS) == OK
        assert (bits(old) == expected(fmt, 1.0, a, b, 0.0, old)).all()
    a, b = np.zeros((24, 64), np.float32), np.ones((64, 48), np.float32)
    a[:, :32], b[:32] = rng.standard_normal((24, 32)), 0
    c = np.full((24, 48), np.nan, np.float32)
    lib.stats()
    assert gemm(lib, "f32", 1.0, a, b, 0.0, c) == OK
    assert not c.any() and not np.signbit(c).any() and lib.stats() == (24 * 48, 0, 0)


def test_a_tiny_sum_beside_a_tie(lib):
    """beta d lies half-way between two float64 numbers, or two subnormal ones, and the sum is far below its last bits, or 0."""
    tie = 2.0**52 + 1  # 3 of them have 54 bits
    tiny = [5e-324, -5e-324, 0.0, 2.0**-700, -(2.0**-700)]
    rows = [[x, y, 0.0] for x in tiny for y in (1.0, 2.0**-500)]
    b = np.array([[1.0, -1.0, 3.0], [2.0**-600, 2.0**-600, 0.0], [0.0, 0.0, 1.0]])
    for beta, d in ((3.0, tie), (-3.0, tie), (3.0, tie * 2.0**900), (0.5, 5e-324), (0.5, -15e-324), (0.75, 2.0**-1072 * 3)):
        for alpha in (1.0, -1.0, 0.3):
            a = np.array([[x, 0.0, 0.0] for x in tiny])
            check(lib, "f64", alpha, a, b, beta, np.full((len(a), 3), d))
            check(lib, "f64", alpha, np.array(rows), b, beta, np.full((len(rows), 3), d))


@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_ends_of_the_range(lib, fmt):
    dtype = dtype_of(fmt)
    info = np.finfo(dtype)
    values = [info.max, -info.max, info.smallest_subnormal, info.tiny, 1.5, 0.0]
    factors = [1.0, -0.5, 2.0**-1074, 1.7e308, 1e-300, 3.0]
    one = np.ones((1, 1), dtype)
    for x, y, alpha, beta in itertools.product(values, values, factors, factors):
        check(lib, fmt, alpha, np.array([[x]], dtype), one, beta, np.array([[y]], dtype))


@pytest.mark.parametrize("fmt", FORMATS)
def test_special(lib, rng, fmt):
    dtype = dtype_of(fmt)
    special = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -2.0])
    for alpha, beta in itertools.product([0.0, 1.0, -2.0, np.inf, np.nan], repeat=2):
        a, b, c = (
            rng.choice(special, s, p=[0.1, 0.05, 0.05, 0.2, 0.1, 0.3, 0.2]).astype(dtype) for s in ((5, 3), (3, 9), (5, 9))
        )
        check(lib, fmt, alpha, a, b, beta, c)


@pytest.mark.sample(4)
@pytest.mark.parametrize("fmt", FORMATS)
def test_infinite_old_elements(lib, rng, fmt):
    """As the mask of an attention adds them; one row and one column of the factors are not finite, and alpha S may overflow binary64."""
    dtype = dtype_of(fmt)
    a, b, c = (data(rng, "gaussian", s, dtype) for s in ((9, 20), (20, 37), (9, 37)))
    c = np.where(rng.random(c.shape) < 0.5, rng.choice([-np.inf, np.inf, np.nan], c.shape, p=[0.7, 0.2, 0.1]), c).astype(
        dtype
    )
    a *= dtype.type(100)
    spoilt_a, spoilt_b = a.copy(), b.copy()
    spoilt_a[3, 7], spoilt_b[2, 30] = np.inf, np.nan
    for alpha, beta in (
        (0.125, 1.0),
        (0.0, -1.0),
        (1.0, 0.0),
        (1.7e308, -1e300),
        (2.0, np.inf),
        (np.inf, 1.0),
        (np.nan, 2.0),
    ):
        check(lib, fmt, alpha, a, b, beta, c)
        check(lib, fmt, alpha, spoilt_a, spoilt_b, beta, c)


def test_infinite_old_elements_are_decided_at_once(lib, rng):
    a, b = data(rng, "gaussian", (8, 64), np.float32), data(rng, "gaussian", (64, 24), np.float32)
    lib.stats()
    assert gemm(lib, "f32", 0.125, a, b, 1.0, np.full((8, 24), -np.inf, np.float32)) == OK
    assert gemm(lib, "f64", 0.125, a.astype(float), b.astype(float), 1.0, np.full((8, 24), -np.inf)) == OK
    assert lib.stats() == (384, 0, 0)


@pytest.mark.parametrize("fmt", FORMATS)
def test_nan_factors(lib, fmt):
    """Whatever the payload, the result is the canonical NaN."""
    dtype = dtype_of(fmt)
    one, nan = np.ones((8, 8), dtype), int(bits(np.array(np.nan, dtype))) & (2 ** (8 * dtype.itemsize - 1) - 1)
    for payload in (0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0x7FF8000000000001):
        factor = np.array(payload, np.uint64).view(np.float64)[()]
        for alpha, beta in ((factor, 0.0), (factor, 1.0), (1.0, factor)):
            c = one.copy()
            assert gemm(lib, fmt, alpha, one, one, beta, c) == OK
            assert (bits(c) == nan).all()


def test_subnormal_factors_where_the_caller_flushes(lib):
    least, large = 2.0**-1074, np.full((1, 1), 2.0**1000)
    some, one, out = np.full((1, 1), 2.0**70), np.ones((1, 1)), [np.full((1, 1), 7.0), large.copy()]
    zero = np.zeros((1, 1))
    with flushing():
        assert gemm(lib, "f64", least, large, some, 0.0, out[0]) == OK
        assert gemm(lib, "f64", 1.0, zero, one, least, out[1]) == OK
    assert [float(v[0, 0]) for v in out] == [2.0**-4, 2.0**-74]


def test_layouts_and_unread_operands(lib, rng):
    m, n, k = 5, 9, 7
    a, b, c = (data(rng, "gaussian", s, np.float32) for s in ((m, k), (k, n), (m, n)))
    want = expected("f32", 0.5, a, b, 2.0, c)
    for layout, ta, tb in itertools.product((ROW_MAJOR, COL_MAJOR), (NO_TRANS, TRANS), (NO_TRANS, TRANS)):
        col = layout == COL_MAJOR
        stored = [(x.T if (t == TRANS) != col else x).copy() for x, t in ((a, ta), (b, tb), (c, NO_TRANS))]
        lead = [x.shape[1] for x in stored]
        assert gemm(lib, "f32", 0.5, *stored[:2], 2.0, stored[2], layout, ta, tb, (m, n, k), lead) == OK
        got = stored[2].T if col else stored[2]
        assert np.array_equal(bits(np.ascontiguousarray(got)), want)
    out = c.copy()
    assert gemm(lib, "f32", 0.0, None, None, 2.0, out, shape=(m, n, k), ld=(k, n, n)) == OK
    assert np.array_equal(out, 2 * c)
    out = np.full((m, n), np.nan, np.float32)
    assert gemm(lib, "f32", 1.5, a, b, 0.0, out) == OK
    assert np.array_equal(bits(out), expected("f32", 1.5, a, b, 0.0, out))


def test_bad_arguments(lib, rng):
    a, b, c = (np.ones(s, np.float32) for s in ((3, 4), (4, 5), (3, 5)))
    assert lib.c.rm_gemm(4, ROW_MAJOR, NO_TRANS, NO_TRANS, I64(1), I64(1), I64(1), F64(1), pointer(a), I64(1), pointer(b), I64(1), F64(1), pointer(c), I64(1)) == status(ENUM, 1)  # fmt: skip
    assert gemm(lib, "f32", 1, a, b, 1, c, layout=0) == status(ENUM, 2)
    assert gemm(lib, "f32", 1, a, b, 1, c, ta=0, shape=(3, 5, 4)) == status(ENUM, 3)
    assert gemm(lib, "f32", 1, a, b, 1, c, tb=0) == status(ENUM, 4)
    for position, shape in ((5, (-1, 5, 4)), (6, (3, -1, 4)), (7, (3, 5, -1))):
        assert gemm(lib, "f32", 1, a, b, 1, c, shape=shape) == status(SIZE, position)
    for position, ld in ((10, (3, 5, 5)), (12, (4, 4, 5)), (15, (4, 5, 4))):
        assert gemm(lib, "f32", 1, a, b, 1, c, ld=ld) == status(LD, position)
    for position, arguments in ((9, (None, b, c)), (11, (a, None, c)), (14, (a, b, None))):
        assert gemm(lib, "f32", 1, *arguments[:2], 1, arguments[2], shape=(3, 5, 4), ld=(4, 5, 5)) == status(NULL, position)
    assert gemm(lib, "f32", 1, a, b, 1, a, shape=(3, 4, 4), ld=(4, 5, 4)) == status(OVERLAP, 14)
    assert (c == 1).all()


def test_every_tier_is_taken(lib, rng):
    for fmt in ("f32", "f64"):
        dtype = dtype_of(fmt)
        a, b = data(rng, "gaussian", (8, 64), dtype), data(rng, "gaussian", (64, 24), dtype)
        c = np.zeros((8, 24), dtype)
        lib.stats()
        assert gemm(lib, fmt, 1.5, a, b, 0.0, c) == OK
        assert lib.stats()[0] > 180
        assert gemm(lib, fmt, 1.5, a, b, -1.0, c) == OK
        assert sum(lib.stats()[1:]) == 192
        assert gemm(lib, fmt, 1.0, a * dtype.type(np.inf), b, 1.0, c) == OK
        assert lib.stats() == (192, 0, 0)
        c[:] = 1.5  # times beta a midpoint, of which the products are too small a part for two numbers
        assert gemm(lib, fmt, 2.0**-400, a, b, 1.0 + float(np.finfo(dtype).eps), c) == OK
        assert lib.stats() == (0, 0, 192)


def test_threads(lib, rng):
    a, b, c = (data(rng, "gaussian", s, np.float32) for s in ((300, 400), (400, 500), (300, 500)))
    results = []
    for n in (1, 2):
        lib.threads(n)
        results.append(c.copy())
        assert gemm(lib, "f32", 0.3, a, b, 0.7, results[-1]) == OK
    assert results[0].tobytes() == results[1].tobytes()
    rows, columns = rng.integers(0, 300, 12), rng.integers(0, 500, 12)
    want = expected("f32", 0.3, a[rows], b[:, columns], 0.7, c[np.ix_(rows, columns)])
    assert np.array_equal(bits(results[0][np.ix_(rows, columns)]), want)


@pytest.mark.long
def test_control_with_bounds_too_small(rng):
    """With bounds made 2^20 times too small results are wrong, and this oracle sees it."""
    path = native.control_library()
    lib, wrong = Reductions(path), 0
    for _ in range(20):
        a, b = (data(rng, "spread", s, np.float32) for s in ((20, 400), (400, 20)))
        a[:, ::2] = -a[:, 1::2]
        b[::2] = np.nextafter(b[1::2], np.float32(np.inf))
        c = data(rng, "gaussian", (20, 20), np.float32)
        got = c.copy()
        assert gemm(lib, "f32", 1 / 3, a, b, 2.0**-24, got) == OK
        wrong += np.count_nonzero(bits(got) != expected("f32", 1 / 3, a, b, 2.0**-24, c))
    assert wrong > 0

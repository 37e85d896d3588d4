"""rm_fft of the C library against Arb and cyclotomic integers, bit by bit, on every instruction set."""

import ctypes
import itertools
import math
from fractions import Fraction

import fft_oracle as oracle
import numpy as np
import pytest
from exact_oracle import CANONICAL_NAN, FORMATS, round_rational
from fft_library import COMPLEX_TYPES, bits, call, empty, transform
from fft_oracle import BY_N, COMPLEX, FROM_REAL, ONE, ROOT, TO_REAL
from flushing import flushing
from reductions_library import ENUM, FE_INVALID, FE_OVERFLOW, NULL, OK, OVERLAP, SIZE, Reductions, status

FMT = pytest.mark.parametrize("fmt", ["f32", "f64"])
KINDS, SCALES = (COMPLEX, FROM_REAL, TO_REAL), (ONE, ROOT, BY_N)


@pytest.fixture(scope="module")
def lib(isa_library):
    return isa_library


def numbers(values, fmt, kind):
    """Complex values as the input of a transform of this kind."""
    values = np.asarray(values, np.complex128)
    return values.real.astype(FORMATS[fmt][0]) if kind == FROM_REAL else values.astype(COMPLEX_TYPES[fmt])


def shape_of(sizes, kind):
    return (*sizes[:-1], sizes[-1] // 2 + 1) if kind == TO_REAL else tuple(sizes)


def normal(rng, sizes, fmt, kind):
    shape = shape_of(sizes, kind)
    return numbers(rng.normal(size=shape) + 1j * rng.normal(size=shape), fmt, kind)


def small_integers(rng, sizes, fmt, kind):
    shape = shape_of(sizes, kind)
    return numbers(rng.integers(-2, 3, shape) + 1j * rng.integers(-2, 3, shape), fmt, kind)


def wide(rng, sizes, fmt, kind):
    """Exponents over much of the range, subnormal numbers among them."""
    shape, least, greatest = shape_of(sizes, kind), *((-149, 118) if fmt == "f32" else (-1074, 1013))
    scale = 2.0 ** rng.integers(least, greatest, (2, *shape)).astype(float)
    a, b = rng.normal(size=(2, *shape)) * scale
    return numbers(a + 1j * b, fmt, kind)


def check(lib, x, fmt, kind=COMPLEX, sign=-1, scale=ONE, sizes=None):
    got = transform(lib, x, fmt, kind, sign, scale, sizes)
    want = oracle.transform(x, fmt, kind, sign, scale, sizes)
    assert np.array_equal(got, want), (fmt, kind, sign, scale, sizes, x)


def sample(lib, x, fmt, kind, sign, scale, sizes, rng, count=60):
    """The same at some places."""
    got = transform(lib, x, fmt, kind, sign, scale, sizes)
    shape = got.shape if kind == TO_REAL else got.shape[:-1]
    wanted = {tuple(int(rng.integers(n)) for n in shape) for _ in range(count)} | {(0,) * len(shape)}
    for k, want in oracle.transform(x, fmt, kind, sign, scale, sizes, sorted(wanted)).items():
        assert tuple(np.atleast_1d(got[k])) == want, (fmt, kind, sign, scale, sizes, k)


# ------------------------------------------------------------------------------------------------------------ values


@FMT
@pytest.mark.parametrize("data", [normal, small_integers, wide], ids=lambda f: f.__name__)
def test_every_short_length(lib, fmt, data):
    rng = np.random.default_rng(1)
    for n in range(1, 65):
        for kind in KINDS:
            sign, scale = (-1, 1)[n % 2], SCALES[(n + kind) % 3]
            check(lib, data(rng, (n,), fmt, kind), fmt, kind, sign, scale, (n,))


@FMT
def test_all_kinds_signs_and_factors(lib, fmt):
    rng = np.random.default_rng(2)
    for n, kind, sign, scale in itertools.product((1, 2, 8, 12, 15, 16, 20), KINDS, (-1, 1), SCALES):
        for data in (normal, small_integers):
            check(lib, data(rng, (n,), fmt, kind), fmt, kind, sign, scale, (n,))


@FMT
def test_longer_lengths(lib, fmt):
    rng = np.random.default_rng(3)
    for n in (97, 120, 128, 210, 243, 256, 343, 509, 625, 1000, 1024, 2048, 2187, 3001, 4096):
        for kind, data in ((n % 3, normal), (COMPLEX, small_integers)):
            scale = SCALES[n % 3] if n < 1000 else ONE
            sample(lib, data(rng, (n,), fmt, kind), fmt, kind, (-1, 1)[n % 2], scale, (n,), rng, 12)


@FMT
def test_large_primes(lib, fmt):
    """A pass of a prime above 64 is a convolution: of one transform, of some that have a lane each, of sub-transforms with and without twiddle factors."""
    rng = np.random.default_rng(33)
    for batch, n in ((1, 67), (3, 71), (8, 67), (9, 101), (3, 134), (1, 67 * 71), (2, 3 * 83), (8, 2053), (1, 16 * 73)):
        kind, sign = int(rng.integers(0, 3)), (-1, 1)[n % 2]
        x = np.stack([normal(rng, (n,), fmt, kind) for _ in range(batch)])
        got = transform(lib, x, fmt, kind, sign, ONE, (batch, n), 1)
        for i in range(batch):
            assert np.array_equal(got[i], transform(lib, x[i].copy(), fmt, kind, sign, ONE, (n,)))
        sample(lib, x[batch - 1].copy(), fmt, kind, sign, ONE, (n,), rng, 12)


@FMT
def test_long_sums_that_cancel(lib, fmt):
    """The difference of two rows' transforms, which is that of one last place: sums of hundreds of terms beyond double-double."""
    rng = np.random.default_rng(34)
    for n in (191, 521, 1031):
        x = normal(rng, (2, n), fmt, COMPLEX)
        x[0, 0] = 1
        x[1] = x[0]
        x[0, 0] += ulp(fmt)
        want = bits(np.full(n, ulp(fmt), x.dtype), fmt)
        assert np.array_equal(transform(lib, x, fmt, COMPLEX, -1, ONE, (2, n))[1], want)


SHAPES = [(2, 2), (4, 4), (3, 5), (1, 7), (7, 1), (6, 10), (8, 12), (2, 3, 4), (4, 4, 4), (2, 1, 3, 5)]


@FMT
@pytest.mark.parametrize("data", [normal, small_integers], ids=lambda f: f.__name__)
def test_several_axes_round_once(lib, fmt, data):
    rng = np.random.default_rng(4)
    for i, sizes in enumerate(SHAPES):
        for kind in KINDS:
            check(lib, data(rng, sizes, fmt, kind), fmt, kind, (-1, 1)[i % 2], SCALES[i % 3], sizes)


@FMT
def test_many_transforms_and_strides(lib, fmt):
    """Transforms lie in the lanes of vectors where there are enough of them; the results are those of each by itself."""
    rng = np.random.default_rng(5)
    for batch, n, kind in itertools.product((1, 3, 8, 19), (1, 5, 8, 30), KINDS):
        shape = (batch, *shape_of((n,), kind))
        x = numbers(rng.normal(size=shape) + 1j * rng.integers(-1, 2, shape), fmt, kind)
        got = transform(lib, x, fmt, kind, 1, BY_N, (batch, n), 1)
        for i in range(batch):
            assert np.array_equal(got[i], transform(lib, x[i].copy(), fmt, kind, 1, BY_N, (n,)))
        out = empty(fmt, kind, (batch, n))
        spread = np.full((out.shape[1], 2 * batch), 7, out.dtype).T[::-2]  # another order, backwards, gaps
        away = np.full((shape[1], 3 * shape[0]), 7, x.dtype).T[::3]
        away[...] = x
        assert call(lib, away, fmt, spread, (batch, n), kind, 1, BY_N, 1) == OK
        assert np.array_equal(bits(np.ascontiguousarray(spread), fmt), got)
        assert np.all(spread.base.T[0::2] == 7)
        columns = np.asfortranarray(out)
        assert call(lib, np.asfortranarray(x), fmt, columns, (batch, n), kind, 1, BY_N, 1) == OK
        assert np.array_equal(bits(np.ascontiguousarray(columns), fmt), got)


@FMT
def test_real_and_imaginary_numbers(lib, fmt):
    """Complex transforms of real numbers, and of imaginary ones, some beside others in the lanes: zeros where the index is its own opposite."""
    rng = np.random.default_rng(6)
    for sizes, sign in itertools.product(((1,), (2,), (9,), (12,), (3, 4), (2, 6)), (-1, 1)):
        x = numbers(rng.normal(size=(19, *sizes)) + 1j * rng.normal(size=(19, *sizes)), fmt, COMPLEX)
        x.imag[::3], x.real[1::3] = 0.0, -0.0
        got = transform(lib, x, fmt, COMPLEX, sign, ROOT, (19, *sizes), len(sizes))
        for row, want in zip(x, got, strict=True):
            assert np.array_equal(want, oracle.transform(row, fmt, COMPLEX, sign, ROOT, sizes)), (sizes, sign)


@FMT
def test_threads(lib, fmt):
    rng = np.random.default_rng(6)
    x = numbers(rng.normal(size=(64, 300)), fmt, COMPLEX)
    found = []
    for threads in (1, 3):
        Reductions(lib).threads(threads)
        found.append(transform(lib, x, fmt, COMPLEX, -1, ROOT, (64, 300), 1))
    Reductions(lib).threads(1)
    assert np.array_equal(*found)


@pytest.mark.parametrize("n", [4096, 3000, 2187, 2401, 2048, 1100])
def test_a_few_undecided_parts(lib, n):
    """Of a transform along one axis they are made alone, of two axes with all others: the bits of two axes of which one has one element."""
    rng = np.random.default_rng(n)
    Reductions(lib).stats()
    x = numbers(rng.normal(size=(60, n)) + 1j * rng.normal(size=(60, n)), "f32", COMPLEX)
    for sign, scale in ((-1, ONE), (1, ROOT), (-1, BY_N)):
        alone = transform(lib, x, "f32", COMPLEX, sign, scale, (60, n), 1)
        left = Reductions(lib).stats()[2]
        whole = transform(lib, x[:, None].copy(), "f32", COMPLEX, sign, scale, (60, 1, n), 2)
        assert np.array_equal(alone, whole.reshape(alone.shape)) and left
        Reductions(lib).stats()
    for real, sign in ((FROM_REAL, -1), (TO_REAL, 1)):
        given = x.real.copy() if real == FROM_REAL else x[:, : n // 2 + 1]
        whole = given[:, None].copy()
        alone = transform(lib, given, "f32", real, sign, ONE, (60, n), 1)
        assert np.array_equal(alone, transform(lib, whole, "f32", real, sign, ONE, (60, 1, n), 2).reshape(alone.shape))


# -------------------------------------------------------------------------------------------------- boundaries of rounding


def ulp(fmt):
    return 2.0**-23 if fmt == "f32" else 2.0**-52


@pytest.mark.sample(4)
@FMT
def test_midpoints(lib, fmt):
    """Rational results on, and beside, the midpoint of two numbers: at 0, n/2, n/4 and n/3 turns, times every factor."""
    u = ulp(fmt)
    for n in (2, 3, 4, 5, 6, 8, 9, 12, 15, 16, 30, 36, 64):
        for tail in (0.0, u * u, -u * u, 2.0**-60 * u):
            for first in (1.0, 1.0 + u):
                x = np.zeros((3, n), np.complex128)
                x[:, 0], x[:, 1 % n] = first, u / 2
                x[:, n - 1] += tail if n > 2 else 0.0
                x[1] *= 1j
                x[2, 0] += 1j * first
                for row, sign in itertools.product(x, (-1, 1)):
                    check(lib, numbers(row, fmt, COMPLEX), fmt, COMPLEX, sign, ONE, (n,))
                    check(lib, numbers(row * n, fmt, COMPLEX), fmt, COMPLEX, sign, BY_N, (n,))
                for scale, turned, place in itertools.product(SCALES, (-1, 1), (1, 4)):
                    halves = np.zeros(n)  # at sixths of a turn the second element counts half
                    halves[0], halves[n - 1] = first, tail if n > 2 else 0.0
                    halves[place % n] += turned * u
                    factor = {ONE: 1, ROOT: math.isqrt(n), BY_N: n}[scale]
                    check(lib, numbers(halves * factor, fmt, FROM_REAL), fmt, FROM_REAL, -1, scale, (n,))


@FMT
def test_midpoints_of_several_axes(lib, fmt):
    """Real elements, so that sixths of a turn of both axes add up, with a divisor that is no power of two."""
    u = ulp(fmt)
    for sizes in ((6, 6), (3, 12), (2, 30), (4, 6), (3, 2, 6)):
        for scale, factor in ((ONE, 1), (BY_N, math.prod(sizes))):
            for tail in (u, u + u * u):
                x = np.zeros(sizes)
                x[(0,) * len(sizes)], x[(1,) * len(sizes)] = factor, tail * factor
                check(lib, numbers(x, fmt, FROM_REAL), fmt, FROM_REAL, -1, scale, sizes)


@FMT
def test_midpoints_times_an_irrational_factor(lib, fmt):
    """Gauss's sums: the transform of Legendre's symbol is the symbol times a root of its prime, here spread over 4 p elements."""
    u = ulp(fmt)
    for p in (5, 13):
        symbol = np.array([0 if j == 0 else (1 if pow(j, (p - 1) // 2, p) == 1 else -1) for j in range(p)])
        for tail in (u / 2, u / 2 + u * u, u):
            x = np.zeros(4 * p)
            x[4 * np.arange(p)] = 0
            for j in range(p):  # element j + p t belongs to the same root at multiples of 4
                x[j], x[j + p] = symbol[j] * 2.0, symbol[j] * 2 * tail
            check(lib, numbers(x, fmt, FROM_REAL), fmt, FROM_REAL, -1, ROOT, (4 * p,))
            check(lib, numbers(x, fmt, COMPLEX), fmt, COMPLEX, 1, ROOT, (4 * p,))


@FMT
def test_cancellation_to_zero_and_almost(lib, fmt):
    """An exact zero is +0, also where no symmetry of the input shows it; one last place beside it, it is not."""
    least = 2.0**-149 if fmt == "f32" else 2.0**-1074
    for n in (3, 5, 6, 7, 9, 12, 15, 16, 20, 21):
        x = np.ones(n, np.complex128) * (1 + 2j)
        check(lib, numbers(x, fmt, COMPLEX), fmt, COMPLEX, -1, ONE, (n,))
        check(lib, numbers(-x, fmt, COMPLEX), fmt, COMPLEX, 1, ROOT, (n,))
        tone = np.zeros(n, np.complex128)
        tone[:: min(d for d in range(2, n + 1) if n % d == 0)] = 3
        check(lib, numbers(tone, fmt, COMPLEX), fmt, COMPLEX, -1, BY_N, (n,))
        for off in (least, 1.0 + ulp(fmt)):
            y = x.copy()
            y[n // 2] = off if off < 1 else y[n // 2] * off
            check(lib, numbers(y, fmt, COMPLEX), fmt, COMPLEX, -1, ONE, (n,))
            y[:] = 1
            y[0] += least * 0.0
            y[n - 1] = off
            check(lib, numbers(y, fmt, FROM_REAL), fmt, FROM_REAL, -1, ONE, (n,))


@FMT
def test_small_results_and_wide_cancellation(lib, fmt):
    """Large terms that cancel and leave the smallest numbers: more primes, more limbs."""
    least, great = (2.0**-149, 2.0**100) if fmt == "f32" else (2.0**-1074, 2.0**1000)
    for n in (2, 4, 6, 8, 12):
        x = np.zeros(n, np.complex128)
        x[0], x[n // 2], x[1] = great, great, least
        check(lib, numbers(x, fmt, COMPLEX), fmt, COMPLEX, -1, ONE, (n,))
        check(lib, numbers(x, fmt, COMPLEX), fmt, COMPLEX, 1, BY_N, (n,))
        x[1 % n] = -3 * least * 1j if n > 2 else x[1]
        check(lib, numbers(x, fmt, COMPLEX), fmt, COMPLEX, -1, ROOT, (n,))
    tiny = np.arange(1, 8) * least
    for scale in SCALES:
        check(lib, numbers(tiny - 2j * tiny, fmt, COMPLEX), fmt, COMPLEX, -1, scale, (7,))


# ------------------------------------------------------------------------------------------------------ special values


def float_exceptions(call_it):
    libm = ctypes.CDLL("libm.so.6")
    libm.feclearexcept(-1)
    result = call_it()
    return result, libm.fetestexcept(FE_INVALID | FE_OVERFLOW | 4)


def of_sum(x, k, sign, imaginary, fmt):
    """What section 2 of the specification makes of the terms that are not finite."""
    n, total = len(x), set()
    for j, value in enumerate(x):
        turn = Fraction(sign * j * k, n)
        for part, quarter in ((value.real, Fraction(0)), (value.imag, Fraction(1, 4))):
            t = (turn + quarter - (Fraction(1, 4) if imaginary else 0)) % 1
            if math.isnan(part):
                return "nan"
            if math.isinf(part):
                if t in (Fraction(1, 4), Fraction(3, 4)):
                    return "nan"
                total.add((part > 0) == (t < Fraction(1, 4) or t > Fraction(3, 4)))
    return "nan" if len(total) == 2 else (("inf" if total == {True} else "-inf") if total else None)


@FMT
def test_infinities_and_nan(lib, fmt):
    inf, nan = math.inf, math.nan
    rng = np.random.default_rng(7)
    infinite = 0x7F800000 if fmt == "f32" else 0x7FF << 52
    for n in (1, 2, 3, 4, 5, 8, 12):
        for special in (
            complex(inf, 0),
            complex(0, inf),
            complex(-inf, 1),
            complex(inf, -inf),
            complex(nan, 0),
            complex(1, nan),
        ):
            x = rng.normal(size=n) + 1j * rng.normal(size=n)
            x[rng.integers(n)] = special
            if n == 5:
                x[(np.argmax(~np.isfinite(x)) + 1) % n] = complex(-inf, inf)
            for sign in (-1, 1):
                got, raised = float_exceptions(
                    lambda x=x, sign=sign: transform(lib, numbers(x, fmt, COMPLEX), fmt, COMPLEX, sign)
                )
                made = False
                for k, part in itertools.product(range(n), (0, 1)):
                    what = of_sum(x, k, sign, part, fmt)
                    want = {"nan": CANONICAL_NAN[fmt], "inf": infinite, "-inf": infinite | 1 << FORMATS[fmt][5]}[what]
                    assert got[k, part] == want, (x, k, part, sign)
                    made |= what == "nan" and not np.isnan(x.view(float)).any()
                assert raised == (FE_INVALID if made else 0)
    together = np.ones((9, 8), COMPLEX_TYPES[fmt])
    together[4, 3] = nan
    got = transform(lib, together, fmt, COMPLEX, -1, ONE, (9, 8), 1)
    assert np.array_equal(got[3], got[5]) and np.all(got[4] == CANONICAL_NAN[fmt])
    assert np.array_equal(got[3], oracle.transform(together[3], fmt))


@FMT
def test_overflow(lib, fmt):
    big = float(np.finfo(FORMATS[fmt][0]).max)
    x = numbers(np.array([big, big, -big, big]), fmt, COMPLEX)
    got, raised = float_exceptions(lambda: transform(lib, x, fmt))
    assert np.array_equal(got, oracle.transform(x, fmt)) and raised == FE_OVERFLOW
    assert np.isinf(got.view(FORMATS[fmt][0])).any()
    got, raised = float_exceptions(lambda: transform(lib, x, fmt, COMPLEX, 1, BY_N))  # the sum alone would overflow
    assert np.array_equal(got, oracle.transform(x, fmt, COMPLEX, 1, BY_N)) and raised == 0
    half = x[:3].copy()
    got, raised = float_exceptions(lambda: transform(lib, half, fmt, TO_REAL, 1, BY_N, (4,)))
    assert np.array_equal(got, oracle.transform(half, fmt, TO_REAL, 1, BY_N, (4,))) and raised == 0


@FMT
def test_zeros_are_positive(lib, fmt):
    for n in (1, 3, 8):
        x = -np.zeros(n, COMPLEX_TYPES[fmt])
        assert not transform(lib, x, fmt).any() and not transform(lib, x.real.copy(), fmt, FROM_REAL).any()


@FMT
def test_subnormals_where_the_caller_flushes_them(lib, fmt):
    x = numbers(np.arange(1, 6) * (2.0**-149 if fmt == "f32" else 2.0**-1074), fmt, COMPLEX)
    want = transform(lib, x, fmt)
    with flushing():
        got = transform(lib, x, fmt)
    assert np.array_equal(got, want) and want.any()


# ------------------------------------------------------------------------------------------------------------ arguments


def test_statuses(lib):
    x, out = np.ones((3, 4), np.complex64), np.full((3, 4), 7, np.complex64)
    assert call(lib, x, "f16", out, (3, 4)) == status(ENUM, 1)
    assert call(lib, x, "f32", out, (3, 4), kind=3) == status(ENUM, 2)
    assert call(lib, x, "f32", out, (3, 4), sign=0) == status(ENUM, 3)
    assert call(lib, x, "f32", out, (3, 4), scale=3) == status(ENUM, 4)
    assert call(lib, x, "f32", out, (3, 0)) == status(SIZE, 6)
    assert call(lib, x, "f32", out, (-3, 4), transformed=1) == status(SIZE, 6)
    assert call(lib, x, "f32", out, (3, 4), transformed=3) == status(SIZE, 7)
    assert call(lib, x, "f32", out, (3, 4), transformed=0) == status(SIZE, 7)
    assert call(lib, x, "f32", x, (3, 4)) == status(OVERLAP, 10)
    assert call(lib, x, "f32", np.broadcast_to(out[:1], (3, 4)), (3, 4)) == status(OVERLAP, 10)
    assert np.all(out == 7)
    size, strides = (ctypes.c_int64 * 1)(4), (ctypes.c_ssize_t * 1)(8)
    assert lib.rm_fft(2, 0, 1, 0, 1, size, 1, None, strides, None, strides) == status(NULL, 8)
    assert call(lib, x[:0], "f32", out[:0], (0, 4), transformed=1) == OK


def test_the_oracle_knows_closed_forms():
    """The control of the oracle: sums that are known without it."""
    one = np.array([1.0, 2.0**-24, 0, 0], np.complex64)
    got = oracle.transform(one, "f32")
    half = round_rational(Fraction(1, 2**24), "f32")
    assert got[0, 0] == round_rational(Fraction(1), "f32")  # the midpoint to even
    assert got[1, 1] == half | 1 << 31 and got[2, 1] == 0

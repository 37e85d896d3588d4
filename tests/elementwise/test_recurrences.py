"""Recurrences and series (repmath/special.h) on every ISA: what they decide beside rational numbers and mpmath, at roots, at ties and beside boundaries of
rounding; that they decide nearly all; other coefficients, which are seen; ranges and statuses."""

import ctypes
from fractions import Fraction

import elementwise_library
import mpmath
import numpy as np
import pytest
from exact_oracle import bits, rounded
from special_library import RECURRENCES, Recurrence, bessel_table, derivative, even_series, exact, recurrence

BF16 = pytest.importorskip("ml_dtypes").bfloat16
DTYPES = (np.float16, BF16, np.float32, np.float64)
ISAS = sorted(elementwise_library.libraries())


@pytest.fixture(params=ISAS)
def lib(request):
    return elementwise_library.libraries()[request.param].library


def wrong(values, made, undecided) -> int:
    """How many decided results differ from exact values, None of which are not looked at."""
    found = 0
    for value, code, open_ in zip(values, bits(made).tolist(), undecided.tolist(), strict=True):
        if value is not None and not open_:
            found += code != rounded(value, made.dtype) and not (value == 0 and code == 0)
    return found


def beside_midpoints(name: str, n: int, rng) -> list[float]:
    """Numbers of binary64 where the recurrence is next to a midpoint of binary32: the nearest ones to a solution, by a secant."""
    found = []
    for x in rng.uniform(-2, 2, 6):
        at = Fraction(float(x))
        near = np.float32(float(exact(name, at, n)))
        middle = (Fraction(float(near)) + Fraction(float(np.nextafter(near, np.float32(np.inf))))) / 2
        for _ in range(6):
            step = Fraction(1, 2**40)
            value = exact(name, at, n)
            slope = (exact(name, at + step, n) - value) / step
            at = Fraction(float(at - (value - middle) / slope)) if slope else at
        v = float(at)
        found += [float(np.nextafter(v, -9)), v, float(np.nextafter(v, 9))]
    return found


# The numbers whose results are compared: any, roots of some polynomials, few digits, both ends of the range.
def numbers(rng) -> np.ndarray:
    short = rng.integers(-(2**13), 2**13, 24) / 2.0 ** rng.integers(0, 14, 24)
    ends = [
        0.0,
        -0.0,
        0.5,
        1.0,
        -1.0,
        0.5**0.5,
        0.6**0.5,
        2.0**-30,
        3e-39,
        1e-300,
        5e-324,
        1e10,
        3e38,
        1e300,
        1.7e308,
        1 - 2.0**-9,
    ]
    return np.concatenate([rng.standard_normal(24), rng.uniform(-1, 1, 24), short, ends])


def test_recurrences(lib):
    rng, decided, of = np.random.default_rng(1), 0, 0
    for name in RECURRENCES:
        x = np.concatenate([numbers(rng), beside_midpoints(name, 5, rng)])
        degree = rng.integers(-1, 9, x.size).astype(np.float64)
        degree[-18:] = 5
        values = [exact(name, Fraction(v), int(k)) for v, k in zip(x.tolist(), degree.tolist(), strict=True)]
        for dtype in DTYPES:
            made, undecided = recurrence(lib, name, x, degree, dtype)
            assert wrong(values, made, undecided) == 0, (name, dtype)
            decided, of = decided + (~undecided)[:48].sum(), of + 48
            again, _ = recurrence(lib, name, x[:1].repeat(3), np.array([4.0]), dtype)  # one degree for all
            assert (bits(again) == bits(recurrence(lib, name, x[:1], np.array([4.0]), dtype)[0])).all()
    assert decided > 0.99 * of
    # Midpoints between two numbers of binary64 and of binary32: 2 x**2 - 1 at numbers of few digits.
    x = np.concatenate(
        [(2.0**27 + rng.integers(1, 2**26, 99) * 2 + 1) / 2.0**27, (2.0**12 + rng.integers(1, 2**11, 99) * 2 + 1) / 2.0**12]
    )
    values = [exact("chebyshev_t", Fraction(v), 2) for v in x.tolist()]
    for dtype in DTYPES:
        assert wrong(values, *recurrence(lib, "chebyshev_t", x, np.full(x.size, 2.0), dtype)) == 0
    # The control: another coefficient is seen.
    name, _, *rest = "chebyshev_t", *RECURRENCES["chebyshev_t"]
    x = rng.uniform(-1, 1, 200)
    values = [exact(name, Fraction(v), 7) for v in x.tolist()]
    made = recurrence(lib, name, x, np.full(200, 7.0), np.float64, ((1, 0), (2 + 2.0**-50, 0), *rest[1:]))
    assert wrong(values, *made) > 20


BESSEL = {(0, 1): mpmath.besseli, (1, 1): mpmath.besseli, (0, -1): mpmath.besselj, (1, -1): mpmath.besselj}


def as_fraction(value) -> Fraction:
    sign, m, e, _ = value._mpf_
    return (-1) ** sign * Fraction(int(m)) * Fraction(2) ** e


def bessel(order, sign, scaled, x) -> Fraction:
    with mpmath.workprec(400):
        value = BESSEL[order, sign](order, mpmath.mpf(x))
        return as_fraction(value * mpmath.exp(-abs(mpmath.mpf(x))) if scaled else value)


@pytest.mark.parametrize("order, sign, scaled", [(0, 1, 0), (1, 1, 0), (0, 1, 1), (1, 1, 1), (0, -1, 0), (1, -1, 0)])
def test_series(lib, order, sign, scaled):
    rng = np.random.default_rng(order + 2)
    x = np.concatenate(
        [
            rng.uniform(-9, 9, 40),
            rng.uniform(-64, 64, 20),
            [64.0, -64.0, 2.404825557695773, 3.8317059702075125, 1e-9, -(2.0**-12)],
        ]
    )
    values = [bessel(order, sign, scaled, v) for v in x.tolist()]
    for dtype in DTYPES:
        made, undecided = even_series(lib, order, sign, scaled, x, dtype)
        assert wrong(values, made, undecided) == 0
        assert undecided[:40].sum() == 0 and (sign < 0 or undecided[:62].sum() == 0)
    # At 64 the table's terms are enough, and just so: with half of them, and with other ones, results differ.
    table = bessel_table(order)
    assert wrong(values, *even_series(lib, order, sign, scaled, x, np.float64, table[:60].copy())) > 0
    table[::2] *= 1 + 2.0**-50
    assert wrong(values[:40], *(v[:40] for v in even_series(lib, order, sign, scaled, x, np.float64, table))) > 0
    outside = np.array([64.1, -1e300, np.inf, -np.inf, np.nan, 1.0])
    assert even_series(lib, order, sign, scaled, outside, np.float32)[1].tolist() == [True] * 5 + [False]


def test_derivatives(lib):
    rng = np.random.default_rng(7)
    x = np.concatenate(
        [rng.uniform(0.01, 30, 30), rng.uniform(-14.9, 0, 20), [-15.0 + 2.0**-20, 1.0, 2.0**-9, 1e6, 2.0**90, -1.5, -0.5]]
    )
    with mpmath.workprec(500):
        bernoulli = [as_fraction(mpmath.bernoulli(2 * j) / mpmath.factorial(2 * j)) for j in range(1, 22)]
    for order in range(2, 8):
        with mpmath.workprec(400):
            values = [as_fraction(mpmath.psi(order, mpmath.mpf(v))) for v in x.tolist()]
        for dtype in DTYPES:
            made, undecided = derivative(lib, order, x, dtype, bernoulli)
            assert wrong(values, made, undecided) == 0, (order, dtype)
            assert undecided[:50].sum() == 0
        changed = [b * (1 + Fraction(1, 2**30)) for b in bernoulli]
        assert wrong(values[:30], *(v[:30] for v in derivative(lib, order, x, np.float64, changed))) > 5
    outside = np.array([-15.01, 0.0, -3.0, np.inf, np.nan, 2.0**101])
    assert derivative(lib, 3, outside, np.float32, bernoulli)[1].all()


def test_statuses(lib):
    """Each wrong argument is named by its place, and nothing is written."""
    x, degree, out, undecided, left = np.ones(4), np.ones(4), np.full(4, 9.0), np.full(4, 9, np.uint8), ctypes.c_int64(9)
    f = Recurrence()
    given = [
        ctypes.byref(f),
        3,
        3,
        4,
        x.ctypes.data,
        degree.ctypes.data,
        1,
        out.ctypes.data,
        undecided.ctypes.data,
        ctypes.byref(left),
    ]
    types = [
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int64,
        *[ctypes.c_void_p] * 2,
        ctypes.c_int64,
        *[ctypes.c_void_p] * 3,
    ]
    lib.rm_recurrence_values.argtypes = types
    try:
        for place, value, error in (
            (1, None, 1),
            (2, 7, 4),
            (3, -1, 4),
            (4, -1, 2),
            (5, None, 1),
            (6, None, 1),
            (7, 2, 2),
            (8, None, 1),
            (9, None, 1),
            (10, None, 1),
        ):
            arguments = list(given)
            arguments[place - 1] = value
            assert lib.rm_recurrence_values(*arguments) == error + 256 * place, place
        for bad in (0.5, np.nan, 5000.0, -np.inf):
            degree[2] = bad
            assert lib.rm_recurrence_values(*given) == 2 + 256 * 6
    finally:
        lib.rm_recurrence_values.argtypes = None
    assert (out == 9).all() and (undecided == 9).all()

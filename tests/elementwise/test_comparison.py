"""Roundings and comparisons in multiprecision where an evaluation is off by all but a twentieth of the error that it states: they are right, since they
are left to more limbs; with half of what is stated they are wrong."""

import ctypes
from fractions import Fraction

import mpmath
import native
import numpy as np
import oracle
import pytest

SOURCE = native.ROOT / "tests/support/comparison_driver.c"
BITS = 400


@pytest.fixture(scope="module")
def drivers():
    """With whole bounds and with half of each."""
    return [ctypes.CDLL(str(native.driver(SOURCE, *flags))) for flags in ([], ["-DRM_CFG_BOUND_SHRINK=0.5"])]


def compared(drivers, cases):
    """`cases` are functions of a driver and whether an evaluation is moved, and what they must give."""
    whole, half = drivers
    assert len(cases) > 20
    for driver in drivers:
        assert [call(driver, False) for call, _ in cases] == [want for _, want in cases]
    assert [call(whole, True) for call, _ in cases] == [want for _, want in cases]
    assert [call(half, True) for call, _ in cases] == [not want for _, want in cases]


def inverse(m, e, tail, half, b, eb, by):
    def call(driver, moved):
        u64, parts = ctypes.c_uint64, (tail, half)
        distance = ctypes.c_double(by if moved else 0.0)
        return bool(driver.rm_test_erfinv_above(u64(m), e, *parts, u64(b), eb, 2 if moved else 0, distance))

    return call


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("tail", [0, 1])
def test_inverses_of_erf(drivers, tail, half):
    """Targets of 64 bits that lie beside the function at a boundary of rounding: nearer by 16 than others."""
    rng, cases, f = np.random.default_rng(41), [], mpmath.erfc if tail else mpmath.erf
    with mpmath.workprec(BITS):
        while len(cases) < 40:
            x = Fraction(float(rng.uniform(0.6, 3) if tail else rng.uniform(0.05, 0.4)))
            b, eb = int(x * 2**54), -54
            value = f(mpmath.mpf(b) / 2**54 / (mpmath.sqrt(2) if half else 1))
            e = mpmath.frexp(value)[1] - 64
            m = int(mpmath.floor(mpmath.ldexp(value, -e)))
            above = mpmath.ldexp(value, -e) - m  # the value is larger than the target by so much of its last place
            for target, away in ((m, above), (m + 1, above - 1)):
                if abs(away) < 1 / 16 and target < 2**64:
                    by = -4 * float(mpmath.ldexp(away, e))  # to the target and beyond it
                    cases.append((inverse(target, e, tail, half, b, eb, by), (away > 0) == bool(tail)))
    compared(drivers, cases)


def normal(draw, mean, std, b, by):
    def call(driver, moved):
        numbers = [ctypes.c_double(v) for v in (mean, std, b, by if moved else 0.0)]
        return bool(driver.rm_test_normal_beyond(ctypes.c_uint64(draw), *numbers[:3], 2 if moved else 0, numbers[3]))

    return call


def test_normal_numbers(drivers):
    """Draws whose tails are a hair smaller than those of boundaries, where what these have beyond a limb, which is cut off, is a hair too."""
    rng, cases = np.random.default_rng(42), []
    with mpmath.workprec(BITS):
        while len(cases) < 40:
            b, mean = float(rng.uniform(0.3, 1)), float(rng.uniform(-0.2, 0.2))
            std = float(rng.uniform(1, 2))
            r = (Fraction(b) - Fraction(mean)) / Fraction(std)
            cut = r * 2**64 % 1
            if not (r > 0 and 2.0**-50 < cut < 1 / 64):
                continue
            tail = mpmath.erfc(mpmath.mpf(r.numerator) / r.denominator / mpmath.sqrt(2))
            draw = int(mpmath.floor((mpmath.ldexp(tail, 64) - 1) / 2))  # twice it and one, the tail of the draw's complement
            nearer = mpmath.ldexp(tail, 64) - (2 * draw + 1)  # than the number
            if not 0 < nearer < 1 / 64:
                continue
            short = mpmath.erfc(mpmath.mpf(int(r * 2**64)) / 2**64 / mpmath.sqrt(2))
            by = -4 * float(short - mpmath.ldexp(2 * draw + 1, -64))
            cases.append((normal(2**64 - 1 - draw, mean, std, b, by), True))
    compared(drivers, cases)


@pytest.mark.parametrize("limbs", [1, 2, 4])
@pytest.mark.parametrize("fmt", oracle.FORMATS)
def test_intervals(drivers, fmt, limbs):
    """Numbers within their errors of a midpoint, farther than half of these: not decided, and to nearest the ends round apart."""
    precision, emax, _ = oracle.FORMATS[fmt]
    rng, (whole, half) = np.random.default_rng(43), drivers
    for _ in range(300):
        m = 2 * int(rng.integers(2 ** (precision - 1), 2**precision)) + 1  # the midpoint's
        unit = 64 * limbs - precision  # of m, in units
        err = int(rng.integers(100, 2 ** min(unit - 2, 40)))
        off = int(err * rng.uniform(0.55, 0.95)) * int(rng.choice([-1, 1]))
        a = (m << unit) + off
        limbs_of_a = (ctypes.c_uint64 * 17)(*[a >> 64 * i & (2**64 - 1) for i in range(limbs + 1)])
        e, negative, bits = int(rng.integers(-emax // 2, emax // 2)), int(rng.integers(0, 2)), ctypes.c_uint64()
        fixed = (limbs_of_a, ctypes.c_int64(e), ctypes.c_uint64(err), limbs, list(oracle.FORMATS).index(fmt))
        nearest = list(oracle.RULES).index("nearest")
        assert not whole.rm_test_mp_round(negative, *fixed, nearest, ctypes.byref(bits))
        assert half.rm_test_mp_round(negative, *fixed, nearest, ctypes.byref(bits))
        field = e + m.bit_length() + unit - 64 * limbs - 1 + emax << precision - 1
        above = field + (m >> 1) - 2 ** (precision - 1) + (off > 0)
        assert bits.value == above | negative << 8 * oracle.FORMATS[fmt][2].itemsize - 1

"""The later tiers of lgamma, digamma, trigamma and betaln, each alone, against mpmath: within the errors that they state, which are not absurdly large
either."""

import ctypes
import math

import definitions
import gmpy2
import mpmath
import numpy as np
import oracle
import pytest
from accurate_phase import compiled  # noqa: F401 (fixture)
from elementwise_library import compare

import repmath

LGAMMA, DIGAMMA, TRIGAMMA = 0, 1, 2
VALUES = {LGAMMA: lambda x: mpmath.log(abs(mpmath.gamma(x))), DIGAMMA: mpmath.digamma, TRIGAMMA: lambda x: by_mpfr(float(x))}


def by_mpfr(x: float) -> mpmath.mpf:
    """trigamma x: mpmath's takes long far left of 0, and MPFR's definition says of tiny and huge x no more than what they are beside."""
    if abs(x) < 2.0**-60:
        return 1 / mpmath.mpf(x) ** 2 + mpmath.psi(1, 1 + mpmath.mpf(x))
    if x > 2.0**60:
        return mpmath.psi(1, mpmath.mpf(x))
    with definitions.wide(mpmath.mp.prec):
        man, exp = definitions.trigamma(gmpy2.mpfr(x, 53)).as_mantissa_exp()
        return mpmath.ldexp(int(man), int(exp))


@pytest.fixture(scope="module")
def driver(compiled):  # noqa: F811
    return ctypes.CDLL(str(compiled("gamma_driver.c")))


def arguments(seed: int, least: float = -12.0) -> list[float]:
    """Over both signs, beside zeros and poles, and large ones; no integers."""
    rng = np.random.default_rng(seed)
    beside = np.array([0, 1, 2, 1.4616321449683623, -1, -2, -2.457024738220801, -3, -0.504083008264455, -7, 12.5, 2.5, 0.5])
    x = np.concatenate(
        [
            rng.uniform(least, 14, 120),
            (beside[:, None] + rng.uniform(-1, 1, (len(beside), 6)) * 2.0 ** rng.integers(-45, -2, (len(beside), 6))).ravel(),
            2.0 ** rng.uniform(4, 40, 12),
            -np.floor(2.0 ** rng.uniform(4, 30, 12)) + rng.uniform(0.01, 0.99, 12),
        ]
    )
    return [v for v in x.tolist() if v >= least and v != round(v)]


def number(limbs, n: int) -> mpmath.mpf:
    return mpmath.ldexp(sum(limbs[i] << (64 * i) for i in range(n + 1)), -64 * n)


@pytest.mark.parametrize("function", VALUES)
def test_double_double_is_within_its_bound(driver, function):
    out, worst, widest = (ctypes.c_double * 3)(), 0.0, 0.0
    with mpmath.workprec(400):
        for x in arguments(1, least=-(2.0**31)):
            driver.rm_test_gamma_dd(function, ctypes.c_double(x), out)
            value = VALUES[function](mpmath.mpf(x))
            assert out[2] > 0
            worst = max(worst, abs(mpmath.mpf(out[0]) + mpmath.mpf(out[1]) - value) / out[2])
            if 2.5 < x < 14:
                widest = max(widest, out[2] / abs(value))
    assert 2.0**-12 < worst < 1 and widest < 2.0**-62


# The ends of what the vectors take, and arguments whose products are near the ends of what is exact.
ENDS = {
    LGAMMA: (2.0**-400, -(2.0**-400), 2.0**-300, 8.5, 8.500000001, 1e60, 2.0**299, -0.5, -0.4999999, -1e15 - 0.25),
    DIGAMMA: (2.0**-400, -(2.0**-400), 2.0**-300, 8.5, 8.500000001, 1e60, 2.0**299, -0.5, -0.4999999, -1e15 - 0.25),
    TRIGAMMA: (2.0**-150, -(2.0**-150), 2.0**-90, 8.5, 8.500000001, 1e30, 2.0**149, -0.5, -0.4999999, -1e6 - 0.25),
}


@pytest.mark.parametrize("options", [(), ("-ffp-contract=off", "-mfma")], ids=["host", "fma"])
@pytest.mark.parametrize("function", VALUES)
def test_vectors_are_within_their_bound(compiled, function, options):  # noqa: F811
    """One lane of them: value and bound as the rounding test has them. Beside zeros the bound is that of what cancels."""
    if "-mfma" in options and "avx2" not in repmath._core.available_isas():
        pytest.skip("this CPU has no FMA")
    driver, out = ctypes.CDLL(str(compiled("gamma_driver.c", *options))), (ctypes.c_double * 3)()
    worst, widest = 0.0, 0.0
    with mpmath.workprec(500):
        for x in arguments(11, least=-(2.0**31)) + list(ENDS[function]):
            driver.rm_test_gamma_fast(function, ctypes.c_double(x), ctypes.c_double(0), out)
            value = VALUES[function](mpmath.mpf(x))
            assert 0 < out[2] < math.inf and abs(out[1]) <= 2.0**-53 * abs(out[0])
            worst = max(worst, abs(mpmath.mpf(out[0]) + mpmath.mpf(out[1]) - value) / out[2])
            if 2.5 < x < 14:
                widest = max(widest, out[2] / abs(value))
    assert 2.0**-6 < worst < 1 and widest < 2.0**-61


@pytest.mark.parametrize("limbs", [1, 2, 4, 8])
@pytest.mark.parametrize("function", VALUES)
def test_stated_errors_of_the_multiprecision_path(driver, function, limbs):
    plus, minus, err = (ctypes.c_uint64 * 17)(), (ctypes.c_uint64 * 17)(), ctypes.c_uint64()
    worst = 0
    with mpmath.workprec(64 * limbs + 300):
        for x in arguments(2, least=-0.49):
            e = driver.rm_test_gamma_mp(function, ctypes.c_double(x), limbs, plus, minus, ctypes.byref(err))
            value = VALUES[function](mpmath.mpf(x))
            if function != LGAMMA and abs(x) < 0.5:
                value += 1 / mpmath.mpf(x) if function == DIGAMMA else -1 / mpmath.mpf(x) ** 2
            off = abs(mpmath.ldexp(number(plus, limbs) - number(minus, limbs), e) - value)
            worst = max(worst, mpmath.ldexp(off, 64 * limbs - e) / err.value)
    assert 2.0**-12 < worst < 1


def test_trigamma_in_binary64_is_within_its_bound(driver):
    """Of numbers of f32, which the sum of a and 1 is exact for; and by how much the bound is too large."""
    driver.rm_test_trigamma.restype, worst = ctypes.c_double, 0.0
    with mpmath.workprec(400):
        for x in np.array(
            arguments(5, least=-(2.0**20)) * 3 + [8.5, np.nextafter(np.float32(8.5), 9), -0.5, 1e-30, 1e30], np.float32
        ):
            if x > -0.5 or x != np.round(x):
                value = by_mpfr(float(x))
                worst = max(worst, abs(driver.rm_test_trigamma(ctypes.c_double(x)) - value) / value * 2**45)
    assert 2.0**-12 < worst < 0.5


@pytest.mark.parametrize("limbs", [1, 2, 4, 8])
def test_stated_errors_of_sine_and_cosine(driver, limbs):
    sine, cosine, err = (ctypes.c_uint64 * 17)(), (ctypes.c_uint64 * 17)(), ctypes.c_uint64()
    rng, worst = np.random.default_rng(3), 0
    with mpmath.workprec(64 * limbs + 200):
        for r in [0.5, -0.5, 0.25, *rng.uniform(-0.5, 0.5, 60), *(2.0 ** rng.uniform(-52, -2, 20))]:
            r = round(r * 2.0**53) / 2.0**53
            driver.rm_test_gamma_turn(ctypes.c_double(r), limbs, sine, cosine, ctypes.byref(err))
            angle = mpmath.pi * mpmath.mpf(r)
            for found, value in ((sine, mpmath.sin(angle) / angle), (cosine, mpmath.cos(angle))):
                worst = max(worst, mpmath.ldexp(abs(number(found, limbs) - value), 64 * limbs) / err.value)
    assert 2.0**-12 < worst < 1


def pairs(seed: int, widest: int) -> list[tuple[float, float]]:
    """0 < a <= b of each case of binary64, beside its ends, beside 1 and beside the curve of B = 1, and of sizes up to 2^widest."""
    rng = np.random.default_rng(seed)
    ends = np.array([1.0, 8.5, 2.0, 20.0, 0.5, 7.5, 256.0])
    x = 2.0 ** -rng.uniform(0.1, 2.5, 12)
    curve = [
        2.0 ** float(mpmath.findroot(lambda y, v=v: log_beta(v, 2**y), (0, 60), solver="anderson", tol=1e-30)) for v in x
    ]
    sets = [
        rng.uniform(0, 9, (2, 60)),
        (rng.uniform(0, 9, 40), 2.0 ** rng.uniform(3, 30, 40)),
        2.0 ** rng.uniform(3, 30, (2, 40)),
        rng.choice(ends, (2, 60)) * (1 + rng.choice([-1, 0, 1], (2, 60)) * 2.0 ** -rng.integers(10, 30, (2, 60))),
        2.0 ** rng.uniform(-widest, widest, (2, 40)),
        (x, np.array(curve)),
    ]
    found = np.concatenate([np.array(v) for v in sets], axis=1)
    found = found.astype(np.float32 if widest < 127 else np.float64).astype(np.float64)
    a, b = found.min(axis=0), found.max(axis=0)
    keep = (a > 0) & ~((a == 1) & (b == 1))
    return list(zip(a[keep].tolist(), b[keep].tolist(), strict=True))


def log_beta(a, b):
    """With enough digits for what cancels."""
    more = max(0, int(mpmath.frexp(b)[1]), -int(mpmath.frexp(a)[1])) + 90
    with mpmath.workprec(mpmath.mp.prec + more):
        a, b = mpmath.mpf(a), mpmath.mpf(b)
        value = mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)
    return +value


def test_betaln_in_binary64_is_within_its_bound(driver):
    """Which is at most some hundred times what the error is."""
    out, worst = (ctypes.c_double * 2)(), 0.0
    with mpmath.workprec(150):
        for a, b in pairs(6, 100):
            driver.rm_test_betaln(ctypes.c_double(a), ctypes.c_double(b), out)
            worst = max(worst, abs(out[0] - log_beta(a, b)) / out[1])
        for a, b in ((0.0, 1.0), (-1.0, 2.0), (math.nan, 1.0), (1.0, math.nan), (2.0, math.inf), (-0.0, 1.0)):
            driver.rm_test_betaln(ctypes.c_double(a), ctypes.c_double(b), out)
            assert out[1] == math.inf
    assert 2.0**-8 < worst < 1


def test_vectors_of_betaln_are_within_their_bound(driver):
    out, worst, widest = (ctypes.c_double * 3)(), 0.0, 0.0
    ends = [
        (2.0**-200, 2.0**-200),
        (2.0**-200, 2.0**200),
        (2.0**200, 2.0**200),
        (8.5, 8.5),
        (0.5, 2.0**100),
        (2.0**-150, 7.25),
    ]
    with mpmath.workprec(300):
        for a, b in [p for p in pairs(17, 60) + pairs(18, 190) if min(p) >= 2.0**-200 and max(p) <= 2.0**200] + ends:
            driver.rm_test_gamma_fast(3, ctypes.c_double(b), ctypes.c_double(a), out)
            value = log_beta(a, b)
            assert 0 < out[2] < math.inf and abs(out[1]) <= 2.0**-53 * abs(out[0])
            worst = max(worst, abs(mpmath.mpf(out[0]) + mpmath.mpf(out[1]) - value) / out[2])
            if 2.0**-40 < a < 3 < b < 2.0**40:
                widest = max(widest, out[2] / max(1, abs(value)))
    assert 2.0**-6 < worst < 1 and widest < 2.0**-58


def test_betaln_in_double_double_is_within_its_bound(driver):
    out, worst, widest = (ctypes.c_double * 3)(), 0.0, 0.0
    with mpmath.workprec(300):
        for a, b in pairs(7, 60) + pairs(8, 1000):
            driver.rm_test_betaln_dd(ctypes.c_double(a), ctypes.c_double(b), out)
            value = log_beta(a, b)
            assert out[2] > 0
            if out[2] < math.inf:
                worst = max(worst, abs(mpmath.mpf(out[0]) + mpmath.mpf(out[1]) - value) / out[2])
            if 2.0**-40 < a < 3 < b < 2.0**40:
                widest = max(widest, out[2] / max(1, abs(value)))
    assert 2.0**-12 < worst < 1 and widest < 2.0**-58


@pytest.mark.parametrize("limbs", [1, 2, 4, 8])
def test_betaln_in_multiprecision_is_within_its_error(driver, limbs):
    m, negative, err, worst, widest = (ctypes.c_uint64 * 17)(), ctypes.c_int(), ctypes.c_double(), 0, 0
    driver.rm_test_betaln_mp.restype = ctypes.c_int64
    with mpmath.workprec(64 * limbs + 100):
        for a, b in pairs(9, 60)[::3] + pairs(10, 1000)[::5]:
            x, y = ctypes.c_double(a), ctypes.c_double(b)
            e = driver.rm_test_betaln_mp(x, y, limbs, m, ctypes.byref(negative), ctypes.byref(err))
            off = abs(mpmath.ldexp(number(m, limbs), e) * (-1 if negative.value else 1) - log_beta(a, b))
            worst = max(worst, mpmath.ldexp(off, 64 * limbs - e) / err.value)
            if limbs > 1 and 2.0**-40 < a < 3 < b < 2.0**40:
                widest = max(widest, err.value * 2.0**e)
    assert 2.0**-16 < worst < 1 and widest < 2.0**40


@pytest.mark.parametrize("fmt", ["f16", "bf16", "f32", "f64"])
def test_betaln_beside_ties(fmt):
    """For small x the value hardly changes with y, so that numbers y have values far nearer to the middle of two numbers than a random one."""
    rng, (precision, _, _), kind = np.random.default_rng(11), oracle.FORMATS[fmt], 2.0 ** -oracle.FORMATS[fmt][0]
    least, count = {"f16": -14, "bf16": -40, "f32": -60, "f64": -90}[fmt], 60
    first = narrow(2.0 ** rng.uniform(least, 0, count), fmt)
    guess = narrow(2.0 ** rng.uniform(-4, 9, count), fmt)
    second = []
    with mpmath.workprec(2 * precision + 120):
        for x, y in zip(first.tolist(), guess.tolist(), strict=True):
            value = log_beta(x, y)
            quantum = mpmath.ldexp(1, int(mpmath.frexp(value)[1]) - precision)
            middle = (mpmath.floor(value / quantum) + 0.5) * quantum
            slope = mpmath.digamma(y) - mpmath.digamma(mpmath.mpf(x) + y)
            second.append(float(y + (middle - value) / slope))
    found = np.array(second)
    near = np.where((found > 0) & (abs(found / guess - 1) < 0.1), found, guess)
    for move in (-kind, 0, kind):
        compare("betaln", (first, narrow(near * (1 + 2 * move), fmt)), fmt)
        compare("betaln", (narrow(near * (1 + 2 * move), fmt), first), fmt)


def narrow(x, fmt: str):
    return x if fmt == "f64" else oracle.to_double(oracle.narrow(x, fmt), fmt)


@pytest.mark.parametrize("fmt", ["f16", "bf16"])
def test_betaln_of_16_bits(fmt):
    """Two columns of all pairs."""
    every = oracle.to_double(np.arange(1 << 16, dtype=np.uint16), fmt)
    every = every[every > 0][::5]
    for first in (every[len(every) // 3], 1.0):
        compare("betaln", (np.full(len(every), first), every), fmt)

"""The later tiers of lgamma, digamma and trigamma, each alone, against mpmath: within the errors that they state, which are not absurdly large either."""

import ctypes

import definitions
import gmpy2
import mpmath
import numpy as np
import pytest
from accurate_phase import compiled  # noqa: F401 (fixture)

LGAMMA, DIGAMMA, TRIGAMMA = 0, 1, 2
VALUES = {LGAMMA: lambda x: mpmath.log(abs(mpmath.gamma(x))), DIGAMMA: mpmath.digamma, TRIGAMMA: lambda x: by_mpfr(float(x))}


def by_mpfr(x: float) -> mpmath.mpf:
    """trigamma x: mpmath's takes long far left of 0."""
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

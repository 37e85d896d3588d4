"""The double-double evaluations of erfcx and log_ndtr, each alone, against mpmath: within the errors that they state, which are not absurdly large
either."""

import ctypes

import mpmath
import numpy as np
import pytest
from accurate_phase import compiled  # noqa: F401 (fixture)


@pytest.fixture(scope="module")
def driver(compiled):  # noqa: F811
    return ctypes.CDLL(str(compiled("scaled_erfc_driver.c")))


def erfcx(x):
    return mpmath.exp(x * x) * mpmath.erfc(x)


def log_ndtr(x):
    tail = mpmath.erfc(abs(x) / mpmath.sqrt(2)) / 2
    return mpmath.log(tail) if x < 0 else mpmath.log1p(-tail)


CASES = {
    "erfcx": (erfcx, [(-25.8, 27.5), (-1.0, 1.0), (-(2.0**-20), 2.0**-20), (27.5, 60.0), (60.0, 1e6)]),
    "log_ndtr": (log_ndtr, [(-38.9, 9.0), (9.0, 36.3), (-1.0, 1.0), (-(2.0**-20), 2.0**-20), (-70.0, -38.9), (-1e6, -70.0)]),
    "half": (lambda x: erfcx(x / mpmath.sqrt(2)) / 2, [(38.8, 70.0), (70.0, 1e6)]),
}


@pytest.mark.parametrize("function", CASES)
def test_double_double_is_within_its_bound(driver, function):
    f, parts = CASES[function]
    call, out, rng = getattr(driver, f"rm_test_{function}_dd"), (ctypes.c_double * 3)(), np.random.default_rng(1)
    worst, widest = mpmath.mpf(0), mpmath.mpf(0)
    with mpmath.workprec(300):
        for x in [x for low, high in parts for x in rng.uniform(low, high, 60).tolist()]:
            call(ctypes.c_double(x), out)
            value = f(mpmath.mpf(x))
            worst = max(worst, abs(mpmath.mpf(out[0]) + mpmath.mpf(out[1]) - value) / out[2])
            widest = max(widest, out[2] / abs(value))
    assert 2.0**-4 < worst < 1 and widest < 2.0**-62

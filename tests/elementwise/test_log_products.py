"""xlogy and xlog1py: their evaluations in binary64 and double-double alone, against mpmath, and arguments whose products lie beside boundaries of rounding."""

import ctypes

import mpmath
import numpy as np
import oracle
import pytest
from accurate_phase import compiled  # noqa: F401 (fixture)
from elementwise_library import compare

CASES = {
    "xlogy": (mpmath.log, [(0.0, 9.0), (0.98, 1.02), (1 - 2.0**-40, 1 + 2.0**-40), (0.0, 2.0**1000)]),
    "xlog1py": (mpmath.log1p, [(-1.0, 9.0), (-0.02, 0.02), (-(2.0**-60), 2.0**-60), (-(2.0**-500), 2.0**-500)]),
}


@pytest.fixture(scope="module")
def driver(compiled):  # noqa: F811
    return ctypes.CDLL(str(compiled("log_product_driver.c")))


@pytest.mark.parametrize("function", CASES)
def test_double_double_is_within_its_bound(driver, function):
    f, parts = CASES[function]
    call, out, rng = getattr(driver, f"rm_test_{function}_dd"), (ctypes.c_double * 3)(), np.random.default_rng(1)
    worst, widest = mpmath.mpf(0), mpmath.mpf(0)
    with mpmath.workprec(300):
        for low, high in parts:
            for x, y in zip(rng.uniform(-9, 9, 100).tolist(), rng.uniform(low, high, 100).tolist(), strict=True):
                call(ctypes.c_double(x), ctypes.c_double(y), out)
                value = x * f(mpmath.mpf(y))
                # Ziv's rounding test rounds lo + err, for which err has room.
                error = abs(mpmath.mpf(out[0]) + mpmath.mpf(out[1]) - value) + mpmath.mpf(2) ** -53 * (abs(out[1]) + out[2])
                worst = max(worst, error / out[2])
                widest = max(widest, out[2] / abs(value))
    assert 2.0**-4 < worst < 1 and widest < 2.0**-60


@pytest.mark.parametrize("function", CASES)
def test_binary64_is_within_its_bound(driver, function):
    """That of log, and the roundings of the product and of the test. On these data the error is far below the bound, which is proved (proofs/)."""
    f, parts = CASES[function]
    call, rng, worst = getattr(driver, f"rm_test_{function}_b64"), np.random.default_rng(3), mpmath.mpf(0)
    call.restype = ctypes.c_double
    bound = mpmath.mpf(float.fromhex("0x1.01p-41")) - mpmath.mpf(2) ** -53
    with mpmath.workprec(200):
        for low, high in [*parts[:3], (0.73, 0.79)] if function == "xlogy" else parts[:3]:
            second = rng.uniform(low, min(high, 2.0**100), 500).astype(np.float32).astype(np.float64)
            for x, y in zip(
                rng.uniform(-9, 9, 500).astype(np.float32).tolist(),
                second[second != (function == "xlogy")].tolist(),
                strict=False,
            ):
                value = x * f(mpmath.mpf(y))
                worst = max(worst, abs(call(ctypes.c_double(x), ctypes.c_double(y)) / value - 1) / bound)
    assert 2.0**-6 < worst < 1


def beside_products(rng, precision, count):
    """x, y whose product is the middle of two numbers of the precision, both with half of its digits; y is small, so that log(1 + y) is nearly y."""
    half = (precision + 1) // 2
    x, y = (2 * rng.integers(2 ** (bits - 2), 2 ** (bits - 1), count) + 1 for bits in (half, precision + 2 - half))
    keep = [int(a * b).bit_length() == precision + 1 for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return x[keep].astype("f8") * rng.choice([-1.0, 1.0], sum(keep)), y[keep].astype("f8") * rng.choice(
        [-1.0, 1.0], sum(keep)
    )


@pytest.mark.parametrize("fmt", oracle.FORMATS)
def test_products_beside_ties(fmt):
    """log(1 + y) = y - y^2/2 + ...: for small y the result is a hair from x y, the middle of two numbers; log y for y beside 1 likewise."""
    rng, (precision, emax, _) = np.random.default_rng(2), oracle.FORMATS[fmt]
    x, y = beside_products(rng, precision, 3000)
    assert len(x) > 300
    exponents = rng.integers(-max(min(emax // 2, 500), precision + 4), -precision, len(x))
    compare("xlog1py", (x, y * 2.0**exponents), fmt)
    if fmt == "f64":
        compare("xlog1py", (x * 2.0**60, y * 2.0 ** rng.integers(-1000, -900, len(x))), fmt)
    # 1 + y 2^-k with as many digits as the format has.
    near = 1 + y * 2.0 ** (1 - precision)
    compare("xlogy", (x, near), fmt)


@pytest.mark.parametrize("fmt", ["f16", "bf16"])
@pytest.mark.parametrize("function", CASES)
def test_every_second_argument_of_16_bits(function, fmt):
    rng = np.random.default_rng(4)
    every = oracle.to_double(np.arange(1 << 16, dtype=np.uint16), fmt)
    for first in rng.choice(every[np.isfinite(every) & (every != 0)], 2):
        compare(function, (np.full(len(every), first), every), fmt)

"""Vectors of double-double numbers (crlibm/simd/vdd.h): each operation is within the bound that it gives, of all numbers within those of its operands, by
rational numbers. The operands are built to lose as much as they can: low parts at their limit, sums that cancel, significands beside powers of two."""

import ctypes
import itertools
from fractions import Fraction

import numpy as np
import pytest
from accurate_phase import compiled  # noqa: F401 (fixture)

import repmath

U = Fraction(1, 2**53)
OPERATIONS = {"add": 0, "sub": 1, "mul": 2, "div": 3, "times": 4}
EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "times": lambda a, b: a * b,
}


def operands(rng, count: int, widest: int) -> list[tuple[float, float, float]]:
    """h, l, e: half of the significands are beside a power of two, half of the l at their limit, and bounds are 0 or up to 2^-40 of h."""
    h = np.where(rng.random(count) < 0.5, 1 + rng.integers(0, 16, count) * 2.0**-52, rng.uniform(1, 2, count))
    h *= 2.0 ** rng.integers(-widest, widest + 1, count) * rng.choice([-1, 1], count)
    low = (
        np.abs(h) * 2.0**-53 * np.where(rng.random(count) < 0.5, 1 - rng.integers(1, 4, count) * 2.0**-50, rng.random(count))
    )
    low *= rng.choice([-1, 1], count)
    low = np.where(np.abs(low) > np.abs(h) * 2.0**-53, 0.0, low)
    e = np.where(rng.random(count) < 0.4, 0.0, np.abs(h) * 2.0 ** -rng.uniform(40, 110, count))
    return list(zip(h.tolist(), low.tolist(), e.tolist(), strict=True))


def pairs(name: str):
    rng = np.random.default_rng(3)
    for widest in (0, 2, 60, 200):
        yield from zip(operands(rng, 500, widest), operands(rng, 500, widest), strict=True)
    if name in ("add", "sub"):  # nearly the same magnitude, of either sign
        for a in operands(rng, 500, 3):
            steps = int(rng.integers(0, 40))
            h = a[0] * (1 + steps * 2.0**-52) * (-1 if rng.random() < 0.9 else 1)
            yield a, (h, a[1] * rng.uniform(-1, 1), a[2])


def share(driver, name: str, a, b) -> Fraction:
    """The largest error of the ends of both operands, over the bound; 0 where nothing is lost."""
    out = (ctypes.c_double * 3)()
    driver.rm_test_vdd(OPERATIONS[name], (ctypes.c_double * 3)(*a), (ctypes.c_double * 3)(*b), out)
    h, low, e = (Fraction(v) for v in out)
    assert abs(low) <= U * abs(h) and e >= 0
    ends = [[Fraction(v[0]) + Fraction(v[1]) + s * Fraction(v[2]) for s in (-1, 1)] for v in (a, b)]
    if name == "times":
        ends[1] = [Fraction(b[0])]
    worst = max(abs(h + low - EXACT[name](x, y)) for x, y in itertools.product(*ends))
    return worst / (e * (1 + Fraction(1, 2**45))) if worst else Fraction(0)


@pytest.fixture(scope="module", params=[(), ("-ffp-contract=off", "-mfma")], ids=["plain", "fma"])
def driver(request, compiled):  # noqa: F811
    if "-mfma" in request.param and "avx2" not in repmath._core.available_isas():
        pytest.skip("this CPU has no FMA")
    return ctypes.CDLL(str(compiled("vdd_driver.c", *request.param)))


@pytest.mark.parametrize("name", OPERATIONS)
def test_within_the_bound(driver, name):
    found = [share(driver, name, a, b) for a, b in pairs(name)]
    assert max(found) <= 1
    # The controls: half of the bound is too small; and a sixteenth of numbers that are exact, but for quotients, whose 1/b is exact with one lane.
    assert max(found) > Fraction(1, 2)
    if name != "div":
        assert max(share(driver, name, (*a[:2], 0.0), (*b[:2], 0.0)) for a, b in pairs(name)) > Fraction(1, 16)

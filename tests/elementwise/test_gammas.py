"""gamma of repmath/special.h on every ISA beside MPFR: the vectors' quick phase, what it leaves to scalar double-double numbers, values beside boundaries of
rounding, the ends of the range, factorials, chunks that are not full."""

from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from exact_oracle import bits, rounded
from special_library import gammas

BF16 = pytest.importorskip("ml_dtypes").bfloat16
DTYPES = (np.float16, BF16, np.float32, np.float64)


@pytest.fixture
def end(request):
    """Beyond which one lane leaves numbers to scalar double-double, whose logarithm has a larger bound."""
    return 48 if request.node.callspec.params["isa_library"] == "base" else 140


def exact(x: float) -> Fraction:
    """To 300 bits."""
    with gmpy2.context(precision=300, emin=-(10**6), emax=10**6):
        return Fraction(gmpy2.mpq(gmpy2.gamma(gmpy2.mpfr(x))))


def wrong(x, made, undecided) -> int:
    found = 0
    for v, code, open_ in zip(x.tolist(), bits(made).tolist(), undecided.tolist(), strict=True):
        found += not open_ and code != rounded(exact(v), made.dtype)
    return found


def numbers(rng) -> np.ndarray:
    x = [rng.uniform(-8, 8, 400), rng.uniform(-150, 171, 200), rng.uniform(-0.5, 1.5, 100), 2.0 ** rng.uniform(-430, 0, 60)]
    halves = np.arange(-300, 343) / 2
    x += [
        -(2.0 ** rng.uniform(-420, 0, 60)),
        halves[(halves > 0) | (halves % 1 != 0)],
    ]  # where the nearest integer changes, and factorials
    x += [
        np.nextafter(halves, np.inf),
        np.nextafter(halves, -np.inf),
        rng.uniform(-178, -150, 40),
        rng.uniform(171.5, 171.7, 40),
    ]
    every = np.concatenate(x)
    return rng.permutation(every[every != np.floor(every)].tolist() + list(range(1, 30)))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_values(isa_library, end, dtype):
    x = numbers(np.random.default_rng(3))
    x = x[x != 0] if dtype is np.float64 else x[::3]
    made, undecided = gammas(isa_library, x, dtype)
    assert wrong(x, made, undecided) == 0
    whole = x == np.floor(x)
    assert undecided[~whole & (abs(x) < end) & (abs(x) > 1e-100)].sum() == 0
    for n in (1, 7, 63, 65, 129):  # chunks, and vectors, that are not full
        some, open_ = gammas(isa_library, x[:n], dtype)
        assert bits(some)[~open_].tolist() == bits(made)[:n][~undecided[:n]].tolist() and (open_ == undecided[:n]).all()
    moved = np.nextafter(x, np.inf)
    near = (abs(x) > 1) & (abs(x) < 100) & (moved != np.floor(moved))
    assert dtype is not np.float64 or wrong(moved[near], made[near], undecided[near]) > near.sum() // 2  # the control


def beside_midpoints(rng, digits: int) -> np.ndarray:
    """Of many numbers near each other those whose values are the nearest to midpoints of numbers of so many digits."""
    found = []
    for base in [*rng.uniform(-9, 9, 12), *rng.uniform(20, 170, 8)]:
        x = float(base)
        step = float(np.spacing(abs(x))) * (1 if digits == 53 else 2.0**20)
        values, unit = [exact(x + k * step) for k in (0, 1024)], None
        unit = Fraction(2) ** (int(np.floor(np.log2(abs(float(values[0]))))) + 1 - digits)
        start, slope = float(values[0] / unit % 1), float((values[1] - values[0]) / unit / 1024)
        k = np.arange(8192)
        best = np.argsort(np.abs((start + k * slope) % 1 - 0.5))[:3]
        found += [x + int(j) * step for j in best]
    return np.array(found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda d: np.dtype(d).name)
def test_beside_midpoints(isa_library, end, dtype):
    digits = 24 if dtype is np.float32 else 53
    x = beside_midpoints(np.random.default_rng(4), digits)
    made, undecided = gammas(isa_library, x, dtype)
    quick = abs(x) < end
    assert wrong(x, made, undecided) == 0 and undecided[quick].sum() < quick.sum() // 4
    near = [exact(v) * (1 + s * Fraction(2) ** -(digits + 9)) for v in x.tolist() for s in (-1, 1)]
    turned = [
        rounded(a, np.dtype(dtype)) != rounded(exact(v), np.dtype(dtype))
        for a, v in zip(near, np.repeat(x, 2).tolist(), strict=True)
    ]
    assert sum(turned) > len(x) // 3  # the control: what is off by less than that rounds to another number


def test_what_has_no_value(isa_library):
    x = np.array([0.0, -0.0, -1.0, -2.0, -171.0, -(2.0**60), np.inf, -np.inf, np.nan, 172.0, 1e300, -200.5])
    made, undecided = gammas(isa_library, x, np.float64)
    assert undecided.all()

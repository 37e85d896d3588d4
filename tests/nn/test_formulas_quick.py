"""The quick loops of formulas: a vector of elements gives what each of them gives alone, by another evaluation, on data where values lie
beside boundaries of rounding."""

from fractions import Fraction

import numpy as np
import pytest
from exact_oracle import FORMATS, round_rational
from formula_library import run
from optimizers_library import bits, random
from reductions_library import OK

COUNT = 23  # formulas of which quick.h takes some
NUMBERS = (0.1, 0.3, -0.01, 1 / 3, 0.7, 6.0, 0.5, 2.0**-30, -1e-3, 2.0**60 / 3, 0.0, 1.0)


def columns(rng, kind):
    if kind == "decimals":  # multiples of short decimals' denominators
        k = rng.integers(1, 2**20, (3, 203)) * rng.choice([3, 5, 10, 15, 25, 75], (3, 203))
        return np.ldexp(k * rng.choice([-1.0, 1.0], k.shape), rng.integers(-30, 2, k.shape)).astype(np.float32)
    if kind == "sums":  # whose terms have few bits
        k = rng.integers(-(2**12), 2**12, (3, 203))
        return np.ldexp(k.astype(float), rng.integers(-26, 1, k.shape)).astype(np.float32)
    return np.array(random(rng, "f32", 203, kind)[:3])


@pytest.mark.parametrize("kind", ["gaussian", "decimals", "sums", "special", "tiny", "integers"])
def test_elements_alone(isa_library, kind):
    rng = np.random.default_rng(50)
    x = columns(rng, kind)
    alone = rng.choice(203, 60, replace=False)
    for which in range(COUNT):
        for a in NUMBERS:
            code, got = run(isa_library, which, "f32", a, list(x))
            assert code == OK
            for i in alone:
                code, one = run(isa_library, which, "f32", a, [v[i : i + 1].copy() for v in x])
                assert code == OK and bits(one)[0] == bits(got)[i], (which, a, x[:, i])


@pytest.mark.parametrize("a", [0.3, -0.7, 1 / 3, 3.0])
def test_quotients(isa_library, a):
    """x/a against rationals, near numbers of one bit more than the format's."""
    x = columns(np.random.default_rng(51), "decimals")[0]
    code, got = run(isa_library, 1, "f32", a, [x])
    assert code == OK
    assert bits(got).tolist() == [round_rational(Fraction(v) / Fraction(a), "f32") for v in x.tolist()]


def test_control():
    """Rounded to binary64 first, some of these quotients are wrong."""
    x = columns(np.random.default_rng(51), "decimals")[0]
    twice = (x.astype(float) / 0.3).astype(np.float32)
    assert bits(twice).tolist() != [round_rational(Fraction(v) / Fraction(0.3), "f32") for v in x.tolist()]


@pytest.mark.parametrize("fmt", ["f16", "bf16", "f32"])
def test_gates(isa_library, fmt):
    """A number of binary64 is compared as it is, also where the format, or binary32, lacks it."""
    dtype = FORMATS[fmt][0]
    some = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0**-14, -(2.0**-14)], dtype)
    near = np.concatenate([some, (bits(some[2:6]) + 1).view(dtype), (bits(some[2:6]) - 1).view(dtype)])
    y = np.tile(near, 9)
    x = np.linspace(1, 2, len(y)).astype(dtype)
    for a in (1.0, 1 + 2.0**-40, 1 - 2.0**-40, 1e-60, -1e-60, 0.0, 1e300, -1e300, np.inf, -np.inf):
        code, got = run(isa_library, 14, fmt, a, [x, y])
        assert code == OK
        wide = y.astype(float)
        assert (bits(got) == np.where((wide > a) | np.isnan(wide), bits(x), 0)).all(), a

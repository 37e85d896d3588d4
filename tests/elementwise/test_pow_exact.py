"""pow where x^y is a number of the format, a midpoint of two, or has a few bits more: the accurate phase finds these in integers,
since no approximation decides them."""

import numpy as np
import oracle
import pytest
from accurate_phase import FORMATS, RULES, accurate, check, compiled  # noqa: F401 (fixtures)
from elementwise_library import compare

# Squares, cubes and fourth powers of odd numbers; numbers whose powers have 25, 26, 54 or 55 bits; the same times powers of two.
ODD = [1, 3, 5, 7, 9, 11, 15, 17, 25, 27, 81, 121, 125, 129, 243, 625, 1023, 2047, 4095, 4097, 6561, 8191, 8193, 65537]
ODD += [131073, 208063, 262143, 390625, 94906265, 94906267, 2**27 - 1, 2**27 + 1, 3**16, 3**32, 5**16, 7**16, 11**8, 3**33]
EXPONENTS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 17, 20, 24, 27, 30, 33, 34, 35, 64, 0.5, 1.5, 2.5, 3.5, 0.25, 0.75, 1.25]
EXPONENTS += [0.125, 0.0625, 0.03125, 0.15625, 2.0**-6, -1, -2, -3, -0.5, -1.5, -0.25, 127, 149, 1074, -1074, 16.5, 17.5]


def grid(fmt):
    x = np.array([m * 2.0**e for m in ODD for e in (0, -1, 1, -2, -4, 10, -32, 32)])
    x, y = (
        np.unique(oracle.to_double(oracle.narrow(v, fmt) if fmt != "f64" else v.view(np.uint64), fmt))
        for v in (np.concatenate([x, -x]), np.array(EXPONENTS, dtype=np.float64))
    )
    return oracle.tuples(x[np.isfinite(x) & (x != 0)], y[np.isfinite(y)])


@pytest.mark.parametrize("fmt", FORMATS)
def test_arrays(fmt):
    compare("pow", grid(fmt), fmt)


def test_cubes():
    """Vectors of exponents that are all 3 in f32: ties (odd numbers whose cubes have 25 bits), the ends of the range, all kinds of numbers."""
    rng = np.random.default_rng(1)
    ties = np.concatenate([np.arange(257, 322, 2) * 2.0**e for e in (-50, -10, 0, 7, 33)])
    ends = np.concatenate([rng.uniform(0.5, 2, 300) * 2.0**e for e in (42.6667, -42, -46, -48.3333, -50)])
    some = rng.integers(0, 2**32, 2000, dtype=np.uint32).view("f4")
    with np.errstate(invalid="ignore"):
        x = np.concatenate([ties, ends, rng.standard_normal(500), [0, -0.0, np.inf, -np.inf, np.nan, 1, -1], some]).astype(
            "f4"
        )
    x = np.concatenate([x, -x])
    _, want = compare("pow", (x.astype("f8"), np.full(len(x), 3.0)), "f32")
    with np.errstate(all="ignore"):
        assert ((x * x * x).view("u4") != want).sum() > 200  # the control: two roundings


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("fmt", FORMATS)
def test_rules(accurate, fmt, rule):  # noqa: F811
    check(accurate("mp-from-1-limb", "pow"), "pow", grid(fmt), fmt, rule, with_flags=True)

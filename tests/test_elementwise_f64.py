"""f64: published hard cases, special values and random inputs against MPFR, properties against mpmath, the golden digest."""

import math

import elementwise_library
import golden_sets
import mpmath
import numpy as np
import oracle
import pytest
import ranges
from hypothesis import example, given, settings
from hypothesis import strategies as st

NAN = oracle.nan_bits("f64")


def check(function, x):
    want = oracle.values(function, x, "f64")
    for isa, library in elementwise_library.libraries().items():
        wrong = np.flatnonzero(library.array(function, x.view(np.uint64), "f64") != want)
        assert wrong.size == 0, (isa, wrong.size, [float(x[i]).hex() for i in wrong[:5]])
    return want


@pytest.mark.parametrize("function", oracle.UNARY)
def test_hard_cases(function):
    x = oracle.hard_cases(function)
    want = check(function, x)
    library = next(iter(elementwise_library.libraries().values()))
    some = slice(None, None, 5)
    assert [library.scalar(function, int(b), "f64") for b in x.view(np.uint64)[some]] == want[some].tolist()


@pytest.mark.parametrize("function", oracle.UNARY)
def test_special_values(function):
    check(function, oracle.special_values("f64"))


@pytest.mark.parametrize("function", oracle.UNARY)
def test_random(function):
    check(function, oracle.random_values("f64", 100000, 21))


@pytest.mark.parametrize("function", oracle.UNARY)
def test_random_in_ranges(function):
    rng = np.random.default_rng(22)
    for low, high in ranges.RANGES[function]:
        check(function, rng.uniform(low, high, 20000))


@pytest.mark.parametrize("function", oracle.UNARY)
def test_golden_digest(function):
    bits = golden_sets.inputs("f64")
    for isa, library in elementwise_library.libraries().items():
        assert golden_sets.sha256(library.array(function, bits, "f64")) == golden_sets.published(function, "f64"), isa


def value(library, function, *x):
    bits = np.array(x, dtype=np.float64).view(np.uint64)
    return library.array(function, bits, "f64").view(np.float64).tolist()


numbers = st.floats(allow_nan=False, allow_infinity=False)
near = st.floats(min_value=-800, max_value=800)


@settings(max_examples=300, deadline=None)
@given(x=numbers | near | st.floats(min_value=-20, max_value=20))
@example(x=-0.0)
@example(x=-708.4)
@pytest.mark.parametrize("function", ["exp", "log", "tanh", "erf"])
def test_value_against_mpmath(function, x):
    got = [lib.array(function, np.array([x]).view(np.uint64), "f64")[0] for lib in elementwise_library.libraries().values()]
    if function == "log" and x <= 0:
        want = np.float64(-np.inf).view(np.uint64) if x == 0 else NAN
    elif x == 0:
        want = np.float64(1.0 if function == "exp" else x).view(np.uint64)
    elif function == "exp" and abs(x) > 800:
        want = np.float64(np.inf if x > 0 else 0.0).view(np.uint64)
    elif function in ("tanh", "erf") and abs(x) > 30:
        want = np.float64(math.copysign(1.0, x)).view(np.uint64)
    elif function == "tanh" and abs(x) < 2.0**-100:
        want = np.float64(x).view(np.uint64)
    else:
        with mpmath.workprec(400):
            want = oracle.rounded(getattr(mpmath, function)(mpmath.mpf(x)), "f64")
    assert got == [want] * len(got)


@settings(max_examples=300, deadline=None)
@given(x=numbers | near | st.floats(min_value=-20, max_value=20))
@pytest.mark.parametrize("function", ["exp", "log", "tanh", "erf"])
def test_monotone_and_symmetric(function, x):
    """A correctly rounded increasing function never decreases; an odd one is odd bit by bit."""
    for library in elementwise_library.libraries().values():
        if function != "log" or x > 0:
            below, here, above = value(library, function, math.nextafter(x, -math.inf), x, math.nextafter(x, math.inf))
            assert below <= here <= above
        if function in ("tanh", "erf"):
            plus, minus = value(library, function, x, -x)
            assert plus == -minus and math.copysign(1, plus) == math.copysign(1, x)


@pytest.mark.parametrize("function", oracle.UNARY)
def test_any_nan_gives_the_canonical_one(function):
    for fmt, nans in {
        "f64": [0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF],
        "f32": [0x7FC00000, 0xFFC00001, 0x7F800001, 0xFFFFFFFF],
        "f16": [0x7E00, 0xFE01, 0x7C01, 0xFFFF],
        "bf16": [0x7FC0, 0xFFC1, 0x7F81, 0xFFFF],
    }.items():
        for library in elementwise_library.libraries().values():
            assert set(library.array(function, np.array(nans * 20, dtype=oracle.FORMATS[fmt][2]), fmt).tolist()) == {
                oracle.nan_bits(fmt)
            }

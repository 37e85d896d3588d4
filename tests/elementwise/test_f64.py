"""f64: published hard cases, special values and random inputs against MPFR, properties against mpmath, the golden digest."""

import math

import elementwise_library
import gmpy2
import golden_sets
import mpmath
import numpy as np
import oracle
import pytest
import ranges
import ties
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
    """Few: the golden digest is that of MPFR's results for half a million random patterns, and as many of usual exponents."""
    check(function, oracle.random_values("f64", 20000, 21))


@pytest.mark.sample(5)
@pytest.mark.parametrize("function", oracle.UNARY)
def test_random_in_ranges(function):
    rng = np.random.default_rng(22)
    for low, high in ranges.RANGES[function]:
        check(function, rng.uniform(low, high, 10000))


# Inverses at numbers of 300 bits.
INVERSES = {
    "log": gmpy2.exp,
    "log2": gmpy2.exp2,
    "log10": gmpy2.exp10,
    "log1p": gmpy2.expm1,
    "asinh": gmpy2.sinh,
    "acosh": gmpy2.cosh,
    "rsqrt": lambda y: 1 / (y * y),
    "cbrt": lambda y: y * y * y,
}


def beside_ties(function, count, low, high):
    """Of arguments from low to high those that are closest to results half way between two numbers."""
    rng, found = np.random.default_rng(23), []
    values = oracle.values(function, np.exp2(rng.uniform(np.log2(low), np.log2(high), count)), "f64").view(np.float64)
    with gmpy2.context(gmpy2.context(), precision=300):
        for y in values.tolist():
            found.append(float(INVERSES[function]((gmpy2.mpfr(y) + gmpy2.mpfr(math.nextafter(y, math.inf))) / 2)))
    return np.array(found)


@pytest.mark.parametrize("function", ["rsqrt", "log1p", "asinh", "acosh"])
def test_large_arguments_that_kernels_scale(function):
    low = 995 if function == "rsqrt" else 1018
    check(
        function,
        np.concatenate(
            [beside_ties(function, 4000, 2.0**low, 2.0**1023.9), 2.0 ** np.arange(low, 1024), [1.7976931348623157e308]]
        ),
    )


@pytest.mark.parametrize("function", ["log", "log2", "log10", "rsqrt", "cbrt"])
def test_subnormal_arguments(function):
    least = 2.0**-1074
    x = beside_ties(function, 4000, least, 2.0**-1021)
    assert np.mean(x < 2.0**-1022) > 0.9
    check(function, np.concatenate([x, least * np.arange(1, 300), least * 2.0 ** np.arange(53)]))


@pytest.mark.parametrize("function", ["erf", "erfinv"])
def test_multiples_of_tiny_arguments(function):
    """Beside ties, and of all exponents below 2^-940. Control: a product with the rounded constant gives wrong bits. test_controls.py has another."""
    x = ties.tiny(function)
    scaled = np.random.default_rng(25).uniform(1, 2, 4000) * 2.0 ** np.repeat(np.arange(-1040, -940), 40)
    for some in (x, -x, scaled, x * 2.0**60, x * 2.0**110):
        check(function, some)
    want = oracle.values(function, x, "f64")
    constant = 2 / math.sqrt(math.pi) if function == "erf" else math.sqrt(math.pi) / 2
    assert np.any((constant * x).view(np.uint64) != want)


@pytest.mark.sample(3)
@pytest.mark.parametrize("function", oracle.UNARY)
def test_golden_digest(function):
    bits = golden_sets.inputs("f64")
    for isa, library in elementwise_library.libraries().items():
        assert golden_sets.sha256(library.array(function, bits, "f64")) == golden_sets.published(function, "f64"), isa


def value(library, function, *x):
    bits = np.array(x, dtype=np.float64).view(np.uint64)
    return library.array(function, bits, "f64").view(np.float64).tolist()


# mpmath's functions, with the interval in which they are finite and a result of 400 bits says how a binary64 number rounds.
LARGE = 2.0**1000
MPMATH = {
    "exp": (mpmath.exp, -800, 800),
    "exp2": (lambda x: mpmath.mpf(2) ** x, -1100, 1050),
    "exp10": (lambda x: mpmath.mpf(10) ** x, -340, 320),
    "expm1": (mpmath.expm1, -800, 800),
    "exp2m1": (lambda x: mpmath.expm1(x * mpmath.log(2)), -1100, 1023),
    "exp10m1": (lambda x: mpmath.expm1(x * mpmath.log(10)), -340, 308),
    "log": (mpmath.log, 0, LARGE),
    "log2": (lambda x: mpmath.log(x, 2), 0, LARGE),
    "log10": (mpmath.log10, 0, LARGE),
    "log1p": (mpmath.log1p, -1, LARGE),
    "log2p1": (lambda x: mpmath.log1p(x) / mpmath.log(2), -1, LARGE),
    "log10p1": (lambda x: mpmath.log1p(x) / mpmath.log(10), -1, LARGE),
    "sin": (mpmath.sin, -LARGE, LARGE),
    "cos": (mpmath.cos, -LARGE, LARGE),
    "tan": (mpmath.tan, -LARGE, LARGE),
    "sinpi": (mpmath.sinpi, -LARGE, LARGE),
    "cospi": (mpmath.cospi, -LARGE, LARGE),
    "tanpi": (lambda x: mpmath.sinpi(x) / mpmath.cospi(x), -LARGE, LARGE),
    "asin": (mpmath.asin, -1, 1),
    "acos": (mpmath.acos, -1, 1),
    "atan": (mpmath.atan, -LARGE, LARGE),
    "asinpi": (lambda x: mpmath.asin(x) / mpmath.pi, -1, 1),
    "acospi": (lambda x: mpmath.acos(x) / mpmath.pi, -1, 1),
    "atanpi": (lambda x: mpmath.atan(x) / mpmath.pi, -LARGE, LARGE),
    "sinh": (mpmath.sinh, -720, 720),
    "cosh": (mpmath.cosh, -720, 720),
    "tanh": (mpmath.tanh, -30, 30),
    "asinh": (mpmath.asinh, -LARGE, LARGE),
    "acosh": (mpmath.acosh, 1, LARGE),
    "atanh": (mpmath.atanh, -1, 1),
    "erf": (mpmath.erf, -30, 30),
    "erfc": (mpmath.erfc, -30, 28),
    "erfinv": (mpmath.erfinv, -1, 1),
    "ndtr": (lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2, -40, 30),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), -27, 1000),
    "log_ndtr": (lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2), -1000, 30),
    "ndtri": (lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), 0, 1),
    "lgamma": (lambda x: mpmath.log(abs(mpmath.gamma(x))), -40, 150),
    "digamma": (mpmath.digamma, -40, 1e6),
    "cbrt": (lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), -LARGE, LARGE),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), 0, LARGE),
}
ODD = (
    "sin",
    "tan",
    "sinpi",
    "tanpi",
    "asin",
    "atan",
    "asinpi",
    "atanpi",
    "sinh",
    "tanh",
    "asinh",
    "atanh",
    "erf",
    "erfinv",
    "cbrt",
)
EVEN = ("cos", "cospi", "cosh")
INCREASING = (
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "asin",
    "atan",
    "sinh",
    "tanh",
    "asinh",
    "acosh",
)
INCREASING += (
    "exp2m1",
    "exp10m1",
    "log2p1",
    "log10p1",
    "asinpi",
    "atanpi",
    "atanh",
    "erf",
    "erfinv",
    "ndtr",
    "log_ndtr",
    "ndtri",
    "cbrt",
    "sqrt",
    "sigmoid",
    "log_sigmoid",
    "softplus",
)
known = [name for name in MPMATH if name in oracle.UNARY]
numbers = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=200, deadline=None)
@given(x=numbers | st.floats(min_value=-800, max_value=800) | st.floats(min_value=-20, max_value=20) | st.floats(-1, 1))
@example(x=-708.4)
@example(x=-1.0)
@pytest.mark.parametrize("function", known)
def test_value_against_mpmath(function, x):
    f, low, high = MPMATH[function]
    pole = function in ("lgamma", "digamma") and x <= 0 and x.is_integer()
    pole = pole or (
        function in ("sinpi", "cospi", "tanpi") and (2 * x).is_integer()
    )  # or a zero, of whose sign mpmath knows nothing
    if not low < x < high or x == 0 or pole:
        return  # special values have their own tests
    with mpmath.workprec(1500):  # of which tiny arguments and multiples of pi cost some
        exact = f(mpmath.mpf(x))
    want = oracle.rounded(exact, "f64")
    for isa, library in elementwise_library.libraries().items():
        assert library.array(function, np.array([x]).view(np.uint64), "f64")[0] == want, isa


@settings(max_examples=200, deadline=None)
@given(x=numbers | st.floats(min_value=-800, max_value=800) | st.floats(min_value=-20, max_value=20))
@pytest.mark.parametrize("function", [f for f in dict.fromkeys((*INCREASING, *ODD, *EVEN)) if f in oracle.UNARY])
def test_monotone_and_symmetric(function, x):
    """A correctly rounded increasing function never decreases; an odd or even one is so bit by bit."""
    for library in elementwise_library.libraries().values():
        below, here, above = value(library, function, math.nextafter(x, -math.inf), x, math.nextafter(x, math.inf))
        if function in INCREASING:
            assert not below > here and not here > above
        plus, minus = np.array(value(library, function, x, -x)).view(np.uint64).tolist()
        if not math.isnan(here) and function in ODD:
            assert plus ^ minus == 1 << 63
        if function in EVEN:
            assert plus == minus


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

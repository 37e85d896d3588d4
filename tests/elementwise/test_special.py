"""Special arguments in the vector loops: NaN, infinities, zeros, arguments outside of the domain, results that overflow or are subnormal. By value
and by the exceptions raised, on each instruction set, in arrays of one argument that comes again and of many different ones."""

import ctypes
import functools

import elementwise_library
import numpy as np
import oracle
import pytest

LIBM = ctypes.CDLL(None)
RAISED = {1: oracle.INVALID, 4: oracle.DIVBYZERO, 8: oracle.OVERFLOW}  # FE_INVALID, FE_DIVBYZERO, FE_OVERFLOW of x86
COPIES, MIXED, CASES = 70, 1500, 120
FORMATS = ("f16", "bf16", "f32", "f64")

# Where results of f32, bf16 and f16 are subnormal or overflow; of both signs where that is so of both.
RANGES = {
    "exp": ((-104, -87), (88, 300), (-93, -87), (-18, -9), (11, 40)),
    "exp2": ((-150, -126), (127, 2000), (-134, -126), (-25, -14), (15, 60)),
    "exp10": ((-45.2, -37.8), (38, 600), (-40.4, -37.8), (-7.6, -4.2), (4.8, 30)),
    "expm1": ((88, 300), (11, 40), (11, 11.2)),
    "sinh": ((89, 300), (-300, -89), (11, 40), (11.7, 11.8)),
    "cosh": ((89, 300), (-300, -89), (11, 40), (11.7, 11.8)),
    "softplus": ((-104, -87), (-93, -87), (-18, -9)),
    "log_sigmoid": ((87, 104), (87, 93), (9, 18)),
    "erfc": ((9.1, 10.1), (9.1, 9.5), (2.8, 4)),
    "erfcx": ((-9.5, -9.2), (-3.4, -3.1), (9.3, 9.5), (1e4, 6e4), (5e37, 3.4e38)),
    "log_ndtr": ((12.9, 14.2), (12.9, 13.4), (3.8, 5.5), (-400, -300)),
    "ndtr": ((-14.2, -12.9), (-13.4, -12.9), (-5.5, -3.8)),
    "gelu": ((-14.4, -13), (-13.6, -13), (-5.8, -4.1), (-(2.0**-124), 2.0**-124), (-(2.0**-12), 2.0**-12)),
    "erfinv": ((-(2.0**-125), 2.0**-125), (-(2.0**-13), 2.0**-13)),
}


def raised() -> int:
    found = LIBM.fetestexcept(13)
    return sum(flag for bit, flag in RAISED.items() if found & bit)


def called(library, function, bits, fmt):
    LIBM.feclearexcept(61)
    got = library.array(function, bits, fmt)
    return got, raised()


@functools.cache
def cases(function: str, fmt: str):
    """Tuples of special arguments, as bits, their results and their exceptions."""
    arity, rng = oracle.ARITY[function], np.random.default_rng(len(function))
    x = oracle.special_values(fmt) if arity == 1 else oracle.special_tuples(fmt, arity)
    x = x if arity > 1 else (x,)
    chosen = rng.permutation(len(x[0]))[:CASES]
    first = oracle.tuples(*[np.array([0.0, -0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan])] * arity)
    first = tuple(v[rng.permutation(len(v))[:CASES]] for v in first) if arity == 3 else first
    x = tuple(np.concatenate([a, b[chosen]]) for a, b in zip(first, x, strict=True))
    one = x if arity > 1 else x[0]
    return tuple(oracle.to_bits(v, fmt) for v in x), oracle.values(function, one, fmt), oracle.flags(function, one, fmt)


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("function", oracle.FUNCTIONS)
def test_an_argument_that_comes_again(function, fmt):
    bits, want, due = cases(function, fmt)
    for isa, library in elementwise_library.libraries().items():
        for i in range(len(want)):
            got, flags = called(library, function, tuple(np.full(COPIES, b[i]) for b in bits), fmt)
            assert (got == want[i]).all() and flags == due[i], (
                isa,
                [hex(b[i]) for b in bits],
                hex(got[0]),
                hex(want[i]),
                flags,
                due[i],
            )


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("function", oracle.FUNCTIONS)
def test_different_arguments(function, fmt):
    """Runs and mixtures of the special ones among others; every seventh array has a signalling NaN, which is invalid."""
    bits, want, due = cases(function, fmt)
    arity, rng = len(bits), np.random.default_rng(7)
    others = oracle.random_tuples(fmt, arity, 300, 3) if arity > 1 else (oracle.random_values(fmt, 300, 3),)
    one = others if arity > 1 else others[0]
    bits = tuple(np.concatenate([b, oracle.to_bits(v, fmt)]) for b, v in zip(bits, others, strict=True))
    want = np.concatenate([want, oracle.values(function, one, fmt)])
    due = np.concatenate([due, oracle.flags(function, one, fmt)])
    few = rng.integers(0, len(want), 5)
    for round_ in range(7):
        pool = few if round_ % 3 == 0 else np.arange(len(want)) if round_ % 3 == 1 else rng.permutation(len(want))[:20]
        at = np.repeat(rng.choice(pool, MIXED), rng.integers(1, 4, MIXED))[: MIXED - round_]
        x, invalid = tuple(b[at] for b in bits), 0
        if round_ == 6:
            x[0][len(at) // 2] = signalling = oracle.nan_bits(fmt) + 1 - (1 << (oracle.FORMATS[fmt][0] - 2))
            quiet = [oracle.to_double(v[len(at) // 2 :][:1], fmt) for v in x[1:]]
            of_nan = oracle.values(function, (np.array([np.nan]), *quiet) if arity > 1 else np.array([np.nan]), fmt)
            assert signalling > 0
            invalid = oracle.INVALID
        right = want[at].copy()
        if invalid:
            right[len(at) // 2] = of_nan[0]
            at = np.delete(at, len(at) // 2)
        for isa, library in elementwise_library.libraries().items():
            got, flags = called(library, function, x, fmt)
            wrong = np.flatnonzero(got != right)
            assert wrong.size == 0, (isa, round_, [([hex(v[i]) for v in x], hex(got[i]), hex(right[i])) for i in wrong[:5]])
            assert flags == np.bitwise_or.reduce(due[at]) | invalid, (isa, round_, flags)


@pytest.mark.parametrize("fmt", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("function", RANGES)
def test_results_beyond_the_normal_range(function, fmt):
    """Evenly over the ranges, and of many more those arguments whose results lie nearest to a tie."""
    rng = np.random.default_rng(11)
    x = np.concatenate([rng.uniform(low, high, 1200) for low, high in RANGES[function]])
    x = oracle.to_double(np.unique(oracle.narrow(x, fmt)), fmt)
    precision, emax, _ = oracle.FORMATS[fmt]
    exact = oracle.results(function, x, oracle.context("f64"))
    quantum = 2.0 ** (2 - emax - precision)
    with np.errstate(all="ignore"):
        beside = np.abs(np.abs(exact) / quantum % 1.0 - 0.5)
    beside = np.where(np.abs(exact) < 2.0 ** (1 - emax), beside, 1.0)
    chosen = np.concatenate([np.argsort(beside)[:300], rng.permutation(len(x))[:1500]])
    assert fmt != "f32" or np.sort(beside)[20] < 0.05 or function in ("expm1", "sinh", "cosh")  # no subnormal results there
    bits, want = elementwise_library.compare(function, (x[chosen],), fmt)
    due = oracle.flags(function, x[chosen], fmt)
    for isa, library in elementwise_library.libraries().items():
        assert called(library, function, bits, fmt)[1] == np.bitwise_or.reduce(due), isa


def test_a_lost_flag_is_seen():
    """The comparison of flags above, of an array that raises one and of one that does not."""
    library = next(iter(elementwise_library.libraries().values()))
    bits, _, due = cases("log", "f32")
    (pole,) = np.flatnonzero(bits[0] == 0)[:1]
    assert due[pole] == oracle.DIVBYZERO == called(library, "log", (np.zeros(COPIES, np.uint32),), "f32")[1]
    assert called(library, "log", (np.full(COPIES, 0x3F800000, np.uint32),), "f32")[1] == 0

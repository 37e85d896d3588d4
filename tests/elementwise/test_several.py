"""Functions of several arguments against MPFR: special values in every combination, hard cases, random tuples, every format,
every instruction set; the golden digests; the accurate phases under every rounding mode."""

import math

import elementwise_library
import gmpy2
import golden_sets
import numpy as np
import oracle
import pytest
import ranges
from accurate_phase import RULES, accurate, check, compiled  # noqa: F401 (fixtures)
from elementwise_library import compare

FORMATS = list(oracle.FORMATS)
several = pytest.mark.parametrize("function", oracle.SEVERAL)


@several
@pytest.mark.parametrize("fmt", FORMATS)
def test_special_values(function, fmt):
    bits, want = compare(function, oracle.special_tuples(fmt, oracle.ARITY[function]), fmt)
    library = next(iter(elementwise_library.libraries().values()))
    rows = list(zip(*bits, strict=True))
    assert [library.scalar(function, row, fmt) for row in rows[::13]] == want[::13].tolist()


@several
@pytest.mark.parametrize("fmt", FORMATS)
def test_random(function, fmt):
    """Few: the golden digest is that of MPFR's results for a million tuples."""
    compare(function, oracle.random_tuples(fmt, oracle.ARITY[function], 5000, 31), fmt)


@pytest.mark.sample(4)
@several
@pytest.mark.parametrize("fmt", FORMATS)
def test_in_ranges(function, fmt):
    rng = np.random.default_rng(32)
    for box in ranges.RANGES[function]:
        x = [rng.uniform(low, high, 5000) for low, high in box]
        compare(
            function,
            tuple(oracle.to_double(oracle.narrow(v, fmt) if fmt != "f64" else v.view(np.uint64), fmt) for v in x),
            fmt,
        )


def sizes_beside_ties(rng, count):
    """x, y whose hypot is beside the middle of two numbers, and triples (3 n, 4 n, 5 n) of which about half have such a middle for 5 n."""
    x, h = rng.uniform(1, 2, count), rng.uniform(2, 4, count)
    with gmpy2.context(gmpy2.context(), precision=300):
        middles = [(gmpy2.mpfr(v) + gmpy2.mpfr(math.nextafter(v, 4))) / 2 for v in h.tolist()]
        y = np.array([float(gmpy2.sqrt(m * m - gmpy2.mpfr(v) ** 2)) for m, v in zip(middles, x.tolist(), strict=True)])
    n = rng.integers(2**53 // 5 + 1, 2**51, count).astype("f8")
    return np.concatenate([x, 3 * n * 2.0**-52, 3 * x]), np.concatenate([y, 4 * n * 2.0**-52, 4 * x])


def directions_beside_ties(rng, count):
    """y, x with an angle beside the middle of two numbers, from 2^-120 to beside pi/2."""
    angles = np.concatenate([2.0 ** rng.uniform(-120, 0, count), np.pi / 2 - 2.0 ** rng.uniform(-60, 0, count)])
    x = rng.uniform(1, 2, 2 * count)
    with gmpy2.context(gmpy2.context(), precision=300):
        middles = [(gmpy2.mpfr(v) + gmpy2.mpfr(math.nextafter(v, 4))) / 2 for v in angles.tolist()]
        return np.array([float(gmpy2.tan(m) * v) for m, v in zip(middles, x.tolist(), strict=True)]), x


@np.errstate(over="ignore")
@pytest.mark.parametrize("function,made", [("hypot", sizes_beside_ties), ("atan2", directions_beside_ties)])
def test_beside_ties_of_all_sizes(function, made):
    """Sizes that the fast phase takes and sizes that it leaves, and of both arguments far apart."""
    rng = np.random.default_rng(33)
    first, second = made(rng, 1500)
    for exponents in ((-1073, -1000), (-1000, -400), (-400, 400), (400, 1000), (1000, 1021)):
        scale = 2.0 ** rng.integers(*exponents, len(first)).astype("f8")
        signs = rng.choice([-1.0, 1.0], (2, len(first)))
        compare(function, (first * scale * signs[0], second * scale * signs[1]), "f64")
    far = 2.0 ** rng.integers(-1000, 1000, (2, len(first))).astype("f8")
    compare(function, (first * far[0], -second * far[1]), "f64")


@several
def test_hard_cases(function):
    if not (oracle.ROOT / f"tests/data/hardcases/f64/{function}.txt").exists():
        pytest.skip(f"no hard cases of {function} are published")
    compare(function, oracle.hard_tuples(function), "f64")


@pytest.mark.sample(3)
@several
@pytest.mark.parametrize("fmt", FORMATS)
def test_golden_digest(function, fmt):
    bits = golden_sets.tuples(fmt, oracle.ARITY[function])
    for isa, library in elementwise_library.libraries().items():
        assert golden_sets.sha256(library.array(function, bits, fmt)) == golden_sets.published(function, fmt), isa


@pytest.mark.sample(8, "function", "fmt", "rule")
@pytest.mark.parametrize("name", ["all", "mp"])
@several
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("fmt", FORMATS)
def test_accurate_phase(accurate, name, function, fmt, rule):  # noqa: F811
    arity = oracle.ARITY[function]
    check(accurate(name, function), function, oracle.special_tuples(fmt, arity), fmt, rule, with_flags=True)
    check(accurate(name, function), function, oracle.random_tuples(fmt, arity, 3000, 33), fmt, rule, with_flags=True)

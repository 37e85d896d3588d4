"""Functions of several arguments against MPFR: special values in every combination, hard cases, random tuples, every format,
every instruction set; the golden digests; the accurate phases under every rounding mode."""

import elementwise_library
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


@several
def test_hard_cases(function):
    if not (oracle.ROOT / f"tests/data/hardcases/f64/{function}.txt").exists():
        pytest.skip(f"no hard cases of {function} are published")
    compare(function, oracle.hard_tuples(function), "f64")


@several
@pytest.mark.parametrize("fmt", FORMATS)
def test_golden_digest(function, fmt):
    bits = golden_sets.tuples(fmt, oracle.ARITY[function])
    for isa, library in elementwise_library.libraries().items():
        assert golden_sets.sha256(library.array(function, bits, fmt)) == golden_sets.published(function, fmt), isa


@pytest.mark.parametrize("name", ["all", "mp"])
@several
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("fmt", FORMATS)
def test_accurate_phase(accurate, name, function, fmt, rule):  # noqa: F811
    arity = oracle.ARITY[function]
    check(accurate(name, function), function, oracle.special_tuples(fmt, arity), fmt, rule, with_flags=True)
    check(accurate(name, function), function, oracle.random_tuples(fmt, arity, 3000, 33), fmt, rule, with_flags=True)

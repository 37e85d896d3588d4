"""rm_bce_with_logits and its gradient against mpmath, on every instruction set, in every format."""

import numpy as np
import pytest
from bce_library import NAMES, expected, run, vectors
from exact_oracle import CANONICAL_NAN, bits
from real_oracle import precise
from reductions_library import ENUM, I64, NULL, OK, OVERLAP, SIZE, Reductions, status
from statistics_library import dtype_of


@pytest.mark.parametrize("fmt", NAMES)
def test_values(isa_library, fmt):
    rng = np.random.default_rng(6)
    dtype = dtype_of(fmt)
    n = 12
    for scale in (1.0, 1e-3, 60.0):
        x = (rng.standard_normal(n) * scale).astype(dtype)
        x[0] = 0
        hard, soft = rng.integers(0, 2, n).astype(dtype), rng.random(n).astype(dtype)
        w, p = rng.random(n).astype(dtype), (rng.random(n) * 3).astype(dtype)
        for y, a, b in ((hard, None, None), (soft, w, p), (soft, None, p)):
            for reduction in range(3):
                assert run(isa_library, fmt, reduction, None, x, y, a, b) == expected(fmt, reduction, None, x, y, a, b)
                g = rng.standard_normal(n if reduction == 0 else 1).astype(dtype)
                assert run(isa_library, fmt, reduction, g, x, y, a, b) == expected(fmt, reduction, g, x, y, a, b)


@pytest.mark.parametrize("fmt", ["f32", "f16", "bf16"])
def test_ends_of_the_fast_phase(isa_library, fmt):
    """Exponentials beside the ends of what binary64 evaluates, weights of 0, in more than one block of elements."""
    dtype = dtype_of(fmt)
    ends = [0.0, 0.25, 87.5, 88.0, 88.5, 103.0, 169.0, 170.0, 171.0, 199.0, 200.0, 201.0]
    x = np.array([sign * v for v in ends for sign in (1, -1)] * 12, dtype)
    y = np.repeat(np.array([0, 1, 0.75, -0.5, 0, 1] * 2, dtype), 2 * len(ends))
    w, p = np.repeat(np.array([1, 3, 0, 1] * 3, dtype), 2 * len(ends)), np.full(len(x), 1.5, dtype)
    assert len(x) > 256
    for a, b in ((None, None), (w, p)):
        assert run(isa_library, fmt, 0, None, x, y, a, b) == expected(fmt, 0, None, x, y, a, b)
        g = np.full(len(x), 0.375, dtype)
        assert run(isa_library, fmt, 0, g, x, y, a, b) == expected(fmt, 0, g, x, y, a, b)
        assert run(isa_library, fmt, 1, None, x, y, a, b) == expected(fmt, 1, None, x, y, a, b)


@pytest.mark.parametrize("fmt", ["f32", "bf16"])
def test_which_tier_decides(isa_library, fmt):
    rng, dtype, n = np.random.default_rng(7), dtype_of(fmt), 1000
    x, y, g = rng.standard_normal(n).astype(dtype), rng.integers(0, 2, n).astype(dtype), rng.standard_normal(n).astype(dtype)
    tiers = Reductions(isa_library)
    for gradient in (None, g):
        tiers.stats()
        run(isa_library, fmt, 0, gradient, x, y, None, None)
        fast, later, _ = tiers.stats()
        assert fast + later == n and fast > 0.98 * n
    run(isa_library, fmt, 1, None, x, y, None, None)
    assert tiers.stats() == (1, 0, 0)


@pytest.mark.parametrize("fmt", NAMES)
def test_results_in_the_place_of_an_argument(isa_library, fmt):
    """Also of elements that the first tier leaves undecided, which then are read again: infinities and logits beyond its end."""
    rng, dtype = np.random.default_rng(8), dtype_of(fmt)
    x = np.where(rng.random(600) < 0.3, np.inf, rng.standard_normal(600) * 1e4).astype(dtype)
    y, w, p = rng.random(600).astype(dtype), rng.standard_normal(600).astype(dtype), rng.random(600).astype(dtype)
    g = rng.standard_normal(600).astype(dtype)
    for name, *arrays in (("", x, y, w, p), ("_backward", g, x, y, w, p)):
        f, want = getattr(isa_library, "rm_bce_with_logits" + name), np.full(600, 7, dtype)
        assert f(NAMES.index(fmt), 0, I64(600), *vectors(*arrays, want)) == OK
        for place in range(len(arrays)):
            copies = [a.copy() for a in arrays]
            assert f(NAMES.index(fmt), 0, I64(600), *vectors(*copies, copies[place])) == OK
            assert np.array_equal(bits(copies[place]), bits(want)), (name, place)


def test_totals_beside_ties(isa_library):
    """Halfway between two numbers but for exponentials of both signs: the largest one decides."""
    want = precise(expected.function, 28000)
    x, y = np.array([2.0**24, 2.0**14, 9000], "f4"), np.array([0, 0, 1], "f4")
    for last in (-0.5, 0.5, -2):
        w = np.array([1, 2.0**-14, last], "f4")
        assert run(isa_library, "f32", 2, None, x, y, w, None) == want("f32", 2, None, x, y, w, None)
    x, y, p = (np.array(v, "f4") for v in ([2.0**24, 9001, 9000], [0, 0, 2], [1, 1, 0.25]))
    assert run(isa_library, "f32", 2, None, x, y, None, p) == want("f32", 2, None, x, y, None, p)
    x, y, w = np.array([2.0**24, 2.0**14], "f4"), np.zeros(2, "f4"), np.array([1, 2.0**-14], "f4")
    for sign in (1, -1):  # factors of one sign: nothing has to be evaluated, however far
        above = int(bits(np.array(sign * (2.0**24 + 2), "f4")))
        assert run(isa_library, "f32", 2, None, x, y, (sign * w).astype("f4"), None) == [above]


@pytest.mark.parametrize("fmt", NAMES)
def test_special(isa_library, fmt):
    dtype, nan = dtype_of(fmt), CANONICAL_NAN[fmt]
    inf, one = int(bits(np.array(np.inf, dtype))), int(bits(np.array(1, dtype)))
    minus = 1 << (8 * dtype.itemsize - 1)
    x = np.array([np.inf, np.inf, -np.inf, -np.inf, np.nan, 9000.0, -9000.0], dtype)
    y = np.array([0, 1, 0, 1, 0, 1, 0], dtype)
    assert run(isa_library, fmt, 0, None, x, y, None, None) == [inf, 0, 0, inf, nan, 0, 0]
    assert run(isa_library, fmt, 2, None, x[1:3], y[1:3], None, None) == [0]
    assert run(isa_library, fmt, 2, None, x[:4], y[:4], None, None) == [inf]
    assert run(isa_library, fmt, 1, None, x, y, None, None) == [nan]
    assert run(isa_library, fmt, 2, None, x[:0], y[:0], None, None) == [0]
    assert run(isa_library, fmt, 1, None, x[:0], y[:0], None, None) == [nan]
    got = run(isa_library, fmt, 0, np.ones(7, dtype), x, y, None, None)
    assert got == [one, 0, 0, one | minus, nan, minus, 0]
    w = np.array([np.inf, -np.inf], dtype)
    assert run(isa_library, fmt, 0, None, np.ones(2, dtype), np.ones(2, dtype), w, None) == [inf, inf | minus]


def test_bad_arguments(isa_library):
    x, out = np.ones(3, "f4"), np.full(3, 7, "f4")
    f = isa_library.rm_bce_with_logits
    assert f(9, 0, I64(3), *vectors(x, x, None, None, out)) == status(ENUM, 1)
    assert f(2, 3, I64(3), *vectors(x, x, None, None, out)) == status(ENUM, 2)
    assert f(2, 0, I64(-3), *vectors(x, x, None, None, out)) == status(SIZE, 3)
    assert f(2, 0, I64(3), *vectors(None, x, None, None, out)) == status(NULL, 4)
    assert f(2, 0, I64(3), *vectors(x, None, None, None, out)) == status(NULL, 6)
    assert f(2, 0, I64(3), *vectors(x, x, None, None, None)) == status(NULL, 12)
    assert f(2, 0, I64(3), *vectors(x, x, out[::-1], None, out)) == status(OVERLAP, 12)
    assert (out == 7).all()

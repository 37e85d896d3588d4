"""rm_kl_div and its gradient against mpmath, on every instruction set, in every format."""

import numpy as np
import pytest
from bce_library import vectors
from exact_oracle import CANONICAL_NAN, bits
from kl_div_library import MEAN, NAMES, NONE, SUM, expected, gradients, run
from real_oracle import precise, rounded_real
from reductions_library import ENUM, I64, NULL, OVERLAP, SIZE, status
from statistics_library import dtype_of

RANGE = 10


@precise
def expected_gradient(fmt, reduction, log_target, *arguments):
    return [rounded_real(v, dtype_of(fmt), exact=not log_target) for v in gradients(reduction, log_target, *arguments)]


@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("log_target", [0, 1])
def test_values(isa_library, fmt, log_target):
    rng = np.random.default_rng(8)
    dtype = dtype_of(fmt)
    n = 24
    for scale in (1.0, 1e-3, 40.0):
        x = (rng.standard_normal(n) * scale).astype(dtype)
        t = (rng.standard_normal(n) * scale if log_target else rng.random(n)).astype(dtype)
        t[:4] = [0, 1, x[2] if log_target else 0.5, np.finfo(np.float32).tiny if fmt in ("f32", "f64") else 0.25]
        x[4] = np.log(t[4].astype(float)) if not log_target else t[4] * (1 + 2.0**-7)  # a difference that almost cancels
        for reduction, count in ((NONE, 1), (MEAN, n), (MEAN, 5), (SUM, 1)):
            assert run(isa_library, fmt, reduction, log_target, count, x, t) == expected(
                fmt, reduction, log_target, count, x, t
            )
            g = rng.standard_normal(n if reduction == NONE else 1).astype(dtype)
            got = run(isa_library, fmt, reduction, log_target, count, g, t, backward=True)
            assert got == expected_gradient(fmt, reduction, log_target, count, g, t)


@pytest.mark.parametrize("fmt", ["f32", "f16", "bf16"])
def test_ends_of_the_fast_phase(isa_library, fmt):
    """Exponentials beside the ends of what binary64 evaluates, terms of 0 and subnormal targets, in more than one block of elements."""
    dtype = dtype_of(fmt)
    least = float(np.finfo(dtype).smallest_subnormal) if fmt != "bf16" else 2.0**-133
    ends = [-201.0, -171.0, -170.0, -169.0, -20.0, -0.0, 0.5, 11.0]
    t = np.array(ends * 34, dtype)
    x = np.array([-1.5, 0.25, -200.0] * len(t), dtype)[: len(t)]
    g = np.full(len(t), 0.375, dtype)
    assert len(t) > 256
    for log_target, u in ((1, t), (0, np.array([0, 1, least, 0.75] * 68, dtype))):
        for reduction, count in ((NONE, 1), (MEAN, 7)):
            assert run(isa_library, fmt, reduction, log_target, count, x, u) == expected(
                fmt, reduction, log_target, count, x, u
            )
            got = run(isa_library, fmt, reduction, log_target, count, g[: 1 if reduction else None], u, backward=True)
            want = expected_gradient(fmt, reduction, log_target, count, g[: 1 if reduction else None], u)
            assert got == want


@pytest.mark.parametrize("fmt", NAMES)
def test_far_logarithms(isa_library, fmt):
    """Logarithms beyond every exponent: overflow, zeros with a sign, and sums in which the greatest terms cancel."""
    dtype = dtype_of(fmt)
    far = 2.0**15 if fmt == "f16" else 2.0**99
    inf, minus = int(bits(np.array(np.inf, dtype))), 1 << (8 * dtype.itemsize - 1)
    t = np.array([far, far, far, -far, -far, -far], dtype)
    x = np.array([0, far, np.inf, 0, -far, far], dtype)
    assert run(isa_library, fmt, NONE, 1, 1, x, t) == [inf, 0, inf | minus, minus, 0, minus]
    g = np.array([1, -1, 0.5, 1, -1, 1], dtype)
    assert run(isa_library, fmt, NONE, 1, 1, g, t, backward=True) == [inf | minus, inf, inf | minus, minus, 0, minus]
    t, x = np.array([far, far, 0], dtype), np.array([far / 2, 3 * far / 2, -1], dtype)  # the first two t - x are opposite
    assert run(isa_library, fmt, SUM, 1, 1, x, t) == bits(np.ones(1, dtype)).tolist()
    assert run(isa_library, fmt, SUM, 1, 1, x[:2], t[:2]) == [0]
    for a, b, want in (
        ([0, 0], [0, -far], minus),
        ([0, 2, 0], [1, 1, -far], minus),
        ([0, 2, 3], [1, 1, 3], 0),
        ([2, 0], [1, 1], 0),
    ):
        assert run(isa_library, fmt, SUM, 1, 1, np.array(a, dtype), np.array(b, dtype)) == [want], (a, b)
    pairs = np.repeat(-np.arange(50) / 8, 2).astype(dtype)  # more values that cancel than are looked for
    around = pairs + np.tile([1, -1], 50).astype(dtype)
    assert (
        run(isa_library, fmt, SUM, 1, 1, np.append(around, dtype.type(-1)), np.append(pairs, dtype.type(0)))
        == bits(np.ones(1, dtype)).tolist()
    )
    assert run(isa_library, fmt, SUM, 1, 1, x[::2].copy(), t[::2].copy()) == [inf]
    assert run(isa_library, fmt, SUM, 1, 1, np.zeros(2, dtype), -t[:2]) == [minus]


@pytest.mark.parametrize("fmt", NAMES)
def test_special(isa_library, fmt):
    dtype, nan = dtype_of(fmt), CANONICAL_NAN[fmt]
    inf = int(bits(np.array(np.inf, dtype)))
    minus = 1 << (8 * dtype.itemsize - 1)
    x = np.array([np.inf, -np.inf, np.nan, 0, 0, 0, -np.inf, np.inf, np.inf, 5], dtype)
    t = np.array([0, 0, 0, np.nan, -1, np.inf, 0.5, 0.5, np.inf, 0], dtype)
    assert run(isa_library, fmt, NONE, 0, 1, x, t) == [0, 0, nan, nan, nan, inf, inf, inf | minus, nan, 0]
    assert run(isa_library, fmt, SUM, 0, 1, x[:2], t[:2]) == [0] and run(isa_library, fmt, SUM, 0, 1, x[5:7], t[5:7]) == [inf]
    assert run(isa_library, fmt, SUM, 0, 1, x[6:8], t[6:8]) == [nan]
    t = np.array([-np.inf, -np.inf, 0, np.nan, -np.inf, np.inf, 0.5, 0.5, np.inf, 0], dtype)
    assert run(isa_library, fmt, NONE, 1, 1, x, t)[:9] == [0, 0, nan, nan, 0, inf, inf, inf | minus, nan]
    nothing = x[:0]
    assert run(isa_library, fmt, SUM, 0, 1, nothing, nothing) == [0]
    assert run(isa_library, fmt, MEAN, 0, 0, nothing, nothing) == [nan]
    assert run(isa_library, fmt, MEAN, 0, 3, nothing, nothing) == [0]


def test_bad_arguments(isa_library):
    x, out = np.ones(3, "f4"), np.full(3, 7, "f4")
    f = isa_library.rm_kl_div
    assert f(9, 0, 0, I64(3), I64(3), *vectors(x, x, out)) == status(ENUM, 1)
    assert f(2, 3, 0, I64(3), I64(3), *vectors(x, x, out)) == status(ENUM, 2)
    assert f(2, 0, 2, I64(3), I64(3), *vectors(x, x, out)) == status(RANGE, 3)
    assert f(2, 1, 0, I64(0), I64(3), *vectors(x, x, out)) == status(RANGE, 4)
    assert f(2, 0, 0, I64(3), I64(-3), *vectors(x, x, out)) == status(SIZE, 5)
    assert f(2, 0, 0, I64(3), I64(3), *vectors(None, x, out)) == status(NULL, 6)
    assert f(2, 0, 0, I64(3), I64(3), *vectors(x, None, out)) == status(NULL, 8)
    assert f(2, 0, 0, I64(3), I64(3), *vectors(x, x, None)) == status(NULL, 10)
    assert f(2, 0, 0, I64(3), I64(3), *vectors(out[::-1], x, out)) == status(OVERLAP, 10)
    assert (out == 7).all()
    b = isa_library.rm_kl_div_backward
    assert b(2, 0, 0, I64(3), I64(3), *vectors(None, x, out)) == status(NULL, 6)
    assert (out == 7).all()

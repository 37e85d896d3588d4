"""Totals of cross entropy whose logarithms cancel by relations between different rows: products of sums of exponentials that are equal.

Rows are polynomials in e^-unit with coefficients >= 0, made as products of common factors, which themselves may have negative ones; the weights of rows
are a relation between their logarithms by that construction. So the total is the rational number that is put beside them, a boundary of rounding, or
differs from it by very little, with a known sign. The oracle is that rational number."""

import itertools
import os
from fractions import Fraction

import numpy as np
import pytest
from cross_entropy_library import SUM, UNDECIDED
from exact_oracle import CANONICAL_NAN
from format_ties import MEAN, NAMES, beside, exact, tie
from logit_relations import RELATIONS, logits, polynomial, run, times
from reductions_library import OK
from statistics_library import dtype_of

MORE = int(os.environ.get("REPMATH_RELATIONS", "1"))


def holds(lib, fmt, rows, weights, hair=0):
    for k, sign, reduction in ((1, 1, SUM), (1, -1, SUM), (2, 1, SUM), (2, -1, MEAN)):
        parts = exact(tie(fmt, k))
        status, got = run(lib, fmt, rows, [sign * w for w in weights], parts, reduction)
        value = sum(parts) / (4 if reduction == MEAN else 1)
        assert status == OK and [got] == beside(fmt, value, sign * hair), (k, sign, status)


def differs(lib, fmt, rows, weights):
    """A control: logarithms are left over."""
    parts = exact(tie(fmt, 1))
    status, got = run(lib, fmt, rows, weights, parts, SUM)
    assert status == OK
    assert [got] not in (beside(fmt, sum(parts)), beside(fmt, sum(parts), 1), beside(fmt, sum(parts), -1))


@pytest.mark.parametrize("fmt", NAMES)
def test_products_that_are_equal(isa_library, fmt):
    dtype, rng = dtype_of(fmt), np.random.default_rng(5)
    for (rows, weights), unit in itertools.product(RELATIONS, (1, 0.375)):
        x = logits(rows, unit, rng.integers(-2, 3, len(rows)), dtype)
        holds(isa_library, fmt, x, weights)
        differs(isa_library, fmt, x, [weights[0] + 0.25, *weights[1:]])


@pytest.mark.parametrize("fmt", NAMES)
def test_random_products(isa_library, fmt):
    """Weights from the kernel of the exponents of random factors, so that their ratios are no small numbers."""
    dtype, rng = dtype_of(fmt), np.random.default_rng(6)
    done = 0
    while done < 6 * MORE:
        factors = [polynomial(1, *rng.integers(0, 2, rng.integers(1, 4))) for _ in range(3)]
        powers = rng.integers(0, 2, (5, 3))
        rows = [times(*(f for f, k in zip(factors, each, strict=True) for _ in range(k))) for each in powers]
        if max(max(p) for p in rows) > 60 or max(sum(p.values()) for p in rows) > 200:
            continue
        weights = kernel(powers, rng)
        if weights is None or len(set(map(tuple, powers))) < 4 or not any(a > 0 for a in weights):
            continue
        done += 1
        holds(isa_library, fmt, logits(rows, 0.25, [1] * 5, dtype), weights)


def kernel(powers, rng):
    """Random small integers w with w powers = 0, or None."""
    for _ in range(200):
        w = rng.integers(-5, 6, len(powers))
        if w.any() and not (w @ powers).any():
            return w
    return None


@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_logits_of_many_digits(isa_library, fmt):
    """Degrees in one variable are beyond 2^24: the exponents are taken for sums of independent ones."""
    dtype = dtype_of(fmt)
    a, b, c = (Fraction(v, 2**22) for v in (1234567, 2345679, 3456789))
    one = [{0: 1, u: 1} for u in (a, b, c)]
    for rows, weights in (
        ([one[0], one[1], times(one[0], one[1])], [1, 1, -1]),
        ([one[0], times(one[0], one[0])], [-2, 1]),
        ([times(one[0], one[1]), times(one[1], one[2]), times(one[2], one[0]), *one], [1, 1, 1, -2, -2, -2]),
        (
            [
                times({0: 1, a: 1}, {0: 1, a: -1, 2 * a: 1}, one[1]),
                one[0],
                {0: 1, a: 1, 2 * a: 1},
                one[1],
                {0: 1, 2 * a: 1, 4 * a: 1},
            ],
            [1, -1, 1, -1, -1],
        ),
    ):
        holds(isa_library, fmt, logits(rows, 1, [0] * len(rows), dtype), weights)
    apart = [one[0], one[1], times(one[0], {0: 1, b + Fraction(1, 2**4): 1})]
    differs(isa_library, fmt, logits(apart, 1, [0] * 3, dtype), [1, 1, -1])


@pytest.mark.sample(4)
@pytest.mark.parametrize("fmt", NAMES)
def test_far_parts_that_are_left(isa_library, fmt):
    """In rows whose near parts cancel, the far ones remain, with the sign of the greatest; or they cancel, too."""
    dtype = dtype_of(fmt)
    near, far, further = {0: 1, 1: 1}, {0: 1, 9216: 1}, {0: 1, 9728: 1}
    furthest = {0: 1, 2**15 if fmt == "f16" else 2**127: 1}
    for rows, weights, hair in (
        ([times(near, far), near], [1, -1], 1),
        ([times(near, far), near, far], [1, -1, -1], 0),
        ([times(near, near), near, far], [1, -2, -1], -1),
        ([times(near, far), near, further], [-1, 1, 1], -1),
        ([times(near, further), near, far], [-1, 1, 1], 1),
        ([times({0: 4}, far), times({0: 2}, further)], [1, -2], 1),
        ([times({0: 4}, further), times({0: 2}, far)], [1, -2], -1),
        ([{**near, **furthest}, near], [1, -1], 1),
        ([{**times(near, near), **furthest}, near], [-1, 2], -1),
    ):
        try:
            x = logits(rows, 1, [0] * len(rows), dtype)
        except AssertionError:
            assert fmt in ("f16", "bf16")  # 9217 has too many digits
            continue
        holds(isa_library, fmt, x, weights, hair)


def test_beyond_binary64(isa_library):
    """A difference of two logits of binary64 overflows: it is far, and nothing else is known of it."""
    rows = [np.array(v) for v in ([1.5e308, 1.5e308, -1.5e308], [0.0, 0, 0, 0], [0.0, 0])]
    holds(isa_library, "f64", rows, [1, -1, 1], 1)
    holds(isa_library, "f64", [rows[0][:2], *rows[1:]], [1, -1, 1], 0)


def test_factors_divisible_by_a_prime(isa_library):
    """All factors of what is left are multiples of the greatest prime below 2^61, modulo which it would vanish: the proof takes more primes."""
    near, far, further = {0: 1, 1: 1}, {0: 1, 9216: 1}, {0: 1, 9728: 1}
    rows = [times(near, far)] * 2 + [times(near, further)] * 2
    holds(isa_library, "f64", logits(rows, 1, [0] * 4, np.dtype("f8")), [2.0**61, -1, -(2.0**61), 1], 1)


def test_what_takes_too_long_raises(library):
    """Products of neighbours in a ring of 14 independent factors: too many variables. That is an error, and NaN."""
    factors = [{0: 1, int(e): 1} for e in np.random.default_rng(7).choice(2**23, 14, replace=False)]
    rows = [times(a, b) for a, b in zip(factors, factors[1:] + factors[:1], strict=True)]
    x = logits(rows, Fraction(1, 2**22), [0] * 14, np.dtype("f4"))
    status, got = run(library, "f32", x, [1, -1] * 7, exact(tie("f32", 1)), SUM)
    assert status == UNDECIDED and got == CANONICAL_NAN["f32"]
    rows = [times(a, b) for a, b in zip(factors[:6], factors[1:6] + factors[:1], strict=True)]
    holds(library, "f32", logits(rows, Fraction(1, 2**22), [0] * 6, np.dtype("f4")), [1, -1] * 3)

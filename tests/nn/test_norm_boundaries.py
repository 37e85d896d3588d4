"""Norms and their gradients at and beside boundaries of rounding, in every format on every instruction set.

A result is a function of eps, which is a binary64 number whatever the format: the eps that makes one element a tie is found at a high
precision, and both of its neighbours are passed on, so that the exact values lie on either side of the tie, 2^-55 of it away or less. In
binary64 eps is chosen tiny beside the variance, whose last places it moves. Sums of squares err by all that a chain of roundings can,
upwards or downwards. The oracle is made of rationals and one square root."""

import ctypes
import functools
import itertools
import math
from fractions import Fraction

import elementwise_library
import mpmath
import native
import numpy as np
import pytest
from exact_oracle import round_rational
from norm_boundaries import BITS, NORMS, PARTS, Element, beside_tie, boundary_cases, rationals, real
from normalization_library import NAMES, expected, geometry, given_results, results
from real_oracle import rounded_recognised
from reductions_library import OK, pointer
from softmax_library import kind
from statistics_library import dtype_of

PRECISION = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}


def check(lib, norm, fmt, part):
    """The element, and in small sets all others, too."""
    checked = 0
    for x, w, b, g, element, at, (below, above, tie, distance) in boundary_cases(norm, fmt, part):
        assert distance < mpmath.ldexp(1, -100 if fmt == "f64" else -50), (x.shape, mpmath.nstr(distance, 5))
        sides = set()
        for eps in (below, above):
            got = results(lib, norm, fmt, x, w, b, g, eps)
            with mpmath.workprec(BITS):
                value = element(mpmath.mpf(eps))
                want = rounded_recognised(value, dtype_of(fmt))
                sides.add(value > real(tie))
            assert int(got[PARTS.index(part)][at]) == want, (norm, fmt, part, x.shape, eps, hex(want))
            if x.size < 100:
                for one, other in zip(got, expected(norm, fmt, x, w, b, g, eps), strict=True):
                    assert (one == other).all()
        assert sides == {False, True}
        checked += 1
    assert checked >= 3, checked


@pytest.mark.sample(4)
@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("part", PARTS)
def test_beside_ties(isa_library, norm, fmt, part):
    check(isa_library, norm, fmt, part)


@functools.cache
def given_cases(fmt, part):
    cases, dtype = [], dtype_of(fmt)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x, g = (rng.standard_normal((3, 2, 9)).astype(dtype) for _ in range(2))
        w, b, mean, variance = (rng.standard_normal(2).astype(dtype) for _ in range(4))
        variance = np.abs(variance)
        at, c = (0, 0) if part == "by w" else ((0, 1, 4), 1)
        m, v = (Fraction(float(a[c])) for a in (mean, variance))
        element = Element.__new__(Element)
        element.constant = Fraction(float(b[c])) if part == "result" else Fraction(0)
        if part == "result":
            p = (Fraction(float(x[at])) - m) * Fraction(float(w[c]))
        elif part == "by x":
            p = Fraction(float(g[at])) * Fraction(float(w[c]))
        else:
            p = sum(h * (u - m) for h, u in zip(rationals(g[:, 0]), rationals(x[:, 0]), strict=True))
        element.terms = [(p, v, Fraction(0))]
        found = beside_tie(element, fmt, float(v) * (2.0**-53 if fmt == "f64" else 2.0**-20))
        if found is not None:
            cases.append(((x, w, b, g, mean, variance), element, at, found))
    return cases


def check_given(lib, fmt, part, places):
    """Each block with `places` elements beside the others: long ones are read where they lie."""
    checked = 0
    for (x, w, b, g, mean, variance), element, at, (below, above, _, _) in given_cases(fmt, part):
        x, g = (np.concatenate([a, np.zeros((3, 2, places), a.dtype)], 2) for a in (x, g))
        x[:, :, 9:], g[:, 0, 9:] = mean[:, None], 0
        for eps in (below, above):
            with mpmath.workprec(BITS):
                want = rounded_recognised(element(mpmath.mpf(eps)), dtype_of(fmt))
            got = given_results(lib, fmt, x, w, b, g, mean, variance, eps)
            assert int(got[PARTS.index(part)][at]) == want, (fmt, part, eps)
            checked += 1
    assert checked > 4


@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("part", PARTS)
def test_given_statistics(isa_library, fmt, part):
    for places in (0, 131):
        check_given(isa_library, fmt, part, places)


def test_control_of_given_statistics():
    for control in elementwise_library.libraries(native.control_library()).values():
        for part in PARTS:
            with pytest.raises(AssertionError, match=f"'f32', '{part}'"):
                check_given(control.library, "f32", part, 131)


@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("places", [5, 150])
def test_given_statistics_of_special_elements(isa_library, fmt, places):
    """Infinities and NaN, beside weights and biases that are 0 or not finite, are what IEEE 754's operations give, and where the statistics
    are not finite all is NaN. The gradient by x does not depend on x."""
    special = [np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0]
    rows = np.array(list(itertools.product(special, [0.0, np.inf, -np.inf, np.nan, 2.0], [0.0, np.inf, 1.0])))
    x = np.tile(rows[:, 0, None], (2, 1, places)).astype(dtype_of(fmt))
    x[0, :, ::2] = 0.5
    w, b = (rows[:, k].astype(x.dtype) for k in (1, 2))
    mean, variance, g = np.zeros(len(rows), x.dtype), np.ones(len(rows), x.dtype), np.ones(x.shape, x.dtype)
    mean[-1] = np.inf
    y, dx, _ = given_results(isa_library, fmt, x, w, b, g, mean, variance, 3.0)
    with np.errstate(invalid="ignore"):
        want = (x * 0.5 * w[:, None] + b[:, None]).astype(x.dtype)
        slope = np.broadcast_to((0.5 * w[:, None]).astype(x.dtype), x.shape).copy()
    want[:, -1] = slope[:, -1] = np.nan
    for got, expected_values in ((y, want), (dx, slope)):
        np.testing.assert_array_equal(got.view(x.dtype).astype("f8"), expected_values.astype("f8"))
    assert len(np.unique(y[np.isnan(want)])) == 1  # one NaN
    for h, first in ((x, 0), (g, 1)):  # in place
        (sets, sx, sw), _ = geometry("batch", x)
        out = h.copy()
        gradient = () if first == 0 else (pointer(out), sx)
        arrays = *gradient, pointer(x if first else out), sx, pointer(w), sw
        more = () if first else (pointer(b), sw)
        call = isa_library.rm_normalize_backward if first else isa_library.rm_normalize
        given = pointer(mean), sw, pointer(variance), sw, ctypes.c_double(3.0)
        assert call(NAMES.index(fmt), ctypes.byref(sets), *arrays, *more, *given, pointer(out), sx) == OK
        assert (out.view(kind(fmt)) == (dx if first else y)).all()
    x[np.isfinite(x)] = np.nan
    assert (given_results(isa_library, fmt, x, w, b, g, mean, variance, 3.0)[1] == dx).all()


def test_control_with_shrunk_bounds():
    """With bounds 2^20 times smaller every norm, and every gradient of one, is wrong somewhere in every format: also in binary64, which has
    no vector evaluation."""
    for isa, control in elementwise_library.libraries(native.control_library()).items():
        for norm, fmt, part in itertools.product(NORMS, NAMES, PARTS):
            with pytest.raises(AssertionError, match=f"'{norm}', '{fmt}', '{part}'"):
                check(control.library, norm, fmt, part)
                pytest.fail(f"{isa}: a bound 2^20 times smaller changes nothing for {norm}, {fmt}, {part}")


# ------------------------------------------------------------------------------------------------------------ exact ties


def rational_case(rng, fmt, norm):
    """Sets of one variance, to which eps adds up to a power of four; weights and gradients of so many bits that results often have one more
    than the format holds."""
    p, d = PRECISION[fmt], rng.integers(-3, 4, 8)
    d[0] -= d.sum() % 8
    d -= d.sum() // 8
    if norm in ("layer", "rms"):
        x = np.array([[d, -d, d[::-1]]])
    elif norm == "group":
        x = np.concatenate([d.reshape(2, 4), -d.reshape(2, 4)])[None]
    else:
        x = np.stack([d.reshape(2, 4), -d.reshape(2, 4)], axis=1)
    n = x.shape[2] if norm in ("layer", "rms") else x.shape[1]
    low, high = 2 ** rng.integers(max(p - 9, 0), p), 2 ** rng.integers(p - 1, p + 1)
    w = 2 * rng.integers(high // 4, high // 2, n) + 1 if rng.random() < 0.5 else np.ones(n)
    g, b = rng.integers(-low, low + 1, x.shape), rng.integers(-high, high, n) * rng.integers(0, 2, n)
    eps = next(4.0**k for k in range(9) if 4.0**k > (d * d).sum() / 8) - (d * d).sum() / 8
    return *(v.astype(float).astype(dtype_of(fmt)) for v in (x, w, b, g)), eps


def rational_results(norm, x, w, b, g, eps):
    """Each element of the three parts, exactly."""
    parts = [np.zeros(x.shape, object), np.zeros(x.shape, object), np.zeros(w.shape, object)]
    for part, out in zip(PARTS, parts, strict=True):
        for at in np.ndindex(out.shape):
            element = Element(norm, x, w, b, g, part, at[0] if part == "by w" else at)
            out[at] = element.constant
            for p, variance, q in element.terms:
                v = variance + Fraction(eps)
                root = Fraction(math.isqrt(v.numerator), math.isqrt(v.denominator))
                assert root**2 == v
                out[at] += (p - q / v) / root
    return parts


def is_tie(value, fmt):
    m = abs(value.numerator)
    return m != 0 and (m // (m & -m)).bit_length() == PRECISION[fmt] + 1


@functools.cache
def rational_cases(norm, fmt):
    """Cases with the bits of their results, as many as it takes to have some ties in each part."""
    rng, ties, found = np.random.default_rng(7), np.zeros(3, int), []
    while ties.min() < 4:
        arguments = rational_case(rng, fmt, norm)
        parts = rational_results(norm, *arguments)
        found.append((arguments, [[round_rational(v, fmt) for v in part.ravel()] for part in parts]))
        ties += [sum(is_tie(v, fmt) for v in part.ravel()) for part in parts]
    return found


@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("norm", NORMS)
def test_exact_ties(isa_library, norm, fmt):
    for arguments, parts in rational_cases(norm, fmt):
        got = results(isa_library, norm, fmt, *arguments)
        assert [one.ravel().tolist() for one in got] == parts, arguments

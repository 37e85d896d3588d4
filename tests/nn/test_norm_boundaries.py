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
from normalization_library import NAMES, expected, geometry, results
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


def given_results(lib, fmt, x, w, b, g, mean, variance, eps):
    """The bits of the three parts of a batch norm with given statistics, of x of shape (n, c, s)."""
    (sets, sx, sw), _ = geometry("batch", x)
    out = [np.full(v.shape, 7, kind(fmt)) for v in (x, x, w)]
    number, s, e = NAMES.index(fmt), ctypes.byref(sets), ctypes.c_double(eps)
    given = pointer(mean), sw, pointer(variance), sw, e
    a, h, u, v = pointer(x), pointer(g), pointer(w), pointer(b)
    assert lib.rm_normalize(number, s, a, sx, u, sw, v, sw, *given, pointer(out[0]), sx) == OK
    assert lib.rm_normalize_backward(number, s, h, sx, a, sx, u, sw, *given, pointer(out[1]), sx) == OK
    assert lib.rm_normalize_backward_weight(number, s, h, sx, a, sx, *given, pointer(out[2]), sw) == OK
    return out


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


@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("part", PARTS)
def test_given_statistics(isa_library, fmt, part):
    checked = 0
    for arrays, element, at, (below, above, _, _) in given_cases(fmt, part):
        for eps in (below, above):
            with mpmath.workprec(BITS):
                want = rounded_recognised(element(mpmath.mpf(eps)), dtype_of(fmt))
            assert int(given_results(isa_library, fmt, *arrays, eps)[PARTS.index(part)][at]) == want, (fmt, part, eps)
            checked += 1
    assert checked > 4


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

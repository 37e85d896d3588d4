"""Losses that are rational because their transcendental parts cancel exactly, and boundaries of rounding: no precision shows that, a theorem does.
The oracles are rationals, which hold by the construction of each case, and a hair to one side where an exponential is left over."""

import itertools
from fractions import Fraction

import bce_library
import kl_div_library
import numpy as np
import pytest
from cross_entropy_library import NONE, SUM, backward, forward, problem
from exact_oracle import bits, number, rounded
from format_ties import DIGITS, MEAN, NAMES, beside, exact, tie
from statistics_library import dtype_of

KINDS = 1, 2


@pytest.mark.parametrize("fmt", NAMES)
def test_ties_are_ties(fmt):
    """The data of this file: a hair decides them."""
    for k in KINDS:
        sides = [beside(fmt, sum(exact(tie(fmt, k))), hair) for hair in (-1, 0, 1)]
        assert sides[0] != sides[2] and sides[1] in (sides[0], sides[2])


@pytest.mark.parametrize("fmt", NAMES)
def test_kl_div_of_powers_of_two(isa_library, fmt):
    """The sum of t log t is 0 where all t are powers of 2 and the sum of t log2 t is; then the loss is that of -t x."""
    dtype = dtype_of(fmt)
    for k, sign in itertools.product(KINDS, (1, -1)):
        for powers in ([2, 0.25], [2, 0.25, 0.25], [4, 0.125, 0.125, 0.125, 0.125], [4, 2, 0.25, 0.125, 0.125, 0.125, 0.125]):
            left = sum(Fraction(t) * round(np.log2(t)) for t in powers)  # as many 1/2 make it 0
            halves = [0.5] * int(2 * left)
            assert 2 * left == len(halves)
            t = np.array([1, 1, *powers, *halves, 0], dtype)
            x = np.append(sign * tie(fmt, k), np.zeros(len(t) - 2, dtype))
            x[2:4] = 4, -4 * t[2] / t[3]
            total = -sum(a * b for a, b in zip(exact(x), exact(t), strict=True))
            assert total == -sign * sum(exact(tie(fmt, k)))
            assert kl_div_library.run(isa_library, fmt, SUM, 0, 1, x, t) == beside(fmt, total)
            assert kl_div_library.run(isa_library, fmt, MEAN, 0, 2, x, t) == beside(fmt, total / 2)
    t, x = np.array([2, 0.5, 0.5, 0.5, 0.5], dtype), np.zeros(5, dtype)
    assert kl_div_library.run(isa_library, fmt, SUM, 0, 1, x, t) == [0]
    t[4] = 0.5 + 2.0**-7  # the control: an odd prime is left over
    assert kl_div_library.run(isa_library, fmt, SUM, 0, 1, x, t) != [0]


@pytest.mark.parametrize("fmt", NAMES)
def test_kl_div_of_far_logarithms(isa_library, fmt):
    """Beside targets of probability 1 whose x add up to a tie, e^t (t - x) of any t far below is a hair with its sign; and where those of one t
    cancel, the next ones decide."""
    dtype = dtype_of(fmt)
    seen = set()
    for k, far in itertools.product(KINDS, (-9216.0, -32768.0, -40960.0 if fmt == "f16" else -(2.0**99))):
        x = tie(fmt, k)
        total = -sum(exact(x))
        for more in (
            [(far, 0)],
            [(far, far / 2)],
            [(far, 1.5 * far)],
            [(far, far)],
            [(far, far / 2), (far, 1.5 * far)],
            [(far, far / 2), (far, 1.5 * far), (1.5 * far, 0)],
            [(far, far / 2), (far, far / 2), (far, 0)],
            [(far, far / 2), (far, 1.25 * far), (1.5 * far, 1.5)],
            [(-1, 0), (-1, -2), (far, 0)],
            [(2, 1), (2, 3), (-3, 0), (-3, -6), (far, 1.5 * far)],
            [(2, 1), (2, 3), (-3, 0), (-3, -6)],
        ):
            u, v = (np.array(w, dtype) for w in zip(*more, strict=True))
            rests = list(zip(exact(u), exact(v), strict=True))
            groups = {t: sum(a - b for a, b in rests if a == t) for t, _ in rests}
            left = [groups[t] for t in sorted(groups, reverse=True) if groups[t]]  # the first one is much the largest
            hair = 0 if not left else 1 if left[0] > 0 else -1
            assert np.isfinite(v).all() and all(t < -8192 for t in groups if groups[t])
            seen.add(hair)
            t, z = np.append(np.zeros(2, dtype), u), np.append(x, v)
            order = np.random.default_rng(1).permutation(len(t))
            got = kl_div_library.run(isa_library, fmt, SUM, 1, 1, z[order], t[order])
            assert got == beside(fmt, total, hair), (k, far, more)
            got = kl_div_library.run(isa_library, fmt, MEAN, 1, 2, z[order], t[order])
            assert got == beside(fmt, total / 2, hair), (k, far, more)
    assert seen == {-1, 0, 1}


@pytest.mark.parametrize("fmt", NAMES)
def test_binary_cross_entropy(isa_library, fmt):
    """Factors of each |x| add up to 0: what is left are the sums of w x. e^-|x| of the least |x| that is left is a hair with the sign of its factor."""
    dtype = dtype_of(fmt)
    rng = np.random.default_rng(3)
    for k, sign in itertools.product(KINDS, (1, -1)):
        a, b = (float(v) for v in sign * tie(fmt, k))
        # log(1 + e^x) - log(1 + e^-x) = x
        x = [a, -a, b, -b, 1.5, 1.5, -1.5, -1.5, 0, 0]
        w = [1, -1, 1, -1, 1, -1, 2, -2, 3, -3]
        rest = sum(Fraction(max(u, 0.0)) * Fraction(v) for u, v in zip(x, w, strict=True))
        for more, hair in (
            ([], 0),
            ([(-9000, 1)], 1),
            ([(-9000, -1)], -1),
            ([(-9000, 1), (-9000, -0.5), (-9000, -0.5)], 0),
            ([(-9000, 1), (-9000, -1), (-32768, -1)], -1),
            ([(-9000, 1), (-9000, -1), (-16384, 2), (-32768, -1)], 1),
        ):
            z, v = np.array(x + [m[0] for m in more], dtype), np.array(w + [m[1] for m in more], dtype)
            order = rng.permutation(len(z))
            z, v = z[order], v[order]
            y = np.zeros_like(z)
            assert bce_library.run(isa_library, fmt, SUM, None, z, y, v, None) == beside(fmt, rest, hair), (k, sign, more)
            half = np.append(z, np.full(16 - len(z), 5, dtype)), np.append(v, np.zeros(16 - len(z), dtype))
            got = bce_library.run(isa_library, fmt, MEAN, None, half[0], np.zeros(16, dtype), half[1], None)
            assert got == beside(fmt, rest / 16, hair), (k, sign, more)
    x, y, p = np.array([1, 1, 2], dtype), np.array([0.5, 2, 0], dtype), np.array([2, 0.25, 1], dtype)
    w = np.array([1, 3, 0], dtype)  # c = 1 + (p - 1) y = 1.5, -0.5, 1
    assert bce_library.run(isa_library, fmt, SUM, None, x, y, w, p) == beside(fmt, Fraction(1, 2) - 3)
    w[1] = 3 + 2.0**-6  # the control: logarithms are left over
    assert bce_library.run(isa_library, fmt, SUM, None, x, y, w, p) != beside(fmt, Fraction(1, 2) - 3)


@pytest.mark.parametrize("fmt", NAMES)
def test_cross_entropy(isa_library, fmt):
    """Rows of the same differences, in any order and anywhere, whose weights add up to 0."""
    dtype = dtype_of(fmt)
    for k, sign in itertools.product(KINDS, (1, -1)):
        a, b = exact(tie(fmt, k))
        x = np.array([[0, -float(a), -1], [-1, 0, -float(a)], [-float(b), 0, -3], [0, -3, -float(b)]]).astype(dtype)
        p = np.zeros((4, 3), dtype)
        for row, (t, s) in enumerate(
            zip((1, 1, 0, 0), (1, -1, 1, -1), strict=True)
        ):  # in every other row of the greatest logit
            p[row, t] = s
        total = sign * (a + b)
        got = forward(isa_library, fmt, problem(x, probability=p, weight=np.full(3, sign, dtype), reduction=SUM))
        assert got.tolist() == beside(fmt, total), (k, sign)
        far = np.array([[0, -9000, -9500], [-9500, -9000, 0], [0, -20000, -25000]]).astype(dtype)
        q = np.array([[1, 0, 0], [0, 0, -1], [-1, 0, 0]], dtype)
        for rows, hair in ((2, 0), (3, -sign)):
            z, v = np.concatenate([x, far[:rows]]), np.concatenate([p, q[:rows]])
            args = {"probability": v, "weight": np.full(3, sign, dtype)}
            assert forward(isa_library, fmt, problem(z, reduction=SUM, **args)).tolist() == beside(fmt, total, hair)
        p[1, 1] = -0.75  # the control: a logarithm is left over
        args = {"probability": p, "weight": np.full(3, sign, dtype)}
        assert forward(isa_library, fmt, problem(x, reduction=SUM, **args)).tolist() != beside(fmt, total)
    x = np.array([[1, 2, 3], [3, 2, 1]], dtype)
    classes = problem(x, np.array([0, 2]), weight=np.array([1, 1, -1], dtype), reduction=SUM)
    assert forward(isa_library, fmt, classes).tolist() == [0]
    classes = problem(x, np.array([0, 2]), weight=np.array([1, 1, -1], dtype), reduction=MEAN)  # 0/0
    assert np.isnan(number(int(forward(isa_library, fmt, classes)[0]), dtype))


@pytest.mark.parametrize("fmt", NAMES)
def test_gradients_of_weights_that_cancel(isa_library, fmt):
    """Where the weights of a row add up to 0 the gradient is that of the rational part, g times -q_j."""
    dtype = dtype_of(fmt)
    digits = DIGITS[fmt]
    u, v = 1 + 2.0 ** (1 - digits // 2 - 1), 1 + 2.0 ** (digits // 2 + 1 - digits)
    x = np.array([[1, 2, 3]], dtype)
    for a, b in itertools.product((u, v, 1.0), (u, v, 3.0)):
        p, w, g = np.array([[a, -a, 0]], dtype), np.full(3, b, dtype), np.array([1], dtype)
        want = [rounded(s * Fraction(float(p[0, 0])) * Fraction(float(w[0])), dtype) for s in (-1, 1)] + [0]
        for reduction in (NONE, SUM, MEAN):
            assert backward(isa_library, fmt, problem(x, probability=p, weight=w, reduction=reduction), g)[0].tolist() == want
        p[0, 2] = 1  # the control
        assert backward(isa_library, fmt, problem(x, probability=p, weight=w, reduction=SUM), g)[0].tolist() != want
    assert bits(np.array([u], dtype))[0] != bits(np.array([1], dtype))[0]

"""Operators of src/nn over magnitudes spread evenly over the exponents of each format, subnormal results included, on every instruction
set, against rationals and reals of 12,000 bits.

Low parts of double-doubles, products, and the bounds themselves underflow near the bottom of binary64, where no other test goes: a bound
that does not count it decides what it must not. REPMATH_EXPONENT_ROUNDS asks for more rounds than the few of `make test`."""

import ctypes
import os
from fractions import Fraction

import bce_library
import cross_entropy_library
import elementwise_library
import kl_div_library
import losses_library
import mpmath
import nll_library
import normalization_library
import numpy as np
import oracle
import pooling_library
import pytest
import softmax_library
from exact_oracle import FORMATS, bits, rounded
from exponent_ranges import ends, exponents, numbers
from real_oracle import precise, rounded_recognised
from reductions_library import OK, pointer
from statistics_library import dtype_of

NAMES = list(oracle.FORMATS)
ROUNDS = int(os.environ.get("REPMATH_EXPONENT_ROUNDS", 6))
BITS = 12000  # the magnitudes of products of a few numbers, and of differences of such, span 7,000
NONE, MEAN, SUM = range(3)


def settled_all(values, fmt):
    return [rounded_recognised(v, dtype_of(fmt)) for v in values]


# A definition of another test, at this one's precision.
SOFTMAX = precise(softmax_library.expected.function, BITS)


def softmax(what):
    def operation(rng, fmt):
        x = (numbers if "backward" in what else exponents)(rng, fmt, (3, rng.integers(1, 5)))
        arrays = [x, (exponents if "log" in what else numbers)(rng, fmt, x.shape)] if "backward" in what else [x]
        want = [SOFTMAX(what, fmt, *rows) for rows in zip(*arrays, strict=True)]
        return lambda lib: np.ravel(softmax_library.result(lib, what, fmt, *arrays)).tolist(), np.ravel(
            np.array(want, np.uint64)
        ).tolist()

    return operation


OPERATORS = {
    what: softmax(what) for what in ("softmax", "log_softmax", "logsumexp", "softmax_backward", "log_softmax_backward")
}


def entropy(rng, fmt):
    rows, n, dtype = int(rng.integers(1, 4)), int(rng.integers(2, 5)), dtype_of(fmt)
    x = exponents(rng, fmt, (rows, n))
    if rng.random() < 0.3:
        x[...] = 1
    classes, reduction = rng.random() < 0.5, int(rng.integers(0, 3))
    target = rng.integers(0, n, rows) if classes else None
    probability = None if classes else np.abs(numbers(rng, fmt, x.shape))
    weight = np.abs(numbers(rng, fmt, n)) + dtype.type(2.0 ** ends(fmt)[0]) if rng.random() < 0.5 else None
    smoothing = float(rng.choice([0.0, 0.0, 0.25, 0.1]))
    g = numbers(rng, fmt, rows if reduction == NONE else 1)
    p = cross_entropy_library.problem(x, target, probability, weight, smoothing, reduction)
    with mpmath.workprec(BITS):
        loss, gradient = cross_entropy_library.values(x, target, probability, weight, smoothing, reduction, g)
        want = settled_all([*loss, *(v for row in gradient for v in row)], fmt)

    def run(lib):
        forward, backward = cross_entropy_library.forward(lib, fmt, p), cross_entropy_library.backward(lib, fmt, p, g)
        return forward.tolist() + backward.ravel().tolist()

    run.keep = x, target, probability, weight
    return run, want


OPERATORS["cross_entropy"] = entropy


def nll(rng, fmt):
    rows, n, dtype = int(rng.integers(1, 4)), int(rng.integers(1, 4)), dtype_of(fmt)
    x, reduction = numbers(rng, fmt, (rows, n)), int(rng.integers(0, 3))
    target = rng.integers(0, n, rows)
    weight = np.abs(numbers(rng, fmt, n)) + dtype.type(2.0 ** ends(fmt)[0]) if rng.random() < 0.5 else None
    g = numbers(rng, fmt, rows if reduction == NONE else 1)
    w = [Fraction(1)] * n if weight is None else [Fraction(float(v)) for v in weight]
    each = [-Fraction(float(x[i, t])) * w[t] for i, t in enumerate(target)]
    divisor = sum(w[t] for t in target) if reduction == MEAN else 1
    want = [rounded(v / divisor, dtype) for v in ([sum(each)] if reduction else each)]
    for i, t in enumerate(target):
        v = -Fraction(float(g[0 if reduction else i])) * w[t] / divisor
        want += [rounded(v, dtype) if k == t else 0 for k in range(n)]

    def run(lib):
        forward = nll_library.forward(lib, fmt, x, target, weight, reduction)
        return forward + [v for row in nll_library.backward(lib, fmt, g, x, target, weight, reduction) for v in row]

    return run, want


OPERATORS["nll_loss"] = nll


def bce(rng, fmt):
    n, reduction = int(rng.integers(1, 5)), int(rng.integers(0, 3))
    x = exponents(rng, fmt, n)
    y = numbers(rng, fmt, n) if rng.random() < 0.3 else rng.choice([0, 0.25, 0.5, 1], n).astype(x.dtype)
    w, p = (numbers(rng, fmt, n) if rng.random() < 0.4 else None for _ in range(2))
    g = numbers(rng, fmt, n if reduction == NONE else 1)

    def run(lib):
        return [v for h in (None, g) for v in bce_library.run(lib, fmt, reduction, h, x, y, w, p)]

    with mpmath.workprec(BITS):
        return run, settled_all([v for h in (None, g) for v in bce_library.values(reduction, h, x, y, w, p)], fmt)


OPERATORS["binary_cross_entropy"] = bce


def kl_div(rng, fmt):
    n, log_target, reduction = int(rng.integers(1, 5)), int(rng.integers(0, 2)), int(rng.integers(0, 3))
    x, t = numbers(rng, fmt, n), exponents(rng, fmt, n) if log_target else np.abs(numbers(rng, fmt, n))
    count = int(rng.integers(1, 9)) if reduction == MEAN else 1
    g = numbers(rng, fmt, n if reduction == NONE else 1)

    def run(lib):
        forward = kl_div_library.run(lib, fmt, reduction, log_target, count, x, t)
        return forward + kl_div_library.run(lib, fmt, reduction, log_target, count, g, t, backward=True)

    with mpmath.workprec(BITS):
        loss, gradient = (
            f(reduction, log_target, count, a, t) for f, a in ((kl_div_library.values, x), (kl_div_library.gradients, g))
        )
        return run, settled_all([*loss, *gradient], fmt)


OPERATORS["kl_div"] = kl_div


def regression(loss):
    def operation(rng, fmt):
        n, reduction = int(rng.integers(1, 6)), str(rng.choice(["none", "mean", "sum"]))
        x, y = numbers(rng, fmt, n), numbers(rng, fmt, n)
        low, high = ends("f64")
        p = float(rng.choice([1.0, 0.3, np.ldexp(1 + rng.random(), rng.integers(low, high))]))
        g = numbers(rng, fmt, n if reduction == "none" else 1)

        def run(lib):
            forward = losses_library.forward(lib, loss, p, fmt, reduction, x, y)
            return forward + losses_library.backward(lib, loss, p, fmt, reduction, g, x, y)

        want = losses_library.expected(loss, p, fmt, reduction, x, y)
        return run, want + losses_library.expected_gradient(loss, p, fmt, reduction, g, x, y)

    return operation


OPERATORS |= {loss: regression(loss) for loss in losses_library.LOSSES}


def norm_of(norm):
    def operation(rng, fmt):
        shape = (
            tuple(int(v) for v in rng.integers(1, 4, 3))
            if norm != "group"
            else (int(rng.integers(1, 3)), 2, int(rng.integers(2, 4)))
        )
        x, g = numbers(rng, fmt, shape), numbers(rng, fmt, shape)
        n = shape[2] if norm in ("layer", "rms") else shape[1]
        w, b = numbers(rng, fmt, n), numbers(rng, fmt, n)
        low, high = ends("f64")
        eps = float(rng.choice([1e-5, 2.0**-1074, np.ldexp(1 + rng.random(), rng.integers(low, high))]))

        def run(lib):
            return [
                v for part in normalization_library.results(lib, norm, fmt, x, w, b, g, eps) for v in part.ravel().tolist()
            ]

        with mpmath.workprec(BITS):
            return run, settled_all(
                [v for part in normalization_library.values(norm, x, w, b, g, eps) for v in np.ravel(part)], fmt
            )

    return operation


OPERATORS |= {norm: norm_of(norm) for norm in ("layer", "rms", "group", "batch")}


def average(rng, fmt):
    shape, out, *rest = [*pooling_library.CASES[:2], *pooling_library.CASES[6:8]][rng.integers(0, 4)]
    pad, divisor = int(rng.integers(0, 2)), int(rng.choice([0, 0, 3, 8]))
    p, axes = pooling_library.pool_of(shape, out, *rest)
    dtype, index = dtype_of(fmt), ctypes.c_int(NAMES.index(fmt))
    x, g = numbers(rng, fmt, shape), numbers(rng, fmt, shape[:2] + out)
    want, gx = np.zeros(g.shape, object), np.full(shape, Fraction(0), object)
    for at, window, padded in pooling_library.outputs(shape, axes):
        by = divisor or (padded if pad else len(window))
        want[at] = rounded(sum((Fraction(float(x[at[:2] + t])) for t in window), Fraction(0)) / by, dtype)
        for t in window:
            gx[at[:2] + t] += Fraction(float(g[at])) / by

    def run(lib):
        got = []
        for f, a, to in ((lib.rm_avg_pool, x, g.shape), (lib.rm_avg_pool_backward, g, shape)):
            y = np.full(to, 7, dtype)
            arguments = pointer(a), pooling_library.strides(a), pointer(y), pooling_library.strides(y)
            assert f(index, ctypes.byref(p), pad, ctypes.c_int64(divisor), *arguments) == OK
            got += bits(y).ravel().tolist()
        return got

    return run, [*want.ravel(), *(rounded(v, dtype) for v in gx.ravel())]


OPERATORS["avg_pool"] = average


def cases(operator, fmt):
    return (
        OPERATORS[operator](np.random.default_rng([list(OPERATORS).index(operator), NAMES.index(fmt), seed]), fmt)
        for seed in range(ROUNDS)
    )


@pytest.mark.sample(4)
@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("operator", OPERATORS)
def test_spread_exponents(operator, fmt):
    for seed, (run, want) in enumerate(cases(operator, fmt)):
        for isa, found in elementwise_library.libraries().items():
            pairs = enumerate(zip(run(found.library), want, strict=True))
            wrong = [(i, hex(got), hex(right)) for i, (got, right) in pairs if got != right]
            assert not wrong, (isa, seed, wrong)


@pytest.mark.parametrize(
    "g, y",
    [([2.0**1000], [-1.25 * 2.0**-1000]), ([1.5], [-(2.0**-1024)]), ([1e300, 0.0], [-3.307553003638408e-308, -708.0])],
)
def test_logarithms_beside_0(isa_library, g, y):
    """g - e^y sum(g) where e^y is 1 but for the last bits of binary64's range."""
    g, y = np.array([g]), np.array([y])
    got = softmax_library.result(isa_library, "log_softmax_backward", "f64", g, y)
    assert got[0].tolist() == SOFTMAX("log_softmax_backward", "f64", g[0], y[0])
    assert got[0, 0] != 0


@pytest.mark.parametrize("x", [1e-290, 1e-300, -1e-308, 5e-324])
def test_logits_beside_0(isa_library, x):
    """The gradients of logits that are nearly equal: g (1/(1 + e^-x) - 1/2), about g x/4."""
    x, half, one = np.array([x]), np.array([0.5]), np.ones(1)
    with mpmath.workprec(BITS):
        want = settled_all(bce_library.values(NONE, one, x, half, None, None), "f64")
    assert bce_library.run(isa_library, "f64", NONE, one, x, half, None, None) == want
    two, halves = np.array([[x[0], 0.0]]), np.full((1, 2), 0.5)
    p = cross_entropy_library.problem(two, None, halves, None, 0.0, NONE)
    with mpmath.workprec(BITS):
        _, gradient = cross_entropy_library.values(two, None, halves, None, 0.0, NONE, one)
        want = settled_all(gradient[0], "f64")
    assert cross_entropy_library.backward(isa_library, "f64", p, one)[0].tolist() == want


def pieces(v, count):
    """Numbers of binary64, each as near as may be to what the ones before leave of v."""
    found = []
    for _ in range(count):
        found.append(float(v))
        v -= found[-1]
    return found


def test_sums_beside_exponentials(isa_library):
    """Sums of gradients that are e^-y times one of them up to some 1900 bits: what is left, far below, is the result."""
    with mpmath.workprec(BITS):
        for y, top, count in ((0.5, 900, 36), (-3.0, 100, 20), (2.0**-700, 300, 8)):
            g = [2.0**top, *pieces(mpmath.ldexp(mpmath.expm1(-mpmath.mpf(y)), top), count)]
            left = mpmath.mpf(g[0]) - mpmath.exp(y) * mpmath.fsum(map(mpmath.mpf, g))
            assert 0 < abs(left) < mpmath.ldexp(1, top - 52 * count)
            arguments = np.array([g]), np.full((1, count + 1), y)
            got = softmax_library.result(isa_library, "log_softmax_backward", "f64", *arguments)[0]
            assert int(got[0]) == rounded_recognised(left, dtype_of("f64"))


def test_sums_beside_logarithms(isa_library):
    """3 log 3 n - 3 times numbers that add up to n log 3 but for the last of 1,000 bits."""
    count = 20
    with mpmath.workprec(BITS):
        x = np.array(pieces(count * mpmath.log(3), count))
        t = np.full(count, 3.0)
        (want,) = kl_div_library.values(SUM, 0, 1, x, t)
        assert 0 < abs(want) < mpmath.ldexp(1, -1000)
        assert kl_div_library.run(isa_library, "f64", SUM, 0, 1, x, t) == settled_all([want], "f64")


@pytest.mark.parametrize("fmt", NAMES)
def test_the_data_reach_the_ends(fmt):
    """Of the results that are compared, many are subnormal, many round to a zero of either sign or to infinity; and arithmetic in binary64,
    rounded at every step, has not the averages' bits."""
    _, _, mantissa, _, field, shift = FORMATS[fmt]
    seen = [v for name in ("mse", "huber", "layer", "avg_pool", "nll_loss") for _, want in cases(name, fmt) for v in want]
    sizes = [v & ((1 << shift) - 1) for v in seen]
    assert (
        sum(0 < v < 1 << mantissa for v in sizes) > 20 and seen.count(1 << shift) > 5 and sizes.count(field << mantissa) > 5
    )
    x = numbers(np.random.default_rng(1), "f64", (4000, 3), (-1074, -1000))
    plain = ((x[:, 0] + x[:, 1]) + x[:, 2]) / 3
    exact = [rounded(sum(Fraction(float(v)) for v in row) / 3, np.dtype("f8")) for row in x[:200]]
    assert bits(plain[:200]).tolist() != exact

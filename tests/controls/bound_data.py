"""Data beside boundaries of rounding for every bound of src/: what decides a rounding by an approximate value must not be off by more than its bound
there. An operation takes a library (ctypes) and a generator and returns the bits of its results, as a list or an array.

A number of binary64 that a caller chooses (a factor, a standard deviation, an eps) is solved for a result a hair from the midpoint of two numbers,
and its neighbours are tried too: so that results lie within a few units of the evaluation's own error of a boundary, which random data never does."""

from __future__ import annotations

import ctypes
import math
from fractions import Fraction

import bce_library
import boundary_data
import formula_library
import kl_div_library
import losses_library
import mpmath
import numpy as np
import optimizers_library
import pair_data
import random_oracle
import statistics_library
import tile_data
from convolution_library import Convolution, Geometry
from cross_entropy_library import NONE, backward, forward, problem
from exact_oracle import FORMATS, bits
from exponential_data import exponentials_in_two_parts, tiny_exponentials, weighted_classes_in_two_parts  # noqa: F401
from factor_data import long_products, many_factors  # noqa: F401
from fft_library import transform
from linalg_data import midpoint_determinants, midpoint_factors, midpoint_solutions  # noqa: F401
from normalization_library import results
from pooling_library import pool_of, strides
from random_library import Random
from random_rounding_data import (  # noqa: F401
    RandomRounding,
    balls_rounded_at_random,
    elements_rounded_at_random,
    formulas_beside_thresholds,
    formulas_rounded_at_random,
    products_beside_thresholds,
    sums_rounded_at_random,
)
from reductions_library import I64, NO_TRANS, OK, ROW_MAJOR, TRANS, Reductions, pointer
from sample_data import not_finite, weighted  # noqa: F401
from sampling_library import sum_of_all
from scatter_library import call as scatter
from softmax_library import result
from statistics_library import dtype_of

PRECISION = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
NAMES = list(FORMATS)


def odd(rng, low, high, n=None):
    return 2 * rng.integers(int(low) // 2, int(high) // 2, n) + 1


def midpoint(rng, fmt, exponent=0) -> Fraction:
    """Between two numbers of the format, in [2^exponent, 2^(exponent + 1)]."""
    p = PRECISION[fmt]
    return Fraction(int(odd(rng, 2**p, 2 ** (p + 1)))) * Fraction(2) ** (exponent - p)


def number(rng, fmt, low=1.0, high=2.0) -> Fraction:
    return Fraction(float(np.array(rng.uniform(low, high)).astype(dtype_of(fmt))))


def around(value: Fraction, steps: int = 3) -> list[float]:
    """The binary64 numbers next to a value, and the value's own."""
    middle = float(value)
    return [middle + k * math.ulp(middle) for k in range(-steps, steps + 1)]


def first_in_range(a: int, b: int, m: int, low: int, high: int) -> int | None:
    """The least z >= 0 with (a z + b) mod m in [low, high]."""

    def first(a, m, low, high):
        if low == 0:
            return 0
        a %= m
        if a == 0:
            return None
        z = -(-low // a)
        if a * z <= high:
            return z
        k = first(m % a, a, -high % a, -low % a) if -high % a <= -low % a else 0
        return None if k is None else (low + m * k + a - 1) // a

    low, high = (low - b) % m, (high - b) % m
    return 0 if low > high else first(a, m, low, high)


def beside_half(rng, slope: Fraction, start: int, bound: int, range_: int = 14, base: Fraction = Fraction(0)) -> int | None:
    """An integer z >= start below 2^53 for which base + slope z is an integer and a half, off by 2^bound or as little as 2^-range_ of it."""
    m = slope.denominator * base.denominator
    least = Fraction(2) ** int(bound - rng.integers(1, range_)) * int(rng.choice([-1, 1]))
    ends = sorted([m // 2 + int(least * m), m // 2 + int(2 * least * m)])
    step = int(slope * m)
    z = first_in_range(step % m, (step * start + int(base * m)) % m, m, *ends)
    return None if z is None or start + z >= 2**53 else start + z


# ----------------------------------------------------------------------------------------------------- formulas, optimisers


def formula(lib, name, fmt, a, *arrays):
    which = [f[0] for f in formula_library.FORMULAS].index(name)
    code, out = formula_library.run(lib, which, fmt, a, [np.array([float(v)], dtype_of(fmt)) for v in arrays])
    assert code == OK
    return int(bits(out)[0])


def quotients(lib, rng):
    """x + a y/z, a solved for."""
    found = []
    for _ in range(300):
        y, z, m = number(rng, "f32"), number(rng, "f32"), midpoint(rng, "f32", 1)
        x = Fraction(float(np.float32(float(m) * rng.uniform(0, 0.9))))
        found += [formula(lib, "quotient", "f32", a, x, y, z) for a in around((m - x) * z / y)]
    return found


def quick_quotients(lib, rng):
    """The same, of as many elements as a vector has."""
    found = []
    for _ in range(300):
        y, z, m = number(rng, "f32"), number(rng, "f32"), midpoint(rng, "f32", 1)
        x = Fraction(float(np.float32(float(m) * rng.uniform(0, 0.9))))
        for a in around((m - x) * z / y):
            code, out = formula_library.run(lib, 7, "f32", a, [np.full(8, float(v), np.float32) for v in (x, y, z)])
            assert code == OK
            found += bits(out).tolist()
    return found


def quotients_in_two_parts(lib, rng):
    """x/a is M (1 + r/(a M)) for an M of one bit more than the format has, and a small r: x = r 2^-k mod M."""
    found = []
    for fmt, k, least, most in (("f32", 54, 0, 7), ("f64", 54, 0, 36)):
        p = PRECISION[fmt]
        for _ in range(600):
            m, r = int(odd(rng, 2**p, 2 ** (p + 1))), int(2.0 ** rng.uniform(least, most)) * int(rng.choice([-1, 1]))
            x = r * pow(2, -k, m) % m
            a, rest = divmod((x << k) - r, m)
            if not 2 ** (p - 8) < x < 2**p or not 0 < a < 2**60 or float(a) != a or rest:
                continue
            found.append(formula(lib, "over", fmt, float(a), float(x)))
    return found


def quotient_reach(lib, rng):
    """x/a in binary32, a solved for: the first part alone decides where the result is this far from a midpoint."""
    found = []
    for _ in range(300):
        x, m = number(rng, "f32"), midpoint(rng, "f32", 0)
        found += [formula(lib, "over", "f32", a, x) for a in around(x / m)]
    return found


def sum_reach(lib, rng):
    """The same of x + a y."""
    found = []
    for _ in range(300):
        x, y, m = number(rng, "f32"), number(rng, "f32"), midpoint(rng, "f32", 1)
        found += [formula(lib, "plus", "f32", a, x, y) for a in around((m - x) / y)]
    return found


def three_factors(lib, rng):
    """x + a y z in two parts, beside a midpoint of binary64: z solved for by a continued fraction."""
    found = []
    for _ in range(250):
        a, y = 1 + rng.random(), 1 + rng.random()
        z = beside_half(rng, Fraction(a) * Fraction(y) / 8, int(rng.integers(2**51, 2**52)), -45)
        if z is None:
            continue
        x = float(rng.integers(2**52, 2**52 + 2**51))
        found.append(formula(lib, "product", "f64", a / 8, x, y, float(z)))
    return found


def adam(lib, rng):
    """p' = p - lr m'/(sqrt(v') + eps) with beta1 = 0 and beta2 = 0: lr solved for."""
    found = []
    with mpmath.workprec(200):
        for _ in range(150):
            p, g, m = number(rng, "f32"), number(rng, "f32"), midpoint(rng, "f32", 0)
            eps = rng.uniform(0.5, 2)
            v = float(np.float32(float(g * g)))
            root = mpmath.sqrt(v) + eps
            want = mpmath.mpf(p.numerator) / p.denominator - mpmath.mpf(m.numerator) / m.denominator
            step = want * root / (mpmath.mpf(g.numerator) / g.denominator)
            for lr in around(Fraction(int(mpmath.floor(step * 2**120)), 2**120)):
                if lr <= 0:
                    continue
                x = np.array([[float(p)], [float(g)], [0.0], [0.0], [0.0]], "f4")
                options = {"lr": lr, "beta1": 0.0, "beta2": 0.0, "eps": eps, "step": 1}
                assert optimizers_library.adam(lib, "f32", options, x) == OK
                found.append(int(bits(x[0])[0]))
    return found


# --------------------------------------------------------------------------------------------------------------- losses


def terms(lib, rng):
    """Smooth l1 in binary32: d^2/(2 beta) beside a midpoint, beta solved for."""
    found = []
    for _ in range(400):
        d, m = number(rng, "f32"), midpoint(rng, "f32", -3)
        for beta in around(d * d / (2 * m)):
            found += losses_library.forward(
                lib, "smooth_l1", beta, "f32", "none", np.array([float(d)], "f4"), np.zeros(1, "f4")
            )
    return found


def term_gradients(lib, rng):
    """The same for g d/beta."""
    found = []
    for _ in range(400):
        d, g, m = number(rng, "f32"), number(rng, "f32"), midpoint(rng, "f32", -3)
        for beta in around(d * g / m):
            x = np.array([float(d)], "f4"), np.zeros(1, "f4")
            found += losses_library.backward(lib, "smooth_l1", beta, "f32", "none", np.array([float(g)], "f4"), *x)
    return found


def run_gradients(lib, rng):
    """The same where g is one number for all elements."""
    found = []
    for _ in range(400):
        d, g, m = number(rng, "f32"), number(rng, "f32"), midpoint(rng, "f32", -3)
        for beta in around(d * g / m):
            x = np.array([float(d)], "f4"), np.zeros(1, "f4")
            found += losses_library.backward(lib, "smooth_l1", beta, "f32", "sum", np.array([float(g)], "f4"), *x)
    return found


def run_sums(lib, rng):
    """The sum of two d^2/(2 beta) beside a midpoint, of which the lesser one makes it longer than a number of binary64."""
    found = []
    for _ in range(400):
        d, e, m = number(rng, "f32"), number(rng, "f32") / 1024, midpoint(rng, "f32", -3)
        for beta in around((d * d + e * e) / (2 * m)):
            x = np.array([float(d), float(e)], "f4"), np.zeros(2, "f4")
            found += losses_library.forward(lib, "smooth_l1", beta, "f32", "sum", *x)
    return found


def term_gradients_in_two_parts(lib, rng):
    """In binary64: g d/beta beside a midpoint, g solved for."""
    found = []
    for _ in range(250):
        beta, d = 1 + rng.random() / 4, 1 - rng.random() / 4
        slope = Fraction(d) / Fraction(beta)
        g = beside_half(rng, slope, int(2**52 / slope) + int(rng.integers(2**30)), -46)
        if g is None:
            continue
        x = np.array([d]), np.zeros(1)
        found += losses_library.backward(lib, "smooth_l1", beta, "f64", "none", np.array([float(g)]), *x)
    return found


# ------------------------------------------------------------------------------------------------------------- random numbers


def dropout(lib, rng):
    """x/(1 - p), p solved for."""
    found, random = [], Random(lib)
    for _ in range(300):
        x, m = number(rng, "f32"), midpoint(rng, "f32", 2)
        for p in around(1 - x / m):
            found += bits(random.dropout("f32", (0, 0, 0), np.full(4, float(x), "f4"), p)).tolist()
    return found


def dropout_in_two_parts(lib, rng):
    """In binary64, x solved for."""
    found, random = [], Random(lib)
    for _ in range(200):
        p = rng.random() / 4
        slope = 1 / (1 - Fraction(p))
        x = beside_half(rng, slope, int(rng.integers(2**52, 2**52 + 2**50)), -45)
        if x is None or x * slope >= 2**53:
            continue
        found += bits(random.dropout("f64", (0, 0, 0), np.full(4, float(x)), p)).tolist()
    return found


def uniform(lib, rng):
    """low + u (high - low), high solved for."""
    found, random = [], Random(lib)
    for i in range(300):
        place = (5, 5, i)
        k, p = random_oracle.unit("f32", *place, 1)
        u = Fraction(int(k[0]), 2**p)
        if u == 0:
            continue
        m, low = midpoint(rng, "f32", 0), Fraction(float(rng.uniform(-1, 1)))
        for high in around(low + (m - low) / u):
            if Fraction(high) > low:
                found += bits(random.uniform("f32", place, 1, float(low), high)).tolist()
    return found


def uniform_in_two_parts(lib, rng):
    """In binary64: low (1 - u) + high u beside a midpoint, for a given u and low, high solved for."""
    found, random = [], Random(lib)
    for i in range(1000):
        place = (5, 5, i)
        k, _ = random_oracle.unit("f64", *place, 1)
        u, low = Fraction(int(k[0]), 2**53), -float(rng.random())
        if u < 0.6:
            continue
        start = int(2**52 / u) + int(rng.integers(2**30))
        high = beside_half(rng, u, start, -47, base=Fraction(low) * (1 - u))
        if high is None:
            continue
        found += bits(random.uniform("f64", place, 1, low, float(high))).tolist()
    return found


def normal(lib, rng):
    """mean + std z, mean solved for, with a small std: the error is that of the sum."""
    found, random = [], Random(lib)
    for i in range(200):
        place = (7, 7, i)
        z = random_oracle.quantile(int(random_oracle.draws(*place, 1)[0]))
        m, std = midpoint(rng, "f32", 0), 2.0**-14 * float(1 + rng.random())
        for mean in around(m - Fraction(std) * z):
            found += bits(random.normal("f32", place, 1, mean, std)).tolist()
    return found


def normal_in_two_parts(lib, rng):
    """In binary64, std solved for."""
    found, random = [], Random(lib)
    for i in range(150):
        place = (7, 7, i)
        z = random_oracle.quantile(int(random_oracle.draws(*place, 1)[0]))
        slope = Fraction(int(abs(z) * 2**140), 2**182)
        std = beside_half(rng, slope, int(rng.integers(2**52, 2**52 + 2**50)), -50, 6)
        if std is None:
            continue
        mean = float(rng.integers(2**52 + 2**50, 2**53 - 2**50))
        found += bits(random.normal("f64", place, 1, mean, std * 2.0**-42)).tolist()
    return found


def far_ends(random, rng, places, std_of, exponent):
    """Normal numbers truncated so far out that they are those of the whole distribution; mean solved for."""
    found = []
    for place in places:
        z = random_oracle.quantile(int(random_oracle.draws(*place, 1)[0]))
        m, std = midpoint(rng, "f32", exponent), std_of(rng)
        for mean in around(m - Fraction(std) * z):
            found += bits(random.truncated("f32", place, 1, mean, std, mean - 25 * std, mean + 25 * std)).tolist()
    return found


def truncated(lib, rng):
    """A small std: the error is that of the sum."""
    return far_ends(Random(lib), rng, [(7, 7, i) for i in range(100)], lambda rng: 2.0**-14 * (1 + rng.random()), 0)


# -------------------------------------------------------------------------------------------- sums of terms that all err alike


def halves(n, side=1):
    """1, half a place, then n numbers just above half a place of that half: in two parts each addition to the second one rounds up by half
    of its last place. The last term brings the exact sum below the midpoint, from which the computed one is n of these halves."""
    half = 2.0**-106
    last = -(n + 2) * half
    return np.array([1.0, 2.0**-53, *[half * (1 + 2.0**-20)] * n, last]) * side


def prefixes(lib, rng):
    found, x = [], Reductions(lib)
    for n in (20, 60):
        for side in (1, -1):
            found += statistics_library.cumsum(x, "f64", halves(n, side), "f64")
    return found


def segments(lib, rng, fmt="f64"):
    found = []
    for n in (8, 64):
        for side in (1, -1):
            x = halves(n, side)
            src = np.tile(x[:, None], (1, 19))
            out = np.zeros((2, 19))
            assert scatter(Reductions(lib), "segment_sum", fmt, out, np.ones(len(x), "i8"), src) == OK
            found += bits(out).ravel().tolist()
    return found


def growing(n, half, hair):
    """1, n terms of about `half`, of which all but a last place is left over, and a last one that makes the sum a hair more than a midpoint of
    binary64: the sum of what is left over grows, and each addition to it loses half of its last place."""
    x, low = [1.0], 0.0
    for _ in range(n):
        place = math.ulp(low + half * 1.5) if low else 0.0
        x.append(half - place * 0.53125)
        low += x[-1]
    total = sum(map(Fraction, x), Fraction(0))
    k = math.floor(total * 2**53)
    middle = Fraction(k + 1 + k % 2, 2**53)
    return np.array([*x, float(middle - total + Fraction(hair))])


def compensated(lib, rng):
    """Each lane has four chains of 32 terms."""
    found, r = [], Reductions(lib)
    for lanes in (1, 2, 4, 8):
        for k in range(3, 10):
            x = growing(30, 2.0**-53, 2.0 ** (-98 - k))
            y = np.zeros(4 * lanes * 32)
            y[: 4 * lanes * len(x) : 4 * lanes] = x[: len(y) // (4 * lanes)]
            found += [int(bits(r.sum("f64", y))), int(bits(r.dot("f64", y, np.ones(len(y)))))]
            found += [int(bits(r.sum("f64", -y)))]
    return found


def products_in_two_parts(lib, rng):
    """The double-double engine: chains of 128 terms, whose sums begin at 3 where a scaled product 2^-10 is to be added."""
    found, r = [], Reductions(lib)
    for half in (2.0**-42, 2.0**-43, 2.0**-44):
        for hair in range(84, 100):
            x = growing(126, half, 2.0**-hair)
            got = r.matmul("f64", np.tile(x, (2, 1)), np.ones((len(x), 3)))
            found += bits(got).ravel().tolist()
    return found


def products_again(lib, rng):
    """The second attempt at elements that the double-double engine leaves undecided: an accumulation chain of 1,000 terms in one of so many lanes."""
    found, r = [], Reductions(lib)
    for lanes in (1, 2, 4, 8):
        for part in range(2, 9):
            x = growing(1000, 2.0**-53, 2.0 ** -(86 + part))
            y = np.zeros(lanes * len(x))
            y[::lanes] = x
            got = r.matmul("f64", np.tile(y, (2, 1)), np.ones((len(y), 3)))
            found += bits(got).ravel().tolist()
    return found


def products_and_bias(lib, rng):
    """A bias beside which products are small; one factor solved for."""
    found, r = [], Reductions(lib)
    for _ in range(300):
        a = float(1 + rng.random()) * 2.0**-34
        b = beside_half(rng, Fraction(a), int(rng.integers(2**51, 2**52)), -50, 8)
        if b is None:
            continue
        bias = np.array([float(rng.integers(2**52, 2**53 - 2**51))])
        found += bits(r.matmul("f64", np.array([[a]]), np.array([[float(b)]]), bias)).ravel().tolist()
    return found


def chain_sums(lib, rng):
    found, r = [], Reductions(lib)
    for lanes in (1, 2, 4, 8):
        places = tuple(sorted([4 * lanes * i for i in range(1, 32)] + [lanes, 2 * lanes]))
        for side in (1, -1):
            b, _ = boundary_data.products("f32", 1100, places, side)
            x = (b.x.astype("f8") * b.y.astype("f8")).astype("f4")
            found += [int(bits(r.sum("f32", x))), int(bits(r.dot("f32", b.x, b.y)))]
    return found


def chain_products(lib, rng):
    found, r = [], Reductions(lib)
    for chain, lanes in ((256, 1), (128, 1), (128, 8), (256, 4), (256, 2), (128, 4)):
        if chain * lanes > 4096 and lanes > 1:
            continue
        for side in (1, -1):
            k = 4096
            b, _ = boundary_data.products("f32", k, tuple(boundary_data.chain_places(k, chain, lanes)[: k - 40]), side)
            for m, n in ((1, 3), (3, 1), (3, 5)):
                found += bits(r.matmul("f32", np.tile(b.x, (m, 1)), np.tile(b.y, (n, 1)).T)).ravel().tolist()
    return found


def tile_products(lib, rng):
    """In 16 bits: elements beside ties, and a row that is not finite."""
    found, r = [], Reductions(lib)
    for fmt in ("bf16", "f16"):
        for a, b, i, j, _ in tile_data.beside_ties(fmt, 40):
            c = np.zeros((1, len(a), b.shape[1]), a.dtype)
            a[i - 1, 3] = np.inf
            assert r.batched(fmt, a[None], b[None], c) == OK
            found += [bits(c)[0, i, j], *bits(c)[0, i - 1]]
    return found


def tile_remainders(lib, rng):
    """In 16 bits: an element of which the digits leave out nearly as much as they may."""
    found, r = [], Reductions(lib)
    for fmt in ("bf16", "f16"):
        for a, b, i, j, _ in tile_data.remainders(fmt):
            c = np.zeros((1, len(a), b.shape[1]), a.dtype)
            assert r.batched(fmt, a[None], b[None], c) == OK
            found.append(bits(c)[0, i, j])
    return found


def pair_chains(lib, rng):
    """In bf16: chains in binary32 whose additions err alike."""
    found, r = [], Reductions(lib)
    for k in (100, 128, 600):
        for side in (1, -1):
            b = pair_data.boundary(k, side)
            a, c = np.tile(b.x, (20, 1)), np.zeros((1, 20, 50), b.x.dtype)
            assert r.batched("bf16", a[None], np.tile(b.y, (50, 1)).T[None], c) == OK
            found += bits(c).ravel().tolist()
    return found


def chain_taps(lib, rng, groups=(1,)):
    """A depthwise convolution: one chain of the taps."""
    found, k = [], 120
    for side in (1, -1):
        b, _ = boundary_data.products("f32", k, tuple(range(1, k - 40)), side)
        for many in groups:
            g, y = Geometry(1, many, many, (k,), k, groups=many), np.zeros((1, many, 1), "f4")
            x, w = (np.tile(v, (many, 1)) for v in (b.x, b.y))
            assert Convolution(lib)(g, "forward", "f32", x.reshape(g.x_shape), w.reshape(g.w_shape), y) == OK
            found += bits(y).ravel().tolist()
    return found


def chain_channels(lib, rng):
    """The same of several channels at once."""
    return chain_taps(lib, rng, (8, 19))


def chain_positions(lib, rng):
    """The gradient of a depthwise convolution with respect to its weights: a chain of the positions."""
    found, k = [], 500
    for side in (1, -1):
        b, _ = boundary_data.products("f32", k, tuple(range(1, k - 40)), side)
        for many in (8, 19):
            g, gw = Geometry(1, many, many, (k,), 1, groups=many), np.zeros((many, 1, 1), "f4")
            x, y = (np.tile(v, (many, 1)) for v in (b.x, b.y))
            assert Convolution(lib)(g, "grad_weight", "f32", x.reshape(g.x_shape), y.reshape(g.y_shape), gw) == OK
            found += bits(gw).ravel().tolist()
    return found


def chain_segments(lib, rng):
    """One chain for each element, in binary64 over terms of binary32: few terms, and many."""
    found = []
    for k in (12, 300):
        for side in (1, -1):
            b, _ = boundary_data.products("f32", k + 40, tuple(range(1, k)), side)
            x = (b.x.astype("f8") * b.y.astype("f8")).astype("f4")
            for cols in (3, 19):
                out = np.zeros((3, cols), "f4")
                src = np.tile(x[:, None], (1, cols))
                assert scatter(Reductions(lib), "segment_sum", "f32", out, np.ones(len(x), "i8"), src) == OK
                found += bits(out).ravel().tolist()
    return found


def chain_axes(lib, rng):
    """The same of sums over an axis whose terms are copied side by side."""
    found = []
    for side in (1, -1):
        b, _ = boundary_data.products("f32", 340, tuple(range(1, 300)), side)
        x = (b.x.astype("f8") * b.y.astype("f8")).astype("f4")
        x = np.tile(x[:, None, None], (1, 3, 2))
        out = np.zeros(3, "f4")
        size, stride = (I64 * 4)(1, 3, 1, len(x)), (I64 * 4)(0, x.strides[1], 0, x.strides[0])
        code = NAMES.index("f32")
        assert lib.rm_sum_axes(code, size, stride, pointer(x), code, pointer(out)) == OK
        found += bits(out).ravel().tolist()
    return found


def gemm(lib, fmt, alpha, a, b, beta, c):
    (m, k), n = a.shape, b.shape[0]
    last = ctypes.c_double(beta), pointer(c), I64(n)
    head = NAMES.index(fmt), ROW_MAJOR, NO_TRANS, TRANS, I64(m), I64(n), I64(k), ctypes.c_double(alpha)
    assert lib.rm_gemm(*head, pointer(a), I64(max(1, k)), pointer(b), I64(max(1, k)), *last) == OK
    return int(bits(c)[0, 0])


def scaled(lib, rng):
    """alpha a b + beta c, alpha solved for."""
    found = []
    for _ in range(300):
        a, b, c, beta = (number(rng, "f32") for _ in range(4))
        m = midpoint(rng, "f32", 3)
        for alpha in around((m - beta * c) / (a * b)):
            one = [np.array([[float(v)]], "f4") for v in (a, b, c)]
            found.append(gemm(lib, "f32", alpha, one[0], one[1], float(beta), one[2]))
    return found


def scaled_in_two_parts(lib, rng):
    """In binary64: beta c beside a small product, c solved for."""
    found = []
    for _ in range(300):
        a, b, alpha, beta = (float(1 + rng.random()) for _ in range(4))
        alpha *= 2.0**10
        start, base = int(2**52 / Fraction(beta)) + int(rng.integers(2**30)), Fraction(alpha) * Fraction(a) * Fraction(b)
        z = beside_half(rng, Fraction(beta), start, -50, 8, base)
        if z is None:
            continue
        one = [np.array([[v]]) for v in (a, b, float(z))]
        found.append(gemm(lib, "f64", alpha, one[0], one[1], beta, one[2]))
    return found


# ------------------------------------------------------------------------------------------------------------ rows


def halfway(rng, low, high, count):
    """Midpoints of binary32 numbers, in extended precision: enough to be aimed at, no oracle."""
    near = rng.uniform(low, high, count).astype("f4")
    return near.astype(np.longdouble) + np.spacing(near).astype(np.longdouble) / 2


def off(rng, bound, count):
    """Factors beside 1, by all of a bound or as little as 2^-7 of it."""
    return 1 + (rng.choice([-1, 1], count) * 2.0 ** rng.uniform(-7, 0, count)).astype(np.longdouble) * bound


def two_numbers(v):
    """A number as the sum of two of binary32: 48 bits of it."""
    first = v.astype("f4")
    return first, (v - first.astype(np.longdouble)).astype("f4")


def pairs(difference):
    """Rows of two with these positive differences of the first and the second."""
    a, b = two_numbers(difference)
    return np.stack([a, -b], axis=1)


ROWS = 1 << 16


def entropies(lib, rng):
    """t (log t - x) and (1 - y) x + (1 - y + p y) log(1 + e^-x) beside midpoints, to which a small x, or a small p y, brings them."""
    t = rng.choice([-1, 1], ROWS) * rng.uniform(0.02, 0.1, ROWS)
    t = (1 + t).astype("f4")  # where the logarithm is least accurate
    wide = t.astype(np.longdouble)
    value = (wide * np.log(wide)).astype("f4")
    middle = value.astype(np.longdouble) + np.spacing(value).astype(np.longdouble) / 2
    x = np.log(wide) - middle * off(rng, 2.0**-41, ROWS) / wide
    found = kl_div_library.run(lib, "f32", kl_div_library.NONE, 0, 1, x.astype("f4"), t)
    x, y = rng.uniform(0.1, 8, ROWS).astype("f4"), np.full(ROWS, 2.0**-20, "f4")
    wide, logarithm = x.astype(np.longdouble), np.log1p(np.exp(-x.astype(np.longdouble)))
    rest = (1 - np.longdouble(2.0**-20)) * (wide + logarithm)
    value = rest.astype("f4")
    middle = value.astype(np.longdouble) + np.spacing(value).astype(np.longdouble) / 2
    p = (middle * off(rng, 2.0**-41, ROWS) - rest) / (logarithm * np.longdouble(2.0**-20))
    return found + bce_library.run(lib, "f32", 0, None, x, y, None, p.astype("f4"))


def entropy_gradients(lib, rng):
    """g t/count beside a midpoint, count solved for."""
    found = []
    for _ in range(400):
        t, g, m = number(rng, "f32"), number(rng, "f32"), midpoint(rng, "f32", -52)
        count = t * g / m
        for whole in (int(count), int(count) + 1):
            numbers = np.array([float(g)], "f4"), np.array([float(t)], "f4")
            found += kl_div_library.run(lib, "f32", kl_div_library.MEAN, 0, whole, *numbers, backward=True)
    return found


def special_entropies(lib, rng):
    """Values of which the fast phase knows no exponential, no logarithm, or at once that the term is 0."""
    with np.errstate(all="ignore"):
        x = np.array([100, -100, 3, -3, np.nan, np.inf], "f4")
        found = bce_library.run(lib, "f32", 0, None, x, np.array([1, 0.25, 0.25, 0.75, 1, 0], "f4"), None, None)
        x, t = np.array([np.nan, 2, 2, 3, np.inf], "f4"), np.array([0, -1, 0, 0.5, 0], "f4")
        found += kl_div_library.run(lib, "f32", kl_div_library.NONE, 0, 1, x, t)
        t = np.array([-np.inf, -np.inf, 1, 171, 172], "f4")
        found += kl_div_library.run(lib, "f32", kl_div_library.NONE, 1, 1, x, t)
        g = np.array([np.nan, 2, 2, 2.0**-149, 2.0**-149], "f4")
        return found + kl_div_library.run(lib, "f32", kl_div_library.NONE, 1, 1, g, t, backward=True)


def softmax(lib, rng):
    y = halfway(rng, 1e-3, 0.4, ROWS) * off(rng, 2.0**-42.8, ROWS)
    return result(lib, "softmax", "f32", pairs(np.log1p(-y) - np.log(y)))


def log_softmax(lib, rng):
    """Of the greater one: -log(1 + e^-d)."""
    y = halfway(rng, 1e-3, 0.6, ROWS) * off(rng, 2.0**-40.6, ROWS)
    return result(lib, "log_softmax", "f32", pairs(-np.log(np.expm1(y))))


def softmax_backward(lib, rng):
    g = (1 + rng.standard_normal((1024, 500)) / 4096).astype("f4")
    y = result(lib, "softmax", "f32", rng.standard_normal((1024, 500)).astype("f4")).view("f4")
    return result(lib, "softmax_backward", "f32", g, y)


def cross_entropy(lib, rng):
    """Losses of single rows."""
    y = halfway(rng, 1e-3, 0.6, ROWS) * off(rng, 2.0**-40.6, ROWS)
    x, target = pairs(-np.log(np.expm1(y))), np.zeros(ROWS, "i8")
    return forward(lib, "f32", problem(x, target, reduction=NONE))


def cross_entropy_target(lib, rng):
    """The gradient in the target's own place: minus what is left of 1."""
    y = halfway(rng, 1e-3, 0.4, ROWS) * off(rng, 2.0**-42.6, ROWS)
    x, target, g = pairs(np.log1p(-y) - np.log(y)), np.zeros(ROWS, "i8"), np.ones(ROWS, "f4")
    return backward(lib, "f32", problem(x, target, reduction=NONE), g)[:, 0]


def cross_entropy_of_probabilities(lib, rng):
    """softmax - p, for probabilities that add up to 1."""
    p = np.ldexp(rng.integers(1, 8, ROWS), -4).astype("f4")
    y = halfway(rng, 1e-2, 0.4, ROWS)
    softmax = (y + p) + rng.choice([-1, 1], ROWS) * 2.0 ** rng.uniform(-7, 0, ROWS) * (y + p) * np.longdouble(2.0**-42.8)
    x = pairs(np.log1p(-softmax) - np.log(softmax))
    good = (softmax < 0.5) & (softmax > 0)
    x, p = np.ascontiguousarray(np.where(good[:, None], x, 1).astype("f4")), np.stack([1 - p, p], axis=1)
    return backward(lib, "f32", problem(x, probability=p, reduction=NONE), np.ones(ROWS, "f4"))[:, 1]


def log_softmax_gradient(lib, rng):
    """g - e^y s: the sum s solved for."""
    y, g = -rng.uniform(0.1, 30, ROWS).astype("f4"), rng.uniform(1, 2, ROWS).astype("f4")
    t = rng.uniform(0.5, 4, ROWS) * (1 + 0 * g)
    m = (g - t).astype("f4")
    want = m.astype(np.longdouble) + np.spacing(m).astype(np.longdouble) / 2
    t = (g.astype(np.longdouble) - want) * off(rng, 2.0**-43.9, ROWS)
    rest = t / np.exp(y.astype(np.longdouble)) - g
    a, b = two_numbers(rest)
    x = np.stack([g, a, b], axis=1)
    return result(lib, "log_softmax_backward", "f32", x, np.stack([y, y, y], axis=1))[:, 0]


def norms(lib, rng):
    """Means near 2^14, deviations of 2^-5: the mean's own rounding shows."""
    x = (2.0**14 + np.round(rng.standard_normal((16, 16, 60)) * 16) / 512).astype("f4")
    w, b, g = (rng.standard_normal(s).astype("f4") for s in (60, 60, x.shape))
    return np.concatenate([v.ravel() for v in results(lib, "layer", "f32", x, w, b, g, 1e-12)])


def norm_beside_midpoints(lib, rng):
    """(x - mean) w/sqrt(v + eps) + b, eps solved for."""
    found = []
    for _ in range(150):
        x = np.round(rng.standard_normal((1, 1, 4)) * 256).astype("f4") / 64
        values = [Fraction(float(v)) for v in x.ravel()]
        mean = sum(values) / 4
        variance, d = sum((v - mean) ** 2 for v in values) / 4, values[0] - mean
        if d == 0:
            continue
        # |d|/sqrt(v + eps) is at most |d|/sqrt(v).
        size = Fraction(float(np.float32(float(abs(d)) / (float(variance) ** 0.5) * rng.uniform(0.2, 0.7))))
        m = abs(size) + Fraction(math.ulp(np.float32(float(size)))) / 2 if size else Fraction(1)
        m = Fraction(float(np.float32(float(size)))) + Fraction(float(np.spacing(np.float32(float(size))))) / 2
        for eps in around(d * d / (m * m) - variance):
            if eps <= 0:
                continue
            w, b = np.ones(4, "f4"), np.zeros(4, "f4")
            y, dx, dw = results(lib, "layer", "f32", x, w, b, np.ones_like(x), eps)
            found += y.ravel().tolist() + dw.ravel().tolist()
            g = np.eye(1, 4)[None].astype("f4")
            found += results(lib, "batch", "f32", x, w[:1], b[:1], g, eps)[2].ravel().tolist()
    return found


def norms_in_two_parts(lib, rng):
    """Norms of binary64, the first element beside a midpoint just below |x - mean|/sqrt(v), by an eps that is tiny beside v."""
    found, n = [], 35
    for _ in range(60):
        x = rng.standard_normal((1, 1, n)) * 2.0 ** rng.integers(-3, 4, n)
        values = [Fraction(v) for v in x.ravel().tolist()]
        mean = sum(values) / n
        variance, square = sum((v - mean) ** 2 for v in values) / n, (values[0] - mean) ** 2
        y = math.nextafter(math.sqrt(square / variance), 0.0)
        for eps in around(square / (Fraction(y) - Fraction(math.ulp(y)) / 2) ** 2 - variance, 1):
            parts = results(lib, "layer", "f64", x, np.ones(n), np.zeros(n), np.eye(1, n)[None], eps)
            found += np.concatenate([part.ravel() for part in parts]).tolist()
    return found


def beside_tie(rng, big, hair):
    """Numbers whose sum is a tie of binary32 and some hairs, where a big one cancels."""
    tie = int(odd(rng, 2**24, 2**25))
    return np.array([big, tie & ~0xFFF, tie & 0xFFF, *rng.standard_normal(5) * hair, -big], "f4")


def pool(lib, fmt, x):
    y = np.empty((*x.shape[:2], 1), x.dtype)
    p, _ = pool_of(x.shape, (1,), (x.shape[2],), (1,), (1,), (0,))
    arguments = pointer(x), strides(x), pointer(y), strides(y)
    assert lib.rm_avg_pool(NAMES.index(fmt), ctypes.byref(p), 1, ctypes.c_int64(1), *arguments) == OK
    return bits(y).ravel()


def average(lib, rng):
    """Beside 2^80 the numbers are in the second part alone."""
    return pool(lib, "f32", np.array([[beside_tie(rng, 2.0**80, 2.0**-28) for _ in range(300)]]))


def gathered(lib, rng):
    """Sums of terms in the formats. The first and the last cancel, so that what two-sums leave over is the sum, whose additions err all one way."""
    found = []
    for k in (60, 340):
        for side in (1, -1):
            b, _ = boundary_data.products("f32", k, tuple(range(1, k - 40)), side)
            terms = (b.x.astype("f8") * b.y.astype("f8")).astype("f4")
            row = np.array([2.0**80, *terms, -(2.0**80)], "f4")[None]
            found += [bits(sum_of_all(lib, "f32", np.repeat(v, 4, axis=0))).ravel() for v in (row, row * np.float32(0.5))]
    return np.concatenate(found)


def average_of_halves(lib, rng):
    """Of binary64."""
    return np.concatenate([pool(lib, "f64", halves(n, side)[None, None]) for n in (5, 64, 500) for side in (1, -1)])


def turned(rng, fmt, exponent=0):
    """Eight complex numbers whose transform's real part at 3 is a hair from a midpoint: after five random elements two more, which count
    -1 and an exact 1 there, take what is left in turn."""
    dtype = dtype_of(fmt)
    x = rng.uniform(-1, 1, (8, 2)).astype(dtype)
    x[:, 0] *= 2.0**exponent
    x[:, 1] = x[2] = x[4] = 0
    x[0, 0] = number(rng, fmt)
    with mpmath.workprec(400):
        root = mpmath.sqrt(2) / 2
        cosines = [1, -root, 0, root, -1, root, 0, -root]  # of 3 j eighths of a turn
        value = sum((c * mpmath.mpf(float(v)) for c, v in zip(cosines, x[:, 0], strict=True)), mpmath.mpf(0))
        quantum = mpmath.mpf(2) ** (mpmath.floor(mpmath.log(abs(value), 2)) - PRECISION[fmt])
        rest = (2 * mpmath.floor(value / quantum / 2) + 1) * quantum - value
        x[4, 0] = float(-rest)
        rest += mpmath.mpf(float(x[4, 0]))
        x[2, 1] = float(-rest)  # times i and e^(-3/2 pi i)
    return x


def transforms_of(lib, rng, fmt):
    found = []
    for exponent in (0, 0, 0, -3):
        rows = np.array([turned(rng, fmt, exponent) for _ in range(1000)])
        rows = rows.view(np.complex64 if fmt == "f32" else np.complex128)[..., 0]
        found.append(transform(lib, rows, fmt, sizes=rows.shape, transformed=1).ravel())
    return np.concatenate(found)


def transforms(lib, rng):
    return transforms_of(lib, rng, "f32")


def transforms_in_two_parts(lib, rng):
    return transforms_of(lib, rng, "f64")


def small_transforms(lib, rng):
    """Parts that are exactly 0, where the approximations have either sign and are far below the least number."""
    found = []
    for n in (5, 7, 11):
        rows = np.zeros((64, n), np.complex64)
        rows[:] = (rng.integers(1, 2**8, (64, 1)) + 1j * rng.integers(1, 2**8, (64, 1))) * 2.0**-149
        found.append(transform(lib, rows, "f32", sizes=rows.shape, transformed=1).ravel())
    return np.concatenate(found)

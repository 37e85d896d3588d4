"""Gamma, beta, Dirichlet, chi-square, Poisson and binomial numbers: the definitions with hundreds of digits, data at the boundaries of decisions and of rounding,
statistics with fixed seeds, bad arguments."""

import itertools
import math
import os
import subprocess
import sys
from fractions import Fraction

import draws_oracle as oracle
import mpmath
import numpy as np
import pytest
from exact_oracle import bits
from flushing import flushing
from numpy_dtypes import DTYPES

import repmath
from repmath import random
from repmath._draws import counts, enclosures
from repmath._draws import gamma as numbers
from repmath._dtypes import NAMES

SEED, STREAM, FIRST = 0x299F31D0A4093822, 0x0370734413198A2E, 77
AT = {"stream": STREAM, "offset": FIRST}
SHAPES = [1e-3, 0.02, 0.3, 0.75, 1 - 2.0**-53, 1.0, 1.0 + 2.0**-52, 2.5, 17.0, 1e4, 1e9, 1e15]


@pytest.fixture(params=DTYPES, ids=lambda d: d.name)
def dtype(request):
    return request.param


# ------------------------------------------------------------------------------------------------------------ definitions


def test_gamma_numbers(dtype):
    shapes = np.repeat(SHAPES, 12)
    scales = np.tile([1.0, 0.3, 2.0**-20], shapes.size // 3)
    want = oracle.gamma(NAMES[dtype], SEED, STREAM, FIRST, shapes, scales)
    assert bits(random.gamma(SEED, None, shapes, scales, dtype=dtype, **AT)).tolist() == want
    parts = [
        random.gamma(SEED, 7, shapes[k : k + 7], scales[k : k + 7], dtype=dtype, stream=STREAM, offset=FIRST + k)
        for k in (0, 50)
    ]
    assert [bits(p).tolist() for p in parts] == [want[:7], want[50:57]]


def test_many_gamma_numbers_of_one_shape():
    for a in (0.6, 1.5, 3.0):
        want = oracle.gamma("f64", SEED, 1, 0, [a] * 300, [1.0] * 300)
        assert bits(random.gamma(SEED, 300, a, stream=1)).tolist() == want


def test_chi_square_numbers(dtype):
    df = np.repeat([0.5, 1.0, 3.0, 29.0], 10)
    want = oracle.gamma(NAMES[dtype], SEED, STREAM, FIRST, df / 2, [2.0] * df.size)
    assert bits(random.chisquare(SEED, None, df, dtype=dtype, **AT)).tolist() == want


def test_dirichlet_and_beta_numbers(dtype):
    rows = np.array(
        [[0.5, 1.0, 2.5], [0.01, 0.02, 0.03], [1e-3, 1e-3, 4.0], [40.0, 50.0, 60.0], [1e6, 1.0, 1e-6], [0.3, 0.3, 0.3]]
    )
    want = oracle.dirichlet(NAMES[dtype], SEED, STREAM, FIRST, rows)
    got = random.dirichlet(SEED, None, rows, dtype=dtype, **AT)
    assert bits(got).reshape(-1, 3).tolist() == want
    a, b = np.array([[p, q] for p in (0.002, 0.4, 1.0, 7.0) for q in (0.002, 0.4, 3.0) for _ in range(4)]).T
    want = [row[0] for row in oracle.dirichlet(NAMES[dtype], SEED, STREAM, 2 * FIRST, np.stack([a, b], 1))]
    assert bits(random.beta(SEED, None, a, b, dtype=dtype, **AT)).tolist() == want


def test_poisson_numbers():
    means = np.repeat([0.0, 1e-300, 0.01, 0.7, 1.0, 1 + 2.0**-52, 3 - 2.0**-51, 12.0, 99.5, 255.0, 256.0, 300.25, 1500.0], 25)
    want = [oracle.poisson(SEED, STREAM, FIRST + k, m) for k, m in enumerate(means)]
    got = random.poisson(SEED, None, means, **AT)
    assert got.dtype == np.int64 and got.tolist() == want


def test_binomial_numbers():
    pairs = [
        (0, 0.3),
        (1, 0.5),
        (5, 0.0),
        (5, 1.0),
        (10, 0.3),
        (17, 1e-300),
        (40, 1 - 2.0**-53),
        (300, 0.999),
        (600, 0.01),
        (2000, 0.5),
        (2999, 0.7),
    ]
    n, p = np.repeat(pairs, 25, axis=0).T
    want = [oracle.binomial(SEED, STREAM, FIRST + k, int(m), q) for k, (m, q) in enumerate(zip(n, p, strict=True))]
    got = random.binomial(SEED, None, n.astype(int), p, **AT)
    assert got.dtype == np.int64 and got.tolist() == want


def in_large(law, k, u):
    """Whether U^2 <= f(K)/f(m), by mpmath's logarithms of factorials."""
    with mpmath.workdps(oracle.DIGITS):
        m = int(law.mode[0])
        if isinstance(law, counts._Poisson):
            right = (k - m) * mpmath.log(oracle.real(float(law.mean[0]))) + mpmath.loggamma(m + 1) - mpmath.loggamma(k + 1)
        else:
            n, p = int(law.n[0]), oracle.real(float(law.p[0]))
            right = (k - m) * (mpmath.log(p) - mpmath.log(1 - p))
            right += sum(s * mpmath.loggamma(j + 1) for s, j in ((1, m), (1, n - m), (-1, k), (-1, n - k)))
        return 2 * mpmath.log(oracle.real(u)) <= right


@pytest.mark.parametrize("mean", [1e5, 3e9, 1e12, 2.0**52 - 0.5])
def test_poisson_numbers_of_large_means(mean):
    got = random.poisson(SEED, 30, mean, **AT)
    law, h = counts._Poisson(np.array([mean])), oracle.width(mean)
    for i, value in enumerate(got):
        for u, v in oracle.count_attempts(SEED, STREAM, FIRST + i):
            k = math.floor(oracle.place(mean, h, u, v))
            if k >= 0 and in_large(law, k, u):
                assert k == value
                break


@pytest.mark.parametrize("n, p", [(10**6, 0.3), (10**9, 1e-9), (10**12, 0.99999), (2**52, 0.5), (2**52, 1e-10)])
def test_binomial_numbers_of_many_trials(n, p):
    got = random.binomial(SEED, 30, n, p, **AT)
    law, h = counts._Binomial(np.array([float(n)]), np.array([p])), oracle.width((n * p) * (1.0 - p))
    for i, value in enumerate(got):
        for u, v in oracle.count_attempts(SEED, STREAM, FIRST + i):
            k = math.floor(oracle.place(n * Fraction(p), h, u, v))
            if 0 <= k <= n and in_large(law, k, u):
                assert k == value
                break


# ------------------------------------------------------------------------------------------------------------- boundaries


def flips(decide, low, high):
    """Neighbouring numbers between which a decision changes, or None."""
    start = decide(low)
    if start == decide(high):
        return None
    while math.nextafter(low, high) < high:
        middle = low + (high - low) / 2
        low, high = (middle, high) if decide(middle) == start else (low, middle)
    return low, high


def gamma_flips():
    """(element, shape) where the first attempt is accepted by a hair, or not."""
    found = []
    for i in range(400):
        x, m = oracle.attempt(SEED, 5, i, 1)
        for low, high in ((1.0, 1.9), (1.9, 4.0), (4.0, 50.0)):
            pair = flips(lambda a, x=x, m=m: bool(oracle.decision(x, m, a) < 0), low, high)
            found += [(i, a) for a in pair or ()]
    return found


def test_decisions_of_gamma_numbers_by_a_hair(monkeypatch):
    cases = gamma_flips()
    assert len(cases) >= 10
    tried = []
    decide = numbers._accepted_exactly
    monkeypatch.setattr(numbers, "_accepted_exactly", lambda *a: tried.append(a) or decide(*a))
    for i, a in cases:
        want = oracle.gamma("f64", SEED, 5, i, [a], [1.0])
        assert bits(random.gamma(SEED, 1, a, stream=5, offset=i)).tolist() == want
    assert len(tried) >= len(cases)
    for accept in (True, False):  # a control: some are wrong if all are decided alike
        monkeypatch.setattr(numbers, "_accepted_exactly", lambda x, m, a, accept=accept: accept)
        wrong = [
            bits(random.gamma(SEED, 1, a, stream=5, offset=i)).tolist() != oracle.gamma("f64", SEED, 5, i, [a], [1.0])
            for i, a in cases
        ]
        assert any(wrong)


def test_gamma_numbers_beside_minus_one():
    """z is just beyond -1 or just within: S = x^2, as nearly as shapes allow. The number is nearly 0."""
    done = 0
    for i in range(4000):
        x, _ = oracle.attempt(SEED, 9, i, 1)
        a = (x * x + 3) / 9
        if x < -2.46 and done < 6:
            done += 1
            for near in (math.nextafter(a, 0), a, math.nextafter(a, 9)):
                want = oracle.gamma("f64", SEED, 9, i, [near], [1.0])
                assert bits(random.gamma(SEED, 1, near, stream=9, offset=i)).tolist() == want
    assert done == 6


def quotients(y, p):
    """Numbers q of at most 53 bits with q y beside an odd number of p + 1 bits, a midpoint: convergents of y, times powers of two, as continued fractions."""
    for shift in range(12):
        rest, (a, b), (c, d) = y * 2**shift, (0, 1), (1, 0)
        while c < 2 ** (p + 1) and d < 2**53:
            if c >= 2**p and c % 2:
                yield math.ldexp(d, shift)
            whole = math.floor(rest)
            (a, b), (c, d) = (c, d), (whole * c + a, whole * d + b)
            rest = 1 / (rest - whole)


def test_gamma_numbers_beside_midpoints(dtype, monkeypatch):
    """Factors that bring the number as near to a midpoint of the format as 53 bits allow: in float64 within 2^-100 of it."""
    fmt, cases = NAMES[dtype], []
    p = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}[fmt]
    for i, a in itertools.product(range(12), (0.4, 1.0, 33.0)):
        with mpmath.workdps(oracle.DIGITS):
            y = oracle.gamma_value(SEED, 3, i, a)
            y_one = y / mpmath.mpf(2) ** mpmath.floor(mpmath.log(y, 2))
            if fmt == "f64":
                cases += [(i, a, q) for q in quotients(oracle.to_fraction(y_one), p)]
            else:
                factor = float((1 + mpmath.mpf(2 * i + 1) / 2**p) / y)
                cases += [(i, a, s) for s in (math.nextafter(factor, 0), factor, math.nextafter(factor, math.inf))]
    assert len(cases) > 10
    want = [oracle.gamma(fmt, SEED, 3, i, [a], [scale])[0] for i, a, scale in cases]

    def made():
        return [int(bits(random.gamma(SEED, 1, a, scale, dtype=dtype, stream=3, offset=i))[0]) for i, a, scale in cases]

    assert made() == want
    monkeypatch.setattr(numbers, "round_enclosure", lambda enclose, dtype: dtype.type(0))
    without = made()
    assert without.count(0) >= len(cases) // 3  # a control: these are undecided before


def test_gamma_numbers_at_the_ends_of_formats(dtype):
    fmt = NAMES[dtype]
    low, high = {"f16": (-24, 15), "bf16": (-133, 127), "f32": (-149, 127), "f64": (-1074, 1023)}[fmt]
    for e in (*range(low - 4, low + 6), *range(high - 2, high + 1)):
        scale = 2.0**e if e >= -1074 else 2.0**-1074
        with np.errstate(all="raise"):
            got = random.gamma(SEED, 4, [0.01, 0.9, 1.5, 5.0], scale, dtype=dtype, stream=4)
        assert bits(got).tolist() == oracle.gamma(fmt, SEED, 4, 0, [0.01, 0.9, 1.5, 5.0], [scale] * 4)


def test_gamma_numbers_that_vanish(dtype, monkeypatch):
    """Numbers around the least one of the format: those that are 0 by their logarithms alone are 0 by their digits."""
    least = {"f16": 2.0**-25, "bf16": 2.0**-134, "f32": 2.0**-150, "f64": 2.0**-1074}[NAMES[dtype]]
    a = np.repeat([0.001, 0.01, 0.4, 3.0], 40)
    scale = np.tile([1.0, least * 8, least * 2, max(least / 64, 2.0**-1074)], 40)
    got = bits(random.gamma(SEED, None, a, scale, dtype=dtype, stream=8)).tolist()
    vanish, gone = numbers._vanish, []
    monkeypatch.setattr(numbers, "_vanish", lambda *g: gone.append(vanish(*g).sum()) or np.zeros(g[1].shape, bool))
    assert bits(random.gamma(SEED, None, a, scale, dtype=dtype, stream=8)).tolist() == got
    assert gone[0] > 5 and 0 < sum(v != 0 for v in got) < len(got) - gone[0] + 1


def count_flips(stream):
    """(element, mean) where W passes a whole number, or the first attempt is accepted by a hair."""
    found = []
    for i in range(40):
        u, v = next(oracle.count_attempts(SEED, stream, i))

        def inside(mean, u=u, v=v):
            k, m = math.floor(oracle.place(mean, oracle.width(mean), u, v)), math.floor(mean)
            return 0 <= k < m + 3000 and u * u <= Fraction(mean) ** (k - m) * Fraction(math.factorial(m), math.factorial(k))

        for low, high in ((0.5, 0.99), (3.0, 3.9), (20.0, 20.9), (600.0, 600.9)):
            whole = flips(lambda mean, u=u, v=v: math.floor(oracle.place(mean, oracle.width(mean), u, v)), low, low + 0.2)
            found += [(i, mean) for pair in (whole, flips(inside, low, high)) for mean in pair or ()]
    return found


def test_decisions_of_poisson_numbers_by_a_hair(monkeypatch):
    cases, tried = count_flips(11), []
    assert len(cases) >= 40
    decide = counts._accepted_exactly
    monkeypatch.setattr(counts, "_accepted_exactly", lambda *a: tried.append(a) or decide(*a))
    want = [oracle.poisson(SEED, 11, i, mean) for i, mean in cases]
    assert [int(random.poisson(SEED, (), mean, stream=11, offset=i)) for i, mean in cases] == want
    assert len(tried) >= len(cases) // 2
    monkeypatch.setattr(counts, "_accepted_exactly", lambda law, k, u, at: not decide(law, k, u, at))
    assert [int(random.poisson(SEED, (), mean, stream=11, offset=i)) for i, mean in cases] != want


def test_decisions_of_binomial_numbers_by_a_hair(monkeypatch):
    cases = []
    for i in range(40):
        u, v = next(oracle.count_attempts(SEED, 12, i))
        for n, low, high in ((7, 0.4, 0.45), (1000, 0.3, 0.3005), (1000, 0.9, 0.9005)):
            pair = flips(
                lambda p, u=u, v=v, n=n: math.floor(oracle.place(n * Fraction(p), oracle.width((n * p) * (1.0 - p)), u, v)),
                low,
                high,
            )
            cases += [(i, n, p) for p in pair or ()]
    assert len(cases) >= 20
    want = [oracle.binomial(SEED, 12, *case) for case in cases]
    assert [int(random.binomial(SEED, (), n, p, stream=12, offset=i)) for i, n, p in cases] == want
    monkeypatch.setattr(counts, "_accepted_exactly", lambda law, k, u, at: False)
    assert [int(random.binomial(SEED, (), n, p, stream=12, offset=i)) for i, n, p in cases] != want


def test_equality_is_accepted():
    """U^2 = f(K)/f(m) exactly, as one mean has it; just above it U is rejected."""
    law, u = counts._Poisson(np.array([961 / 64])), Fraction(31, 32)  # m = 15, K = 16: 961/1024
    assert counts._accepted_exactly(law, 16, u, 0) and law.ratio(16, 0) == u * u
    assert not counts._accepted_exactly(law, 16, u + Fraction(1, 2**53), 0)


def test_more_digits_where_few_do_not_decide(monkeypatch):
    """A decision that 40 digits leave undecided: u beside exp(R), to 90 digits."""
    x, a = -1.25, 2.0
    with mpmath.workdps(oracle.DIGITS):
        right = -oracle.decision(x, 2**53 - 1, a) + mpmath.log(oracle.real(Fraction(2**53 - 1, 2**53)))
        u = mpmath.exp(right)
    tries, seen = enclosures.precisions, []
    monkeypatch.setattr(numbers, "precisions", lambda: (seen.append(by.near.prec) or by for by in tries()))
    for sign in (1, -1):
        near = oracle.to_fraction(u) + sign * Fraction(1, 10**90)
        monkeypatch.setattr(numbers, "Fraction", lambda *n, near=near: near if n[1:] == (2**53,) else Fraction(*n))
        assert numbers._accepted_exactly(x, 1, a) == (sign < 0)
    assert seen == [40, 120, 40, 120]


# ------------------------------------------------------------------------------------------------------------------ bounds


def test_the_hats_cover():
    """|W - mu - 1/2| sqrt(f(K)/f(m)) <= h/2 on K <= W <= K + 1, the condition of the method; with Stadlober's constants less 1% it fails."""
    worst = 0.0
    laws = [
        (counts._Poisson(np.array([m])), m)
        for m in (*np.linspace(0.01, 40, 500), *np.arange(1.0, 40), *np.arange(1.0, 40) - 1e-12, 1e3, 1e5)
    ]
    laws += [
        (counts._Binomial(np.array([float(n)]), np.array([p])), n * p)
        for n in (1, 2, 3, 5, 10, 30, 100, 2000)
        for p in (1 / n - 1e-12, 1 / n + 1e-12, *np.linspace(0.01, 0.99, 50))
        if 0 < p < 1
    ]
    for law, mean in laws:
        reach = 9 * math.sqrt(mean + 1) + 12
        k = np.arange(max(math.floor(mean - reach), 0.0), math.floor(mean + reach))
        k = k[~law.rejected(k, np.zeros(k.size, int))]
        right, _ = law.log_ratio(k, np.zeros(k.size, int))
        far = np.maximum(np.abs(k - mean - 0.5), np.abs(k + 0.5 - mean))
        worst = max(worst, float(np.max(far * np.exp(right / 2) / (law.h[0] / 2))))
    assert 0.99 < worst < 1.0


def test_bounds_of_logarithms_of_ratios():
    """Every error is within its bound, and a hundredth of some bound is exceeded."""
    tight = 0.0
    rng = np.random.default_rng(3)
    for mean in (0.3, 5.5, 255.5, 256.5, 400.0, 1e6, 1e12):
        law = counts._Poisson(np.array([mean]))
        k = np.unique(np.maximum(np.floor(mean + math.sqrt(mean + 1) * rng.normal(0, 3, 20)), 0))
        tight = max(tight, excess(law, k))
    for n, p in ((5, 0.3), (600, 0.4), (600, 0.99), (10**6, 0.5), (10**12, 1e-9), (10**12, 1 - 1e-9), (10**15, 0.3)):
        law = counts._Binomial(np.array([float(n)]), np.array([p]))
        k = np.unique(np.clip(np.floor(n * p + math.sqrt(n * p * (1 - p) + 1) * rng.normal(0, 3, 20)), 0, n))
        tight = max(tight, excess(law, k))
    assert 0.01 < tight <= 1.0


def excess(law, k):
    """The greatest error of log f(K)/f(m), as a part of its bound."""
    right, bound = law.log_ratio(k, np.zeros(k.size, int))
    worst = 0.0
    for value, limit, kk in zip(right, bound, k.astype(int).tolist(), strict=True):
        exact = law.log_ratio_within(kk, 0, enclosures.Arithmetic(60))
        middle = Fraction(exact.low) / 2 + Fraction(exact.high) / 2
        worst = max(worst, float(abs(Fraction(float(value)) - middle) / Fraction(float(limit))))
    return worst


def test_bounds_of_gamma_numbers():
    """The decision's right side, the numbers in one part and in two, and the logarithms, against many digits."""
    rng = np.random.default_rng(4)
    tight = dict.fromkeys(("right", "roughly", "closely", "power"), 0.0)
    for a in (0.01, 0.5, 1.0, 1.7, 100.0, 1e8):
        got = numbers._Numbers(numbers.Sequences((SEED, 1, 0)), np.arange(40), np.full(40, a))
        x = np.concatenate([got.x, rng.normal(0, 2.5, 40)])
        s, d = np.full(80, got.s[0]), np.full(80, got.d[0])
        z = x / s
        keep = z > -0.999
        right, error = numbers._right_side(z[keep], d[keep])
        for xx, value, bound in zip(x[keep], right, error, strict=True):
            with mpmath.workdps(oracle.DIGITS):
                exact = mpmath.log(oracle.real(Fraction(1, 2))) - oracle.decision(float(xx), 2**52, a)
                tight["right"] = max(tight["right"], float(abs(oracle.real(float(value)) - exact) / float(bound)))
        rough, close = got.roughly(), got.closely()
        for k in range(40):
            by = enclosures.Arithmetic(80)
            w = got.enclose(k, by)
            whole = (Fraction(w.low) + Fraction(w.high)) / 2
            if a < 1:
                with mpmath.workdps(80):
                    power = oracle.to_fraction(
                        mpmath.log(oracle.real(Fraction(2 * int(got.draws[k]) + 1, 2**65))) / oracle.real(a)
                    )
                    whole = whole / oracle.to_fraction(mpmath.exp(oracle.real(power)))
                for made, lost in (
                    (Fraction(float(rough[1][k])), rough[3][k]),
                    (sum(Fraction(float(v[k])) for v in close[1]), close[3][k]),
                ):
                    tight["power"] = max(tight["power"], float(abs(made - power) / Fraction(float(lost))))
            for name, made, bound in (
                ("roughly", Fraction(float(rough[0][k])), rough[2][k]),
                ("closely", sum(Fraction(float(v[k])) for v in close[0]), close[2][k]),
            ):
                tight[name] = max(tight[name], float(abs(made / whole - 1) / Fraction(float(bound))))
    assert all(t <= 1.0 for t in tight.values()), tight
    assert min(tight["right"], tight["roughly"], tight["power"]) > 0.01, tight


# -------------------------------------------------------------------------------------------------------------- statistics

N = 40_000


def kolmogorov(values, distribution):
    """sqrt(n) times the greatest distance of the empirical distribution; above 2.2 once in 8000 times."""
    n, f = len(values), distribution(np.sort(values))
    return math.sqrt(n) * max(np.max(np.arange(1, n + 1) / n - f), np.max(f - np.arange(n) / n))


def chi_squared(values, probability, least=20):
    """The statistic less its mean, in deviations, over the values that are expected often."""
    seen, total, classes, rest, left = np.bincount(values), 0.0, 0, len(values), 1.0
    for k in range(len(seen)):
        p = probability(k)
        if p * len(values) >= least:
            total, classes = total + (seen[k] - p * len(values)) ** 2 / (p * len(values)), classes + 1
            rest, left = rest - seen[k], left - p
    if left * len(values) >= least:
        total, classes = total + (rest - left * len(values)) ** 2 / (left * len(values)), classes + 1
    return (total - (classes - 1)) / math.sqrt(2 * (classes - 1))


def test_statistics_of_gamma_numbers():
    assert kolmogorov(random.gamma(1, N, 1.0), lambda x: -np.expm1(-x)) < 2.2
    assert kolmogorov(random.gamma(2, N, 2.0, 3.0), lambda x: 1 - np.exp(-x / 3) * (1 + x / 3)) < 2.2
    assert kolmogorov(random.chisquare(3, N, 1.0), lambda x: repmath.erf(np.sqrt(x / 2))) < 2.2
    assert kolmogorov(random.gamma(4, N, 1e8), lambda x: repmath.ndtr((x - 1e8) / 1e4)) < 2.2
    for a in (0.05, 0.5, 3.0, 70.0):
        x = random.gamma(5, N, a)
        assert abs(x.mean() - a) < 4.5 * math.sqrt(a / N)
        assert abs(np.log(x).mean() - repmath.digamma(a)) < 4.5 * math.sqrt((1 / a**2 + 1 / a) / N)


def test_statistics_of_beta_and_dirichlet_numbers():
    assert kolmogorov(random.beta(1, N, 1.0, 1.0), lambda x: x) < 2.2
    assert kolmogorov(random.beta(2, N, 0.5, 0.5), lambda x: 2 / np.pi * np.arcsin(np.sqrt(x))) < 2.2
    assert kolmogorov(random.beta(3, N, 3.0, 1.0), lambda x: x**3) < 2.2
    rows = random.dirichlet(4, (N, 3), [1.0, 1.0, 1.0])
    assert kolmogorov(rows[:, 1], lambda x: 1 - (1 - x) ** 2) < 2.2
    assert abs(np.mean(rows[:, 0] * rows[:, 1]) - 1 / 12) < 4.5 * math.sqrt(1 / 90 / N)


def test_statistics_of_counts():
    for mean in (0.3, 1.0, 4.7, 30.0, 299.5):
        x = random.poisson(1, N, mean)
        assert abs(chi_squared(x, lambda k, m=mean: math.exp(k * math.log(m) - m - math.lgamma(k + 1)))) < 4
    for n, p in ((1, 0.3), (5, 0.5), (40, 0.9), (700, 0.02), (1000, 0.4)):
        x = random.binomial(2, N, n, p)
        assert abs(chi_squared(x, lambda k, n=n, p=p: math.comb(n, k) * p**k * (1 - p) ** (n - k) if k <= n else 0.0)) < 4
    assert (
        abs(chi_squared(random.poisson(1, N, 4.7), lambda k: math.exp(k * math.log(5) - 5 - math.lgamma(k + 1)))) > 8
    )  # a control


def test_draws_of_other_places_do_not_depend_on_each_other():
    z = (random.gamma(7, N + 8, 4.0) - 4) / 2
    others = [z[k : k + N] for k in (1, 2, 3, 4, 8)] + [
        (random.gamma(s, N, 4.0, stream=t) - 4) / 2 for s, t in ((7, 1), (7, 2), (8, 0))
    ]
    others.append(random.normal(7, N))
    for other in others:
        assert abs(np.mean(z[:N] * other)) < 4.5 / math.sqrt(N)


# ------------------------------------------------------------------------------------------------------------- everywhere

PROGRAM = """
import numpy as np, repmath
from repmath import random
shapes = np.geomspace(0.01, 1e6, 3000)
made = [random.gamma(5, None, shapes, dtype=d) for d in (np.float64, np.float32, np.float16)]
made += [random.dirichlet(5, (500, 3), [0.2, 1.0, 3.0], dtype=d) for d in (np.float64, np.float32)]
made += [random.beta(5, None, shapes, 2.0), random.chisquare(5, 999, 3)]
made += [random.poisson(5, None, np.geomspace(0.01, 1e13, 3000)), random.binomial(5, 999, 10**6, np.linspace(0, 1, 999))]
print(*map(repmath.digest, made))
"""


def test_every_instruction_set_and_number_of_threads_has_the_same_bits():
    found = set()
    for isa in repmath._core.available_isas():
        for threads in ("1", "2"):
            environment = os.environ | {"REPMATH_ISA": isa, "REPMATH_NUM_THREADS": threads}
            found.add(
                subprocess.run(
                    [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
                ).stdout
            )
    assert len(found) == 1 and len(found.pop().split()) == 9


def test_where_the_caller_flushes_subnormal_numbers():
    def made():
        return [
            random.gamma(1, 50, 0.01, 1e-307),
            random.beta(1, 50, 1e-3, 1.0),
            random.gamma(1, 50, 0.5, 2.0**-140, dtype=np.float32),
            random.binomial(1, 50, 9, 5e-324),
        ]

    want = made()
    with flushing():
        got = made()
    assert all(np.array_equal(bits(a), bits(b)) for a, b in zip(got[:3], want[:3], strict=True)) and np.array_equal(
        got[3], want[3]
    )
    assert np.count_nonzero((want[0] > 0) & (want[0] < 2.0**-1022)) > 3


def test_shapes_and_streams():
    assert random.gamma(1).shape == () and isinstance(random.gamma(1), np.float64) and isinstance(random.poisson(1), np.int64)
    assert random.gamma(1, None, [[1.0], [2.0]], [1.0, 2.0, 3.0]).shape == (2, 3)
    assert random.binomial(1, (4, 2, 3), [1, 2, 3], 0.5).shape == (4, 2, 3)
    assert random.beta(1, 0).shape == (0,) and random.poisson(1, (2, 0)).shape == (2, 0)
    assert random.dirichlet(1, None, [0.5, 0.5]).shape == (2,) and random.dirichlet(1, (0, 2)).shape == (0, 2)
    s, at = random.Stream(5, 6), 0
    for name, per_block, arguments in (
        ("gamma", 2, (7, 0.4)),
        ("chisquare", 2, (3, 2.0)),
        ("beta", 1, (4, 0.5, 2.0)),
        ("dirichlet", 2, ((3, 3), [1.0, 2.0, 0.3])),
        ("poisson", 2, (5, 3.0)),
        ("binomial", 2, (5, 10, 0.3)),
        ("gamma", 2, (7, 0.4)),
    ):
        got = getattr(s, name)(*arguments)
        want = getattr(random, name)(5, *arguments, stream=6, offset=at * per_block)
        assert np.array_equal(got, want), name
        at += -(-np.size(got) // per_block)
        assert s.position == at


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: random.gamma(1, 3, 0.0), "a must be from 2"),
        (lambda: random.gamma(1, 3, [1.0, math.nan, 1.0]), "a must be from 2"),
        (lambda: random.gamma(1, 3, 1.0, 0.0), "scale must be positive and finite"),
        (lambda: random.gamma(1, 3, 1.0, math.inf), "scale must be positive and finite"),
        (lambda: random.gamma(1, 3, [1.0, 2.0]), "a of shape"),
        (lambda: random.gamma(-1, 3), "seed must be"),
        (lambda: random.gamma(1, -3), "shape must be"),
        (lambda: random.gamma(1, 3, offset=2**63 - 2), "offset must be"),
        (lambda: random.beta(1, 3, offset=2**62), "offset must be"),
        (lambda: random.chisquare(1, 3, -1.0), "df must be from 2"),
        (lambda: random.beta(1, 3, 1.0, -1.0), "b must be from 2"),
        (lambda: random.dirichlet(1, None, 1.0), "alpha must have at least one axis"),
        (lambda: random.dirichlet(1, 3, [1.0, 1.0]), "alpha of shape"),
        (lambda: random.poisson(1, 3, -1.0), "mean must be from 0"),
        (lambda: random.poisson(1, 3, 2.0**53), "mean must be from 0"),
        (lambda: random.binomial(1, 3, 2.5), "n must be whole"),
        (lambda: random.binomial(1, 3, 2, 1.5), "p must be from 0 to 1"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_bad_types():
    for call in (
        lambda: random.gamma(1, 3, "x"),
        lambda: random.gamma(1, 3, 1j),
        lambda: random.gamma(1, 3, dtype=np.int64),
        lambda: random.poisson(1.0, 3),
    ):
        with pytest.raises(TypeError):
            call()

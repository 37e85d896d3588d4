"""Steps of optimisers, formulas, clipping and random numbers with magnitudes spread evenly over all exponents, of elements and of
parameters: squares, products and low parts that underflow, results among subnormal numbers. Against rationals, on every ISA."""

import ctypes
import os
from fractions import Fraction

import elementwise_library
import numpy as np
import optimizers_oracle as steps
import pytest
import random_oracle
from exact_oracle import FORMATS, round_rational
from exponent_ranges import spread
from formula_library import FORMULAS, run
from gmpy2 import mpq
from optimizers_library import ADAM, FMT, NAMES, SGD, Squares, adam, bits, clip, expected, sgd
from random_library import Random
from reductions_library import OK

TIMES = max(1, int(os.environ.get("REPMATH_EXPONENT_ROUNDS", "6")) // 6)  # a larger sample
ENDS = {"f16": (-24, 16), "bf16": (-133, 128), "f32": (-149, 128), "f64": (-1074, 1024)}  # exponents of the format


def numbers(rng, fmt, shape):
    """Elements of all sizes, some of them near those beside them, and zeros."""
    n = int(np.prod(shape))
    low, high = ENDS[fmt]
    middle = int(rng.integers(low, high))
    x = np.where(
        rng.random(n) < 0.5, spread(rng, low, high, n), spread(rng, max(low, middle - 30), min(high, middle + 30), n)
    )
    x = np.where(rng.random(n) < 0.08, 0.0, x)
    with np.errstate(all="ignore"):
        x = x.astype(FORMATS[fmt][0])
    return np.ascontiguousarray(np.where(np.isfinite(x.astype(np.float64)), x, x.dtype.type(1)).reshape(shape))


def parameter(rng):
    """A number of an option: usual, near the ends of what vector loops take, or of any size."""
    kind = rng.integers(4)
    if kind == 0:
        return float(rng.choice([0.0, 0.1, 0.5, 0.999, 1.0, 1e-8]))
    low, high = [(-1074, 1000), (-202, -195), (195, 202), (-60, 20)][rng.integers(4)]
    return float(abs(spread(rng, low, high, 1)[0]))


def options_of(function, rng):
    below_one = [0.0, 0.9, 0.5, 1 - 2.0**-53, 2.0**-53, 2.0**-199, 2.0**-1000, 5e-324, float(rng.random())]
    if function is sgd:
        momentum = float(rng.choice([0.0, 0.9, parameter(rng)]))
        nesterov = int(momentum != 0 and rng.random() < 0.3)
        return SGD | {
            "lr": parameter(rng), "momentum": momentum, "weight_decay": float(rng.choice([0.0, parameter(rng)])),
            "dampening": 0.0 if nesterov else float(rng.choice([0.0, 1.0, parameter(rng)])), "nesterov": nesterov,
            "first": int(rng.random() < 0.2),
        }  # fmt: skip
    return ADAM | {
        "lr": parameter(rng), "eps": float(rng.choice([0.0, 1e-8, parameter(rng)])), "beta1": float(rng.choice(below_one)),
        "beta2": float(rng.choice(below_one)), "weight_decay": float(rng.choice([0.0, parameter(rng)])),
        "decoupled": int(rng.random() < 0.4), "step": int(rng.choice([1, 2, 10, 300])), "amsgrad": int(rng.random() < 0.2),
    }  # fmt: skip


def same_where(some, got, want, what, x):
    """Fails where one of some results has not the bits that it should have, with what it was called with."""
    wrong = np.flatnonzero((bits(got) != want) & some)
    shown = [([float(v[i]).hex() for v in x], hex(bits(got)[i]), hex(want[i])) for i in wrong[:3]]
    assert not wrong.size, (*what, shown)


@FMT
@pytest.mark.parametrize("function", [sgd, adam])
def test_optimiser_steps(function, fmt):
    rng = np.random.default_rng(300 + NAMES.index(fmt))
    for _ in range(60 * TIMES):
        options, x = options_of(function, rng), numbers(rng, fmt, (5, 16))
        x[3:] = np.abs(x[3:])
        close = rng.random(16) < 0.3  # what is subtracted is near
        with np.errstate(all="ignore"):
            x[1] = np.where(close & np.isfinite(x[0] * x.dtype.type(3)), -x[0] * rng.integers(1, 4, 16).astype(x.dtype), x[1])
        x = np.where(np.isfinite(x.astype(np.float64)), x, x.dtype.type(1))
        want = expected(function, fmt, options, x)
        for isa, library in elementwise_library.libraries().items():
            got = x.copy()
            assert function(library.library, fmt, options, got) == OK
            wrong = np.argwhere(bits(got) != want)
            assert not len(wrong), (
                isa,
                options,
                [(x[:, w[1]].tolist(), w[0], hex(bits(got)[tuple(w)]), hex(want[tuple(w)])) for w in wrong[:3]],
            )


@FMT
@pytest.mark.parametrize("which", range(len(FORMULAS)))
def test_formulas(which, fmt):
    name, arrays, function = FORMULAS[which]
    rng = np.random.default_rng(320 + NAMES.index(fmt))
    subnormal = 0
    for _ in range(40 * TIMES):
        a = parameter(rng) * float(rng.choice([-1, 1]))
        x = [numbers(rng, fmt, (24,)) for _ in range(arrays)]
        if arrays > 1 and fmt == "f64" and rng.random() < 0.4:  # a y, or z, brings the result to the bottom of the range
            x[1] = np.ldexp(np.sign(x[1]) + rng.random(24), np.clip(-1060 - np.frexp(x[0])[1], -1074, 1000))
        if name in ("tanh", "sigmoid"):
            x[1] = np.where(rng.random(24) < 0.5, x[1], rng.uniform(-1, 1, 24).astype(x[1].dtype))
        if name == "over" and a == 0:
            continue
        if name in ("under", "quotient"):
            x[-1] = np.where(x[-1] == 0, x[-1].dtype.type(1), x[-1])
        values = [[mpq(*float(e).as_integer_ratio()) for e in v] for v in x]
        exact = [function(mpq(*a.as_integer_ratio()), *row) for row in zip(*values, strict=True)]
        want = np.array([round_rational(v, fmt) for v in exact], np.uint64)
        some = np.array([v != 0 for v in exact])  # the sign of a zero is test_formulas' own
        subnormal += sum(0 < abs(v) < mpq(2) ** (ENDS[fmt][0] + 8) for v in exact)
        for isa, library in elementwise_library.libraries().items():
            status, got = run(library.library, which, fmt, a, x)
            assert status == OK
            same_where(some, got, want, (isa, name, a), x)
    assert subnormal or name == "added"


def at_ends(rng, n):
    """Numbers at the ends of binary64's range, whose sums and products are often ties: beside powers of two, and half a last place."""
    places = [
        -1074,
        -1073,
        -1060,
        -1023,
        -1022,
        -1021,
        -540,
        -537,
        -54,
        -53,
        -52,
        0,
        1,
        52,
        486,
        537,
        969,
        970,
        971,
        1022,
        1023,
    ]
    m = rng.choice([1, 1, 1, 1.5, 1.75, 1 + 2.0**-52, 2 - 2.0**-52, 1 + 5 * 2.0**-52, 1.375], n)
    x = np.ldexp(m, rng.choice(places, n)) * rng.choice([-1.0, 1.0], n)
    return np.where(rng.random(n) < 0.1, 0.0, np.where(rng.random(n) < 0.3, rng.integers(-9, 9, n) * 2.0**-1074, x))


@pytest.mark.parametrize("which", [*range(8), 15])
def test_ends_and_ties_of_binary64(which):
    """Values that are ties, subnormal or beyond the range, and terms that cancel or are far apart; with the exception of results that overflow."""
    mix = "mix", 3, lambda a, x, y, z: (1 - z) * x + z * y
    name, arrays, function = mix if which == 15 else FORMULAS[which]
    rng, libm = np.random.default_rng(330 + which), ctypes.CDLL(None)
    infinite = 0
    for a in (0.5, 1.0, -1.0, 0.1, 0.25, 1 / 3, 3.0, 2.0**-53, 0.1 * 2.0**-20):
        x = [at_ends(rng, 150 * TIMES) for _ in range(arrays)]
        if arrays > 1:  # terms that are equal, or cancel but for 2^-104
            x[1][::7] = -x[0][::7]
            short = (Fraction(a) / (Fraction(a) - 1 if a != 1 else 1)).limit_denominator(2**52)
            x[0][::11], x[1][::11] = short.numerator, short.denominator
        if arrays > 2:
            short = (Fraction(a) * Fraction(0.3)).limit_denominator(2**52)
            x[0][::13], x[1][::13], x[2][::13] = -short.numerator, 0.3, short.denominator
        if name in ("under", "quotient"):
            x[-1] = np.where(x[-1] == 0, 1.0, x[-1])
        exact = [
            function(mpq(*a.as_integer_ratio()), *(mpq(*float(e).as_integer_ratio()) for e in row))
            for row in zip(*x, strict=True)
        ]
        want = np.array([round_rational(v, "f64") for v in exact], np.uint64)
        some = np.array([v != 0 for v in exact])
        overflows = bool((want << np.uint64(1) == np.uint64(0x7FF << 53)).any())
        infinite += overflows
        for isa, library in elementwise_library.libraries().items():
            libm.feclearexcept(61)
            status, got = run(library.library, which, "f64", a, x)
            raised = libm.fetestexcept(8) != 0
            assert status == OK
            same_where(some, got, want, (isa, name, a), x)
            assert (got[~some] == 0).all() and raised == overflows
    assert infinite or name in ("added", "between")


@FMT
def test_clipping(fmt):
    rng = np.random.default_rng(340)
    for _ in range(40 * TIMES):
        x, limit = numbers(rng, fmt, (17,)), parameter(rng)
        total = steps.squares((int(b), fmt) for b in bits(x))
        want = [steps.clipped(int(b), fmt, total, limit) for b in bits(x)]
        for isa, library in elementwise_library.libraries().items():
            got = x.copy()
            assert clip(library.library, fmt, got, Squares(library.library, fmt, x), limit) == OK
            assert bits(got).tolist() == want, (isa, x.tolist(), limit)


@FMT
def test_random_numbers(fmt):
    rng = np.random.default_rng(350)
    top = {"f16": 15, "bf16": 127, "f32": 127, "f64": 1020}[fmt]
    for k in range(25 * TIMES):
        place = (k, 3, int(rng.integers(0, 1000)))
        low, high = sorted(np.where(rng.random() < 0.5, spread(rng, -1074, top, 2), spread(rng, -1074, -900, 2)).tolist())
        mean, std = (float(v) for v in spread(rng, -1074, 900, 2))
        if rng.random() < 0.6:  # of like size
            std = float(np.ldexp(std, int(np.clip(np.frexp(mean)[1] - np.frexp(std)[1] + rng.integers(-60, 60), -1900, 900))))
        std = abs(std) if np.isfinite(std) else 1.0
        p = float(rng.choice([abs(spread(rng, -1074, 0, 1)[0]), 1 - 2.0 ** -int(rng.integers(1, 54))]))
        x = numbers(rng, fmt, (30,))
        gone = random_oracle.bernoulli(*place, len(x), p)
        with np.errstate(all="ignore"):
            kept = [
                0 if d else int(b) if v == 0 else random_oracle.rounded(Fraction(float(v)) / (1 - Fraction(p)), fmt)
                for v, b, d in zip(x, bits(x), gone)
            ]
        ends = [mean - float(rng.uniform(0, 3)) * std, mean + float(rng.uniform(0, 3)) * std]
        sound = std > abs(mean) * 2.0**-49 and np.isfinite(ends).all() and ends[1] - ends[0] > std * 2.0**-90 and std > 1e-300
        for isa, library in elementwise_library.libraries().items():
            lib = Random(library.library)
            case = (isa, low, high, mean, std, p)
            assert bits(lib.uniform(fmt, place, 40, low, high)).tolist() == random_oracle.uniform(
                fmt, *place, 40, low, high
            ), case
            assert bits(lib.normal(fmt, place, 20, mean, std)).tolist() == random_oracle.normal(fmt, *place, 20, mean, std), (
                case
            )
            if sound:
                want = random_oracle.truncated(fmt, *place, 10, mean, std, *ends)
                assert bits(lib.truncated(fmt, place, 10, mean, std, *ends)).tolist() == want, (case, ends)
            assert bits(lib.dropout(fmt, place, x, p)).tolist() == kept, case


def test_control_a_rounding_more():
    """Formulas in binary64, whose products round, have wrong bits on such data: among subnormal numbers too."""
    rng = np.random.default_rng(323)
    x, y = (numbers(rng, "f64", (2000,)) for _ in range(2))
    y = np.ldexp(np.sign(y) + rng.random(2000), np.clip(-1060 - np.frexp(x)[1], -1074, 1000))
    with np.errstate(all="ignore"):
        got = x * y * (1 - y)
    exact = [mpq(a) * mpq(b) * (1 - mpq(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    wrong = bits(got) != np.array([round_rational(v, "f64") for v in exact], np.uint64)
    tiny = np.array([0 < abs(v) < mpq(2) ** -1022 for v in exact])
    assert (wrong & tiny).any() and (wrong & ~tiny).any()

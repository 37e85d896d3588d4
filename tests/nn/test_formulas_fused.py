"""Formulas of one multiplication and addition, in whole blocks of 32 elements: against rationals on ties, beside ties, among subnormal
numbers and at the ends of the range, and what is not finite against the elements alone."""

import ctypes
from fractions import Fraction

import numpy as np
import pytest
from exact_oracle import FORMATS, round_rational
from formula_library import run
from optimizers_library import bits, random
from reductions_library import OK

N = 64
FUSED = {
    0: (1, lambda a, x: a * x),
    3: (1, lambda a, x: x + a),
    4: (2, lambda a, x, y: x + a * y),
    5: (2, lambda a, x, y: (1 - a) * x + a * y),
    6: (3, lambda a, x, y, z: x + a * y * z),
    15: (3, lambda a, x, y, z: (1 - z) * x + z * y),
}
KINDS = ["gaussian", "integers", "cancelling", "tiny", "spread", "edge", "sums", "decimals", "halves"]
NUMBERS = (0.1, -1 / 3, 2.0**-30, 0.5, 0.8, 1.0, 0.0, -0.0, 2.0**-8 / 3)
BELOW = pytest.mark.parametrize("fmt", [f for f in FORMATS if f != "f64"])


def columns(rng, fmt, kind):
    dtype, digits = FORMATS[fmt][0], FORMATS[fmt][2] + 1
    if kind not in ("sums", "decimals", "halves"):
        return random(rng, fmt, N, kind)[:3]
    if kind == "sums":  # whose terms have few bits
        x = np.ldexp(
            rng.integers(-(2 ** (digits // 2)), 2 ** (digits // 2), (3, N)).astype(float), rng.integers(-4, 1, (3, N))
        )
    elif kind == "decimals":  # the denominators of short decimals: a y is beside a number of few bits
        x = rng.integers(1, 2 ** (digits - 4), (3, N)) * rng.choice([-5.0, 5.0, 3.0, -3.0, 10.0], (3, N))
    else:  # x and half a place of it, or a place and a half, as often as not
        x = np.ldexp(rng.integers(2 ** (digits - 1), 2**digits, (3, N)).astype(float), 1 - digits)
        x[1] = np.ldexp(
            rng.choice([-10.0, -5.0, -3.0, -1.0, 1.0, 3.0, 5.0, 10.0], N), rng.integers(-digits - 1, 2 - digits, N)
        )
        x[2] = rng.choice([1.0, -1.0, 0.5, 0.25, 0.0, -0.0], N)
    return x.astype(dtype)


def expected(which, fmt, a, row):
    _, formula = FUSED[which]
    value = formula(Fraction(a), *(Fraction(v) for v in row))
    if which == 0 and value == 0:
        return int(np.signbit(a * row[0])) << FORMATS[fmt][5]
    return round_rational(value, fmt)


@BELOW
@pytest.mark.parametrize("kind", KINDS)
def test_rationals(isa_library, kind, fmt):
    rng = np.random.default_rng(60 + KINDS.index(kind))
    x = columns(rng, fmt, kind)
    for which, (arity, _) in FUSED.items():
        for a in rng.permutation(NUMBERS)[:3].tolist() if which != 15 else [0.0]:
            code, got = run(isa_library, which, fmt, a, list(x[:arity]))
            assert code == OK
            want = [expected(which, fmt, a, [float(v) for v in row]) for row in zip(*x[:arity], strict=True)]
            assert bits(got).tolist() == want, (which, a)


@BELOW
def test_control(fmt):
    """Rounded to binary64 first, some of these are wrong."""
    dtype, wrong = FORMATS[fmt][0], 0
    for kind in ("decimals", "halves"):
        x = columns(np.random.default_rng(60 + KINDS.index(kind)), fmt, kind)
        for a in NUMBERS[:2]:
            twice = (x[0].astype(float) + a * x[1].astype(float)).astype(dtype)
            wrong += sum(int(bits(twice)[i]) != expected(4, fmt, a, [float(x[0, i]), float(x[1, i])]) for i in range(N))
    assert wrong


@BELOW
def test_exceptions(isa_library, fmt):
    """Infinities, NaN, those that signal, and overflow: the bits and the flags of the elements alone, and a value in the middle of a block."""
    libm = ctypes.CDLL(None)
    rng = np.random.default_rng(61)
    dtype = FORMATS[fmt][0]
    big = {"f16": 60000.0, "bf16": 3e38, "f32": 3e38}[fmt]
    values = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, big, -big, 0.5], dtype)
    signalling = np.array([np.inf], dtype)
    signalling.view(bits(signalling).dtype)[:] += 1
    for which, (arity, _) in FUSED.items():
        for a in (0.5, -2.0, 0.0, 1.0, 2.0**60):
            for trial in range(3):
                x = rng.choice(values[[5, 6, 9]], (3, N)) if trial else rng.choice(values, (3, N))
                place = int(rng.integers(N))
                if trial:  # one alone
                    x[:, place] = rng.choice(values, 3)
                if trial == 2:
                    x[rng.integers(arity), place] = signalling[0]
                x = [np.ascontiguousarray(v) for v in x[:arity]]
                libm.feclearexcept(29)
                code, got = run(isa_library, which, fmt, a, x)
                raised = libm.fetestexcept(29)
                assert code == OK
                alone, flags = [], 0
                for i in range(N):
                    one = [v[i : i + 1].copy() for v in x]
                    libm.feclearexcept(29)
                    found = run(isa_library, which, fmt, a, one)[1]
                    flags |= libm.fetestexcept(29)
                    alone.append(int(bits(found)[0]))
                assert bits(got).tolist() == alone, (which, a, trial)
                assert raised == flags, (which, a, trial, [v[place] for v in x])


@pytest.mark.parametrize("which", FUSED)
def test_results_that_underflow_keep_their_sign(isa_library, which):
    """A sum that is not 0 but rounds to it has its sign; one that is 0 is +0."""
    least = np.float32(2.0**-149)
    x = np.full(N, -0.0, np.float32)
    arity = FUSED[which][0]
    z = np.full(N, 0.25, np.float32)
    for a, y, sign in ((0.25, -least, True), (0.25, least, False), (0.25, np.float32(-0.0), False)):
        rest = [np.full(N, y, np.float32), z if which == 15 else np.ones(N, np.float32)]
        if which in (0, 3):
            continue
        code, got = run(isa_library, which, "f32", a, [x, *rest][:arity])
        assert code == OK and not got.any()
        assert np.signbit(got).tolist() == [sign] * N


def test_differences_that_are_no_number(isa_library):
    """(1 - a) x + a y beside a tie, on its other side than x + a (y - x) for y - x rounded down to binary64."""
    x, y = (np.full(N, float.fromhex(v), np.float32) for v in ("-0x1.000002p+3", "0x1.2p+33"))
    a = float.fromhex("0x1.c71c71c0ca458p-55")
    code, got = run(isa_library, 5, "f32", a, [x, y])
    assert code == OK and bits(got).tolist() == [expected(5, "f32", a, [float(x[0]), float(y[0])])] * N
    difference = Fraction(float(y[0])) - Fraction(float(x[0]))
    down = float(difference) if Fraction(float(difference)) <= difference else float(np.nextafter(float(difference), -np.inf))
    assert round_rational(Fraction(float(x[0])) + Fraction(a) * Fraction(down), "f32") != bits(got)[0]

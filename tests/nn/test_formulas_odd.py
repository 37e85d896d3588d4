"""The formulas below binary64 that are rounded to odd, and the mix of two arrays, against exact rationals, bit by bit, on every instruction set."""

import ctypes
import functools
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from exact_oracle import CANONICAL_NAN, FORMATS, round_rational
from formula_library import near_quotients, run
from optimizers_library import NAMES, bits, random
from reductions_library import ENUM, NULL, OK, RANGE, status

BELOW = NAMES[:3]
NARROW = pytest.mark.parametrize("fmt", BELOW)


def floor(a, x, y):
    return Fraction(x // y)


def trunc(a, x, y):
    return Fraction(abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1))


def remainder(a, x, y):
    return x - y * (x // y)


# number: name, arrays, the value of finite operands over the rationals. A zero has the sign of the second function, of floats.
FORMULAS = {
    15: ("mix", 3, lambda a, x, y, z: (1 - z) * x + z * y),
    16: ("hardsigmoid", 1, lambda a, x: min(max((x + 3) / 6, 0), 1)),
    17: ("hardsigmoid_gradient", 2, lambda a, x, y: x / 6 if abs(y) < 3 else 0),
    18: ("hardswish", 1, lambda a, x: x if x >= 3 else x * (x + 3) / 6 if x > -3 else 0),
    19: ("hardswish_gradient", 2, lambda a, x, y: x if y > 3 else (2 * x * y + 3 * x) / 6 if y >= -3 else 0),
    20: ("leaky", 1, lambda a, x: x if x > 0 else a * x),
    21: ("leaky_gradient", 2, lambda a, x, y: x if y > 0 else a * x),
    22: ("shrink", 1, lambda a, x: x - a if x > a else x + a if x < -a else 0),
    23: ("floor", 2, floor),
    24: ("trunc", 2, trunc),
    25: ("fmod", 2, lambda a, x, y: x - y * trunc(a, x, y)),
    26: ("remainder", 2, remainder),
}


def special(which, a, v):
    """The float that stands for the result where an operand is not finite or a divisor is 0, and the sign of zeros."""
    name, x = FORMULAS[which][0], v[0]
    y = v[1] if len(v) > 1 else x
    with np.errstate(all="ignore"):
        if name == "mix":
            s = [u if not np.isfinite(u) else np.sign(u) for u in (x, y, v[2], 1 - v[2])]
            return s[3] * s[0] + s[2] * s[1] + 0.0
        if name == "hardsigmoid":
            return np.clip(x, 0, 1) if not np.isfinite(x) else 0.0
        if name == "hardsigmoid_gradient":
            return x if abs(y) < 3 else 0.0
        if name == "hardswish":
            return x if x > 0 or np.isnan(x) else 0.0
        if name == "hardswish_gradient":
            return x if y > 3 else 0.0 if y < -3 else (2 * x * y + 3 * x) / 6
        if name.startswith("leaky"):
            return x if y > 0 else np.float64(a) * x
        if name == "shrink":
            return (x if np.isnan(x) else x - np.copysign(a, x)) if abs(x) > a or np.isnan(x) else 0.0
        if name in ("floor", "trunc"):
            if name == "floor" and np.isinf(x) and y != 0:
                return np.nan
            down = name == "floor" and np.isinf(y) and x != 0 and np.signbit(x) != np.signbit(y)
            return -1.0 if down and np.isfinite(x) else x / y
        rest = np.fmod(x, y)
        return rest + y if name == "remainder" and rest != 0 and (rest < 0) != (y < 0) else rest


def expected(which, fmt, a, values):
    return value_bits(which, fmt, a, tuple(float(v).hex() for v in values))  # zeros are told apart


@functools.cache  # for all instruction sets
def value_bits(which, fmt, a, values):
    _, _, fraction, _, infinity, sign_shift = FORMATS[fmt]
    v = [np.float64(float.fromhex(u)) for u in values]
    if which == 21:
        v[1] = np.float64(1.0 if v[1] > 0 else -1.0)
    other = special(which, a, v)
    negative = int(np.signbit(other)) << sign_shift
    if not all(np.isfinite(u) for u in (*v, a)) or (which >= 23 and v[1] == 0):
        if np.isnan(other):
            return CANONICAL_NAN[fmt]
        return infinity << fraction | negative if np.isinf(other) else round_rational(Fraction(float(other)), fmt) or negative
    value = Fraction(FORMULAS[which][2](Fraction(a), *map(Fraction, map(float, v))))
    if value == 0:
        return negative if which != 15 else 0
    return round_rational(value, fmt) or int(value < 0) << sign_shift


def check(lib, which, fmt, a, arrays):
    code, got = run(lib, which, fmt, a, list(arrays))
    assert code == OK
    want = np.array([expected(which, fmt, a, column) for column in zip(*arrays, strict=True)], np.uint64).astype(
        bits(got).dtype
    )
    wrong = np.flatnonzero(bits(got) != want)
    assert not len(wrong), (
        FORMULAS[which][0],
        a,
        [([float(x[i]) for x in arrays], float(got[i]), hex(want[i])) for i in wrong[:3]],
    )


def numbers(which):
    return (0.1, -0.3, 0.0, 1e-320, 1e305) if which in (20, 21) else (0.5, 0.1, 2.0**-24, 0.0) if which == 22 else (0.0,)


@NARROW
def test_one_argument(isa_library, fmt):
    """Of all kinds and sizes: in 16 bits a seventh of all there are."""
    dtype = FORMATS[fmt][0]
    if fmt == "f32":
        rng = np.random.default_rng(1)
        every = rng.integers(0, 2**32, 3000, np.uint32).view(np.float32)
        x = np.concatenate([every, rng.uniform(-3.5, 3.5, 3000).astype(dtype)])
    else:
        x = np.arange(3, 65536, 7, dtype=np.uint16).view(dtype)
    x = np.concatenate([x, np.array([0.0, -0.0, 3, -3, np.inf, -np.inf, np.nan, 0.5, -0.5], dtype)])
    for which in (16, 18, 20, 22):
        for a in numbers(which)[: 5 if fmt != "f32" or which == 20 else 2]:
            check(isa_library, which, fmt, a, [x[:: 1 if which in (16, 18) else 3].copy()])


def pairs(fmt):
    """Dividends and divisors: of all sizes, multiples and their neighbours, quotients of more than 2^53, exceptional ones."""
    dtype, rng = np.dtype(FORMATS[fmt][0]), np.random.default_rng(2)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    tiny = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    with np.errstate(all="ignore"):
        every = rng.integers(0, np.iinfo(unsigned).max, (2, 900), unsigned, endpoint=True).view(dtype)
        y = rng.uniform(-5, 5, 900).astype(dtype)
        x = (y.astype(float) * rng.integers(-300, 300, 900)).astype(dtype)
        near = (x.view(unsigned) + rng.integers(-1, 2, 900).astype(unsigned)).view(dtype)
        few = np.array([0.0, -0.0, 1, -1, 3, -3, np.inf, -np.inf, np.nan, tiny, -1e-7, 6e4, 60.0]).astype(dtype)
        small, large = np.abs(y * dtype.type(1e-7)), (x * dtype.type(200)).astype(dtype)
    grid = [v.ravel() for v in np.meshgrid(few, few)]
    return [np.concatenate(v) for v in zip(every, (near, y), (x, y), (large, small), grid, strict=True)]


@NARROW
def test_two_arguments(isa_library, fmt):
    x, y = pairs(fmt)
    for which in (17, 19, 21, 23, 24, 25, 26):
        for a in numbers(which):
            check(isa_library, which, fmt, a, [x, y] if which > 21 else [y, x])


@pytest.mark.parametrize("fmt", NAMES)
@pytest.mark.parametrize("name", ["gaussian", "integers", "cancelling", "tiny", "edge", "special"])
def test_mix(isa_library, name, fmt):
    rng = np.random.default_rng(3)
    x, y, z = random(rng, fmt, 90, name)[:3]
    z[::3], z[1::9] = rng.uniform(0, 1, 30).astype(z.dtype), 1
    check(isa_library, 15, fmt, 0.0, [x, y, z])


def test_infinite_beside_a_large_product(isa_library):
    """(1 - z) x is beyond the format, and infinite of the other sign; the exact value of finite operands is not."""
    x, y, z = (np.array([v], np.float16) for v in (30000.0, np.inf, 60000.0))
    check(isa_library, 15, "f16", 0.0, [x, y, z])
    assert run(isa_library, 15, "f16", 0.0, [x, y, z])[1][0] == np.inf


@pytest.mark.parametrize("fmt", BELOW[:2])
def test_control(library, fmt):
    """Rounded to binary64 and binary32 before, some of the numbers above have other results."""
    x = np.arange(3, 65536, 7, dtype=np.uint16).view(FORMATS[fmt][0])
    with np.errstate(all="ignore"):
        x = x[x.astype(float) < 0]
        code, got = run(library, 20, fmt, 0.1, [x])
        assert code == OK
        twice = (0.1 * x.astype(float)).astype(np.float32).astype(x.dtype)
    assert (bits(twice) != bits(got)).any()


@NARROW
def test_lengths_and_results_in_arguments(isa_library, fmt):
    rng = np.random.default_rng(4)
    x, y, z = random(rng, fmt, 70001, "gaussian")[:3]
    for which, (_, arrays, _) in FORMULAS.items():
        used = [x, y, z][:arrays]
        want = bits(run(isa_library, which, fmt, 0.3, used)[1])
        for n in (1, 31, 33, 255, 257):
            assert (bits(run(isa_library, which, fmt, 0.3, [v[:n].copy() for v in used])[1]) == want[:n]).all()
        for k in range(arrays):
            copies = [v.copy() for v in used]
            run(isa_library, which, fmt, 0.3, copies, copies[k])
            assert (bits(copies[k]) == want).all()


@NARROW
def test_quotients_and_remainders_by_a_number(isa_library, fmt):
    """The divisor is any number of binary64, also one whose multiples are far below."""
    x = pairs(fmt)[0][::6]
    with np.errstate(all="ignore"):
        x = x[np.isfinite(x.astype(float))]
    for which in (23, 24, 25, 26):
        for a in (0.3, -7.1, 2 * np.pi, 1e240, -1e-200, 2.0**-800, 2.0**800, 1e-40, 1.0):
            code, got = run(isa_library, which, fmt, a, [x])
            assert code == OK
            name = FORMULAS[which][2]
            for u, b in zip(x, bits(got), strict=True):
                value = name(0, Fraction(float(u)), Fraction(a))
                negative = value < 0 or (not value and np.signbit(u) != (which < 25 and a < 0))
                assert int(b) == (round_rational(value, fmt) or negative << FORMATS[fmt][5]), (which, u, a)
    for a in (0.0, 2.0**-801, np.inf, np.nan):
        assert run(isa_library, 26, fmt, a, [x])[0] == status(NULL, 6)
        assert run(isa_library, 23, fmt, a, [x])[0] == status(NULL, 6)
    assert run(isa_library, 22, fmt, 1.0, [x])[0] == OK


@pytest.mark.parametrize(
    "a",
    [
        1.0,
        -1.0,
        0.7,
        0.699999988079071,
        3.0,
        -3.0,
        49.0,
        -83.0,
        2.0**-9 / 3,
        1 / 3,
        -1e-30,
        1e30,
        2.0**-140,
        1 + 2.0**-52,
        1 - 2.0**-53,
        np.pi,
    ],
)
def test_whole_numbers_by_vectors(isa_library, a):
    """Those of floor and trunc by a number: quotients that a product by the reciprocal rounds to another whole number are among them."""
    x = near_quotients(np.random.default_rng(6), a)
    x = x[np.isfinite(x)]
    for which in (23, 24):
        code, got = run(isa_library, which, "f32", a, [x])
        assert code == OK
        for u, b in zip(x, bits(got), strict=True):
            value = FORMULAS[which][2](0, Fraction(float(u)), Fraction(a))
            negative = value < 0 or (not value and np.signbit(u) != (a < 0))
            assert int(b) == (round_rational(value, "f32") or negative << 31), (which, u, a)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_control_of_the_residual(dtype):
    """Without the residual some multiples of whole numbers have another whole number."""
    k = np.arange(1, 4000).astype(dtype)
    assert any((np.trunc(k * dtype(a) * (dtype(1) / dtype(a))) != k).any() for a in (3, 49, 83))


def test_infinite_numbers_by_vectors(isa_library):
    """Infinities, NaN and results beyond the format, at each place of two vectors, and the exceptions they raise."""
    libm = ctypes.CDLL(None)
    few = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38], np.float32)
    signalling = np.array([0x7FA00000], np.uint32).view(np.float32)
    for which in (23, 24):
        for a in (0.5, -0.5, 0.3, -0.3):
            for v, raises in zip(np.concatenate([few, signalling]), (which == 23, which == 23, 0, 8, 8, 1), strict=True):
                for at in range(33):
                    x = np.full(40, 7.75, np.float32)
                    x.view(np.uint32)[at] = v.view(np.uint32)
                    libm.feclearexcept(61)
                    code, got = run(isa_library, which, "f32", a, [x])
                    assert code == OK and libm.fetestexcept(13) == raises, (which, a, v)
                    want = [expected(which, "f32", 0.0, (float(u), a)) for u in (v, 7.75)]
                    assert bits(got)[at] == want[0] and (np.delete(bits(got), at) == want[1]).all(), (which, a, v)


@NARROW
def test_remainders_of_a_number(isa_library, fmt):
    """The dividend is any number of binary64; a zero has its sign."""
    x = pairs(fmt)[1][::4].copy()
    for a in (0.7, -7.1, 2 * np.pi, 1e240, -1e-200, 2.0**-800, 2.0**800, 1e-40, 1.0, -0.0):
        code, got = run(isa_library, 27, fmt, a, [x])
        assert code == OK
        for u, b in zip(x.astype(float), bits(got), strict=True):
            if np.isnan(u) or u == 0:
                want = CANONICAL_NAN[fmt]
            elif np.isinf(u) and a * u < 0:
                want = FORMATS[fmt][4] << FORMATS[fmt][2] | int(u < 0) << FORMATS[fmt][5]
            else:
                value = Fraction(a) if np.isinf(u) else remainder(0, Fraction(a), Fraction(u))
                want = round_rational(value, fmt) or int(np.signbit(a if not value else float(value))) << FORMATS[fmt][5]
            assert int(b) == want, (u, a, hex(b), hex(want))
    for a in (2.0**-801, 2.0**801, np.inf, np.nan):
        assert run(isa_library, 27, fmt, a, [x])[0] == status(RANGE, 4)


def test_whole_numbers_beside_boundaries(isa_library):
    """Quotients x/a from 2^53 on, next to midpoints of binary32: a is the number next to x over the midpoint, or a neighbour of it."""
    rng, seen = np.random.default_rng(5), set()
    for c in (*range(29, 40), 70):
        for t in rng.integers(2**24, 2**25, 6) | 1:
            middle = Fraction(int(t)) * 2**c
            x = np.float32(rng.choice([-1.0, 1.0]) * rng.integers(1, 2**24))
            near = float(Fraction(float(x)) / middle)
            for a in (near, -near, np.nextafter(near, 1), np.nextafter(near, -1), near * 2.0**-70):
                for which in (23, 24):
                    value = FORMULAS[which][2](0, Fraction(float(x)), Fraction(float(a)))
                    code, got = run(isa_library, which, "f32", float(a), [np.full(3, x)])
                    assert code == OK and (bits(got) == round_rational(value, "f32")).all(), (which, x, a)
                    rounded = np.float32(float(x) / float(a))  # the control: what a division in binary64 would give
                    seen.add(bool(bits(rounded[None])[0] == bits(got)[0]))
    assert seen == {True, False}


def test_refuses_binary64(library):
    x = np.ones(8)
    for which in range(16, 28):
        assert run(library, which, "f64", 0.0, [x, x])[0] == status(ENUM, 2)
    assert run(library, 28, "f32", 0.0, [x, x])[0] == status(ENUM, 1)


@NARROW
def test_exceptions_behind_invalid_ones(isa_library, fmt):
    """Behind 0/0, which raises one exception, those of 1/0 and of a quotient that overflows are raised still; NaN alone raises none."""
    libm = ctypes.CDLL(None)
    dtype = FORMATS[fmt][0]
    large = 6e4 if fmt == "f16" else 3e38
    for x, y, want in (
        (0, 0, 1),
        (1, 0, 1 | 4),
        (large, 2.0**-10, 1 | 8),
        (np.nan, 1, 1),
        (1, 1, 1),
    ):
        for first in (True, False):  # the control: without 0/0
            u, v = np.zeros(40, dtype), np.zeros(40, dtype)
            if not first:
                u[:], v[:] = 1, 1
            u[33], v[33] = x, y
            libm.feclearexcept(61)
            code, _ = run(isa_library, 24, fmt, 0.0, [u, v])
            assert code == OK
            raised = libm.fetestexcept(13)
            assert raised == (want if first else want & ~1 | (x == 0)), (x, y, first)

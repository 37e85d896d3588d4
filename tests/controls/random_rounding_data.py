"""Data beside the thresholds of the random rounding modes, for controls: what decides an element by an approximate value must not be off by more than its
bound there."""

from __future__ import annotations

import ctypes

import numpy as np
from exact_oracle import FORMATS, bits
from reductions_library import OK

NAMES = list(FORMATS)


class RandomRounding(ctypes.Structure):
    _fields_ = [("mode", ctypes.c_int32), ("seed", ctypes.c_uint64), ("stream", ctypes.c_uint64), ("first", ctypes.c_int64)]


def sums_rounded_at_random(lib, rng):
    """1 - 2^-111 + 2^-115, whose middle term is lost beside one that is taken away again, so that double-double has 1 + 2^-115."""
    n = 64
    hair = 2.0**-57 * (1 + 2.0**-52 * rng.integers(1, 2**20, n))
    rows = np.stack([np.ones(n), hair, np.full(n, -(2.0**-111)), -hair, np.full(n, 2.0**-115)], axis=1)
    out = np.empty(n)
    how = RandomRounding(5, 7, 0, 0)  # RM_ROUND_RANDOM
    f = lib.rm_random_sums
    f.argtypes = [
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_ssize_t,
        ctypes.c_ssize_t,
    ]
    f.argtypes += [ctypes.c_void_p, ctypes.c_void_p]
    assert (
        f(NAMES.index("f64"), NAMES.index("f64"), n, 5, rows.ctypes.data, 40, 8, out.ctypes.data, ctypes.addressof(how)) == OK
    )
    return bits(out)


def balls_rounded_at_random(lib, rng):
    """Numbers whose radius leaves a half of them open, and zeros."""
    n = 256
    middle = rng.uniform(1, 2, n)
    middle[::4] = 0
    radius = np.where(middle == 0, 0.0, 2.0**-24 * rng.uniform(0.5, 2, n))
    out, undecided = np.empty(n, np.float32), np.empty(n, np.uint8)
    how = RandomRounding(4, 7, 0, 0)  # RM_ROUND_STOCHASTIC
    f = lib.rm_random_balls
    f.argtypes = [ctypes.c_int, ctypes.c_int64, *[ctypes.c_void_p] * 5]
    pointers = (v.ctypes.data for v in (middle, radius, out, undecided))
    assert f(NAMES.index("f32"), n, *pointers, ctypes.addressof(how)) == OK
    return np.concatenate((bits(out).astype(np.uint64), undecided.astype(np.uint64)))


def elements_rounded_at_random(lib, rng):
    """1 + y and exp(y), where y is below or above the threshold of its element: nearer to it than binary64 tells, for the small ones; and products that are
    subnormal."""
    n = 20000
    how, words, found = RandomRounding(4, 7, 3, 0), np.empty(n, np.uint32), []  # RM_ROUND_STOCHASTIC
    f = lib.rm_random_rounding_words
    f.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    assert f(7, 3, 0, n, words.ctypes.data) == OK
    y = ((words + 0.5) * 2.0**-55).astype(np.float32)
    y = np.where(np.arange(n) % 2 == 0, np.nextafter(y, np.float32(0)), np.nextafter(y, np.float32(1)))
    one, out = np.ones(n, np.float32), np.empty(n, np.float32)
    f = lib.rm_random_elementwise
    f.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_ssize_t, ctypes.c_void_p]
    small = np.float32(2.0**-70) * (one + y * np.float32(2.0**30)), np.float32(2.0**-70) * one
    for name, columns in ((b"add", (one, y)), (b"exp", (y,)), (b"multiply", small)):
        base = (ctypes.c_void_p * 2)(*(v.ctypes.data for v in columns))
        stride = (ctypes.c_ssize_t * 2)(4, 4)
        assert f(name, NAMES.index("f32"), n, base, stride, out.ctypes.data, 4, ctypes.addressof(how)) == OK
        found.append(bits(out).copy())
    return np.concatenate(found)


def formulas_rounded_at_random(lib, rng):
    """A product that is 0 in binary64, and a quotient that is nearly 10: both are left open."""
    how, open_ = RandomRounding(5, 7, 0, 0), np.zeros(1, np.int64)  # RM_ROUND_RANDOM
    f, found = lib.rm_random_formula, []
    f.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_double, *[ctypes.c_void_p] * 7]
    for formula, a, x in ((0, 2.0**-1000, 2.0**-100), (1, 0.1, 1.0)):  # RM_FORMULA_SCALED, RM_FORMULA_OVER
        column, out = np.full(8, x, np.float32), np.empty(8, np.float32)
        pointers = column.ctypes.data, None, None, out.ctypes.data, open_.ctypes.data, None, ctypes.addressof(how)
        assert f(formula, NAMES.index("f32"), 8, a, *pointers) == OK
        found += [bits(out).astype(np.uint64), open_.astype(np.uint64)]
    return np.concatenate(found)


def formulas_beside_thresholds(lib, rng):
    """1 + a t, where t is a number, a product or a quotient, and a t is below or above the threshold of its element by some 2^-25 of itself."""
    n, a = 20000, 1 / 3
    how, words, found = RandomRounding(4, 7, 3, 0), np.empty(n, np.uint32), []  # RM_ROUND_STOCHASTIC
    f = lib.rm_random_rounding_words
    f.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    assert f(7, 3, 0, n, words.ctypes.data) == OK
    f, open_ = lib.rm_random_formula, np.zeros(1, np.int64)
    f.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_double, *[ctypes.c_void_p] * 7]
    one, out = np.ones(n, np.float32), np.empty(n, np.float32)
    for formula, z in ((4, one), (6, rng.uniform(1, 2, n).astype("f4")), (7, rng.uniform(1, 2, n).astype("f4"))):
        y = (
            (words + 0.5) * 2.0**-55 / a * (z if formula == 7 else 1 / z)
        )  # RM_FORMULA_PLUS, RM_FORMULA_PRODUCT, RM_FORMULA_QUOTIENT
        y = y.astype(np.float32)
        y = np.where(np.arange(n) % 2 == 0, np.nextafter(y, np.float32(0)), np.nextafter(y, np.float32(1)))
        pointers = (v.ctypes.data for v in (one, y, z, out, open_))
        assert f(formula, NAMES.index("f32"), n, a, *pointers, None, ctypes.addressof(how)) == OK
        found += [bits(out).astype(np.uint64), open_.astype(np.uint64)]
    return np.concatenate(found)


def products_beside_thresholds(lib, rng):
    """Whole tiles: 1 + y, where y is below or above the threshold of its element, nearer to it than binary64 tells for the small ones, and subnormal numbers."""
    m, n = 64, 24
    how, words, found = RandomRounding(4, 7, 3, 0), np.empty(m * n, np.uint32), []  # RM_ROUND_STOCHASTIC
    f = lib.rm_random_rounding_words
    f.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    assert f(7, 3, 0, m * n, words.ctypes.data) == OK
    y = ((words + 0.5) * 2.0**-55).astype(np.float32)
    y = np.where(np.arange(m * n) % 2 == 0, np.nextafter(y, np.float32(0)), np.nextafter(y, np.float32(1)))
    a = np.concatenate((y.reshape(m, n), np.ones((m, 1), np.float32)), 1)
    b = np.concatenate((np.eye(n, dtype=np.float32), np.ones((1, n), np.float32)))
    f = lib.rm_random_matmul_batched
    f.argtypes = [
        ctypes.c_int,
        ctypes.c_int,
        *[ctypes.c_int64] * 4,
        *[ctypes.c_void_p, ctypes.c_ssize_t] * 3,
        *[ctypes.c_void_p] * 2,
    ]
    for scale, factor in ((1.0, 1.0), (2.0**-70, 1.23456)):
        x, w, c = a * np.float32(scale), b * np.float32(scale * factor), np.empty((m, n), np.float32)
        at = [(ctypes.c_ssize_t * 3)(v.ctypes.data, *v.strides) for v in (x, w)]
        sizes = NAMES.index("f32"), NAMES.index("f32"), 1, m, n, n + 1
        first, second = (ctypes.addressof(v) for v in at)
        assert f(*sizes, first, 0, second, 0, None, 0, c.ctypes.data, ctypes.addressof(how)) == OK
        found += bits(c).ravel().tolist()
    return found

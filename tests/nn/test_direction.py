"""Weights given by direction and length, in steps that round to binary64, against the steps themselves with exact sums, on every instruction
set: beside midpoints of binary32, which continued fractions find, and with zeros, infinities, NaN and cancelling sums."""

import ctypes
import math
from fractions import Fraction

import numpy as np
from exact_oracle import number, rounded

FLOATS = np.ctypeslib.ndpointer(np.float32, flags="C")


def exact_sum(x, y):
    """RN64 of the sum of products of finite numbers."""
    total = sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, y, strict=True)), Fraction(0))
    return float(total)  # Python rounds a fraction once


def exact_length(x):
    """RN64 of the root of a sum of squares: of its floor at 60 bits more, to odd."""
    total = sum((Fraction(float(a)) ** 2 for a in x), Fraction(0))
    shift = 400
    scaled = total * 4**shift
    root = math.isqrt(scaled.numerator // scaled.denominator)
    inexact = root * root != scaled
    return float(Fraction(2 * root + inexact, 2 ** (shift + 1)))


def steps(v, g, r=None):
    """A row of results, and its length or the gradient with respect to g."""
    finite = np.isfinite(v).all()
    length = np.float64(exact_length(v) if finite else np.nan if np.isnan(v).any() else np.inf)
    wide, g = v.astype(np.float64), np.float64(g)
    if r is None:
        return (wide * g / length).astype(np.float32), np.float32(length)
    received = r.astype(np.float64)
    with_r = np.float64(exact_sum(r, v) if finite and np.isfinite(r).all() else (received * wide).sum())
    first = with_r / length
    return ((received - wide * (first / length)) * g / length).astype(np.float32), np.float32(first)


def computed(lib, v, g, r=None):
    out, numbers = np.empty_like(v), np.empty_like(g)
    size = ctypes.c_int64
    if r is None:
        call, arrays = lib.rm_weight_norm_f32, (v, g, out, numbers)
    else:
        call, arrays = lib.rm_weight_norm_backward_f32, (r, v, g, out, numbers)
    call.restype, call.argtypes = ctypes.c_int, [size, size] + [FLOATS] * len(arrays)
    assert call(*v.shape, *arrays) == 0
    return out, numbers


def bits(x):
    return np.where(np.isnan(x), np.uint32(0x7FC00000), x.view(np.uint32))


def check(lib, v, g, r=None):
    out, numbers = computed(lib, v, g, r)
    with np.errstate(all="ignore"):
        for k in range(len(v)):
            want, number = steps(v[k], g[k], None if r is None else r[k])
            assert (out[k].view(np.uint32) == bits(want)).all(), (v[k], g[k], out[k], want)
            assert numbers[k].view(np.uint32) == bits(np.float32(number)), (v[k], numbers[k], number)


def best(ratio, limit):
    """The last convergent p/q of a fraction with q below the limit."""
    before, last, rest = (0, 1), (1, 0), ratio
    while True:
        whole = rest.numerator // rest.denominator
        p, q = whole * last[0] + before[0], whole * last[1] + before[1]
        if q >= limit:
            return last
        before, last = last, (p, q)
        if rest == whole:
            return last
        rest = 1 / (rest - whole)


def beside_midpoints(rng, rows, width=6):
    """Directions and lengths whose first result is within some 2^-48 of a midpoint of binary32."""
    found = []
    while len(found) < rows:
        v = rng.integers(1, 2**24, width).astype(np.float32)
        ratio = Fraction(float(v[0])) / Fraction(exact_length(v))
        while ratio < 1:
            ratio *= 2
        p, q = best(ratio, 2**24)
        if p % 2 and 2**24 <= p < 2**25:
            found.append((v, np.float32(q)))
    return np.array([v for v, _ in found]), np.array([g for _, g in found], np.float32)


def special(rng, rows, width, wide=False):
    """Rows with zeros, infinities, NaN, subnormal numbers, and one number alone."""
    v = rng.standard_normal((rows, width)).astype(np.float32)
    if wide:
        v *= np.exp2(rng.integers(-120, 100, (rows, width))).astype(np.float32)
    v[0] = 0.0
    v[1, -1] = np.nan
    v[2, 0] = np.inf
    v[3, :2] = np.inf, -np.inf
    v[4] *= np.float32(1e-40)
    v[5] = 0.0
    v[5, -1] = 3.0
    v[6] = -0.0
    v[7, ::2] = -0.0
    return v


def test_forward_beside_midpoints(isa_library):
    v, g = beside_midpoints(np.random.default_rng(1), 300)
    check(isa_library, v, g)
    plain = 0  # the control: steps whose sums and quotients are those of binary64 are wrong on these data
    for k in range(len(v)):
        x = v[k].astype(np.float64)
        product = np.float32(x[0] * (float(g[k]) / math.sqrt(float((x * x).sum()))))
        plain += product != steps(v[k], g[k])[0][0]
    assert plain >= 2, plain


def test_rows(isa_library):
    rng = np.random.default_rng(2)
    for width in (1, 2, 7, 8, 31, 33, 130, 700):
        for wide in (False, True):
            v, g = special(rng, 12, max(width, 2), wide)[:, :width].copy(), rng.standard_normal(12).astype(np.float32)
            g[8:10] = np.inf, 0.0
            check(isa_library, v, g)
            r = np.roll(special(rng, 12, max(width, 2)), 3, axis=0)[:, :width].copy()
            check(isa_library, v, g, r)


def test_gradient_where_sums_cancel(isa_library):
    rng = np.random.default_rng(3)
    v = rng.integers(-9, 10, (200, 6)).astype(np.float32)
    r = rng.integers(-9, 10, (200, 6)).astype(np.float32)
    r[::2, 0] = -v[::2, 1]
    r[::2, 1] = v[::2, 0]
    r[::2, 2:] = 0.0  # the sum of r v is 0
    r[1::4] = v[1::4]  # r - v (sum of r v)/(sum of v^2) is 0, or what rounding leaves
    g = rng.integers(-9, 10, 200).astype(np.float32)
    check(isa_library, v, g, r)
    zeros = [exact_sum(r[k], v[k]) == 0.0 for k in range(len(v))]
    assert sum(zeros) > 50


def test_gradient_beside_midpoints(isa_library):
    """Of r that are orthogonal to v, for which the gradient is r g/length."""
    rng = np.random.default_rng(4)
    v, g = beside_midpoints(rng, 100)
    r = np.zeros_like(v)
    r[:, 0], r[:, 1] = -v[:, 1], v[:, 0]
    check(isa_library, v, g, r)


def norms(lib, x):
    out = np.empty(len(x), np.float32)
    lib.rm_norm_rows_f32.restype, lib.rm_norm_rows_f32.argtypes = ctypes.c_int, [ctypes.c_int64] * 2 + [FLOATS] * 2
    assert lib.rm_norm_rows_f32(*x.shape, x, out) == 0
    return out


def midpoint_norms(rng, rows):
    """Rows whose norm is a midpoint of binary32, 5 k, or above it by less than binary64 has beside 25 k^2."""
    k = rng.integers(2**24 // 10, 2**24 // 6, rows) * 2 + 1
    x = np.zeros((rows, 5), np.float32)
    x[:, 0], x[:, 3] = 3 * k, 4 * k
    x[::2, 4] = 2.0**-5
    return x


def test_norms(isa_library):
    rng = np.random.default_rng(5)
    beside = midpoint_norms(rng, 200)
    with np.errstate(all="ignore"):
        for x in (beside, *(special(rng, 12, width, wide) for width in (2, 7, 33, 600) for wide in (False, True))):
            finite = np.isfinite(x).all(1)
            want = [rounded_length(v) if ok else np.sqrt((v * v).sum()) for v, ok in zip(x, finite, strict=True)]
            assert (norms(isa_library, x).view(np.uint32) == bits(np.array(want, np.float32))).all()
    plain = np.sqrt((beside.astype(np.float64) ** 2).sum(1)).astype(np.float32)  # the control
    assert (plain != norms(isa_library, beside)).sum() > 20


def rounded_length(v):
    """RN32 of the root of the exact sum, from its floor with a sticky bit."""
    total = sum((Fraction(float(a)) ** 2 for a in v), Fraction(0)) * 4**400
    root = math.isqrt(total.numerator // total.denominator)
    return number(rounded(Fraction(2 * root + (root * root != total), 2**401), np.dtype(np.float32)), np.dtype(np.float32))

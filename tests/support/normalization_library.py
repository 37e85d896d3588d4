"""Layer, RMS, group and batch normalization of a C library by ctypes, their gradients, and what they must return."""

import ctypes
import itertools
import math
from fractions import Fraction

import gmpy2
import mpmath
import numpy as np
import oracle
from exact_oracle import round_rational
from real_oracle import precise, reals, rounded_recognised
from reductions_library import OK, pointer
from softmax_library import kind
from statistics_library import dtype_of

NAMES = list(oracle.FORMATS)
FOUR = ctypes.c_ssize_t * 4


class Sets(ctypes.Structure):
    _fields_ = [
        ("centered", ctypes.c_int),
        ("sets", ctypes.c_int64 * 2),
        ("outer", ctypes.c_int64),
        ("inner", ctypes.c_int64),
    ]


def sets_of(norm, x, groups=2):
    """Sets, and the strides of x and of a weight."""
    (n, c, s), size = x.shape, x.itemsize
    a, b, d = x.strides
    if norm in ("layer", "rms"):
        return Sets(norm == "layer", (n, c), 1, s), FOUR(a, b, 0, d), FOUR(0, 0, 0, size)
    elif norm == "group":
        each = c // groups
        return Sets(1, (n, groups), each, s), FOUR(a, each * b, b, d), FOUR(0, each * size, size, 0)
    return Sets(1, (1, c), n, s), FOUR(0, b, a, d), FOUR(0, size, 0, 0)


def geometry(norm, x, groups=2):
    """The same, and where each element belongs: (set, weight)."""
    (n, c, s), places = x.shape, {}
    for i in itertools.product(range(n), range(c), range(s)):
        key = {"layer": i[:2], "rms": i[:2], "group": (i[0], i[1] // max(1, c // groups)), "batch": i[1]}[norm]
        places.setdefault(key, []).append((i, i[2] if norm in ("layer", "rms") else i[1]))
    return sets_of(norm, x, groups), places


def results(lib, norm, fmt, x, w, b, g, eps):
    """The bits of the result and of the gradients by x and w."""
    (sets, sx, sw), _ = geometry(norm, x)
    y, dx, dw = np.full(x.shape, 7, kind(fmt)), np.full(x.shape, 7, kind(fmt)), np.full(w.shape, 7, kind(fmt))
    sy = geometry(norm, y)[0][1]
    f, e, none = NAMES.index(fmt), ctypes.c_double(eps), (None,) * 4
    a, u, v, h = pointer(x), pointer(w), pointer(b), pointer(g)
    assert lib.rm_normalize(f, ctypes.byref(sets), a, sx, u, sw, v, sw, *none, e, pointer(y), sy) == OK
    assert lib.rm_normalize_backward(f, ctypes.byref(sets), h, sx, a, sx, u, sw, *none, e, pointer(dx), sy) == OK
    assert lib.rm_normalize_backward_weight(f, ctypes.byref(sets), h, sx, a, sx, *none, e, pointer(dw), sw) == OK
    return y, dx, dw


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


def values(norm, x, w, b, g, eps):
    """The real numbers of the result and of the gradients by x and w."""
    _, places = geometry(norm, x)
    y, dx = np.zeros(x.shape, object), np.zeros(x.shape, object)
    weights, biases, dw = reals(w), reals(b), [mpmath.mpf(0)] * len(w)
    for members in places.values():
        n = len(members)
        v = reals([x[i] for i, _ in members])
        total = 0 if norm == "rms" else mpmath.fsum(v)
        scaled = [n * a - total for a in v]  # exact: a sum of them is 0 where it is
        deviations = [s / n for s in scaled]
        variance = mpmath.fsum(a**2 for a in deviations) / n + mpmath.mpf(eps)
        root = mpmath.sqrt(variance)
        gs = reals([g[i] for i, _ in members])
        h = [a * weights[k] for a, (_, k) in zip(gs, members, strict=True)]
        first = 0 if norm == "rms" else mpmath.fsum(h) / n
        second = mpmath.fsum(a * c for a, c in zip(h, deviations, strict=True)) / (n * variance)
        for (i, k), deviation, d in zip(members, deviations, h, strict=True):
            y[i] = deviation / root * weights[k] + biases[k]
            dx[i] = (d - first - deviation * second) / root
        for k in {k for _, k in members}:
            dw[k] += mpmath.fsum(c * s for (_, j), c, s in zip(members, gs, scaled, strict=True) if j == k) / (n * root)
    return y, dx, np.array(dw, object)


@precise
def expected(norm, fmt, x, w, b, g, eps):
    return [
        np.vectorize(lambda v: rounded_recognised(v, dtype_of(fmt)), otypes=[kind(fmt)])(part)
        for part in values(norm, x, w, b, g, eps)
    ]


def weight_bits(norm, fmt, x, g, eps, statistics=None):
    """The bits of the gradient with respect to the weights, which `expected` has too, in less time: exact sums of the terms over each root are
    divided by it in MPFR, with as many bits as are needed. Statistics are the mean and variance of channels, of a batch norm whose batch has other parts."""
    _, places = geometry(norm, x)
    sums = [{} for _ in range(x.shape[2] if norm in ("layer", "rms") else x.shape[1])]
    for key, members in places.items():
        n = 1 if statistics else len(members)
        v = [gmpy2.mpq(float(x[i])) for i, _ in members]
        if statistics:
            total, square = gmpy2.mpq(float(statistics[0][key])), gmpy2.mpq(float(statistics[1][key]))
        else:
            total = 0 if norm == "rms" else sum(v)
            square = n * sum(a * a for a in v) - total * total
        square += n * n * gmpy2.mpq(eps)  # of n times the root
        for a, (i, k) in zip(v, members, strict=True):
            term = gmpy2.mpq(float(g[i])) * (n * a - total)
            sums[k][square] = sums[k].get(square, 0) + term
    return np.array([_rounded_quotients(of_root, fmt) for of_root in sums], kind(fmt))


def _rounded_quotients(of_root, fmt):
    """The bits of a sum of rationals over roots of rationals. Distinct roots, of which all but one are irrational, do not make a boundary of rounding here."""
    of_root = {square: total for square, total in of_root.items() if total}
    if not of_root:
        return 0
    if len(of_root) == 1:
        ((square, total),) = of_root.items()
        if gmpy2.is_square(square.numerator) and gmpy2.is_square(square.denominator):
            return round_rational(total * gmpy2.isqrt(square.denominator) / gmpy2.isqrt(square.numerator), fmt)
    for bits in (256, 2048):  # roots of 1e-5 and squares of subnormal numbers agree in 600 bits
        with gmpy2.context(gmpy2.context(), precision=bits, emin=-(2**20), emax=2**20):
            quotients = [gmpy2.mpfr(total) / gmpy2.sqrt(gmpy2.mpfr(square)) for square, total in of_root.items()]
            off = gmpy2.mpq(sum(map(abs, quotients))) / 2 ** (bits - 16)  # a few roundings for each of at most 2^10 sets
            middle = gmpy2.mpq(sum(quotients))
        low, high = round_rational(middle - off, fmt), round_rational(middle + off, fmt)
        if low == high:
            return low
    raise AssertionError("the oracle's precision does not decide this rounding")


def by_classes(norm, x, g, eps):
    """The gradients of the weights as rationals times roots: for each element, {squarefree part of the set's square: rational}."""
    dw = [{} for _ in range(x.shape[2])]
    for row, gs in zip(x[0], g[0], strict=True):
        v, n = [Fraction(float(a)) for a in row], len(row)
        mean = 0 if norm == "rms" else sum(v) / n
        square = sum((a - mean) ** 2 for a in v) / n + Fraction(eps)
        size, root = square.numerator * square.denominator, 1  # square = size / denominator^2
        for p in range(2, 60):
            while size % p**2 == 0:
                size, root = size // p**2, root * p
        if math.isqrt(size) ** 2 == size:
            size, root = 1, root * math.isqrt(size)
        for k, (a, b) in enumerate(zip(v, gs, strict=True)):
            part = (
                Fraction(float(b)) * (a - mean) * square.denominator / (root * size)
            )  # over the root, which is that of size
            dw[k][size] = dw[k].get(size, 0) + part * (1 if size == 1 else size)
    return dw


def rational(parts):
    """The value of a sum by classes, or None where it is irrational: numbers without a square below 60^2 are taken for distinct classes."""
    return None if any(v for k, v in parts.items() if k != 1) else parts.get(1, Fraction(0))

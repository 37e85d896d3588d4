"""Calls of repmath/special.h: recurrences, even series and derivatives of digamma, with coefficients in rational numbers."""

from __future__ import annotations

import ctypes
import math
from fractions import Fraction

import numpy as np

NAMES = ("f16", "bf16", "f32", "f64")
OK = 0
# First, a, b, c, divided of rm_recurrence.
RECURRENCES = {
    "chebyshev_t": ((1, 0), (2, 0), (0, 0), (1, 0), 0),
    "shifted_chebyshev_w": ((4, -1), (4, 0), (-2, 0), (1, 0), 0),
    "hermite_h": ((2, 0), (2, 0), (0, 0), (0, 2), 0),
    "laguerre_l": ((-1, 1), (-1, 0), (1, 2), (0, 1), 1),
    "legendre_p": ((1, 0), (1, 2), (0, 0), (0, 1), 1),
    "other": ((3, -7), (5, 1), (-3, 1), (2, 3), 1),  # whose first step is not exact
}


class Recurrence(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double * 2) for name in ("first", "a", "b", "c")] + [("divided", ctypes.c_int32)]


class EvenSeries(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("order", "sign", "scaled", "terms")] + [("c", ctypes.c_void_p)]


class DigammaDerivative(ctypes.Structure):
    _fields_ = [("order", ctypes.c_int32), ("c", ctypes.c_void_p)]


def exact(name: str, x: Fraction, n: int) -> Fraction:
    first, a, b, c, divided = RECURRENCES[name]
    before, now = Fraction(1), first[0] * x + first[1]
    if n <= 0:
        return Fraction(n == 0)
    for k in range(1, n):
        slope = (a[0] + a[1] * k) * x + b[0] + b[1] * k
        before, now = now, (slope * now - (c[0] + c[1] * k) * before) / (k + 1 if divided else 1)
    return now


def two_parts(values) -> np.ndarray:
    made = [float(v) for value in values for v in (value, value - Fraction(float(value)))]
    return np.array(made)


def bessel_table(order: int, terms: int = 110) -> np.ndarray:
    return two_parts(Fraction(64**k, math.factorial(k) * math.factorial(k + order) * 2**order) for k in range(terms))


def _code(dtype) -> int:
    return NAMES.index({"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}[np.dtype(dtype).name])


def _call(function, argument, x, dtype, *more):
    out, undecided, left = np.zeros(x.shape, dtype), np.full(x.shape, 7, np.uint8), ctypes.c_int64(-1)
    pointers = [ctypes.c_void_p(v.ctypes.data) if isinstance(v, np.ndarray) else ctypes.c_int64(v) for v in more]
    code = function(
        *([] if argument is None else [ctypes.byref(argument)]), _code(x.dtype), _code(dtype), ctypes.c_int64(x.size), ctypes.c_void_p(x.ctypes.data), *pointers,
        ctypes.c_void_p(out.ctypes.data), ctypes.c_void_p(undecided.ctypes.data), ctypes.byref(left),
    )  # fmt: skip
    assert code == OK and left.value == undecided.sum() and undecided.max(initial=0) <= 1
    return out, undecided.astype(bool)


def recurrence(lib, name, x, degree, dtype, table=None):
    """Results, and which are undecided."""
    first, a, b, c, divided = RECURRENCES[name] if table is None else table
    f = Recurrence()
    for member, pair in zip((f.first, f.a, f.b, f.c), (first, a, b, c), strict=True):
        member[0], member[1] = pair
    f.divided = divided
    degree = np.ascontiguousarray(degree, np.float64)
    return _call(lib.rm_recurrence_values, f, x, dtype, degree, 1 if degree.size == x.size and x.size > 1 else 0)


def derivative(lib, order, x, dtype, bernoulli):
    """bernoulli: B[2 j]/(2 j)! from j = 1 on."""
    table = two_parts(b * math.prod(range(order, order + 2 * j)) for j, b in enumerate(bernoulli, 1))
    return _call(lib.rm_digamma_derivatives, DigammaDerivative(order, table.ctypes.data), x, dtype)


def even_series(lib, order, sign, scaled, x, dtype, table=None):
    table = bessel_table(order) if table is None else table
    return _call(lib.rm_even_series_values, EvenSeries(order, sign, scaled, table.size // 2, table.ctypes.data), x, dtype)


GAMMA = 11


def gammas(lib, x, dtype):
    """Gamma of numbers of binary64, and which are undecided."""
    out, undecided, left = np.zeros(x.shape, dtype), np.full(x.shape, 7, np.uint8), ctypes.c_int64(-1)
    x = np.ascontiguousarray(x, np.float64)
    code = lib.rm_special_values(
        GAMMA, _code(dtype), ctypes.c_int64(x.size), None, ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data),
        ctypes.c_void_p(undecided.ctypes.data), ctypes.byref(left),
    )  # fmt: skip
    assert code == OK and left.value == undecided.sum() and undecided.max(initial=0) <= 1
    return out, undecided.astype(bool)

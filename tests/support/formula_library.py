"""rm_formula of a C library by ctypes, and each formula over the rationals."""

import ctypes
from fractions import Fraction

import numpy as np
from optimizers_library import NAMES
from reductions_library import I64, pointer

# name, arrays, the value over the rationals, the same over floats for what is not finite
FORMULAS = [
    ("scaled", 1, lambda a, x: a * x),
    ("over", 1, lambda a, x: x / a),
    ("under", 1, lambda a, x: a / x),
    ("added", 1, lambda a, x: x + a),
    ("plus", 2, lambda a, x, y: x + a * y),
    ("between", 2, lambda a, x, y: (1 - a) * x + a * y),
    ("product", 3, lambda a, x, y, z: x + a * y * z),
    ("quotient", 3, lambda a, x, y, z: x + a * y / z),
    ("tanh", 2, lambda a, x, y: x * (1 - y * y)),
    ("sigmoid", 2, lambda a, x, y: x * y * (1 - y)),
]


def run(lib, which, fmt, a, arrays, out=None):
    out = np.empty_like(arrays[0]) if out is None else out
    given = [pointer(x) for x in arrays] + [None] * (3 - len(arrays))
    code = lib.rm_formula(which, NAMES.index(fmt), I64(len(arrays[0])), ctypes.c_double(a), *given, pointer(out))
    return code, out


def to_odd(name, fmt, a, given, lanes):
    """The vectors that src/nn/formula/known.h rounds to odd: of sums below binary64, those whose products are numbers of binary64."""
    if fmt == "f64" or name not in ("scaled", "added", "plus", "between", "product"):
        return set()

    def is_product(x, y):
        return Fraction(x * y) == Fraction(x) * Fraction(y)

    def is_short(row):
        if name == "plus":
            return is_product(a, row[1])
        if name == "between":
            return Fraction(1.0 - a) == 1 - Fraction(a) and is_product(1.0 - a, row[0]) and is_product(a, row[1])
        return name != "product" or is_product(a, row[1] * row[2])

    rows = [is_short([float(v) for v in row]) for row in zip(*given, strict=True)]
    return {i // lanes for i in range(0, len(rows), lanes) if all(rows[i : i + lanes])}


def near_quotients(rng, a):
    """Numbers of f32 whose quotients by a are whole numbers or next to such, of all sizes to 2^60, or below one."""
    size = np.exp2(rng.uniform(0, 60, 400))
    with np.errstate(all="ignore"):
        x = np.concatenate([np.trunc(size) * abs(a), np.arange(1, 400) * abs(a)]).astype(np.float32)
    x = np.concatenate([np.nextafter(x, np.float32(0)), x, np.nextafter(x, np.float32(np.inf)), [0.0, 1e-45, 3e-39]]).astype(
        np.float32
    )
    return np.concatenate([x, -x])

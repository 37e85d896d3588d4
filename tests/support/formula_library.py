"""rm_formula of a C library by ctypes, and each formula over the rationals."""

import ctypes

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

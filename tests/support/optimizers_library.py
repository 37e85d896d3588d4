"""rm_sgd_step, rm_adam_step and rm_clip_to_norm of a C library by ctypes, their data, and the bits of the oracle."""

import ctypes

import numpy as np
import optimizers_oracle as reference
import pytest
from exact_oracle import FORMATS
from reductions_library import I64, OK, pointer

NAMES = ["f16", "bf16", "f32", "f64"]  # the order of RM_FORMAT_...
FMT = pytest.mark.parametrize("fmt", NAMES)


class Sgd(ctypes.Structure):
    _fields_ = [(f, ctypes.c_double) for f in ("lr", "momentum", "dampening", "weight_decay")]
    _fields_ += [(f, ctypes.c_int) for f in ("nesterov", "maximize", "first")]


class Adam(ctypes.Structure):
    _fields_ = [(f, ctypes.c_double) for f in ("lr", "beta1", "beta2", "eps", "weight_decay")]
    _fields_ += [("step", ctypes.c_int64), ("decoupled", ctypes.c_int), ("maximize", ctypes.c_int)]


SGD = {"lr": 0.1, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": 0, "maximize": 0, "first": 0}
ADAM = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0, "step": 3, "decoupled": 0, "maximize": 0}
SGD_CASES = [
    {},
    {"weight_decay": 0.01, "lr": 0.5},
    {"momentum": 0.9},
    {"momentum": 0.5, "lr": 0.25, "dampening": 0.75},
    {"momentum": 0.9, "first": 1, "weight_decay": 0.25},
    {"momentum": 0.5, "nesterov": 1, "maximize": 1, "lr": 1.0},
    {"momentum": 0.9, "nesterov": 1, "first": 1, "weight_decay": 1e-4},
    {"momentum": 0.9, "dampening": 1.0, "weight_decay": 0.1},
    {"lr": 0.0, "momentum": 2.0},
    {"lr": 1.0},
    {"lr": 1e-250, "momentum": 0.9},
]
ADAM_CASES = [
    {},
    {"step": 1},
    {"weight_decay": 0.01, "maximize": 1},
    {"weight_decay": 0.01, "decoupled": 1, "step": 1000},
    {"amsgrad": 1, "weight_decay": 0.1},
    {"amsgrad": 1, "decoupled": 1, "weight_decay": 0.5, "lr": 2.0},
    {"beta1": 0.0, "beta2": 0.0, "eps": 0.0, "step": 1},
    {"beta1": 0.5, "beta2": 0.75, "eps": 0.25, "lr": 0.5, "step": 2},
    {"beta1": 0.5, "beta2": 0.5, "eps": 0.0, "lr": 1.0, "step": 1},
    {"lr": 0.0},
    {"step": 100000, "eps": 1e-300},
    {"eps": 1e-150, "beta2": 0.25},
]


def kind(fmt):
    return np.dtype(FORMATS[fmt][0])


def bits(x):
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


def random(rng, fmt, n, name):
    """p, g, m, v, w of n elements."""
    limit = {"f16": 60000.0, "bf16": 3e38, "f32": 3e38, "f64": 1e308}[fmt]
    least = {"f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149, "f64": 5e-324}[fmt]
    x = rng.standard_normal((5, n))
    x[1:3] *= 0.05
    x[3:] = (0.05 * x[3:]) ** 2
    if name == "integers":  # ties, squares, exact zeros
        x = np.rint(rng.standard_normal((5, n)) * 4)
        x[3:] = x[3:] ** 2
    if name == "cancelling":
        x[2], x[1] = x[0], -x[0] * rng.choice([1, 9, 0.5, 1 / 9], n)
    if name == "tiny":
        x = least * np.rint(rng.standard_normal((5, n)) * 3)
    if name == "spread":
        x *= 2.0 ** rng.integers(-12, 12, (5, n)) if fmt == "f16" else 2.0 ** rng.integers(-120, 120, (5, n)).astype(float)
    if name == "huge":
        x = limit * rng.uniform(-1, 1, (5, n))
    if name == "edge":  # about the overflow threshold
        bits_, top = {"f16": (11, 15), "bf16": (8, 127), "f32": (24, 127), "f64": (53, 1023)}[fmt]
        x[0] = (2.0 - 2.0 ** (1 - bits_)) * 2.0**top * rng.choice([-1, 1], n)
        x[1:3] = np.sign(x[0]) * 2.0 ** (top - bits_) * rng.choice([0, 0.25, 0.5, 1, 2, 4, -1], (2, n))
        x[1] = np.where(rng.random(n) < 0.5, -x[1], x[1])
        x[2] = np.where(rng.random(n) < 0.5, x[0] / 2, x[2])
        limit = np.abs(x[0, 0])
    x = np.clip(x, -limit, limit)
    x[3:] = np.abs(x[3:])
    with np.errstate(all="ignore"):
        x = x.astype(kind(fmt))
    if name == "special":
        values = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, limit, least], kind(fmt))
        x = np.where(rng.random((5, n)) < 0.4, values[rng.integers(0, len(values), (5, n))], x)
        x[3:] = np.where(rng.random((2, n)) < 0.8, np.abs(x[3:]), x[3:])
    return np.ascontiguousarray(x)


KINDS = ["gaussian", "integers", "cancelling", "tiny", "spread", "huge", "edge", "special"]


def sgd(lib, fmt, options, x):
    o = Sgd(**(SGD | options))
    b = pointer(x[2]) if o.momentum else None
    return lib.rm_sgd_step(NAMES.index(fmt), I64(len(x[0])), pointer(x[0]), pointer(x[1]), b, ctypes.byref(o))


def adam(lib, fmt, options, x):
    options = ADAM | options
    w = pointer(x[4]) if options.pop("amsgrad", 0) else None
    arrays = [pointer(x[k]) for k in range(4)]
    return lib.rm_adam_step(NAMES.index(fmt), I64(len(x[0])), *arrays, w, ctypes.byref(Adam(**options)))


def expected(function, fmt, options, x):
    """The bits of p, m, v, w afterwards."""
    b = bits(x)
    want = b.copy()
    for i in range(x.shape[1]):
        p, g, m, v, w = (int(e) for e in b[:, i])
        if function is sgd:
            o = SGD | options
            p, m2 = reference.sgd(o, fmt, p, g, m)
            new = (p, g, m2, v, w)
        else:
            o = ADAM | options
            p, m, v, w2 = reference.adam(o, fmt, p, g, m, v, w if o.get("amsgrad") else None)
            new = (p, g, m, v, w if w2 is None else w2)
        want[:, i] = new
    return want


class Squares:
    """An accumulator of squares."""

    def __init__(self, lib, fmt, *arrays):
        self.lib = lib
        lib.rm_accumulator_new.restype = ctypes.c_void_p
        self.at = ctypes.c_void_p(lib.rm_accumulator_new())
        for x in arrays:
            size = ctypes.c_ssize_t(x.itemsize)
            add = getattr(lib, "rm_accumulator_add_products_" + fmt)
            assert add(self.at, I64(len(x)), pointer(x), size, pointer(x), size) == OK

    def __del__(self):
        self.lib.rm_accumulator_free(self.at)

    def root(self):
        out = ctypes.c_double(7)
        assert self.lib.rm_root_of_total(self.at, ctypes.byref(out)) == OK
        return out.value


def clip(lib, fmt, x, squares, limit):
    at = squares.at if squares else None
    return lib.rm_clip_to_norm(NAMES.index(fmt), I64(len(x)), pointer(x), at, ctypes.c_double(limit))

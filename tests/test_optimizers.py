"""rm_sgd_step and rm_adam_step against exact rationals, bit by bit, on every instruction set."""

import ctypes

import elementwise_library
import flushing
import native
import numpy as np
import optimizers_oracle as reference
import pytest
from exact_oracle import CANONICAL_NAN, FORMATS
from reductions_library import ENUM, I64, NULL, OK, OVERLAP, RANGE, SIZE, pointer, status

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
    x = np.clip(x, -limit, limit)
    x[3:] = np.abs(x[3:])
    with np.errstate(all="ignore"):
        x = x.astype(kind(fmt))
    if name == "special":
        values = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, limit, least], kind(fmt))
        x = np.where(rng.random((5, n)) < 0.4, values[rng.integers(0, len(values), (5, n))], x)
        x[3:] = np.where(rng.random((2, n)) < 0.8, np.abs(x[3:]), x[3:])
    return np.ascontiguousarray(x)


KINDS = ["gaussian", "integers", "cancelling", "tiny", "spread", "huge", "special"]


def sgd(lib, fmt, options, x):
    o = Sgd(**(SGD | options))
    b = pointer(x[2]) if o.momentum else None
    return lib.rm_sgd_step(NAMES.index(fmt), I64(x.shape[1]), pointer(x[0]), pointer(x[1]), b, ctypes.byref(o))


def adam(lib, fmt, options, x):
    options = ADAM | options
    w = pointer(x[4]) if options.pop("amsgrad", 0) else None
    arrays = [pointer(x[k]) for k in range(4)]
    return lib.rm_adam_step(NAMES.index(fmt), I64(x.shape[1]), *arrays, w, ctypes.byref(Adam(**options)))


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


def check(lib, function, fmt, options, x):
    want, got = expected(function, fmt, options, x), x.copy()
    assert function(lib, fmt, options, got) == OK
    wrong = np.argwhere(bits(got) != want)
    assert not len(wrong), (options, [(w.tolist(), x[:, w[1]].tolist(), got[:, w[1]].tolist(), hex(want[tuple(w)])) for w in wrong[:3]])


@FMT
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("function", [sgd, adam])
def test_hard_data(isa_library, function, name, fmt):
    rng = np.random.default_rng(60 + KINDS.index(name))
    for options in SGD_CASES if function is sgd else ADAM_CASES:
        check(isa_library, function, fmt, options, random(rng, fmt, 37, name))

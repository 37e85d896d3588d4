"""Operations on zeros, infinities, NaN, the ends of the range and numbers near each other, as those of bound_data.py: a library and a
generator in, the bits of results out. For the conditions of src/ (guard_sites.py)."""

from __future__ import annotations

import ctypes

import numpy as np
import test_formulas
import test_nn_losses
import test_optimizers
from bound_data import gemm
from exact_oracle import bits
from reductions_library import OK, Reductions, pointer
from test_nn_normalization import results
from test_nn_pooling import pool_of, strides
from test_nn_softmax import result
from test_random import Random
from test_scatter import call as scatter
from test_statistics import dtype_of

WIDE = [0.0, 1.0, 1.5, 3.7, 0.3, 2.0**-24, 2.0**24 + 2, np.inf]
NUMBERS = [0.0, 1.0, 0.9, 0.1, -3.0, 1e-3, 2.0**-1040, 2.0**1000, -(2.0**-300), np.inf, np.nan]
SELECTIONS = (1, 1, 2, 2, 2)  # arguments of the formulas that give one of these or 0


def specials(fmt: str) -> np.ndarray:
    kind = dtype_of(fmt)
    least, most = (np.finfo(kind).smallest_subnormal, np.finfo(kind).max) if fmt != "bf16" else (2.0**-133, 2.0**127)
    one = np.array([*WIDE, least, 3 * least, most, most / 4, float(most) ** 0.5, float(np.finfo("f4").tiny)], np.float64)
    with np.errstate(all="ignore"):
        return np.concatenate([one, -one, [np.nan]]).astype(kind)


def tuples(rng, fmt: str, arity: int, count: int = 3000) -> list[np.ndarray]:
    """Special values in any order, some of them replaced by random numbers and by the number before."""
    pool = specials(fmt)
    columns = [rng.choice(pool, count) for _ in range(arity)]
    for k, column in enumerate(columns):
        where = rng.random(count)
        column[where < 0.3] = rng.standard_normal((where < 0.3).sum()).astype(column.dtype)
        if k:
            column[where > 0.9] = columns[k - 1][where > 0.9]
    return columns


def formulas(lib, rng):
    found = []
    for which, arity in enumerate([*(arity for _, arity, _ in test_formulas.FORMULAS), *SELECTIONS]):
        for fmt in ("f32", "f64", "f16"):
            for a in NUMBERS:
                code, out = test_formulas.run(lib, which, fmt, a, tuples(rng, fmt, arity, 400))
                found += [code, *bits(out).tolist()]
    return found


def losses(lib, rng):
    found = []
    for loss, p in [*test_nn_losses.CASES, ("huber", 2.0**-1000), ("smooth_l1", 2.0**1000), ("huber", 1e-310)]:
        for fmt in ("f32", "f64", "f16"):
            x, y, g = tuples(rng, fmt, 3, 1500)
            found += test_nn_losses.forward(lib, loss, p, fmt, "none", x, y)
            found += test_nn_losses.backward(lib, loss, p, fmt, "none", g, x, y)
    return found


def optimizers(lib, rng):
    found = []
    for fmt in ("f32", "f64"):
        for options in (
            {"lr": 0.1},
            {"lr": 1e-3, "eps": 0.0},
            {"lr": 2.0**-400, "beta1": 0.0},
            {"lr": 0.1, "weight_decay": 0.1},
        ):
            x = np.array(tuples(rng, fmt, 5, 300))
            x[3:] = np.abs(x[3:])
            found += [test_optimizers.adam(lib, fmt, {"step": 3, **options}, x), *bits(x).ravel().tolist()]
        for options in ({"lr": 0.1}, {"lr": 0.1, "momentum": 0.9}, {"lr": 2.0**-600, "weight_decay": 0.5}):
            x = np.array(tuples(rng, fmt, 3, 300))
            found += [test_optimizers.sgd(lib, fmt, options, x), *bits(x).ravel().tolist()]
    return found


def products(lib, rng):
    """With factors and biases; results that cancel, and sums at the ends of the range."""
    found, r = [], Reductions(lib)
    for fmt in ("f32", "f64"):
        for m, k, n in ((1, 1, 1), (3, 2, 5), (2, 40, 9)):
            for scale in (1.0, 2.0**-60, 2.0**60, 0.0):
                with np.errstate(all="ignore"):
                    a, b = ((rng.standard_normal(s) * scale).astype(dtype_of(fmt)) for s in ((m, k), (n, k)))
                    for bias in (None, specials(fmt)[rng.integers(0, 29, n)]):
                        found += bits(r.matmul(fmt, a, np.ascontiguousarray(b.T), bias)).ravel().tolist()
                    wild = np.array(tuples(rng, fmt, m, k))
                    found += bits(r.matmul(fmt, wild, np.ascontiguousarray(b.T))).ravel().tolist()
                    for alpha in NUMBERS:
                        for beta in (0.0, -1.0, 2.0**900, np.inf):
                            c = np.array(tuples(rng, fmt, m, n))
                            gemm(lib, fmt, alpha, a, b, beta, c)
                            found += bits(c).ravel().tolist()
    return found


def rows(lib, rng):
    found = []
    for fmt in ("f32", "f64", "f16"):
        x = np.array(tuples(rng, fmt, 400, 9))
        with np.errstate(all="ignore"):
            tame = (rng.standard_normal((300, 9)) * rng.choice([1, 30, 200, 800], (300, 1))).astype(dtype_of(fmt))
        for what in ("softmax", "log_softmax", "logsumexp"):
            found += [*result(lib, what, fmt, x).ravel().tolist(), *result(lib, what, fmt, tame).ravel().tolist()]
        for what in ("softmax_backward", "log_softmax_backward"):
            y = result(lib, what.removesuffix("_backward"), fmt, tame).view(dtype_of(fmt))
            g = np.array(tuples(rng, fmt, 300, 9))
            found += result(lib, what, fmt, g, y).ravel().tolist()
    return np.array(found, np.uint64)


def wild_norms(lib, rng):
    found = []
    for fmt in ("f32", "f64"):
        for scale in (1.0, 2.0**-140, 2.0**100):
            x, g = ((rng.standard_normal((2, 3, 8)) * scale).astype(dtype_of(fmt)) for _ in range(2))
            x[0, 0] = x[0, 0, 0]
            x[1, 1, 3] = np.inf
            w, b = (rng.standard_normal(8).astype(dtype_of(fmt)) for _ in range(2))
            found += [v.ravel() for v in results(lib, "layer", fmt, x, w, b, g, 1e-5)]
    return np.concatenate(found)


def draws(lib, rng):
    found, random = [], Random(lib)
    for fmt in ("f32", "f64"):
        for low, high in ((0.0, 1.0), (-1e-30, 1e30), (-(2.0**-120), 2.0**-120), (-1.0, 1.0), (1.0, 1.5)):
            found += bits(random.uniform(fmt, (1, 2, 3), 400, low, high)).tolist()
        for mean, std in ((0.0, 1.0), (1.0, 0.0), (1e30, 1.0), (0.0, 2.0**-1040), (-1.0, 1.0), (2.0**-1030, 2.0**-1000)):
            found += bits(random.normal(fmt, (1, 2, 3), 400, mean, std)).tolist()
        for ends in ((-1.0, 1.0), (2.0, 9.0), (-0.1, 0.1), (-30.0, 30.0)):
            found += bits(random.truncated(fmt, (1, 2, 3), 300, 0.0, 1.0, *ends)).tolist()
        for p in (0.0, 0.3, 2.0**-60, 0.5, 0.999):
            found += bits(random.dropout(fmt, (1, 2, 3), tuples(rng, fmt, 1, 500)[0], p)).tolist()
    for low, last in ((0, 5), (-3, 2**40), (-(2**62), 2**62), (7, 7)):
        found += np.asarray(random.integers((1, 2, 3), 300, low, last)).astype(np.int64).view(np.uint64).tolist()
    return found


def pools(lib, rng):
    found = []
    for fmt in ("f32", "f64", "f16"):
        x = np.array(tuples(rng, fmt, 12, 40)).reshape(1, 2, 6, 40)
        p, _ = pool_of(x.shape, (5, 38), (2, 3), (1, 1), (1, 1), (0, 0))
        y, index = np.full((1, 2, 5, 38), 7, x.dtype), np.full((1, 2, 5, 38), 7, np.int64)
        arguments = list(test_formulas.NAMES).index(fmt), ctypes.byref(p), pointer(x), strides(x)
        assert lib.rm_max_pool(*arguments, pointer(y), strides(y), pointer(index), strides(index)) == OK
        found += [*bits(y).ravel().tolist(), *index.ravel().tolist()]
    return np.array(found, np.uint64)


def sums(lib, rng):
    found, r = [], Reductions(lib)
    for fmt in ("f32", "f64"):
        for n in (3, 70, 600):
            for scale in (1.0, 2.0**40):
                with np.errstate(all="ignore"):
                    x = (rng.standard_normal((n, 19)) * scale).astype(dtype_of(fmt))
                wild = np.array(tuples(rng, fmt, n, 19))
                found += [int(bits(np.asarray(r.sum(fmt, np.ascontiguousarray(v)))).ravel()[0]) for v in (*x.T, *wild.T)]
                for v in (x, np.round(x), wild):
                    out = np.zeros((2, 19), v.dtype)
                    assert scatter(r, "segment_sum", fmt, out, rng.integers(0, 2, n), v) == OK
                    found += bits(out).ravel().tolist()
    return found


# By folder, and where only one of them bears on a file, by file.
OPERATIONS = {
    "crlibm/simd/simd.h": ["products", "sums"],
    "src/blas": ["products"],
    "src/nn/formulas_step.h": ["formulas"],
    "src/nn/loss_step.h": ["losses"],
    "src/nn/optimizers_step.h": ["optimizers", "formulas"],
    "src/nn": ["rows", "wild_norms", "pools"],
    "src/random": ["draws"],
    "src/reduce": ["sums"],
}

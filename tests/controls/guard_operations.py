"""Operations on zeros, infinities, NaN, the ends of the range and numbers near each other, as those of bound_data.py: a library and a
generator in, the bits of results out. For the conditions of src/ (guard_sites.py)."""

from __future__ import annotations

import ctypes
import functools
import itertools
import types
from fractions import Fraction

import formula_library
import losses_library
import mpmath
import numpy as np
import optimizers_library
import powers
import random_oracle
from bound_data import NAMES, RandomRounding, around, gemm
from convolution_library import Convolution, Geometry
from cross_entropy_library import NONE, problem
from cross_entropy_library import backward as cross_entropy_gradient
from exact_oracle import bits
from factor_data import few_factors  # noqa: F401
from normalization_library import given_results, results
from pooling_library import pool_of, strides
from random_library import SELDOM, Random
from reductions_library import I64, OK, Reductions, pointer
from scatter_library import call as scatter
from softmax_library import call, result
from special_library import gammas as special_gammas
from special_library import recurrence
from statistics_library import dtype_of

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
    for which, arity in enumerate([*(arity for _, arity, _ in formula_library.FORMULAS), *SELECTIONS]):
        for fmt in ("f32", "f64", "f16"):
            for a in NUMBERS:
                code, out = formula_library.run(lib, which, fmt, a, tuples(rng, fmt, arity, 400))
                found += [code, *bits(out).tolist()]
    return found


def quick_formulas(lib, rng):
    """All formulas below binary64, of vectors whose elements are of one kind, and of any."""
    found = []
    for which in range(23):
        for fmt in ("f32", "bf16") if 10 <= which <= 14 else ("f32",):
            for a in (0.0, -0.0, 0.3, -1.5, 1 / 3):
                columns = tuples(rng, fmt, 3, 640)
                for k in range(0, 640, 64):
                    for column in columns:
                        column[k : k + 32] = rng.choice(column[k : k + 3], 32)
                with np.errstate(all="ignore"):
                    columns[0][:320:5] = np.nan_to_num(columns[0][:320:5], nan=1, posinf=2, neginf=-2)
                bits(columns[0])[:64:5] = bits(np.full(1, np.inf, columns[0].dtype))[0] | 3
                code, out = formula_library.run(lib, which, fmt, a, columns)
                found += [code, *bits(out).tolist()]
    return found


def fused_formulas(lib, rng):
    """Formulas of one fused operation in whole blocks, with the exceptions: numbers, a few that are not finite, and differences that are no
    number of binary64."""
    libm, found = ctypes.CDLL(None), []
    for which in (0, 3, 4, 5, 6, 15):
        for fmt in ("f32", "f16"):
            for kind in range(4):
                x = [v.astype({"f32": "f4", "f16": "f2"}[fmt]) for v in rng.standard_normal((3, 64))]
                if kind == 3 and fmt == "f32":  # x + a (y - x) is beside a tie, on its other side than for y - x rounded down
                    x[0][:], x[1][:] = float.fromhex("-0x1.000002p+3"), float.fromhex("0x1.2p+33")
                else:
                    for v in x[: kind + 1]:
                        v[rng.integers(64)] = (np.nan, np.inf, -np.inf, 0.0)[kind]
                libm.feclearexcept(61)
                code, out = formula_library.run(
                    lib, which, fmt, float.fromhex("0x1.c71c71c0ca458p-55") if kind == 3 else 0.3, x
                )
                raised = libm.fetestexcept(13)
                found += [code, *bits(out).tolist(), raised]
    return found


def whole_quotients(lib, rng):
    """Whole numbers beside quotients by a number, of all sizes, and what is not finite in blocks of numbers; with the exceptions."""
    libm, found = ctypes.CDLL(None), []
    for which in (23, 24):
        for a in (
            1.0,
            -1.0,
            0.7,
            float(np.float32(0.7)),
            -3.0,
            49.0,
            2.0**-9 / 3,
            -1e-30,
            1e30,
            2.0**-140,
            1 + 2.0**-52,
            1 - 2.0**-53,
            2.0**-100,
        ):
            x = formula_library.near_quotients(rng, a)
            x = x[: len(x) // 64 * 64]
            for kind in (None, np.nan, np.inf, -np.inf, "signalling"):
                y = x.copy()
                if kind == "signalling":
                    bits(y)[17::97] = 0x7F800001
                elif kind is not None:
                    y[17::97] = kind
                for part in (y, y[:64], np.full(64, np.inf, "f4"), np.full(64, 3e38, "f4"), np.full(64, -3e38, "f4")):
                    libm.feclearexcept(61)
                    code, out = formula_library.run(lib, which, "f32", a, [part])
                    found += [libm.fetestexcept(13), code, *bits(out).tolist()]
    for c in (*range(29, 40), 70):
        for t in rng.integers(2**24, 2**25, 6) | 1:
            x = np.float32(rng.choice([-1.0, 1.0]) * rng.integers(1, 2**24))
            near = float(Fraction(float(x)) / (Fraction(int(t)) * 2**c))
            for a in (near, -near, np.nextafter(near, 1), np.nextafter(near, -1)):
                for which in (23, 24):
                    found += bits(formula_library.run(lib, which, "f32", float(a), [np.full(64, x)])[1]).tolist()
    return found


def loss_runs(lib, rng):
    """Sums of regression losses and gradients of one number in contiguous arrays, with the exceptions."""
    libm, found = ctypes.CDLL(None), []
    for loss, p in losses_library.CASES:
        for fmt in ("f32", "f16"):
            for special in ((), (np.inf,), (np.nan,), (-np.inf, -np.inf), (np.inf, 1.0)):
                x, y = (v.astype({"f32": "f4", "f16": "f2"}[fmt]) for v in 2 * rng.standard_normal((2, 32)))
                x[3], y[3] = special[0] if special else x[3], special[1] if len(special) > 1 else y[3]
                if special == (np.inf, 1.0):  # and a difference of two infinities
                    x[5] = y[5] = np.inf
                g = np.array([rng.choice([1.0, 0.7])], x.dtype)
                for summed in (
                    functools.partial(losses_library.forward, lib),
                    lambda *a, g=g: losses_library.backward(lib, *a[:4], g, *a[4:]),
                ):
                    libm.feclearexcept(61)
                    got = summed(loss, p, fmt, "sum", x, y)
                    found += [*got, libm.fetestexcept(13)]
    x = (4.0 * np.arange(1, 17)).astype("f4")
    for y in (-(2.0**-60), 2.0**-60):  # beside ties among subnormal numbers
        least = np.array([2.0**-149], "f4")
        found += losses_library.backward(lib, "mse", 0.0, "f32", "mean", least, x, np.full(16, y, "f4"))
    return found


def recurrences(lib, rng):
    """Vectors of numbers with a degree each, from -1 on."""
    x = rng.uniform(-1, 1, 64)
    return bits(recurrence(lib, "laguerre_l", x, np.arange(64) % 8 - 1.0, np.float32)[0]).tolist()


def gammas(lib, rng):
    """Numbers of every piece of the line, in vectors of one piece and of several, and beside those whose values are subnormal."""
    pieces = [rng.uniform(a, b, 64) for a, b in ((-60, -0.5), (-0.5, 0.5), (0.5, 1.5), (1.5, 30), (-172, -150))]
    x = np.concatenate([*pieces, rng.permutation(np.concatenate(pieces[:4]))])
    made, undecided = special_gammas(lib, x, np.float64)
    return [*bits(made).tolist(), *undecided.tolist()]


def conversions(lib, rng):
    """Between all formats, with NaN that are not the canonical one; and the exceptions of one signalling NaN behind a number that has become
    infinite."""
    libm, found = ctypes.CDLL(None), []
    for source, signalling in (("f32", 0x7F800001), ("f64", 0x7FF << 52 | 1)):
        for at in (64, 96 + 15, 96 + 16, 96 + 31):
            x, out = np.ones(256, dtype_of(source)), np.zeros(256, np.float16)
            x[0] = 1e30
            bits(x)[at] = signalling
            libm.feclearexcept(61)
            code = lib.rm_convert(NAMES.index(source), NAMES.index("f16"), I64(256), pointer(x), pointer(out))
            found += [code, libm.fetestexcept(1)]
    for source in NAMES:
        (x,) = tuples(rng, source, 1, 400)
        given = bits(x).copy()
        given[::7] |= bits(x[:1] * 0 + np.inf)[0] | 3
        for target in NAMES:
            out = np.zeros(len(x), dtype_of(target))
            code = lib.rm_convert(NAMES.index(source), NAMES.index(target), I64(len(x)), pointer(given), pointer(out))
            found += [code, *bits(out).tolist()]
    return found


def gates(lib, rng):
    """Halves and gradients that are infinite, NaN, tiny, or have factors of 2^128 and more, each in its own call, with the exceptions; and beside
    boundaries of rounding."""
    libm, found = ctypes.CDLL(None), []
    inf, nan, most = np.inf, np.nan, float(np.finfo("f4").max)
    for g in (1.0, -3.0, 0.0, most, inf, nan):
        for a in (1.0, -0.0, most, -inf, nan):
            for b in (0.0, 1.0, -201.0, inf, -inf, nan, 2.0**-24):
                given = [np.full(n, v, np.float32) for n, v in ((9, g), (9, a), (9, b))]
                found += _gate(lib, libm, *given)
    odd = rng.integers(1, 64, 256) * rng.choice([-1.0, 1.0], 256) * 2.0**-149
    some = np.ldexp(rng.choice([-1.0, 1.0], 256), rng.integers(-149, -15, 256))
    one, none, few = np.ones(256), np.zeros(256), rng.integers(-8, 9, 256) * 2.0**-24
    for columns in ((odd, one, some), (one, odd, some), (odd, one, none), (one, -one, few), (odd, odd * 2.0**149, few)):
        found += _gate(lib, libm, *(v.astype(np.float32) for v in columns))
    return found


def _gate(lib, libm, g, a, b):
    x, n = np.concatenate([a, b]), len(a)
    value, slopes = np.zeros(n, np.float32), np.zeros(2 * n, np.float32)
    libm.feclearexcept(61)
    assert lib.rm_glu(2, I64(1), I64(n), pointer(x), pointer(value)) == OK
    raised = libm.fetestexcept(13)
    assert lib.rm_glu_gradient(2, I64(1), I64(n), pointer(g), pointer(x), pointer(slopes)) == OK
    return [raised, libm.fetestexcept(13), *bits(value).tolist(), *bits(slopes).tolist()]


_RATIO = (Fraction(0.1) * Fraction(0.3)).limit_denominator(2**52)
CANCELLING = (
    -float(_RATIO.numerator),
    0.3,
    float(_RATIO.denominator),
)  # x + 0.1 y z nearly cancels, and has more digits than two numbers


def formula_sums(lib, rng):
    """Sums of products that are ties, or beside one by less than the last place of binary64, and what IEEE 754's rules decide, with the
    exceptions."""
    libm, found = ctypes.CDLL(None), []
    unit = 2.0**-23
    for which, a, column in [
        (4, 1 / 3, (1 + unit, 1.5 * unit)),
        (5, 2.0**-60, (1 + unit, 2.0**36)),
        (7, 1 / 3, (1 + unit, 1.5 * unit, 1.0)),
        (15, 0.0, (1 + unit, 2.0**36, 2.0**-60)),
        (0, 0.9, (3.0,)),
        (0, 2.0, (2.0**-1074,)),
        *[(6, 2.0, column) for column in itertools.product((1.0, 0.0, np.inf, np.nan, 1e30), repeat=3)],
        *[(7, 2.0, column) for column in itertools.product((1.0, 0.0, -np.inf, np.nan), repeat=3)],
    ]:
        for kind in ("f4", "f8"):
            if which == 15 and kind == "f8":
                continue
            with np.errstate(all="ignore"):
                x = [np.full(16 if which == 7 else 19, v, "f8").astype(kind) for v in column]
            libm.feclearexcept(61)
            code, out = formula_library.run(lib, which, {"f4": "f32", "f8": "f64"}[kind], a, x)
            found += [code, *bits(out).tolist(), libm.fetestexcept(13)]
    return found


def formula_ends(lib, rng):
    """Formulas of binary64 whose terms cancel, are far apart, are ties or at the ends of the range, beside numbers of other kinds."""
    found = []
    columns = [
        (0.1, 1.0, -1.0), (0.1, 1 + 5 * 2.0**-52, -1 - 5 * 2.0**-52), (0.1, *CANCELLING), (0.5, 3 * 2.0**-1074, 0.0), (0.5, 2.0**-1073, 2.0**-1074),
        (1.0, 2.0**400, -(2.0**400)), (1.0, 2.0**400, 2.0**-1074), (1.0, 2.0**-1074, 2.0**400), (1.0, 2.0**1023, 2.0**1023), (3.0, 0.0, 2.0**-1074),
        (-2.0, -0.0, 2.0**-600), (1.0, np.nan, 2.0**400), (1.0, np.inf, 2.0**400),
    ]  # fmt: skip
    for a, x, y, *z in columns:
        for which in (*range(8), 15):
            rows = [np.full(16, v) for v in (x, y, *(z or [0.3]))]
            for row in rows:
                row[1::4] = 0.0
                row[2::4] = np.inf
                row[3::8] = 2.0**500
            rows[2][:3] = rows[2][0], 2.0**-1000, 2.0**1000
            code, out = formula_library.run(lib, which, "f64", a, rows)
            found += [code, *bits(out).tolist()]
    return found


def losses(lib, rng):
    found = []
    for loss, p in [*losses_library.CASES, ("huber", 2.0**-1000), ("smooth_l1", 2.0**1000), ("huber", 1e-310)]:
        for fmt in ("f32", "f64", "f16"):
            x, y, g = tuples(rng, fmt, 3, 1500)
            found += losses_library.forward(lib, loss, p, fmt, "none", x, y)
            found += losses_library.backward(lib, loss, p, fmt, "none", g, x, y)
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
            found += [optimizers_library.adam(lib, fmt, {"step": 3, **options}, x), *bits(x).ravel().tolist()]
        for options in ({"lr": 0.1}, {"lr": 0.1, "momentum": 0.9}, {"lr": 2.0**-600, "weight_decay": 0.5}):
            x = np.array(tuples(rng, fmt, 3, 300))
            found += [optimizers_library.sgd(lib, fmt, options, x), *bits(x).ravel().tolist()]
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


def products_beside_old(lib, rng):
    """alpha A B + beta C in float64 with factors and old elements of all sizes, and zeros."""
    found = []
    for spread, middle in ((1, 0), (200, 0), (500, 0), (1, -350)):
        for _ in range(40):
            a, b, c = (
                np.ldexp(rng.standard_normal(s), rng.integers(-spread, spread, s) + middle) * (rng.random(s) < 0.9)
                for s in ((3, 4), (9, 4), (3, 9))
            )
            c = np.ldexp(c, rng.integers(-500, 500, c.shape) - middle)
            gemm(lib, "f64", 1.5, a, b, rng.choice([1.0, 0.7]), c)
            found += bits(c).ravel().tolist()
    return found


def products_of_few(lib, rng):
    """Sums that are 0 in binary64: of zeros, and of terms of which the first is lost beside two that cancel."""
    found, r = [], Reductions(lib)
    for fmt in ("f32", "bf16"):
        for columns in (16, 3):
            a, b = (rng.standard_normal(s) * (rng.random(s) < 0.2) for s in ((12, 20), (20, columns)))
            a[::2, :3], b[:3] = [2.0**-100, 1, 1], [[1.0], [0.75], [-0.75]]
            a[::2, 3:] = 0
            a, b = a.astype(dtype_of(fmt)), b.astype(dtype_of(fmt))
            if fmt == "f32":
                found += bits(r.matmul(fmt, a, b)).ravel().tolist()
            c = np.zeros((12, columns), dtype_of(fmt))
            gemm(lib, fmt, 1.0, a, np.ascontiguousarray(b.T), 0.0, c)
            found += bits(c).ravel().tolist()
    return found


def padded_products(lib, rng):
    """Results and exceptions of convolutions over more terms than are summed at a time: infinities and NaN beside padding, first ones of weights alone,
    and an infinity that another one meets late."""
    libm, found = ctypes.CDLL(None), []
    for fmt, channels, special in itertools.product(("f32", "bf16"), (3, 9), range(7)):
        g = Geometry(1, channels, 40, (5, 7), 3, low=1)
        x, w = (rng.integers(1, 4, shape).astype("f4") for shape in (g.x_shape, g.w_shape))
        if special == 0:
            w[:, 0, 0, 0] = np.nan
        if special == 1:
            w[:, 0, 0, 0], w[::2, -1, 2, 2] = np.inf, -np.inf
        if special in (2, 3):
            x[0, 0, 2:, 3], x[0, -1, 3, 2] = np.inf, (np.nan, -np.inf)[special - 2]
        if special == 4:
            x[0, 0, 2, 3], w[::3] = np.inf, 0
        if special == 5:
            x[:], w[:, :, 1:] = np.inf, np.nan
        bias = np.zeros(40)
        if special == 6:
            w[:, 0, 0, 0], w[::2, -1, 2, 2], bias[:] = np.inf, -np.inf, np.inf
        x, w, y, bias = (v.astype(dtype_of(fmt)) for v in (x, w, np.zeros(g.y_shape), bias))
        libm.feclearexcept(61)
        assert Convolution(lib)(g, "forward", fmt, x, w, y, bias) == OK
        found += [*bits(y).ravel().tolist(), libm.fetestexcept(13)]
    return found


def facts_of_columns(lib, rng):
    """Midpoints and what lies beside them, so many that the facts of all columns are gathered: terms that binary64 loses, of columns that have larger
    numbers and zeros; infinities and NaN of both kinds."""
    libm, found = ctypes.CDLL(None), []
    for special, order in itertools.product(range(8), (1, -1)):
        a, b = np.ones((64, 12), "f4"), np.zeros((12, 40), "f4")
        b[:3] = [[1.0], [2.0**-24], [0.0]]
        b[3, ::2], b[4, ::3] = 2.0**-90, 3 * 2.0**-92
        b[5], b[6] = 1.0 + 2.0**-23, -1.0 - 2.0**-23
        if special == 1:
            b[7, ::4], a[::5, 7] = np.inf, 0
        if special == 2:
            b[7, ::4], b[8, ::8] = -np.inf, np.nan
        if special == 3:
            b[7, 3] = np.inf
            bits(b)[8, ::7] = 0x7F800001
        if special == 4:
            b[:] = 0.0
            b[0], b[1] = 1.0, 2.0**-24
        if special == 5:
            b[3:] = 0.0
            b[0], b[1], b[2, ::2], b[9] = 1.0 + 2.0**-23, 2.0**-24, 2.0**-80, 2.0**-120
        if special == 6:
            b[:], b[0], b[1], b[2], b[3] = 0.0, 1.0, 2.0**-24, (1 + 2.0**-23) * 2.0**-40, -(2.0**-40)
        if special == 7:
            b[7], b[8, ::4], a[::3, 7] = np.inf, -np.inf, 0
            a[1::3, 8] = -1
        libm.feclearexcept(61)
        found += bits(Reductions(lib).matmul("f32", a, np.ascontiguousarray(b[::order]))).ravel().tolist()
        found.append(libm.fetestexcept(13))
    return found


def products_rounded_at_random(lib, rng):
    """Rows of zeros among others."""
    m, n, k = 6, 17, 5
    a, b, c = (rng.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n), (m, n)))
    a[2] = 0
    operands = [(ctypes.c_ssize_t * 3)(v.ctypes.data, *v.strides) for v in (a, b)]
    how = RandomRounding(4, 7, 0, 0)  # RM_ROUND_STOCHASTIC
    f, at = lib.rm_random_matmul_batched, [ctypes.addressof(v) for v in operands]
    f.argtypes = [
        ctypes.c_int,
        ctypes.c_int,
        *[ctypes.c_int64] * 4,
        *[ctypes.c_void_p, ctypes.c_ssize_t] * 3,
        *[ctypes.c_void_p] * 2,
    ]
    sizes = NAMES.index("f32"), NAMES.index("f32"), 1, m, n, k
    assert f(*sizes, at[0], 0, at[1], 0, None, 0, c.ctypes.data, ctypes.addressof(how)) == OK
    return bits(c).ravel().tolist()


def sums_in_two_parts(lib, rng):
    """Sums that are two numbers together, parts of which are lost in one lane and not where lanes are joined; sums that are one."""
    x, found = np.zeros((4, 512)), [np.empty(4) for _ in range(3)]
    x[:, 0], x[:, 256] = 1.0, [2.0**-60, 2.0**-30, 0.0, 1.0]
    f = lib.rm_sums_in_parts
    f.argtypes = [ctypes.c_int64, ctypes.c_int64, *[ctypes.c_void_p, ctypes.c_ssize_t] * 2, *[ctypes.c_void_p] * 3]
    assert f(4, 512, x.ctypes.data, 512, None, 0, *(v.ctypes.data for v in found)) == OK
    return bits(np.stack(found)).ravel().tolist()


def product_ties(lib, rng):
    """Whole tiles of binary32 whose elements lie a hair above a tie, which binary64 does not see."""
    a, b = np.zeros((16, 40), "f4"), np.ones((64, 40), "f4")
    a[:, :3] = 2.0**24, 1.0, 2.0**-40
    return bits(Reductions(lib).matmul("f32", a, np.ascontiguousarray(b.T))).ravel().tolist()


def convolved(lib, rng):
    """Of images so narrow that a vector has lines of several of their rows."""
    found = []
    for width in (3, 4, 7, 12):
        g = Geometry(1, 2, 3, (5, width), 3, low=1)
        x, w = (rng.integers(-9, 10, shape).astype("f4") for shape in (g.x_shape, g.w_shape))
        y = np.zeros(g.y_shape, "f4")
        assert Convolution(lib)(g, "forward", "f32", x, w, y) == OK
        found += bits(y).ravel().tolist()
    return found


def cancelling_steps(lib, rng):
    """Of SGD: the parameter is all but the rate times the gradient."""
    x = np.zeros((3, 300), "f4")
    x[0] = rng.uniform(1, 2, 300)
    x[1] = x[0] / 0.1
    return [optimizers_library.sgd(lib, "f32", {"lr": 0.1}, x), *bits(x).ravel().tolist()]


def greatest_nan(lib, rng):
    """AMSGrad whose greatest second moment so far is NaN."""
    x = np.ones((5, 40), "f4")
    x[4, ::3] = np.nan
    return [optimizers_library.adam(lib, "f32", {"lr": 0.1, "amsgrad": 1}, x), *bits(x).ravel().tolist()]


def diverged_steps(lib, rng):
    """Numbers beside NaN, infinities and squares that overflow; 0 / 0."""
    nan, inf = np.nan, np.inf
    columns = [
        [1, 1, nan, 1, 1],
        [1, 1, 1, nan, 1],
        [1, 0, 0, 0, 0],
        [1, 1e30, 1, -inf, 1],
        [1, 1, 1, inf, nan],
        [1, 1, 1, inf, 1],
    ]
    found = []
    for amsgrad in (0, 1):
        x = np.repeat(np.array(columns, "f4").T, 16, axis=1)
        found += [
            optimizers_library.adam(lib, "f32", {"lr": 0.1, "eps": 0.0, "amsgrad": amsgrad}, x),
            *bits(x).ravel().tolist(),
        ]
    return found


def fused_steps(lib, rng):
    """SGD's new numbers beside NaN, infinities and overflow, and the exceptions of each block."""
    libm, found = ctypes.CDLL(None), []
    nan, inf, most = np.nan, np.inf, float(np.finfo("f4").max)
    for options in ({"momentum": 0.9}, {"momentum": 0.9, "first": 1}, {"lr": 0.5}):
        for column in (
            [nan, 1, 1],
            [1, nan, 1],
            [1, 1, nan],
            [inf, 1, 1],
            [1, inf, -inf],
            [nan, most, most],
            [-most, most, 0],
            [1, inf, nan],
        ):
            x = np.tile(rng.standard_normal(32).astype("f4"), (5, 1))
            x[:3, 5] = column
            libm.feclearexcept(61)
            found += [optimizers_library.sgd(lib, "f32", options, x), libm.fetestexcept(13), *bits(x).ravel().tolist()]
    return found


def small_losses(lib, rng):
    """Terms so small, or with so small a second part, that products underflow, where these decide between two numbers."""
    x, y, g = (np.full(40, v) for v in ((3 * 2.0**51 - 1) * 2.0**-542, 0.0, 1.0))
    found = losses_library.forward(lib, "smooth_l1", 2.0**-100, "f64", "none", x, y)
    x, y, g = (np.full(40, v) for v in ((2.0**52 + 1) * 2.0**-300, 2.0**-1000, 3.0))
    return found + losses_library.backward(lib, "smooth_l1", 2.0**100, "f64", "none", g, x, y)


def wild_gradients(lib, rng):
    """Of log_softmax, with numbers for its result that it never has; of softmax, where a result is below all numbers and negative, beside others
    that the plain sum decides: if it left one undecided, the compensated sum would give all of the row again."""
    g, y = np.ones((4, 16), "f4"), np.full((4, 16), -3.0, "f4")
    y[:3, 3], y[3, 3:6] = (np.nan, 200.0, 1e30), (np.nan, 200.0, 1e30)
    found = result(lib, "log_softmax_backward", "f32", g, y).ravel().tolist()
    g, y = np.ones((1, 16), "f4"), np.zeros((1, 16), "f4")
    y[0, :3], g[0, :3] = (2.0**-140, 0.5, 0.5), (1.0, 2.0, 0.0)
    return found + result(lib, "softmax_backward", "f32", g, y).ravel().tolist()


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
    far = np.zeros((600, 8))
    far[:, 1] = rng.uniform(-12000, 0, 600)
    found += [v for what in ("softmax", "log_softmax") for v in result(lib, what, "f64", far).ravel().tolist()]
    found += result(lib, "log_softmax_backward", "f64", np.ones((600, 8)), -far).ravel().tolist()
    return np.array(found, np.uint64)


def columns(lib, rng):
    """Rows that lie side by side, so that each has a lane."""
    x = np.array(tuples(rng, "f32", 400, 9))
    x[::40, 0] = np.nan
    tame = (rng.standard_normal((304, 9)) * rng.choice([1, 30, 80], (304, 1))).astype("f4")
    made = []
    for what, arrays in (
        ("softmax", [x]),
        ("softmax", [tame]),
        ("log_softmax", [x]),
        ("log_softmax", [tame]),
        ("softmax_backward", [x, np.roll(x, 1, axis=0)]),
        ("softmax_backward", [tame, np.abs(tame)]),
    ):
        out = np.asfortranarray(np.zeros(arrays[0].shape, "u4"))
        call(lib, what, "f32", *[np.asfortranarray(a) for a in arrays], out)
        made += out.ravel().tolist()
    return np.array(made, np.uint64)


def signs_of_wide_rows(lib, rng):
    """Of binary64: zeros beside an inexact mean or sum, and exponentials that are too small for vectors times large factors."""
    found = []
    near, big, small = [1.0, 2.0**-60, 2.0**-400, -(2.0**-60), 0.25], [1e90, 2e90, 3e90, 5e90], [0.25, 2.0**-100]
    for norm, row, g, w in (
        ("layer", near, [1e-300, 2e-300, 1e-300, 1e-300, 1e-300], 1e-300),
        ("layer", big, [5e-324, 0.0, 0.0, 0.0], 1.0),
        ("rms", small, [5e-324, 0.0], 1.0),
    ):
        x, h = np.array([[row]]), np.array([[g]])
        factors = np.full(len(row), w), np.zeros(len(row))
        found += [v for part in results(lib, norm, "f64", x, *factors, h, 1e-5) for v in part.ravel().tolist()]
    x, target = np.array([[0.0, -700.0, -1.0]]), np.array([0])
    g = np.array([2.0**300])
    return np.array(found + cross_entropy_gradient(lib, "f64", problem(x, target, reduction=NONE), g)[0].tolist(), np.uint64)


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


def given_norms(lib, rng):
    """By given statistics: elements that are not finite, beside weights of every kind; results that all but cancel, and tiny ones."""
    found = []
    for fmt in ("f32", "bf16"):
        special = [np.nan, -np.nan, np.inf, -np.inf, 1.0]
        rows = np.array(list(itertools.product(special, [0.0, np.inf, np.nan, 2.0], [np.inf, 1.0])))
        x = np.tile(rows[:, 0, None], (1, 1, 160)).astype(dtype_of(fmt))
        x[:, :, ::3] = 1.0
        w, b = (rows[:, k].astype(x.dtype) for k in (1, 2))
        zero, one = np.zeros(len(w), x.dtype), np.ones(len(w), x.dtype)
        found += [v.ravel() for v in given_results(lib, fmt, x, w, b, np.ones_like(x), zero, one, 3.0)]
        x = np.abs(rng.standard_normal((1, 64, 160))).astype(x.dtype) + x.dtype.type(1.0)
        x[:] = x[:, :, :1] * (1 + 2.0**-20 * np.arange(160)).astype(x.dtype)
        zero, v = np.zeros(64, x.dtype), np.abs(rng.standard_normal(64)).astype(x.dtype)
        w = rng.standard_normal(64).astype(x.dtype)
        b = -(x[0, :, 0] * w / np.sqrt(v + x.dtype.type(1e-5))).astype(x.dtype)
        found += [r.ravel() for r in given_results(lib, fmt, x, w, b, x, zero, v, 1e-5)]
        g = (rng.integers(1, 64, x.shape) * 2.0**-131).astype(x.dtype)  # halves of the least numbers
        found += [r.ravel() for r in given_results(lib, fmt, g, w, 0 * b, g, zero, v * 0, 2.0**-2 * (1 + 2.0**-52))]
        found += [r.ravel() for r in given_results(lib, fmt, g, w * 0 + 1, 0 * b, g, zero, v * 0, 4.0**20 * (1 - 2.0**-53))]
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


def seldom_integers(lib, rng):
    """Of draws beside a multiple of 2^64/count."""
    return [int(v) for place, count in SELDOM for v in Random(lib).integers(place, 16, 0, count - 1)]


def dropped_nan(lib, rng):
    """NaN with payloads and signs, times two."""
    x = np.arange(0x7FF8000000000001, 0x7FF8000000000029, dtype=np.uint64)
    x[::2] |= np.uint64(1 << 63)
    return bits(Random(lib).dropout("f64", (1, 2, 3), x.view(np.float64), 0.5)).tolist()


def cancelling_draws(lib, rng):
    """Where mean and deviation, or the ends of the range, all but cancel: the sign of a zero is that of what is left."""
    found, random = [], Random(lib)
    place = (1, 2, 3)
    z = random.normal("f64", place, 40)
    t = random.truncated("f64", place, 40, 0.0, 1.0, -1.0, 1.0)
    u = random.uniform("f16", place, 40).astype(np.float64)
    for i in range(40):
        found += bits(random.normal("f16", place, 40, -z[i], 1.0)).tolist()
        found += bits(random.truncated("f16", place, 40, -t[i], 1.0, -t[i] - 1.0, 1.0 - t[i])).tolist()
        found += bits(random.uniform("f16", place, 40, -u[i] / (1 - u[i]), 1.0)).tolist()
    return found


def far_draws(lib, rng):
    """Truncated normal numbers in one tail."""
    found, random = [], Random(lib)
    for low, high in ((-6.5, -5.0), (5.0, 6.5), (20.0, 25.0), (-25.0, -20.0)):
        found += bits(random.truncated("f32", (1, 2, 3), 100, 0.0, 1.0, low, high)).tolist()
    return found


def centred_draws(lib, rng):
    """Truncated normal numbers within 2^-50 of the mean, on both sides of it: the upper end is solved for."""
    found, random, half = [], Random(lib), mpmath.mpf(0.5)
    with mpmath.workprec(120):
        for i, d in enumerate(random_oracle.draws(1, 2, 3, 40)):
            u = (int(d) + half) / 2**64
            share = (half - (1 - u) * mpmath.ncdf(-1)) / u
            if half < share < 1:
                high = float(mpmath.sqrt(2) * mpmath.erfinv(2 * share - 1))
                for end in around(Fraction(high)):
                    found += bits(random.truncated("f64", (1, 2, 3 + i), 1, 1.0, 1.0, 0.0, 1.0 + end)).tolist()
                    found += bits(random.truncated("f64", (1, 2, 3 + i), 1, 0.0, 1.0, -1.0, end)).tolist()
    return found


def pools(lib, rng):
    found = []
    for fmt in ("f32", "f64", "f16"):
        x = np.array(tuples(rng, fmt, 12, 40)).reshape(1, 2, 6, 40)
        p, _ = pool_of(x.shape, (5, 38), (2, 3), (1, 1), (1, 1), (0, 0))
        y, index = np.full((1, 2, 5, 38), 7, x.dtype), np.full((1, 2, 5, 38), 7, np.int64)
        arguments = list(formula_library.NAMES).index(fmt), ctypes.byref(p), pointer(x), strides(x)
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


def lost_terms(lib, rng):
    """A sum of binary16 numbers on the way to which a term is too small for binary64."""
    x = np.repeat([65504.0, 2.0**-24, -65504.0], [8200, 1, 8200]).astype(np.float16)[:, None]
    out = np.zeros((1, 2), np.float16)
    assert scatter(Reductions(lib), "segment_sum", "f16", out, np.zeros(len(x), np.int64), np.repeat(x, 2, 1)) == OK
    return bits(out).ravel().tolist()


def means_over_axes(lib, rng):
    """Over an axis whose terms are copied side by side, of two rows of each: a mean below all numbers and negative; ties of binary32 that
    2^-1075 decides, and that a term decides which is lost on the way, of which the bound is all that is left; the sum of lost_terms."""
    tie, tiny = 1 + 2.0**-24, 2.0**-1074
    lost = np.repeat([65504.0, 2.0**-24, -65504.0], [8200, 1, 8200])
    found = []
    for what, fmt, fmt_out, terms in (
        ("mean", "f64", "f64", [-tiny, 0.0]),
        ("mean", "f64", "f32", [2 * tie, tiny]),
        ("mean", "f64", "f32", [4 * tie, 2.0**-60, tiny, -(2.0**-60)]),
        ("sum", "f16", "f16", lost),
    ):
        x, out = np.tile(np.array(terms, dtype_of(fmt))[:, None, None], (1, 2, 2)), np.full(2, 7, dtype_of(fmt_out))
        size, stride = (I64 * 4)(1, 2, 1, len(x)), (I64 * 4)(0, x.strides[1], 0, x.strides[0])
        codes = [NAMES.index(f) for f in (fmt, fmt_out)]
        assert getattr(lib, f"rm_{what}_axes")(codes[0], size, stride, pointer(x), codes[1], pointer(out)) == OK
        found += bits(out).ravel().tolist()
    return found


def flags_of_arrays(lib, rng):
    """The exceptions that arrays raise whose results are NaN or infinite: one that is due and one that is not in each place of a vector, and
    signalling NaN."""
    libm, inf, nan = ctypes.CDLL(None), np.inf, np.nan
    most, found = float(np.finfo("f4").max), []
    for f, columns in {
        "add": [(most, most), (inf, -inf), (inf, 1), (nan, 1), (1, nan), (nan, -inf)],
        "multiply": [(most, most), (inf, 0), (inf, 1), (nan, 0), (nan, nan)],
        "divide": [(1, 0), (0, 0), (inf, 0), (nan, 0), (most, 0.1), (inf, inf), (inf, 1), (1, 2)],
        "sqrt": [(-1,), (nan,), (inf,), (2,)],
        "fma": [(most, most, 0), (most, most, 1), (inf, 0, 1), (1, inf, -inf), (nan, 0, 1), (inf, 1, 0)],
        "log": [(0,), (-1,), (nan,), (inf,), (2,)],
        "exp": [(1e4,), (nan,), (inf,), (2,)],
        "pow": [(0, -1), (-2, 0.5), (10, 1e4), (nan, 1), (nan, 0)],
    }.items():
        for fmt, kind in (("f32", "f4"), ("f16", "f2")):
            for column in columns:
                with np.errstate(all="ignore"):
                    x = [np.full(70, v, np.float64).astype(kind) for v in column]
                for _ in range(2):
                    y = np.zeros(70, kind)
                    arguments = [v for a in (*x, y) for v in (pointer(a), ctypes.c_ssize_t(a.itemsize))]
                    libm.feclearexcept(61)
                    assert getattr(lib, f"rm_v{f}_{fmt}")(I64(70), *arguments) == OK
                    found.append(libm.fetestexcept(13))  # invalid, division by zero, overflow
                    bits(x[0])[33] = {"f4": 0x7F800001, "f2": 0x7C01}[kind]
    return found


# By folder, and where only one of them bears on a file, by file.
OPERATIONS = {
    "crlibm/simd/machine.h": ["flags_of_arrays"],
    "crlibm/simd/simd.h": ["products", "sums", "product_ties"],
    "src/blas": ["products"],
    "src/blas/conv/conv_window.h": ["convolved"],
    "src/blas/gemm/padding_b64.h": ["padded_products"],
    "src/blas/gemm/vectors_b64.h": ["facts_of_columns", "padded_products"],
    "src/elementwise/special.h": ["flags_of_arrays"],
    "src/nn/formula/convert.h": ["conversions"],
    "src/nn/formula/gate.h": ["gates"],
    "src/nn/formula/known.h": ["formula_sums"],
    "src/nn/formula/fused.h": ["fused_formulas"],
    "src/nn/formula/quick.h": ["quick_formulas"],
    "src/nn/formula/quotients.h": ["whole_quotients"],
    "src/nn/formula/scaled.h": ["formula_ends"],
    "src/nn/formula/step.h": ["formulas"],
    "src/nn/loss/pairs.h": ["loss_runs"],
    "src/nn/loss/step.h": ["losses", "small_losses"],
    "src/nn/optim/fused.h": ["fused_steps"],
    "src/nn/optim/loop.h": ["diverged_steps"],
    "src/nn/optim/step.h": ["optimizers", "formulas", "cancelling_steps", "greatest_nan"],
    "src/nn/softmax/columns.h": ["columns"],
    "src/nn": ["rows", "wild_norms", "pools", "wild_gradients"],
    "src/nn/rows/step.h": ["rows", "wild_norms", "given_norms", "wild_gradients"],
    "src/random": ["draws", "seldom_integers", "dropped_nan", "cancelling_draws", "far_draws", "centred_draws"],
    "src/common/round_scaled.h": ["few_factors", "many_factors"],
    "src/reduce": ["sums"],
    "src/reduce/products_kernels.c": ["few_factors", "many_factors"],
    "src/reduce/axes_kernels.c": ["means_over_axes"],
    "src/reduce/segment.h": ["sums", "lost_terms"],
}


def integer_powers(lib, rng):
    found = []
    for kind, fmt in itertools.product(powers.KINDS, NAMES):
        for x, n in (powers.specials(fmt), powers.samples(kind, fmt, 400, int(rng.integers(100)))):
            found += powers.call(types.SimpleNamespace(library=lib), kind, powers.oracle.to_bits(x, fmt), n, fmt).tolist()
    return found

"""Matrix products, convolutions and their gradients, sums and products rounded at random, with adversarial data (cases.py): each record says where the
element of the result that it is about is stored."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import boundary_data
import exponent_ranges as spread
import numpy as np
from convolution_library import Convolution, Geometry, sums
from reductions_library import I64, NO_TRANS, OK, ROW_MAJOR, TRANS, pointer

from proofs.exact.cases import NAMES, Case, exactly, kind_of, lossy, places_of

PLACES = {"f16": 24, "bf16": 133, "f32": 149, "f64": 1074}  # all numbers are multiples of 2^-this
NARROW = ("f16", "bf16", "f32")
F64 = ctypes.c_double


def whole(x, fmt):
    """The numbers as integers, multiples of 2^-PLACES."""
    digits, powers = np.frexp(np.ravel(x).astype("f8"))
    moves = powers + (PLACES[fmt] - 53)
    pairs = zip(np.ldexp(digits, 53).astype("i8").tolist(), moves.tolist(), strict=True)
    return np.array([m << e if e >= 0 else m >> -e for m, e in pairs], object).reshape(np.shape(x))


MAX_RECORDS = 100  # records of one call of a test that are compared


def by_address(out, values):
    """Each record is about the element at its address; of many some are compared, from all over them."""
    at = dict(zip(places_of(out), values, strict=True))

    def place(records, lanes, none):
        pairs = []
        for site in np.unique(records["site"]):
            some = records[records["site"] == site]
            some = some[np.isin(some["at"], list(at))]
            pairs += [(r, at[int(r["at"])]) for r in some[:: -(-len(some) // MAX_RECORDS) or 1]]
        return pairs

    return place


# --------------------------------------------------------------------------------------------------------------- the data


def boundary(rng, fmt, k):
    """Two lines whose products add up beside a tie, while every addition errs as far as it can."""
    side = int(rng.choice([-1, 1]))
    if fmt == "f64":
        return boundary_data.binary64(k, str(rng.choice(["blocks", "starts"])), side)[0]
    chain, lanes = [(256, 1), (128, 1), (256, 1), (128, 1), (256, 4), (128, 8), (256, 2)][int(rng.integers(0, 7))]
    places = boundary_data.chain_places(k, chain, lanes)[: k - 40]
    return boundary_data.products(fmt, k, tuple(places), side)[0]


def factors(rng, fmt, m, n, k, tied=False):
    """m lines and n lines of k numbers, whose products are added up; n may be a shape."""
    kind, dtype = int(rng.integers(0, 5)), kind_of(fmt)
    if k >= 200 and (tied or rng.random() < 0.7):
        b = boundary(rng, fmt, k)
        x, y = np.tile(b.x, (m, 1)), np.tile(b.y, (n, 1))
        if fmt != "f16":
            x = (x * 2.0 ** rng.integers(-9, 9, (m, 1))).astype(dtype)
        return x, y
    if kind < 2:
        return spread.numbers(rng, fmt, (m, k)), spread.numbers(rng, fmt, (n, k))
    x = np.stack([lossy(rng, fmt, k) for _ in range(m)])
    if kind == 2:
        return x, rng.choice([1.0, -1.0, 0.5], (n, k)).astype(dtype)
    if kind == 3:  # what cancels but for the last term
        y = np.stack([lossy(rng, fmt, k) for _ in range(n)])
        half = (k - 1) // 2
        x[:, half : 2 * half], y[:, half : 2 * half] = -x[:, :half], y[:, :half]
        return x, y
    return x, np.stack([lossy(rng, fmt, k) for _ in range(n)])


def laid(rng, a, b):
    """A and B, given by lines, as matrices of one of the orders that engines tell apart."""
    order = int(rng.integers(0, 4))
    if order == 0:
        return a, b.T
    if order == 1:
        return a, np.ascontiguousarray(b.T)
    if order == 2:
        return a, np.repeat(b.T, 2, axis=1)[:, ::2]
    return np.asfortranarray(a), b.T


SHAPES = [(1, 1), (1, 5), (1, 25), (4, 1), (2, 3), (3, 9), (5, 24), (9, 26), (17, 24)]
TERMS = [1, 2, 3, 16, 17, 40, 128, 129, 256, 257, 300, 700]


def product(kind):
    def case(rng, fmt):
        m, n = SHAPES[int(rng.integers(0, len(SHAPES)))]
        k = int(rng.choice(TERMS if rng.random() < 0.5 else TERMS[-3:]))
        if kind == "tiles":  # whole ones, whose additions err as far as they can
            m, n = SHAPES[int(rng.integers(len(SHAPES) - 3, len(SHAPES)))]
            k = int(rng.choice([256, 300]))
        elif kind == "flood":  # so many undecided elements that all are computed in double-double (src/blas/gemm/gemm_b64.h)
            m, n, k = 64, 64, int(rng.choice([1, 3, 9]))
        elif m * n * k > 130_000:
            k = int(rng.choice([3, 40, 256]))
        batch = int(rng.choice([1, 2])) if kind != "flood" else 1
        x, y = factors(rng, fmt, batch * m, n, k, kind == "tiles")
        b = laid(rng, x[:m], y)[1]
        a = np.stack([laid(rng, x[i * m : (i + 1) * m], y)[0] for i in range(batch)])
        exact = whole(x, fmt) @ whole(y, fmt).T
        values = [Fraction(int(v), 4 ** PLACES[fmt]) for v in exact.ravel()]
        out = {"narrow": str(rng.choice([fmt, "f32"])), "tiles": "f32"}.get(kind, fmt)
        bias = lossy(rng, fmt, n) if rng.random() < 0.4 else None
        if bias is not None:
            values = [v + w for v, w in zip(values, exactly(bias) * (batch * m), strict=True)]
        c = np.full((batch, m, n), 7, kind_of(out))
        if rng.random() < 0.3:  # columns that are no neighbours
            c = np.full((batch, m, 2 * n), 7, kind_of(out))[:, :, ::2]

        def run(lib):
            sizes = map(I64, (batch, m, n, k))
            left, right, to = ((pointer(v), *map(I64, v.strides)) for v in (a, b[None], c))
            right = (right[0], I64(0), *right[2:])
            extra = pointer(bias), I64(0), I64(0 if bias is None else bias.strides[0])
            assert lib.rm_matmul_batched(NAMES.index(fmt), NAMES.index(out), *sizes, *left, *right, *extra, *to) == OK

        return Case(run, values, by_address(c, values), (a, b, bias, c))

    return case


def scaled(rng, fmt):
    """RN(alpha S + beta C)."""
    m, n = SHAPES[int(rng.integers(0, len(SHAPES)))]
    k = int(rng.choice([1, 3, 17, 130, 300, 300])) if m * n < 50 else 7
    x, y = factors(rng, fmt, m, n, k)
    alpha, beta = float(rng.choice([1.0, -0.5, 0.1, 3.0])), float(rng.choice([0.0, 1.0, -2.0, 1 / 3]))
    old = np.stack([lossy(rng, fmt, n) for _ in range(m)])
    exact = whole(x, fmt) @ whole(y, fmt).T
    values = [Fraction(alpha) * Fraction(int(v), 4 ** PLACES[fmt]) for v in exact.ravel()]
    values = [v + Fraction(beta) * w for v, w in zip(values, exactly(old), strict=True)]
    if rng.random() < 0.3 and beta:  # what the sum is, with the other sign, as far as the format has it
        largest = Fraction(float(np.finfo(np.float32).max if fmt == "bf16" else np.finfo(old.dtype).max)) / 2
        old = (
            np.array([float(max(-largest, min(largest, -v / Fraction(beta)))) for v in values])
            .astype(old.dtype)
            .reshape(old.shape)
        )
        values = [Fraction(alpha) * Fraction(int(v), 4 ** PLACES[fmt]) for v in exact.ravel()]
        values = [v + Fraction(beta) * w for v, w in zip(values, exactly(old), strict=True)]
    c = old.copy()

    def run(lib):
        c[:] = old
        sizes = I64(m), I64(n), I64(k)
        matrices = pointer(x), I64(k), pointer(y), I64(k), F64(beta), pointer(c), I64(n)
        assert lib.rm_gemm(NAMES.index(fmt), ROW_MAJOR, NO_TRANS, TRANS, *sizes, F64(alpha), *matrices) == OK

    return Case(run, values, by_address(c, values), (x, y))


GEOMETRIES = [
    Geometry(1, 2, 3, (9,), 3, low=1),
    Geometry(2, 3, 2, (5, 6), (3, 2), stride=(2, 1), low=(1, 0)),
    Geometry(1, 4, 4, (8,), 2, dilation=2, groups=2),
    Geometry(1, 1, 2, (3, 4, 3), 2, low=1),
    Geometry(1, 1, 26, (12,), 3),
    Geometry(2, 1, 1, (40,), 40, low=3),
    Geometry(1, 9, 3, (4, 4), 1),
    Geometry(1, 60, 2, (10,), 5, stride=5),
    Geometry(1, 75, 2, (8,), 4, stride=4),
    Geometry(1, 1, 20, (6, 20), (3, 3), low=1),
]


DEPTHWISE = [
    Geometry(1, 2, 2, (5, 19), 3, low=1, groups=2),
    Geometry(2, 3, 3, (4, 9), (3, 2), stride=(1, 2), dilation=(2, 1), low=(2, 0), groups=3),
    Geometry(1, 1, 1, (80,), 30, low=4),
    Geometry(1, 2, 2, (40,), 3, stride=2, low=2, groups=2),
    Geometry(1, 2, 2, (4, 3, 6), 2, low=1, groups=2),
    Geometry(2, 9, 9, (5, 7), 3, low=1, groups=9),
    Geometry(1, 5, 5, (40,), 30, stride=3, low=4, groups=5),
]

WEIGHTS = [  # of these gradients: more positions than taps of any other depthwise sum
    Geometry(1, 5, 5, (300,), 1, groups=5),
    Geometry(2, 9, 9, (9, 19), (3, 2), stride=(1, 2), low=1, groups=9),
    Geometry(1, 4, 4, (3, 600), 3, low=1, groups=4),
    Geometry(2, 4, 4, (4, 5, 6), 2, low=1, groups=4),
]


def convolution(what, geometries=GEOMETRIES):
    def case(rng, fmt):
        g = geometries[int(rng.integers(0, len(geometries)))]
        x, w, y = (
            np.stack([lossy(rng, fmt, s[-1]) for _ in range(int(np.prod(s[:-1])))]).reshape(s)
            for s in (g.x_shape, g.w_shape, g.y_shape)
        )
        if rng.random() < 0.3:
            x, w, y = (spread.numbers(rng, fmt, s) for s in (g.x_shape, g.w_shape, g.y_shape))
        k = int(np.prod(g.w_shape[1:]))
        if g.stride == g.kernel and k >= 200 and rng.random() < 0.7:  # windows that do not overlap: each sum beside a tie
            b = boundary(rng, fmt, k)
            x = np.tile(b.x.reshape(1, -1, 1, g.kernel[0]), (1, 1, g.out[0], 1)).reshape(g.x_shape)
            w = np.tile(b.y.reshape(g.w_shape[1:]), (g.channels_out, *[1] * (len(g.w_shape) - 1)))
        if geometries is WEIGHTS and g.kernel == (1,) and rng.random() < 0.7:
            b = boundary(rng, fmt, g.size[0])
            x, y = (np.tile(v, (g.groups, 1)).reshape(x.shape) for v in (b.x, b.y))
        bias = None
        if what != "grad_weight" and rng.random() < 0.4:
            bias = lossy(rng, fmt, g.channels_out if what == "forward" else g.channels_in)
        if geometries is DEPTHWISE and rng.random() < 0.3:  # each term is just lost beside the bias
            x, w, y = (np.full_like(v, 2.0**-24) for v in (x, w, y))
            bias = np.full(g.channels_in, 32, kind_of(fmt))
        shape, terms = sums(g, what, *(whole(v, fmt) for v in (x, w, y)))
        scale = 4 ** PLACES[fmt]
        values = [Fraction(sum(a * b for a, b in pairs), scale) for pairs in terms.values()]
        if bias is not None:
            added = exactly(bias)
            values = [v + added[index[1]] for v, index in zip(values, terms, strict=True)]
        if rng.random() < 0.3:  # channels last
            x, y = (np.moveaxis(np.ascontiguousarray(np.moveaxis(v, 1, -1)), -1, 1) for v in (x, y))
        out = np.full(shape, 7, kind_of(fmt))
        first, second = {"forward": (x, w), "grad_input": (y, w), "grad_weight": (x, y)}[what]

        def run(lib):
            assert Convolution(lib)(g, what, fmt, first, second, out, bias) == OK

        return Case(run, values, by_address(out, values), (x, w, y, bias))

    return case


class Rounding(ctypes.Structure):
    """rm_random_rounding."""

    _fields_ = (("mode", ctypes.c_int32), ("seed", ctypes.c_uint64), ("stream", ctypes.c_uint64), ("first", I64))


class Operand(ctypes.Structure):
    """rm_random_operand, of a matrix."""

    _fields_ = (("base", ctypes.c_void_p), ("row", ctypes.c_ssize_t), ("column", ctypes.c_ssize_t))


def at_random(what):
    """Sums and products under a random mode (src/rounding/sums.c)."""

    def case(rng, fmt):
        n, k = int(rng.choice([1, 3, 8, 9, 17])), int(rng.choice([1, 2, 7, 40, 300]))
        m = int(rng.choice([1, 2, 17])) if what == "products" and n * k < 3000 else 1
        x, y = factors(rng, fmt, m, n, k)
        out = str(rng.choice(NAMES))
        rounding = Rounding(int(rng.integers(4, 7)), int(rng.integers(1 << 40)), 1, int(rng.integers(9)))
        c = np.full((m, n), 7, kind_of(out))
        if what == "sums":
            values = [sum(exactly(row), Fraction(0)) for row in y]
            sizes = I64(n), I64(k)

            def run(lib):
                to = pointer(y), *map(I64, y.strides), pointer(c), ctypes.byref(rounding)
                assert lib.rm_random_sums(NAMES.index(fmt), NAMES.index(out), *sizes, *to) == OK

            return Case(run, values, by_address(c, values), (y, c))
        exact = whole(x, fmt) @ whole(y, fmt).T
        values = [Fraction(int(v), 4 ** PLACES[fmt]) for v in exact.ravel()]
        bias = lossy(rng, fmt, n) if rng.random() < 0.4 else None
        if bias is not None:
            values = [v + w for v, w in zip(values, exactly(bias) * m, strict=True)]
        a, b = laid(rng, x, y)

        def run(lib):
            operands = [Operand(v.ctypes.data, *v.strides) for v in (a, b)]
            extra = None if bias is None else ctypes.byref(Operand(bias.ctypes.data, 0, bias.strides[0]))
            rest = *map(ctypes.byref, operands), extra, pointer(c), ctypes.byref(rounding)
            assert lib.rm_random_matmul(NAMES.index(fmt), NAMES.index(out), I64(m), I64(n), I64(k), *rest) == OK

        return Case(run, values, by_address(c, values), (a, b, bias, c))

    return case


OPERATORS: dict[str, Callable[..., Case]] = {
    "products_narrow": product("narrow"),
    "products_tiles": product("tiles"),
    "products_flood": product("flood"),
    "products_wide": product("wide"),
    "products_scaled": scaled,
    **{f"convolution_{w}": convolution(w) for w in ("forward", "grad_input", "grad_weight")},
    **{f"depthwise_{w}": convolution(w, DEPTHWISE) for w in ("forward", "grad_input")},
    "depthwise_grad_weight": convolution("grad_weight", WEIGHTS),
    **{f"{w}_at_random": at_random(w) for w in ("sums", "products")},
}
FORMATS: dict[str, Any] = {
    "products_narrow": NARROW,
    "products_tiles": NARROW,
    "products_flood": ("f32",),
    "products_wide": ("f64",),
    "depthwise_forward": NARROW,
    "depthwise_grad_input": NARROW,
    "depthwise_grad_weight": NARROW,
}

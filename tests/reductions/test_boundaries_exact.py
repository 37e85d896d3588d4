"""Sums, products and statistics exactly at a boundary of rounding, or beside one by the least that terms of the format can make, with terms
that cancel around it: ties to even and odd numbers, at powers of two, among subnormals, at the least and the largest number. Every path, in
every format, on every instruction set, through C, Python and PyTorch. The oracle is rational arithmetic."""

import ctypes
import functools
import itertools
import math
import random
from fractions import Fraction

import elementwise_library
import native
import numpy as np
import pytest
import statistics_library as statistics
from boundary_data import split_squares
from boundary_products import layouts, product
from convolution_library import FORMATS, Convolution, Geometry, dtype_of
from exact_boundary_cases import cases
from exact_oracle import FORMATS as LIMITS
from exact_oracle import bits, matmul_bits
from reduction_data import PAIRS
from reductions_library import I64, NO_TRANS, OK, ROW_MAJOR, TRANS, Reductions, pointer

F64 = ctypes.c_double
FMT = pytest.mark.parametrize("fmt", FORMATS)


def check(got, want, *what):
    assert np.all(bits(got) == want), (*what, hex(int(bits(got).flat[0])), hex(want))


@functools.cache
def random_products(fmt):
    """Matrices of all kinds of data, and the bits of their products."""
    rng, found = np.random.default_rng(8), []
    kinds = {"f32": np.float32}.get(fmt, np.float64)
    for kind, (m, n, k) in itertools.product(
        ("gaussian", "integers", "cancelling", "relu"), ((1, 7, 300), (5, 1, 40), (9, 26, 130))
    ):
        makes = PAIRS[kind]
        a, b = (make(rng, kinds, *shape).astype(dtype_of(fmt)) for make, shape in zip(makes, ((m, k), (k, n)), strict=True))
        found.append((a, b, matmul_bits(a, b, fmt)))
    return found


@FMT
def test_random_products(lib, fmt):
    """No boundaries: ordinary data, by the same calls."""
    for a, b, want in random_products(fmt):
        for right in (b, np.asfortranarray(b)):
            assert np.array_equal(bits(product(lib, fmt, a[None], right[None])[0]), want), (fmt, a.shape)


@FMT
@pytest.mark.parametrize("k", [30, 300, 5000])
def test_products(lib, fmt, k):
    for x, y, want in cases(fmt, k):
        for m, n in ((1, 1), (1, 5), (3, 1), (2, 3)) if k > 300 else ((1, 3), (3, 1), (2, 25)):
            for layout, left, right in layouts(x, y, m, n):
                check(product(lib, fmt, left[None], right[None]), want, layout, m, n, k)
        stack = np.tile(x, (2, 2, 1)), np.tile(y, (2, 3, 1)).swapaxes(1, 2)
        check(product(lib, fmt, *stack), want, "stacks", k)
        if fmt in ("f32", "f64"):
            check(lib.dot(fmt, x, y), want, "dot", k)
            check(lib.dot(fmt, np.repeat(x, 3)[::3], y), want, "dot of strides", k)


def scaled(lib, fmt, x, y, m, old, alpha, beta):
    """RN(alpha S + beta C) for m rows x, three columns y and a C of `old`."""
    a, b, c = np.tile(x, (m, 1)), np.tile(y, (3, 1)), np.full((m, 3), old).astype(x.dtype)
    sizes = I64(m), I64(3), I64(len(x))
    matrices = F64(alpha), pointer(a), I64(len(x)), pointer(b), I64(len(x)), F64(beta), pointer(c), I64(3)
    assert lib.c.rm_gemm(FORMATS.index(fmt), ROW_MAJOR, NO_TRANS, TRANS, *sizes, *matrices) == OK
    return c


@FMT
def test_scaled(lib, fmt):
    """Factors that are powers of two; one of the terms in C."""
    moved = 0
    for x, y, want in cases(fmt, 300):
        with np.errstate(all="ignore"):
            terms = (x.astype("f8") * y.astype("f8")).astype(x.dtype)
        whole = [
            p
            for p in np.flatnonzero(x)
            if Fraction(float(x[p])) * Fraction(float(y[p]))
            == Fraction(float(np.nan_to_num(terms[p].astype("f8"), posinf=0, neginf=0)))
        ]
        for m in (1, 2):
            check(scaled(lib, fmt, x, y, m, np.nan, 1.0, 0.0), want, "1", m)
            check(scaled(lib, fmt, x, y, m, np.nan, -1.0, 0.0), want ^ 1 << (8 * x.itemsize - 1), "-1", m)
            for p in whole[:2]:
                left = x.copy()
                left[p] = 0
                check(scaled(lib, fmt, left, y, m, terms[p], 1.0, 1.0), want, "a term in C", m)
                moved += 1
    assert moved
    for scale in (2, Fraction(1, 2)):
        for x, y, want in cases(fmt, 300, scale=scale):
            for m in (1, 2):
                check(scaled(lib, fmt, x, y, m, 0.0, float(1 / scale), 1.0), want, scale, m)


@FMT
def test_convolutions(lib, fmt):
    """Windows that do not overlap, and the gradients (test_boundaries.py)."""
    conv, k, positions = Convolution(lib.c), 60, 6
    for x, y, want in cases(fmt, k):
        for taps in (4, 5):
            g = Geometry(1, k // taps, 3, (positions * taps,), taps, stride=taps)
            image = np.tile(x.reshape(1, -1, 1, taps), (1, 1, positions, 1)).reshape(g.x_shape)
            out = np.full(g.y_shape, 7, x.dtype)
            assert conv(g, "forward", fmt, image, np.tile(y.reshape(1, -1, taps), (3, 1, 1)), out) == OK
            check(out, want, "forward", taps)
        g = Geometry(1, 2, k, (4,), 2, stride=2)
        out = np.full(g.x_shape, 7, x.dtype)
        gradient, w = np.tile(x.reshape(1, -1, 1), (1, 1, 2)), np.tile(y.reshape(-1, 1, 1), (1, 2, 2))
        assert conv(g, "grad_input", fmt, gradient, w, out) == OK
        check(out, want, "grad_input")
        g = Geometry(4, 2, 3, (k // 2,), 2, stride=2)
        image = np.tile(x.reshape(4, 1, k // 4, 1), (1, 2, 1, 2)).reshape(g.x_shape)
        out = np.full(g.w_shape, 7, x.dtype)
        assert conv(g, "grad_weight", fmt, image, np.tile(y.reshape(4, 1, k // 4), (1, 3, 1)), out) == OK
        check(out, want, "grad_weight")


@FMT
@pytest.mark.parametrize("k", [20, 300, 5000])
def test_sums(lib, fmt, k):
    number = FORMATS.index(fmt)
    for x, _, want in cases(fmt, k, plain=True):
        if fmt in ("f32", "f64"):
            check(lib.sum(fmt, x), want, "sum", k)
            check(lib.sum(fmt, np.repeat(x, 2)[::2]), want, "sum of strides", k)
        for cols in (1, 3, 19):
            src, index, out = np.tile(x[:, None], (1, cols)), np.ones(k, "i8"), np.zeros((3, cols), x.dtype)
            for f in (lib.c.rm_index_add, lib.c.rm_segment_sum):
                out[:] = 0
                where = I64(k), pointer(index), I64(8), pointer(src), *map(I64, src.strides)
                assert f(number, I64(3), I64(cols), pointer(out), *map(I64, out.strides), *where) == OK
                check(out[1], want, "scatter", cols, k)
        prefixes = np.full(k, 7, x.dtype)
        size = I64(x.itemsize)
        assert lib.c.rm_cumsum(number, I64(k), pointer(x), size, number, pointer(prefixes), size) == OK
        check(prefixes[-1], want, "cumsum", k)
    for n in (32, 4096):  # the mean of so many
        for x, _, want in cases(fmt, n, plain=True, scale=Fraction(n)):
            assert statistics.call(lib, "mean", fmt, x, fmt) == want, ("mean", n)


@FMT
def test_squares(lib, fmt):
    """Norms, variances and standard deviations that are a midpoint, or beside one by a hair."""
    fraction, far = LIMITS[fmt][2], 4 if fmt == "f16" else 40
    for seed in range(8):
        tie = 2 * random.Random(seed).randrange(2**fraction, 2 ** (fraction + 1)) + 1
        for hair in (0, 1, -1):
            for what, square, n in (("norm", tie**2, 64), ("var", tie * 64, 64), ("std", tie**2 * 64, 64)):
                half = 1 if what == "norm" else 2  # pairs of d and -d
                terms = split_squares((square << 2 * far) // half + hair, fraction + 1)
                d = [math.ldexp(v, -far - fraction + (3 if fmt != "f16" else 1)) for v in terms]
                d += [-v for v in d] if half == 2 else []
                assert len(d) <= n
                x = np.zeros(n)
                x[random.Random(seed).sample(range(n), len(d))] = d
                x = x.astype(dtype_of(fmt))
                if sorted(x[x != 0].astype(float)) != sorted(d):
                    continue  # out of the format's range
                assert statistics.call(lib, what, fmt, x, fmt, 0) == statistics.expected(what, x, fmt, 0), (what, hair)


def test_control_with_bounds_too_small():
    """With bounds 2^20 times smaller each of these is wrong in binary32 and binary64."""
    checks = {
        "products": lambda lib, fmt: test_products(lib, fmt, 300),
        "sums": lambda lib, fmt: test_sums(lib, fmt, 300),
        "scaled": test_scaled,
        "convolutions": test_convolutions,
        "squares": test_squares,
    }
    for isa, control in elementwise_library.libraries(native.control_library()).items():
        for fmt, (name, call) in itertools.product(("f32", "f64"), checks.items()):
            with pytest.raises(AssertionError):
                call(Reductions(control.library), fmt)
                pytest.fail(f"{isa}: a bound 2^20 times smaller changes nothing for {name} in {fmt}")


# ------------------------------------------------------------------------------------------------------- Python and PyTorch

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np, torch
import torch.nn.functional as F
import repmath as rm, repmath.torch
from exact_oracle import bits
from exact_boundary_cases import cases

def tensor(v):
    v = np.ascontiguousarray(v)
    return torch.from_numpy(v.view("i2")).view(torch.bfloat16) if v.dtype.itemsize == 2 and v.dtype.kind == "V" else torch.from_numpy(v)

def array(t, dtype):
    return t.view(torch.int16).numpy().view(dtype) if t.dtype == torch.bfloat16 else t.numpy()

count = 0
def check(got, want, fmt, what):
    global count
    assert np.all(bits(got) == want), (fmt, what, bits(got), want)
    count += 1

np.seterr(all="ignore")
for fmt in ("f16", "bf16", "f32", "f64"):
    for x, y, want in cases(fmt, 300):
        w, x4 = np.tile(y, (3, 1)), np.tile(x, (4, 1))
        for what, got in enumerate((rm.matmul(x, w.T), rm.matmul(w, x), rm.matmul(x4[:1], w.T), rm.matmul(x4, w.T), rm.dot(x, y), rm.einsum("k,nk->n", x, w))):
            check(np.asarray(got), want, fmt, what)
        t, tw, t4 = tensor(x), tensor(w), tensor(x4)
        with rm.torch.reproducible():
            results = [F.linear(t[None], tw), F.linear(t4, tw), tw @ t, torch.bmm(t4[:2, None], tw.T.expand(2, 300, 3)), torch.dot(t, tw[0])]
        for what, got in enumerate(results):
            check(array(got, x.dtype), want, fmt, ("torch", what))
    for x, _, want in cases(fmt, 300, plain=True):
        cube = np.tile(x, (4, 3, 1))
        for axis in range(3):
            for order in "CF":
                moved = np.array(np.moveaxis(cube, 2, axis), order=order)
                check(rm.sum(moved, axis=axis), want, fmt, ("sum", axis, order))
                check(rm.sum(moved, axis=axis, keepdims=True), want, fmt, ("keepdims", axis, order))
        check(rm.sum(x.reshape(5, 60)), want, fmt, "whole")
        check(rm.sum(x.reshape(3, 10, 10), axis=(0, 2, 1)), want, fmt, "axes")
        check(rm.sum(np.tile(x.reshape(5, 1, 60), (1, 4, 1)), axis=(0, 2)), want, fmt, "two axes")
        check(rm.cumsum(cube, axis=2)[..., -1], want, fmt, "cumsum")
        t = tensor(cube)
        with rm.torch.reproducible():
            results = [t.sum(2), t[:1].sum(2), t.transpose(0, 2).sum(0), t.transpose(1, 2).contiguous().sum(1), t[0, 0].sum(), t[:, 0].contiguous().cumsum(1)[:, -1],
                       torch.zeros(2, dtype=t.dtype).index_add(0, torch.zeros(300, dtype=torch.long), t[0, 0])[0]]
        for what, got in enumerate(results):
            check(array(got, x.dtype), want, fmt, ("torch sum", what))
print("checked", count)
"""


@pytest.mark.sample(4)
@pytest.mark.parametrize("isa", elementwise_library.ISAS)
def test_python_and_torch(isa):
    elementwise_library.check_script(SCRIPT, isa)

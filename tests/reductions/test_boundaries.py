"""Sums and products whose additions err by all that a bound counts, beside a tie of the result: every path of the engines in every
format, on every instruction set, through C, Python and PyTorch. The oracle is a sum of rationals (boundary_data.py)."""

import ctypes

import boundary_data as data
import bounds
import elementwise_library
import numpy as np
import pytest
from boundary_products import (
    SIDES,
    WINDOWS,
    boundaries,
    check,
    layouts,
    product,
    sum_places,
    terms_of,
    windows,
    wrong,
)
from convolution_library import FORMATS, Convolution, Geometry, dtype_of
from reductions_library import I64, NO_TRANS, OK, ROW_MAJOR, TRANS, Reductions, pointer

F64 = ctypes.c_double
ALL = [*data.SHAPES, "f64"]
FMT = pytest.mark.parametrize("fmt", ALL)
LENGTHS = [300, 4096, 100_000]


def check_products(lib, fmt, k, shapes):
    for b, _, name in boundaries(fmt, k):
        for m, n in shapes:
            for layout, left, right in layouts(b.x, b.y, m, n):
                check(product(lib, fmt, left[None], right[None]), b, name, layout, m, n)


@pytest.mark.sample(4)
@FMT
@pytest.mark.parametrize("k", LENGTHS)
def test_one_row_or_column(lib, fmt, k):
    check_products(lib, fmt, k, [(1, 1), (1, 5), (3, 1)])


@pytest.mark.sample(4)
@FMT
@pytest.mark.parametrize("k", [300, 2160])  # 2160: the last chains are long enough to be multiplied while a tile is rounded
def test_tiles(lib, fmt, k):
    """Few rows; a whole panel and parts of one, of one and two vectors in each build; more tiles than one, which are rounded while the next
    one is multiplied."""
    check_products(lib, fmt, k, [(1, 25), (2, 3), (2, 7), (2, 11), (17, 24)])


def test_blocks_in_double_double(lib):
    """Where that many elements are undecided (RM_FALLBACK_RATIO), all of them are computed again in two parts."""
    for b, tie, name in boundaries("f32", 300, addend=True, chains=[(256, 1), (128, 1)]):
        lib.stats()
        a, right = np.tile(b.x, (1, 64, 1)), np.tile(b.y, (1, 67, 1)).swapaxes(1, 2)
        check(product(lib, "f32", a, right, np.full(67, tie, "f4")), b, name)
        assert lib.stats()[1] == 64 * 67


@pytest.mark.sample(4)
@FMT
def test_longest(lib, fmt):
    for b, _, name in boundaries(fmt, 2**20, chains=[(256, 1), (128, 1)]):
        for m, n in ((1, 2), (2, 1), (2, 2)):
            check(product(lib, fmt, np.tile(b.x, (1, m, 1)), np.tile(b.y, (1, n, 1)).swapaxes(1, 2)), b, name, m, n)
            check(product(lib, fmt, np.tile(b.x, (1, m, 1)), np.tile(b.y[:, None], (1, 1, n))), b, name, m, n)


@FMT
@pytest.mark.parametrize("k", [300, 40_000])
def test_bias_batch_and_scaling(lib, fmt, k):
    """The half place comes from the bias, or from beta C; and stacks of products."""
    for b, tie, name in boundaries(fmt, k, addend=True):
        for m, n in ((1, 3), (2, 3)) if k > 300 else ((1, 3), (2, 3), (2, 9)):  # 9: a whole vector in each build
            bias = np.full(n, tie, dtype_of(fmt))
            a, right = np.tile(b.x, (2, m, 1)), np.tile(b.y, (2, n, 1)).swapaxes(1, 2)
            check(product(lib, fmt, a, right, bias), b, name, "bias", m)
            c = np.full((m, n), -2 * tie, dtype_of(fmt))  # RN(S/2 - C/4) is half of the other: one less in the exponent
            rows, lines = np.ascontiguousarray(a[0]), np.tile(b.y, (n, 1))
            arguments = pointer(rows), I64(k), pointer(lines), I64(k), F64(-0.25), pointer(c), I64(n)
            sizes = I64(m), I64(n), I64(k)
            assert lib.c.rm_gemm(FORMATS.index(fmt), ROW_MAJOR, NO_TRANS, TRANS, *sizes, F64(0.5), *arguments) == OK
            check((c.astype("f8") * 2).astype(c.dtype), b, name, "gemm", m)


@pytest.mark.parametrize("fmt", ["f16", "bf16"])
def test_narrow_terms_to_binary32(lib, fmt):
    """Terms of 16 bits, a result of binary32: beside a tie of that."""
    for b, _, name in boundaries("f32", 40_000):
        x, y = (v.astype(dtype_of(fmt)) for v in (b.x, b.y))
        if np.array_equal(x.astype("f4"), b.x) and np.array_equal(y.astype("f4"), b.y):
            pytest.fail("the data for binary32 fits 16 bits: take it")
        b16, _ = data.products(fmt, 40_000, tuple(data.chain_places(40_000, *name[:2])), name[2])
        want = sum(float(u) * float(v) for u, v in zip(b16.x, b16.y, strict=True) if u)  # far from a tie of binary32
        for m in (1, 2):
            got = product(lib, fmt, np.tile(b16.x, (1, m, 1)), np.tile(b16.y, (1, 2, 1)).swapaxes(1, 2), out="f32")
            assert np.all(got == np.float32(want)), (name, m)


@FMT
def test_convolutions(lib, fmt):
    """Windows that do not overlap, so that all elements are the same sum; by rows of the image (taps of 4), patch by patch (of 5); and
    the gradients, whose sums go over positions and over channels."""
    conv, k, positions = Convolution(lib.c), 1000, 6
    for b, tie, name in boundaries(fmt, k, addend=True):
        bias = np.full(3, tie, dtype_of(fmt))
        for taps in (4, 5):
            g = Geometry(1, k // taps, 3, (positions * taps,), taps, stride=taps)
            x = np.tile(b.x.reshape(1, -1, 1, taps), (1, 1, positions, 1)).reshape(g.x_shape)
            w = np.tile(b.y.reshape(1, -1, taps), (3, 1, 1))
            y = np.full(g.y_shape, 7, dtype_of(fmt))
            assert conv(g, "forward", fmt, x, w, y, bias) == OK
            check(y, b, name, "forward", taps)
        g = Geometry(1, 2, k, (4,), 2, stride=2)  # the gradient of x: a sum over output channels
        gy = np.tile(b.x.reshape(1, -1, 1), (1, 1, 2))
        w = np.tile(b.y.reshape(-1, 1, 1), (1, 2, 2))
        gx = np.full(g.x_shape, 7, dtype_of(fmt))
        assert conv(g, "grad_input", fmt, gy, w, gx, bias[:2]) == OK
        check(gx, b, name, "grad_input")
    for b, _, name in boundaries(fmt, k):
        g = Geometry(4, 2, 3, (500,), 2, stride=2)  # the gradient of w: a sum over the batch and 250 positions
        x = np.tile(b.x.reshape(4, 1, 250, 1), (1, 2, 1, 2)).reshape(g.x_shape)
        gy = np.tile(b.y.reshape(4, 1, 250), (1, 3, 1))
        gw = np.full(g.w_shape, 7, dtype_of(fmt))
        assert conv(g, "grad_weight", fmt, x, gy, gw) == OK
        check(gw, b, name, "grad_weight")


@FMT
@pytest.mark.parametrize("case", WINDOWS)
def test_windows(lib, fmt, case):
    for got, b, name in windows(Convolution(lib.c), fmt, *WINDOWS[case]):
        check(got, b, case, name)


@pytest.mark.parametrize("fmt", ["f32", "f64"])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_sums(lib, lanes, fmt):
    for side in SIDES:
        for k in (128 * lanes, 1100, 70_000) if fmt == "f64" else (1100, 70_000):
            if fmt == "f64":
                b, _ = data.binary64(k, "lanes", side, lanes=lanes)
            else:
                b, _ = data.products(fmt, k, sum_places(k, lanes), side)
            x = terms_of(b)
            check(lib.sum(fmt, x), b, "sum", side)
            check(lib.sum(fmt, np.repeat(x, 2)[::2]), b, "sum of strides", side)
            check(lib.dot(fmt, b.x, b.y), b, "dot", side)
            check(lib.dot(fmt, np.repeat(b.x, 3)[::3], b.y), b, "dot of strides", side)


@pytest.mark.parametrize("fmt", ["bf16", "f32", "f64"])
def test_scatter_and_prefixes(lib, fmt):
    """One chain for each element: all terms but the first err."""
    number = FORMATS.index(fmt)
    for k in (12, 300, 5000):  # few terms, and many
        for side in SIDES:
            if fmt == "f64":
                b, _ = data.binary64(k + 40, "one", side)
            else:
                b, _ = data.products(fmt, k + 40, tuple(range(1, k)), side)
            x, total = terms_of(b), len(b.x)
            for cols in (1, 3, 19):  # cells; columns
                src, index = np.tile(x[:, None], (1, cols)), np.ones(total, "i8")
                out = np.zeros((3, cols), x.dtype)
                for f in (lib.c.rm_index_add, lib.c.rm_segment_sum):
                    out[:] = 0
                    views = pointer(out), *map(I64, out.strides)
                    where = I64(total), pointer(index), I64(8), pointer(src), *map(I64, src.strides)
                    assert f(number, I64(3), I64(cols), *views, *where) == OK
                    check(out[1], b, "scatter", cols, side)
            prefixes = np.full(total, 7, x.dtype)
            assert (
                lib.c.rm_cumsum(number, I64(total), pointer(x), I64(x.itemsize), number, pointer(prefixes), I64(x.itemsize))
                == OK
            )
            check(prefixes[-1:], b, "cumsum", side)


# --------------------------------------------------------------------------------------------------------------- controls


SPARE = 32


@pytest.mark.parametrize("isa", elementwise_library.ISAS)
def test_control_with_halved_bounds(isa):
    """With every bound halved each of these paths returns wrong bits: the bounds are needed, but for a factor below two. Those of the
    sums and products of binary64 count each error as the largest of its chain: they are needed but for a factor of SPARE."""
    if isa not in elementwise_library.libraries():
        pytest.skip(f"this CPU cannot run the {isa} build")
    control = bounds.controls()[isa]
    lib = Reductions(control.library)
    lanes = {"base": 1, "avx2": 4, "avx512": 8, "neon": 2}[isa]
    with control.shrink(0.5):
        assert wrong(test_sums, lib, lanes, "f32")
        for fmt in data.SHAPES:
            assert wrong(test_one_row_or_column, lib, fmt, 4096), fmt
            assert wrong(check_products, lib, fmt, 4096, [(3, 5)]), fmt
            assert wrong(test_tiles, lib, fmt, 300), fmt
            assert wrong(test_bias_batch_and_scaling, lib, fmt, 300), fmt
            assert wrong(test_convolutions, lib, fmt), fmt
        for fmt in ("bf16", "f32", "f64"):
            assert wrong(test_scatter_and_prefixes, lib, fmt)
    with control.shrink(1 / SPARE):
        assert wrong(test_sums, lib, lanes, "f64")
        assert wrong(test_one_row_or_column, lib, "f64", 4096)
        assert wrong(check_products, lib, "f64", 4096, [(3, 5)])
        assert wrong(test_tiles, lib, "f64", 300)
        assert wrong(test_bias_batch_and_scaling, lib, "f64", 300)
        assert wrong(test_convolutions, lib, "f64")


# ------------------------------------------------------------------------------------------------------- Python and PyTorch

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np, torch
import torch.nn.functional as F
import repmath as rm
import boundary_data as data
import pair_data
from boundary_products import boundaries, check

def tensor(v):
    return torch.from_numpy(np.ascontiguousarray(v).view("i2")).view(torch.bfloat16) if v.dtype.itemsize == 2 and v.dtype.kind == "V" else torch.from_numpy(np.ascontiguousarray(v))

def array(t, dtype):
    return t.view(torch.int16).numpy().view(dtype) if t.dtype == torch.bfloat16 else t.numpy()

count = 0
for fmt in ("f16", "bf16", "f32", "f64"):
    for k in (300, 40_000):
        for b, _, name in boundaries(fmt, k):
            w = np.tile(b.y, (3, 1))
            x4 = np.tile(b.x, (4, 1))
            for got in (rm.matmul(b.x, w.T), rm.matmul(w, b.x), rm.matmul(x4[:1], w.T), rm.matmul(x4, w.T), rm.matmul(x4, b.y), rm.dot(b.x, b.y),
                        rm.einsum("k,nk->n", b.x, w), rm.einsum("nk,k->n", w, b.x), rm.tensordot(x4, w, ([1], [1])),
                        rm.matmul(x4[None, :1], np.broadcast_to(w.T, (2, k, 3)))):
                check(np.asarray(got), b, name)
                count += 1
            t, tw, t4 = tensor(b.x), tensor(w), tensor(x4)
            with rm.torch.reproducible():
                results = [F.linear(t[None], tw), F.linear(t, tw), F.linear(t4, tw), t @ tw.T, tw @ t, torch.mv(tw, t), t4[:1] @ tw.T,
                           torch.bmm(t4[:2, None], tw.T.expand(2, k, 3)), torch.einsum("k,nk->n", t, tw), torch.dot(t, tw[0]),
                           torch.addmm(torch.zeros(3, dtype=t.dtype), t4[:1], tw.T)]
            for got in results:
                check(array(got, b.x.dtype), b, name)
                count += 1

# More rows and columns than a tile has, where the engines that pack are chosen, beside few of them; with the half place in a bias or in an old C; convolutions.
def large(fmt, b, tie, name):
    global count
    k = len(b.x)
    x, w, batch = np.tile(b.x, (33, 1)), np.tile(b.y, (90, 1)), np.tile(b.x, (4, 9, 1))
    old = None if tie is None else np.full(90, tie, b.x.dtype)
    for right in (w.T, np.ascontiguousarray(w.T)):
        for got in (rm.matmul(x, right, bias=old), rm.matmul(np.asfortranarray(x), right, bias=old), rm.matmul(batch, right, bias=old),
                    rm.matmul(batch[:1], right, bias=old)):
            check(np.asarray(got), b, name, "rows")
            count += 1
    t, tw, t4, told = tensor(x), tensor(w), tensor(batch), None if old is None else tensor(old)
    with rm.torch.reproducible():
        results = [F.linear(t, tw, told), F.linear(t4, tw, told), F.linear(t4[:1], tw, told), F.linear(t4[2], tw, told)]
        if old is None:
            results += [t @ tw.T.contiguous(), t.T.contiguous().T @ tw.T, torch.bmm(t4, tw.T.expand(4, k, 90)), torch.einsum("bik,jk->bij", t4, tw)]
        else:
            results += [torch.addmm(told, t, tw.T), torch.baddbmm(told, t4, tw.T.expand(4, k, 90)), torch.addmm(-told, t, tw.T, beta=-1)]
        if k % 5 == 0:
            image = tensor(np.tile(b.x.reshape(1, -1, 1, 5), (4, 1, 12, 1)).reshape(4, k // 5, 60))
            kernel, few = tensor(np.tile(b.y.reshape(1, -1, 5), (30, 1, 1))), None if told is None else told[:30]
            results += [F.conv1d(part, kernel, few, stride=5) for part in (image, image[:1])]
    for got in results:
        check(array(got, b.x.dtype), b, name, "torch, rows")
        count += 1

for fmt in ("f16", "bf16", "f32", "f64"):
    for b, tie, name in boundaries(fmt, 300, addend=True):
        large(fmt, b, tie, name)
    for b, _, name in boundaries(fmt, 300):
        large(fmt, b, None, name)
for side in (1, -1):  # what the CPU's products of pairs may err by
    for k in (100, 1000):
        large("bf16", pair_data.boundary(k, side), None, ("pairs", side))
print("checked", count)
"""


@pytest.mark.sample(4)
@pytest.mark.parametrize("isa", (*elementwise_library.ISAS, *elementwise_library.ENGINES))
def test_python_and_torch(isa):
    code = SCRIPT.replace("import repmath as rm\n", "import repmath as rm, repmath.torch\n")
    elementwise_library.check_script(code, isa)

"""Sums and products whose additions err by all that a bound counts, beside a tie of the result: every path of the engines in every
format, on every instruction set, through C, Python and PyTorch. The oracle is a sum of rationals (boundary_data.py)."""

import ctypes
import itertools
import math

import boundary_data as data
import bounds
import elementwise_library
import native
import numpy as np
import pytest
from convolution_library import FORMATS, Convolution, Geometry, dtype_of
from exact_oracle import bits
from reductions_library import I64, NO_TRANS, OK, ROW_MAJOR, TRANS, Reductions, pointer

F64 = ctypes.c_double
ALL = [*data.SHAPES, "f64"]
FMT = pytest.mark.parametrize("fmt", ALL)
SIDES = (1, -1)
LENGTHS = [300, 4096, 100_000]
# Chains of so many terms in so many lanes: the microkernel and the row of each build, and half as long.
CHAINS = [(256, 1), (128, 1), (128, 8), (256, 4), (256, 2), (128, 4)]


@pytest.fixture(scope="module")
def lib(isa_library):
    return Reductions(isa_library)


def boundaries(fmt, k, addend=False, chains=CHAINS):
    if fmt == "f64":
        for kind, side in itertools.product(("blocks", "starts") if chains is CHAINS else ("blocks",), SIDES):
            yield *data.binary64(k, kind, side, addend), (kind, side)
        return
    for chain, lanes in chains:
        if chain * lanes <= k or lanes == 1:
            for side in SIDES:
                yield (
                    *data.products(fmt, k, tuple(data.chain_places(k, chain, lanes)[: k - 40]), side, addend),
                    (chain, lanes, side),
                )


def product(lib, fmt, a, b, bias=None, out=None):
    """a @ b for stacks of matrices of any strides, to the format `out`."""
    out = out or fmt
    c = np.full((a.shape[0], a.shape[1], b.shape[2]), 7, dtype_of(out))
    sizes = [I64(v) for v in (a.shape[0], a.shape[1], b.shape[2], a.shape[2])]
    x, y, z = ((pointer(v), *map(I64, v.strides)) for v in (a, b, c))
    extra = (pointer(bias), I64(0), I64(0 if bias is None else bias.strides[0]))
    assert lib.c.rm_matmul_batched(FORMATS.index(fmt), FORMATS.index(out), *sizes, *x, *y, *extra, *z) == OK
    return c


def layouts(x, y, m, n):
    """Matrices of m rows x and n columns y: each order of B in memory, and strides that are neighbours of nothing."""
    a, lines = np.tile(x, (m, 1)), np.tile(y, (n, 1))
    yield "terms", a, lines.T
    yield "lines", a, np.ascontiguousarray(lines.T)
    yield "strided", a, np.repeat(lines.T, 2, axis=1)[:, ::2]
    yield "columns", np.asfortranarray(a), lines.T


def check(got, boundary, *what):
    wrong = np.argwhere(bits(got) != boundary.bits)
    assert not len(wrong), (*what, boundary.k, boundary.errors, len(wrong), hex(int(bits(got).flat[0])), hex(boundary.bits))


def check_products(lib, fmt, k, shapes):
    for b, _, name in boundaries(fmt, k):
        for m, n in shapes:
            for layout, left, right in layouts(b.x, b.y, m, n):
                check(product(lib, fmt, left[None], right[None]), b, name, layout, m, n)


@FMT
@pytest.mark.parametrize("k", LENGTHS)
def test_one_row_or_column(lib, fmt, k):
    check_products(lib, fmt, k, [(1, 1), (1, 5), (3, 1)])


@FMT
@pytest.mark.parametrize("k", [300, 2160])  # 2160: the last chains are long enough to be multiplied while a tile is rounded
def test_tiles(lib, fmt, k):
    """Few rows; a whole panel and parts of one, of one and two vectors in each build; more tiles than one, which are rounded while the next
    one is multiplied."""
    check_products(lib, fmt, k, [(1, 25), (2, 3), (2, 7), (2, 11), (17, 24)])


def test_blocks_in_double_double(lib):
    """Where that many elements are undecided (RM_FLOOD), all of them are computed again in two parts."""
    for b, tie, name in boundaries("f32", 300, addend=True, chains=[(256, 1), (128, 1)]):
        lib.stats()
        a, right = np.tile(b.x, (1, 64, 1)), np.tile(b.y, (1, 67, 1)).swapaxes(1, 2)
        check(product(lib, "f32", a, right, np.full(67, tie, "f4")), b, name)
        assert lib.stats()[1] == 64 * 67


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


# Windows of an image that overlap, of which rows are laid out once (src/blas/conv/conv_window.h): lines and terms next to each other and apart,
# terms that go back, as many dimensions as there are, lines so short that a vector has several of them, sums in parts.
WINDOWS = {
    "padded": ("forward", Geometry(1, 100, 3, (40,), 3, low=1)),
    "apart": ("forward", Geometry(1, 34, 3, (79,), 9, stride=2, low=4)),
    "plane apart": ("forward", Geometry(1, 19, 3, (18, 22), 4, stride=2)),
    "plane far apart": ("forward", Geometry(1, 7, 3, (28, 37), 7, stride=3, low=3)),
    "terms apart": ("forward", Geometry(1, 34, 3, (8, 21), 3, dilation=2)),
    "both apart": ("forward", Geometry(1, 19, 3, (24, 68), 4, stride=2, dilation=3)),
    "short lines": ("forward", Geometry(2, 34, 3, (9, 5), 3)),
    "space": ("forward", Geometry(1, 17, 3, (4, 6, 11), (2, 3, 3), low=(0, 1, 1))),
    "space apart": ("forward", Geometry(2, 6, 3, (6, 19, 25), (2, 5, 5), stride=2)),
    "parts": ("forward", Geometry(1, 4, 3, (12, 27), 9)),
    "back": ("grad_input", Geometry(1, 3, 34, (5, 17), 3, low=2)),
    "back in space": ("grad_input", Geometry(1, 3, 12, (4, 3, 11), 3, low=2)),
    "kernels": ("grad_weight", Geometry(50, 2, 3, (3, 14), (2, 12))),
    "kernels apart": ("grad_weight", Geometry(20, 2, 3, (4, 43), (2, 20), dilation=(1, 2))),
}


def image_of(b, outer, size, taps, move, step, low):
    """An image of `outer` channels, and what its windows are multiplied by so that each sum has the terms of b. Values of a channel are as
    large as their factors, but for the first channel's: 1 where the great term's tap meets them, and other taps where windows overlap so."""
    dims = len(taps)
    terms, great = terms_of(b).astype("f8").reshape(outer, *taps), tuple(n // 2 for n in taps)
    terms[(0, *great)], terms[(0,) * (dims + 1)] = terms[(0,) * (dims + 1)], terms[(0, *great)]
    largest = np.abs(np.where(terms == 1.0, 0.0, terms)).max(tuple(range(1, dims + 1)), keepdims=True)
    values = 2.0 ** (np.frexp(np.where(largest > 0, largest, 2.0**-60))[1] // 2)
    image, factors = np.tile(values, (1, *size)), np.tile(values, (1, *taps))
    met = [(np.arange(n) + p - t * d) % m == 0 for n, p, t, d, m in zip(size, low, great, step, move, strict=True)]
    others = [(np.arange(n) - t) * d % m == 0 for n, t, d, m in zip(taps, great, step, move, strict=True)]
    image[0][np.ix_(*met)], factors[0][np.ix_(*others)] = 1.0, 1.0
    kernel = (terms / factors).astype(b.x.dtype)
    assert np.array_equal(kernel.astype("f8") * factors, terms)
    return image.astype(b.x.dtype), kernel


def windows(lib, fmt, what, g):
    """The elements whose windows lie in the image, with what they must be."""
    conv, flat = Convolution(lib.c), (1,) * g.dims
    outer, taps, shape = {
        "forward": (g.channels_in, g.kernel, g.y_shape),
        "grad_input": (g.channels_out, g.kernel, g.x_shape),
        "grad_weight": (g.batch, g.out, g.w_shape),
    }[what]
    inside = tuple(slice(None) for _ in shape)
    if what == "forward":
        reach = zip(g.size, g.kernel, g.stride, g.dilation, g.low, strict=True)
        inside = (..., *(slice(-(-p // s), (n - (k - 1) * d - 1 + p) // s + 1) for n, k, s, d, p in reach))
    for b, _, name in boundaries(fmt, outer * math.prod(taps)):
        if what == "forward":
            image, kernel = image_of(b, outer, g.size, taps, g.stride, g.dilation, g.low)
            first, second = (
                np.tile(image, (g.batch, 1, *flat)).reshape(g.x_shape),
                np.tile(kernel, (g.channels_out, 1, *flat)),
            )
            second = second.reshape(g.w_shape)
        elif what == "grad_input":
            image, kernel = image_of(b, outer, g.out, taps, flat, flat, (0,) * g.dims)
            first, second = image[None], np.tile(kernel[:, None], (1, g.channels_in, *flat))
        else:
            image, kernel = image_of(b, outer, g.size, taps, g.dilation, g.stride, g.low)
            first, second = (
                np.tile(v[:, None], (1, n, *flat)) for v, n in ((image, g.channels_in), (kernel, g.channels_out))
            )
        out = np.full(shape, 7, b.x.dtype)
        assert conv(g, what, fmt, first, second, out) == OK
        assert out[inside].size
        yield out[inside], b, name


@pytest.mark.parametrize("fmt", ["bf16", "f32", "f64"])
@pytest.mark.parametrize("case", WINDOWS)
def test_windows(lib, fmt, case):
    for got, b, name in windows(lib, fmt, *WINDOWS[case]):
        check(got, b, case, name)


def terms_of(b):
    """The products as single terms, which the format holds but for binary16."""
    terms = (b.x.astype("f8") * b.y.astype("f8")).astype(b.x.dtype)
    assert np.array_equal(terms.astype("f8"), b.x.astype("f8") * b.y.astype("f8"))
    return terms


def sum_places(k, lanes):
    """Of chains.h: 32 vectors in each of four chains, which are then joined."""
    return tuple(sorted([4 * lanes * i for i in range(1, 32)] + [lanes, 2 * lanes]))


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


def wrong(check, *arguments):
    """Whether a check sees wrong bits."""
    try:
        check(*arguments)
    except AssertionError:
        return True
    return False


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
from test_boundaries import boundaries, check

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
print("checked", count)
"""


@pytest.mark.parametrize("isa", elementwise_library.ISAS)
def test_python_and_torch(isa):
    code = SCRIPT.replace("import repmath as rm\n", "import repmath as rm, repmath.torch\n")
    elementwise_library.check_script(code, isa)


@pytest.mark.parametrize("isa", ["base", "neon"])
def test_aarch64(isa, tmp_path):
    """The same products by a program for aarch64 under an emulator."""
    where, qemu = native.cross_aarch64()
    checked = 0
    for fmt in ALL:
        for b, _, name in boundaries(fmt, 40_000, chains=[(256, 1), (128, 1), (256, 2)]):
            for m, n, by_terms in ((1, 3, 1), (1, 3, 0), (3, 1, 1), (2, 2, 1)):
                (tmp_path / "x").write_bytes(b.x.tobytes() + b.y.tobytes())
                arguments = FORMATS.index(fmt), m, n, b.k, by_terms, tmp_path / "x"
                out = native.run(qemu, where / "tests/c/product_of", *arguments, env={"REPMATH_ISA": isa}).split()
                assert out == [f"{b.bits:x}"] * (m * n), (fmt, name, m, n, by_terms)
                checked += 1
    assert checked

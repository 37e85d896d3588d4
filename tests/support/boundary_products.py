"""Products and convolutions by every path whose sums lie beside a boundary of the format, and the check of their bits."""

import itertools
import math

import boundary_data as data
import numpy as np
from convolution_library import FORMATS, Geometry, dtype_of
from exact_oracle import bits
from reductions_library import I64, OK, pointer

SIDES = (1, -1)
# Chains of so many terms in so many lanes: the microkernel and the row of each build, and half as long.
CHAINS = [(256, 1), (128, 1), (128, 8), (256, 4), (256, 2), (128, 4)]


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
    "one channel": ("forward", Geometry(1, 1, 1, (12, 30), (7, 13), low=3)),
    "one channel apart": ("forward", Geometry(2, 1, 1, (6, 13, 23), (2, 5, 9), stride=(1, 2, 2))),
    "one channel back": ("grad_input", Geometry(1, 1, 1, (9, 20), (7, 13), low=(6, 12))),
    "back": ("grad_input", Geometry(1, 3, 34, (5, 17), 3, low=2)),
    "back in space": ("grad_input", Geometry(1, 3, 12, (4, 3, 11), 3, low=2)),
    "kernels": ("grad_weight", Geometry(50, 2, 3, (3, 14), (2, 12))),
    "kernels apart": ("grad_weight", Geometry(20, 2, 3, (4, 43), (2, 20), dilation=(1, 2))),
}


FEW = 4  # channels, each of which matters


def great_tap(outer, taps):
    """The tap of the great term in the first channel. Of few channels it is the first, since additions before it do not err."""
    return tuple(n // 2 if outer > FEW else 0 for n in taps)


def beside_great(great, taps, move, step):
    """The taps that meet in another window what the great term's tap meets: where `move` parts them, and itself."""
    return np.ix_(*[(np.arange(n) - t) * d % m == 0 for n, t, d, m in zip(taps, great, step, move, strict=True)])


def image_of(b, outer, size, taps, move, step, low):
    """An image of `outer` channels, and what its windows are multiplied by so that each sum has the terms of b. Values of a channel are as
    large as their factors, but for the first channel's: 1 where the great term's tap meets them, and other taps where windows overlap so.
    In binary16 these taps hold zeros, the great term has its own factor, and all others 2^-24."""
    dims, great, narrow = len(taps), great_tap(outer, taps), b.fmt == "f16"
    terms = (b.x.astype("f8") * b.y.astype("f8")).reshape(outer, *taps)
    terms[(0, *great)], terms[(0,) * (dims + 1)] = terms[(0,) * (dims + 1)], terms[(0, *great)]
    largest = np.abs(np.where(terms == 1.0, 0.0, terms)).max(tuple(range(1, dims + 1)), keepdims=True)
    values = 2.0 ** (np.frexp(np.where(largest > 0, largest, 2.0**-60))[1] // 2)
    values = np.full_like(values, 2.0**-24) if narrow else values
    image, factors = np.tile(values, (1, *size)), np.tile(values, (1, *taps))
    met = [(np.arange(n) + p - t * d) % m == 0 for n, p, t, d, m in zip(size, low, great, step, move, strict=True)]
    image[0][np.ix_(*met)], factors[0][beside_great(great, taps, move, step)] = b.y[0], b.y[0]
    kernel = (terms / factors).astype(b.x.dtype)
    assert np.array_equal(kernel.astype("f8") * factors, terms)
    assert np.array_equal(image.astype(b.x.dtype).astype("f8"), image)
    return image.astype(b.x.dtype), kernel


def terms_of_windows(fmt, outer, taps, move, step):
    """Data for windows, and how many windows apart those are that have them, in each dimension. In binary16 no channel holds terms that are
    half a place and taps that meet the great term's value; of few channels only windows that do not overlap have the terms."""
    k, apart = outer * math.prod(taps), (1,) * len(taps)
    if fmt != "f16":
        for b, _, name in boundaries(fmt, k):
            yield b, name, apart
        return
    if outer <= FEW:
        apart = tuple(-(-(n - 1) * d // m) + 1 if n > 1 else 1 for n, d, m in zip(taps, step, move, strict=True))
    tap, met = great_tap(outer, taps), np.zeros((outer, *taps), bool)
    met[0][beside_great(tap, taps, [m * a for m, a in zip(move, apart, strict=True)], step)] = True
    met = met.ravel()
    great = int(np.ravel_multi_index(tap, taps))
    met[[0, great]] = met[[great, 0]]  # image_of lets them change places
    empty = frozenset(np.flatnonzero(met).tolist()) - {0}
    for chain, lanes in CHAINS:
        if chain * lanes <= k or lanes == 1:
            at = [p for p in data.chain_places(k, chain, lanes) if p not in empty][: k - len(empty) - 40]
            for side in SIDES:
                b, _ = data.products(fmt, k, tuple(at), side, empty=empty)
                yield b, (chain, lanes, side), apart


def windows(conv, fmt, what, g):
    """The elements whose windows lie in the image and have the data, with what they must be. conv is called as a Convolution."""
    flat = (1,) * g.dims
    outer, taps, shape, move, step = {
        "forward": (g.channels_in, g.kernel, g.y_shape, g.stride, g.dilation),
        "grad_input": (g.channels_out, g.kernel, g.x_shape, flat, flat),
        "grad_weight": (g.batch, g.out, g.w_shape, g.dilation, g.stride),
    }[what]
    first_inside = [-(-p // s) if what == "forward" else 0 for p, s in zip(g.low, g.stride, strict=True)]
    ends = list(shape[2:])
    if what == "forward":
        reach = zip(g.size, g.kernel, g.stride, g.dilation, g.low, strict=True)
        ends = [(n - (k - 1) * d - 1 + p) // s + 1 for n, k, s, d, p in reach]
    for b, name, apart in terms_of_windows(fmt, outer, taps, move, step):
        move_on = tuple(m * a for m, a in zip(move, apart, strict=True))
        if what == "forward":
            image, kernel = image_of(b, outer, g.size, taps, move_on, step, g.low)
            first, second = (
                np.tile(image, (g.batch, 1, *flat)).reshape(g.x_shape),
                np.tile(kernel, (g.channels_out, 1, *flat)),
            )
            second = second.reshape(g.w_shape)
        elif what == "grad_input":
            low = tuple(2 * t - p for t, p in zip(great_tap(outer, taps), g.low, strict=True))  # here taps go back
            image, kernel = image_of(b, outer, g.out, taps, move_on, step, low)
            first, second = image[None], np.tile(kernel[:, None], (1, g.channels_in, *flat))
        else:
            image, kernel = image_of(b, outer, g.size, taps, move_on, step, (0,) * g.dims)
            first, second = (
                np.tile(v[:, None], (1, n, *flat)) for v, n in ((image, g.channels_in), (kernel, g.channels_out))
            )
        out = np.full(shape, 7, b.x.dtype)
        assert conv(g, what, fmt, first, second, out) == OK
        # Windows whose great tap meets what is a whole number of moves from the first place.
        found = out[(..., *(slice(-(-i // a) * a, e, a) for i, e, a in zip(first_inside, ends, apart, strict=True)))]
        assert found.size
        yield found, b, name


def terms_of(b):
    """The products as single terms, which the format holds but for binary16."""
    terms = (b.x.astype("f8") * b.y.astype("f8")).astype(b.x.dtype)
    assert np.array_equal(terms.astype("f8"), b.x.astype("f8") * b.y.astype("f8"))
    return terms


def sum_places(k, lanes):
    """Of chains.h: 32 vectors in each of four chains, which are then joined."""
    return tuple(sorted([4 * lanes * i for i in range(1, 32)] + [lanes, 2 * lanes]))


def wrong(check, *arguments):
    """Whether a check sees wrong bits."""
    try:
        check(*arguments)
    except AssertionError:
        return True
    return False

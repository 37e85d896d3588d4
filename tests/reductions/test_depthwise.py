"""Convolutions of one channel to a group, which have loops of their own, on every instruction set: against the same convolution without groups, whose
weights are zeros elsewhere, and against exact sums where there is something that is not finite."""

import ctypes

import numpy as np
import pytest
from convolution_library import Convolution, Geometry, dtype_of, expected
from reductions_library import OK, Reductions

G = Geometry
GEOMETRIES = {
    "3x3": G(2, 5, 5, (9, 17), 3, low=1, groups=5),
    "7x7": G(1, 3, 3, (14, 14), 7, low=3, groups=3),
    "stride": G(2, 4, 4, (11, 35), 3, stride=2, low=1, groups=4),
    "strides and dilation": G(1, 3, 3, (23, 41), (3, 5), stride=(3, 5), dilation=(2, 3), low=(4, 7), groups=3),
    "less than all": G(1, 3, 3, (9, 20), 3, stride=2, low=1, high=(-2, -3), groups=3),
    "padding beyond": G(1, 2, 2, (3, 2), 2, stride=2, low=5, high=3, groups=2),
    "one column": G(2, 3, 3, (19, 1), (5, 3), low=(2, 1), groups=3),
    "one row": G(1, 4, 4, (1, 70), (1, 9), low=(0, 4), groups=4),
    "1d": G(2, 3, 3, (50,), 5, stride=2, low=2, groups=3),
    "1d with padding alone": G(1, 2, 2, (1,), 3, low=2, groups=2),
    "3d": G(2, 2, 2, (5, 6, 11), (3, 2, 3), stride=(2, 1, 1), dilation=(1, 2, 1), low=(1, 1, 2), groups=2),
    "bands": G(1, 2, 2, (220, 300), 3, low=1, groups=2),
    "bands apart": G(1, 1, 1, (170, 333), (4, 3), stride=(3, 2), dilation=(2, 1), low=(5, 2)),
    "taps": G(1, 2, 2, (13, 16), 11, low=5, groups=2),
    "far taps": G(1, 1, 1, (140, 150), 3, dilation=60),
}


@pytest.fixture(scope="module")
def conv(isa_library):
    return Convolution(isa_library)


def data(rng, kind, shape, dtype):
    x = rng.standard_normal(shape)
    if kind == "integers":  # ties, and sums that vanish
        x = np.rint(2 * x)
    elif kind == "relu":
        x = np.maximum(x, 0)
    elif kind == "rare":
        x = np.where(rng.random(shape) < 0.02, x, 0)
    elif kind == "spread":
        x *= 2.0 ** rng.integers(-60, 60, shape)
    elif kind == "small":
        x *= float(np.finfo(dtype).smallest_normal) if dtype.name != "bfloat16" else 2.0**-126
    elif kind == "halves":  # sums of so few bits that many lie on midpoints of 16-bit formats
        x = rng.choice([1.0, -1.0, 0.5, 2.0**-9, 2.0**-12, 2.0**-25], shape)
    elif kind == "special":
        x = np.where(rng.random(shape) < 0.03, rng.choice([np.inf, -np.inf, np.nan, 0.0, -0.0, 3e38, -3e38], shape), x)
    with np.errstate(over="ignore"):
        return x.astype(dtype)


def dense(g, w):
    """The convolution without groups, and its weights."""
    wide = np.zeros((g.channels_out, g.channels_in, *g.kernel), w.dtype)
    for c in range(g.channels_out):
        wide[c, c] = w[c, 0]
    return Geometry(g.batch, g.channels_in, g.channels_out, g.size, g.kernel, g.stride, g.dilation, g.low, g.high), wide


def placed(a, last):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1) if last else a


@pytest.mark.parametrize("what", ["forward", "grad_input"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_beside_the_convolution_without_groups(isa_library, conv, what, name):
    g, rng = GEOMETRIES[name], np.random.default_rng(len(name))
    for n, kind in enumerate(("gaussian", "integers", "relu", "rare", "spread", "small", "halves")):
        fmt, last = ("f32", "bf16", "f16")[0 if n < 4 and rng.random() < 0.6 else n % 3], bool(n % 2)
        shape, like = (g.x_shape, g.y_shape) if what == "forward" else (g.y_shape, g.x_shape)
        x, w = data(rng, kind, shape, dtype_of(fmt)), data(rng, kind.replace("rare", "gaussian"), g.w_shape, dtype_of(fmt))
        bias = data(rng, kind, (like[1],), dtype_of(fmt)) if n % 3 else None
        plain, wide = dense(g, w)
        want = np.full(like, 7, dtype_of(fmt))
        assert conv(plain, what, fmt, x, wide, want, bias) == OK
        for threads in (1, 2):
            Reductions(isa_library).threads(threads)
            got = placed(np.full(like, 7, dtype_of(fmt)), last)
            assert conv(g, what, fmt, placed(x, last), w, got, bias) == OK
            wrong = np.argwhere(got.view(f"u{got.itemsize}") != want.view(f"u{got.itemsize}"))
            assert not len(wrong), (kind, fmt, last, len(wrong), wrong[0], got[tuple(wrong[0])], want[tuple(wrong[0])])


@pytest.mark.parametrize("what", ["forward", "grad_input"])
@pytest.mark.parametrize("fmt", ["f32", "f16"])
def test_what_is_not_finite(conv, what, fmt):
    rng = np.random.default_rng(7)
    for name in ("3x3", "stride", "1d", "padding beyond"):
        g = GEOMETRIES[name]
        x, w, y = (data(rng, "special", shape, dtype_of(fmt)) for shape in (g.x_shape, g.w_shape, g.y_shape))
        like = y if what == "forward" else x
        bias, out = data(rng, "special", (like.shape[1],), dtype_of(fmt)), np.full_like(like, 7)
        assert conv(g, what, fmt, x if what == "forward" else y, w, out, bias) == OK
        want = expected(g, what, fmt, x, w, y, bias)
        assert np.array_equal(out.view(want.dtype), want), name


def test_few_elements_are_undecided(isa_library, conv):
    """Lanes whose windows have no terms that are not zero need no sum of two parts."""
    g, rng = G(1, 8, 8, (64, 64), 3, low=1, groups=8), np.random.default_rng(3)
    stats = (ctypes.c_uint64 * 3)()
    for kind, share in (("gaussian", 0.001), ("relu", 0.001), ("rare", 0.001), ("integers", 0.5)):
        x, w = data(rng, kind, g.x_shape, np.dtype("f4")), data(rng, "gaussian", g.w_shape, np.dtype("f4"))
        isa_library.rm_reset_reduction_stats()
        assert conv(g, "forward", "f32", x, w, np.zeros(g.y_shape, "f4")) == OK
        isa_library.rm_get_reduction_stats(ctypes.byref(stats))
        assert sum(stats) == x.size and stats[1] + stats[2] <= share * x.size, (kind, list(stats))
        assert stats[2] == 0 or kind == "gaussian", (kind, list(stats))

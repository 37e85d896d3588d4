"""Gradients of images that are sampled by a grid (python/repmath/samples.c), of binary32 beside and at boundaries of rounding, by terms and
slopes of any size: sums of terms that are rounded to binary64, which are rounded again, and sums over channels, then over taps. The
oracle is made of rationals. The other formats and the terms of grids are in test_prepared_functions.py."""

import ctypes
import pathlib
import subprocess
from fractions import Fraction

import numpy as np
import pytest
from exact_oracle import round_rational

ROOT = pathlib.Path(__file__).resolve().parents[2]
OTHER = "int rm_py_converted(int from, int to, long n, const void *x, void *out) { return 1; }"


class Sample(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int) for name in ("format", "dims")),
        *((name, ctypes.c_int64) for name in ("channels", "size", "points", "taps")),
        *((name, ctypes.c_void_p) for name in ("at", "weight", "slope")),
    ]


@pytest.fixture(scope="module", params=["1.0", "0x1p-20"])
def library(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    (folder / "other.c").write_text(OTHER)
    made = folder / "samples.so"
    sources = ROOT / "python/repmath/samples.c", folder / "other.c"
    bound = f"-DRM_PY_SAMPLE_BOUND={request.param}"
    options = "-O2 -std=gnu11 -ffp-contract=off -shared -fPIC".split()
    subprocess.run(["cc", *options, f"-I{ROOT / 'include'}", bound, *map(str, sources), "-o", str(made), "-lm"], check=True)
    found = ctypes.CDLL(str(made))
    found.rm_py_sample_workspace.restype = ctypes.c_int64
    return found, request.param == "1.0"


def gradients(lib, g, x, at, weight, slope):
    """Of g (channels, points), x (channels, size), terms (taps, points) and slopes (dims, taps, points)."""
    s = Sample(2, len(slope), len(x), x.shape[1], g.shape[1], len(at), at.ctypes.data, weight.ctypes.data, slope.ctypes.data)
    work = np.empty(lib.rm_py_sample_workspace(ctypes.byref(s)))
    dx, dgrid = np.full(x.shape, 7, "f4"), np.full((g.shape[1], len(slope)), 7, "f4")
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (g, x, dx, dgrid, work)]
    return lib.rm_py_sample_gradients(ctypes.byref(s), *pointers), dx, dgrid


def nearest(value):
    """Of a rational number in binary32."""
    return np.uint32(round_rational(value, "f32")).view("f4")


def rational(a):
    return [Fraction(float(v)) for v in np.ravel(a)]


def midpoint(rng):
    return (1 + rng.integers(1 << 23) * Fraction(2) ** -23 + Fraction(2) ** -24) * Fraction(2) ** int(rng.integers(-3, 4))


def image_case(rng):
    """Terms that add up to a midpoint, or to a number up to a few places beside it."""
    points = int(rng.integers(1, 40))
    g, weight = rng.standard_normal((1, points)).astype("f4"), rng.standard_normal((1, points))
    rest = sum(Fraction(float(w) * float(v)) for w, v in zip(weight[0, 1:], g[0, 1:], strict=True))
    g[0, 0] = 1
    weight[0, 0] = float(midpoint(rng) - rest + int(rng.integers(-3, 4)) * Fraction(2) ** int(rng.integers(-60, -45)))
    total = sum(Fraction(float(w) * float(v)) for w, v in zip(weight[0], g[0], strict=True))
    return g, weight, np.float32(float(total))


def test_gradient_by_the_image(library):
    lib, right = library
    rng, wrong, opened = np.random.default_rng(1), 0, 0
    for _ in range(400):
        g, weight, want = image_case(rng)
        at, x = np.zeros(weight.shape, np.int64), np.ones((1, 3), "f4")
        left, dx, _ = gradients(lib, g, x, at, weight, np.zeros((2, *at.shape)))
        opened += left & 1
        wrong += not left & 1 and dx[0, 0].view("u4") != want.view("u4")
        assert (dx[0, 1:] == 0).all()
    assert (wrong == 0) == right, wrong
    assert opened < 40


def grid_case(rng):
    """Sums over taps beside a midpoint, of sums over channels that are rounded; the last tap has the sum 1."""
    channels, taps = int(rng.integers(1, 7)), int(rng.integers(2, 5))
    wide = np.exp2(rng.integers(-20, 20, (channels, taps)))
    g, x = rng.standard_normal((channels, 1)).astype("f4"), (rng.standard_normal((channels, taps)) * wide).astype("f4")
    g[0], x[:, -1] = 1, np.eye(channels)[0]
    each = [Fraction(float(sum(a * b for a, b in zip(rational(g), rational(x[:, t]), strict=True)))) for t in range(taps)]
    slope = rng.standard_normal((2, taps, 1))
    for j in range(2):
        rest = sum(a * b for a, b in zip(rational(slope[j, :-1]), each[:-1], strict=True))
        beside = int(rng.integers(-3, 4)) * Fraction(2) ** int(rng.integers(-60, -45))
        slope[j, -1, 0] = float(midpoint(rng) - rest + beside)
    return g, x, slope, [nearest(sum(a * b for a, b in zip(rational(slope[j]), each, strict=True))) for j in range(2)]


def test_gradient_by_the_grid(library):
    lib, right = library
    rng, wrong, opened = np.random.default_rng(2), 0, 0
    for _ in range(400):
        g, x, slope, want = grid_case(rng)
        at = np.arange(x.shape[1])[:, None].copy()
        left, _, dgrid = gradients(lib, g, x, at, np.zeros(at.shape), slope)
        opened += left >> 1
        wrong += not left & 2 and (dgrid[0].view("u4") != np.array(want).view("u4")).any()
    assert (wrong == 0) == right, wrong
    assert opened < 300


def test_what_is_not_finite(library):
    """A NaN of a sum is canonical; a tap outside of the image is a number of 0, which an infinite gradient makes NaN."""
    lib, _ = library
    x, slope = np.array([[np.inf, -np.inf, 1.0, np.nan]], "f4"), np.ones((2, 2, 6))
    at = np.array([[0, 0, 2, 3, -1, -1], [0, 1, 1, 2, 2, -1]])
    slope[:, at < 0] = 0
    slope[1, :, 2] = 0
    g, weight = np.array([[1, 1, -1, 1, np.inf, 2]], "f4"), np.ones(at.shape)
    left, dx, dgrid = gradients(lib, g, x, at, weight, slope)
    nan, inf = np.nan, np.inf
    want = np.array([[inf, inf], [nan, nan], [inf, nan], [nan, nan], [nan, nan], [0, 0]], "f4")
    assert left == 0
    np.testing.assert_array_equal(dgrid, want)
    np.testing.assert_array_equal(dx, np.array([[3, 0, inf, 1]], "f4"))
    assert (dgrid[np.isnan(dgrid)].view("u4") == 0x7FC00000).all()
    x[:] = 3e38
    assert gradients(lib, np.full((1, 6), 3e38, "f4"), x, np.abs(at), weight, slope)[0] == 3  # overflows are left


def test_slopes_that_cancel(library):
    """Beside equal numbers the gradient is 0 where the slopes cancel exactly, and only there; taps outside of the image count nothing."""
    lib, right = library
    rng, nonzero = np.random.default_rng(3), 0
    for turn in range(200):
        slope = rng.standard_normal((2, 4, 1)) * np.exp2(rng.integers(-3, 4))
        slope[:, [3, 2]] = -slope[:, [0, 1]]
        g, x = rng.standard_normal((5, 1)).astype("f4"), np.repeat(rng.standard_normal((5, 1)), 4, axis=1).astype("f4")
        at = np.arange(4)[:, None].copy()
        if turn % 4 == 1:
            slope[:, 3] = np.nextafter(slope[:, 3], 9)
        elif turn % 4 == 2:
            x[2, 1] = np.nextafter(x[2, 1], np.float32(9))
        elif turn % 4 == 3:
            at[[1, 2]], slope[:, [1, 2]] = -1, 0
        left, _, dgrid = gradients(lib, g, x, at, np.zeros(at.shape), slope)
        each = [Fraction(float(sum(a * b for a, b in zip(rational(g), rational(x[:, t]), strict=True)))) for t in range(4)]
        want = [nearest(sum(a * b for a, b in zip(rational(slope[j]), each, strict=True))) for j in range(2)]
        nonzero += np.count_nonzero(want)
        assert not right or left & 2 or (dgrid[0].view("u4") == np.array(want).view("u4")).all(), turn
        assert turn % 4 in (1, 2) or not left & 2
    assert nonzero > 50

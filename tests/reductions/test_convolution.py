"""rm_conv_* against exact sums over the taps, on every instruction set: forward, both gradients, layouts, views, hard data."""

import ctypes

import native
import numpy as np
import pytest
from convolution_library import FORMATS, Conv, Convolution, Geometry, dtype_of, expected, strides
from reductions_library import ENUM, I64, NULL, OK, OVERLAP, SIZE, Reductions, pointer, status

WHAT = pytest.mark.parametrize("what", ["forward", "grad_input", "grad_weight"])
G = Geometry
GEOMETRIES = {
    "1d": G(2, 3, 4, (9,), 3, low=1),
    "1d_all": G(1, 4, 6, (17,), 4, stride=3, dilation=2, low=5, high=2, groups=2),
    "point": G(2, 5, 7, (4, 3), 1),
    "3x3": G(2, 3, 5, (7, 6), 3, low=1),
    "stride2": G(1, 3, 4, (8, 9), 3, stride=2, low=1),
    "point_stride2": G(2, 3, 4, (7, 8), 1, stride=2),
    "7x7": G(1, 3, 9, (11, 12), 7, stride=2, low=3),
    "dilated": G(1, 2, 3, (9, 10), (3, 2), dilation=(2, 3), low=(2, 1)),
    "stride_beside_dilation": G(1, 2, 3, (11, 13), 3, stride=(4, 6), dilation=(2, 4), low=(3, 5)),
    "depthwise": G(2, 6, 6, (5, 6), 3, low=1, groups=6),
    "depthwise_long": G(3, 13, 13, (9, 11), (3, 2), stride=(1, 2), low=(1, 0), high=(2, 1), groups=13),
    "depthwise_1d": G(2, 9, 9, (140,), 4, low=3, groups=9),
    "depthwise_3d": G(2, 5, 5, (5, 6, 7), (2, 3, 2), stride=(1, 1, 2), dilation=(2, 1, 1), low=(1, 1, 0), groups=5),
    "groups": G(1, 4, 6, (6, 5), (2, 3), low=(0, 2), high=(1, 0), groups=2),
    "less_than_all": G(1, 2, 3, (9, 8), 3, stride=2, low=1, high=(-2, -3)),
    "wide_padding": G(1, 2, 2, (3, 2), 2, stride=2, low=4, high=3),
    "kernel_beyond_input": G(1, 2, 3, (2, 2), 5, low=2),
    "3d": G(1, 2, 3, (4, 5, 6), (2, 3, 2), stride=(1, 2, 1), low=(1, 0, 1)),
    "3d_all": G(2, 2, 4, (5, 4, 6), (2, 3, 2), stride=(2, 1, 3), dilation=(1, 2, 2), low=(1, 2, 0), high=(0, 1, 2), groups=2),
    "many_channels": G(1, 40, 30, (3, 5), 3, low=1),
    "many_positions": G(3, 1, 2, (13, 29), 2),
}


@pytest.fixture(scope="module")
def conv(isa_library):
    return Convolution(isa_library)


@pytest.fixture
def rng():
    return np.random.default_rng(50)


def data(rng, kind, shape, dtype):
    x = rng.standard_normal(shape)
    if kind == "integers":  # ties everywhere, and sums that vanish
        x = np.rint(2 * x)
    elif kind == "spread":
        x *= 2.0 ** rng.integers(-8, 9, shape)
    elif kind == "special":
        x = np.where(rng.random(shape) < 0.05, rng.choice([np.inf, -np.inf, np.nan, 0.0, -0.0], shape), x)
    return x.astype(dtype)


def arrays(rng, kind, g, fmt, last=False):
    """x, w, y; their channels last in memory when asked."""
    dtype = dtype_of(fmt)
    made = [data(rng, kind, shape, dtype) for shape in (g.x_shape, g.w_shape, g.y_shape)]
    return [np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1) if last else a for a in made]


def check(conv, g, what, fmt, x, w, y, bias=None, out=None):
    first, second, like = {"forward": (x, w, y), "grad_input": (y, w, x), "grad_weight": (x, y, w)}[what]
    out = np.full_like(like, 7) if out is None else out
    assert conv(g, what, fmt, first, second, out, bias) == OK
    want = expected(g, what, fmt, x, w, y, bias)
    got = out.view(want.dtype)
    wrong = np.argwhere(got != want)
    assert not len(wrong), (len(wrong), want.size, wrong[0], hex(got[tuple(wrong[0])]), hex(want[tuple(wrong[0])]))


@pytest.mark.sample(3)
@WHAT
@pytest.mark.parametrize("name", GEOMETRIES)
def test_geometries(conv, rng, what, name):
    for last in (False, True):
        check(conv, GEOMETRIES[name], what, "f32", *arrays(rng, "gaussian", GEOMETRIES[name], "f32", last))


@WHAT
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("kind", ["gaussian", "integers", "spread"])
def test_formats(conv, rng, what, fmt, kind):
    for name in ("3x3", "1d_all", "stride2", "depthwise_long"):
        g = GEOMETRIES[name]
        x, w, y = arrays(rng, kind, g, fmt)
        bias = data(rng, kind, (g.channels_in if what == "grad_input" else g.channels_out,), dtype_of(fmt))
        check(conv, g, what, fmt, x, w, y, None if what == "grad_weight" else bias)


@WHAT
@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_padding_meets_no_infinity(conv, rng, what, fmt):
    for name in ("3x3", "stride2", "wide_padding", "3d", "depthwise_long", "depthwise_3d"):
        for last in (False, True):
            check(conv, GEOMETRIES[name], what, fmt, *arrays(rng, "special", GEOMETRIES[name], fmt, last))


@WHAT
@pytest.mark.parametrize("name", ["stride2", "depthwise_long"])
def test_views(conv, rng, what, name):
    """Arrays of any strides and alignment, the result among other data that must stay."""
    g = GEOMETRIES[name]

    def view(a, seed):
        order = np.random.default_rng(seed).permutation(a.ndim)
        wide = np.full([2 * a.shape[i] + 1 for i in order], 9, a.dtype)
        v = wide[tuple(slice(1, None, 2) for _ in order)][:: 1 if seed % 2 else -1].transpose(np.argsort(order))
        v[...] = a
        return v, wide

    for seed in range(4):
        (x, _), (w, _), (y, _) = (view(a, seed + i) for i, a in enumerate(arrays(rng, "gaussian", g, "f32")))
        like = {"forward": y, "grad_input": x, "grad_weight": w}[what]
        out, wide = view(np.zeros_like(like), seed)
        check(conv, g, what, "f32", x, w, y, out=out)
        assert np.count_nonzero(wide == 9) >= wide.size - out.size
    shifted = [np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view("V4") for a in arrays(rng, "gaussian", g, "f32")]
    x, w, y = (s.view("f4").reshape(shape) for s, shape in zip(shifted, (g.x_shape, g.w_shape, g.y_shape), strict=True))
    check(conv, g, what, "f32", x, w, y)


EMPTY = {
    "batch": G(0, 2, 2, (3,), 2),
    "channels_in": G(1, 0, 2, (3,), 2),
    "channels_out": G(1, 2, 0, (3,), 2),
    "input": G(1, 2, 2, (0,), 1, low=1),
    "output": G(1, 1, 1, (2,), 5),
}


@WHAT
@pytest.mark.parametrize("g", EMPTY.values(), ids=EMPTY.keys())
def test_empty(conv, rng, what, g):
    x, w, y = arrays(rng, "gaussian", g, "f32")
    bias = np.arange(1, 1 + (g.channels_in if what == "grad_input" else g.channels_out), dtype=np.float32)
    check(conv, g, what, "f32", x, w, y, None if what == "grad_weight" else bias)


def whole_sums(g, what, x, w, y):
    """The result for small integers, whose sums are exact in any order: a product of channels for each tap, without roundings."""
    x, w, y = (a.astype(np.float64) for a in (x, w, y))
    padded = np.pad(x, ((0, 0), (0, 0), *zip(g.low, g.high, strict=True)))
    apart = lambda a, at: a.reshape(*a.shape[:at], g.groups, -1, *a.shape[at + 1 :])  # noqa: E731
    wide = apart(padded, 1)
    weights, outputs = apart(w, 0), apart(y, 1)
    made = {"forward": np.zeros_like(outputs), "grad_input": np.zeros_like(wide), "grad_weight": np.zeros_like(weights)}[what]
    for t in np.ndindex(*g.kernel):
        axes = zip(t, g.dilation, g.stride, g.out, strict=True)
        seen = (..., *(slice(k * d, k * d + s * (n - 1) + 1, s) for k, d, s, n in axes))
        tap = (..., *t)
        if what == "forward":
            made += np.einsum("ngc...,goc->ngo...", wide[seen], weights[tap])
        elif what == "grad_input":
            made[seen] += np.einsum("ngo...,goc->ngc...", outputs, weights[tap])
        else:
            made[tap] = np.einsum("ngcp,ngop->goc", *(a.reshape(*a.shape[:3], -1) for a in (wide[seen], outputs)))
    if what == "grad_input":
        inner = (slice(low, low + n) for low, n in zip(g.low, g.size, strict=True))
        return made.reshape(padded.shape)[(..., *inner)]
    return made.reshape(g.y_shape if what == "forward" else g.w_shape)


# Several blocks of lines and of terms; rows shorter than a vector, of its length, longer than a block.
LARGE = {
    "threads": G(2, 48, 72, (31, 33), 3, low=1),
    "5x5": G(7, 16, 6, (14, 14), 5),
    "rows_of_4": G(70, 30, 9, (4, 4), 3, low=1),
    "rows_of_8": G(10, 33, 7, (8, 8), 3, low=1),
    "long_rows": G(2, 5, 3, (3, 700), 3, low=1),
    "far_rows": G(1, 2, 2, (3, 1200), (2, 3), low=(1, 1), high=(0, 2)),
    "far_taps": G(1, 6, 2, (330, 200), (2, 3), dilation=(250, 1)),
    "stride": G(4, 17, 5, (25, 23), 3, stride=2, low=1),
    "stride_and_dilation": G(3, 15, 4, (33, 35), 3, stride=(2, 3), dilation=(3, 2), low=(3, 2)),
    "1d": G(9, 60, 4, (91,), 5, stride=2, low=2),
    "3d": G(3, 9, 5, (5, 7, 9), (3, 2, 3), stride=(1, 2, 1), low=(1, 0, 1)),
    "depthwise": G(5, 4, 8, (26, 22), 5, low=2, high=(2, 1), groups=4),
    "depthwise_bands": G(2, 19, 19, (75, 41), 3, low=1, groups=19),
    "depthwise_long_rows": G(1, 9, 9, (5, 1300), (3, 7), stride=(1, 2), low=(1, 3), groups=9),
    "depthwise_3d": G(2, 10, 10, (9, 11, 8), (3, 2, 3), stride=(2, 1, 1), low=1, groups=10),
}


@WHAT
@pytest.mark.parametrize("name", LARGE)
def test_large(isa_library, conv, rng, what, name):
    """In every format, and the same from 1 and 2 threads."""
    g = LARGE[name]
    for fmt in ("f32", "f64", "bf16"):
        limit = 1 if fmt == "bf16" else 8  # sums that the format holds
        x, w, y = (rng.integers(-limit, limit + 1, s).astype(dtype_of(fmt)) for s in (g.x_shape, g.w_shape, g.y_shape))
        if fmt == "bf16":
            x, y = (np.where(rng.random(a.shape) < 0.02, a, 0).astype(a.dtype) for a in (x, y))
        first, second, like = {"forward": (x, w, y), "grad_input": (y, w, x), "grad_weight": (x, y, w)}[what]
        want = whole_sums(g, what, x, w, y)
        for n in (1, 2):
            Reductions(isa_library).threads(n)
            out = np.full_like(like, 7)
            assert conv(g, what, fmt, first, second, out) == OK
            assert np.array_equal(out.astype(np.float64), want.astype(dtype_of(fmt)).astype(np.float64)), fmt


def random_geometry(rng):
    d = int(rng.integers(1, 4))
    draw = lambda low, high: tuple(int(v) for v in rng.integers(low, high, d))  # noqa: E731
    ones, groups = (1,) * d, int(rng.choice([1, 1, 2, 3]))
    channels = [groups * int(rng.integers(1, n)) for n in ((30, 20, 8)[d - 1] // groups + 2, 10)]
    if rng.random() < 0.25:  # depthwise
        channels = [groups := int(rng.integers(1, 20))] * 2
    stride, dilation = (draw(1, 6) if rng.random() < 0.5 else ones for _ in range(2))
    size, kernel = draw(3, (400, 40, 12)[d - 1]), draw(1, (12, 7, 4)[d - 1])
    batch = int(rng.integers(1, 9))
    return G(batch, *channels, size, kernel, stride=stride, dilation=dilation, low=draw(0, 4), high=draw(0, 4), groups=groups)


@WHAT
@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_random_geometries(isa_library, conv, rng, what, fmt):
    seen = 0
    while seen < 100:
        g = random_geometry(rng)
        if 0 in g.out:
            continue
        x, w, y = (rng.integers(-4, 5, s).astype(dtype_of(fmt)) for s in (g.x_shape, g.w_shape, g.y_shape))
        first, second, like = {"forward": (x, w, y), "grad_input": (y, w, x), "grad_weight": (x, y, w)}[what]
        Reductions(isa_library).threads(1 + seen % 2)
        out = np.full_like(like, 7)
        assert conv(g, what, fmt, first, second, out) == OK
        assert np.array_equal(out, whole_sums(g, what, x, w, y)), vars(g)
        seen += 1


def test_output_size(isa_library):
    for g in GEOMETRIES.values():
        out = (I64 * 3)()
        assert isa_library.rm_conv_output_size(ctypes.byref(g.struct()), out) == OK
        assert tuple(out)[: g.dims] == g.out
    assert isa_library.rm_conv_output_size(None, out) == status(NULL, 1)
    assert isa_library.rm_conv_output_size(ctypes.byref(g.struct()), None) == status(NULL, 2)


def test_bad_arguments(isa_library, conv, rng):
    g = GEOMETRIES["3x3"]
    x, w, y = arrays(rng, "gaussian", g, "f32")
    out = np.full(g.y_shape, 7, np.float32)
    call = isa_library.rm_conv_forward

    def forward(fmt=2, c=None, px=None, pw=None, po=None, so=None, sx=None):
        arguments = [px or pointer(x), sx or strides(x), pw or pointer(w), strides(w), None, I64(0)]
        return call(fmt, ctypes.byref(c or g.struct()), *arguments, po or pointer(out), so or strides(out))

    assert forward(fmt=4) == forward(fmt=-1) == status(ENUM, 1)
    assert call(2, None, pointer(x), strides(x), pointer(w), strides(w), None, I64(0), pointer(out), strides(out)) == status(
        NULL, 2
    )
    nothing = ctypes.c_void_p(None)
    assert call(
        2, ctypes.byref(g.struct()), nothing, strides(x), pointer(w), strides(w), None, I64(0), pointer(out), strides(out)
    ) == status(NULL, 3)
    assert call(
        2, ctypes.byref(g.struct()), pointer(x), strides(x), pointer(w), None, None, I64(0), pointer(out), strides(out)
    ) == status(NULL, 6)
    assert call(
        2, ctypes.byref(g.struct()), pointer(x), strides(x), pointer(w), strides(w), None, I64(0), nothing, strides(out)
    ) == status(NULL, 9)
    assert forward(po=pointer(x)) == status(OVERLAP, 9)
    assert forward(so=strides(np.broadcast_to(np.float32(0), g.y_shape))) == status(OVERLAP, 9)
    bad = {"dims": [0, 4], "batch": [-1, 2**31], "channels_in": [-1, 2**40], "channels_out": [-1], "groups": [0, -1, 2]}
    for name, values in bad.items():
        for value in values:
            c = g.struct()
            setattr(c, name, value)
            assert forward(c=c) == status(SIZE, 2), (name, value)
    for name in ("in_", "kernel", "stride", "dilation", "padding_low", "padding_high"):
        for value in [-(2**31), 2**31] + {"padding_high": [], "padding_low": [-1], "in_": [-1]}.get(name, [-1, 0]):
            c = g.struct()
            getattr(c, name)[1] = value
            assert forward(c=c) == status(SIZE, 2), (name, value)
    assert (out == 7).all()
    assert isinstance(g.struct(), Conv)


def test_control_with_bounds_too_small(rng):
    """A library whose bounds are shrunk below truth must give wrong elements here."""
    path = native.control_library()
    lib = Convolution(ctypes.CDLL(str(path)))
    g = G(1, 64, 8, (8, 9), 3, low=1)
    wrong = 0
    for seed in range(4):
        x, w, y = arrays(np.random.default_rng(seed), "spread", g, "f32")
        x[:, 1::2] = -x[:, ::2]  # cancels but for the differences of w
        w[:, 1::2] = np.nextafter(w[:, ::2], np.float32(np.inf))
        out = np.full(g.y_shape, 7, np.float32)
        assert lib(g, "forward", "f32", x, w, out) == OK
        wrong += np.count_nonzero(out.view(np.uint32) != expected(g, "forward", "f32", x, w, y))
    assert wrong

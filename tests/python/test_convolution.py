"""repmath.conv1d ... conv3d, their transposes and gradients: shapes and arguments as PyTorch's, values exact sums, rounded once."""

import itertools
import warnings

import numpy as np
import pytest
from convolution_library import FORMATS, Geometry, dtype_of, expected

import repmath

RNG = np.random.default_rng(60)
DIMS = pytest.mark.parametrize("dims", [1, 2, 3])
CONV = {d: getattr(repmath, f"conv{d}d") for d in (1, 2, 3)}
TRANSPOSE = {d: getattr(repmath, f"conv_transpose{d}d") for d in (1, 2, 3)}
INPUT = {d: getattr(repmath, f"conv{d}d_grad_input") for d in (1, 2, 3)}
WEIGHT = {d: getattr(repmath, f"conv{d}d_grad_weight") for d in (1, 2, 3)}


def same(got, bits):
    assert got.shape == bits.shape
    assert np.array_equal(np.ascontiguousarray(got).view(bits.dtype), bits)


@DIMS
@pytest.mark.parametrize("fmt", FORMATS)
def test_values(dims, fmt):
    """Forward, gradients and the transpose, by the same oracle as the C functions."""
    g = Geometry(2, 4, 6, (6, 5, 4)[:dims], (3, 2, 2)[:dims], stride=(2, 1, 2)[:dims], low=(1, 0, 1)[:dims], groups=2)
    dtype = dtype_of(fmt)
    x, w, y = (RNG.standard_normal(s).astype(dtype) for s in (g.x_shape, g.w_shape, g.y_shape))
    bias, back = (RNG.standard_normal(n).astype(dtype) for n in (6, 4))
    options = {"stride": g.stride, "padding": g.low, "groups": 2}
    forward = expected(g, "forward", fmt, x, w, y, bias)
    same(CONV[dims](x, w, bias, **options), forward)
    same(INPUT[dims](x.shape, w, y, **options), expected(g, "grad_input", fmt, x, w, y))
    same(WEIGHT[dims](x, w.shape, y, **options), expected(g, "grad_weight", fmt, x, w, y))
    left = [n - ((p - 1) * s - 2 * a + k) for n, p, s, a, k in zip(g.size, g.out, g.stride, g.low, g.kernel, strict=True)]
    same(TRANSPOSE[dims](y, w, back, output_padding=left, **options), expected(g, "grad_input", fmt, x, w, y, back))

    last = [np.moveaxis(a, 1, -1) for a in (x, y)]
    got = CONV[dims](last[0], w, bias, channels_last=True, **options)
    same(np.moveaxis(got, -1, 1), forward)
    shape = (x.shape[0], *x.shape[2:], x.shape[1])
    got = INPUT[dims](shape, w, last[1], channels_last=True, **options)
    assert got.shape == shape
    same(np.moveaxis(got, -1, 1), expected(g, "grad_input", fmt, x, w, y))
    same(WEIGHT[dims](last[0], w.shape, last[1], channels_last=True, **options), expected(g, "grad_weight", fmt, x, w, y))
    same(CONV[dims](x[0], w, bias, **options), forward[0])
    out = np.full(forward.shape, 7, dtype)
    assert CONV[dims](x, w, bias, out=out, **options) is out
    same(out, forward)


@DIMS
def test_shapes_and_values_are_those_of_torch(dims):
    """On small integers, whose sums are exact in any order."""
    torch = pytest.importorskip("torch")
    f = torch.nn.functional
    for seed in range(40):
        rng = np.random.default_rng(seed)
        pick = lambda low, high: tuple(int(v) for v in rng.integers(low, high, dims))  # noqa: E731, B023
        groups = int(rng.integers(1, 3))
        size, kernel, stride, dilation, padding = pick(5, 9), pick(1, 4), pick(1, 4), pick(1, 3), pick(0, 3)
        x = np.rint(3 * rng.standard_normal((2, 2 * groups, *size))).astype("f4")
        w = np.rint(3 * rng.standard_normal((3 * groups, 2, *kernel))).astype("f4")
        bias = np.rint(3 * rng.standard_normal(3 * groups)).astype("f4")
        options = {"stride": stride, "dilation": dilation, "padding": padding, "groups": groups}
        want = getattr(f, f"conv{dims}d")(*map(torch.from_numpy, (x, w, bias)), **options).numpy()
        got = CONV[dims](x, w, bias, **options)
        assert got.shape == want.shape and np.array_equal(got, want)
        same_size = CONV[dims](x, w, dilation=dilation, padding="same", groups=groups)
        theirs = getattr(f, f"conv{dims}d")(*map(torch.from_numpy, (x, w)), dilation=dilation, padding="same", groups=groups)
        assert np.array_equal(same_size, theirs.numpy())
        extra = tuple(int(rng.integers(0, max(s, d))) for s, d in zip(stride, dilation, strict=True))
        wt = np.rint(3 * rng.standard_normal((2 * groups, 3, *kernel))).astype("f4")
        wide = (2,) * dims  # so that no size is negative
        x2 = np.rint(3 * rng.standard_normal((2, 2 * groups, *(n + 2 for n in wide)))).astype("f4")
        options = {"stride": stride, "dilation": dilation, "output_padding": extra, "groups": groups}
        want = getattr(f, f"conv_transpose{dims}d")(*map(torch.from_numpy, (x2, wt, bias)), **options).numpy()
        got = TRANSPOSE[dims](x2, wt, bias, **options)
        assert got.shape == want.shape and np.array_equal(got, want)


def test_padding_words_and_dtypes():
    x, w = np.ones((1, 2, 6, 6), "f4"), np.ones((3, 2, 3, 3), "f4")
    assert repmath.conv2d(x, w, padding="valid").shape == (1, 3, 4, 4)
    assert repmath.conv2d(x, w, padding="same", dilation=2).shape == (1, 3, 6, 6)
    assert repmath.conv2d(x.astype("f8"), w).dtype == np.float64
    assert repmath.conv2d(x.astype("i4"), w.astype(bool)).dtype == np.float64
    assert repmath.conv2d(x.astype("f2"), w.astype("f2")).dtype == np.float16
    out = np.empty((1, 3, 4, 4))
    assert repmath.conv2d(x, w, out=out) is out and out[0, 0, 0, 0] == 18
    big = np.arange(36.0, dtype="f4").reshape(1, 1, 6, 6)  # the result may share memory with an argument
    want = repmath.conv2d(big, np.ones((1, 1, 3, 3), "f4"), padding=1)
    assert np.array_equal(repmath.conv2d(big, np.ones((1, 1, 3, 3), "f4"), padding=1, out=big), want)


@pytest.mark.parametrize(
    ("error", "words", "change"),
    [
        (ValueError, "w must have 4 axes", {"w": np.ones((3, 2, 3), "f4")}),
        (ValueError, "x must have 4 axes", {"x": np.ones((2, 3), "f4")}),
        (ValueError, "x has 2 channels in all", {"w": np.ones((3, 1, 3, 3), "f4")}),
        (ValueError, "groups is 2", {"groups": 2}),
        (ValueError, "groups must be at least 1", {"groups": 0}),
        (ValueError, "bias has shape", {"bias": np.ones(2, "f4")}),
        (ValueError, "stride must be at least 1", {"stride": 0}),
        (ValueError, "stride must have 2 values", {"stride": (1, 2, 3)}),
        (TypeError, "stride must be an integer", {"stride": 1.5}),
        (ValueError, "dilation must be at least 1", {"dilation": (1, 0)}),
        (ValueError, "padding must be at least 0", {"padding": -1}),
        (ValueError, "padding must be 'same', 'valid'", {"padding": "full"}),
        (ValueError, "needs stride 1", {"padding": "same", "stride": 2}),
        (ValueError, "kernel without elements", {"w": np.ones((3, 2, 0, 3), "f4")}),
        (TypeError, "x has dtype complex", {"x": np.ones((1, 2, 5, 5), complex)}),
        (ValueError, "out has shape", {"out": np.empty((1, 3, 5, 5), "f4")}),
        (TypeError, "out has dtype", {"out": np.empty((1, 3, 3, 3), "f2")}),
        (ValueError, "beyond 2", {"x": np.full((1, 2, 5, 5), 2**60)}),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_bad_arguments(error, words, change):
    arguments = {"x": np.ones((1, 2, 5, 5), "f4"), "w": np.ones((3, 2, 3, 3), "f4")} | change
    with pytest.raises(error, match=words):
        repmath.conv2d(**arguments)


def test_bad_arguments_of_the_others():
    x, w, g = np.ones((1, 2, 5, 5), "f4"), np.ones((3, 2, 3, 3), "f4"), np.ones((1, 3, 3, 3), "f4")
    for call, words in (
        (lambda: repmath.conv2d_grad_input((1, 2, 5), w, g), "shape must have 4 values"),
        (lambda: repmath.conv2d_grad_input(x.shape, w, g[..., 1:]), "g has shape"),
        (lambda: repmath.conv2d_grad_weight(x, w.shape, g[..., 1:]), "g has shape"),
        (lambda: repmath.conv2d_grad_weight(x[0], w.shape, g), "x must have 4 axes"),
        (lambda: repmath.conv_transpose2d(g, w, output_padding=1), "output_padding must be less"),
        (lambda: repmath.conv_transpose2d(x, w), "x has 2 channels but w has 3"),
        (lambda: repmath.conv_transpose2d(g, w, padding=6), "negative size"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_batch_and_layout_do_not_change_bits():
    x, w = RNG.standard_normal((4, 8, 9, 10)).astype("f4"), RNG.standard_normal((6, 8, 3, 3)).astype("f4")
    whole = repmath.conv2d(x, w, padding=1)
    parts = np.concatenate([repmath.conv2d(x[i : i + 1], w, padding=1) for i in range(4)])
    assert whole.tobytes() == parts.tobytes()
    for order in itertools.islice(itertools.permutations(range(4)), 0, 24, 5):
        other = np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))
        assert repmath.conv2d(other, w, padding=1).tobytes() == whole.tobytes()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_warnings_are_those_of_sums(dtype):
    """overflow and invalid, as numpy.errstate asks for, from the forward pass and both gradients."""
    most = np.finfo(dtype).max
    x, w, none = np.full((1, 1, 4), most, dtype), np.full((1, 1, 2), 2, dtype), np.ones((1, 1, 3), dtype)
    infinite = np.array([[[np.inf, -np.inf, 0, 0]]], dtype)
    calls = {
        "convolution": lambda x, w: repmath.conv1d(x, w),
        "convolution gradient": lambda x, w: repmath.conv1d_grad_weight(x, (1, 1, 2), none * w[0, 0, 0]),
    }
    for name, call in calls.items():
        with pytest.warns(RuntimeWarning, match=f"overflow encountered in {name}"):
            call(x, w)
        with pytest.warns(RuntimeWarning, match=f"invalid value encountered in {name}"):
            call(infinite, w)
        with np.errstate(over="raise", invalid="raise"):
            with pytest.raises(FloatingPointError, match="overflow"):
                call(x, w)
            with pytest.raises(FloatingPointError, match="invalid"):
                call(infinite, w)
            call(none.repeat(2, -1)[..., :4], w)
        seen = []
        with np.errstate(over="call", invalid="ignore", call=lambda what, code, seen=seen: seen.append((what, code))):
            call(x, w)
            call(infinite, w)
        assert seen == [("overflow", 2)]
    with pytest.warns(RuntimeWarning, match="overflow encountered in convolution gradient"):
        repmath.conv1d_grad_input((1, 1, 4), w, np.full((1, 1, 3), most, dtype))
    with pytest.warns(RuntimeWarning, match="overflow encountered in convolution"):
        repmath.conv_transpose1d(x, w)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        repmath.conv1d(np.array([[[np.nan, 1, 2]]], dtype), w)  # a NaN that came in is no error

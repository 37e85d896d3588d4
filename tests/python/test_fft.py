"""repmath.fft: NumPy's names, shapes and dtypes, and the bits of the definition."""

import inspect
import itertools
from fractions import Fraction

import fft_oracle as oracle
import numpy as np
import pytest
from exact_oracle import round_rational
from fft_oracle import BY_N, COMPLEX, FROM_REAL, ONE, ROOT, TO_REAL

import repmath.fft

rng = np.random.default_rng(1)
FORWARD = {None: ONE, "backward": ONE, "ortho": ROOT, "forward": BY_N}
INVERSE = {None: BY_N, "backward": BY_N, "ortho": ROOT, "forward": ONE}
KINDS = {  # name: kind, sign
    "fft": (COMPLEX, -1),
    "ifft": (COMPLEX, 1),
    "rfft": (FROM_REAL, -1),
    "irfft": (TO_REAL, 1),
    "hfft": (TO_REAL, -1),
    "ihfft": (FROM_REAL, 1),
}


def values(shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind in "bu":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "i":
        return rng.integers(-50, 50, shape).astype(dtype)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.kind == "c" else x).astype(dtype)


def bits(a):
    return np.ascontiguousarray(a).view(np.uint32 if a.dtype in (np.float32, np.complex64) else np.uint64)


def expected(a, lengths, axes, kind, sign, scale):
    """The transform of an array over these axes by the oracle, rows at a time."""
    a = a.astype(a.dtype.newbyteorder("="))
    small = a.dtype in (np.float16, np.float32, np.complex64)
    fmt, real, cplx = ("f32", np.float32, np.complex64) if small else ("f64", np.float64, np.complex128)
    counts = [*lengths[:-1], lengths[-1] // 2 + 1] if kind == TO_REAL else lengths
    index, pad = [slice(None)] * a.ndim, [(0, 0)] * a.ndim
    for axis, count in zip(axes, counts, strict=True):
        index[axis], pad[axis] = slice(count), (0, max(0, count - a.shape[axis]))
    a = np.pad(a[tuple(index)], pad)
    last = range(a.ndim - len(axes), a.ndim)
    moved = np.moveaxis(a, axes, last)
    batch = moved.shape[: a.ndim - len(axes)]
    rows = [oracle.transform(moved[i], fmt, kind, sign, scale, tuple(lengths)) for i in np.ndindex(*batch)]
    found = np.array(rows)
    if kind == TO_REAL:
        return np.moveaxis(found.reshape(*batch, *lengths).view(real), last, axes)
    return np.moveaxis(found.view(cplx).reshape(*batch, *rows[0].shape[:-1]), last, axes)


def same(got, want):
    return got.dtype == want.dtype and got.shape == want.shape and np.array_equal(bits(got), bits(want))


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i4", "?", ">f4", ">c16"])
@pytest.mark.parametrize("name", KINDS)
def test_one_axis(name, dtype):
    kind, sign = KINDS[name]
    function, table = getattr(repmath.fft, name), FORWARD if name in ("fft", "rfft", "hfft") else INVERSE
    a = values((3, 6, 2), dtype)
    if kind == FROM_REAL and a.dtype.kind == "c":
        with pytest.raises(TypeError, match="a must be real"):
            function(a)
        return
    for axis, n, norm in itertools.product((-1, 0, 1), (None, 1, 4, 9), table):
        length = n or (2 * (a.shape[axis] - 1) if kind == TO_REAL else a.shape[axis])
        got = function(a, n, axis, norm)
        assert same(got, expected(a, (length,), (axis,), kind, sign, table[norm])), (axis, n, norm)
        theirs = getattr(np.fft, name)(a.astype(a.dtype.newbyteorder("=")), n, axis, norm)
        assert got.shape == theirs.shape and got.dtype.kind == theirs.dtype.kind


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", ["fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn", "irfftn"])
def test_several_axes(name, dtype):
    kind, sign = KINDS[name.rstrip("2n")]
    table = INVERSE if sign > 0 else FORWARD
    a = values((2, 3, 4), dtype)
    if kind == FROM_REAL and a.dtype.kind == "c":
        with pytest.raises(TypeError, match="a must be real"):
            getattr(repmath.fft, name)(a)
        return
    default = (-2, -1) if name.endswith("2") else (0, 1, 2)
    for s, axes in (
        (None, None), ((3, 5), (0, 2)), ((2, -1), (2, 1)), (None, (1,)), (None, (2, 0)), ((4, 2, 6), (0, 1, 2))
    ):  # fmt: skip
        places = axes or default
        lengths = [a.shape[p] if s is None or s[i] == -1 else s[i] for i, p in enumerate(places)]
        if kind == TO_REAL and s is None:
            lengths[-1] = 2 * (lengths[-1] - 1)
        for norm in table:
            got = getattr(repmath.fft, name)(a, s, **({} if axes is None else {"axes": axes}), norm=norm)
            assert same(got, expected(a, lengths, places, kind, sign, table[norm])), (s, axes, norm)
            theirs = getattr(np.fft, name)(a, s, **({} if axes is None else {"axes": axes}), norm=norm)
            assert got.shape == theirs.shape


def test_the_last_axes_by_default():
    a = values((2, 3, 4), "f8")
    assert same(repmath.fft.fftn(a, (2, 5)), repmath.fft.fftn(a, (2, 5), (1, 2)))
    assert same(repmath.fft.fftn(a, axes=()), a.astype(complex))


def test_layouts_and_batches():
    a = values((40, 12), "c8")
    want = repmath.fft.fft(a)
    for other in (np.asfortranarray(a), a[::-1][::-1], np.repeat(a, 2, 1)[:, ::2]):
        assert same(repmath.fft.fft(other), want)
    for i in (0, 7, 39):
        assert same(repmath.fft.fft(a[i]), want[i])
    assert same(repmath.fft.fft(a.tolist()), repmath.fft.fft(a.astype(complex)))
    assert repmath.fft.fft(a[:0]).shape == (0, 12) and repmath.fft.rfftn(np.zeros((0, 2, 4)), axes=(1, 2)).shape == (0, 2, 3)


def test_frequencies_are_quotients_rounded_once():
    for n, d in ((1, 1.0), (8, 0.1), (9, 0.3), (10, 1e-310), (7, -2.5), (1000, 1 / 3)):
        for name, ks in (("fftfreq", [*range((n + 1) // 2), *range(-(n // 2), 0)]), ("rfftfreq", range(n // 2 + 1))):
            got = getattr(repmath.fft, name)(n, d)
            want = [round_rational(Fraction(k) / (n * Fraction(d)), "f64") for k in ks]
            assert got.dtype == np.float64 and got.view(np.uint64).tolist() == want


def test_shifts():
    a = values((3, 4), "f4")
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 1, (0, 1)):
            assert same(getattr(repmath.fft, name)(a, axes), getattr(np.fft, name)(a, axes))


def test_errors_name_the_argument():
    a = np.ones((2, 3))
    f = repmath.fft
    for error, match, call in (
        (ValueError, "n must be at least 1", lambda: f.fft(a, 0)),
        (TypeError, "n must be an integer", lambda: f.fft(a, 2.0)),
        (ValueError, "axis", lambda: f.fft(a, axis=2)),
        (TypeError, "axis must be an integer", lambda: f.fft(a, axis=0.5)),
        (ValueError, "norm must be", lambda: f.fft(a, norm="both")),
        (TypeError, "norm must be", lambda: f.fft(a, norm=1)),
        (TypeError, "a has dtype", lambda: f.fft(np.ones(3, np.longdouble))),
        (TypeError, "a has dtype", lambda: f.fft(np.array([object()]))),
        (ValueError, r"a has integers beyond 2\*\*53", lambda: f.fft([2**60 + 1])),
        (TypeError, "a must be an array", lambda: f.fft(None)),
        (ValueError, "n must be at least 1", lambda: f.irfft([1.0])),
        (ValueError, "s has 3 lengths", lambda: f.fftn(a, (1, 2, 3))),
        (ValueError, "s has 1 lengths for 2 axes", lambda: f.fftn(a, (1,), (0, 1))),
        (ValueError, "axes has an axis twice", lambda: f.fftn(a, axes=(1, -1))),
        (ValueError, "axes must name", lambda: f.rfftn(a, axes=())),
        (ValueError, "s must be at least 1", lambda: f.fftn(a, (0, 1))),
        (TypeError, "axes must be an integer", lambda: f.fftn(a, axes="01")),
        (ValueError, "n must be at least 1", lambda: f.fftfreq(0)),
        (TypeError, "n must be an integer", lambda: f.rfftfreq(3.5)),
        (ValueError, "d must be finite", lambda: f.fftfreq(3, 0.0)),
        (TypeError, "d must be a number", lambda: f.fftfreq(3, "x")),
    ):
        with pytest.raises(error, match=match):
            call()


def test_names_and_parameters_are_those_of_numpy():
    for name in repmath.fft.__all__:
        ours = list(inspect.signature(getattr(repmath.fft, name)).parameters)
        theirs = [p for p in inspect.signature(getattr(np.fft, name)).parameters if p not in ("out", "device")]
        assert ours == theirs + ["dtype"] * name.endswith("freq"), name  # which the array API has, and NumPy lacks
    assert set(repmath.fft.__all__) <= set(dir(np.fft))


def test_tensors():
    torch = pytest.importorskip("torch")
    a = values((3, 5), "c8")
    got = repmath.fft.fft(torch.from_numpy(a))
    assert isinstance(got, torch.Tensor) and got.dtype == torch.complex64
    assert same(got.numpy(), repmath.fft.fft(a))

"""softmax, log_softmax and the gradient of softmax of float32 along columns, which have a lane of a vector each: the results and exceptions of
rows, and the checks at and beside boundaries of rounding that rows pass, on every instruction set."""

import ctypes

import numpy as np
import pytest
import row_boundaries
import softmax_library
from reductions_library import OK
from softmax_library import call, kind, result

BLOCK = 16  # columns that are computed together
WHATS = ("softmax", "log_softmax", "softmax_backward")


def by_columns(lib, what, fmt, *arrays):
    """The bits of rows, each computed as every column of a block, with other columns beside it."""
    if what not in WHATS or fmt != "f32":
        return result(lib, what, fmt, *arrays)
    made = []
    for k in range(len(arrays[0])):
        columns = [np.asfortranarray(np.repeat(a[k : k + 1], BLOCK, axis=0)) for a in arrays]
        out = np.asfortranarray(np.full(columns[0].shape, 7, kind(fmt)))
        assert call(lib, what, fmt, *columns, out) == OK
        assert (out == out[:1]).all()
        made.append(out[0])
    return np.array(made)


def plainly(lib, what, fmt, *arrays):
    """The control: binary64, rounded without a test."""
    x = [a.astype(np.float64) for a in arrays]
    if what == "softmax_backward":
        made = x[1] * (x[0] - (x[0] * x[1]).sum(1, keepdims=True))
    else:
        e = np.exp(x[0] - x[0].max(1, keepdims=True))
        made = e / e.sum(1, keepdims=True)
        if what == "log_softmax":
            made = x[0] - x[0].max(1, keepdims=True) - np.log(e.sum(1, keepdims=True))
    return made.astype(np.float32).view(np.uint32)


@pytest.mark.parametrize("what", WHATS)
def test_beside_boundaries(isa_library, what, monkeypatch):
    def check():
        if what == "softmax_backward":
            row_boundaries.check_gradients(isa_library, "f32")
        else:
            row_boundaries.check_rows(isa_library, "f32", what)

    monkeypatch.setattr(softmax_library, "result", by_columns)
    check()
    monkeypatch.setattr(softmax_library, "result", plainly)
    with pytest.raises(AssertionError), np.errstate(all="ignore"):
        check()


def data(rng, rows, n):
    """Rows that have something about them, one after the other."""
    x = (rng.standard_normal((rows, n)) * np.array([1.0, 1e-3, 30.0, 200.0])[np.arange(rows) % 4, None]).astype(np.float32)
    x[3::11] = x[3::11, :1]
    x[5::11, ::2] = -np.inf
    x[6::11, -1] = np.nan
    x[7::11, 0] = np.inf
    x[8::11] = -np.inf
    x[9::11] *= np.float32(1e-40)
    x[10::11] = np.round(x[10::11])
    return x


@pytest.mark.parametrize("n", [1, 2, 5, 32, 33, 130])
def test_as_rows(isa_library, n):
    rng = np.random.default_rng(n)
    x = data(rng, 53, n)  # no multiple of a block
    g = data(rng, 53, n)[rng.permutation(53)]
    y = result(isa_library, "softmax", "f32", x).view(np.float32)
    for what, arrays in (("softmax", [x]), ("log_softmax", [x]), ("softmax_backward", [g, y]), ("softmax_backward", [g, x])):
        want = result(isa_library, what, "f32", *arrays)
        out = np.asfortranarray(np.full(x.shape, 7, np.uint32))
        assert call(isa_library, what, "f32", *[np.asfortranarray(a) for a in arrays], out) == OK
        assert (out == want).all(), (what, np.argwhere(out != want)[:5])
        wide = np.full((n, 3 * 53), 7, np.uint32)  # columns of a wider matrix; nothing beside them is written
        assert call(isa_library, what, "f32", *[np.asfortranarray(a) for a in arrays], wide[:, 53:106].T) == OK
        assert (wide[:, 53:106].T == want).all() and (wide[:, :53] == 7).all() and (wide[:, 106:] == 7).all()


def test_exceptions(isa_library):
    """Invalid: infinite maxima, signalling NaN, and sums that are infinity less infinity; not beside a quiet NaN."""
    libm = ctypes.CDLL(None)
    quiet, signalling = np.float32(np.nan), np.array(0x7F800001, np.uint32).view(np.float32)
    rng = np.random.default_rng(1)
    for what, value, invalid in (
        ("softmax", quiet, 0),
        ("softmax", signalling, 1),
        ("log_softmax", np.float32(np.inf), 1),
        ("softmax", np.float32(1.0), 0),
        ("softmax_backward", quiet, 0),
        ("softmax_backward", signalling, 1),
        ("softmax_backward", np.float32(np.inf), 1),  # times 0
    ):
        x = rng.standard_normal((BLOCK, 4)).astype(np.float32)
        x.view(np.uint32)[3, 2] = value.view(np.uint32)
        y = np.abs(x)
        y[3, 2] = 0.0
        arrays = [x] if what != "softmax_backward" else [x, y]
        for laid in (np.ascontiguousarray, np.asfortranarray):
            given, out = [laid(a) for a in arrays], laid(np.zeros(x.shape, np.uint32))
            libm.feclearexcept(0x3D)
            assert call(isa_library, what, "f32", *given, out) == OK
            assert (libm.fetestexcept(1) != 0) == invalid, (what, value, laid)


def near_sums(rng, n):
    """Rows g and y whose sum of g y is near to some g: where one y is nearly 1, where it is 1, where all g are equal or nearly so, and where the
    sum cancels."""
    g = rng.standard_normal((BLOCK, n)).astype(np.float32)
    y = np.ldexp(rng.random((BLOCK, n)), rng.integers(-60, -20, (BLOCK, n))).astype(np.float32)
    at = rng.integers(0, n, BLOCK)
    y[np.arange(BLOCK), at] = np.array([1.0, 1.0 - 2.0**-24, 1.0 + 2.0**-23, 0.9999], np.float32)[np.arange(BLOCK) % 4]
    y[::8] = np.where(y[::8] == 1.0, y[::8], 0.0)
    g[1::8] = g[1::8, :1]
    g[2::8] = 1.0 + rng.integers(0, 2, g[2::8].shape) * 2.0**-23
    g[3::8, 1::2], y[3::8, 1::2] = -g[3::8, : n - n % 2 : 2], y[3::8, : n - n % 2 : 2]
    return g, y


@pytest.mark.parametrize("n", [1, 2, 33, 130, 700])
def test_near_sums(isa_library, n):
    """Results that a compensated sum decides, in rows and in columns."""
    g, y = near_sums(np.random.default_rng(n), n)
    want = np.array([softmax_library.expected("softmax_backward", "f32", *row) for row in zip(g, y, strict=True)], np.uint32)
    assert (result(isa_library, "softmax_backward", "f32", g, y) == want).all()
    out = np.asfortranarray(np.full(g.shape, 7, np.uint32))
    assert call(isa_library, "softmax_backward", "f32", np.asfortranarray(g), np.asfortranarray(y), out) == OK
    assert (out == want).all()
    if n > 2:  # the control
        assert (plainly(isa_library, "softmax_backward", "f32", g, y) != want).any()

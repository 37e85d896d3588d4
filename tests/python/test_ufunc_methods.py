"""The methods of the ufuncs of several arguments (reduce, accumulate, reduceat, at, outer) and calls on overlapping views, in every
format: the bits of a loop in Python over single values, in NumPy's order."""

import itertools

import numpy as np
import pytest

import repmath

ml_dtypes = pytest.importorskip("ml_dtypes")
TWO = [f for f in repmath._core.ufuncs.values() if f.nin == 2]
DTYPES = [np.dtype("f2"), np.dtype(ml_dtypes.bfloat16), np.dtype("f4"), np.dtype("f8")]
every = pytest.mark.parametrize("f", TWO, ids=lambda f: f.__name__)
formats = pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def same(a, b):
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def sample(dtype, *shape):
    """Numbers of both signs near 1, for which steps keep rounding."""
    rng = np.random.default_rng(21)
    return (rng.choice([-1, 1, 1], shape) * np.exp2(rng.uniform(-2, 1, shape))).astype(dtype)


def accumulated(f, line, first=None):
    """All partial results of f from left to right."""
    return list(itertools.accumulate(line, lambda a, b: f(a, b), **({} if first is None else {"initial": first})))


def reduced(f, line, first=None):
    return accumulated(f, line, first)[-1]


def along(function, x, axis):
    """function(line) of each line of the axis, as an array."""
    moved = np.moveaxis(x, axis, -1)
    lines = np.array([function(line) for line in moved.reshape(-1, moved.shape[-1])], x.dtype)
    return (
        np.moveaxis(lines.reshape(moved.shape[:-1] + lines.shape[1:]), -1, axis)
        if lines.ndim == 2
        else lines.reshape(moved.shape[:-1])
    )


def layouts(x):
    """The same numbers, in C order, in Fortran order, every other one of a larger array, backwards, and unaligned."""
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    backwards = x[..., ::-1].copy()[..., ::-1]
    raw = np.zeros(x.nbytes + 1, np.uint8)
    raw[1:] = x.reshape(-1).view(np.uint8)
    return [x, np.asfortranarray(x), wide[..., ::2], backwards, raw[1:].view(x.dtype).reshape(x.shape)]


@every
@formats
def test_reduce(f, dtype):
    line = sample(dtype, 70)
    for n in (1, 2, 3, 5, 16, 33, 70):
        for x in layouts(line[:n].copy()):
            assert same(f.reduce(x), reduced(f, line[:n]))
    x = sample(dtype, 3, 37, 4)
    for axis in (0, 1, 2, -1):
        want = along(lambda line: reduced(f, line), x, axis)
        for laid in layouts(x):
            assert same(f.reduce(laid, axis=axis), want)
            out = np.ones_like(want)
            assert f.reduce(laid, axis=axis, out=out) is out and same(out, want)
        assert same(f.reduce(x, axis=axis, keepdims=True), np.expand_dims(want, axis))
        begun = along(lambda line: reduced(f, line, dtype.type(1.25)), x, axis)
        assert same(f.reduce(x, axis=axis, initial=dtype.type(1.25)), begun)
    mask = np.random.default_rng(22).random(70) < 0.5
    first = dtype.type(1.25)
    assert same(f.reduce(line, where=mask, initial=first), reduced(f, line[mask], first))


@every
@formats
def test_accumulate(f, dtype):
    line = sample(dtype, 70)
    for n in (1, 2, 17, 70):
        for x in layouts(line[:n].copy()):
            assert same(f.accumulate(x), np.array(accumulated(f, line[:n]), dtype))
    x = sample(dtype, 3, 37, 4)
    for axis in (0, 1, 2):
        want = along(lambda line: np.array(accumulated(f, line), dtype), x, axis)
        for laid in layouts(x):
            assert same(f.accumulate(laid, axis=axis), want)
            out = np.ones(x.shape, dtype)[:, ::-1]
            f.accumulate(laid, axis=axis, out=out)
            assert same(out, want)
        inside = x.copy()
        assert same(f.accumulate(inside, axis=axis, out=inside), want)


@every
@formats
def test_reduceat(f, dtype):
    line, starts = sample(dtype, 70), [0, 20, 20, 5, 60, 69]
    ends = [*starts[1:], 70]
    want = np.array([reduced(f, line[a:b]) if a < b else line[a] for a, b in zip(starts, ends, strict=True)], dtype)
    for x in layouts(line):
        assert same(f.reduceat(x, starts), want)
    x = sample(dtype, 20, 3)
    want = along(lambda line: np.array([reduced(f, line[:9]), reduced(f, line[9:])], dtype), x, 0)
    assert same(f.reduceat(x, [0, 9], axis=0), want)


@every
@formats
def test_at(f, dtype):
    x, y = sample(dtype, 12), sample(dtype, 60)
    places = np.random.default_rng(23).integers(0, 12, 60)
    for other in (y, y[:1].repeat(60), y[0]):
        want, found = x.copy(), x.copy()
        for i, place in enumerate(places):
            want[place] = f(want[place], other if other.ndim == 0 else other[i])
        f.at(found, places, other)
        assert same(found, want)
        strided = np.repeat(x, 2)[::2]
        f.at(strided, places, other)
        assert same(strided, want)


@every
@formats
def test_outer(f, dtype):
    x, y = sample(dtype, 19), sample(dtype, 2, 7)
    want = np.array([[[f(a, b) for b in row] for row in y] for a in x], dtype)
    assert same(f.outer(x, y), want)
    assert same(f.outer(x[::-1], y.T), want[::-1].transpose(0, 2, 1).copy())


def test_sum_is_not_the_reduction():
    """Each step of a reduction rounds; repmath.sum rounds once. The docstrings of both say so."""
    x = np.array([1.0, 2.0**-53, 2.0**-53])
    assert repmath.add.reduce(x) == 1 and repmath.sum(x) == 1 + 2.0**-52
    assert "repmath.sum" in repmath.add.__doc__


def test_lists():
    assert repmath.add.reduce(np.arange(1, 6.0)) == 15
    assert repmath.logaddexp.reduce([1.0, 2, 3]) == reduced(repmath.logaddexp, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="zero-size"):
        repmath.add.reduce(np.ones(0))


@pytest.mark.parametrize("rule", ["down", "up", "toward_zero"])
def test_under_a_rule(rule):
    """The ufuncs that repmath.rounding calls."""
    f, line = repmath._core.rounded[rule]["add"], sample(np.dtype("f4"), 40)
    assert same(f.reduce(line), reduced(f, line))
    assert same(f.accumulate(line), np.array(accumulated(f, line), "f4"))


@formats
@pytest.mark.parametrize("f", list(repmath._core.ufuncs.values()), ids=lambda f: f.__name__)
def test_overlapping_views(f, dtype):
    """NumPy promises the result of arguments that were copied first."""
    x = sample(dtype, 120)
    for out_at in (
        slice(0, 80),
        slice(1, 81),
        slice(17, 97),
        slice(79, None, -1),
        slice(0, 80, 1),
        slice(0, 120, 2),
        slice(119, 39, -1),
    ):
        for in_at in (slice(0, 80), slice(3, 83), slice(99, 19, -1), slice(0, 1)):
            found = x.copy()
            n = found[out_at].size
            arguments = [found[in_at], found[:80], found[20:100]][: f.nin]
            arguments = [a[:n] for a in arguments]
            want = f(*[a.copy() for a in arguments])
            f(*arguments, out=found[out_at][: want.size] if want.size > 1 else found[out_at][:1])
            shown = found[out_at][: want.size] if want.size > 1 else found[out_at][:1]
            assert same(shown, want)

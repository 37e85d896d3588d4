"""Parts of exact sums for arrays: joined in any order, rounded once, they are what the whole is in one call."""

import numpy as np
import pytest

import repmath as rm
from repmath import _partials


def finish(rng, parts, dtype):
    """RN of the sum of parts, which are joined in a random order."""
    order = rng.permutation(len(parts))
    made = [p.part(len(parts) - 1) for p in parts]
    sums, rows, cols = (sum(made[i][k] for i in order) for k in range(3))
    groups = cols if cols.ndim > 1 else cols[None]
    out, at = [], 0
    for r, c, s in zip(rows.reshape(len(groups), -1), groups, sums.reshape(len(groups), -1), strict=True):
        made, places = _partials.rounded(s.reshape(len(r), -1), r, c, dtype)
        _partials.decide(made, places, sum(p.windows(places + at) for p in parts))
        out.append(made.reshape(-1))
        at += made.size
    return np.concatenate(out).reshape(sums.shape)


@pytest.fixture
def rng():
    return np.random.default_rng(8)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, "bfloat16"])
def test_products_sums_and_scatter_sums(rng, dtype):
    bf16 = pytest.importorskip("ml_dtypes").bfloat16
    kind = bf16 if dtype == "bfloat16" else dtype
    a, b = (rng.integers(-40, 40, s).astype(kind) for s in ((30, 200), (200, 25)))  # ties
    a[:, ::3] = (rng.standard_normal((30, 67)) * 3).astype(kind)
    cuts = list(zip([0, 7, 7, 110], [7, 7, 110, 200], strict=True))
    got = finish(rng, [_partials.product(a[:, i:j], b[i:j]) for i, j in cuts], kind)
    assert (got.view(np.uint8) == np.asarray(rm.matmul(a, b)).view(np.uint8)).all()
    got = finish(rng, [_partials.total(b[i:j]) for i, j in cuts], kind)
    assert (got[0].view(np.uint8) == np.asarray(rm.sum(b, axis=0)).view(np.uint8)).all()
    index = rng.integers(0, 9, 200)
    got = finish(rng, [_partials.scattered(b[i:j], index[i:j], 10) for i, j in cuts], kind)
    assert (got.view(np.uint8) == np.asarray(rm.segment_sum(b, index, 10)).view(np.uint8)).all()


@pytest.mark.parametrize("groups", [1, 2])
def test_gradients_of_convolutions(rng, groups):
    x, g = (rng.integers(-9, 10, s).astype(np.float32) for s in ((6, 4, 8, 7), (6, 6, 4, 7)))
    shape, options = (6, 4 // groups, 3, 3), {"stride": (2, 1), "padding": 1, "groups": groups}
    parts = [_partials.convolved(x[i:j], shape, g[i:j], **options) for i, j in ((0, 1), (1, 4), (4, 6))]
    want = rm.conv2d_grad_weight(x, shape, g, **options)
    assert (finish(rng, parts, np.float32).view(np.uint32) == np.asarray(want).view(np.uint32)).all()


def test_many_open_places(rng):
    """More than there was room for at first."""
    sums = np.full((40, 50), 1.0 + 2.0**-24)
    out, places = _partials.rounded(sums, np.full(40, 2.0**-90), np.ones(50), np.float32)
    assert places.tolist() == list(range(2000))
    window = _partials.total(np.array([[1.0], [2.0**-24], [2.0**-100]], np.float32)).windows(np.zeros(1))
    _partials.decide(out, places, np.repeat(window, 2000, axis=0))
    assert (out == np.float32(1 + 2.0**-23)).all()


def test_arguments(rng):
    x = np.ones((3, 4), np.float32)
    with pytest.raises(TypeError, match="not of float64"):
        _partials.total(x.astype(float))
    with pytest.raises(ValueError, match="a and b"):
        _partials.product(x, x)
    with pytest.raises(ValueError, match="argument"):
        _partials.product(x, x.T).part(-1)
    with pytest.raises(ValueError, match="index"):
        _partials.scattered(x, np.zeros(2), 3)
    with pytest.raises(ValueError, match="out of range"):
        _partials.scattered(x, np.full(3, 3), 3).part(0)
    with pytest.raises(ValueError, match="sums must be"):
        _partials.rounded(x, np.ones(3), np.ones(4), np.float32)
    with pytest.raises(ValueError, match="windows"):
        _partials.decide(x, np.array([1]), np.zeros((2, 21), np.int64))

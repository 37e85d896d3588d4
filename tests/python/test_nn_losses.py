"""repmath.nn's losses over pairs, pooling and embedding: shapes, formats, defaults and errors; values are those of the C tests."""

from fractions import Fraction

import numpy as np
import pytest
from exact_oracle import bits, rounded

import repmath
from repmath import nn

RNG = np.random.default_rng(4)


def test_losses_shapes_and_formats():
    x, y = RNG.standard_normal((2, 3, 4)).astype("f4"), RNG.standard_normal((2, 3, 4)).astype("f4")
    d = [Fraction(float(a)) - Fraction(float(b)) for a, b in zip(x.ravel(), y.ravel(), strict=True)]
    for name, of, slope, keywords in (
        ("mse_loss", lambda d: d * d, lambda d: 2 * d, {}),
        ("l1_loss", abs, lambda d: 1 if d > 0 else -1, {}),
        (
            "smooth_l1_loss",
            lambda d: d * d if abs(d) < 0.5 else abs(d) - Fraction(1, 4),
            lambda d: max(-1, min(1, 2 * d)),
            {"beta": 0.5},
        ),
        ("huber_loss", lambda d: d * d / 2 if abs(d) < 2 else 2 * abs(d) - 2, lambda d: max(-2, min(2, d)), {"delta": 2}),
    ):
        f, b = getattr(nn, name), getattr(nn, name + "_backward")
        mean, total, each = (f(x, y, reduction=r, **keywords) for r in ("mean", "sum", "none"))
        assert mean.shape == total.shape == () and each.shape == x.shape and mean.dtype == x.dtype
        assert bits(f(x, y, **keywords)) == bits(mean) == rounded(sum(map(of, d)) / 24, x.dtype)
        assert bits(total) == rounded(sum(map(of, d)), x.dtype)
        assert bits(each).ravel().tolist() == [rounded(Fraction(of(v)), x.dtype) for v in d]
        gradient = b(np.float32(3), x, y, **keywords)
        assert bits(gradient).ravel().tolist() == [rounded(Fraction(3 * slope(v)) / 24, x.dtype) for v in d]
        assert b(each, x, y, reduction="none", **keywords).shape == x.shape
        assert (f(x.T, y.T, reduction="none", **keywords) == each.T).all()
    assert nn.mse_loss([1, 2], [3, 5]) == 6.5 and nn.mse_loss([1, 2], [3, 5]).dtype == np.float64
    assert nn.mse_loss(x.astype("f2"), y).dtype == np.float32
    assert nn.l1_loss([], [], reduction="sum") == 0
    with np.errstate(invalid="ignore"):
        assert np.isnan(nn.l1_loss([], []))


def test_kl_div():
    x, t = np.array([[0.0, -2.0, -1.0], [-1.0, -3.0, 0.5]], "f4"), np.array([[1.0, 0.0, 0.5], [0.25, 1.0, 1.0]], "f4")
    each = nn.kl_div(x, t, reduction="none")
    assert each.shape == x.shape and each[0].tolist() == [0, 0, np.float32(0.5 * (1 - 0.6931471805599453))]
    total, mean, batch = (float(nn.kl_div(x, t, reduction=r)) for r in ("sum", "mean", "batchmean"))
    assert mean == np.float32(total / 6) and batch == np.float32(total / 2) == nn.kl_div(x, t, reduction="sum") / np.float32(
        2
    )
    assert nn.kl_div_backward(np.float32(3), x, t, reduction="batchmean").tolist() == (-t * np.float32(1.5)).tolist()
    assert nn.kl_div_backward(each, x, t, reduction="none").shape == x.shape
    assert nn.kl_div(x, np.zeros_like(x), reduction="none", log_target=True).tolist() == (-x).tolist()
    assert nn.kl_div([1, 2], [3, 4]).dtype == np.float64 and nn.kl_div(x.astype("f2"), t).dtype == np.float32
    for bad, match in (((x, t[0]), "target"), ((np.float32(1), np.float32(1)), "batchmean")):
        with pytest.raises(ValueError, match=match):
            nn.kl_div(*bad, reduction="batchmean")
    with pytest.raises(ValueError, match="reduction"):
        nn.kl_div(x, t, reduction="all")


def test_binary_cross_entropy():
    x, y = np.array([[0.0, 2.0], [-1.0, 3.0]], "f4"), np.array([[1.0, 0.0], [1.0, 1.0]], "f4")
    f, b = nn.binary_cross_entropy_with_logits, nn.binary_cross_entropy_with_logits_backward
    each = f(x, y, reduction="none")
    assert each.shape == x.shape and each[0, 0] == np.float32(0.6931471805599453)
    assert f(x, y).shape == () and b(np.float32(1), x, y)[0, 0] == -0.125
    weight, pos_weight = np.array([[2.0], [0.0]], "f4"), np.array([4.0, 1.0], "f4")
    assert f(x, y, weight, reduction="none")[1].tolist() == [0, 0]
    assert f(x, y, weight, pos_weight=pos_weight, reduction="none")[0, 0] == np.float32(0.6931471805599453 * 8)
    assert b(each, x, y, pos_weight=pos_weight, reduction="none").shape == x.shape
    with pytest.raises(ValueError, match="weight"):
        f(x, y, np.ones(3, "f4"))
    with pytest.raises(ValueError, match="target"):
        f(x, y[0])
    with pytest.raises(ValueError, match="grad_output"):
        b(each, x, y)


def test_losses_errors():
    x = np.ones((2, 3))
    with pytest.raises(ValueError, match="reduction"):
        nn.mse_loss(x, x, reduction="batchmean")
    with pytest.raises(ValueError, match="target has shape"):
        nn.l1_loss(x, np.ones(3))
    with pytest.raises(TypeError, match="input"):
        nn.l1_loss(x * 1j, x)
    for beta in (-1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="beta"):
            nn.smooth_l1_loss(x, x, beta=beta)
    for delta in (0.0, np.inf):
        with pytest.raises(ValueError, match="delta"):
            nn.huber_loss(x, x, delta=delta)
    with pytest.raises(ValueError, match="grad_output"):
        nn.mse_loss_backward(x, x, x)
    with pytest.raises(ValueError, match="grad_output"):
        nn.mse_loss_backward(1.0, x, x, reduction="none")


def test_pooling_shapes():
    x = RNG.standard_normal((2, 3, 7, 8)).astype("f4")
    assert nn.max_pool2d(x, 2).shape == (2, 3, 3, 4) and nn.max_pool2d(x, 2, ceil_mode=True).shape == (2, 3, 4, 4)
    assert nn.max_pool2d(x[0], (3, 2), stride=1, padding=1).shape == (3, 7, 9)
    assert (nn.max_pool2d(x, 2)[0] == nn.max_pool2d(x[0], 2)).all()
    y, index = nn.max_pool2d(x, 2, return_indices=True)
    assert (
        index.dtype == np.int64
        and (np.take_along_axis(x.reshape(2, 3, 56), index.reshape(2, 3, -1), 2).reshape(y.shape) == y).all()
    )
    g = np.ones_like(y)
    back = nn.max_pool2d_backward(g, x.shape, index)
    assert back.shape == x.shape and back.sum() == y.size
    # windows that overlap: 1 + 2^-24 + 2^-24 is added exactly
    line = np.array([[0.0, 9.0, 0.0]], "f4")
    _, index = nn.max_pool1d(line, 2, 1, return_indices=True)
    assert nn.max_pool1d_backward(np.array([[1.0, 2.0**-24]], "f4"), (1, 3), index)[0, 1] == 1
    assert nn.avg_pool1d(line, 3)[0, 0] == 3 and nn.avg_pool1d(line, 2, divisor_override=9)[0, 0] == 1
    assert nn.avg_pool1d(line, 2, padding=1, count_include_pad=False).tolist() == [[0.0, 4.5]]
    assert nn.avg_pool2d_backward(np.ones((2, 3, 3, 4), "f2"), x.shape, 2).dtype == np.float16
    assert nn.adaptive_avg_pool2d(x, (None, 1)).shape == (2, 3, 7, 1)
    assert nn.adaptive_max_pool3d(np.ones((1, 2, 3, 4)), 2).shape == (1, 2, 2, 2)
    assert nn.adaptive_avg_pool2d_backward(np.ones((2, 3, 7, 1)), x.shape).shape == x.shape
    assert nn.avg_pool3d(np.ones((1, 0, 4, 4, 4)), 2).shape == (1, 0, 2, 2, 2)


@pytest.mark.parametrize("dtype", repmath._dtypes.FORMATS.values(), ids=str)
def test_max_pool_backward_with_and_without_meetings(dtype):
    """Windows that do not overlap take a path of their own: the sums of one term, with their zeros and NaNs."""
    x = RNG.standard_normal((2, 3, 9, 8)).astype(dtype)
    for kernel, stride, padding in ((2, 2, 0), (3, 2, 1), (2, 1, 0), (2, 3, 1)):
        y, index = nn.max_pool2d(x, kernel, stride, padding, return_indices=True)
        g = RNG.standard_normal(y.shape).astype(dtype)
        g[0, 0, 0, 0], g[0, 1, 0, 0], g[1, 1, 0, 0] = -0.0, np.nan, -np.nan
        places = np.arange(6).reshape(2, 3, 1, 1) * 72 + index
        expected = repmath.index_add(np.zeros(432, dtype), places.ravel(), g.ravel())
        assert nn.max_pool2d_backward(g, x.shape, index).tobytes() == expected.tobytes()


def test_pooling_errors():
    x = np.ones((2, 3, 7, 8))
    with pytest.raises(ValueError, match="padding"):
        nn.max_pool2d(x, 2, padding=2)
    with pytest.raises(ValueError, match="kernel_size"):
        nn.avg_pool2d(x, 9)
    with pytest.raises(ValueError, match="kernel_size"):
        nn.avg_pool2d(x, 0)
    with pytest.raises(ValueError, match="input must have"):
        nn.avg_pool1d(x, 2)
    with pytest.raises(ValueError, match="divisor_override"):
        nn.avg_pool2d(x, 2, divisor_override=0)
    with pytest.raises(ValueError, match="output_size"):
        nn.adaptive_avg_pool2d(x, (1, 2, 3))
    with pytest.raises(ValueError, match="grad_output"):
        nn.avg_pool2d_backward(x, x.shape, 2)
    with pytest.raises(IndexError, match="indices"):
        nn.max_pool2d_backward(x, x.shape, np.full(x.shape, 56))
    with pytest.raises(ValueError, match="indices"):
        nn.max_pool2d_backward(x, x.shape, np.zeros(3, int))
    with pytest.raises(TypeError, match="input"):
        nn.max_pool2d(x * 1j, 2)


def test_embedding():
    table = RNG.standard_normal((5, 3)).astype("f4")
    got = nn.embedding([[0, 4], [2, 2]], table, padding_idx=-1)
    assert got.shape == (2, 2, 3) and (got == table[[[0, 4], [2, 2]]]).all() and got.dtype == table.dtype
    for index in ([5], [-1]):
        with pytest.raises(IndexError, match="input"):
            nn.embedding(index, table)
    with pytest.raises(IndexError, match="padding_idx"):
        nn.embedding([0], table, padding_idx=5)
    with pytest.raises(TypeError, match="input"):
        nn.embedding([0.5], table)
    with pytest.raises(ValueError, match="weight"):
        nn.embedding([0], table[0])

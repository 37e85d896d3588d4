"""repmath.nn: axes, shapes, keywords and errors; values are those of the C functions (test_nn_*.py)."""

from fractions import Fraction

import ml_dtypes
import mpmath
import numpy as np
import pytest
from exact_oracle import bits, rounded
from numpy_dtypes import DTYPES
from real_oracle import precise, reals, rounded_real

import repmath
from repmath import nn

RNG = np.random.default_rng(50)


@pytest.fixture(params=DTYPES, ids=lambda d: d.name)
def dtype(request):
    return request.param


@precise
def softmax_of(row, dtype):
    e = [mpmath.exp(v) for v in reals(row)]
    return [rounded_real(v / mpmath.fsum(e), dtype) for v in e]


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_axes(dtype, axis):
    x = RNG.standard_normal((2, 3, 4)).astype(dtype)
    got = nn.softmax(x, axis)
    assert got.shape == x.shape and got.dtype == dtype and got.flags.c_contiguous
    moved, lines = np.moveaxis(got, axis, -1), np.moveaxis(x, axis, -1)
    for i in np.ndindex(lines.shape[:2]):
        assert bits(moved[i]).tolist() == softmax_of(lines[i], dtype)
    total = nn.logsumexp(x, axis)
    assert total.shape == lines.shape[:2] and nn.logsumexp(x, axis, keepdim=True).ndim == 3
    log = nn.log_softmax(x, axis)
    for function, y in ((nn.softmax_backward, got), (nn.log_softmax_backward, log)):
        whole = function(x, y, axis)
        alone = function(lines[1, 1], np.moveaxis(y, axis, -1)[1, 1])
        assert (bits(np.moveaxis(whole, axis, -1)[1, 1]) == bits(alone)).all()


def test_shapes_and_dtypes():
    assert nn.softmax(np.float32(3)).shape == () and nn.softmax([1, 2]).dtype == np.float64
    assert nn.softmax(np.zeros((0, 3), "f4")).shape == (0, 3) and nn.softmax(np.zeros((3, 0))).shape == (3, 0)
    assert nn.softmax(np.ones(4, "f2"), dtype="f4").dtype == np.float32
    x = RNG.standard_normal((4, 6)).astype(">f4")
    assert (nn.softmax(x) == nn.softmax(x.astype("f4"))).all() and (nn.softmax(x[:, ::-1]) == nn.softmax(x)[:, ::-1]).all()
    with pytest.raises(np.exceptions.AxisError, match="dim"):
        nn.softmax(np.ones((2, 2)), 2)
    with pytest.raises(TypeError, match="input has dtype complex128"):
        nn.softmax(np.ones(3, complex))
    with pytest.raises(ValueError, match="grad_output has shape"):
        nn.softmax_backward(np.ones(3), np.ones(4))


def test_threads_and_batches():
    """Rows are what they are alone."""
    x = RNG.standard_normal((300, 257)).astype("f4")
    g = RNG.standard_normal(x.shape).astype("f4")
    w, b = RNG.standard_normal((2, 257)).astype("f4")
    t = RNG.integers(0, 257, 300)
    runs = []
    for threads in (1, 2):
        before = repmath.get_num_threads()
        repmath.set_num_threads(threads)
        try:
            y = nn.softmax(x)
            runs.append(
                (
                    y,
                    nn.softmax_backward(g, y),
                    nn.layer_norm(x, 257, w, b),
                    *nn.layer_norm_backward(g, x, 257, w),
                    nn.cross_entropy(x, t),
                    nn.cross_entropy_backward(np.float32(1), x, t),
                )
            )
        finally:
            repmath.set_num_threads(before)
    for one, other in zip(*runs, strict=True):
        assert (bits(one) == bits(other)).all()
    assert (bits(nn.layer_norm(x[7:8], 257, w, b)) == bits(runs[0][2][7:8])).all()
    order = RNG.permutation(300)
    for one, other in zip(nn.layer_norm_backward(g[order], x[order], 257, w)[1:], runs[0][4:6], strict=True):
        assert (bits(one) == bits(other)).all()
    assert bits(nn.cross_entropy(x[order], t[order])) == bits(runs[0][6])


def test_norms_agree_with_their_sets(dtype):
    """Group, instance and batch norms are layer norms of other sets."""
    x, g = RNG.standard_normal((2, 3, 4, 6, 5)).astype(dtype)
    w, b = RNG.standard_normal((2, 4)).astype(dtype)
    instance = nn.instance_norm(x, w, b)
    assert (bits(instance) == bits(nn.group_norm(x, 4, w, b))).all()
    alone = nn.layer_norm(x, (6, 5))
    assert (bits(nn.instance_norm(x)) == bits(alone)).all()
    batch = nn.batch_norm(x, None, None, training=True)
    rows = np.moveaxis(x, 1, 0).reshape(4, -1)
    assert (bits(np.moveaxis(batch, 1, 0).reshape(4, -1)) == bits(nn.layer_norm(rows, rows.shape[1]))).all()
    for backward, arguments in ((nn.instance_norm_backward, ()), (nn.batch_norm_backward, (None, None))):
        dx, dw, db = backward(g, x, *arguments, w)
        assert dx.shape == x.shape and dw.shape == db.shape == (4,)
        assert (bits(db) == bits(repmath.sum(g, axis=(0, 2, 3)))).all()
    assert nn.layer_norm_backward(g, x, (6, 5))[1:] == (None, None) and len(nn.rms_norm_backward(g, x, 5)) == 2


@precise
def weight_gradients(g, x, eps, columns):
    deviations = []
    for row in x:
        v = reals(row)
        mean = mpmath.fsum(v) / len(v)
        root = mpmath.sqrt(mpmath.fsum((a - mean) ** 2 for a in v) / len(v) + mpmath.mpf(eps))
        deviations.append([(v[j] - mean) / root for j in columns])
    return [mpmath.fsum(a * d[k] for a, d in zip(reals(g[:, j]), deviations)) for k, j in enumerate(columns)]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_weights_of_many_sets(threads):
    """Shares of several threads, each of several chains."""
    x, g = RNG.standard_normal((2, 700, 60)).astype("f4")
    x += np.linspace(0, 9, 700, dtype="f4")[:, None]
    g[350:, 7] = -g[:350, 7]
    before = repmath.get_num_threads()
    repmath.set_num_threads(threads)
    try:
        _, weight, bias = nn.layer_norm_backward(g, x, 60, np.ones(60, "f4"))
    finally:
        repmath.set_num_threads(before)
    assert bias[7] == 0
    columns = range(1, 60, 6)
    wanted = [rounded_real(v, np.dtype("f4")) for v in weight_gradients(g, x, 1e-5, columns)]
    assert bits(weight[columns]).tolist() == wanted


def test_running_statistics(dtype):
    x = (RNG.standard_normal((3, 2, 4)) + 1).astype(dtype)
    mean, variance = np.array([0.25, -1], dtype), np.array([1, 2], dtype)
    old = [[Fraction(float(v)) for v in a] for a in (mean, variance)]
    momentum = Fraction(0.1)
    nn.batch_norm(x, mean, variance, training=True)
    for c in range(2):
        v = [Fraction(float(a)) for a in x[:, c].ravel()]
        mu = sum(v) / len(v)
        spread = sum((a - mu) ** 2 for a in v) / (len(v) - 1)
        assert int(bits(mean[c])) == rounded((1 - momentum) * old[0][c] + momentum * mu, dtype)
        assert int(bits(variance[c])) == rounded((1 - momentum) * old[1][c] + momentum * spread, dtype)
    y = nn.batch_norm(x, mean, variance)
    kept = mean.copy()
    assert y.shape == x.shape and (mean == kept).all()


def test_running_statistics_of_huge_numbers(dtype):
    """Sums and squares beyond the format and beyond float64: the mean is in range, the variance rounds to infinity or is not large."""
    most = float(np.array(ml_dtypes.finfo(dtype).max).astype(np.float64))
    for pair in ([0.9, 0.95], [-0.9, -0.95], [0.9, -0.9], [1.0, 1.0], [-1.0, -1.0]):
        x = np.array([[most * pair[0], 1], [most * pair[1], 2]]).astype(dtype)
        mean, variance = np.array([-1, 0.5], dtype), np.array([1, 2], dtype)
        old = mean.copy(), variance.copy()
        with np.errstate(all="ignore"):
            nn.batch_norm(x, mean, variance, training=True)
        for c in range(2):
            v = [Fraction(float(a)) for a in x[:, c]]
            mu = sum(v) / 2
            for got, before, new in zip((mean, variance), old, (mu, sum((a - mu) ** 2 for a in v)), strict=True):
                want = rounded((1 - Fraction(0.1)) * Fraction(float(before[c])) + Fraction(0.1) * new, dtype)
                assert int(bits(got[c])) == want, (pair, c)


def magnitudes(rng, dtype, shape):
    """Numbers that are spread evenly over the exponents, or all near one of them, and some zeros."""
    low, high = {"float16": (-24, 15), "bfloat16": (-133, 127), "float32": (-149, 127), "float64": (-1074, 1023)}[
        np.dtype(dtype).name
    ]
    e = rng.integers(low, high, shape if rng.random() < 0.5 else shape[:1])
    v = np.ldexp(rng.standard_normal(shape) * (rng.random(shape) < 0.8), e.reshape(e.shape + (1,) * (len(shape) - e.ndim)))
    with np.errstate(over="ignore"):
        x = v.astype(dtype)
    return np.where(np.isinf(x), np.dtype(dtype).type(0), x)


def test_running_statistics_over_all_exponents(dtype):
    """Also where squares are below binary64's numbers, where the result is subnormal, and the sign of a result that rounds to 0."""
    rng = np.random.default_rng(11)
    for _ in range(20):
        x = magnitudes(rng, dtype, (6, int(rng.integers(2, 4)), 2)).swapaxes(0, 1)
        momentum = float(rng.choice([0.1, 0.5, 1.0, 2.0**-1060]))
        for kind in {np.dtype(dtype), np.dtype("f4"), np.dtype("f8")}:
            mean, variance = (magnitudes(rng, kind, (6,)) for _ in range(2))
            if rng.random() < 0.5:
                mean[...] = 0
            old = mean.copy(), variance.copy()
            nn.batch_norm(x, mean, variance, training=True, momentum=momentum)
            for c in range(6):
                v = [Fraction(float(a)) for a in x[:, c].ravel()]
                mu = sum(v) / len(v)
                news = mu, sum((a - mu) ** 2 for a in v) / (len(v) - 1)
                for got, before, new in zip((mean, variance), old, news, strict=True):
                    value = (1 - Fraction(momentum)) * Fraction(float(before[c])) + Fraction(momentum) * new
                    assert int(bits(got[c])) == rounded(value, kind), (v, float(before[c]), momentum)


def test_running_statistics_that_overflow():
    """Squares beyond the range are no error: the variance is infinite, the mean and the result are right."""
    x = np.array([[1.5e308], [1.6e308]])
    mean, variance = np.zeros(1), np.ones(1)
    with np.errstate(over="ignore"):
        y = nn.batch_norm(x, mean, variance, training=True, momentum=0.1)
    exact = Fraction(0.1) * (Fraction(1.5e308) + Fraction(1.6e308)) / 2
    assert y.tolist() == [[-1.0], [1.0]] and variance[0] == np.inf
    assert int(bits(mean[0])) == rounded(exact, np.dtype("f8"))


def mixtures_are_right(dtype):
    """Whether running statistics of small integers and fractions, of which many are midpoints of two numbers, are the exact ones."""
    steps = {2: 7, 4: 23, 8: 52}[np.dtype(dtype).itemsize] if dtype != np.float16 else 10
    right = []
    for momentum in (0.5, 0.25, 0.1):
        for data in (RNG.integers(-8, 8, (2, 24, 2)) / 4, 1 + RNG.integers(0, 16, (2, 24, 2)) * 2.0**-steps):
            x = data.astype(dtype)
            mean, variance = RNG.integers(-4, 4, 24).astype(dtype), RNG.integers(0, 4, 24).astype(dtype)
            old = mean.copy(), variance.copy()
            nn.batch_norm(x, mean, variance, training=True, momentum=momentum)
            for c in range(24):
                v = [Fraction(float(a)) for a in x[:, c].ravel()]
                mu = sum(v) / 4
                news = mu, sum((a - mu) ** 2 for a in v) / 3
                for got, before, new in zip((mean, variance), old, news, strict=True):
                    value = (1 - Fraction(momentum)) * Fraction(float(before[c])) + Fraction(momentum) * new
                    right.append(int(bits(got[c])) == rounded(value, dtype))
    return all(right)


def test_running_statistics_at_midpoints(dtype, monkeypatch):
    assert mixtures_are_right(dtype)
    if np.dtype(dtype).itemsize < 8:  # the control: without a bound of the error, midpoints are rounded wrongly
        from repmath.nn import _normalization

        step = _normalization._mixed
        monkeypatch.setattr(
            _normalization, "_mixed", lambda running, *rest: (step(running, *rest)[0], np.ones(running.shape, bool))
        )
        assert not mixtures_are_right(dtype)


def test_norm_errors():
    x = np.ones((2, 4, 3), "f4")
    for call, message in (
        (lambda: nn.layer_norm(x, 4), "normalized_shape"),
        (lambda: nn.layer_norm(x, 3, np.ones(4, "f4")), r"weight has shape \(4,\)"),
        (lambda: nn.layer_norm(x, 3, eps=-float("inf")), "eps"),
        (lambda: nn.group_norm(x, 3), "num_groups"),
        (lambda: nn.group_norm(np.ones(3), 1), "two axes"),
        (lambda: nn.batch_norm(x, None, None), "running_mean and running_var are needed"),
        (lambda: nn.batch_norm(x[:1, :, :1], None, None, training=True), "more than one value"),
        (lambda: nn.batch_norm(x, np.ones(3, "f4"), None, training=True), "running_mean has shape"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="running_mean"):
        nn.batch_norm(x, [0.0] * 4, None, training=True)


def test_cross_entropy_shapes():
    x = RNG.standard_normal((3, 5, 2, 4)).astype("f4")
    t = RNG.integers(0, 5, (3, 2, 4))
    each = nn.cross_entropy(x, t, reduction="none")
    assert each.shape == t.shape and nn.cross_entropy(x, t).shape == ()
    rows, flat = np.moveaxis(x, 1, -1).reshape(-1, 5), t.ravel()
    assert (bits(each.ravel()) == bits(nn.cross_entropy(rows, flat, reduction="none"))).all()
    g = RNG.standard_normal(t.shape).astype("f4")
    dx = nn.cross_entropy_backward(g, x, t, reduction="none")
    assert dx.shape == x.shape and dx.flags.c_contiguous
    other = nn.cross_entropy_backward(g.ravel(), rows, flat, reduction="none")
    assert (bits(np.moveaxis(dx, 1, -1).reshape(-1, 5)) == bits(other)).all()
    assert nn.cross_entropy(x[0, :, 0, 0], 2).shape == () and nn.cross_entropy_backward(1.0, np.ones(5), 2).shape == (5,)
    p = np.full((3, 5), 0.2, "f4")
    assert nn.cross_entropy(x[:, :, 0, 0], p).dtype == np.float32
    for call, error, message in (
        (lambda: nn.cross_entropy(x, t[0]), ValueError, "target has shape"),
        (lambda: nn.cross_entropy(x, t + 5), IndexError, "neither one of 5"),
        (lambda: nn.cross_entropy(x, t, weight=np.ones(4, "f4")), ValueError, "weight has shape"),
        (lambda: nn.cross_entropy(x, t, reduction="max"), ValueError, "reduction"),
        (lambda: nn.cross_entropy(x, t, label_smoothing=2), ValueError, "label_smoothing"),
        (lambda: nn.cross_entropy_backward(np.ones(2, "f4"), x, t), ValueError, "grad_output has shape"),
    ):
        with pytest.raises(error, match=message):
            call()


@precise
def attention_of(q, k, v, added, scale, dtype, factors=None):
    """Each step by mpmath, rounded once; factors: what weights are multiplied by and rounded again, 0 where they are dropped."""
    number = lambda code: mpmath.mpf(float(np.array(code, f"u{dtype.itemsize}").view(dtype)))  # noqa: E731
    out = []
    for i, row in enumerate(q):
        scores = [
            rounded_real(scale * mpmath.fdot(reals(row), reals(other)) + added[i][j], dtype, exact=True)
            if mpmath.isfinite(added[i][j])
            else None
            for j, other in enumerate(k)
        ]
        e = [mpmath.exp(number(s)) if s is not None else mpmath.mpf(0) for s in scores]
        total = mpmath.fsum(e)
        p = [number(rounded_real(a / total, dtype)) if a else mpmath.mpf(0) for a in e]
        if factors is not None:
            p = [
                number(rounded_real(a * f, dtype, exact=True)) if a * f else mpmath.mpf(0)
                for a, f in zip(p, factors[i], strict=True)
            ]
        out.append([rounded_real(mpmath.fdot(p, reals(v[:, c])), dtype, exact=True) for c in range(v.shape[1])])
    return out


def test_attention(dtype):
    q, k = RNG.standard_normal((2, 2, 3, 6)).astype(dtype)
    v = RNG.standard_normal((2, 3, 4)).astype(dtype)
    none = [[mpmath.mpf(0)] * 3 for _ in range(3)]
    scale = mpmath.mpf(nn._attention._scale(None, 6))
    got = nn.scaled_dot_product_attention(q, k, v)
    assert got.shape == (2, 3, 4)
    for i in range(2):
        assert bits(got[i]).tolist() == attention_of(q[i], k[i], v[i], none, scale, dtype)
    causal = nn.scaled_dot_product_attention(q, k, v, is_causal=True)
    added = [[mpmath.mpf(0) if j <= i else mpmath.mpf("-inf") for j in range(3)] for i in range(3)]
    assert bits(causal[1]).tolist() == attention_of(q[1], k[1], v[1], added, scale, dtype)
    mask = np.array([[True, False, True], [False, False, False], [True, True, True]])
    masked = nn.scaled_dot_product_attention(q, k, v, mask, scale=0.5)
    assert (bits(masked[:, 1]) == 0).all()
    added = [[mpmath.mpf(0) if a else mpmath.mpf("-inf") for a in row] for row in mask]
    assert bits(masked[0, [0, 2]]).tolist() == [
        row for i, row in enumerate(attention_of(q[0][[0, 2]], k[0], v[0], [added[0], added[2]], mpmath.mpf(0.5), dtype))
    ]


def test_attention_dropout(dtype):
    """Dropped as bernoulli(seed) says; without it, or with another seed, the result differs."""
    q, k = RNG.standard_normal((2, 2, 3, 6)).astype(dtype)
    v = RNG.standard_normal((2, 3, 4)).astype(dtype)
    place = {"seed": 7, "stream": 3, "offset": 5}
    got = nn.scaled_dot_product_attention(q, k, v, dropout_p=0.5, **place)
    drop = repmath.random.bernoulli(7, (2, 3, 3), 0.5, stream=3, offset=5)
    assert drop.any() and not drop.all()
    none, scale = [[mpmath.mpf(0)] * 3 for _ in range(3)], mpmath.mpf(nn._attention._scale(None, 6))
    for i in range(2):
        factors = [[mpmath.mpf(0 if d else 2) for d in row] for row in drop[i]]
        assert bits(got[i]).tolist() == attention_of(q[i], k[i], v[i], none, scale, dtype, factors)
    for other in (nn.scaled_dot_product_attention(q, k, v), nn.scaled_dot_product_attention(q, k, v, dropout_p=0.5, seed=8)):
        assert (bits(got) != bits(other)).any()
    assert (bits(nn.scaled_dot_product_attention(q, k, v, dropout_p=1.0, **place)) == 0).all()


def test_attention_dropout_gradients():
    q, k, v, g = RNG.standard_normal((4, 2, 5, 8)).astype("f4")
    place = {"seed": 11, "stream": 1, "offset": 2}
    dq, dk, dv = nn.scaled_dot_product_attention_backward(g, q, k, v, scale=0.25, dropout_p=0.3, **place)
    p = nn.softmax(repmath.matmul(q * np.float32(0.25), k.transpose(0, 2, 1)))
    kept = repmath.random.dropout(p, 0.3, **place)
    dp = repmath.random.dropout_backward(repmath.matmul(g, v.transpose(0, 2, 1)), 0.3, **place)
    ds = nn.softmax_backward(dp, p)
    assert (bits(dv) == bits(repmath.matmul(kept.transpose(0, 2, 1), g))).all()
    assert (bits(dq) == bits(repmath.matmul(ds, k) * np.float32(0.25))).all()
    assert (bits(dk) == bits(repmath.matmul(ds.transpose(0, 2, 1), q) * np.float32(0.25))).all()


def test_default_scale():
    for width in (1, 2, 3, 5, 16, 48, 63, 64, 80, 96, 128, 1000003):
        with mpmath.workprec(200):
            want = float(1 / mpmath.sqrt(width))
        assert nn._attention._scale(None, width) == want


def test_attention_gradients():
    """Each step is an operator that is tested elsewhere."""
    q, k, v, g = RNG.standard_normal((4, 2, 5, 8)).astype("f4")
    dq, dk, dv = nn.scaled_dot_product_attention_backward(g, q, k, v, is_causal=True, scale=0.25)
    mask = np.where(np.tri(5, dtype=bool), 0, -np.inf).astype("f4")
    p = nn.softmax((repmath.matmul(q * np.float32(0.25), k.transpose(0, 2, 1)) + mask).astype("f4"))
    ds = nn.softmax_backward(repmath.matmul(g, v.transpose(0, 2, 1)), p)
    assert (bits(dv) == bits(repmath.matmul(p.transpose(0, 2, 1), g))).all()
    assert (bits(dq) == bits(repmath.matmul(ds, k) * np.float32(0.25))).all()
    assert (bits(dk) == bits(repmath.matmul(ds.transpose(0, 2, 1), q) * np.float32(0.25))).all()


def test_attention_errors():
    a = np.ones((2, 3, 4), "f4")
    for call, message in (
        (lambda: nn.scaled_dot_product_attention(a, a[..., :3], a), "key has width"),
        (lambda: nn.scaled_dot_product_attention(a, a, a[:, :2]), "value has length"),
        (lambda: nn.scaled_dot_product_attention(a, a, a, np.ones(5, bool)), "attn_mask"),
        (lambda: nn.scaled_dot_product_attention(a, a, a, np.ones(3, bool), is_causal=True), "cannot both"),
        (lambda: nn.scaled_dot_product_attention(a, a, a, dropout_p=0.5), "seed"),
        (lambda: nn.scaled_dot_product_attention(a, a, a, dropout_p=1.5, seed=1), "dropout_p"),
        (lambda: nn.scaled_dot_product_attention_backward(a, a, a, a, dropout_p=0.5), "seed"),
        (lambda: nn.scaled_dot_product_attention(a[0, 0], a, a), "two axes"),
        (lambda: nn.scaled_dot_product_attention_backward(a[:1], a, a, a), "grad_output"),
    ):
        with pytest.raises(ValueError, match=message):
            call()

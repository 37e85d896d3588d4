"""Formulas of repmath.torch.stochastic(): softmax, norms, losses, means, optimiser steps, against values of 400 digits and their words; by
binary64 balls and by enclosures alone."""

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
import rounding_oracle
from exact_oracle import bits as bits_of_array

torch = pytest.importorskip("torch")

import repmath.torch  # noqa: E402
from repmath import _core  # noqa: E402
from repmath import _random_balls as _stochastic_balls  # noqa: E402
from repmath.torch import UncoveredOperatorError, _stochastic, _stochastic_quick, stochastic  # noqa: E402

FORMATS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
EPS = 1e-5
F = torch.nn.functional


def numbers(*shape, dtype=torch.float32, seed=0, scale=1.0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return (torch.rand(shape, generator=generator) * 4 - 2).mul(scale).to(dtype)


def exact(t):
    """A tensor's numbers as an object array of mpfr, in a context of 1,400 bits."""
    return np.vectorize(gmpy2.mpfr, otypes=[object])(t.detach().double().numpy())


@pytest.fixture(autouse=True)
def precision():
    with gmpy2.context(gmpy2.get_context(), precision=1400, emin=-(10**6), emax=10**6):
        yield


@pytest.fixture(params=["quick", "apart", "left", "balls", "doubles", "enclosures"])
def path(request, monkeypatch):
    """With rows that the library rounds, with its balls, which are rounded apart, and with balls that decide nothing but zeros; without them; in double-double, and by enclosures alone: a radius that says
    nothing leaves every element undecided."""
    settle = _stochastic_quick._settle
    if request.param in ("apart", "left"):
        monkeypatch.setattr(_stochastic_quick, "_ask", lambda at, made, *balls: (balls, None))
    if request.param == "left":
        monkeypatch.setattr(
            _stochastic_quick,
            "_settle",
            lambda at, made, balls, *rest, **more: settle(at, made, (balls[0], abs(balls[0])), *rest, **more),
        )
        monkeypatch.setattr(_stochastic_quick, "_FEW", 1 << 10)
    if request.param in ("balls", "doubles", "enclosures"):
        monkeypatch.setattr(_stochastic_quick, "HANDLERS", {})
    if request.param == "enclosures":
        monkeypatch.setattr(_stochastic_balls, "evaluate", lambda f, inputs, rows, columns: np.full((3, rows.size), np.nan))
    if request.param in ("doubles", "enclosures"):
        monkeypatch.setattr(_stochastic_balls, "_above", lambda radius: np.full(np.shape(radius), np.inf))
        monkeypatch.setattr(_stochastic._Place, "formula", lambda *call: None)
    return request.param


def bits(t):
    return bits_of_array(repmath.torch._tensors.as_array(t.detach().contiguous())).reshape(-1).tolist()


def check(got, values, block, number, name=""):
    """Results against values of 1,400 bits, those that are rational numbers of few bits among them."""
    values = [Fraction(*map(int, gmpy2.mpfr(v).as_integer_ratio())) for v in np.broadcast_to(values, got.shape).reshape(-1)]
    first = getattr(block, "first", 0)
    words = rounding_oracle.words(block.seed, (block.sample << 32) + number, first, len(values)).tolist()
    want = [
        rounding_oracle.rounded(v, FORMATS.get(got.dtype, "f64"), block.mode, w) if v else 0
        for v, w in zip(values, words, strict=True)
    ]
    wrong = [i for i, (a, b) in enumerate(zip(bits(got), want, strict=True)) if a != b]
    assert not wrong, (name, len(wrong), wrong[:3])


exp, log, sqrt = (np.vectorize(f, otypes=[object]) for f in (gmpy2.exp, gmpy2.log, gmpy2.sqrt))
MODES = pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
DTYPES = pytest.mark.parametrize("dtype", list(FORMATS), ids=FORMATS.values())


def shares(x, axis):
    e = exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@MODES
@DTYPES
@pytest.mark.parametrize("dim", [-1, 0, 1])
def test_softmax_and_gradients(mode, dtype, dim, path):
    x, g = numbers(3, 4, 5, dtype=dtype, scale=3), numbers(3, 4, 5, dtype=dtype, seed=1)
    x[0, 0, :] = x[0, 0, 0]  # equal elements: the shares are rational
    with stochastic(3, 1, mode) as block:
        y = torch.softmax(x, dim)
        z = torch.log_softmax(x, dim)
        gy = torch.ops.aten._softmax_backward_data(g, y, dim, dtype)
        gz = torch.ops.aten._log_softmax_backward_data(g, z, dim, dtype)
    a, h = exact(x), exact(g)
    check(y, shares(a, dim), block, 0)
    top = a.max(axis=dim, keepdims=True)
    check(z, a - top - log(exp(a - top).sum(axis=dim, keepdims=True)), block, 1)
    p, q = exact(y), exact(z)
    check(gy, p * (h - (h * p).sum(axis=dim, keepdims=True)), block, 2)
    check(gz, h - exp(q) * h.sum(axis=dim, keepdims=True), block, 3)


def rows_of(x, g):
    """What the library's loops of rows round: results and gradients of softmax and norms."""
    a = torch.ops.aten
    n, w, b = x.shape[-1], g[0] + 1, x[1]
    y, mean, root = a.native_layer_norm(x, [n], w, b, EPS)
    z, save_mean, save_root = a.native_batch_norm(x, w, b, None, None, True, 0.1, EPS)
    p, q = torch.softmax(x, 1), torch.log_softmax(x, 1)
    return [
        *(y, mean, root, z, save_mean, save_root, p, q),
        *a.native_layer_norm_backward(g, x, [n], mean, root, w, b, [True, True, False]),
        *a.native_batch_norm_backward(g, x, w, None, None, save_mean, save_root, True, EPS, [True, True, False]),
        *(a._softmax_backward_data(g, p, 1, x.dtype), a._log_softmax_backward_data(g, q, 1, x.dtype)),
        a.native_batch_norm(x.T.reshape(1, n, -1), w, b, None, None, True, 0.1, EPS)[0],
    ]


@DTYPES
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_that_the_library_rounds_are_those_of_their_balls(dtype, threads, monkeypatch):
    """Of so many numbers that double-double has to decide some, subnormal results among them; it leaves none."""
    x, g = numbers(2048, 192, dtype=dtype, scale=3), numbers(2048, 192, dtype=dtype, seed=1)
    x[::5] *= 20  # shares down to below the least number
    left, found, nearer = [], [], []
    some = _stochastic_quick._some
    monkeypatch.setattr(_stochastic_quick, "_some", lambda places, n: left.append(n) or some(places, n))
    for _ in range(2):
        repmath.set_num_threads(threads)
        repmath.reset_stats()
        with stochastic(9, 4):
            found.append([bits(v) for v in rows_of(x, g) if v is not None])
        nearer.append(repmath.stats()["double_double"])
        threads = 1
        monkeypatch.setattr(_stochastic_quick, "_ask", lambda at, made, *balls: (balls, None))
    assert found[0] == found[1]
    if dtype is torch.float32:
        assert nearer[0] > nearer[1] and not sum(left)


@MODES
def test_shares_too_small_for_a_ball(mode):
    """Beside shares of some 2^-300, which binary64 evaluations may give as 0, and masks, which are 0."""
    x = torch.tensor([[0.0, -210.0, -300.0, -float("inf")], [1.0, 1.5, -230.0, 0.25]])
    y = torch.tensor([[0.5, 2.0**-140, 0.0, 0.5], [0.25, 0.25, 0.5, 2.0**-149]])
    g = torch.tensor([[1.0, 1.0, 2.0, 1.0], [0.5, 0.25, 2.0**-149, 1.0]])
    with stochastic(2, 1, mode) as block:
        made = torch.softmax(x, 1), torch.ops.aten._softmax_backward_data(g, y, 1, torch.float32)
    a = np.where(np.isinf(x.numpy()), gmpy2.mpfr("-inf"), exact(x))
    check(made[0], shares(a, 1), block, 0)
    p, h = exact(y), exact(g)
    check(made[1], p * (h - (h * p).sum(axis=1, keepdims=True)), block, 1)


def test_zeros_of_the_mode_random_are_known_to_be_zero(monkeypatch):
    """The control of the test above: a small share that is taken for 0 stays there."""
    settle = _stochastic_quick._settle
    zeros = lambda: True  # noqa: E731
    monkeypatch.setattr(_stochastic_quick, "_settle", lambda at, made, *call, **more: settle(at, made, *call[:4], zeros))
    with pytest.raises(AssertionError):
        test_shares_too_small_for_a_ball("random")


def test_softmax_of_masks_and_of_what_has_no_value():
    inf = float("inf")
    x = torch.tensor([[0.5, -inf, 1.5], [-inf, -inf, -inf], [inf, 0.0, 1.0], [float("nan"), 0.0, 1.0], [-80.0, 0.0, 30.0]])
    with stochastic(1) as block:
        y, z, safe = torch.softmax(x, -1), torch.log_softmax(x, -1), torch.ops.aten._safe_softmax(x, -1)
    with repmath.torch.reproducible():
        other, logs = torch.softmax(x, -1), torch.log_softmax(x, -1)
    assert y[0, 1] == 0 and z[0, 1] == -inf and y[1:4].isnan().all() and (safe[1] == 0).all()
    for rounded, nearest in ((y, other), (z, logs)):
        assert torch.equal(rounded.isnan(), nearest.isnan()) and torch.equal(rounded[:, 1] == 0, nearest[:, 1] == 0)
    check(y[4:].contiguous(), shares(exact(x[4:]), -1), block_at(block, 12), 0)


class block_at:
    """The words of a block from element `first` on."""

    def __init__(self, block, first):
        self.seed, self.sample, self.mode, self.first = block.seed, block.sample, block.mode, first


def centred(x, axis, eps=EPS):
    n = gmpy2.mpfr(int(np.prod([x.shape[a] for a in axis])))
    mean = x.sum(axis=axis, keepdims=True) / n
    d = x - mean
    return mean, d, (d * d).sum(axis=axis, keepdims=True) / n + gmpy2.mpfr(eps), n


def gradient_of_x(g, x, w, axis):
    _, d, v, n = centred(x, axis)
    h = g * w
    return (h - h.sum(axis=axis, keepdims=True) / n - d * (h * d).sum(axis=axis, keepdims=True) / n / v) / sqrt(v)


@MODES
@DTYPES
def test_norms_and_gradients(mode, dtype, path):
    x, g = numbers(3, 4, 6, dtype=dtype), numbers(3, 4, 6, dtype=dtype, seed=1)
    w6, b6, w4, b4 = (numbers(n, dtype=dtype, seed=s) for n, s in ((6, 2), (6, 3), (4, 4), (4, 5)))
    a, h = exact(x), exact(g)
    mask = [True, True, True]
    with stochastic(5, 2, mode) as block:
        layer = torch.ops.aten.native_layer_norm(x, [6], w6, b6, EPS)
        of_layer = torch.ops.aten.native_layer_norm_backward(g, x, [6], layer[1], layer[2], w6, b6, mask)
        group = torch.ops.aten.native_group_norm(x, w4, b4, 3, 4, 6, 2, EPS)
        of_group = torch.ops.aten.native_group_norm_backward(g, x, group[1], group[2], w4, 3, 4, 6, 2, mask)
        batch = torch.ops.aten.native_batch_norm(x, w4, b4, None, None, True, 0.1, EPS)
        of_batch = torch.ops.aten.native_batch_norm_backward(
            g, x, w4, None, None, batch[1], batch[2], True, EPS, [True, False, True]
        )
        fixed = torch.ops.aten.native_batch_norm(x, w4, b4, b4, w4.abs(), False, 0.1, EPS)[0]
    _, d, v, _ = centred(a, (2,))
    mean = a.sum(axis=2, keepdims=True) / 6
    check(layer[0], d * exact(w6) / sqrt(v) + exact(b6), block, 0, "layer_norm")
    check(layer[1], mean, block, 1)
    check(layer[2], 1 / sqrt(v), block, 2)
    check(of_layer[0], gradient_of_x(h, a, exact(w6), (2,)), block, 3, "layer_norm_backward")
    check(of_layer[1], (h * d / sqrt(v)).sum(axis=(0, 1)), block, 4, "weight of layer_norm")
    check(of_layer[2], h.sum(axis=(0, 1)), block, 5)
    sets, w = a.reshape(3, 2, 12), np.repeat(exact(w4), 6).reshape(1, 2, 12)
    b = np.repeat(exact(b4), 6).reshape(1, 2, 12)
    _, d, v, _ = centred(sets, (2,))
    check(group[0], (d * w / sqrt(v) + b).reshape(a.shape), block, 6, "group_norm")
    check(group[2], (1 / sqrt(v)).reshape(3, 2), block, 8)
    check(of_group[0], gradient_of_x(h.reshape(3, 2, 12), sets, w, (2,)).reshape(a.shape), block, 9, "group_norm_backward")
    check(of_group[1], (h * (d / sqrt(v)).reshape(a.shape)).sum(axis=(0, 2)), block, 10, "weight of group_norm")
    _, d, v, _ = centred(a, (0, 2))
    wide, bias = exact(w4).reshape(1, 4, 1), exact(b4).reshape(1, 4, 1)
    check(batch[0], d * wide / sqrt(v) + bias, block, 12, "batch_norm")
    check(batch[2], (1 / sqrt(v)).reshape(-1), block, 14)
    check(of_batch[0], gradient_of_x(h, a, wide, (0, 2)), block, 15, "batch_norm_backward")
    assert of_batch[1] is None
    check(of_batch[2], h.sum(axis=(0, 2)), block, 16)
    variance = np.abs(wide) + gmpy2.mpfr(EPS)
    check(fixed, (a - bias) * wide / sqrt(variance) + bias, block, 17, "batch_norm by running statistics")


@MODES
@pytest.mark.parametrize("far", [0.0, 3e5])
def test_rows_of_float64(mode, far):
    """Also of sets far from 0 and of shares below the least normal number."""
    f64, eps = torch.float64, EPS
    x, g, y = (numbers(3, 5, dtype=f64, seed=s) + far * (s == 0) for s in range(3))
    low, target = (
        numbers(2, 4, dtype=f64, scale=2) + torch.tensor([0.0, -720.0, 0.0, -745.0], dtype=f64),
        torch.tensor([1, 0, 4]),
    )
    with stochastic(3, 1, mode) as block:
        made = [torch.softmax(x, 1), torch.log_softmax(x, 1), torch.softmax(low, 1), F.mse_loss(x, y), x.mean(1)]
        made += [torch.addcdiv(x, g, y, value=0.3), torch.ops.aten.tanh_backward(g, y), torch.linalg.vector_norm(y, dim=0)]
        layer = torch.ops.aten.native_layer_norm(x, [5], g[0].contiguous(), y[0].contiguous(), eps)
        of_x = torch.ops.aten.native_layer_norm_backward(g, x, [5], layer[1], layer[2], None, None, [True, False, False])[0]
        loss = F.cross_entropy(y, target)
    a, h, b = exact(x), exact(g), exact(y)
    top = a.max(axis=1, keepdims=True)
    want = [shares(a, 1), a - top - log(exp(a - top).sum(axis=1, keepdims=True)), shares(exact(low), 1)]
    want += [
        ((a - b) ** 2).sum() / 15,
        a.sum(axis=1) / 5,
        a + gmpy2.mpfr(0.3) * h / b,
        h * (1 - b * b),
        sqrt((b * b).sum(axis=0)),
    ]
    for number, (ours, value) in enumerate(zip(made, want, strict=True)):
        check(ours, value, block, number, str(number))
    _, d, v, _ = centred(a, (1,))
    check(layer[0], d * h[:1] / sqrt(v) + b[:1], block, 8, "layer_norm")
    check(layer[2], 1 / sqrt(v), block, 10)
    check(of_x, gradient_of_x(h, a, 1, (1,)), block, 11, "layer_norm_backward")
    each = log(exp(b).sum(axis=1)) - b[[0, 1, 2], target.tolist()]
    check(loss, each.sum() / 3, block, 12, "cross_entropy")


def far_sets():
    """Sets far from 0 beside their spread: binary64 knows the result to some 30 bits only."""
    return 1e6 + numbers(64, 15, scale=0.5)


def test_what_binary64_leaves_undecided_is_enclosed():
    x = far_sets()
    with stochastic(3) as block:
        y = torch.ops.aten.native_layer_norm(x, [15], None, None, EPS)[0]
    _, d, v, _ = centred(exact(x), (1,))
    check(y, d / sqrt(v), block, 0)


def test_double_double_in_the_library_rounds_what_cancels():
    """Results of which binary64 knows some 20 to 30 bits, so that most of them are decided in double-double; none are left."""
    a, m = torch.ops.aten, [True, False, False]
    x, g, w = far_sets(), numbers(64, 15, seed=1), numbers(15, seed=2)
    with stochastic(4):
        y, z = torch.softmax(g * 3, 1), torch.log_softmax(g * 3, 1)
    near = 1e6 + g / 8, (z.double().exp() * 3).float()  # beside what is subtracted: Σ g y, and e^z Σ g
    sets = x.reshape(8, 8, 15), g.reshape(8, 8, 15)
    repmath.reset_stats()
    with stochastic(3) as block:
        made = [a.native_layer_norm(x, [15], w, None, EPS)[0]]
        _, mean, root = a.native_layer_norm(x, [15], w, None, EPS)
        made.append(a.native_layer_norm_backward(g, x, [15], mean, root, w, None, m)[0])
        made.append(a.native_batch_norm(sets[0], w[:8], w[1:9], None, None, True, 0.1, EPS)[0])
        made.append(a.native_batch_norm_backward(sets[1], sets[0], w[:8], None, None, mean, root, True, EPS, m)[0])
        made.append(a._softmax_backward_data(near[0], y, 1, torch.float32))
        made.append(a._log_softmax_backward_data(near[1], z, 1, torch.float32))
    assert repmath.stats()["double_double"] > 64 * 15
    v, h = exact(x), exact(g)
    _, d, s, _ = centred(v, (1,))
    check(made[0], d * exact(w) / sqrt(s), block, 0, "layer_norm")
    check(made[1], gradient_of_x(h, v, exact(w), (1,)), block, 6, "layer_norm_backward")
    v, h, each = exact(sets[0]), exact(sets[1]), exact(w[:8]).reshape(1, 8, 1)
    _, d, s, _ = centred(v, (0, 2))
    check(made[2], d * each / sqrt(s) + exact(w[1:9]).reshape(1, 8, 1), block, 7, "batch_norm")
    check(made[3], gradient_of_x(h, v, each, (0, 2)), block, 10, "batch_norm_backward")
    h, p, k, q = exact(near[0]), exact(y), exact(near[1]), exact(z)
    check(made[4], p * (h - (h * p).sum(axis=1, keepdims=True)), block, 11, "softmax_backward")
    check(made[5], k - exp(q) * k.sum(axis=1, keepdims=True), block, 12, "log_softmax_backward")


def test_a_radius_that_is_left_out_is_seen(monkeypatch):
    """The control of the test above."""
    monkeypatch.setattr(_stochastic_quick, "HANDLERS", {})
    monkeypatch.setattr(_stochastic_balls, "_above", lambda radius: np.zeros(np.shape(radius)))
    with pytest.raises(AssertionError):
        test_what_binary64_leaves_undecided_is_enclosed()


@pytest.mark.parametrize("mode", (*rounding_oracle.MODES, *rounding_oracle.DIRECTED))
def test_batch_norms_of_other_names(mode):
    """Without running statistics, or by them."""
    aten, x, w, b, mean, var = (
        torch.ops.aten,
        numbers(5, 3),
        numbers(3),
        numbers(3, seed=1),
        numbers(3, seed=2),
        numbers(3, seed=3).abs(),
    )
    pairs = (
        (
            lambda: aten._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-5),
            lambda: aten.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-5),
        ),
        (
            lambda: aten._native_batch_norm_legit_no_training(x, w, b, mean, var, 0.1, 1e-5),
            lambda: aten.native_batch_norm(x, w, b, mean, var, False, 0.1, 1e-5),
        ),
    )
    for one, other in pairs:
        with stochastic(3, 1, mode):
            made = one()
        with stochastic(3, 1, mode):
            wanted = other()
        assert made[0].equal(wanted[0]) and not made[0].isnan().any()


def test_running_statistics_are_updated_once():
    x = numbers(6, 3)
    modules = [torch.nn.BatchNorm1d(3) for _ in range(2)]
    with stochastic():
        modules[0](x)
    with repmath.torch.reproducible():
        modules[1](x)
    assert torch.equal(modules[0].running_mean, modules[1].running_mean) and modules[0].num_batches_tracked == 1


@MODES
@DTYPES
def test_losses_and_gradients(mode, dtype, path):
    x, y = numbers(5, 4, dtype=dtype, scale=2), numbers(5, 4, dtype=dtype, seed=2).abs().clamp(0, 1)
    target = torch.tensor([0, 3, -100, 1, 2])
    a, b = exact(x), exact(y)
    logs = numbers(5, 4, dtype=dtype, seed=5)
    x.requires_grad_()
    with stochastic(7, 4, mode) as block:
        found = [F.cross_entropy(x, target), F.binary_cross_entropy_with_logits(x, y), F.mse_loss(x, y)]
        gradients = [torch.autograd.grad(loss, x)[0] for loss in found]
        nll = torch.ops.aten.nll_loss_forward(logs, target, None, 1, -100)
        of_nll = torch.ops.aten.nll_loss_backward(nll[0], logs, target, None, 1, -100, nll[1])
    rows, chosen = [0, 1, 3, 4], [0, 3, 1, 2]
    top = a.max(axis=1, keepdims=True)
    each = log(exp(a - top).sum(axis=1)) + top[:, 0]
    check(found[0], sum(each[r] - a[r, c] for r, c in zip(rows, chosen, strict=True)) / 4, block, 0, "cross_entropy")
    size = np.abs(a)
    terms = np.where(a >= 0, a, 0) - a * b + log(1 + exp(-size))
    check(found[1], terms.sum() / 20, block, 1, "bce")
    check(found[2], ((a - b) ** 2).sum() / 20, block, 2, "mse")
    one = np.zeros((5, 4))
    one[rows, chosen] = 1
    counts = (target != -100).numpy()[:, None].astype(int)
    check(gradients[0], (shares(a, 1) - one) * counts / 4, block, 3, "cross_entropy_backward")
    check(gradients[1], (1 / (1 + exp(-a)) - b) / 20, block, 4, "bce_backward")
    check(gradients[2], 2 * (a - b) / 20, block, 5, "mse_backward")
    c = exact(logs)
    check(nll[0], -sum(c[r, k] for r, k in zip(rows, chosen, strict=True)) / 4, block, 6, "nll")
    check(of_nll, -exact(nll[0]) * one / 4, block, 8, "nll_backward")


@MODES
@DTYPES
def test_means_steps_and_sums_by_index(mode, dtype, path):
    x, y, z = (numbers(3, 7, dtype=dtype, seed=s) for s in range(3))
    a, b, c = exact(x), exact(y), exact(z)
    index = torch.tensor([4, 0, 4])
    with stochastic(9, 1, mode) as block:
        got = [
            x.mean(1),
            x / 0.3,
            torch.addcmul(x, y, z, value=-0.1),
            torch.addcdiv(x, y, z, value=0.7),
            torch.lerp(x, y, 0.9),
            torch.linalg.vector_norm(x, dim=0),
            torch.ops.aten.embedding_dense_backward(x, index, 5, -1, False),
            torch.ops.repmath.rms_norm(x, [7], z[0].contiguous(), EPS),
        ]
        changed = x.clone()
        changed.addcmul_(y, z, value=0.2)
    sums = np.zeros((5, 7), object)
    sums[4], sums[0] = a[0] + a[2], a[1]
    want = [
        a.sum(axis=1) / 7,
        a / gmpy2.mpfr(0.3),
        a + gmpy2.mpfr(-0.1) * b * c,
        a + gmpy2.mpfr(0.7) * b / c,
        a + gmpy2.mpfr(0.9) * (b - a),
        sqrt((a * a).sum(axis=0)),
        sums,
        a * c[0] / sqrt((a * a).sum(axis=1, keepdims=True) / 7 + gmpy2.mpfr(EPS)),
        a + gmpy2.mpfr(0.2) * b * c,
    ]
    for number, (g, w) in enumerate(zip([*got, changed], want, strict=True)):
        check(g, w, block, number, str(number))


@MODES
def test_lists_are_one_call_for_each(mode):
    xs = [numbers(4, seed=1), numbers(2, 3, seed=2)]
    with stochastic(2, 0, mode) as block:
        norms = torch._foreach_norm(xs)
        changed = [x.clone() for x in xs]
        torch._foreach_mul_(changed, torch.tensor(0.3))
    assert block.calls == 4
    third = exact(torch.tensor(0.3))
    for i, x in enumerate(xs):
        check(norms[i], sqrt((exact(x) ** 2).sum()), block, i)
        check(changed[i], exact(x) * third, block, 2 + i)


@MODES
def test_transposed_convolutions(mode):
    """Whole numbers, whose sums of products binary64 holds and float32 does not."""
    x, w, bias = (numbers(*s).mul(2**12).round() for s in ((2, 4, 5, 4), (4, 3, 3, 2), (6,)))
    options = {"stride": (2, 1), "padding": (1, 0), "output_padding": (1, 0), "groups": 2}
    doubles = [t.double().requires_grad_() for t in (x, w, bias)]
    want = torch.nn.functional.conv_transpose2d(*doubles, **options)
    g = numbers(*want.shape, seed=1).mul(2**12).round()
    want.backward(g.double())
    leaves = [t.requires_grad_() for t in (x, w, bias)]
    with stochastic(1, 0, mode) as block:
        got = torch.nn.functional.conv_transpose2d(*leaves, **options)
        got.backward(g)
    assert block.calls == 4
    check(got, exact(want), block, 0)
    for number, (ours, theirs) in enumerate(zip(leaves, doubles, strict=True)):
        check(ours.grad, exact(theirs.grad), block, number + 1)


def thirds(a, axis, words, fmt, mode, back):
    """From 4 elements to 10 along an axis, corners on corners, or its gradient: exact sums with the format's numbers beside thirds, rounded."""
    dtype = next(k for k, v in FORMATS.items() if v == fmt)
    weights = np.zeros((10, 4), object)
    for i in range(10):
        part = float(torch.tensor(i % 3 / 3, dtype=torch.float64).to(dtype))
        rest = float(torch.tensor(1 - i % 3 / 3, dtype=torch.float64).to(dtype))
        weights[i, i // 3] += Fraction(rest)
        if i % 3:
            weights[i, i // 3 + 1] += Fraction(part)
    if back:
        weights = weights.T
    lines = np.moveaxis(a, axis, -1)
    exact = np.moveaxis((lines[..., None, :] * weights).sum(-1), -1, axis)
    flat = [rounding_oracle.rounded(v, fmt, mode, int(w)) if v else 0 for v, w in zip(exact.reshape(-1), words, strict=True)]
    size = dtype.itemsize
    made = torch.tensor(np.array(flat, f"u{size}").view(f"i{size}")).view(dtype)
    return made.reshape(exact.shape)


def fractions(t):
    return np.vectorize(Fraction, otypes=[object])(t.double().numpy())


@MODES
@DTYPES
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_resized_images_round_once_an_axis(mode, dtype, dims):
    x, g = numbers(2, 1, *[4] * dims, dtype=dtype), numbers(2, 1, *[10] * dims, dtype=dtype, seed=1)
    name = ["linear", "bilinear", "trilinear"][dims - 1]
    leaf = x.clone().requires_grad_()
    with stochastic(3, 2, mode) as block:
        got = F.interpolate(leaf, size=(10,) * dims, mode=name, align_corners=True)
        got.backward(g)
        after = x + x
    assert block.calls == 2 * dims + 1 and not block.uncovered
    for made, start, back in ((got, x, False), (leaf.grad, g, True)):
        a = start
        for number, axis in enumerate(range(dims) if back else reversed(range(dims))):
            sizes = list(a.shape)
            sizes[axis + 2] = 4 if back else 10
            stream = (2 << 32) + number + back * dims
            words = rounding_oracle.words(3, stream, 0, int(np.prod(sizes)))
            a = thirds(fractions(a), axis + 2, words, FORMATS[dtype], mode, back)
        assert bits(made) == bits(a)
    check(after, exact(x) * 2, block, 2 * dims)


@MODES
def test_conversions_to_narrower_formats_round(mode):
    x = torch.cat([numbers(50), torch.tensor([-0.0, 1e39, float("nan"), 2.0**-140])])
    with stochastic(6, 0, mode) as block:
        made = [x.to(torch.bfloat16), x.to(torch.float16), x.double().to(torch.float32)]
    assert block.calls == 4  # a conversion to a wider format has a number, and does not round
    for number, got in zip((0, 1, 3), made, strict=True):
        check(got[:50].contiguous(), exact(x[:50]), block, number)
        assert got[50] == 0 and got[50].signbit() and got[51] == float("inf") and got[52].isnan()


def test_what_is_not_there_says_so():
    x, z = numbers(4, 5), torch.ones(3, 3, dtype=torch.complex64)
    with stochastic(strict=False) as block:
        F.mish(x)
    assert not block.uncovered
    with stochastic(), pytest.raises(UncoveredOperatorError, match="baddbmm"):
        torch.baddbmm(z[None], z[None], z[None], beta=2j)


def test_gradients_of_weights_beside_what_is_not_finite():
    """All NaN, or a refusal: never rounded to nearest without a word."""
    x, g = numbers(3, 6), numbers(3, 6, seed=1)
    weight = torch.ones(6)

    def gradient(x, g):
        y, mean, root = torch.ops.aten.native_layer_norm(x, [6], weight, None, EPS)
        return torch.ops.aten.native_layer_norm_backward(g, x, [6], mean, root, weight, None, [False, True, False])[1]

    with stochastic():
        assert gradient(x.index_fill(1, torch.tensor([2]), float("nan")), g).isnan().all()
    g[0, 0] = float("nan")
    with stochastic(), pytest.raises(UncoveredOperatorError, match="of infinities and NaN it is not there"):
        gradient(x, g)


def test_enclosures_hold_their_values():
    """exp, log and root of rationals, small and large, to 128 bits and more."""
    cases = [Fraction(n, d) for n in (1, -1, 3, -7, 1999, -1999) for d in (1, 3, 10**6, 2**70)]
    for bits_ in (128, 512):
        for x in cases:
            v = _stochastic_balls.Interval(x, x, bits_)
            for name, function in (("exp", gmpy2.exp), ("log", gmpy2.log), ("sqrt", gmpy2.sqrt)):
                if name != "exp" and x <= 0:
                    continue
                made = getattr(v, name)()
                want = Fraction(*map(int, function(gmpy2.mpfr(gmpy2.mpq(x.numerator, x.denominator))).as_integer_ratio()))
                near = abs(want) / 2**1300
                assert made.low - near <= want <= made.high + near, (name, x)
                if name != "exp" or x > -30:
                    assert made.high - made.low <= abs(want) / 2 ** (bits_ - 40), (name, x, bits_)


@MODES
def test_unmodified_models_train(mode):
    """Every operator of a small GPT-2-like and a convolutional network, strictly; one digest for each sample."""

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.n = torch.nn.Embedding(11, 8), torch.nn.LayerNorm(8)
            self.qkv, self.o = torch.nn.Linear(8, 24), torch.nn.Linear(8, 11)

        def forward(self, ids):
            h = self.n(self.e(ids))
            q, k, v = (t.view(2, 5, 2, 4).transpose(1, 2) for t in self.qkv(h).split(8, -1))
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.o(h + a.transpose(1, 2).reshape(2, 5, 8))

    def run(sample):
        with repmath.torch.reproducible():
            torch.manual_seed(1)
            language = Block()
            images = torch.nn.Sequential(
                torch.nn.Conv2d(1, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.GroupNorm(3, 3),
                torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 4),
            )  # fmt: skip
            pixels = torch.randn(4, 1, 8, 8)
        ids = torch.arange(10).reshape(2, 5)
        parameters = [*language.parameters(), *images.parameters()]
        optimizer = torch.optim.AdamW(parameters, 0.01)
        with stochastic(0, sample, mode) as block:
            for _ in range(2):
                optimizer.zero_grad()
                loss = F.cross_entropy(language(ids).view(10, 11), ids.view(-1))
                (loss + F.cross_entropy(images(pixels), torch.arange(4))).backward()
                torch.nn.utils.clip_grad_norm_(parameters, 1.0)
                optimizer.step()
        assert not block.uncovered
        return repmath.torch.digest(*parameters)

    assert run(1) == run(1)
    assert (run(1) == run(2)) == (mode in rounding_oracle.DIRECTED)  # which ask no words


@pytest.mark.parametrize("mode", (*rounding_oracle.MODES, *rounding_oracle.DIRECTED))
@pytest.mark.parametrize("eight", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_conversions_to_numbers_of_8_bits(dtype, eight, mode):
    """By the list of all numbers of the format; a number of it stays, and so does a copy to a wider one."""
    codes = torch.arange(127, dtype=torch.uint8)
    every = [Fraction(v) for v in codes.view(eight).double().tolist() if math.isfinite(v)]
    x = torch.cat((torch.linspace(-3, 3, 40), torch.tensor([0.0, 2.0**-17, -(2.0**-11), 1.5, -400.0, 301.0, 17.3]))).to(dtype)
    words = rounding_oracle.words(5, 3 << 32, 0, x.numel()).tolist()
    near = x.to(eight).view(torch.uint8).tolist()
    want = []
    for v, w, code in zip(x.double().tolist(), words, near, strict=True):
        size = abs(Fraction(v))
        k = max(i for i, number in enumerate(every) if number <= size)
        f = (size - every[k]) / (every[k + 1] - every[k])
        if mode == "up_down":
            want.append(code if code & 127 == 0 else code + (1 if w >> 31 else -1))
            continue
        away = {
            "stochastic": f > Fraction(2 * w + 1, 2**33),
            "random": f and w >> 31,
            "toward_zero": False,
            "down": f and v < 0,
            "up": f and v > 0,
        }[mode]
        want.append(k + bool(away) | (128 if math.copysign(1, v) < 0 else 0))
    with stochastic(5, 3, mode) as block:
        made = x.to(eight)
        assert block.calls == 1
        wide = made.float()
        assert block.calls == 2 and torch.equal(wide, made.float())
        held = torch.empty(made.shape, dtype=torch.float16).copy_(made)
    assert made.view(torch.uint8).tolist() == want
    assert torch.equal(held.float(), wide)
    into = torch.zeros(x.numel() * 2, dtype=eight)[::2]
    with stochastic(5, 3, mode):
        into.copy_(x)
    assert into.contiguous().view(torch.uint8).tolist() == want
    with repmath.rounding.scope(mode, seed=5, sample=3):
        if dtype is not torch.bfloat16:
            own = repmath.to_float8(x.numpy(), str(eight).removeprefix("torch."))
            assert own.view(np.uint8).tolist() == want
    large = torch.tensor([1e6, -1e6], dtype=dtype)
    with stochastic(5, 3, mode):
        made = large.to(eight).double().tolist()
    most = float(every[-1])
    ends = (
        [most, -most]
        if mode == "toward_zero"
        else [math.inf, -most]
        if mode == "up"
        else [most, -math.inf]
        if mode == "down"
        else [math.inf, -math.inf]
    )
    if eight is torch.float8_e4m3fn:
        ends = [v if abs(v) == most else math.nan for v in ends]
    assert np.array_equal(made, ends, equal_nan=True), (made, ends)


@pytest.mark.parametrize("what", ["forward", "input", "weight"])
def test_no_balls_of_binary64(what):
    """The library's balls are of narrower formats: a call in binary64 says so, and writes nothing."""
    x, made = np.ones((1, 1, 1, 4)), np.full(4, 7.0)
    out, strides = (made, (0, 0, 0, 8)) if what == "weight" else (made.reshape(x.shape), None)
    with pytest.raises(ValueError, match="beyond its range"):
        _core.normalize(
            what,
            "f64",
            True,
            x,
            None if what == "forward" else x,
            None,
            None,
            None,
            None,
            EPS,
            out,
            strides,
            (np.empty(4), np.empty(4)),
        )
    assert (made == 7.0).all()


@MODES
@DTYPES
@pytest.mark.parametrize("eps", [0.0, -0.25])
def test_rms_norms_of_eps_that_is_not_positive(mode, dtype, eps):
    """Rows whose mean of squares + eps is positive, and one whose is not, which is NaN."""
    x, w = numbers(3, 7, dtype=dtype), numbers(7, dtype=dtype, seed=2)
    x[1] = 0
    with stochastic(9, 1, mode) as block:
        made = torch.ops.repmath.rms_norm(x, [7], w, eps)
    assert made[1].isnan().all()
    a = exact(x)
    a[1] = a[0]
    want = a * exact(w) / sqrt((a * a).sum(axis=1, keepdims=True) / 7 + gmpy2.mpfr(eps))
    values, words = want.reshape(-1), rounding_oracle.words(block.seed, block.sample << 32, 0, want.size).tolist()
    for i in (*range(7), *range(14, 21)):
        value = Fraction(*map(int, values[i].as_integer_ratio()))
        assert bits(made.reshape(-1)[i]) == [rounding_oracle.rounded(value, FORMATS.get(dtype, "f64"), mode, words[i])]


def test_norms_of_eps_below_zero():
    """Sets whose variance + eps is positive move by a step at most; all others are NaN."""
    x = numbers(4, 8, seed=1)
    x[[0, 2, 3]] *= 2
    x[1] *= 0.01
    for dtype in (torch.float32, torch.float64):
        a = x.to(dtype)
        with repmath.torch.reproducible():
            want = torch.nn.functional.layer_norm(a, (8,), eps=-0.5)
        with stochastic(seed=1):
            made = torch.nn.functional.layer_norm(a, (8,), eps=-0.5)
        assert want.isnan().all(1).tolist() == made.isnan().all(1).tolist() == [False, True, False, False]
        step = 2 * torch.finfo(dtype).eps * want[[0, 2, 3]].abs()
        assert ((made - want)[[0, 2, 3]].abs() <= step).all() and not torch.equal(made[[0, 2, 3]], want[[0, 2, 3]])

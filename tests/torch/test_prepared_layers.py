"""Prepared calls of layers have the bits, the layouts and the errors of the table's functions: norms, products, softmax, attention, windows, losses."""

from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.nn.functional as F  # noqa: E402
from exact_oracle import number, rounded  # noqa: E402
from prepared_calls import FORMATS, all_bits, bits, check_alike, checked, gaps, table_alone, tensor, turned  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath import _core  # noqa: E402
from repmath.torch._aten import prepared  # noqa: E402
from repmath.torch._aten.table import FUNCTIONS  # noqa: E402

aten = torch.ops.aten
MASKS = ([True, True, True], [True, False, False], [False, True, False], [False, False, True], [False, True, True])


def layer_norms(dtype):
    forward, backward = aten.native_layer_norm.default, aten.native_layer_norm_backward.default
    x, g, w, b = (tensor(dtype, *s, seed=i) for i, s in enumerate([(3, 2, 6), (3, 2, 6), (6,), (6,)]))
    for t in (x, tensor(dtype, 3, 2, 6, special=True), x * 0, gaps(x), turned(x)):
        yield True, forward, (t, [6], w, b, 1e-5)
        yield True, forward, (t, [2, 6], None, None, 0.0)
        yield True, forward, (t, [6], w, None, 1)
    yield True, forward, (x[:1, :1], [1, 6], None, tensor(dtype, 1, 6), 0.25)
    yield False, forward, (x[:0], [6], w, b, 1e-5)
    yield False, forward, (x, [5], None, None, 1e-5)
    yield False, forward, (x, [6], w[:5], None, 1e-5)
    yield False, forward, (x, [6], gaps(w), None, 1e-5)
    yield False, forward, (x, [6], w, b, -1.0)
    yield False, forward, (x, [6], w.to(torch.float32 if dtype is not torch.float32 else torch.float64), b, 1e-5)
    with rt.reproducible():
        for shape in ([6], [2, 6], [3, 2, 6]):
            weight, bias = tensor(dtype, *shape, seed=8), tensor(dtype, *shape, seed=9)
            for t in (x, gaps(x), tensor(dtype, 3, 2, 6, special=True)):
                _, mean, rstd = forward(t, shape, None, None, 1e-3)
                for i, mask in enumerate(MASKS):
                    yield (
                        True,
                        backward,
                        ((g, turned(g), g.sum().expand(g.shape))[i % 3], t, shape, mean, rstd, weight, bias, mask),
                    )
                    yield (
                        True,
                        backward,
                        (g, t, shape, mean, rstd, *((None, bias), (weight, None), (None, None))[i % 3], mask),
                    )


def group_norms(dtype):
    forward, backward = aten.native_group_norm.default, aten.native_group_norm_backward.default
    w, b = tensor(dtype, 4, seed=2), tensor(dtype, 4, seed=3)
    for shape in ((2, 4, 3), (2, 4), (1, 4, 3, 2), (2, 4, 3, 1)):
        inner = int(torch.Size(shape[2:]).numel())
        for x in (
            tensor(dtype, *shape),
            tensor(dtype, *shape, special=True),
            gaps(tensor(dtype, *shape)),
            turned(tensor(dtype, *shape)),
        ):
            for groups in (1, 2, 4):
                rest = (shape[0], 4, inner, groups)
                for weights in ((w, b), (w, None), (None, None)):
                    yield True, forward, (x, *weights, *rest, 1e-5)
                with rt.reproducible():
                    _, mean, rstd = forward(x, w, b, *rest, 1e-5)
                for mask in MASKS:
                    yield True, backward, (tensor(dtype, *shape, seed=5), x, mean, rstd, w, *rest, mask)
                    yield True, backward, (turned(tensor(dtype, *shape, seed=5)), x, mean, rstd, None, *rest, mask)
            yield False, forward, (x, w, b, shape[0], 4, inner, 3, 1e-5)
            yield False, forward, (x, w[:3], b, shape[0], 4, inner, 2, 1e-5)


def batch_norms(dtype):
    forward, legit = aten.native_batch_norm.default, aten._native_batch_norm_legit
    w, b = tensor(dtype, 3, seed=2), tensor(dtype, 3, seed=3)
    sure = None  # running statistics beside a boundary of rounding are taken from rationals
    for shape in ((4, 3), (2, 3, 5), (1, 3, 2, 2), (2, 3, 1, 2)):
        for k, x in enumerate(
            (
                tensor(dtype, *shape),
                tensor(dtype, *shape, special=True),
                gaps(tensor(dtype, *shape)),
                tensor(dtype, *shape) * 0,
            )
        ):
            mean, var = tensor(dtype, 3, seed=4), tensor(dtype, 3, seed=5).abs()
            for momentum in (0.1, 1.0, 0, 0.3):
                yield sure, forward, (x, w, b, mean, var, True, momentum, 1e-5)
            yield sure, forward, (x, None, None, mean, None, True, 0.1, 1e-5)
            yield sure, legit.default, (x, w, None, mean, var, True, 0.1, 1e-5)
            if dtype.itemsize == 2:
                yield sure, forward, (x, w, b, mean.float(), var.float(), True, 0.1, 1e-5)
            strange = mean.clone()
            strange[0], strange[1] = float("inf"), float("nan")
            yield sure, forward, (x, w, b, strange, var, True, 0.1, 1e-5)
            yield True, forward, (x, w, b, None, None, True, 0.1, 1e-5)
            yield True, legit.no_stats, (x, w, b, True, 0.1, 0.0)
            yield True, forward, (x, w, b, mean, var, False, 0.1, 1e-5)
            yield True, aten._native_batch_norm_legit_no_training.default, (x, w, None, mean, -var, 0.1, 1e-5)
            g = tensor(dtype, *shape, seed=7 + k)
            for i, mask in enumerate(MASKS):
                h = (g, turned(g), g.sum().expand(g.shape))[i % 3]
                yield True, aten.native_batch_norm_backward.default, (h, x, w, mean, var, None, None, True, 1e-5, mask)
                yield True, aten.native_batch_norm_backward.default, (g, x, None, None, None, mean, var, True, 1e-5, mask)
                yield True, aten.native_batch_norm_backward.default, (g, x, w, mean, var, None, None, False, 1e-5, mask)
    if dtype is torch.float32:  # 1/10 of the mean, and of the variance, is a tie; momentum is a hair more
        for odd in (1833, 1999, 2589):
            tie = 5 * (2**24 + 2 * odd + 1) * 2.0**-23
            high = torch.tensor(tie, dtype=dtype).item()
            for x in (
                torch.tensor([[0.0, 0.0, 1.0], [10.0 * odd, -10.0 * odd, 2.0]]),
                torch.tensor([[high, -high, 1.0], [tie - high, high - tie, 2.0]]),
            ):
                for momentum in (0.1, 1e-3, 0.7):
                    yield True, forward, (x, w, b, torch.zeros(3), torch.zeros(3), True, momentum, 1e-5)
    if dtype.itemsize == 2:
        x, floats = tensor(dtype, 4, 3), (w.float() + 2.0**-20, None)
        for first in floats:
            yield True, forward, (x, first, floats[0], None, None, True, 0.1, 1e-5)
            yield True, aten.native_batch_norm_backward.default, (
                tensor(dtype, 4, 3, seed=9), x, first, b.float(), b.float(), None, None, True, 1e-5, MASKS[0],
            )  # fmt: skip
    yield False, forward, (tensor(dtype, 1, 3), w, b, None, None, True, 0.1, 1e-5)
    yield False, forward, (tensor(dtype, 3), None, None, None, None, True, 0.1, 1e-5)


def products(dtype):
    a, b, v, r = (tensor(dtype, *s, seed=i) for i, s in enumerate([(4, 6), (6, 5), (6,), (5,)]))
    s, t = tensor(dtype, 3, 4, 6), tensor(dtype, 3, 6, 5)
    c, stack = tensor(dtype, 4, 5, special=True), tensor(dtype, 3, 4, 5)
    for x in (a, gaps(a), turned(a), tensor(dtype, 4, 6, special=True)):
        yield True, aten.mv.default, (x, v)
        yield True, aten.mv.default, (x, gaps(v))
        for c0 in (c, gaps(c), c[:1], r, c[:, :1], c[0, 0]):
            yield True, aten.addmm.default, (c0, x, b)
            yield True, aten.addmm.default, (c0, x, b), {"beta": 0.5, "alpha": 3}
            yield True, aten.addmm.default, (c0, x, b), {"beta": 0}
        yield True, aten.addmm_.default, (c, x, b), {"alpha": 0.1}
        start = v[:4].clone()
        for c0 in (start, v[0], v[:1]):
            yield True, aten.addmv.default, (c0, x, v), {"beta": -1}
        yield True, aten.addmv_.default, (start, x, v), {"alpha": 2}
    for x, y in ((s, t), (turned(s), gaps(t))):
        for c0 in (stack, c, r):
            yield True, aten.baddbmm.default, (c0, x, y), {"alpha": 0.125}
        yield True, aten.baddbmm_.default, (stack, x, y)
        yield True, aten.addbmm.default, (c, x, y), {"beta": 2}
        yield True, aten.addbmm_.default, (c, x, y)
    yield True, aten.dot.default, (v, gaps(v))
    yield True, aten.vdot.default, (v, v)
    yield True, aten.addr.default, (c, v[:4], r), {"alpha": 0.3}
    yield True, aten.addr_.default, (c, v[:4], gaps(r))
    yield False, aten.addr.default, (c, v[:4], r), {"alpha": 0}
    yield False, aten.mv.default, (a, r)
    yield False, aten.dot.default, (v, r)
    yield False, aten.dot.default, (v[:0], v[:0])
    yield False, aten.mm.default, (a, a)
    yield False, aten.addmm.default, (c[:3], a, b)
    yield False, aten.addmm.default, (c, a[:, :0], b[:0])
    yield False, aten.baddbmm.default, (stack, s, t[:2])
    yield False, aten.addmm_.default, (c[:1], a, b)
    square = tensor(dtype, 4, 4)
    yield False, aten.addmm_.default, (square, square, square)


def rows(dtype):
    x, y, g = (tensor(dtype, 3, 4, 5, seed=i) for i in (1, 2, 3))
    masked = torch.where(y > 1, -torch.inf, x).to(dtype)
    masked[1, 2], masked[:, 0, 0] = -torch.inf, -torch.inf
    for t in (x, masked, tensor(dtype, 3, 4, 5, special=True), gaps(x), turned(masked)):
        for dim in range(-3, 3):
            yield True, aten._softmax.default, (t, dim, False)
            yield True, aten._log_softmax.default, (t, dim, False)
            yield True, aten._softmax_backward_data.default, (g, t.double().softmax(dim).to(dtype), dim, dtype)
            yield True, aten._log_softmax_backward_data.default, (turned(g), t, dim, dtype)
            yield True, aten._safe_softmax.default, (t, dim)
    yield False, aten._softmax.default, (x, 3, False)
    yield False, aten._softmax.default, (x[:0], 1, False)
    yield False, aten._softmax.default, (x[0, 0, 0], 0, False)
    yield False, aten._softmax_backward_data.default, (g, x[:2], 0, dtype)


def attentions(dtype):
    forward = aten._scaled_dot_product_flash_attention_for_cpu.default
    backward = aten._scaled_dot_product_flash_attention_for_cpu_backward.default
    q, k, v, g = (tensor(dtype, 2, 3, *s, seed=i) for i, s in enumerate([(4, 8), (5, 8), (5, 6), (4, 6)]))
    other = tensor(dtype, 2, 4, 3, 8).transpose(1, 2)
    added = torch.where(tensor(dtype, 2, 3, 4, 5) > 0, tensor(dtype, 2, 3, 4, 5), -torch.inf).to(dtype)
    added[0, :, 1] = -torch.inf
    allowed = tensor(torch.float32, 2, 1, 4, 5) > 0
    masks = (None, added, added[:1, :, :1], allowed, allowed[0, 0], gaps(added), allowed & False)
    for a in (q, other, gaps(q), tensor(dtype, 2, 3, 4, 8, special=True)):
        for mask in masks:
            for scale in (None, 0.3):
                options = {"attn_mask": mask, "scale": scale} if mask is not None or scale else {}
                yield True, forward, (a, k, v), options
                yield True, forward, (a, k, turned(v), 0.0, False), options
                yield True, backward, (g, a, k, v, g, g[..., 0], 0.0, False), options
        yield True, forward, (a, k, v, 0.0, True)
        yield True, backward, (turned(g), a, k, v, g, g[..., 0], 0.0, True)
        for mask in (None, added, allowed):  # heads of queries that share one of keys
            options = {"attn_mask": mask} if mask is not None else {}
            yield True, forward, (a, k[:, 1:2], v[:, :1]), options
            yield True, backward, (g, a, k[:, 1:2], v[:, :1], g, g[..., 0], 0.0, False), options
        yield True, forward, (a, k[:, :1], v[:, :1], 0.0, True)
        yield True, backward, (g, a, k[:, :1], v[:, :1], g, g[..., 0], 0.0, True)
        yield False, forward, (a, k[:, :2], v[:, :2])
        yield False, forward, (a, k, v[:, :1])
        yield False, forward, (a, k, v, 0.5)
        yield False, forward, (a, k, v, 0.0, True), {"attn_mask": allowed}
        yield False, forward, (a, k, v), {"attn_mask": added.double() if dtype is not torch.float64 else added.float()}


def convolutions(dtype):
    forward, backward = aten.convolution.default, aten.convolution_backward.default
    for dims in (1, 2, 3):
        size = (7, 6, 5)[:dims]
        x, w, b = tensor(dtype, 2, 4, *size), tensor(dtype, 6, 2, *(3, 2, 2)[:dims], seed=2), tensor(dtype, 6, seed=3)
        layouts = [x, gaps(x), turned(x), tensor(dtype, 2, 4, *size, special=True)]
        if dims == 2:
            layouts += [
                x.contiguous(memory_format=torch.channels_last),
                x[:, :2].contiguous(memory_format=torch.channels_last)[:, [0, 1, 0, 1]],
            ]
            last = tensor(dtype, 2, 4, 3, 2).contiguous(memory_format=torch.channels_last)
            yield True, forward, (last, tensor(dtype, 5, 4, 3, 2), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
            yield True, forward, (last, tensor(dtype, 1, 4, 2, 2), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
        for a in layouts:
            for stride, padding, dilation in (
                ([1], [0], [1]),
                ([2] * dims, [1] * dims, [1] * dims),
                ([1] * dims, [2] * dims, [2] * dims),
            ):
                rest = stride, padding, dilation, False, [0] * dims, 2
                yield True, forward, (a, w, b, *rest)
                yield True, forward, (a, turned(w), None, *rest)
                with rt.reproducible():
                    y = forward(a, w, b, *rest)
                g = tensor(dtype, *y.shape, seed=5)
                for mask in MASKS:
                    yield True, backward, (g, a, w, [6], *rest, mask)
                yield True, backward, (g.sum().expand(g.shape), a, turned(w), None, *rest, [True, True, False])
                u = tensor(dtype, 4, 3, *(3, 2, 2)[:dims], seed=2)
                sizes = [(values * dims)[:dims] for values in (stride, padding, dilation)]
                rest = stride, padding, dilation, True, [min(1, max(s, d) - 1) for s, _, d in zip(*sizes, strict=True)], 2
                yield True, forward, (a, u, b, *rest)
                with rt.reproducible():
                    y = forward(a, u, b, *rest)
                g = tensor(dtype, *y.shape, seed=5)
                # Not where there is more at the end than a window reads.
                lengths = zip(y.shape[2:], a.shape[2:], u.shape[2:], *sizes, strict=True)
                fits = all((n + 2 * p - d * (k - 1) - 1) // s + 1 == m for n, m, k, s, p, d in lengths)
                for mask in MASKS:
                    yield fits, backward, (g, a, u, [6], *rest, mask)
        one = [1] * dims
        yield False, forward, (x, w, b[:5], one, one, one, False, [0] * dims, 2)
        yield False, forward, (x, w, b, one, one, one, False, [0] * dims, 3)
        yield False, forward, (x[:, :, :1], w, b, one, [0] * dims, one, False, [0] * dims, 2)
        yield False, forward, (x[:0], w, b, one, one, one, False, [0] * dims, 2)
        yield False, backward, (x, x, w, [6], one, one, one, False, [0] * dims, 2, [True] * 3)


def pools(dtype):
    for dims in (2, 3):
        x = tensor(dtype, 2, 3, *(6, 5, 4)[:dims])
        layouts = [x, x[0], gaps(x), turned(x), tensor(dtype, 2, 3, *(6, 5, 4)[:dims], special=True)]
        greatest, average = getattr(aten, f"max_pool{dims}d_with_indices").default, getattr(aten, f"avg_pool{dims}d").default
        from_greatest = getattr(aten, f"max_pool{dims}d_with_indices_backward").default
        from_average = getattr(aten, f"avg_pool{dims}d_backward").default
        equal, most = getattr(aten, f"_adaptive_avg_pool{dims}d"), getattr(aten, f"adaptive_max_pool{dims}d")
        from_equal = getattr(aten, f"_adaptive_avg_pool{dims}d_backward").default
        from_most = getattr(aten, f"adaptive_max_pool{dims}d_backward").default
        for a in layouts:
            for sizes in (
                ([2],),
                ([3] * dims, [2] * dims),
                ([3, 2, 2][:dims], [1] * dims, [1] * dims),
                ([2] * dims, [], [1]),
            ):
                for ceil_mode in (False, True):
                    stride, padding = (*sizes, [], [0])[1], (*sizes, [], [0], [0])[2 if len(sizes) > 2 else -1]
                    full = sizes[0], stride, padding, [1], ceil_mode
                    yield True, greatest, (a, *sizes)
                    yield True, greatest, (a, *full)
                    yield True, greatest, (a, [2], [1], [0], [2] * dims, ceil_mode)
                    with rt.reproducible():
                        made, at = greatest(a, *full)
                    g = tensor(dtype, *made.shape, seed=3, special=True)
                    yield True, from_greatest, (g, a, *full, at)
                    yield True, from_greatest, (gaps(g), a, *full, at)
                    yield True, average, (a, *sizes)
                    for rest in ((True,), (False,), (True, 3), (False, None)):
                        yield True, average, (a, *full[:3], ceil_mode, *rest)
                        yield True, from_average, (turned(g), a, *full[:3], ceil_mode, *rest, *(None,)[: 2 - len(rest)])
            for size in ([3] * dims, [1] * dims, [4, 3, 2][:dims]):
                yield True, equal.default, (a, size)
                yield True, most.default, (a, size)
                with rt.reproducible():
                    made, at = most.default(a, size)
                yield True, from_equal, (tensor(dtype, *made.shape), a)
                yield True, from_most, (tensor(dtype, *made.shape, special=True), a, at)
        yield False, greatest, (x, [2], [1], [2])
        yield False, greatest, (x, [7] * dims)
        yield False, average, (x[:, :0], [2])


def losses(dtype):
    for shape in ((5, 4), (4,), (2, 4, 3, 2)):
        forward = aten.nll_loss2d_forward.default if len(shape) == 4 else aten.nll_loss_forward.default
        backward = aten.nll_loss2d_backward.default if len(shape) == 4 else aten.nll_loss_backward.default
        x = tensor(dtype, *shape)
        labels = shape[:1] + shape[2:] if len(shape) > 1 else ()
        target = torch.arange(int(torch.Size(labels).numel())).view(labels) % 4
        for a in (x, gaps(x), turned(x), tensor(dtype, *shape, special=True)):
            for weight in (None, tensor(dtype, 4, seed=2).abs()):
                for reduction in range(3):
                    for ignored in (-100, 1, 0):
                        yield True, forward, (a, target, weight, reduction, ignored)
                        with rt.reproducible():
                            made, total = forward(a, target, weight, reduction, ignored)
                        g = tensor(dtype, *made.shape, seed=6)
                        yield True, backward, (g, a, target, weight, reduction, ignored, total)
                    yield True, forward, (a, target * 0 + 2, weight, reduction, 2)
        yield False, forward, (x, target * 0 + 4, None, 1, -100)
        yield False, forward, (x, target, tensor(dtype, 3), 1, -100)
        yield False, forward, (x, target.int(), None, 1, -100)
    x, y = tensor(dtype, 3, 4), tensor(dtype, 3, 4, seed=2)
    for name, numbers in (("mse", ((),)), ("smooth_l1", ((), (0.5,), (0,), (1e-3,))), ("huber", ((), (0.5,), (2,)))):
        forward, backward = (getattr(aten, f"{name}_loss{end}").default for end in ("", "_backward"))
        for a, b in ((x, y), (gaps(x), turned(y)), (x[0, 0], y[1, 1]), (tensor(dtype, 3, 4, special=True), y), (x, x)):
            yield True, forward, (a, b)
            for reduction in range(3):
                for given in numbers:
                    yield True, forward, (a, b, reduction, *given)
                    g = tensor(dtype, 3, 4, seed=5).view(a.shape) if reduction == 0 and a.ndim else tensor(dtype, 1)[0]
                    yield True, backward, (g, a, b, reduction, *(given or (() if name == "mse" else (1.0,))))
        yield False, forward, (x, y[0])
        yield False, forward, (x[:0], y[:0])
    logits, bad = aten.binary_cross_entropy_with_logits.default, tensor(dtype, 3, 4, special=True)
    for a, b in ((x, y.sigmoid()), (gaps(x), y), (bad, (y > 0).to(dtype)), (x[0, 0], y[0, 0])):
        for reduction in range(3):
            for weight in (None, y, y[0], y[:, :1], gaps(y)) if a.ndim else (None, y[0, 0]):
                for positive in (None, y[1].abs()) if a.ndim else (None, y[0, 0]):
                    yield True, logits, (a, b, weight, positive, reduction)
    yield True, logits, (x, y)


FAMILIES = (layer_norms, group_norms, batch_norms, products, rows, attentions, convolutions, pools, losses)


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_alike(family, dtype, general):
    checked(family(dtype), general)


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_linear(dtype):
    """Which comes as a whole where PyTorch does not compose it, in inference mode."""
    b, r = tensor(dtype, 6, 5, seed=2), tensor(dtype, 5, seed=3)
    for x in (
        tensor(dtype, 4, 6),
        tensor(dtype, 3, 4, 6, special=True),
        tensor(dtype, 6),
        gaps(tensor(dtype, 3, 2, 6)),
        turned(tensor(dtype, 4, 6)),
    ):
        for w in (b.t(), turned(b.t()), gaps(b.t())):
            for bias in (None, r):
                with table_alone():
                    want = FUNCTIONS[aten.linear.default](x, w, bias)
                assert all_bits(_core.Linear()(x, w, bias), True)[:2] == all_bits(want)[:2]
                assert all_bits(_core.Linear()(x, w, bias)) == all_bits(want)
    assert _core.Linear()(x, b, r) is NotImplemented and _core.Linear()(x, b.t(), r[:4]) is NotImplemented


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_linear_without_gradients(dtype):
    """Which goes to its product at once: the bits, shape and kind of tensor that PyTorch's composition has."""
    r = tensor(dtype, 5, seed=3)
    for x in (
        tensor(dtype, 4, 6),
        tensor(dtype, 3, 4, 6),
        gaps(tensor(dtype, 3, 2, 6)),
        turned(tensor(dtype, 4, 6)),
        tensor(dtype, 6),
    ):
        for w in (tensor(dtype, 5, 6, seed=2), torch.nn.Parameter(gaps(tensor(dtype, 5, 6, seed=2)))):
            for bias in (None, r):
                with rt.reproducible():
                    want = F.linear(x, w, bias).detach()
                    with torch.no_grad():
                        got = F.linear(x, w, bias)
                    with torch.inference_mode():
                        other = F.linear(x, w, bias)
                assert all_bits(got) == all_bits(want) == all_bits(other.clone())
                assert not got.requires_grad and other.is_inference() and not got.is_inference()


def test_what_a_linear_map_alone_leaves_to_pytorch():
    x, w = tensor(torch.float32, 4, 6), tensor(torch.float32, 5, 6, seed=2)
    seen = []

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with rt.reproducible(), torch.no_grad():
        want = F.linear(x, w)
        with torch.autocast("cpu", torch.bfloat16):
            assert F.linear(x, w).dtype is torch.bfloat16
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
            tangent = torch.autograd.forward_ad.unpack_dual(F.linear(dual, w)).tangent
        assert all_bits(tangent) == all_bits(F.linear(torch.ones_like(x), w))
        assert all_bits(torch.vmap(lambda row: F.linear(row[None], w)[0])(x)) == all_bits(want)
        with Names():
            F.linear(x, w)
        assert aten.mm.default in seen
        with pytest.raises(RuntimeError):
            F.linear(x, w[:, :5])
        with FakeTensorMode() as fake:
            assert F.linear(fake.from_tensor(x), fake.from_tensor(w)).shape == (4, 5)


def test_numbers_that_every_format_holds():
    """full, scalar_tensor and arange of them are PyTorch's own; other numbers are rounded by the table's function."""
    made = [
        lambda v, t: torch.full((2, 3), v, dtype=t),
        lambda v, t: torch.scalar_tensor(v, dtype=t),
        lambda v, t: torch.arange(v, dtype=t) if type(v) is int else v,
        lambda v, t: torch.arange(-3, v, 2, dtype=t) if type(v) is int and v > 0 else v,
    ]
    for make in made:
        for v in (True, 3, -256, 1, 0.0, -0.0, 1.0, float("inf"), -float("inf"), 0.5):
            for t in (None, torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.bool):
                try:
                    want = make(v, t)
                except RuntimeError:
                    continue
                with rt.reproducible():
                    got = make(v, t)
                assert (
                    type(want) is float
                    or type(want) is bool
                    or type(want) is int
                    or (got.dtype is want.dtype and torch.equal(got, want))
                ), (v, t)
    with rt.reproducible():
        assert torch.full((1,), 0.1, dtype=torch.bfloat16).item() == 0.10009765625
        with FakeTensorMode():
            assert type(torch.full((2,), 1.0)) is type(torch.arange(3)) is FakeTensor


def test_what_is_declined():
    """Arguments that the operators refuse, some of which PyTorch reads beyond their end."""
    x, w, stat, mask = tensor(torch.float32, 2, 3, 4, 4), torch.ones(3), torch.ones(3), [True] * 3
    places = torch.zeros(2, 3, 4, 4, dtype=torch.int64)
    batch, back = _core.BatchNorm(True, True), _core.BatchNormGradient()
    q = tensor(torch.float32, 1, 2, 4, 8)
    laid = (lambda made, q: made), (lambda made: made)
    attention, slopes = (_core.Attention(lambda scale, width: 1.0, *laid, gradient) for gradient in (False, True))
    with rt.reproducible():
        _, mean, rstd = aten.native_layer_norm.default(x, [4], None, None, 1e-5)
        _, group_mean, group_rstd = aten.native_group_norm.default(x, None, None, 2, 3, 16, 3, 1e-5)
    layer, group = (kind(prepared.MARK) for kind in (_core.LayerNormGradient, _core.GroupNormGradient))
    calls = [
        (True, batch, x, w, w, stat, stat, False, 0.1, 1e-5),
        (False, batch, x, w, w, None, stat, False, 0.1, 1e-5),
        (False, batch, x, w[:2], w, stat, stat, True, 0.1, 1e-5),
        (False, batch, x, w, w, stat[:2], stat, True, 0.1, 1e-5),
        (False, batch, x, w, w, stat.double(), stat, True, 0.1, 1e-5),
        (False, batch, x, w, w, stat, stat, True, 0.1, float("nan")),
        (False, batch, x, w, w, stat, stat, True, float("inf"), 1e-5),
        (False, batch, x[:1, :, :1, :1], w, w, None, None, True, 0.1, 1e-5),
        (True, back, x, x, w, stat, stat, None, None, False, 1e-5, mask),
        (False, back, x, x, w, None, None, None, None, False, 1e-5, mask),
        (False, back, x[:1], x, w, None, None, None, None, True, 1e-5, mask),
        (False, back, x.double(), x, w, None, None, None, None, True, 1e-5, mask),
        (False, back, x, x, w, None, None, None, None, True, 1e-5, mask[:2]),
        (True, layer, x, x, [4], mean, rstd, None, None, mask),
        (False, layer, x, x, [4], mean, rstd.clone(), None, None, mask),
        (False, layer, x, x, [4], mean, torch.cat((rstd, rstd))[2:], None, None, mask),
        (False, layer, x[:1], x, [4], mean, rstd, None, None, mask),
        (False, layer, x, x, [3], mean, rstd, None, None, mask),
        (True, group, x, x, group_mean, group_rstd, None, 2, 3, 16, 3, mask),
        (False, group, x, x, group_mean, group_rstd * 1, None, 2, 3, 16, 3, mask),
        (False, group, x, x, group_mean, group_rstd, None, 2, 3, 16, 2, mask),
        (False, group, x, x, group_mean, group_rstd, None, 2, 3, 15, 3, mask),
        (True, attention, q, q, q),
        (True, attention, q, q[:, :1], q[:, :1]),
        (False, attention, q, q[:, :1], q),
        (False, attention, q, q[..., :3], q),
        (False, attention, q, q, q[:, :, :3]),
        (False, attention, q[0], q[0], q[0]),
        (True, slopes, q, q, q, q, q, q, 0.0, False),
        (False, slopes, q[..., :3], q, q, q, q, q, 0.0, False),
        (False, slopes, q, q, q, q, q, q, 0.5, False),
        (True, _core.MaximaGradient(2), x, x, places),
        (True, _core.MaximaGradient(2), x, x, places - 1),
        (False, _core.MaximaGradient(2), x, x, places - 2),
        (False, _core.MaximaGradient(2), x, x, places + 16),
        (False, _core.MaximaGradient(2), x, x, places[1:]),
        (False, _core.MaximaGradient(2), x, x[:, :2], places),
        (True, _core.PoolGradient(2), x[:, :, :2, :2], x, [2], [2], [0], False, True, None),
        (False, _core.PoolGradient(2), x, x, [2], [2], [0], False, True, None),
        (False, _core.PoolGradient(2), x[:, :, :2, :2], x, [2], [2], [0], False, True, 0),
        (True, _core.LogitLoss(), x, x, x[0]),
        (False, _core.LogitLoss(), x, x, x[0, :2]),
    ]
    for taken, call, *args in calls:
        assert (call(*args) is not NotImplemented) == taken, (call, args)


def test_a_wrong_call_is_seen(general):
    """The control: another operator's call, and one of the right numbers that lie otherwise."""
    x, y = tensor(torch.float32, 3, 4), tensor(torch.float32, 3, 4, seed=2)
    overload = aten.mse_loss.default
    before = _core.prepare_call(overload, _core.PairLoss("huber"))
    try:
        with pytest.raises(AssertionError):
            check_alike([(overload, (x, y), {})], general)
    finally:
        _core.prepare_call(overload, before)
    assert check_alike([(overload, (x, y), {})], general) == [True]


def test_tensors_without_memory_are_declined():
    x = torch.ones(2, 2, device="meta")
    assert _core.Product(2)(x, x) is NotImplemented
    assert _core.Rows("softmax")(x, -1, False) is NotImplemented
    assert _core.PairLoss("mse")(x, x) is NotImplemented


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_cross_entropy(dtype):
    """The loss of few elements and its gradient, which prepared calls return, have the bits of the NumPy side's functions."""
    from repmath import nn
    from repmath.torch._tensors import as_array, as_tensor

    small, gradient = _core.CrossEntropy(), _core.CrossEntropy(True)
    for shape in ((5, 4), (4,), (2, 4, 3, 2)):
        x, labels = tensor(dtype, *shape), shape[:1] + shape[2:] if len(shape) > 1 else ()
        target = torch.arange(int(torch.Size(labels).numel())).view(labels) % 4
        for a in (x, gaps(x), turned(x), tensor(dtype, *shape, special=True)):
            for weight in (None, tensor(dtype, 4, seed=2).abs()):
                for reduction, ignored, smoothing in (
                    ("none", -100, 0.0),
                    ("mean", 1, 0.1),
                    ("sum", 0, 0.0),
                    ("mean", -100, 0.0),
                ):
                    rest = ignored, reduction, smoothing
                    arrays = as_array(a), as_array(target), None if weight is None else as_array(weight)
                    made = small(a, target, weight, *rest)
                    assert bits(made) == bits(as_tensor(nn.cross_entropy(*arrays, *rest)))
                    g = tensor(dtype, *made.shape, seed=6)
                    want = as_tensor(nn.cross_entropy_backward(as_array(g), *arrays, *rest))
                    assert bits(gradient(g, a, target, weight, *rest)) == bits(want)
        refused = (
            (x, target + 4, None),
            (x, target.int(), None),
            (x, target, torch.ones(3, dtype=dtype)),
            (x.int(), target, None),
        )
        for arguments in refused:
            assert small(*arguments, -100, "mean", 0.0) is NotImplemented
        assert small(x, target, None, -100, "most", 0.0) is small(x, target, None, -100, "mean", 2.0) is NotImplemented
        g = torch.ones(3, dtype=dtype)
        assert gradient(g, x, target, None, -100, "mean", 0.0) is NotImplemented


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_maxima_of_many_planes(dtype):
    """More elements than a prepared call took before, in parts of a few planes."""
    x = tensor(dtype, 5, 30, 40, 37)
    with rt.reproducible():
        for size, stride in ((2, 2), (3, 1)):
            made, at = aten.max_pool2d_with_indices(x, [size, size], [stride, stride])
            g = tensor(dtype, *made.shape, seed=3)
            args = (g, x, [size, size], [stride, stride], [0, 0], [1, 1], False, at)
            whole = aten.max_pool2d_with_indices_backward(*args)
            for k in range(5):
                one = aten.max_pool2d_with_indices_backward(g[k], x[k], *args[2:-1], at[k])
                assert bits(whole[k]) == bits(one)
            with table_alone():
                assert bits(whole) == bits(FUNCTIONS[aten.max_pool2d_with_indices_backward.default](*args))


@pytest.mark.parametrize("n", [2, 3, 8, 40, 1000, 2000])
def test_means_that_are_midpoints(n):
    """Of integers, which are often half-way between two numbers of float32, and of numbers whose sums are not exact in binary64."""
    rng = np.random.default_rng(n)
    x = rng.integers(2**22, 2**24, (60, n)).astype(np.float32)
    x[1::3] *= np.exp2(rng.integers(-9, 0, (20, n))).astype(np.float32)
    x[2::3, 0] = 2.0**-40
    with rt.reproducible():
        mean = torch.native_layer_norm(torch.from_numpy(x), (n,), None, None, 1e-5)[1].ravel().numpy()
    exact = [sum((Fraction(float(v)) for v in row), Fraction(0)) / n for row in x]
    want = [number(rounded(v, np.dtype(np.float32)), np.dtype(np.float32)) for v in exact]
    assert (mean == np.array(want, np.float32)).all()
    if n == 8:  # the data have midpoints; the control adds in float32
        assert sum((v * 2).denominator == 1 and v.denominator == 2 and v > 2**23 for v in exact) > 2
        assert (x.mean(1, dtype=np.float32) != mean).any()


def channels_of_doubles():
    """Of four elements each, an old statistic and a momentum: ordinary ones; beside midpoints of the mixture, and on them; cancelling, as large and as small
    as binary64 has them, equal, of both signs."""
    generator = np.random.default_rng(8)
    ulp = 2.0**-52
    for k in range(8):
        x = generator.standard_normal(4) * 2.0 ** generator.integers(-8, 8, 4)
        yield x, x.mean(), 0.5
        yield x + 1e8, 1e8, 0.1
        yield (
            np.array([1 + k * ulp, 1 + (k + 1) * ulp, 1 + k * ulp, 1 + (k + 1) * ulp]),
            1.0,
            0.25,
        )  # fourths and eighths of an ulp
        for rest in (0.0, 2.0**-80, -(2.0**-80), 2.0**-104):
            yield np.array([1 + 2 * k * ulp, 1 + (2 * k + 2) * ulp, rest, -rest + rest * ulp]), 0.5, 0.5
        yield x * 2.0**-1070, 2.0**-1073, 0.5
        yield x * 2.0**-530, 0.0, 0.5
        yield x * 2.0**505, 3.0, 0.5
        yield x * 2.0**1000, -1e305, 0.5
        yield np.array([x[0], -x[0], x[1], -x[1]]), 0.0, 0.1
        yield np.full(4, x[0]), 0.0, 0.1
    yield np.zeros(4), 0.0, 0.1
    yield np.array([2.0**-1074, 0, 0, 0]), 0.0, 0.1
    yield np.array([-(2.0**-1074), 0, 0, 0]), 0.0, 0.1
    yield np.array([1.0, np.inf, 0, 0]), 1.0, 0.1
    yield np.array([1.0, 2, 3, 4]), np.nan, 0.1
    yield np.array([1e308, -1e308, 1e308, -1e308]), 1.0, 0.0


def test_running_statistics_of_doubles(general):
    """Against rationals. The control: sums and products of binary64 in their place give others."""
    by_prepared = naive = 0
    for x, old, momentum in channels_of_doubles():
        mean, var = torch.tensor([old], dtype=torch.float64), torch.tensor([abs(old)], dtype=torch.float64)
        del general[:]
        with rt.reproducible():
            aten.native_batch_norm.default(torch.tensor(x)[:, None], None, None, mean, var, True, momentum, 1e-5)
        by_prepared += aten.native_batch_norm.default not in general
        if not np.isfinite(x).all() or not np.isfinite(old):
            assert all(t.isnan() for t in (mean, var))
            continue
        exact = [Fraction(v) for v in x.tolist()]
        middle, m = sum(exact) / 4, Fraction(momentum)
        news = middle, sum((v - middle) ** 2 for v in exact) / 3
        with np.errstate(all="ignore"):
            plain = x.mean(), x.var(ddof=1)
        for found, before, new, other in zip((mean, var), (old, abs(old)), news, plain, strict=True):
            want = (1 - m) * Fraction(before) + m * new
            try:
                value = float(want)
            except OverflowError:
                value = float("inf") if want > 0 else float("-inf")
            assert found.numpy().tobytes() == np.array([value]).tobytes(), (x, old, momentum, found.item(), value)
            with np.errstate(all="ignore"):
                naive += bool((1 - momentum) * before + momentum * other != value)
    assert by_prepared > 40 and naive > 40

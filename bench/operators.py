"""Operators of repmath.nn, forward and backward, on 4096 rows of 1024 in float32, and a step of Adam, beside PyTorch."""

import math

import numpy as np
from timing import compare

import repmath
from repmath import nn, optim

ROWS, N, PARAMETERS = 4096, 1024, 10**7


def calls(rows):
    """case -> ours, PyTorch's. What is compared computes the same tensors, given the same."""
    import torch

    f, aten = torch.nn.functional, torch.ops.aten
    rng = np.random.default_rng(7)
    x, g = rng.standard_normal((2, rows, N)).astype("f4")
    w, b = rng.standard_normal((2, N)).astype("f4")
    t, one = rng.integers(0, N, rows), np.float32(1)
    y, log = nn.softmax(x), nn.log_softmax(x)
    tx, tg, tw, tb, tt, ty, tl = (torch.from_numpy(a) for a in (x, g, w, b, t, y, log))
    _, mean, rstd = aten.native_layer_norm(tx, [N], tw, tb, 1e-5)
    logits = tx.clone().requires_grad_()
    loss = f.cross_entropy(logits, tt)
    scaled = tx.clone().requires_grad_(), tw.clone().requires_grad_()
    rms = f.rms_norm(scaled[0], [N], scaled[1], 1e-5)
    all_three = [True, True, True]
    return {
        "softmax": (lambda: nn.softmax(x), lambda: torch.softmax(tx, -1)),
        "softmax_backward": (
            lambda: nn.softmax_backward(g, y),
            lambda: aten._softmax_backward_data(tg, ty, -1, torch.float32),
        ),
        "log_softmax": (lambda: nn.log_softmax(x), lambda: torch.log_softmax(tx, -1)),
        "log_softmax_backward": (
            lambda: nn.log_softmax_backward(g, log),
            lambda: aten._log_softmax_backward_data(tg, tl, -1, torch.float32),
        ),
        "layer_norm": (lambda: nn.layer_norm(x, N, w, b), lambda: f.layer_norm(tx, [N], tw, tb)),
        "layer_norm_backward": (
            lambda: nn.layer_norm_backward(g, x, N, w),
            lambda: aten.native_layer_norm_backward(tg, tx, [N], mean, rstd, tw, tb, all_three),
        ),
        "rms_norm": (lambda: nn.rms_norm(x, N, w, 1e-5), lambda: f.rms_norm(tx, [N], tw, 1e-5)),
        "rms_norm_backward": (
            lambda: nn.rms_norm_backward(g, x, N, w, 1e-5),
            lambda: torch.autograd.grad(rms, scaled, tg, retain_graph=True),
        ),
        "cross_entropy": (lambda: nn.cross_entropy(x, t), lambda: f.cross_entropy(tx, tt)),
        "cross_entropy_backward": (
            lambda: nn.cross_entropy_backward(one, x, t),
            lambda: torch.autograd.grad(loss, logits, retain_graph=True),
        ),
    }


def adam(n):
    import torch

    rng = np.random.default_rng(8)
    p, g = rng.standard_normal((2, n)).astype("f4")
    theirs = torch.from_numpy(p.copy()).requires_grad_()
    theirs.grad = torch.from_numpy(g)
    mine, other = optim.Adam([p], lr=1e-3), torch.optim.Adam([theirs], lr=1e-3)
    return lambda: mine.step([g]), other.step


def operators(quick):
    try:
        import torch
    except ImportError:
        return
    rows = 256 if quick else ROWS
    for threads in (1, 2):
        torch.set_num_threads(threads)
        repmath.set_num_threads(threads)
        label = f"{threads} thread" + "s" * (threads > 1)
        ratios = []
        for name, (ours, theirs) in calls(rows).items():
            timing = compare({"repmath": ours, "PyTorch": theirs}, batches=3 if quick else 7, seconds=0.01)
            ratios.append(timing["ratio"]["PyTorch"])
            yield {"case": f"{name} f32 {rows}x{N}, {label}", "n": rows * N, **timing}
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        yield {"case": f"operators f32, {label}, geometric mean", "ratio": {"PyTorch": mean}}
        n = 10**5 if quick else PARAMETERS
        ours, theirs = adam(n)
        timing = compare({"repmath": ours, "PyTorch": theirs}, batches=3, seconds=0.01)
        yield {"case": f"Adam step f32 {n:.0e} parameters, {label}".replace("e+0", "e"), "n": n, **timing}

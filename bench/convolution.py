"""conv2d and its gradients in float32 on the distinct convolutions of ResNet-50 (He et al. 2015) at batch 8, beside PyTorch (oneDNN)."""

import math

import numpy as np
from timing import compare

import repmath

# input channels, output channels, size of the input, kernel, stride
SHAPES = [
    (3, 64, 224, 7, 2),
    (64, 64, 56, 1, 1),
    (64, 64, 56, 3, 1),
    (64, 256, 56, 1, 1),
    (256, 64, 56, 1, 1),
    (256, 128, 56, 1, 1),
    (128, 128, 56, 3, 2),
    (128, 512, 28, 1, 1),
    (256, 512, 56, 1, 2),
    (512, 128, 28, 1, 1),
    (128, 128, 28, 3, 1),
    (512, 256, 28, 1, 1),
    (256, 256, 28, 3, 2),
    (256, 1024, 14, 1, 1),
    (512, 1024, 28, 1, 2),
    (1024, 256, 14, 1, 1),
    (256, 256, 14, 3, 1),
    (1024, 512, 14, 1, 1),
    (512, 512, 14, 3, 2),
    (512, 2048, 7, 1, 1),
    (1024, 2048, 14, 1, 2),
    (2048, 512, 7, 1, 1),
    (512, 512, 7, 3, 1),
]


def convolutions(quick):
    """One thread. The last three rows are geometric means over the shapes."""
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)
    repmath.set_num_threads(1)
    grad, batch = torch.nn.grad, 2 if quick else 8
    means = {}
    for ci, co, size, kernel, stride in SHAPES[1:3] if quick else SHAPES:
        rng, pad = np.random.default_rng(size), kernel // 2
        out = (size + 2 * pad - kernel) // stride + 1
        shapes = (batch, ci, size, size), (co, ci, kernel, kernel), (batch, co, out, out)
        x, w, g = (rng.standard_normal(s).astype("f4") for s in shapes)
        tx, tw, tg = (torch.from_numpy(a) for a in (x, w, g))
        step, result = {"stride": stride, "padding": pad}, np.empty_like(g)
        calls = {
            "conv2d": (
                lambda x=x, w=w, step=step, result=result: repmath.conv2d(x, w, out=result, **step),
                lambda tx=tx, tw=tw, step=step: torch.nn.functional.conv2d(tx, tw, **step),
            ),
            "conv2d_grad_input": (
                lambda x=x, w=w, g=g, step=step: repmath.conv2d_grad_input(x.shape, w, g, **step),
                lambda x=x, tw=tw, tg=tg, step=step: grad.conv2d_input(x.shape, tw, tg, **step),
            ),
            "conv2d_grad_weight": (
                lambda x=x, w=w, g=g, step=step: repmath.conv2d_grad_weight(x, w.shape, g, **step),
                lambda tx=tx, w=w, tg=tg, step=step: grad.conv2d_weight(tx, w.shape, tg, **step),
            ),
        }
        work = 2e-9 * math.prod(shapes[2]) * ci * kernel**2
        for name, (ours, theirs) in calls.items():
            timing = compare({"repmath": ours, "PyTorch": theirs}, batches=3, seconds=0.01)
            means.setdefault(name, []).append(timing["ratio"]["PyTorch"])
            gflops = {library: work / seconds for library, seconds in timing["seconds"].items()}
            yield {
                "case": f"{name} f32 {ci} to {co}, {size}x{size}, kernel {kernel}, stride {stride}",
                "gflops": gflops,
                **timing,
            }
    for name, ratios in means.items():
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        yield {"case": f"{name} f32, ResNet-50, geometric mean", "ratio": {"PyTorch": mean}}

"""Functions of rows, images, products, losses and indices, each with the shapes that models give them."""

import functools

import numpy as np
import torch
from torch.nn import functional as F

from . import forms
from .cases import Calls, Skip, crossed
from .tensors import WITHIN, attempt, laid, pair, tensor

VALUES = (
    "gaussian", "masked", "nan", "zeros", "relu", "onehot", "integers", "powers", "constant", "subnormal", "wide", "sharp", "ties",
)  # fmt: skip
FEW = ("gaussian", "zeros", "nan", "subnormal", "wide")
BOTH = ("forward", "backward")


def whole(shape, high, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, high, shape))


def rows(s):
    return (s,)


def scaled(s):
    return s, s[-1:], s[-1:]


def channels(s):
    return s, s[1:2], s[1:2]


# What a function is of, given the shape of its first argument: a call, and the shapes of its tensors. The first has the values.
ROWS = {
    "softmax": lambda s: (lambda x: x.softmax(-1), rows(s)),
    "softmax over 0": lambda s: (lambda x: x.softmax(0), rows(s)),
    "log_softmax": lambda s: (lambda x: x.log_softmax(-1), rows(s)),
    "logsumexp": lambda s: (lambda x: x.logsumexp(-1), rows(s)),
    "layer_norm": lambda s: (lambda x, w, b: F.layer_norm(x, s[-1:], w, b), scaled(s)),
    "rms_norm": lambda s: (lambda x, w: F.rms_norm(x, s[-1:], w, 1e-5), scaled(s)[:2]),
    "rms_norm, composed": lambda s: (lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * w, scaled(s)[:2]),
    "normalize": lambda s: (lambda x: F.normalize(x, dim=-1), rows(s)),
    "cosine_similarity": lambda s: (lambda x, y: F.cosine_similarity(x, y, dim=-1), (s, s)),
    "cumsum": lambda s: (lambda x: x.cumsum(-1), rows(s)),
    "cumsum over 0": lambda s: (lambda x: x.cumsum(0), rows(s)),
    "cumprod": lambda s: (lambda x: x.cumprod(-1), rows(s)),
    "logcumsumexp": lambda s: (lambda x: x.logcumsumexp(-1), rows(s)),
    "glu": lambda s: (lambda x: F.glu(x), rows(s)),
    "cdist": lambda s: (lambda x, y: torch.cdist(x, y), (s, s)) if s[0] <= 256 else None,
    "dropout": lambda s: (lambda x: F.dropout(x, 0.1), rows(s)),
    "weight_norm": lambda s: (lambda v, g: torch._weight_norm(v, g, 0), (s, (s[0], 1))),
    "lerp": lambda s: (lambda x, y, w: torch.lerp(x, y, w), (s, s, s)),
    "where": lambda s: (lambda x, y: torch.where(x > 0, x * 2, y), (s, s)),
    "rotary": lambda s: (lambda x, c, d: x * c + torch.cat((-x[..., s[-1] // 2 :], x[..., : s[-1] // 2]), -1) * d, (s, s, s)),
}
ROW_SHAPES = ((256, 256), (16, 4096), (4096, 8), (4, 4), (1, 1024), (2048, 2048))
NORMS = {
    "batch_norm, training": lambda s: (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), channels(s)),
    "batch_norm": lambda s: (
        lambda x, w, b: F.batch_norm(x, torch.zeros(s[1], dtype=x.dtype), torch.ones(s[1], dtype=x.dtype), w, b),
        channels(s),
    ),
    "group_norm": lambda s: (lambda x, w, b: F.group_norm(x, 4, w, b), channels(s)),
    "instance_norm": lambda s: (lambda x, w, b: F.instance_norm(x, weight=w, bias=b), channels(s)),
    "local_response_norm": lambda s: (lambda x: F.local_response_norm(x, 3), rows(s)),
    "max_pool2d": lambda s: (lambda x: F.max_pool2d(x, 2), rows(s)),
    "max_pool2d, overlapping": lambda s: (lambda x: F.max_pool2d(x, 3, 2, 1), rows(s)),
    "avg_pool2d": lambda s: (lambda x: F.avg_pool2d(x, 2), rows(s)),
    "avg_pool2d, overlapping": lambda s: (lambda x: F.avg_pool2d(x, 3, 1, 1), rows(s)),
    "adaptive_avg_pool2d to 1": lambda s: (lambda x: F.adaptive_avg_pool2d(x, 1), rows(s)),
    "adaptive_avg_pool2d to 3": lambda s: (lambda x: F.adaptive_avg_pool2d(x, 3), rows(s)),
    "interpolate nearest": lambda s: (lambda x: F.interpolate(x, scale_factor=2), rows(s)),
    "interpolate bilinear": lambda s: (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), rows(s)),
    "interpolate bilinear down": lambda s: (
        lambda x: F.interpolate(x, scale_factor=0.7, mode="bilinear", antialias=True),
        rows(s),
    ),
    "interpolate bicubic": lambda s: (lambda x: F.interpolate(x, scale_factor=1.5, mode="bicubic"), rows(s)),
    "grid_sample": lambda s: (lambda x, g: F.grid_sample(x, g, align_corners=False), (s, (s[0], 16, 16, 2))),
    "pixel_shuffle": lambda s: (lambda x: F.pixel_shuffle(x, 2), rows(s)),
    "pad reflect": lambda s: (lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), rows(s)),
    "unfold": lambda s: (lambda x: F.unfold(x, 3), rows(s)),
    "sum over channels": lambda s: (lambda x: x.sum((0, 2, 3)), rows(s)),
    "mean over places": lambda s: (lambda x: x.mean((2, 3)), rows(s)),
}
IMAGE_SHAPES = ((8, 16, 28, 28), (4, 64, 7, 7), (16, 256, 2, 2), (1, 4, 4, 4), (1, 3, 224, 224))


def convolved(dims, kernel, transposed=False, **options):
    def of(s):
        groups = options.get("groups", 1)
        if groups == "channels":
            groups = s[1]
        outputs = s[1] if transposed or groups > 1 else 32
        weight = (s[1], outputs // groups, *kernel) if transposed else (outputs, s[1] // groups, *kernel)
        f = getattr(F, f"conv_transpose{dims}d" if transposed else f"conv{dims}d")
        return lambda x, w, b: f(x, w, b, **{**options, "groups": groups}), (s, weight, (outputs,))

    return of


CONVOLUTIONS = {
    "conv2d 3x3": convolved(2, (3, 3), padding=1),
    "conv2d 1x1": convolved(2, (1, 1)),
    "conv2d 3x3, stride 2": convolved(2, (3, 3), padding=1, stride=2),
    "conv2d 3x3, dilated": convolved(2, (3, 3), padding=2, dilation=2),
    "conv2d 3x3, depthwise": convolved(2, (3, 3), padding=1, groups="channels"),
    "conv2d 7x7, depthwise": convolved(2, (7, 7), padding=3, groups="channels"),
    "conv2d 3x3, 4 groups": convolved(2, (3, 3), padding=1, groups=4),
    "conv2d 16x16 patches": convolved(2, (7, 7), stride=7),
    "conv_transpose2d 4x4, stride 2": convolved(2, (4, 4), transposed=True, stride=2, padding=1),
}
CONVOLUTION_SHAPES = ((4, 16, 28, 28), (8, 64, 7, 7), (1, 64, 56, 56), (1, 4, 8, 8), (32, 32, 14, 14))
LINES = {
    "conv1d 3": convolved(1, (3,), padding=1),
    "conv1d 4, depthwise and causal": convolved(1, (4,), padding=3, groups="channels"),
    "conv_transpose1d 4": convolved(1, (4,), transposed=True, stride=2),
    "max_pool1d": lambda s: (lambda x: F.max_pool1d(x, 2), rows(s)),
    "avg_pool1d": lambda s: (lambda x: F.avg_pool1d(x, 2), rows(s)),
    "interpolate linear": lambda s: (lambda x: F.interpolate(x, scale_factor=2, mode="linear"), rows(s)),
}
PRODUCTS = {
    "matmul": lambda s: (lambda x, y: x @ y, (s[:2], s[1:])),
    "matmul, transposed": lambda s: (lambda x, y: x @ y.mT, (s[:2], (s[2], s[1]))),
    "linear": lambda s: (F.linear, (s[:2], (s[2], s[1]), (s[2],))),
    "addmm": lambda s: (lambda x, y, z: torch.addmm(z, x, y), (s[:2], s[1:], (s[0], s[2]))),
    "bmm": lambda s: (lambda x, y: x @ y, ((8, *s[:2]), (8, *s[1:]))),
    "baddbmm": lambda s: (lambda x, y, z: torch.baddbmm(z, x, y), ((8, *s[:2]), (8, *s[1:]), (8, s[0], s[2]))),
    "einsum of heads": lambda s: (
        lambda x, y: torch.einsum("bqhd,bkhd->bhqk", x, y),
        ((2, s[0], 4, s[1] // 4 or 1), (2, s[2], 4, s[1] // 4 or 1)),
    ),
    "mv": lambda s: (lambda x, y: x @ y, (s[:2], (s[1],))),
    "outer": lambda s: (torch.outer, ((s[0],), (s[2],))),
    "dot": lambda s: (torch.dot, ((s[0] * s[1],), (s[0] * s[1],))),
}
PRODUCT_SHAPES = (
    (128, 128, 128),
    (1, 768, 768),
    (512, 512, 512),
    (4, 4, 4),
    (64, 1024, 16),
    (16, 16, 1024),
    (33, 65, 17),
    (1024, 4, 4),
)


def attention(mask, grouped=False):
    """Of queries of batch, heads, length and width; the length of the keys last."""

    def of(s):
        b, h, n, d, k = s
        options = {"enable_gqa": True} if grouped else {}
        bias = None
        if mask == "causal":
            options["is_causal"] = True
        elif mask == "padding":
            bias = (torch.arange(k) < whole((b, 1, 1, 1), k, 1) // 2 + k // 2 + 1).expand(b, 1, n, k)
        elif mask == "additive":
            bias = torch.zeros(n, k).masked_fill(torch.arange(k) > torch.arange(n)[:, None] + k - n, -torch.inf)

        def call(q, key, v):
            m = bias.to(q.dtype) if mask == "additive" else bias
            return F.scaled_dot_product_attention(q, key, v, m, **options)

        kv = (b, h // 2 if grouped else h, k, d)
        return call, ((b, h, n, d), kv, kv)

    return of


def eager(s):
    """As models without the fused function write it."""
    b, h, n, d, k = s
    causal = torch.zeros(n, k).masked_fill(torch.arange(k) > torch.arange(n)[:, None] + k - n, torch.finfo(torch.float32).min)

    def call(q, key, v):
        scores = q @ key.mT * d**-0.5 + causal.to(q.dtype)
        return scores.softmax(-1, dtype=torch.float32).to(q.dtype) @ v

    return call, ((b, h, n, d), (b, h, k, d), (b, h, k, d))


ATTENTION = {
    "attention": attention(None),
    "attention, causal": attention("causal"),
    "attention, padding": attention("padding"),
    "attention, additive mask": attention("additive"),
    "attention, grouped heads": attention("causal", True),
    "attention, composed": eager,
}
ATTENTION_SHAPES = ((2, 4, 128, 64, 128), (1, 8, 1, 64, 128), (8, 4, 16, 16, 16), (1, 2, 4, 4, 4), (1, 4, 512, 64, 512))


def classes(loss, **options):
    def of(s):
        target = whole(s[:1], s[1])
        if options.get("ignore_index") is not None:
            target[::2] = options["ignore_index"]
        return lambda x: loss(x, target, **options), rows(s)

    return of


def near(loss):
    return lambda s: (lambda x, y: loss(x, y), (s, s))


def chances(loss):
    return lambda s: (lambda x, y: loss(x, y.sigmoid()), (s, s))


LOSSES = {
    "cross_entropy": classes(F.cross_entropy),
    "cross_entropy, half ignored": classes(F.cross_entropy, ignore_index=-100),
    "cross_entropy, smoothed": classes(F.cross_entropy, label_smoothing=0.1),
    "cross_entropy, no reduction": classes(F.cross_entropy, reduction="none"),
    "nll_loss": classes(F.nll_loss),
    "multi_margin_loss": classes(F.multi_margin_loss),
    "mse_loss": near(F.mse_loss),
    "l1_loss": near(F.l1_loss),
    "smooth_l1_loss": near(F.smooth_l1_loss),
    "huber_loss": near(F.huber_loss),
    "poisson_nll_loss": near(F.poisson_nll_loss),
    "bce_with_logits": chances(F.binary_cross_entropy_with_logits),
    "binary_cross_entropy": lambda s: (lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()), (s, s)),
    "kl_div": lambda s: (lambda x, y: F.kl_div(x, y.softmax(-1), reduction="batchmean"), (s, s)),
    "soft_margin_loss": lambda s: (lambda x, y: F.soft_margin_loss(x, y.sign()), (s, s)),
    "gaussian_nll_loss": lambda s: (lambda x, y, v: F.gaussian_nll_loss(x, y, v.abs() + 0.1), (s, s, s)),
    "triplet_margin_loss": lambda s: (F.triplet_margin_loss, (s, s, s)),
    "cosine_embedding_loss": lambda s: (lambda x, y: F.cosine_embedding_loss(x, y, torch.ones(s[0])), (s, s)),
    "cross_entropy of images": lambda s: (
        lambda x: F.cross_entropy(x, whole((4, 8, 8), s[1])),
        ((4, s[1], 8, 8),),
    ),
}
LOSS_SHAPES = ((64, 1000), (512, 10), (4, 4), (64, 32000), (4096, 2))


def indexed(f):
    """f(x, index, source): some rows, by repeated indices."""

    def of(s):
        n = max(1, s[0] // 2)
        index = whole((n,), s[0])
        return lambda x, y: f(x, index, y), (s, (n, s[1]))

    return of


INDICES = {
    "index_add": indexed(lambda x, i, y: x.index_add(0, i, y)),
    "index_put accumulate": indexed(lambda x, i, y: x.index_put((i,), y, accumulate=True)),
    "index_select": indexed(lambda x, i, y: x.index_select(0, i)),
    "embedding": indexed(lambda x, i, y: F.embedding(i, x)),
    "scatter_add": indexed(lambda x, i, y: x.scatter_add(0, i[:, None].expand(y.shape), y)),
    "scatter_reduce mean": indexed(lambda x, i, y: x.scatter_reduce(0, i[:, None].expand(y.shape), y, "mean")),
    "gather": indexed(lambda x, i, y: x.gather(0, i[:, None].expand(y.shape))),
    "embedding_bag": lambda s: (
        lambda x: F.embedding_bag(whole((16, 8), s[0]), x, mode="mean"),
        rows(s),
    ),
    "bincount": lambda s: (lambda x: torch.bincount(whole(s[:1], 16), x[:, 0]), rows(s)),
}
INDEX_SHAPES = ((1024, 64), (4, 4), (64, 1024), (32000, 64), (65536, 1))
LINE_SHAPES = ((8, 32, 256), (1, 64, 1024), (4, 4, 16), (16, 512, 32))

# group -> functions, shapes, layouts of the first argument, the shapes at which only the first values are taken; directions and values
GROUPS = {
    "rows": (ROWS, ROW_SHAPES, ("transposed", "sliced", "broadcast"), ((2048, 2048),)),
    "images": (NORMS, IMAGE_SHAPES, ("channels_last",), ()),
    "convolutions": (CONVOLUTIONS, CONVOLUTION_SHAPES, ("channels_last",), ((1, 64, 56, 56), (32, 32, 14, 14))),
    "lines": (LINES, LINE_SHAPES, (), ()),
    "products": (PRODUCTS, PRODUCT_SHAPES, ("transposed", "sliced", "broadcast"), ((512, 512, 512),)),
    "attention": (ATTENTION, ATTENTION_SHAPES, ("sliced",), ((1, 4, 512, 64, 512),)),
    "losses": (LOSSES, LOSS_SHAPES, (), ((64, 32000),)),
    "indices": (INDICES, INDEX_SHAPES, (), ((32000, 64),)),
    "lists": (forms.LISTS, ((64, 64), (4, 4), (16,)), (), (), ("forward",), FEW),
    "numbers": (forms.NUMBERS, forms.SHAPES, ("transposed", "sliced"), forms.SHAPES[2:], ("forward",), VALUES),
    "random": (forms.RANDOM, forms.SHAPES, (), (), ("forward",), VALUES[:1]),
}


class Shape(tuple):
    """A shape and a layout, as a name too."""

    def __str__(self):
        size, layout = self
        return "x".join(map(str, size)) + f" {layout}" * (layout != "contiguous")


def calls(function, shape, dtype, data, direction):
    size, layout = shape
    made = attempt(lambda: function(size))
    if made is None:
        raise Skip("too large")
    call, operands = made
    x = laid(layout if len(operands[0]) > 1 else "contiguous", data, operands[0], dtype)
    return pair(call, [x, *(tensor("gaussian", s, dtype, i + 1) for i, s in enumerate(operands[1:]))], direction)


def functions():
    for group, (table, sizes, layouts, large, *rest) in GROUPS.items():
        directions, kinds = rest or (BOTH, VALUES)
        shapes = [Shape((s, "contiguous")) for s in sizes] + [Shape((sizes[0], layout)) for layout in layouts]
        for name, function in table.items():
            yield from crossed(
                group, name, shapes, functools.partial(calls, function), kinds, directions=directions,
                large=[s for s in shapes if s[0] in large],
            )  # fmt: skip


def step_calls(make, sizes, dtype, data):
    found = {}
    for name, within in WITHIN.items():
        with within():
            parameters = [tensor("gaussian", s, dtype, i).requires_grad_() for i, s in enumerate(sizes)]
            for i, p in enumerate(parameters):
                p.grad = tensor(data, p.shape, dtype, 100 + i)
                if data == "gaussian":
                    p.grad *= 1e-3
            optimizer = attempt(lambda parameters=parameters: make(parameters))
            attempt(optimizer.step)
        found[name] = optimizer.step
    return Calls(found, WITHIN)


def clipped(parameters):
    class Clip:
        def step(self):
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)

    return Clip()


def optimizers():
    o = torch.optim
    table = {
        "SGD": lambda p: o.SGD(p, 1e-3), "SGD, momentum": lambda p: o.SGD(p, 1e-3, momentum=0.9, weight_decay=1e-4),
        "SGD, foreach": lambda p: o.SGD(p, 1e-3, momentum=0.9, foreach=True), "SGD, fused": lambda p: o.SGD(p, 1e-3, momentum=0.9, fused=True),
        "Adam": lambda p: o.Adam(p, 1e-3), "AdamW": lambda p: o.AdamW(p, 1e-3), "AdamW, foreach": lambda p: o.AdamW(p, 1e-3, foreach=True),
        "AdamW, fused": lambda p: o.AdamW(p, 1e-3, fused=True), "Adam, amsgrad": lambda p: o.Adam(p, 1e-3, amsgrad=True),
        "Adagrad": lambda p: o.Adagrad(p), "RMSprop": lambda p: o.RMSprop(p, 1e-3), "Adadelta": lambda p: o.Adadelta(p),
        "Adamax": lambda p: o.Adamax(p), "NAdam": lambda p: o.NAdam(p), "RAdam": lambda p: o.RAdam(p),
        "clip_grad_norm_": clipped,
    }  # fmt: skip
    sizes = {
        "20 of 64x64": [(64, 64)] * 20, "1 of 4x4": [(4, 4)], "40 of 16": [(16,)] * 40, "1 of 1024x1024": [(1024, 1024)],
    }  # fmt: skip
    for name, make in table.items():
        yield from crossed(
            "optimizers", name, list(sizes),
            lambda shape, dtype, data, direction, make=make: step_calls(make, sizes[shape], dtype, data),
            ("gaussian", "zeros", "subnormal", "wide", "nan", "relu"), dtypes=("f32", "bf16", "f64"), directions=("step",),
        )  # fmt: skip

"""Operators of repmath.torch with small arguments, and what must hold of each."""

import numpy as np
import torch

import repmath
import repmath.torch  # noqa: F401  (registers the operators)
from repmath.torch._ops import (
    activations,
    dropout,
    gates,
    losses,
    moments,
    normalization,
    pooling,
    products,
    reductions,
    selections,
    softmax,
)
from repmath.torch._ops.elementwise import OPERATORS
from repmath.torch._tensors import as_array

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def numbers(*shape, seed=1, dtype=torch.float64, low=0.3, high=0.8):
    """Uniform numbers, the same everywhere."""
    return torch.from_numpy(np.asarray(repmath.random.uniform(seed, shape, low, high))).to(dtype)


def same_bits(a, b):
    """Whether tensors, or a tensor and an array, have the same dtype, shape and bits."""
    a, b = (as_array(t) if isinstance(t, torch.Tensor) else np.asarray(t) for t in (a, b))
    return (
        a.dtype == b.dtype and a.shape == b.shape and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
    )


def elementwise_arguments(name, *shape, dtype=torch.float64):
    """Arguments in the function's domain."""
    low, high = (1.3, 1.8) if name == "acosh" else (0.3, 0.8)
    return tuple(numbers(*shape, seed=2 + i, dtype=dtype, low=low, high=high) for i in range(len(OPERATORS[name].arguments)))


_x = numbers(2, 4, 5, low=-1, high=1)
_image = numbers(2, 2, 5, 5, seed=4, low=-1, high=1)
_classes = torch.tensor([0, 2, 1])
_logits = numbers(3, 3, seed=5, low=-2, high=2)
_targets = numbers(3, 3, seed=6)
_one = torch.tensor(0.75, dtype=torch.float64)
_channel = [numbers(4, seed=7 + i) for i in range(4)]
_heads = [numbers(1, 2, 3, 2, seed=11 + i, low=-1, high=1) for i in range(4)]
_windows = [2, 2], [1, 1], [0, 0]
_kernel = [2, 2], [1, 1], [1, 1], 1  # stride, padding, dilation, groups
_weight = numbers(3, 2, 3, 3, seed=15, low=-1, high=1)
_result = numbers(2, 3, 3, 3, seed=16, low=-1, high=1)
_indices = pooling.MAX_POOL(_image, *_windows, [1, 1], False)[1]
_place = 7, 0, 4

# operator, its arguments; which of "tangent" and "second" it has
CASES = {
    "sum": (reductions.SUM, (_x, [1], False), "tangent second"),
    "mean": (reductions.MEAN, (_x, [0, 2], True), "tangent second"),
    "over": (reductions.OVER, (_x, 3), "tangent second"),
    "broadcast_to": (reductions.BROADCAST, (_x[:, :1], [2, 4, 5]), "tangent second"),
    "var": (moments.VAR, (_x, [1], False, 1.0), "second"),
    "std": (moments.STD, (_x, [1], True, 0.0), "second"),
    "norm": (moments.NORM, (_x, [1, 2], False), "second"),
    "cumsum": (moments.CUMSUM, (_x, 1), "tangent second"),
    "softmax": (softmax.SOFTMAX, (_x, 1), "tangent second"),
    "log_softmax": (softmax.LOG_SOFTMAX, (_x, 2), "tangent second"),
    "softmax_backward": (softmax.SOFTMAX_BACKWARD, (_x, _x.exp(), 1), "second"),
    "log_softmax_backward": (softmax.LOG_SOFTMAX_BACKWARD, (_x, _x, 1), "second"),
    "logsumexp": (softmax.LOGSUMEXP, (_x, 1), "tangent second"),
    "matmul": (products.MATMUL, (_x[:, :2], numbers(5, 2, seed=17)), "tangent second"),
    "linear": (products.LINEAR, (_x[:, :2], numbers(3, 5, seed=18), _channel[0][:3]), "tangent second"),
    "conv": (products.CONV, (_image, _weight, _channel[0][:3], *_kernel), "tangent second"),
    "conv_same": (
        products.CONV,
        (_image[:, :, :4, :4], _weight[:, :, :2, :2], None, [1, 1], [], [1, 1], 1),
        "tangent second",
    ),
    "conv_grad_input": (products.CONV_GRAD_INPUT, (list(_image.shape), _weight, _result, *_kernel), "tangent second"),
    "conv_grad_weight": (products.CONV_GRAD_WEIGHT, (_image, list(_weight.shape), _result, *_kernel), "tangent second"),
    "conv_transpose": (
        products.CONV_TRANSPOSE,
        (_image[:, :, :3, :3], _weight.transpose(0, 1).contiguous(), _channel[0][:3], [2, 2], [1, 1], [1, 1], 1, [1, 1]),
        "tangent second",
    ),
    "tanh_gate": (gates.TANH_GATE, (_x,), "tangent second"),
    "tanh_gate_backward": (gates.TANH_GATE_BACKWARD, (_x, _x.flip(0).contiguous()), "tangent second"),
    "sigmoid_gate": (gates.SIGMOID_GATE, (_x,), "tangent second"),
    "sigmoid_gate_backward": (gates.SIGMOID_GATE_BACKWARD, (_x, _x.flip(0).contiguous()), "tangent second"),
    **{
        name: (getattr(activations, name.upper()), (*tensors, *numbers), "tangent second")
        for base, numbers in (("elu", (0.75,)), ("leaky_relu", (0.3,)), ("hardsigmoid", ()), ("hardswish", ()), ("mish", ()))
        for name, tensors in ((base, (_x,)), (f"{base}_backward", (_x.flip(0).contiguous(), _x)))
    },
    "relu": (selections.RELU, (_x,), "tangent second"),
    "relu_backward": (selections.RELU_BACKWARD, (_x, _x.flip(0).contiguous()), "tangent second"),
    "embedding": (selections.EMBEDDING, (_classes, _logits, -1), "tangent second"),
    "embedding_grad": (selections.EMBEDDING_GRAD, (_targets, _classes, 4, 1), "tangent second"),
    "max_pool": (pooling.MAX_POOL, (_image, *_windows, [1, 1], False), "tangent second"),
    "adaptive_max_pool": (pooling.ADAPTIVE_MAX_POOL, (_image, [2, 3]), "tangent second"),
    "max_pool_pick": (pooling.PICK, (_image, _indices), "tangent second"),
    "max_pool_backward": (
        pooling.MAX_POOL_BACKWARD,
        (numbers(*_indices.shape, seed=19), list(_image.shape), _indices),
        "tangent second",
    ),
    "avg_pool": (pooling.AVG_POOL, (_image, *_windows, False, True, 0), "tangent second"),
    "avg_pool_backward": (
        pooling.AVG_POOL_BACKWARD,
        (numbers(2, 2, 4, 4, seed=20), list(_image.shape), *_windows, False, True, 3),
        "tangent second",
    ),
    "adaptive_avg_pool": (pooling.ADAPTIVE_AVG_POOL, (_image, [2, 3]), "tangent second"),
    "adaptive_avg_pool_backward": (
        pooling.ADAPTIVE_AVG_POOL_BACKWARD,
        (numbers(2, 2, 2, 3, seed=21), list(_image.shape)),
        "tangent second",
    ),
    "dropout": (dropout.DROPOUT, (_x, 0.25, *_place), "tangent second"),
    "layer_norm": (normalization.LAYER_NORM, (_x, [5], numbers(5), numbers(5, seed=22), 1e-5), ""),
    "rms_norm": (normalization.RMS_NORM, (_x, [5], numbers(5), 1e-5), ""),
    "group_norm": (normalization.GROUP_NORM, (_x, 2, _channel[0], _channel[1], 1e-5), ""),
    "instance_norm": (normalization.INSTANCE_NORM, (_x, _channel[0], _channel[1], 1e-5), ""),
    "batch_norm": (normalization.BATCH_NORM, (_x, None, None, _channel[0], _channel[1], True, 1e-5), ""),
    "batch_norm_given": (normalization.BATCH_NORM, (_x, _channel[2], _channel[3], None, _channel[1], False, 1e-5), ""),
    "scaled_dot_product_attention": (softmax.ATTENTION, (*_heads[:3], None, True, None, 0.25, *_place), ""),
    "cross_entropy": (losses.CROSS_ENTROPY, (_logits, _classes, None, -100, "mean", 0.125), ""),
    "cross_entropy_probabilities": (losses.CROSS_ENTROPY, (_logits, _targets, None, -100, "sum", 0.0), ""),
    "nll_loss": (losses.NLL_LOSS, (_logits, _classes, _channel[0][:3], -100, "none"), ""),
    "mse_loss": (losses.PAIR_LOSS, (_logits, _targets, "mse", 0.0, "mean"), ""),
    "huber_loss": (losses.PAIR_LOSS, (_logits, _targets, "huber", 0.5, "none"), ""),
    "kl_div": (losses.KL_DIV, (_logits, _targets, "batchmean", False), ""),
    "binary_cross_entropy_with_logits": (losses.BCE, (_logits, _targets, None, "mean", _channel[0][:3]), ""),
}
# Arguments by which there is a gradient; all that have a float dtype, where nothing else is said.
DIFFERENTIABLE = {
    "relu_backward": (0,),
    "batch_norm_given": (0, 4),
    "cross_entropy_probabilities": (0,),
    "nll_loss": (0,),
    "kl_div": (0,),
    "binary_cross_entropy_with_logits": (0,),
}


def differentiable(name):
    """Places of the arguments of a case by which there is a gradient."""
    args = CASES[name][1]
    floats = (i for i, a in enumerate(args) if isinstance(a, torch.Tensor) and a.is_floating_point())
    return DIFFERENTIABLE.get(name) or tuple(floats)


def as_function(name):
    """The first result of a case as a function of the tensors that have gradients; and these."""
    op, args, _ = CASES[name]
    places = differentiable(name)

    def function(*tensors):
        full = list(args)
        for i, t in zip(places, tensors, strict=True):
            full[i] = t
        result = op(*full)
        return result[0] if isinstance(result, tuple) else result

    return function, tuple(args[i].clone() for i in places)

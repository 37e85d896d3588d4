"""Composite operators: softmax, normalisation, losses, pooling, attention, embedding."""

import contextlib
import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import nn
from ..._reductions import sum as exact_sum
from ..._scatter import index_add
from .._deviations import eps_before, marked
from .._stepwise import HERE
from .._tensors import as_array, as_tensor
from .common import KERNELS, Array, Uncovered, apply, convert, format_of, kernel, together

_REDUCTIONS = ("none", "mean", "sum")
_Maybe: TypeAlias = torch.Tensor | None


def _array(t: _Maybe, dtype: torch.dtype | None = None) -> Array | None:
    """Weights beside an input of `dtype`, rounded to that format."""
    return None if t is None else as_array(t if dtype is None else convert(_beside(t, dtype), dtype))


def _beside(t: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Beside an input of 16 bits PyTorch takes weights and statistics of float32, and else of no other format."""
    if t.dtype is not dtype and (dtype.itemsize != 2 or t.dtype is not torch.float32):
        raise ValueError(f"weights of {t.dtype} beside an input of {dtype}")
    return t


def _tensor(a: Any) -> Any:
    return None if a is None else as_tensor(a)


# softmax


def _rows_function(name: str) -> Any:
    function = getattr(nn, name)

    def call(x: torch.Tensor, dim: int, half_to_float: bool = False) -> torch.Tensor:
        if half_to_float:
            raise Uncovered("half_to_float=True")
        return as_tensor(function(as_array(x), dim))

    return call


softmax = _rows_function("softmax")
log_softmax = _rows_function("log_softmax")
softmax.__name__, log_softmax.__name__ = "softmax", "log_softmax"
kernel(softmax)
kernel(log_softmax)


@kernel
def safe_softmax(x: torch.Tensor, dim: int, dtype: torch.dtype | None = None) -> torch.Tensor:
    """softmax; of a row that is -infinity throughout, zeros."""
    if dtype not in (None, x.dtype):
        raise Uncovered(f"dtype={dtype} of {x.dtype}")
    if not x.is_cpu:
        made = softmax(x, dim)
        return torch.where((x == -torch.inf).all(dim, keepdim=True), made.new_zeros(()), made)
    made = as_array(softmax(x, dim))
    if made.ndim == 0 or (made.size and np.isnan(made.take(0, axis=dim)).any()):
        a = as_array(x)
        made[(a == -torch.inf).all(axis=dim, keepdims=True) & (a == a)] = 0
    return as_tensor(made)


@kernel
def softmax_backward(g: torch.Tensor, y: torch.Tensor, dim: int, input_dtype: torch.dtype) -> torch.Tensor:
    return as_tensor(nn.softmax_backward(as_array(g), as_array(y), dim))


@kernel
def log_softmax_backward(g: torch.Tensor, y: torch.Tensor, dim: int, input_dtype: torch.dtype) -> torch.Tensor:
    return as_tensor(nn.log_softmax_backward(as_array(g), as_array(y), dim))


# normalisation: gradients take the exact statistics again; those that are returned, rounded, are for PyTorch's own formulas of second derivatives
# and of tangents. ATen's gradients are not given eps: it lies before the deviations, in their storage.


def _with_eps(root: Array, eps: float) -> torch.Tensor:
    """1/sqrt(variance + eps) of each set, behind the mark and eps."""
    return marked(as_tensor(root), eps)


def _eps(root: torch.Tensor) -> float:
    """What `_with_eps` put there."""
    eps = eps_before(root)
    if eps is None:
        eps = getattr(_beside_statistics, "eps", None)
    if eps is None:
        raise Uncovered("the gradient of a call that was made outside of reproducible()")
    return float(eps)


_beside_statistics = threading.local()


@contextlib.contextmanager
def eps_of(root: torch.Tensor) -> Iterator[None]:
    """Gradients of the block take the eps of these statistics, where theirs have been exchanged between ranks without it."""
    _beside_statistics.eps = _eps(root)
    try:
        yield
    finally:
        del _beside_statistics.eps


def _bias_gradient(g: torch.Tensor, dims: Any) -> Array:
    made: Array = exact_sum(as_array(g), axis=tuple(dims))
    return made


def _masked(gradients: Any, mask: Sequence[bool]) -> tuple[Any, ...]:
    return tuple(_tensor(g) if wanted else None for g, wanted in zip(gradients, mask, strict=True))


@kernel
def layer_norm(x: torch.Tensor, normalized_shape: Sequence[int], weight: _Maybe, bias: _Maybe, eps: float) -> Any:
    shape = tuple(normalized_shape)
    weights = _array(weight, x.dtype), _array(bias, x.dtype)
    made, mean, root = nn.layer_norm(as_array(x), shape, *weights, eps, return_statistics=True)
    return as_tensor(made), as_tensor(mean), _with_eps(root, eps)


@kernel
def layer_norm_backward(
    g: torch.Tensor,
    x: torch.Tensor,
    normalized_shape: Sequence[int],
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: _Maybe,
    bias: _Maybe,
    output_mask: Sequence[bool],
) -> Any:
    w = _array(weight, x.dtype)
    gradients = nn.layer_norm_backward(as_array(g), as_array(x), tuple(normalized_shape), w, _eps(rstd))
    if bias is not None and gradients[2] is None:
        gradients = (*gradients[:2], _bias_gradient(g, range(g.ndim - len(normalized_shape))))
    return _masked(gradients, output_mask)


@kernel
def group_norm(x: torch.Tensor, weight: _Maybe, bias: _Maybe, n: int, c: int, inner: int, group: int, eps: float) -> Any:
    shaped = x.reshape(n, c, inner)
    weights = _array(weight, x.dtype), _array(bias, x.dtype)
    made, mean, root = nn.group_norm(as_array(shaped), group, *weights, eps, return_statistics=True)
    return as_tensor(made).view(x.shape), as_tensor(mean), _with_eps(root, eps)


@kernel
def group_norm_backward(
    g: torch.Tensor,
    x: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: _Maybe,
    n: int,
    c: int,
    inner: int,
    group: int,
    output_mask: Sequence[bool],
) -> Any:
    h, a = (as_array(t.reshape(n, c, inner)) for t in (g, x))
    gradients = nn.group_norm_backward(h, a, group, _array(weight, x.dtype), _eps(rstd))
    of_x, of_w, of_b = _masked(gradients, output_mask)
    return None if of_x is None else of_x.view(x.shape), of_w, of_b


@kernel
def batch_norm(
    x: torch.Tensor,
    weight: _Maybe,
    bias: _Maybe,
    running_mean: _Maybe,
    running_var: _Maybe,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    mean, variance = (None if t is None else as_array(_beside(t, x.dtype)) for t in (running_mean, running_var))
    weights = _array(weight, x.dtype), _array(bias, x.dtype)
    made = nn.batch_norm(as_array(x), mean, variance, *weights, training, momentum, eps, return_statistics=training)
    if training:
        return tuple(as_tensor(a) for a in made)
    return as_tensor(made), x.new_empty(0), x.new_empty(0)


@kernel
def batch_norm_with_update(
    x: torch.Tensor,
    weight: _Maybe,
    bias: _Maybe,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    momentum: float,
    eps: float,
) -> Any:
    """The last result is what another library keeps for the gradient."""
    made = KERNELS["batch_norm"](x, weight, bias, running_mean, running_var, True, momentum, eps)
    return *made, torch.empty(0, dtype=torch.uint8)


@kernel
def batch_norm_of_update_backward(
    g: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    running_mean: _Maybe,
    running_var: _Maybe,
    save_mean: _Maybe,
    save_var: _Maybe,
    update: bool,
    eps: float,
    output_mask: Sequence[bool],
    reserve: torch.Tensor,
) -> Any:
    arguments = g, x, weight, running_mean, running_var, save_mean, save_var, update, eps, output_mask
    return KERNELS["batch_norm_backward"](*arguments)


@kernel
def batch_norm_without_running(
    x: torch.Tensor, weight: _Maybe, bias: _Maybe, training: bool, momentum: float, eps: float
) -> Any:
    return batch_norm(x, weight, bias, None, None, training, momentum, eps)


@kernel
def batch_norm_without_training(
    x: torch.Tensor, weight: _Maybe, bias: _Maybe, mean: torch.Tensor, var: torch.Tensor, momentum: float, eps: float
) -> Any:
    return batch_norm(x, weight, bias, mean, var, False, momentum, eps)


@kernel
def batch_norm_backward(
    g: torch.Tensor,
    x: torch.Tensor,
    weight: _Maybe,
    running_mean: _Maybe,
    running_var: _Maybe,
    save_mean: _Maybe,
    save_invstd: _Maybe,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> Any:
    mean, variance = (None if t is None else as_array(_beside(t, x.dtype)) for t in (running_mean, running_var))
    if g.dtype is not x.dtype:
        raise ValueError(f"a gradient of {g.dtype} beside an input of {x.dtype}")
    gradients = nn.batch_norm_backward(as_array(g), as_array(x), mean, variance, _array(weight, x.dtype), train, eps)
    return _masked(gradients, output_mask)


# losses


@kernel
def nll_loss_forward(x: torch.Tensor, target: torch.Tensor, weight: _Maybe, reduction: int, ignore_index: int) -> Any:
    made = nn.nll_loss(
        as_array(x), as_array(target), _array(weight), ignore_index=ignore_index, reduction=_REDUCTIONS[reduction]
    )
    counted = target != ignore_index
    if reduction == 0:
        total = x.new_zeros(())
    elif weight is None and x.is_cpu:
        total = convert(counted.sum(), x.dtype)
    elif weight is None:
        if target.numel() > 1 << 24:
            raise Uncovered("more targets than binary32 counts")
        total = counted.sum().to(torch.float32).to(x.dtype)  # exact, but for one rounding to 16 bits
    else:
        total = as_tensor(exact_sum(as_array(weight[target[counted]])))
    return as_tensor(made), total


@kernel
def nll_loss_backward(
    g: torch.Tensor,
    x: torch.Tensor,
    target: torch.Tensor,
    weight: _Maybe,
    reduction: int,
    ignore_index: int,
    total_weight: torch.Tensor,
) -> torch.Tensor:
    arrays = as_array(g), as_array(x), as_array(target), _array(weight)
    return as_tensor(nn.nll_loss_backward(*arrays, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction]))


def _loss(name: str, *parameters: str) -> None:
    forward, backward = getattr(nn, name), getattr(nn, f"{name}_backward")

    def call(x: torch.Tensor, target: torch.Tensor, reduction: int = 1, *values: float) -> torch.Tensor:
        x, target = torch.broadcast_tensors(*together(x, target))
        options = dict(zip(parameters, values, strict=False))
        return as_tensor(forward(as_array(x), as_array(target), reduction=_REDUCTIONS[reduction], **options))

    def gradient(g: torch.Tensor, x: torch.Tensor, target: torch.Tensor, reduction: int, *values: float) -> torch.Tensor:
        x, target = torch.broadcast_tensors(*together(x, target))
        options = dict(zip(parameters, values, strict=False))
        if reduction and g.shape == x.shape and g.numel() != 1:  # one for each element, in PyTorch's second derivatives
            if reduction == 2:
                return gradient(g, x, target, 0, *values)
            wide = gradient(*(convert(t, torch.float64) for t in (g, x, target)), 0, *values)
            return convert(apply("divide", wide, float(x.numel())), format_of(g, x))
        if HERE.steps is not None:
            return as_tensor(HERE.steps.loss_gradient(name, g, x, target, reduction, *values))
        return as_tensor(backward(as_array(g), as_array(x), as_array(target), reduction=_REDUCTIONS[reduction], **options))

    call.__name__, gradient.__name__ = name, f"{name}_backward"
    kernel(call)
    kernel(gradient)


_loss("mse_loss")
_loss("smooth_l1_loss", "beta")
_loss("huber_loss", "delta")


@kernel
def binary_cross_entropy_with_logits(
    x: torch.Tensor, target: torch.Tensor, weight: _Maybe = None, pos_weight: _Maybe = None, reduction: int = 1
) -> torch.Tensor:
    made = nn.binary_cross_entropy_with_logits(
        as_array(x), as_array(target), _array(weight), reduction=_REDUCTIONS[reduction], pos_weight=_array(pos_weight)
    )
    return as_tensor(made)


# pooling: _max_pool2d_with_indices, avg_pool2d and the like of 2 and 3 dimensions, and adaptive ones


def _sizes(values: Any) -> Any:
    return tuple(values) if isinstance(values, (list, tuple)) else values


def _over(x: torch.Tensor, n: int | None) -> tuple[Array, int | None]:
    """Numbers and a divisor with the same averages that is not negative: a sum of 0 is +0 over any divisor, so that results cannot be negated."""
    return (as_array(x), n) if n is None or n >= 0 else (as_array(x.neg()), -n)


def _from_greatest(dims: int, g: torch.Tensor, x: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """The gradient of a maximum pool on a device, which does not say that an index is out of range: results are then NaN."""
    if g.shape != indices.shape or g.shape[:-dims] != x.shape[:-dims] or g.ndim not in (dims + 1, dims + 2):
        raise ValueError("shapes of the gradient, the indices and the input")
    if not g.numel():
        return x.new_zeros(x.shape)
    planes = math.prod(x.shape[:-dims])
    size, at = x.numel() // planes, indices.reshape(planes, -1)
    first, empty = torch.arange(planes, device=x.device)[:, None] * size, at == -1  # a window without elements adds 0
    inside = torch.where((at >= 0) & (at < size), at + first, -1)
    values = torch.where(empty, g.new_zeros(()), g.reshape(planes, -1)).reshape(-1)
    made = index_add(
        as_array(g.new_zeros(x.numel())), as_array(torch.where(empty, first, inside).reshape(-1)), as_array(values)
    )
    return as_tensor(made.reshape(tuple(x.shape)))


def _pooling(dims: int) -> None:
    greatest, from_greatest = getattr(nn, f"max_pool{dims}d"), getattr(nn, f"max_pool{dims}d_backward")
    average, from_average = getattr(nn, f"avg_pool{dims}d"), getattr(nn, f"avg_pool{dims}d_backward")
    adaptive, from_adaptive = getattr(nn, f"adaptive_avg_pool{dims}d"), getattr(nn, f"adaptive_avg_pool{dims}d_backward")
    most = getattr(nn, f"adaptive_max_pool{dims}d")

    def max_pool(
        x: torch.Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> Any:
        if not x.numel():  # nothing to compare; PyTorch says what is wrong with such shapes
            return getattr(torch.ops.aten, f"max_pool{dims}d_with_indices")(
                x, kernel_size, stride, padding, dilation, ceil_mode
            )
        stride = _sizes(stride) or None
        sizes = _sizes(kernel_size), stride, _sizes(padding), _sizes(dilation)
        values, indices = greatest(as_array(x), *sizes, ceil_mode=ceil_mode, return_indices=True)
        return as_tensor(values), as_tensor(indices)

    def max_pool_backward(g: torch.Tensor, x: torch.Tensor, *arguments: Any) -> torch.Tensor:
        if not x.is_cpu:
            return _from_greatest(dims, g, x, arguments[-1])
        indices = as_array(arguments[-1])
        try:
            return as_tensor(from_greatest(as_array(g), tuple(x.shape), indices))
        except IndexError as error:  # PyTorch writes where such an index says
            raise RuntimeError(f"max_pool{dims}d_backward: {error}") from None

    def avg_pool(
        x: torch.Tensor,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> torch.Tensor:
        sizes = _sizes(kernel_size), _sizes(stride) or None, _sizes(padding)
        numbers, divisor = _over(x, divisor_override)
        return as_tensor(average(numbers, *sizes, ceil_mode, count_include_pad, divisor))

    def avg_pool_backward(
        g: torch.Tensor,
        x: torch.Tensor,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> torch.Tensor:
        sizes = _sizes(kernel_size), _sizes(stride) or None, _sizes(padding)
        numbers, divisor = _over(g, divisor_override)
        return as_tensor(from_average(numbers, tuple(x.shape), *sizes, ceil_mode, count_include_pad, divisor))

    def adaptive_avg_pool(x: torch.Tensor, output_size: Any) -> torch.Tensor:
        return as_tensor(adaptive(as_array(x), tuple(output_size)))

    def adaptive_avg_pool_backward(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return as_tensor(from_adaptive(as_array(g), tuple(x.shape)))

    def adaptive_max_pool(x: torch.Tensor, output_size: Any) -> Any:
        values, indices = most(as_array(x), tuple(output_size), return_indices=True)
        return as_tensor(values), as_tensor(indices)

    for function in (
        max_pool, max_pool_backward, avg_pool, avg_pool_backward, adaptive_avg_pool, adaptive_avg_pool_backward, adaptive_max_pool
    ):  # fmt: skip
        head, *tail = function.__name__.split("_backward")
        function.__name__ = f"{head}{dims}d" + "_backward" * len(tail)
        kernel(function)


_pooling(2)
_pooling(3)


# attention and dropout


def _heads(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, dropout_p: float, is_causal: bool, attn_mask: _Maybe
) -> tuple[torch.Tensor, _Maybe, bool]:
    """Queries whose heads share a head of keys become rows beside each other, with their mask: gradients are then one sum."""
    if dropout_p:
        raise Uncovered(f"dropout_p={dropout_p} here; math attention draws its masks by bernoulli_")
    if q.ndim != 4 or k.shape[1] == q.shape[1]:
        return q, attn_mask, is_causal
    batch, heads, length, width = q.shape
    group, keys = heads // k.shape[1], k.shape[2]
    if is_causal:
        attn_mask = torch.ones(length, keys, dtype=torch.bool).tril()
    if attn_mask is not None:
        attn_mask = attn_mask.expand(batch, heads, length, keys).reshape(batch, k.shape[1], group * length, keys)
    return q.reshape(batch, k.shape[1], group * length, width), attn_mask, False


def laid_out(made: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """The result with the strides of PyTorch's, which are the query's: what is behind it may take a view of it."""
    if q.is_contiguous() or made.shape != q.shape:
        return made
    return torch.empty_like(q).copy_(made)


def heads_within_rows(t: torch.Tensor) -> torch.Tensor:
    """A gradient with the strides of PyTorch's: the heads of a row lie beside each other."""
    if t.ndim != 4 or t.shape[1] == 1:
        return t
    batch, heads, length, width = t.shape
    return t.new_empty(batch, length, heads, width).transpose(1, 2).copy_(t)


@kernel
def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: _Maybe = None,
    scale: float | None = None,
) -> Any:
    rows, mask, causal = _heads(q, k, v, dropout_p, is_causal, attn_mask)
    a, b, c = (as_array(t) for t in (rows, k, v))
    made = nn.scaled_dot_product_attention(a, b, c, attn_mask=_array(mask), is_causal=causal, scale=scale)
    # PyTorch's own gradient reads the logarithms of the sums, the one below does not: whoever takes them finds that they are no numbers.
    return laid_out(as_tensor(made).view(*q.shape[:-1], v.shape[-1]), q), q.new_full(q.shape[:-1], math.nan)


@kernel
def attention_backward(
    g: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    logsumexp: torch.Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: _Maybe = None,
    scale: float | None = None,
) -> Any:
    rows, mask, causal = _heads(q, k, v, dropout_p, is_causal, attn_mask)
    h, a, b, c = (as_array(t) for t in (g.reshape(*rows.shape[:-1], v.shape[-1]), rows, k, v))
    of_q, of_k, of_v = nn.scaled_dot_product_attention_backward(h, a, b, c, _array(mask), causal, scale)
    return tuple(heads_within_rows(t) for t in (as_tensor(of_q).view(q.shape), as_tensor(of_k), as_tensor(of_v)))

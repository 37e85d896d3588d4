"""Operators that PyTorch has for GPUs alone: each calls the function of the CPU's operator that computes the same."""

from collections.abc import Callable
from typing import Any

import torch

from .common import KERNELS, Uncovered, convert, kernel
from .layers import attention, attention_backward
from .matmul_conv import convolution


def _enter(name: str, call: Callable[..., Any]) -> None:
    call.__name__ = name
    kernel(call)


_enter("no_library", lambda *_: False)  # whether a loss is cuDNN's or MIOpen's
_enter("masked_scale", lambda x, mask, scale: KERNELS["native_dropout_backward"](x, mask != 0, scale))

for _name in ("mm", "bmm", "addmm", "baddbmm"):

    def _wider(*given: Any, product: str = _name, **numbers: Any) -> Any:
        return KERNELS[product](*(convert(t, given[-1]) for t in given[:-1]), **numbers)

    _enter(f"{_name}_wider", _wider)


def _conv(x: Any, w: Any, b: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> torch.Tensor:
    return convolution(x, w, b, stride, padding, dilation, False, (), groups)


@kernel
def conv_miopen(x: Any, w: Any, b: Any, padding: Any, stride: Any, dilation: Any, groups: int, *_: Any) -> torch.Tensor:
    return _conv(x, w, b, stride, padding, dilation, groups)


@kernel
def conv_transpose_miopen(
    x: Any, w: Any, b: Any, padding: Any, more: Any, stride: Any, dilation: Any, groups: int, *_: Any
) -> Any:
    return convolution(x, w, b, stride, padding, dilation, True, more, groups)


_enter("conv_cudnn", lambda x, w, *rest: conv_miopen(x, w, None, *rest))
_enter("conv_transpose_cudnn", lambda x, w, *rest: conv_transpose_miopen(x, w, None, *rest))
_enter("conv_depthwise", lambda x, w, size, *rest: convolution(x, w, *rest, False, (), x.shape[-len(size) - 1]))
_enter("conv_relu", lambda *given: KERNELS["relu"](_conv(*given)))


@kernel
def conv_add_relu(x: Any, w: Any, z: Any, alpha: Any, *rest: Any) -> Any:
    return KERNELS["relu"](KERNELS["add"](_conv(x, w, *rest), z, alpha=1 if alpha is None else alpha))


@kernel
def batch_norm_cudnn(x: Any, *rest: Any) -> Any:
    return *KERNELS["batch_norm"](x, *rest), x.new_empty(0, dtype=torch.uint8)


@kernel
def batch_norm_backward_cudnn(x: Any, g: Any, w: Any, mean: Any, var: Any, m: Any, v: Any, eps: float, *_: Any) -> Any:
    return KERNELS["batch_norm_backward"](g, x, w, mean, var, m, v, True, eps, (True, True, True))


def _flash(made: Any, q: torch.Tensor, k: torch.Tensor) -> Any:
    """With what tells PyTorch's gradient of lengths and random numbers, which the one below does not read."""
    none = [q.new_zeros((), dtype=torch.int64) for _ in range(5)]
    return *made, *none[:2], q.shape[-2], k.shape[-2], *none[2:]


@kernel
def attention_flash(q: Any, k: Any, v: Any, p: float = 0.0, causal: bool = False, *_: Any, scale: Any = None) -> Any:
    return _flash(attention(q, k, v, p, causal, scale=scale), q, k)


@kernel
def attention_cudnn(
    q: Any, k: Any, v: Any, bias: Any, _: bool, p: float = 0.0, causal: bool = False, *__: Any, scale: Any = None
) -> Any:
    return _flash(attention(q, k, v, p, causal, attn_mask=bias, scale=scale), q, k)


@kernel
def attention_efficient(q: Any, k: Any, v: Any, *rest: Any, scale: Any = None) -> Any:
    made = attention_cudnn(q, k, v, *rest, scale=scale)
    return made[:4]


@kernel
def attention_flash_backward(g: Any, q: Any, k: Any, v: Any, *rest: Any, scale: Any = None) -> Any:
    return attention_backward(g, q, k, v, *rest[:2], *rest[6:8], scale=scale)


def _mask(bias: Any) -> Any:
    return None if bias is None or not bias.numel() else bias


@kernel
def attention_cudnn_backward(g: Any, q: Any, k: Any, v: Any, out: Any, sums: Any, *rest: Any, scale: Any = None) -> Any:
    return attention_backward(g, q, k, v, out, sums, *rest[7:], attn_mask=_mask(rest[2]), scale=scale)


@kernel
def attention_efficient_backward(
    g: Any, q: Any, k: Any, v: Any, bias: Any, out: Any, sums: Any, *rest: Any, scale: Any = None
) -> Any:
    if rest[3][3]:
        raise Uncovered("the gradient of a mask; math attention has it")
    causal = rest[4] if len(rest) > 4 else False
    return *attention_backward(g, q, k, v, out, sums, rest[2], causal, attn_mask=_mask(bias), scale=scale), q.new_empty(0)

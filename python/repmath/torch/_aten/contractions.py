"""Matrix products and convolutions: exact sums of products, rounded once."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _convolution, _core, _reductions
from ..._dtypes import NAMES
from .._tensors import as_array, as_tensor
from .common import Array, integers, kernel

_Number: TypeAlias = float | int


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return as_tensor(_reductions.matmul(as_array(a), as_array(b)))


for _name in ("mm", "bmm", "mv", "dot"):

    def _call(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return _product(a, b)

    _call.__name__ = _name
    integers(kernel(_call))


def _general(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, beta: _Number, alpha: _Number) -> torch.Tensor:
    """RN(alpha a b + beta c) for a stack of matrices."""
    x, y = (np.ascontiguousarray(as_array(t)) for t in (a, b))
    shape = (x.shape[0], x.shape[1], y.shape[2])
    start: Array = np.empty(shape, x.dtype)
    start[...] = as_array(c)
    _core.gemm(NAMES[x.dtype], False, False, float(alpha), x, y, float(beta), start)
    return as_tensor(start)


@integers
@kernel
def addmm(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> torch.Tensor:
    if beta == 1 and alpha == 1 and (c.ndim == 1 or (c.ndim == 2 and c.shape[0] == 1)) and c.shape[-1] == b.shape[1]:
        return as_tensor(_reductions.matmul(as_array(a), as_array(b), bias=as_array(c.reshape(-1))))
    return _general(c, a[None], b[None], beta, alpha)[0]


@integers
@kernel
def baddbmm(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> torch.Tensor:
    return _general(c, a, b, beta, alpha)


@integers
@kernel
def addmv(c: torch.Tensor, a: torch.Tensor, v: torch.Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> torch.Tensor:
    return _general(c.expand(a.shape[0])[None, :, None], a[None], v[None, :, None], beta, alpha)[0, :, 0]


@integers
@kernel
def linear(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    wide = as_array(w.t() if w.ndim == 2 else w)
    return as_tensor(_reductions.matmul(as_array(x), wide, bias=None if bias is None else as_array(bias)))


_CONV = (None, _convolution.conv1d, _convolution.conv2d, _convolution.conv3d)
_TRANSPOSED = (None, _convolution.conv_transpose1d, _convolution.conv_transpose2d, _convolution.conv_transpose3d)
_GRAD_INPUT = (None, _convolution.conv1d_grad_input, _convolution.conv2d_grad_input, _convolution.conv3d_grad_input)
_GRAD_WEIGHT = (None, _convolution.conv1d_grad_weight, _convolution.conv2d_grad_weight, _convolution.conv3d_grad_weight)


def _options(stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int) -> dict[str, Any]:
    return {"stride": tuple(stride), "padding": tuple(padding), "dilation": tuple(dilation), "groups": groups}


@kernel
def convolution(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> torch.Tensor:
    dims = w.ndim - 2
    given = None if bias is None else as_array(bias)
    options = _options(stride, padding, dilation, groups)
    if transposed:
        options["output_padding"] = tuple(output_padding)
    call: Any = (_TRANSPOSED if transposed else _CONV)[dims]
    made = as_tensor(call(as_array(x), as_array(w), given, **options))
    last = dims == 2 and not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)
    return made.contiguous(memory_format=torch.channels_last) if last else made


@kernel
def convolution_backward(
    g: torch.Tensor,
    x: torch.Tensor,
    w: torch.Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None]:
    dims = w.ndim - 2
    gradient, source, kernel_ = as_array(g), as_array(x), as_array(w)
    options = _options(stride, padding, dilation, groups)
    of_x = of_w = of_bias = None
    call: Any
    if output_mask[0]:
        if transposed:
            call = _CONV[dims]
            of_x = as_tensor(call(gradient, kernel_, None, **options))
        else:
            call = _GRAD_INPUT[dims]
            of_x = as_tensor(call(tuple(x.shape), kernel_, gradient, **options))
    if output_mask[1]:
        call = _GRAD_WEIGHT[dims]
        first, second = (gradient, source) if transposed else (source, gradient)
        of_w = as_tensor(call(first, tuple(w.shape), second, **options))
    if output_mask[2]:
        of_bias = as_tensor(_reductions.sum(gradient, axis=(0, *range(2, dims + 2))))
    return of_x, of_w, of_bias

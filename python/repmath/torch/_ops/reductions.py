"""Sums, means and functions of them: operators and rules."""

import math
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _reductions, _statistics, nn
from .._tensors import as_array, as_tensor
from .operator import Operator, check_formats

_Tensor: TypeAlias = torch.Tensor


def _kept(shape: Any, dim: list[int], keepdim: bool) -> list[Any]:
    return [1 if i in dim else n for i, n in enumerate(shape) if keepdim or i not in dim]


def _reduced(input: _Tensor, dim: list[int], keepdim: bool) -> _Tensor:
    """A tensor for the result. dim names axes from the front, each once."""
    check_formats(("input",), (input,))
    return input.new_empty(_kept(input.shape, dim, keepdim))


def broadcast(t: _Tensor, shape: Any) -> _Tensor:
    """t expanded; where autograd follows, by an operator whose gradient is an exact sum, as that of torch.expand is not."""
    if t.shape == torch.Size(shape):
        return t
    return BROADCAST(t, shape) if torch.is_grad_enabled() and t.requires_grad else t.expand(shape)


def sum_to(t: _Tensor, shape: Any) -> _Tensor:
    """The exact sums over the axes along which `shape` was broadcast to that of t, each rounded once."""
    if t.shape == shape:
        return t
    extra = t.ndim - len(shape)
    dim = [i for i in range(t.ndim) if i < extra or (shape[i - extra] == 1 and t.shape[i] != 1)]
    if not dim:
        return t
    total = SUM(t, dim, True)
    return total.reshape(shape) if extra else total


def _sum_gradient(g: _Tensor, shapes: Any, dim: list[int], keepdim: bool) -> tuple[_Tensor]:
    return (broadcast(g.reshape(_kept(shapes[0], dim, True)), shapes[0]),)


def _sum(input: _Tensor, dim: list[int], keepdim: bool) -> _Tensor:
    check_formats(("input",), (input,))
    if len(dim) == input.ndim and not keepdim:
        return as_tensor(_reductions.sum(as_array(input)))
    return as_tensor(_reductions.sum(as_array(input), axis=tuple(dim), keepdims=keepdim))


def _mean(input: _Tensor, dim: list[int], keepdim: bool) -> _Tensor:
    check_formats(("input",), (input,))
    with np.errstate(all="ignore"):
        return as_tensor(_statistics.mean(as_array(input), axis=tuple(dim), keepdims=keepdim))


def _over(g: _Tensor, n: int) -> _Tensor:
    """RN(g/n), n any count."""
    check_formats(("grad_output",), (g,))
    values = as_array(g).reshape(1, 1, g.numel())
    if not n or not g.numel():
        return torch.full_like(g, math.nan)
    return as_tensor(nn.avg_pool1d(values, 1, divisor_override=n).reshape(g.shape))


def _mean_gradient(g: _Tensor, shapes: Any, dim: list[int], keepdim: bool) -> tuple[_Tensor]:
    n = math.prod(shapes[0][d] for d in dim)
    return (broadcast(OVER(g, n).reshape(_kept(shapes[0], dim, True)), shapes[0]),)


def _behind(op: Operator) -> Any:
    """vmap of a reduction: the axis of the batch is in front, and is kept."""

    def rule(info: Any, in_dims: Any, input: _Tensor, dim: list[int], keepdim: bool) -> tuple[_Tensor, int]:
        return op(input.movedim(in_dims[0], 0), [d + 1 for d in dim], keepdim), 0

    return rule


BROADCAST: Operator = Operator(
    "broadcast_to(Tensor input, SymInt[] shape) -> Tensor",
    lambda input, shape: input.expand(shape).clone(memory_format=torch.contiguous_format),
    lambda input, shape: input.new_empty(shape),
    gradient=lambda g, shapes: (sum_to(g, shapes[0]),),
    tangent=lambda ts, shape: ts[0].expand(shape).clone(),
)

SUM: Operator = Operator(
    "sum(Tensor input, int[] dim, bool keepdim) -> Tensor",
    _sum,
    _reduced,
    gradient=_sum_gradient,
    tangent=lambda ts, dim, keepdim: SUM(ts[0], dim, keepdim),
    batch=_behind,
)

# RN(input/n): the gradient of a mean.
OVER: Operator = Operator(
    "over(Tensor input, SymInt n) -> Tensor",
    _over,
    lambda input, n: input.new_empty(input.shape),
    gradient=lambda g, n: (OVER(g, n),),
    tangent=lambda ts, n: OVER(ts[0], n),
    batch=lambda op: lambda info, in_dims, input, n: (op(input, n), in_dims[0]),
)

MEAN: Operator = Operator(
    "mean(Tensor input, int[] dim, bool keepdim) -> Tensor",
    _mean,
    _reduced,
    gradient=_mean_gradient,
    tangent=lambda ts, dim, keepdim: MEAN(ts[0], dim, keepdim),
    batch=_behind,
)


def axes(dim: Any, ndim: int) -> list[int]:
    """torch's `dim`, None for all, as axes from the front; IndexError or RuntimeError as torch raises them."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return list(range(ndim))
    result = []
    for d in dim if isinstance(dim, (tuple, list)) else (dim,):
        least = -max(ndim, 1)
        if not least <= d < -least:
            raise IndexError(f"Dimension out of range (expected to be in range of [{least}, {-least - 1}], but got {d})")
        place = d % max(ndim, 1)
        if place in result:
            raise RuntimeError(f"dim {place} appears multiple times in the list of dims")
        result.append(place)
    return result if ndim else []

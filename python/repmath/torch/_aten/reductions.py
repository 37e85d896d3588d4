"""Sums, means, variances, norms and scattered sums: exact, rounded once."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _reductions, _scatter, _statistics
from .._tensors import FORMATS, as_array, as_tensor
from .common import Array, Uncovered, apply, convert, integers, kernel

_Dims: TypeAlias = int | Sequence[int] | None


def _axes(x: torch.Tensor, dim: _Dims) -> Any:
    """No dimensions are all of them, and a scalar has dimensions 0 and -1, as ATen has it."""
    if x.ndim == 0:
        for d in [dim] if isinstance(dim, int) else dim or ():
            if d not in (0, -1):
                raise IndexError(f"Dimension out of range (expected to be in range of [-1, 0], but got {d})")
        return None
    if dim is None or isinstance(dim, int):
        return dim
    return tuple(dim) or None


def _operand(x: torch.Tensor, dtype: torch.dtype | None) -> Array:
    if dtype is not None and dtype not in FORMATS:
        raise Uncovered(f"dtype={dtype}")
    if x.is_complex():
        raise Uncovered("complex numbers")
    if not x.is_floating_point():
        return as_array(convert(x, torch.get_default_dtype() if dtype is None else dtype))
    wide = torch.promote_types(x.dtype, dtype) if dtype is not None else x.dtype
    if wide is not dtype and dtype is not None and wide is not x.dtype:
        raise Uncovered(f"dtype={dtype} of {x.dtype}")
    return as_array(x)


def _result(x: torch.Tensor, dtype: torch.dtype | None) -> Any:
    return FORMATS[x.dtype if dtype is None else dtype]


@integers
@kernel
def sum(x: torch.Tensor, dim: _Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    a = _operand(x, dtype)
    return as_tensor(_reductions.sum(a, axis=_axes(x, dim), keepdims=keepdim, dtype=_result(x, dtype)))


@integers
@kernel
def mean(x: torch.Tensor, dim: _Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    a = _operand(x, dtype)
    return as_tensor(_statistics.mean(a, axis=_axes(x, dim), keepdims=keepdim, dtype=_result(x, dtype)))


def _spread(which: Any, x: torch.Tensor, dim: _Dims, correction: Any, keepdim: bool) -> torch.Tensor:
    ddof = 1.0 if correction is None else float(correction)
    with np.errstate(all="ignore"):
        return as_tensor(which(as_array(x), axis=_axes(x, dim), keepdims=keepdim, ddof=ddof))


@kernel
def var(x: torch.Tensor, dim: _Dims = None, *, correction: Any = None, keepdim: bool = False) -> torch.Tensor:
    return _spread(_statistics.var, x, dim, correction, keepdim)


@kernel
def std(x: torch.Tensor, dim: _Dims = None, *, correction: Any = None, keepdim: bool = False) -> torch.Tensor:
    return _spread(_statistics.std, x, dim, correction, keepdim)


@kernel
def var_mean(x: torch.Tensor, dim: _Dims = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    return var(x, dim, correction=correction, keepdim=keepdim), mean(x, dim, keepdim)


@kernel
def std_mean(x: torch.Tensor, dim: _Dims = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    return std(x, dim, correction=correction, keepdim=keepdim), mean(x, dim, keepdim)


@kernel
def vector_norm(
    x: torch.Tensor, ord: Any = 2, dim: _Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """The root of the sum of squares; of the orders 1 and infinity, the sum and the greatest of magnitudes; of 0, a count."""
    a = _operand(x, dtype)
    result = _result(x, dtype)
    if ord == 2:
        return as_tensor(_statistics.norm(a, axis=_axes(x, dim), keepdims=keepdim, dtype=result))
    if ord == 1:
        return as_tensor(_reductions.sum(np.abs(a), axis=_axes(x, dim), keepdims=keepdim, dtype=result))
    if ord in (float("inf"), float("-inf")):
        reduced = (torch.amax if ord > 0 else torch.amin)(x.abs(), () if dim is None else dim, keepdim)
        return reduced if dtype is None else convert(reduced, dtype)
    raise Uncovered(f"the norm of order {ord}")


@kernel
def norm_dim(
    x: torch.Tensor, p: Any = 2, dim: _Dims = None, keepdim: bool = False, dtype: torch.dtype | None = None
) -> torch.Tensor:
    return vector_norm(x, 2 if p is None else p, dim, keepdim, dtype=dtype)


def _extreme(which: Any, x: torch.Tensor, dim: Any, keepdim: bool) -> torch.Tensor:
    """Which zero PyTorch's loops return depends on their vectors: here it is +0."""
    return apply("add", which(x, dim, keepdim), 0.0, dtype=x.dtype)


@integers
@kernel
def amax(x: torch.Tensor, dim: Any = (), keepdim: bool = False) -> torch.Tensor:
    return _extreme(torch.ops.aten.amax, x, dim, keepdim)


@integers
@kernel
def amin(x: torch.Tensor, dim: Any = (), keepdim: bool = False) -> torch.Tensor:
    return _extreme(torch.ops.aten.amin, x, dim, keepdim)


@integers
@kernel
def cumsum(x: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    if dtype not in (None, x.dtype):
        if x.is_floating_point() or x.is_complex():
            raise Uncovered(f"dtype={dtype} of {x.dtype}")
        x = convert(x, dtype)
    return as_tensor(_statistics.cumsum(as_array(x), axis=_axes(x, dim))).view(x.shape)


@integers
@kernel
def index_add(x: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, *, alpha: float = 1) -> torch.Tensor:
    if source.dtype is not x.dtype:
        raise ValueError("self and source must have one dtype")
    if alpha not in (1, -1):
        raise Uncovered(f"alpha={alpha}")
    source = source if alpha == 1 else source.neg()
    return as_tensor(_scatter.index_add(as_array(x), as_array(index), as_array(source), axis=dim))


@integers
@kernel
def scatter_add(x: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
    if src.dtype is not x.dtype:
        raise ValueError("self and src must have one dtype")
    source = as_array(src)[tuple(slice(n) for n in index.shape)]
    return as_tensor(_scatter.scatter_add(as_array(x), dim, as_array(index), source))


def _places(x: torch.Tensor, indices: Sequence[torch.Tensor | None]) -> torch.Tensor:
    """Where an indexed assignment writes: positions in the flattened x, of the shape that the values are broadcast to."""
    positions = torch.arange(x.numel(), device=x.device).view(x.shape)
    return positions[tuple(slice(None) if i is None else i for i in indices)]


@kernel
def index_put(
    x: torch.Tensor,
    indices: Sequence[torch.Tensor | None],
    values: torch.Tensor,
    accumulate: bool = False,
    unsafe: bool = False,
) -> torch.Tensor:
    """Accumulated values are exact sums with what was there, rounded once. Otherwise the last value for a place stays in it."""
    if x.dtype is not values.dtype:
        raise ValueError("self and values must have one dtype")
    if not accumulate:
        made = x.clone(memory_format=torch.contiguous_format)
        where = tuple(slice(None) if i is None else as_array(i) for i in indices)
        as_array(made)[where] = as_array(values)
        return made
    if not x.is_floating_point() and not x.is_complex():
        return torch.ops.aten.index_put(x, indices, values, True)
    at = _places(x, indices)
    source = values.broadcast_to(at.shape).reshape(-1)
    flat = _scatter.index_add(as_array(x.reshape(-1)), as_array(at.reshape(-1)), as_array(source))
    return as_tensor(flat).view(x.shape)


@kernel
def embedding_dense_backward(
    g: torch.Tensor, indices: torch.Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> torch.Tensor:
    if scale_grad_by_freq:
        raise Uncovered("scale_grad_by_freq=True")
    pad = None if padding_idx < 0 else padding_idx
    return as_tensor(_scatter.embedding_grad(as_array(g), as_array(indices), num_weights, pad))


@kernel
def logsumexp(x: torch.Tensor, dim: _Dims, keepdim: bool = False) -> torch.Tensor:
    from ...nn import logsumexp as function

    dims = [dim] if isinstance(dim, int) else list(dim or range(x.ndim))
    if len(dims) != 1:
        raise Uncovered(f"dim={dim}: only one dimension is")
    return as_tensor(function(as_array(x), dims[0], keepdim))


@kernel
def upsample_nearest2d_backward(
    g: torch.Tensor, output_size: Any, input_size: Any, scales_h: Any = None, scales_w: Any = None
) -> torch.Tensor:
    """Each element's exact sum of the gradients of its copies. Where the copies are is asked of the function itself."""
    height, width = input_size[-2:]
    places = torch.arange(height * width, dtype=torch.float64).view(1, 1, height, width)
    copies = torch.ops.aten.upsample_nearest2d(places, output_size, scales_h, scales_w).to(torch.int64).reshape(-1)
    lines = as_array(g.reshape(-1, copies.numel()).t())
    made = _scatter.segment_sum(lines, as_array(copies), height * width)
    return as_tensor(np.ascontiguousarray(made.T)).view(tuple(input_size))

"""Sums, means, variances, norms and scattered sums: exact, rounded once."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _reductions, _scatter, _statistics
from ..._memory import on_device
from ..._sums import over_axes
from .._stepwise import HERE
from .._tensors import FORMATS, as_array, as_tensor
from .common import (
    KERNELS,
    Array,
    Uncovered,
    apply,
    as_float,
    average,
    convert,
    counted,
    integers,
    kernel,
    length,
    total,
    whole,
)

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
    """The terms as they are, whatever the result's format is: integers too."""
    if dtype is not None and dtype not in FORMATS:
        raise Uncovered(f"dtype={dtype}")
    if x.is_complex():
        raise Uncovered("complex numbers")
    if x.is_floating_point() and x.dtype not in FORMATS:
        raise Uncovered(f"tensors of {x.dtype}")
    return as_array(x)


def _result(x: torch.Tensor, dtype: torch.dtype | None) -> Any:
    return FORMATS[as_float(x.new_empty(0)).dtype if dtype is None else dtype]


def _over_axes(what: str, a: Array, dim: _Dims, keepdim: bool, result: Any) -> torch.Tensor | None:
    """Without the arguments' machinery; None for what needs it, such as dimensions out of range."""
    if on_device(a):
        return None
    n = a.ndim
    axes = tuple(range(n)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim) or tuple(range(n))
    axes = tuple(i + n if i < 0 else i for i in axes)
    if len(set(axes)) != len(axes) or not all(0 <= i < n for i in axes):
        return None
    made = over_axes(what, a, axes, result)
    if made is not None and keepdim:
        made = made.reshape([1 if i in axes else size for i, size in enumerate(a.shape)])
    return None if made is None else as_tensor(made)


@integers
@kernel
def sum(x: torch.Tensor, dim: _Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    if dtype is not None and counted(dtype):
        return torch.ops.aten.sum.dim_IntList(whole(x, dtype), dim, keepdim, dtype=dtype)
    a = _operand(x, dtype)
    if HERE.steps is not None:
        return as_tensor(total(a, _axes(x, dim), keepdim, _result(x, dtype)))
    made = _over_axes("sum", a, dim, keepdim, _result(x, dtype))
    if made is not None:
        return made
    return as_tensor(_reductions.sum(a, axis=_axes(x, dim), keepdims=keepdim, dtype=_result(x, dtype)))


@integers
@kernel
def mean(x: torch.Tensor, dim: _Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    a = _operand(x, dtype)
    if HERE.steps is not None:
        return as_tensor(average(a, _axes(x, dim), keepdim, _result(x, dtype)))
    made = _over_axes("mean", a, dim, keepdim, _result(x, dtype))
    if made is not None:
        return made
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
        return as_tensor(length(a, _axes(x, dim), keepdim, result))
    if ord == 1:
        return as_tensor(total(np.abs(a), _axes(x, dim), keepdim, result))
    if ord in (float("inf"), float("-inf")):
        reduced = (torch.amax if ord > 0 else torch.amin)(x.abs(), () if dim is None else dim, keepdim)
        return reduced if dtype is None else convert(reduced, dtype)
    if ord == 0:
        count = _reductions.sum((a != 0).astype(np.float64), axis=_axes(x, dim), keepdims=keepdim, dtype=np.float64)
        return convert(as_tensor(count), x.dtype if dtype is None else dtype)
    return convert(_general_norm(x, float(ord), dim, keepdim), x.dtype if dtype is None else dtype)


def _general_norm(x: torch.Tensor, ord: float, dim: _Dims, keepdim: bool) -> torch.Tensor:
    """(sum of |x|**ord)**(1/ord) in binary64, a rounding each."""
    powers = apply("pow", convert(x.abs(), torch.float64), ord)
    sums = as_tensor(total(as_array(powers), _axes(x, dim), keepdim))
    return apply("pow", sums, 1.0 / ord)


@kernel
def norm_dim(
    x: torch.Tensor, p: Any = 2, dim: _Dims = None, keepdim: bool = False, dtype: torch.dtype | None = None
) -> torch.Tensor:
    return vector_norm(x, 2 if p is None else p, dim, keepdim, dtype=dtype)


def _extreme(which: Any, x: torch.Tensor, dim: Any, keepdim: bool) -> torch.Tensor:
    """The extreme value; adding 0 makes a zero +0, since which zero PyTorch's loops return depends on their vectors."""
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
    if dtype is not None and counted(dtype):
        return torch.ops.aten.cumsum(whole(x, dtype), dim, dtype=dtype)
    return as_tensor(_statistics.cumsum(_operand(x, dtype), axis=_axes(x, dim), dtype=_result(x, dtype))).view(x.shape)


@integers
@kernel
def index_add(x: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, *, alpha: float = 1) -> torch.Tensor:
    if source.dtype is not x.dtype:
        raise ValueError("self and source must have one dtype")
    if x.ndim == 0 and source.numel() == 1:
        return index_add(x[None], dim, index.reshape(-1), source.reshape(1), alpha=alpha)[0]
    if alpha not in (1, -1):
        return _index_add_scaled(x, dim, index, source, float(alpha))
    source = source if alpha == 1 else source.neg()
    return as_tensor(_scatter.index_add(as_array(x), as_array(index), as_array(source), axis=dim))


def alike(index: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """The values of an index that stand in it equally often, and the places of each, a row a value; for each such number of places."""
    order = index.argsort(stable=True)
    found, counts = index[order].unique_consecutive(return_counts=True)
    first = counts.cumsum(0) - counts
    for n in counts.unique().tolist():
        at = (counts == n).nonzero().reshape(-1)
        yield found[at], order[first[at, None] + torch.arange(n)]


def _index_add_scaled(x: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, alpha: float) -> torch.Tensor:
    """RN(x + alpha times the sum of its lines), as matrix products: those of lines to which equally many are added together."""
    as_tensor(_scatter.index_add(as_array(x), as_array(index), as_array(source), axis=dim))  # raises for what does not fit
    made = x.movedim(dim, 0).clone(memory_format=torch.contiguous_format)
    lines = source.reshape(index.numel(), *made.shape[1:]) if source.ndim < x.ndim else source.movedim(dim, 0)
    for rows, places in alike(index.reshape(-1)):
        size, n = places.shape
        added = lines[places].reshape(size, n, -1)
        starts = made[rows].reshape(size, 1, -1)
        sums = KERNELS["baddbmm"](starts, added.new_ones(size, 1, n), added, alpha=alpha)
        made[rows] = sums.view(size, *made.shape[1:])
    return made.movedim(0, dim).contiguous()


@integers
@kernel
def scatter_add(x: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
    if src.dtype is not x.dtype:
        raise ValueError("self and src must have one dtype")
    if not index.numel():
        return x.clone(memory_format=torch.contiguous_format)
    if x.ndim == 0 or index.ndim == 0:
        return scatter_add(x.reshape(-1), dim, index.reshape(-1), src.reshape(-1)).view(x.shape)
    source = as_array(src)[tuple(slice(n) for n in index.shape)]
    if HERE.steps is not None:
        return as_tensor(HERE.steps.scatter_add(as_array(x), dim, as_array(index), source))
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
        made = x.clone(memory_format=torch.preserve_format)
        where = tuple(slice(None) if i is None else as_array(i) for i in indices)
        as_array(made)[where] = as_array(values)
        return made
    if not x.is_floating_point() and not x.is_complex():
        return torch.ops.aten.index_put(x, indices, values, True)
    first = indices[0] if indices else None
    if first is not None and first.dtype is torch.int64 and first.numel() and all(i is None for i in indices[1:]):
        lines, line = x.shape[0], first.reshape(-1)
        shape = (*first.shape, *x.shape[1:])
        if bool(((line >= -lines) & (line < lines)).all()):  # whole slices; what is beyond them is an error of _places
            source = values.broadcast_to(shape).reshape(-1, *x.shape[1:])
            line = torch.where(line < 0, line + lines, line)
            return as_tensor(_scatter.index_add(as_array(x), as_array(line), as_array(source)))
    at = _places(x, indices)
    source = values.broadcast_to(at.shape).reshape(-1)
    if HERE.steps is None:
        made: torch.Tensor = KERNELS["index_add"](x.reshape(-1), 0, at.reshape(-1), source)
        return made.view(x.shape)
    flat = _scatter.index_add(as_array(x.reshape(-1)), as_array(at.reshape(-1)), as_array(source))
    return as_tensor(flat).view(x.shape)


@kernel
def index_copy(x: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """The last of several lines for one place stays in it."""
    if x.ndim == 0:
        return index_copy(x[None], dim, index.reshape(-1), source.reshape(-1)).view(())
    shape = list(x.shape)
    shape[dim] = index.numel()
    if source.dtype is not x.dtype or index.ndim > 1 or list(source.shape) != shape or bool((index < 0).any()):
        raise ValueError("source or index that does not fit")
    made = x.clone(memory_format=torch.contiguous_format)
    np.moveaxis(as_array(made), dim, 0)[as_array(index.reshape(-1))] = np.moveaxis(as_array(source), dim, 0)
    return made


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

    if x.ndim == 0:
        return logsumexp(x[None], dim, True)[0]
    given = [dim] if isinstance(dim, int) else list(dim or range(x.ndim))
    if any(d not in range(-x.ndim, x.ndim) for d in given) or len({d % x.ndim for d in given}) != len(given):
        raise IndexError(f"dim={dim}")
    dims = [d % x.ndim for d in given]
    kept = [d for d in range(x.ndim) if d not in dims]
    lines = x.permute(*kept, *dims).flatten(len(kept))
    made = as_tensor(function(as_array(as_float(lines)), -1))
    return made.view([1 if d in dims else n for d, n in enumerate(x.shape)]) if keepdim else made


@integers
@kernel
def nansum(x: torch.Tensor, dim: _Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    if dtype is not None and counted(dtype):
        return sum(torch.where(x.isnan(), x.new_zeros(()), x), dim, keepdim, dtype=dtype)
    if not x.is_floating_point() or not bool(x.sum().isnan()):  # PyTorch's own sum is NaN where a term is
        return sum(x, dim, keepdim, dtype=dtype)
    if x.is_cpu:
        return sum(x.nan_to_num(0.0, torch.inf, -torch.inf), dim, keepdim, dtype=dtype)
    return sum(torch.where(x.isnan(), x.new_zeros(()), x), dim, keepdim, dtype=dtype)


@integers
@kernel
def trace(x: torch.Tensor) -> torch.Tensor:
    if x.ndim != 2:
        raise ValueError("not a matrix")
    return sum(x.diagonal())


@integers
@kernel
def aminmax(x: torch.Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    if not x.numel():
        return torch.ops.aten.aminmax(x, dim=dim, keepdim=keepdim)
    dims: Any = () if dim is None else dim
    return tuple(_extreme(which, x, dims, keepdim) for which in (torch.ops.aten.amin, torch.ops.aten.amax))


@integers
@kernel
def scatter_with(x: torch.Tensor, dim: int, index: torch.Tensor, src: Any, *, reduce: str) -> torch.Tensor:
    """scatter with what is done instead of replacing."""
    if reduce != "add":
        raise Uncovered(f"reduce={reduce!r}")
    if isinstance(src, torch.Tensor):
        return scatter_add(x, dim, index, src)
    flat = x.reshape(-1)
    at = torch.arange(x.numel()).view(x.shape).gather(dim, index).reshape(-1)
    return index_add(flat, 0, at, flat.new_ones(at.shape), alpha=src).view(x.shape)


@integers
@kernel
def scatter_reduce(
    x: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor, reduce: str, *, include_self: bool = True
) -> torch.Tensor:
    """Of the mean, the sum and the quotient are rounded."""
    if reduce in ("amax", "amin"):
        made = torch.ops.aten.scatter_reduce(x, dim, index, src, reduce, include_self=include_self)
        return apply("add", made, 0.0, dtype=x.dtype)
    if reduce == "prod":
        return KERNELS["scattered_products"](x, dim, index, src, include_self)
    if reduce not in ("sum", "mean"):
        raise ValueError(f"reduce={reduce!r}")
    start = x if include_self else x.scatter(dim, index, 0)
    made = scatter_add(start, dim, index, src)
    if reduce == "sum":
        return made
    counts = (torch.ones_like(x) if include_self else torch.ones_like(x).scatter(dim, index, 0)).to(torch.float64)
    counts = counts.scatter_add(dim, index, torch.ones(src.shape, dtype=torch.float64))
    return convert(apply("divide", convert(made, torch.float64), counts), x.dtype)

"""embedding_bag: sums and means of the rows of a table, exact and rounded once."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _core, _reductions, _statistics
from ..._dtypes import NAMES
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Array, Uncovered, apply, kernel, products, segment_sum, total, widened
from .reductions import alike

_Maybe: TypeAlias = torch.Tensor | None
_SUM, _MEAN, _MAX = range(3)


def _bags(offsets: torch.Tensor, count: int) -> torch.Tensor:
    """The bag of each place. A last offset beyond all places begins none."""
    return torch.searchsorted(offsets, torch.arange(count, dtype=offsets.dtype), right=True) - 1


def _collected(
    lines: torch.Tensor,
    bags: torch.Tensor,
    size: int,
    width: int,
    dtype: torch.dtype,
    function: Callable[[Array, Array], Any],
) -> torch.Tensor:
    """The function of the lines of each bag, for all bags of as many lines together; 0 for a bag without any."""
    made = torch.zeros(size, width, dtype=dtype)
    for found, places in alike(bags):
        made[found] = as_tensor(function(as_array(lines[places]), as_array(places)))
    return made


def _weighted(weights: _Maybe, dtype: torch.dtype) -> Callable[[Array, Array], Any]:
    """The sum over axis 1, of lines times the weights of their places."""
    if weights is None:
        return lambda lines, places: total(lines, 1, dtype=FORMATS[dtype])
    all_weights = as_array(weights)
    return lambda lines, places: products(all_weights[places][:, None], lines, FORMATS[dtype])[:, 0]


def _gathered(
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    mode: int,
    weights: _Maybe,
    padding_idx: int,
    size: int,
) -> torch.Tensor:
    """The sums or means of the rows of each bag, whose places are neighbours."""
    places, table = as_array(indices), as_array(weight)
    kept = places != padding_idx
    before = np.concatenate(([0], np.cumsum(kept)))
    ends = np.append(as_array(offsets)[:size], len(places)).astype(np.int64)
    made = np.empty((1, size, table.shape[1]), table.dtype)
    factors = None if weights is None else as_array(widened(weights))[kept]
    name = NAMES[table.dtype]
    first, at = before[np.minimum(ends, len(places))], places[kept].astype(np.int64)
    _core.gather_sum(name, name, table[None], at, factors, first, 1, mode == _MEAN, made)
    return as_tensor(made[0])


@kernel
def embedding_bag(
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: _Maybe = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """PyTorch's own says which bag has which places, and chooses the greatest."""
    if weight.dtype not in FORMATS:
        raise Uncovered(f"tensors of {weight.dtype}")
    arguments = indices, offsets, False, mode, sparse, per_sample_weights, include_last_offset, padding_idx
    own, *rest = torch.ops.aten._embedding_bag(weight, *arguments)
    if include_last_offset and int(offsets[-1]) != indices.numel():
        raise Uncovered("a last offset that is not the number of indices")
    if mode == _MAX:
        return own, *rest
    if weight.dtype is not torch.float64 and bool((offsets[1:] >= offsets[:-1]).all()):
        return _gathered(weight, indices, offsets, mode, per_sample_weights, padding_idx, own.shape[0]), *rest
    kept = (indices != padding_idx).nonzero().reshape(-1)
    bags, lines = _bags(offsets, indices.numel())[kept], weight[indices[kept]]
    if mode == _MEAN:
        function: Any = lambda lines, places: _statistics.mean(lines, axis=1)  # noqa: E731
    else:
        function = _weighted(None if per_sample_weights is None else per_sample_weights[kept], weight.dtype)
    return _collected(lines, bags, own.shape[0], own.shape[1], weight.dtype, function), *rest


@kernel
def embedding_bag_backward(
    g: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    offset2bag: torch.Tensor,
    bag_size: torch.Tensor,
    maximum_indices: torch.Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: _Maybe,
    padding_idx: int = -1,
) -> torch.Tensor:
    """For each row of the table the sum of what its bags receive; of a mean's gradient the quotients are rounded to binary64."""
    if scale_grad_by_freq or sparse:
        raise Uncovered("scale_grad_by_freq and sparse")
    if mode == _MAX:
        filled = (bag_size != 0).nonzero().reshape(-1)
        return KERNELS["scatter_add"](g.new_zeros(num_weights, g.shape[1]), 0, maximum_indices[filled], g[filled])
    kept = (indices != padding_idx).nonzero().reshape(-1)
    bags, rows = _bags(offsets, indices.numel())[kept], indices[kept]
    if mode == _SUM and per_sample_weights is None:
        return as_tensor(segment_sum(as_array(g[bags]), as_array(rows), num_weights))
    lines, weights = g[bags], None
    if mode == _MEAN:
        counts = torch.bincount(bags, minlength=g.shape[0])[bags]
        lines = apply("divide", widened(lines), counts.to(torch.float64)[:, None])
    else:
        assert per_sample_weights is not None
        weights = per_sample_weights[kept]
    return _collected(lines, rows, num_weights, g.shape[1], g.dtype, _weighted(weights, g.dtype))


@kernel
def embedding_bag_weights_backward(
    g: torch.Tensor,
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    offset2bag: torch.Tensor,
    mode: int,
    padding_idx: int = -1,
) -> torch.Tensor:
    lines = as_array(g[_bags(offsets, indices.numel())][:, None])
    made = as_tensor(_reductions.matmul(lines, as_array(weight[indices].unsqueeze(-1)))).view(-1)
    return torch.where(indices == padding_idx, made.new_zeros(()), made)

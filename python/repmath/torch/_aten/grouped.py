"""Reductions over groups of elements that an index or lengths name: products, means, extremes, each rounded once."""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _core
from ..._dtypes import F64, NAMES
from ..._prod import scattered
from .._stepwise import HERE
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Array, Uncovered, apply, convert, integers, kernel, same_number
from .reductions import alike

_Maybe: TypeAlias = torch.Tensor | None


def _reduced_arrays(x: Array, index: Array, source: Array, reduce: str, include_self: bool) -> Array | None:
    """reduced_lines of formats below binary64, all lines in one pass."""
    if reduce == "prod":
        return scattered(x, index, source, include_self)
    if reduce != "mean" or x.dtype == F64:
        return None
    lines, terms = x.reshape(1, len(x), -1), source.reshape(1, len(source), -1)
    if include_self:  # before the others of its list
        terms = np.concatenate((lines, terms), 1)
        index = np.append(np.arange(len(x)), index)
    order = np.argsort(index, kind="stable")
    counts = np.bincount(index, minlength=len(x))
    first = np.append(0, counts.cumsum())
    made = np.empty(lines.shape, x.dtype)
    name = NAMES[x.dtype]
    _core.gather_sum(name, name, np.ascontiguousarray(terms), order, None, first, 1, True, made)
    if include_self:
        counts -= 1
    made[0, counts == 0] = lines[0, counts == 0]
    return made.reshape(x.shape)


def reduced_lines(
    x: torch.Tensor, index: torch.Tensor, source: torch.Tensor, reduce: str, include_self: bool
) -> torch.Tensor:
    """x with each line that the index names reduced with the lines of the source that it names it for."""
    if HERE.steps is None and x.dtype in FORMATS and x.dtype is source.dtype and index.numel() and x.numel():
        found = _reduced_arrays(
            as_array(x), as_array(index.to(torch.int64).contiguous()), as_array(source), reduce, include_self
        )
        if found is not None:
            return as_tensor(found)
    made = x.clone(memory_format=torch.contiguous_format)
    for rows, places in alike(index):
        terms = source[places]
        if include_self:
            terms = torch.cat([x[rows].unsqueeze(1), terms], 1)
        made[rows] = KERNELS[reduce](terms, 1)
    return made


@integers
@kernel
def index_reduce(
    x: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, reduce: str, *, include_self: bool = True
) -> torch.Tensor:
    if reduce in ("amax", "amin"):
        made = torch.ops.aten.index_reduce(x, dim, index, source, reduce, include_self=include_self)
        return apply("add", made, 0.0, dtype=x.dtype)
    if reduce not in ("prod", "mean") or source.dtype is not x.dtype or index.ndim > 1:
        raise ValueError(f"reduce={reduce!r}, or tensors that do not fit")
    if x.ndim == 0:
        return index_reduce(x[None], dim, index.reshape(-1), source.reshape(-1), reduce, include_self=include_self).view(())
    lines = source.reshape([index.numel() if d == dim % x.ndim else n for d, n in enumerate(x.shape)]).movedim(dim, 0)
    if bool(((index < 0) | (index >= x.shape[dim])).any()):
        raise IndexError("an index that is out of range")
    made = reduced_lines(x.movedim(dim, 0), index.reshape(-1), lines, reduce, include_self)
    return made.movedim(0, dim).contiguous()


@kernel
def scattered_products(x: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor, include_self: bool) -> torch.Tensor:
    """scatter_reduce of "prod"."""
    if x.ndim == 0 or index.ndim == 0:
        made = scattered_products(x.reshape(-1), 0, index.reshape(-1), src.reshape(-1), include_self)
        return made.view(x.shape)
    if src.dtype is not x.dtype:
        raise ValueError("self and src must have one dtype")
    if not index.numel():
        return x.clone(memory_format=torch.contiguous_format)
    part, dim = tuple(slice(n) for n in index.shape), dim % x.ndim
    if index.ndim != x.ndim or any(n > src.shape[d] or (d != dim and n > x.shape[d]) for d, n in enumerate(index.shape)):
        raise ValueError("shapes that do not fit")
    named = as_array(index).astype(np.int64)
    if named.min() < 0 or named.max() >= x.shape[dim]:
        raise IndexError("an index that is out of range")
    places, step = np.zeros((), np.int64), math.prod(x.shape)
    for d, n in enumerate(x.shape):
        step //= n
        along = named if d == dim else np.arange(index.shape[d]).reshape(-1, *(1,) * (x.ndim - 1 - d))
        places = places + along * step
    at = as_tensor(places)
    made = reduced_lines(x.reshape(-1), at.reshape(-1), src[part].reshape(-1), "prod", include_self)
    return made.view(x.shape)


# segments: consecutive elements along an axis


_AT_ONCE = 1 << 20  # elements that are copied
_FEW = 1 << 12  # elements of segments that are brought to one length
_FILLS = {"max": -torch.inf, "min": torch.inf, "prod": 1.0}  # what changes no result
_EMPTY = {"max": -torch.inf, "min": torch.inf, "sum": 0.0, "prod": 1.0, "mean": torch.nan}


def _reduced_segments(terms: torch.Tensor, reduce: str, start: float | None) -> torch.Tensor:
    """Segments of one length n, (segments, n, ...), each along the second axis, with a number before it."""
    segments, n = terms.shape[:2]
    behind = terms.shape[2:]
    if start is not None:
        terms = torch.cat([terms.new_full((segments, 1, *behind), start), terms], 1)
    if not terms.shape[1]:
        return terms.new_full((segments, *behind), _EMPTY[reduce])
    if reduce != "mean":
        return KERNELS[{"max": "amax", "min": "amin"}.get(reduce, reduce)](terms, 1)
    if start is None:
        return KERNELS["mean"](terms, 1)
    if not n:
        return terms[:, 0]
    rows = terms.reshape(segments, n + 1, -1).transpose(1, 2).reshape(1, 1, -1, n + 1).contiguous()
    if not rows.numel():
        return terms[:, 0]
    return KERNELS["avg_pool2d"](rows, (1, n + 1), divisor_override=n).reshape(segments, *behind)


def _segments(data: torch.Tensor, lengths: _Maybe, offsets: _Maybe, axis: int) -> tuple[Array, Array]:
    """Where segments begin and how long they are, one axis each: in the lines of all axes up to this one, joined."""
    given = lengths if offsets is None else offsets
    if given is None or (lengths is not None and offsets is not None):
        raise ValueError("either lengths or offsets")
    lines, n = math.prod(data.shape[:axis]), data.shape[axis]
    a = as_array(given).astype(np.int64).reshape(lines, given.shape[axis])
    ends = a.cumsum(1) if offsets is None else a[:, 1:]
    begins = ends - a if offsets is None else a[:, :-1]
    if ((begins < 0) | (begins > ends) | (ends > n)).any():
        raise ValueError("lengths or offsets that do not fit")
    return (begins + np.arange(0, lines * n, n)[:, None]).reshape(-1), (ends - begins).reshape(-1)


def _by_length(first: Array, length: Array, size: int, squares: bool = False) -> Any:
    """Segments of one length each time, and where their elements are, (segments, length): as many at a time as copies of their elements, of
    `size` numbers each, stay small, or of their squares."""
    for n in np.unique(length).tolist():
        alike = np.flatnonzero(length == n)
        at_once = max(1, _AT_ONCE // max(1, n * size * (n if squares else 1)))
        for i in range(0, len(alike), at_once):
            which = alike[i : i + at_once]
            yield as_tensor(which), as_tensor(first[which][:, None] + np.arange(n))


def _checked(data: torch.Tensor, reduce: str, lengths: _Maybe, offsets: _Maybe, axis: int, initial: Any) -> float | None:
    given = lengths if lengths is not None else offsets
    if reduce not in _EMPTY or given is None or axis < 0 or given.ndim != axis + 1 or given.shape[:axis] != data.shape[:axis]:
        raise ValueError("a name, an axis, lengths or offsets that do not fit")
    if initial is not None and same_number(float(initial), data.dtype) is None:
        raise Uncovered(f"initial={initial}, which {data.dtype} does not hold")
    return None if initial is None else float(initial)


def _filled(rows: Array, first: Array, length: Array, start: float | None, fill: float) -> Array:
    """Segments, (segments, n, ...), of the length of the longest one, behind a number: after shorter ones follows another."""
    n = int(length.max(initial=0))
    where = first[:, None] + np.arange(n)
    made = rows[np.minimum(where, len(rows) - 1)]
    made[np.arange(n) >= length[:, None]] = fill
    if start is not None:
        made = np.concatenate((np.full((len(first), 1, *made.shape[2:]), start, made.dtype), made), 1)
    return made


@kernel
def segment_reduce(
    data: torch.Tensor,
    reduce: str,
    *,
    lengths: _Maybe = None,
    indices: _Maybe = None,
    offsets: _Maybe = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> torch.Tensor:
    if indices is not None or not data.numel():
        return torch.ops.aten.segment_reduce(
            data, reduce, lengths=lengths, indices=indices, offsets=offsets, axis=axis, unsafe=unsafe, initial=initial
        )
    start = _checked(data, reduce, lengths, offsets, axis, initial)
    first, length = _segments(data, lengths, offsets, axis)
    given = lengths if lengths is not None else offsets
    assert given is not None
    count, behind = given.shape[axis] - (lengths is None), data.shape[axis + 1 :]
    made, rows = data.new_empty((len(first), *behind)), data.reshape(-1, *behind)
    alike = HERE.steps is None and reduce in _FILLS and data.dtype in FORMATS
    if alike and len(first) * int(length.max()) * math.prod(behind) <= _FEW:
        filled = as_tensor(_filled(as_array(rows), first, length, start, _FILLS[reduce]))
        if filled.shape[1]:
            return _reduced_segments(filled, reduce, None).view(*data.shape[:axis], count, *behind)
    for which, where in _by_length(first, length, math.prod(behind)):
        made[which] = _reduced_segments(rows[where], reduce, start)
    return made.view(*data.shape[:axis], count, *behind)


def _slopes(g: torch.Tensor, made: torch.Tensor, terms: torch.Tensor, reduce: str, start: float | None) -> torch.Tensor:
    """The gradients of segments of n lines each: those received and the results, (segments, ...), and (segments, n, ...)."""
    segments, n = terms.shape[:2]
    g, made = g.unsqueeze(1), made.unsqueeze(1)
    if reduce == "sum":
        return g.expand(terms.shape)
    if reduce == "mean":
        return KERNELS["divide"](g, n).expand(terms.shape)
    if reduce == "prod":
        # Of each line the gradient takes the place of one element.
        lines = terms.unsqueeze(1).repeat(1, n, *[1] * (terms.ndim - 1))
        lines[:, torch.arange(n), torch.arange(n)] = g
        if start is not None:
            lines = torch.cat([lines.new_full((segments, n, 1, *terms.shape[2:]), start), lines], 2)
        return KERNELS["prod"](lines, 2)
    chosen = (terms == made) | terms.isnan()
    share = KERNELS["divide"](g, convert(chosen.sum(1, keepdim=True).clamp(min=1), g.dtype))
    return torch.where(chosen, share, g.new_zeros(()))


def _slopes_at_once(
    g: torch.Tensor, made: torch.Tensor, terms: torch.Tensor, segment: torch.Tensor, reduce: str
) -> torch.Tensor:
    """The same for all segments, whose lines are those of `terms` of which this is the segment."""
    if reduce == "sum":
        return g[segment]
    chosen = (terms == made[segment]) | terms.isnan()
    counts = torch.zeros(g.shape, dtype=torch.int64).index_add_(0, segment, chosen.to(torch.int64))
    share = KERNELS["divide"](g, convert(counts.clamp_(min=1), g.dtype))
    return torch.where(chosen, share[segment], 0.0)


@kernel
def segment_reduce_backward(
    g: torch.Tensor,
    made: torch.Tensor,
    data: torch.Tensor,
    reduce: str,
    *,
    lengths: _Maybe = None,
    offsets: _Maybe = None,
    axis: int = 0,
    initial: Any = None,
) -> torch.Tensor:
    start = _checked(data, reduce, lengths, offsets, axis, initial)
    result = torch.zeros_like(data, memory_format=torch.contiguous_format)
    if not data.numel():
        return result
    first, length = _segments(data, lengths, offsets, axis)
    behind = data.shape[axis + 1 :]
    rows, to = data.reshape(-1, *behind), result.view(-1, *behind)
    received, found = (v.reshape(len(first), *behind) for v in (g, made))
    if HERE.steps is None and reduce in ("max", "min", "sum") and data.dtype in FORMATS:
        segment = np.repeat(np.arange(len(first)), length)
        where = as_tensor(np.arange(len(segment)) + (first - length.cumsum() + length)[segment])
        to[where] = _slopes_at_once(received, found, rows[where], as_tensor(segment), reduce)
        return result
    for which, where in _by_length(first, length, math.prod(behind), reduce == "prod"):
        if where.shape[1]:
            to[where] = _slopes(received[which], found[which], rows[where], reduce, start)
    return result


@integers
@kernel
def masked_index_put(x: torch.Tensor, mask: torch.Tensor, indices: Sequence[_Maybe], values: torch.Tensor) -> torch.Tensor:
    """Where the mask is false 0 is added, at a place that need not exist."""
    if not x.numel():
        return x.clone()
    held = [None if i is None else i.clamp(-x.shape[d], x.shape[d] - 1) for d, i in enumerate(indices)]
    return KERNELS["index_put"](x, held, torch.where(mask, values, 0), True)

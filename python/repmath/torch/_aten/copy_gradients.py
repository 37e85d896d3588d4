"""Gradients of operators that copy elements: each element gets the exact sum of the gradients of its copies, rounded once.

The operator itself, applied to the elements' indices, tells where the copies are.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ... import _core, _scatter
from ..._dtypes import NAMES
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Array, integers, kernel


def _places(shape: Sequence[int], first: int = 0) -> torch.Tensor:
    """Consecutive numbers, which binary64 holds: the operators that are asked take no integers."""
    size = torch.Size(shape)
    return torch.arange(first, first + size.numel(), dtype=torch.float64).view(size)


_ADD = _core.Scattered("index_add", "first")
_FEW = 1 << 12  # places that are worth keeping
_MANY = 1 << 19  # copies of which those of each place are kept, for a few calls
_MOST_TAPS = 16  # copies of a place


@functools.lru_cache(maxsize=128)
def _kept_copies(own: Callable[..., torch.Tensor], shape: tuple[int, ...], first: int, *arguments: Any) -> torch.Tensor:
    return own(_places(shape, first), *arguments).to(torch.int64).contiguous()


def _copies(own: Callable[..., torch.Tensor], shape: Sequence[int], first: int, *arguments: Any) -> torch.Tensor:
    """Where the operator copies consecutive numbers to. It is kept for the next calls where it is small."""
    few = torch.Size(shape).numel() <= _FEW
    given = [tuple(v) if isinstance(v, (list, torch.Size)) else v for v in arguments]
    return (_kept_copies if few else _kept_copies.__wrapped__)(own, tuple(shape), first, *given)


@functools.lru_cache(maxsize=8)
def _memory(own: Callable[..., torch.Tensor], shape: tuple[int, ...], first: int, *arguments: Any) -> list[Any]:
    """What is known of a call's copies: nothing, that there was one, or the copies of each place."""
    return []


def _inverse(copies: Array, first: int, size: int) -> Array | None:
    """Of (taps, places): which copies each place has, -1 for none. None where a place has many."""
    order = np.flatnonzero(copies >= first)
    order = order[np.argsort(copies[order], kind="stable")]
    places = copies[order] - first
    count = np.bincount(places, minlength=size)
    if count.max(initial=0) > _MOST_TAPS:
        return None
    taken = np.full((max(count.max(initial=0), 1), size), -1)
    taken[np.arange(len(order)) - (np.cumsum(count) - count)[places], places] = order
    return taken


def _sums(
    g: torch.Tensor,
    outer: int,
    size: int,
    own: Callable[..., torch.Tensor],
    shape: Sequence[int],
    first: int,
    *arguments: Any,
) -> torch.Tensor:
    """Of each of the `outer` lines of g, whose elements are copies: the sums of those of each place, from the first one on."""
    if outer == 0:
        return g.new_zeros(0, size)
    given = [tuple(v) if isinstance(v, (list, torch.Size)) else v for v in arguments]
    memory = _memory(own, tuple(shape), first, *given)
    n = g.numel() // outer
    if not _FEW < g.numel() or n > _MANY or g.dtype not in FORMATS or g.dtype is torch.float64:
        memory = [None]
    if not memory:
        memory.append(True)
    elif memory[0] is True:
        memory[0] = _inverse(_copies(own, shape, first, *given).reshape(-1).numpy(), first, size)
    if isinstance(memory[0], np.ndarray):
        lines = np.ascontiguousarray(as_array(g)).reshape(outer, n, 1)
        sums, name = np.empty((outer, size, 1), lines.dtype), NAMES[lines.dtype]
        _core.gather_sum(name, name, lines, memory[0], None, None, outer, False, sums)
        return as_tensor(sums.reshape(outer, size))
    places, all_places = _copies(own, shape, first, *given).reshape(-1), first + size
    terms = g.reshape(outer, n)
    made: Any = _ADD(terms.new_zeros(outer, all_places), 1, places, terms)
    if made is NotImplemented:
        made = as_tensor(_scatter.segment_sum(as_array(terms.t()), as_array(places), all_places)).t().contiguous()
    return made[:, first:]


def _nearest(name: str, dims: int) -> None:
    own = getattr(torch.ops.aten, name.removesuffix("_backward"))

    def call(g: torch.Tensor, size: Sequence[int], input_size: Sequence[int], *scales: Any) -> torch.Tensor:
        inner = torch.Size(input_size[2:])
        planes = input_size[0] * input_size[1]
        return _sums(g, planes, inner.numel(), own, (1, 1, *inner), 0, size, *scales).view(tuple(input_size))

    KERNELS[name] = call


def _padding(name: str, dims: int) -> None:
    own = getattr(torch.ops.aten, name.removesuffix("_backward"))

    def call(g: torch.Tensor, x: torch.Tensor, padding: Sequence[int]) -> torch.Tensor:
        inner = x.shape[-dims:]
        planes = math.prod(x.shape[:-dims])
        return _sums(g, planes, inner.numel(), own, (1, *inner), 0, padding).view(x.shape)

    KERNELS[name] = call


for _dims in (1, 2, 3):
    for _name in ("upsample_nearest{}d_backward", "_upsample_nearest_exact{}d_backward"):
        _nearest(_name.format(_dims), _dims)
    for _name in ("reflection_pad{}d_backward", "replication_pad{}d_backward"):
        _padding(_name.format(_dims), _dims)


@kernel
def unfold_backward(g: torch.Tensor, input_sizes: Sequence[int], dim: int, size: int, step: int) -> torch.Tensor:
    elements = torch.Size(input_sizes).numel()
    return _sums(g, 1, elements, torch.Tensor.unfold, input_sizes, 0, dim, size, step).view(tuple(input_sizes))


@kernel
def col2im(
    x: torch.Tensor,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> torch.Tensor:
    """Place 0 is that of the padding."""
    shape = (1, 1, *output_size)
    own = torch.ops.aten.im2col
    batch, block = x.shape[:-2], math.prod(kernel_size)
    each = zip(output_size, kernel_size, dilation, padding, stride, strict=True)
    blocks = math.prod((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in each)
    if x.ndim not in (2, 3) or x.shape[-1] != blocks or x.shape[-2] % block:
        raise ValueError("blocks that are not those of an image of this size")
    planes = math.prod(batch) * (x.shape[-2] // block)
    made = _sums(x, planes, math.prod(output_size), own, shape, 1, kernel_size, dilation, padding, stride)
    return made.reshape(*batch, x.shape[-2] // block, *output_size)


@integers
@kernel
def put(x: torch.Tensor, index: torch.Tensor, source: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    made: torch.Tensor = KERNELS["index_put"](x.reshape(-1), [index.reshape(-1)], source.reshape(-1), accumulate)
    return made.view(x.shape)

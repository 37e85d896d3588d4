"""Gradients of operators that copy elements: each element gets the exact sum of the gradients of its copies, rounded once.

The operator itself, applied to the elements' indices, tells where the copies are.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ... import _core, _scatter
from .._tensors import as_array, as_tensor
from .common import KERNELS, integers, kernel


def _places(shape: Sequence[int], first: int = 0) -> torch.Tensor:
    """Consecutive numbers, which binary64 holds: the operators that are asked take no integers."""
    size = torch.Size(shape)
    return torch.arange(first, first + size.numel(), dtype=torch.float64).view(size)


_ADD = _core.Scattered("index_add", "first")
_FEW = 1 << 12  # places that are worth keeping


@functools.lru_cache(maxsize=128)
def _kept_copies(own: Callable[..., torch.Tensor], shape: tuple[int, ...], first: int, *arguments: Any) -> torch.Tensor:
    return own(_places(shape, first), *arguments).to(torch.int64).contiguous()


def _copies(own: Callable[..., torch.Tensor], shape: Sequence[int], first: int, *arguments: Any) -> torch.Tensor:
    """Where the operator copies consecutive numbers to. It is kept for the next calls where it is small."""
    few = torch.Size(shape).numel() <= _FEW
    given = [tuple(v) if isinstance(v, (list, torch.Size)) else v for v in arguments]
    return (_kept_copies if few else _kept_copies.__wrapped__)(own, tuple(shape), first, *given)


def _sums(g: torch.Tensor, copies: torch.Tensor, size: int) -> torch.Tensor:
    """Of each line of g, whose elements belong to the places `copies`: the sums of the places up to `size`."""
    lines, places = g.reshape(-1, copies.numel()), copies.reshape(-1)
    made: Any = _ADD(lines.new_zeros(lines.shape[0], size), 1, places, lines)
    if made is NotImplemented:
        made = as_tensor(_scatter.segment_sum(as_array(lines.t()), as_array(places), size)).t().contiguous()
    sums: torch.Tensor = made
    return sums


def _nearest(name: str, dims: int) -> None:
    own = getattr(torch.ops.aten, name.removesuffix("_backward"))

    def call(g: torch.Tensor, size: Sequence[int], input_size: Sequence[int], *scales: Any) -> torch.Tensor:
        inner = torch.Size(input_size[2:])
        copies = _copies(own, (1, 1, *inner), 0, size, *scales)
        return _sums(g, copies, inner.numel()).view(tuple(input_size))

    KERNELS[name] = call


def _padding(name: str, dims: int) -> None:
    own = getattr(torch.ops.aten, name.removesuffix("_backward"))

    def call(g: torch.Tensor, x: torch.Tensor, padding: Sequence[int]) -> torch.Tensor:
        inner = x.shape[-dims:]
        return _sums(g, _copies(own, (1, *inner), 0, padding), inner.numel()).view(x.shape)

    KERNELS[name] = call


for _dims in (1, 2, 3):
    for _name in ("upsample_nearest{}d_backward", "_upsample_nearest_exact{}d_backward"):
        _nearest(_name.format(_dims), _dims)
    for _name in ("reflection_pad{}d_backward", "replication_pad{}d_backward"):
        _padding(_name.format(_dims), _dims)


@kernel
def unfold_backward(g: torch.Tensor, input_sizes: Sequence[int], dim: int, size: int, step: int) -> torch.Tensor:
    copies = _copies(torch.Tensor.unfold, input_sizes, 0, dim, size, step)
    return _sums(g, copies, torch.Size(input_sizes).numel()).view(tuple(input_sizes))


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
    copies = _copies(torch.ops.aten.im2col, shape, 1, kernel_size, dilation, padding, stride)
    batch = x.shape[:-2]
    if x.ndim not in (2, 3) or x.shape[-1] != copies.shape[-1] or x.shape[-2] % copies.shape[-2]:
        raise ValueError("blocks that are not those of an image of this size")
    made = _sums(x, copies, torch.Size(shape).numel() + 1)[:, 1:]
    return made.reshape(*batch, x.shape[-2] // copies.shape[-2], *output_size)


@integers
@kernel
def put(x: torch.Tensor, index: torch.Tensor, source: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    made: torch.Tensor = KERNELS["index_put"](x.reshape(-1), [index.reshape(-1)], source.reshape(-1), accumulate)
    return made.view(x.shape)

"""Counts and sums of weights by bins. Which bin an element is in is decided by comparing exact numbers, so that it does not depend on how a
place is rounded."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _scatter
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Array, Uncovered, convert, integers, kernel, widened

_Number: TypeAlias = float | int
_Maybe: TypeAlias = torch.Tensor | None


def _limits(x: torch.Tensor, low: _Number, high: _Number) -> tuple[float, float]:
    """The ends of the range: those of the elements where they are equal, and 1 beside an end where these are equal too."""
    first, last = float(low), float(high)
    if first == last and x.numel():
        first, last = float(x.min()), float(x.max())
    if not (np.isfinite(first) and np.isfinite(last) and first <= last):
        raise ValueError("the range is not finite, or its ends are not in order")
    return (first - 1, last + 1) if first == last else (first, last)


def _from_below(q: Fraction) -> float:
    """The least number of binary64 that is not below q."""
    d = float(q)
    return d if Fraction(d) >= q else float(np.nextafter(d, np.inf))


def edges_of(low: float, high: float, bins: int) -> list[float]:
    """Of equal bins: the least number of each, and the greatest of the last."""
    step = (Fraction(high) - Fraction(low)) / bins
    return [_from_below(Fraction(low) + k * step) for k in range(bins)] + [high]


def _bins(edges: Array, x: Array) -> Array:
    """Between which edges elements are, of those between the first and the last: those on an edge are behind it, on the last before it."""
    inside = x[(x >= edges[0]) & (x <= edges[-1])]
    return np.asarray(np.minimum(np.searchsorted(edges, inside, side="right") - 1, len(edges) - 2))


@kernel
def histc(x: torch.Tensor, bins: int = 100, min: _Number = 0, max: _Number = 0) -> torch.Tensor:
    if x.dtype not in FORMATS or bins < 1:
        raise ValueError("no tensor of floating-point numbers, or no bins")
    edges = np.array(edges_of(*_limits(x, min, max), bins))
    counts = np.bincount(_bins(edges, as_array(widened(x)).reshape(-1)), minlength=bins)
    return convert(as_tensor(counts.astype(np.int64)), x.dtype)


def _weighed(at: Array, n: int, weight: torch.Tensor) -> torch.Tensor:
    """The exact sums of the weights of each of n bins, rounded."""
    start = weight.new_zeros(n)
    return as_tensor(_scatter.index_add(as_array(start), at, as_array(weight)))


@integers
@kernel
def bincount(x: torch.Tensor, weights: _Maybe = None, minlength: int = 0) -> torch.Tensor:
    if weights is None:
        return torch.ops.aten.bincount(x, None, minlength)
    if x.ndim != 1 or weights.shape != x.shape or minlength < 0 or x.is_floating_point() or (x.numel() and int(x.min()) < 0):
        raise ValueError("numbers of bins below 0, or weights of another shape")
    if not x.numel():
        return torch.ops.aten.bincount(x, weights, minlength)
    if weights.dtype is not torch.float32:
        weights = convert(weights, torch.float64)
    return _weighed(as_array(x.to(torch.int64)), max(int(x.max()) + 1, minlength), weights)


def _histogram(x: torch.Tensor, edges: torch.Tensor, weight: _Maybe, density: bool) -> torch.Tensor:
    if x.dtype not in (torch.float32, torch.float64) or not x.dtype is edges.dtype is (
        weight.dtype if weight is not None else x.dtype
    ):
        raise ValueError("tensors of several formats")
    if edges.ndim != 1 or edges.numel() < 2 or (weight is not None and weight.shape != x.shape):
        raise ValueError("no bins, or weights of another shape")
    places, flat = as_array(edges), as_array(x).reshape(-1)
    if not (places[1:] >= places[:-1]).all():
        raise Uncovered("bins that are not in order")
    n = len(places) - 1
    if weight is None:
        made = convert(as_tensor(np.bincount(_bins(places, flat), minlength=n).astype(np.int64)), x.dtype)
    else:
        inside = (flat >= places[0]) & (flat <= places[-1])
        made = _weighed(_bins(places, flat), n, as_tensor(np.ascontiguousarray(as_array(weight).reshape(-1)[inside])))
    if density:
        widths = KERNELS["subtract"](edges[1:], edges[:-1])
        made = KERNELS["divide"](KERNELS["divide"](made, KERNELS["sum"](made)), widths)
    return made


@kernel
def histogram(
    x: torch.Tensor,
    bins: int = 100,
    *,
    range: Sequence[float] | None = None,
    weight: _Maybe = None,
    density: bool = False,
) -> Any:
    """By edges that are equally far apart, each rounded to the format."""
    if bins < 1 or (range is not None and len(range) != 2):
        raise ValueError("no bins, or a range without two ends")
    if range is None and not x.numel():
        low, high = 0.0, 1.0
    else:
        low, high = _limits(x, *(range if range is not None else (0, 0)))
    edges = KERNELS["linspace"](low, high, bins + 1, dtype=x.dtype)
    return _histogram(x, edges, weight, density), edges


@kernel
def histogram_of_edges(x: torch.Tensor, bins: torch.Tensor, *, weight: _Maybe = None, density: bool = False) -> Any:
    return _histogram(x, bins, weight, density), bins.clone()

"""Counts and sums of weights by bins. Which bin an element is in is decided by comparing exact numbers, so that it does not depend on how a
place is rounded."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _scatter
from .._stepwise import HERE
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Array, convert, integers, kernel, widened

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


def _bisected(edges: Array, x: Array) -> Array:
    """How many edges are before elements by bisection: with edges that are not in order too, this is the answer of its steps, whose first
    comparison is with edge number n // 2 of n; those after it that remain are half of what remained, rounded down, or the others."""
    first, size = np.zeros(len(x), np.int64), np.full(len(x), len(edges))
    while size.any():
        half = size // 2
        at = np.minimum(first + half, len(edges) - 1)
        before = (x < edges[at]) | (size == 0)
        first, size = np.where(before, first, at + 1), np.where(before, half, size - half - 1)
    return first


def _bins(edges: Array, x: Array) -> Array:
    """Between which edges elements are, of those between the first and the last: those on an edge are behind it, on the last before it."""
    inside = x[(x >= edges[0]) & (x <= edges[-1])]
    ordered = (edges[1:] >= edges[:-1]).all()
    before = np.searchsorted(edges, inside, side="right") if ordered else _bisected(edges, inside)
    return np.asarray(np.minimum(before - 1, len(edges) - 2))


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
    if HERE.steps is not None:
        return as_tensor(HERE.steps.scatter_add(as_array(start), 0, at, as_array(weight)))
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


def _equal(x: torch.Tensor, bins: int, range: Sequence[float] | None) -> torch.Tensor:
    """Edges of equal bins, each rounded to the format, over a range or that of the elements; 1/2 beside an end where its ends are equal."""
    low, high = (0.0, 1.0) if not x.numel() else (float(x.min()), float(x.max()))
    if range is not None:
        low, high = map(float, range)
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ValueError("the range is not finite, or its ends are not in order")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return KERNELS["linspace"](low, high, bins + 1, dtype=x.dtype)


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
    edges = _equal(x, bins, range)
    return _histogram(x, edges, weight, density), edges


@kernel
def histogram_of_edges(x: torch.Tensor, bins: torch.Tensor, *, weight: _Maybe = None, density: bool = False) -> Any:
    return _histogram(x, bins, weight, density), bins.clone()


# Of points in several dimensions, a row a point: bins are boxes.


@kernel
def histogramdd_edges(
    x: torch.Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: _Maybe = None,
    density: bool = False,
) -> list[torch.Tensor]:
    n = x.shape[-1] if x.ndim > 1 else 0
    if n != len(bins) or min(bins, default=0) < 1 or (range is not None and len(range) != 2 * n):
        raise ValueError("bins or a range that do not fit")
    rows = x.reshape(-1, n)
    return [_equal(rows[:, i], b, None if range is None else range[2 * i : 2 * i + 2]) for i, b in enumerate(bins)]


@kernel
def histogramdd(
    x: torch.Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: _Maybe = None,
    density: bool = False,
) -> torch.Tensor:
    return _histogramdd(x, histogramdd_edges(x, bins, range=range), weight, density)


@kernel
def histogramdd_of_edges(
    x: torch.Tensor, bins: Sequence[torch.Tensor], *, weight: _Maybe = None, density: bool = False
) -> torch.Tensor:
    return _histogramdd(x, bins, weight, density)


def _histogramdd(x: torch.Tensor, edges: Sequence[torch.Tensor], weight: _Maybe, density: bool) -> torch.Tensor:
    if x.ndim < 2 or x.shape[-1] != len(edges) or x.dtype not in (torch.float32, torch.float64):
        raise ValueError("bins that do not fit")
    if any(e.dtype is not x.dtype or e.ndim != 1 or e.numel() < 2 for e in edges) or (
        weight is not None and (weight.dtype is not x.dtype or weight.shape != x.shape[:-1])
    ):
        raise ValueError("tensors of several formats, no bins, or weights of another shape")
    rows, places = as_array(x).reshape(-1, len(edges)), [as_array(e) for e in edges]
    inside = np.ones(len(rows), bool)
    for column, p in zip(rows.T, places, strict=True):
        inside &= (column >= p[0]) & (column <= p[-1])
    shape = tuple(len(p) - 1 for p in places)
    at = np.zeros(int(inside.sum()), np.int64)
    for column, p, n in zip(rows[inside].T, places, shape, strict=True):
        at = at * n + _bins(p, column)
    size = int(np.prod(shape))
    if weight is None:
        made = convert(as_tensor(np.bincount(at, minlength=size).astype(np.int64)), x.dtype)
    else:
        made = _weighed(at, size, as_tensor(np.ascontiguousarray(as_array(weight).reshape(-1)[inside])))
    made = made.view(shape)
    if density:
        made = KERNELS["divide"](made, KERNELS["sum"](made))
        for i, e in enumerate(edges):
            widths = KERNELS["subtract"](e[1:], e[:-1])
            made = KERNELS["divide"](made, widths.view([-1 if d == i else 1 for d in np.arange(len(edges))]))
    return made

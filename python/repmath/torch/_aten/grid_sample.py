"""grid_sample and affine_grid. Coordinates and weights are binary64 numbers, rounded in each step; the weighted sums are exact and rounded once."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from ... import _reductions, _scatter
from ..._dtypes import F64
from .._tensors import FORMATS, as_array, as_tensor
from .common import Array, Uncovered, convert, kernel, widened

_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)


@dataclass
class _Taps:
    """What the places take along an axis: indices, weights and their slopes by the grid's number; a last axis of taps."""

    at: Array
    weight: Array
    slope: Array
    inside: Array


def _unnormalized(x: Array, size: int, align_corners: bool) -> tuple[Array, float]:
    """From [-1, 1] to indices, and the slope of this."""
    x = np.where(np.isnan(x), -1.0, x)
    if align_corners:
        return (x + 1) / 2 * (size - 1), (size - 1) / 2
    return ((x + 1) * size - 1) / 2, size / 2


def _clipped(x: Array, size: int) -> tuple[Array, Array]:
    return np.clip(x, 0.0, size - 1.0), ((x > 0) & (x < size - 1)).astype(F64)


def _reflected(x: Array, size: int, align_corners: bool) -> tuple[Array, Array]:
    """At the middle of the outermost elements, or at their outer edges."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0:
        return np.zeros_like(x), np.zeros_like(x)
    away = x - low
    turns, rest = np.floor(np.abs(away) / span), np.fmod(np.abs(away), span)
    back = np.fmod(turns, 2) != 0
    return np.where(back, span - rest, rest) + low, np.where(away < 0, -1.0, 1.0) * np.where(back, -1.0, 1.0)


def _padded(x: Array, size: int, padding: int, align_corners: bool) -> tuple[Array, Array]:
    """Where a place outside is looked for, and the slope of this. What no integer holds is outside."""
    slope = np.ones_like(x)
    if padding == _REFLECTION:
        x, slope = _reflected(x, size, align_corners)
    if padding != _ZEROS:
        x, inner = _clipped(x, size)
        slope = slope * inner
    return np.where(np.isfinite(x) & (np.abs(x) < 2.0**31), x, -100.0), slope


def _cubic(t: Array) -> tuple[Array, Array]:
    """Weights of the four elements around, t after the second, and their derivatives: Keys' cubics of slope -3/4."""
    a = -0.75

    def near(x: Array) -> Array:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Array) -> Array:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    def near_slope(x: Array) -> Array:
        return (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far_slope(x: Array) -> Array:
        return (3 * a * x - 10 * a) * x + 8 * a

    weights = far(t + 1), near(t), near(1 - t), far(2 - t)
    return np.stack(weights, -1), np.stack((far_slope(t + 1), near_slope(t), -near_slope(1 - t), -far_slope(2 - t)), -1)


def _taps(x: Array, size: int, mode: int, padding: int, align_corners: bool) -> _Taps:
    scale: Any
    x, scale = _unnormalized(x, size, align_corners)
    if mode == _BICUBIC:
        x = np.where(np.isfinite(x) & (np.abs(x) < 2.0**31), x, -100.0)
        first = np.floor(x)
        weight, slopes = _cubic(x - first)
        at, _ = _padded(first[..., None] + np.arange(-1.0, 3.0), size, padding, align_corners)
        at = np.rint(at)
    else:
        x, inner = _padded(x, size, padding, align_corners)
        scale = scale * inner[..., None]
        if mode == _NEAREST:
            at = np.rint(x)[..., None]
            weight, slopes = np.ones_like(at), np.zeros_like(at)
        else:
            first = np.floor(x)
            at = np.stack((first, first + 1), -1)
            weight = np.stack((first + 1 - x, x - first), -1)
            slopes = np.stack((-np.ones_like(x), np.ones_like(x)), -1)
    inside = (at >= 0) & (at < size)
    return _Taps(np.where(inside, at, 0).astype(np.int64), weight, slopes * scale, inside)


def _product(parts: list[Array]) -> Array:
    """Of the taps of the axes, that of x first; one axis of all combinations."""
    made = parts[0]
    for part in parts[1:]:
        made = (made[..., :, None] * part[..., None, :]).reshape(*made.shape[:-1], -1)
    return made


def _places(
    x: torch.Tensor, grid: torch.Tensor, mode: int, padding: int, align_corners: bool
) -> tuple[list[_Taps], Array, Array]:
    """The taps of the axes from x on, for each sample and place; the places in the flattened image; which are inside of it."""
    dims = grid.shape[-1]
    if x.dtype not in FORMATS or grid.dtype is not x.dtype:
        raise Uncovered(f"tensors of {x.dtype} and {grid.dtype}")
    if x.ndim != dims + 2 or grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or not all(x.shape[1:]):
        raise ValueError("shapes that do not fit")
    if mode == _BICUBIC and dims != 2:
        raise ValueError("bicubic interpolation is of two dimensions")
    wide = as_array(widened(grid)).reshape(len(grid), -1, dims)
    sizes = x.shape[:1:-1]  # of x, y, z
    with np.errstate(all="ignore"):
        taps = [_taps(wide[..., i], n, mode, padding, align_corners) for i, n in enumerate(sizes)]
    flat, step = taps[0].at, 1
    for before, t in zip(sizes, taps[1:], strict=False):
        step *= before
        flat = (flat[..., :, None] + step * t.at[..., None, :]).reshape(*flat.shape[:-1], -1)
    return taps, flat, _product([t.inside for t in taps]).astype(bool)


def _values(x: torch.Tensor, flat: Array, inside: Array) -> Array:
    """(samples, places, taps, channels) in binary64; 0 outside."""
    lines = np.moveaxis(as_array(widened(x)).reshape(*x.shape[:2], -1), 1, 2)
    found = np.take_along_axis(lines, flat.reshape(len(flat), -1, 1), 1).reshape(*flat.shape, x.shape[1])
    return np.where(inside[..., None], found, 0.0)


@kernel
def grid_sampler(x: torch.Tensor, grid: torch.Tensor, mode: int, padding: int, align_corners: bool) -> torch.Tensor:
    taps, flat, inside = _places(x, grid, mode, padding, align_corners)
    values, weight = _values(x, flat, inside), _product([t.weight for t in taps])
    made = _reductions.matmul(np.where(inside, weight, 0.0)[:, :, None], values, dtype=FORMATS[x.dtype])[:, :, 0]
    return as_tensor(np.ascontiguousarray(np.moveaxis(made, 2, 1))).view(*x.shape[:2], *grid.shape[1:-1])


@kernel
def grid_sampler_backward(
    g: torch.Tensor, x: torch.Tensor, grid: torch.Tensor, mode: int, padding: int, align_corners: bool, output_mask: Any
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    taps, flat, inside = _places(x, grid, mode, padding, align_corners)
    received = np.moveaxis(as_array(widened(g)).reshape(*g.shape[:2], -1), 1, 2)  # samples, places, channels
    of_x = of_grid = None
    samples, channels, size = x.shape[0], x.shape[1], x[0, 0].numel()
    if output_mask[0]:
        weight = _product([t.weight for t in taps])
        terms = (weight[..., None] * received[:, :, None])[inside]
        ids = (flat + size * np.arange(samples)[:, None, None])[inside]
        sums = _scatter.segment_sum(terms, ids, samples * size).reshape(samples, size, channels)
        of_x = convert(as_tensor(np.ascontiguousarray(np.moveaxis(sums, 1, 2))), x.dtype).view(x.shape)
    if output_mask[1]:
        each = _reductions.matmul(_values(x, flat, inside), received[..., None])[..., 0]  # of each tap, over the channels
        parts = []
        for i in range(len(taps)):
            slope = _product([t.slope if j == i else t.weight for j, t in enumerate(taps)])
            slope = np.where(inside, slope, 0.0)
            parts.append(_reductions.matmul(slope[:, :, None], each[..., None], dtype=FORMATS[x.dtype])[:, :, 0, 0])
        of_grid = as_tensor(np.stack(parts, -1)).view(grid.shape)
    return of_x, of_grid


def _grid_axis(n: int, align_corners: bool) -> Array:
    """n numbers from -1 to 1 with the ends, or the middles of n equal parts of this interval."""
    if align_corners:
        return np.array([float(Fraction(2 * i, n - 1) - 1) if n > 1 else 0.0 for i in range(n)])
    return np.array([float(Fraction(2 * i + 1, n) - 1) for i in range(n)])


@kernel
def affine_grid(theta: torch.Tensor, size: Sequence[int], align_corners: bool) -> torch.Tensor:
    """The places are rounded to binary64; sums of their products with theta are rounded once."""
    dims = len(size) - 2
    if theta.dtype not in FORMATS:
        raise Uncovered(f"tensors of {theta.dtype}")
    if dims not in (2, 3) or tuple(theta.shape) != (size[0], dims, dims + 1):
        raise ValueError(f"theta of shape {tuple(theta.shape)} for size {tuple(size)}")
    axes = np.meshgrid(*(_grid_axis(n, align_corners) for n in size[2:]), indexing="ij")
    places = np.stack([*axes[::-1], np.ones_like(axes[0])], -1).reshape(-1, dims + 1)
    made = _reductions.matmul(places, as_array(widened(theta)).swapaxes(1, 2), dtype=FORMATS[theta.dtype])
    return as_tensor(np.ascontiguousarray(made)).view(size[0], *size[2:], dims)

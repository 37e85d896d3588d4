"""grid_sample and affine_grid. Coordinates and weights are binary64 numbers, rounded in each step; the weighted sums are exact and rounded once."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from ... import _core
from ..._dtypes import NAMES
from .._stepwise import HERE
from .._tensors import FORMATS, as_array, as_tensor
from .common import Array, Uncovered, convert, kernel, products, segment_sum, step, widened

_NEAREST, _BICUBIC = 1, 2


def _terms(
    x: torch.Tensor, grid: torch.Tensor, mode: int, padding: int, align_corners: bool, sloped: bool = False
) -> tuple[Array, Array, Array]:
    """Of each sample, tap and place: where it is in the flattened image, -1 outside, and its weight; its slopes by the numbers of the grid, with an axis of
    these after that of samples."""
    dims = grid.shape[-1]
    if x.dtype not in FORMATS or grid.dtype is not x.dtype:
        raise Uncovered(f"tensors of {x.dtype} and {grid.dtype}")
    if x.ndim != dims + 2 or grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or not all(x.shape[1:]):
        raise ValueError("shapes that do not fit")
    if mode == _BICUBIC and dims != 2:
        raise ValueError("bicubic interpolation is of two dimensions")
    places = np.ascontiguousarray(as_array(grid)).reshape(len(grid), math.prod(grid.shape[1:-1]), dims)
    taps = (4 if mode == _BICUBIC else 1 if mode == _NEAREST else 2) ** dims
    shape = len(grid), taps, places.shape[1]
    at, weight = np.empty(shape, np.int64), np.empty(shape)
    slope = np.empty((shape[0], dims, *shape[1:])) if sloped else None
    _core.grid_terms(NAMES[places.dtype], places, x.shape[:1:-1], mode, padding, align_corners, at, weight, slope)
    return at, weight, np.empty(0) if slope is None else slope


def _values(x: torch.Tensor, at: Array) -> Array:
    """(samples, places, taps, channels) in binary64; 0 outside."""
    lines = np.moveaxis(as_array(widened(x).flatten(2)), 1, 2)
    flat = np.maximum(at, 0).swapaxes(1, 2)
    found = np.take_along_axis(lines, flat.reshape(len(flat), math.prod(flat.shape[1:]), 1), 1).reshape(
        *flat.shape, x.shape[1]
    )
    return np.where(at.swapaxes(1, 2)[..., None] < 0, 0.0, found)


@kernel
def grid_sampler(x: torch.Tensor, grid: torch.Tensor, mode: int, padding: int, align_corners: bool) -> torch.Tensor:
    at, weight, _ = _terms(x, grid, mode, padding, align_corners)
    shape = *x.shape[:2], *grid.shape[1:-1]
    if x.dtype is torch.float64 or HERE.steps is not None:
        weight = np.where(at < 0, 0.0, weight).swapaxes(1, 2)
        made = products(weight[:, :, None], _values(x, at), FORMATS[x.dtype])[:, :, 0]
        return as_tensor(np.ascontiguousarray(np.moveaxis(made, 2, 1))).view(shape)
    planes = np.ascontiguousarray(as_array(x)).reshape(x.shape[0] * x.shape[1], math.prod(x.shape[2:]), 1)
    sampled = np.empty((len(planes), at.shape[2], 1), planes.dtype)
    name = NAMES[planes.dtype]
    _core.gather_sum(name, name, planes, at, weight, None, x.shape[1], False, sampled)
    return as_tensor(sampled).view(shape)


@kernel
def grid_sampler_backward(
    g: torch.Tensor, x: torch.Tensor, grid: torch.Tensor, mode: int, padding: int, align_corners: bool, output_mask: Any
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    at, weight, slopes = _terms(x, grid, mode, padding, align_corners, output_mask[1])
    received = np.moveaxis(as_array(widened(g).flatten(2)), 1, 2)  # samples, places, channels
    of_x = of_grid = None
    samples, channels, size = x.shape[0], x.shape[1], math.prod(x.shape[2:])
    if output_mask[0]:
        inside = at >= 0
        terms = step("multiply", weight[..., None], received[:, None])[inside]
        ids = (at + size * np.arange(samples)[:, None, None])[inside]
        sums = segment_sum(terms, ids, samples * size).reshape(samples, size, channels)
        of_x = convert(as_tensor(np.ascontiguousarray(np.moveaxis(sums, 1, 2))), x.dtype).view(x.shape)
    if output_mask[1]:
        each = products(_values(x, at), received[..., None])  # of each tap, over the channels
        parts = np.moveaxis(slopes, 1, 0).swapaxes(2, 3)[..., None, :]  # (numbers of the grid, samples, places, 1, taps)
        made = products(parts, each, FORMATS[x.dtype])[..., 0, 0]
        of_grid = as_tensor(np.ascontiguousarray(np.moveaxis(made, 0, -1))).view(grid.shape)
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
    made = products(places, as_array(widened(theta)).swapaxes(1, 2), FORMATS[theta.dtype])
    return as_tensor(np.ascontiguousarray(made)).view(size[0], *size[2:], dims)

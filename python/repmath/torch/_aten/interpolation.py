"""Resized images: along each axis a matrix of exact weights that are rounded to the format, and exact sums, rounded once."""

import functools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import torch

from ... import _reductions
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Array, Uncovered, convert_array

_HALF = Fraction(1, 2)
# Of the numbers of elements before and after, and the distance of two elements of the result: for each of these (place, weight).
_Rows: TypeAlias = Callable[[int, int, Fraction, bool], list[list[tuple[int, Fraction]]]]


def _linear(size: int, made: int, step: Fraction, align_corners: bool) -> list[list[tuple[int, Fraction]]]:
    rows = []
    for i in range(made):
        at = i * step if align_corners else max(Fraction(0), (i + _HALF) * step - _HALF)
        first = min(int(at), size - 1)
        part = min(at - first, Fraction(1)) if first + 1 < size else Fraction(0)
        rows.append([(first, 1 - part), (min(first + 1, size - 1), part)])
    return rows


def _cubic(x: Fraction, a: Fraction) -> Fraction:
    """Keys, "Cubic convolution interpolation for digital image processing", 1981; a is the slope at 1."""
    x = abs(x)
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2 else Fraction(0)


def _bicubic(size: int, made: int, step: Fraction, align_corners: bool) -> list[list[tuple[int, Fraction]]]:
    """Beyond the edge the last element stands."""
    rows = []
    for i in range(made):
        at = i * step if align_corners else (i + _HALF) * step - _HALF
        first = at.__floor__()
        taps = range(first - 1, first + 3)
        rows.append([(min(max(k, 0), size - 1), _cubic(at - k, Fraction(-3, 4))) for k in taps])
    return rows


def _antialiased(reach: int, filter: Callable[[Fraction], Fraction]) -> _Rows:
    """The filter is as much wider as the result is smaller, and its weights are divided by their sum."""

    def rows_of(size: int, made: int, step: Fraction, align_corners: bool) -> list[list[tuple[int, Fraction]]]:
        rows, wider = [], max(step, Fraction(1))
        for i in range(made):
            center = step * (i + _HALF)
            ends = (int(center + sign * reach * wider + _HALF) for sign in (-1, 1))
            low, high = max(next(ends), 0), min(next(ends), size)
            weights = [filter((k - center + _HALF) / wider) for k in range(low, high)]
            total = sum(weights, Fraction(0))
            rows.append([(low + k, w / total if total else w) for k, w in enumerate(weights)])
        return rows

    return rows_of


@functools.lru_cache(maxsize=256)
def _table(rows_of: _Rows, size: int, made: int, align_corners: bool, scale: float | None, dtype: torch.dtype) -> Array:
    """made x size: what each element of the result takes of those of the argument."""
    if align_corners:
        step = Fraction(size - 1, made - 1) if made > 1 else Fraction(0)
    else:
        step = 1 / Fraction(scale) if scale is not None and scale > 0 else Fraction(size, made)
    table = np.zeros((made, size))
    for i, row in enumerate(rows_of(size, made, step, align_corners)):
        taken: dict[int, Fraction] = {}
        for place, weight in row:
            taken[place] = taken.get(place, Fraction(0)) + weight
        for place, weight in taken.items():
            table[i, place] = float(weight)
    return convert_array(table, FORMATS[dtype])


def _check(x: torch.Tensor, dims: int) -> None:
    if x.dtype not in FORMATS:
        raise Uncovered(f"tensors of {x.dtype}")
    if x.ndim != dims + 2 or not all(x.shape[2:]):
        raise ValueError(f"shape {tuple(x.shape)}")


def _along(a: Array, table: Array, axis: int) -> Array:
    return np.moveaxis(_reductions.matmul(np.moveaxis(a, axis, -1), table.T), -1, axis)


def _interpolation(name: str, dims: int, rows_of: _Rows) -> None:
    def call(x: torch.Tensor, size: Sequence[int], align_corners: bool, *scales: float | None) -> torch.Tensor:
        _check(x, dims)
        a = as_array(x)
        for axis in reversed(range(dims)):
            scale = scales[axis] if axis < len(scales) else None
            a = _along(a, _table(rows_of, x.shape[axis + 2], size[axis], align_corners, scale, x.dtype), axis + 2)
        return as_tensor(np.ascontiguousarray(a))

    def gradient(
        g: torch.Tensor, size: Sequence[int], input_size: Sequence[int], align_corners: bool, *scales: float | None
    ) -> torch.Tensor:
        _check(g, dims)
        a = as_array(g)
        for axis in range(dims):
            scale = scales[axis] if axis < len(scales) else None
            a = _along(a, _table(rows_of, input_size[axis + 2], size[axis], align_corners, scale, g.dtype).T, axis + 2)
        return as_tensor(np.ascontiguousarray(a))

    KERNELS[name], KERNELS[f"{name}_backward"] = call, gradient


_interpolation("upsample_linear1d", 1, _linear)
_interpolation("upsample_bilinear2d", 2, _linear)
_interpolation("upsample_trilinear3d", 3, _linear)
_interpolation("upsample_bicubic2d", 2, _bicubic)
_interpolation("_upsample_bilinear2d_aa", 2, _antialiased(1, lambda x: max(1 - abs(x), Fraction(0))))
_interpolation("_upsample_bicubic2d_aa", 2, _antialiased(2, lambda x: _cubic(x, -_HALF)))

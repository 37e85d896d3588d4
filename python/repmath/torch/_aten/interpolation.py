"""Resized images: along each axis a matrix of exact weights that are rounded to the format, and exact sums, rounded once."""

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _core, _reductions
from ..._dtypes import F64, NAMES
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Array, Uncovered, convert_array

_HALF = Fraction(1, 2)
_SHORT = 64  # rows of fewer numbers are not worth a loop each
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
def _terms(
    rows_of: _Rows, size: int, made: int, align_corners: bool, scale: float | None, dtype: torch.dtype, back: bool
) -> tuple[Array, Array]:
    """What each element of the result takes of those of the argument, or, `back`, each of these receives: indices, -1 for none, and weights, which
    the format holds; of (taps, elements)."""
    if align_corners:
        step = Fraction(size - 1, made - 1) if made > 1 else Fraction(0)
    else:
        step = 1 / Fraction(scale) if scale is not None and scale > 0 else Fraction(size, made)
    given: list[dict[int, Fraction]] = [{} for _ in range(size if back else made)]
    for i, row in enumerate(rows_of(size, made, step, align_corners)):
        for place, weight in row:
            taken, of = (given[place], i) if back else (given[i], place)
            taken[of] = taken.get(of, Fraction(0)) + weight
    most = max(map(len, given), default=0)
    at, weights = np.full((most, len(given)), -1), np.zeros((most, len(given)))
    for i, taken in enumerate(given):
        at[: len(taken), i], weights[: len(taken), i] = list(taken), [float(w) for w in taken.values()]
    return at, convert_array(weights, FORMATS[dtype]).astype(F64)


@functools.lru_cache(maxsize=256)
def _spread_terms(inner: int, *key: Any) -> tuple[Array, Array]:
    """The same for lines of elements that are `inner` numbers each: of (taps, elements times inner)."""
    at, weights = _terms(*key)
    spread = np.where(at[..., None] < 0, -1, at[..., None] * inner + np.arange(inner))
    return spread.reshape(len(at), -1), np.repeat(weights, inner, axis=1)


def _check(x: torch.Tensor, dims: int) -> None:
    if x.dtype not in FORMATS:
        raise Uncovered(f"tensors of {x.dtype}")
    if x.ndim != dims + 2 or not all(x.shape[2:]):
        raise ValueError(f"shape {tuple(x.shape)}")


def _along(a: Array, axis: int, *key: Any) -> Array:
    """Weighted sums along an axis, rounded to the format."""
    at, weights = _terms(*key)
    if a.dtype == F64:
        lines = np.moveaxis(a, axis, -1)
        if np.isfinite(lines).all():
            table = np.zeros((at.shape[1], lines.shape[-1]))
            taken = at >= 0
            table[np.nonzero(taken)[1], at[taken]] = weights[taken]
            made = _reductions.matmul(lines, table.T)
        else:  # an infinity counts where it is taken
            values = np.where(at < 0, 0.0, lines[..., np.maximum(at, 0)]).swapaxes(-1, -2)
            made = _reductions.matmul(values[..., None, :], weights.T[..., None])[..., 0, 0]
        return np.moveaxis(made, -1, axis)
    before, after = math.prod(a.shape[:axis]), math.prod(a.shape[axis + 1 :])
    made = np.empty((*a.shape[:axis], at.shape[1], *a.shape[axis + 1 :]), a.dtype)
    lines, name, inner = np.ascontiguousarray(a), NAMES[a.dtype], after
    if after < _SHORT:
        at, weights = _spread_terms(after, *key)
        inner = 1
    lines, out = lines.reshape(before, a.shape[axis] * after // inner, inner), made.reshape(before, at.shape[1], inner)
    _core.gather_sum(name, name, lines, at, weights, None, max(before, 1), False, out)
    return made


# By name: how many axes, and the terms of a size, which `back` says whether they are a gradient's.
SIZED: dict[str, tuple[int, Callable[[bool], Callable[..., tuple[Array, Array]]]]] = {}


def _interpolation(name: str, dims: int, rows_of: _Rows) -> None:
    def resize(
        x: torch.Tensor,
        size: Sequence[int],
        made: Sequence[int],
        align_corners: bool,
        scales: tuple[float | None, ...],
        back: bool,
    ) -> torch.Tensor:
        _check(x, dims)
        a = as_array(x)
        for axis in range(dims) if back else reversed(range(dims)):
            scale = scales[axis] if axis < len(scales) else None
            a = _along(a, axis + 2, rows_of, size[axis], made[axis], align_corners, scale, x.dtype, back)
        return as_tensor(np.ascontiguousarray(a))

    def call(x: torch.Tensor, size: Sequence[int], align_corners: bool, *scales: float | None) -> torch.Tensor:
        return resize(x, x.shape[2:], size, align_corners, scales, False)

    def gradient(
        g: torch.Tensor, size: Sequence[int], input_size: Sequence[int], align_corners: bool, *scales: float | None
    ) -> torch.Tensor:
        return resize(g, input_size[2:], size, align_corners, scales, True)

    KERNELS[name], KERNELS[f"{name}_backward"] = call, gradient
    SIZED[name] = dims, lambda back: lambda *sizes: _terms(rows_of, *sizes, back)


_interpolation("upsample_linear1d", 1, _linear)
_interpolation("upsample_bilinear2d", 2, _linear)
_interpolation("upsample_trilinear3d", 3, _linear)
_interpolation("upsample_bicubic2d", 2, _bicubic)
_interpolation("_upsample_bilinear2d_aa", 2, _antialiased(1, lambda x: max(1 - abs(x), Fraction(0))))
_interpolation("_upsample_bicubic2d_aa", 2, _antialiased(2, lambda x: _cubic(x, -_HALF)))

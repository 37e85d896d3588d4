"""Sums over arrays that must first be converted, masked or rearranged. They work in blocks, so that no array is copied whole."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import _core
from ._dtypes import NAMES
from ._memory import on_device

_sum = _core.gufuncs["sum"]
_matmul = _core.gufuncs["matmul"]

BLOCK = 1 << 19  # elements that are converted at a time: 4 MiB of float64
_FEW = 1 << 5  # sums that are taken side by side where the terms of each are far apart in memory

_Convert = Callable[[np.ndarray, np.ndarray | None, int], np.ndarray]


def row_sums(x: np.ndarray) -> Any:
    """The sums over the last axis.

    Where the terms of a sum are far apart in memory and the sums are neighbours, as for `sum(a, axis=0)`, a product with
    ones is as exact and reads memory in its order, ten times as fast. Results that are not finite are left to the sum, for
    its warnings.
    """
    if on_device(x):
        return _sum(x)
    neighbours = x.ndim > 1 and x.strides[-2] == x.itemsize < x.strides[-1] and x.shape[-2] >= 16
    if neighbours and x.size >= 1 << 12 and all(x.strides[i] == x.strides[i + 1] * x.shape[i + 1] for i in range(x.ndim - 2)):
        with np.errstate(all="ignore"):
            s = _matmul(np.ones(x.shape[-1], x.dtype), x.reshape(-1, x.shape[-1]).T)
        if np.isfinite(s).all():
            return s.reshape(x.shape[:-1])
    return _sum(x)


def finite_terms(acc: _core.ExactSum) -> list[float] | None:
    """A few float64 numbers whose exact sum is the total, which is cleared; None if it exceeds the range of float64.

    They are the rounded total, what that leaves rounded, and so on until nothing is left: of a total of multiples of 2**-1074 all are
    such multiples, and each is at most half an ulp of the one before.
    """
    parts: list[float] = []
    part = np.empty(1)
    while True:
        acc.round("f64", part.view(np.uint8), "nearest")
        if not np.isfinite(part[0]):
            return None
        if part[0] == 0:
            return parts
        parts.append(float(part[0]))
        acc.add("f64", (-part).view(np.uint8))


def halves(length: int) -> tuple[slice, slice]:
    """The two halves of an axis."""
    return slice(0, length // 2), slice(length // 2, length)


def _pieces(x: np.ndarray, mask: np.ndarray | None, kept: int, convert: _Convert) -> Iterator[np.ndarray]:
    """Blocks of x over the axes from `kept` on, as rows."""
    if x.size <= BLOCK or all(n == 1 for n in x.shape[kept:]):
        yield np.ascontiguousarray(convert(x, mask, kept).reshape(math.prod(x.shape[:kept]), -1))
        return
    axis = kept + max(range(x.ndim - kept), key=lambda i: x.shape[kept + i])
    for half in halves(x.shape[axis]):
        at = (slice(None),) * axis + (half,)
        yield from _pieces(x[at], None if mask is None else mask[at], kept, convert)


def short_rows(x: np.ndarray, mask: np.ndarray | None, kept: int, convert: _Convert) -> np.ndarray:
    """Rows of a few float64 numbers, with the exact sums of x over the axes from `kept` on and what is not finite among its elements:
    they are added in accumulators, block by block."""
    totals = [_core.ExactSum() for _ in range(math.prod(x.shape[:kept]))]
    for rows in _pieces(x, mask, kept, convert):
        for total, row in zip(totals, rows, strict=True):
            total.add(NAMES[rows.dtype], row.view(np.uint8))
    terms = [finite_terms(total) for total in totals]
    if None in terms:
        kinds: list[dict[str, float]] = [{} for _ in totals]
        for rows in _pieces(x, mask, kept, convert):
            for found, row in zip(kinds, rows, strict=True):
                if not np.isfinite(row).all():
                    there = {"inf": (row == np.inf).any(), "-inf": (row == -np.inf).any(), "nan": np.isnan(row).any()}
                    found.update((kind, float(kind)) for kind in there if there[kind])
        for i, found in enumerate(kinds):
            if terms[i] is None:
                terms[i] = list(found.values()) or _beyond_float64(x, mask, kept, convert, i)
    made = [row or [] for row in terms]
    width = max(1, *map(len, made))
    return np.array([row + [0.0] * (width - len(row)) for row in made]).reshape(*x.shape[:kept], width)


def _beyond_float64(x: np.ndarray, mask: np.ndarray | None, kept: int, convert: _Convert, i: int) -> list[float]:
    """The same for the row i, which overflows: the largest numbers, then the rest. Eight of them overflow whatever is added to them."""
    total, part = _core.ExactSum(), np.empty(1)
    for rows in _pieces(x, mask, kept, convert):
        total.add(NAMES[rows.dtype], rows[i].view(np.uint8))
    total.round("f64", part.view(np.uint8), "nearest")
    largest = np.copysign(np.finfo(np.float64).max, part)
    for n in range(1, 8):
        total.add("f64", (-largest).view(np.uint8))
        total.round("f64", part.view(np.uint8), "nearest")
        if np.isfinite(part[0]):
            return [float(largest[0])] * n + (finite_terms(total) or [])
    return [float(largest[0])] * 8


def sums_in_blocks(
    value: np.ndarray,
    x: np.ndarray,
    mask: np.ndarray | None,
    extra: Sequence[np.ndarray],
    convert: _Convert,
    finish: Callable[[np.ndarray], np.ndarray],
) -> None:
    """Write into `value`, whose axes are the first of x, the sums over the others.

    `convert(x, mask, kept)` makes rows of a block, of one of the formats; `finish` rounds the sums of rows of float64. `extra` has
    scalars: more terms of every sum.
    """
    kept = value.ndim
    length = math.prod(x.shape[kept:])
    if x.size > BLOCK and value.size > 1 and (value.size > _FEW or 2 * _FEW * length <= BLOCK or _rows_are_lines(x, kept)):
        axis = max(range(kept), key=lambda i: value.shape[i])
        for half in halves(value.shape[axis]):
            at = (slice(None),) * axis + (half,)
            sums_in_blocks(value[at], x[at], None if mask is None else mask[at], extra, convert, finish)
        return
    whole = x.size <= BLOCK
    rows = [convert(x, mask, kept).astype(np.float64, copy=False) if whole else short_rows(x, mask, kept, convert)]
    rows += [np.broadcast_to(v, (*value.shape, 1)) for v in extra]
    value[...] = np.reshape(finish(rows[0] if len(rows) == 1 else np.concatenate(rows, axis=-1)), value.shape)


def _rows_are_lines(x: np.ndarray, kept: int) -> bool:
    """Whether the elements of a row are nearest to each other in memory."""
    return x.ndim > kept and abs(x.strides[-1]) <= min(abs(step) for step in x.strides[:kept])

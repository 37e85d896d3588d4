"""Sums over axes, by the layout of their terms: rows are added to rows with vector instructions, other terms are read where they are."""

import math

import numpy as np

from . import _core
from ._blocks import row_sums
from ._dtypes import F32, FORMATS, NAMES

_ROWS = 1 << 20  # rows that are added at a time: 8 MiB of index
_LONG = 1 << 7  # binary32 terms of a sum from which a product with ones, which row_sums takes, is faster


def column_sums(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray | None:
    """The sums over `axes`, in the format of x, which is one of the four; of the shape of the other axes.

    None where the elements of a sum are next to each other in memory, or x is not dense, or a result is not finite: `row_sums` is for
    these, and gives the warnings.
    """
    order = sorted((i for i in range(x.ndim) if x.shape[i] != 1), key=lambda i: -x.strides[i])
    dense = x.transpose([*(i for i in range(x.ndim) if x.shape[i] == 1), *order])
    reduced = [i in axes for i in order]
    if x.size == 0 or not any(reduced) or reduced[-1] or not dense.flags.c_contiguous:
        return None
    first = reduced.index(True)
    length = sum(reduced)
    if not all(reduced[first : first + length]):
        return None
    sizes = [x.shape[i] for i in order]
    outer, n, inner = (math.prod(s) for s in (sizes[:first], sizes[first : first + length], sizes[first + length :]))
    rows = dense.reshape(outer, n, inner)
    if x.dtype == F32 and n >= _LONG and inner >= 16:
        made = np.stack([row_sums(block.T) for block in rows]) if outer > 1 else row_sums(rows[0].T)
    elif n > _ROWS:
        return None
    else:
        made = _by_segments(rows)
    if not np.isfinite(made).all():
        return None
    kept = [i for i in order if i not in axes]
    others = [i for i in range(x.ndim) if i not in axes]
    result = made.reshape([x.shape[i] for i in kept]).transpose([kept.index(i) for i in others if x.shape[i] != 1])
    return result.reshape([x.shape[i] for i in others])


def _by_segments(rows: np.ndarray) -> np.ndarray:
    """The sums over the second of three axes."""
    outer, n, inner = rows.shape
    made = np.empty((outer, inner), rows.dtype)
    step = max(1, _ROWS // n)
    with np.errstate(all="ignore"):
        for start in range(0, outer, step):
            part, to = rows[start : start + step], made[start : start + step]
            index = np.repeat(np.arange(len(part), dtype=np.int64), n)
            size = inner * rows.dtype.itemsize
            given = part.reshape(-1).view(np.uint8).reshape(len(part) * n * size)
            if _core.scatter(False, NAMES[rows.dtype], len(part), inner, to.reshape(-1).view(np.uint8), index, given):
                raise MemoryError(f"no memory to add {n} rows of {size} bytes")
    return made


def line_sums(x: np.ndarray, axes: tuple[int, ...], result: np.dtype[np.generic]) -> np.ndarray | None:
    """The sums over `axes`, rounded once to `result`, of an array in one of the formats; of the shape of the other axes.

    None where the terms of a sum do not follow each other in memory, or a result is not finite, as for `column_sums`.
    """
    others = [i for i in range(x.ndim) if i not in axes]
    lines = x.transpose(*others, *sorted(axes, key=lambda i: -x.strides[i]))
    if x.size == 0 or x.dtype not in FORMATS.values() or not lines.flags.c_contiguous:
        return None
    made = np.empty([x.shape[i] for i in others], result)
    given = lines.reshape(-1).view(np.uint8).reshape(made.size, -1)
    to = made.reshape(-1).view(np.uint8).reshape(made.size, -1)
    _core.row_statistic("sum", NAMES[x.dtype], NAMES[result], given, to)
    return made if np.isfinite(made).all() else None

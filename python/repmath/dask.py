"""Exact sums, means and matrix products of Dask's chunked arrays. Needs Dask: `pip install 'dask[array]'`.

How an array is divided into chunks, in which order they are added, and on which machines, changes no bit. Accumulators need no function of
their own: they can be pickled, and `+` merges them exactly in any order, so tasks of Dask or Ray may return them and add them.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from . import _reductions, _statistics
from ._accumulator import Accumulator
from ._dtypes import F64, NAMES, check, is_integer
from ._fractions import rounded

# The bytes of a total, which travels in place of the terms of a chunk.
_TOTAL = 544


def _array(name: str, a: Any) -> Any:
    """A Dask array with a dtype that is supported."""
    import dask.array as da

    if not isinstance(a, da.Array):
        raise TypeError(f"{name} must be a dask.array.Array, not {type(a).__name__}")
    check(name, a.dtype)
    return a


def _result(a: Any, dtype: DTypeLike | None) -> np.dtype[Any]:
    if dtype is None:
        return F64 if is_integer(a.dtype) else np.dtype(a.dtype)
    made: np.dtype[Any] = np.dtype(dtype)
    if made not in NAMES:
        raise TypeError(f"dtype must be one of {', '.join(str(d) for d in NAMES)}, not {made}")
    return made


def _axes(axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(sorted(np.lib.array_utils.normalize_axis_tuple(given, ndim, "axis")))


def _totals(x: Any, axis: Any = None, keepdims: bool = True) -> Any:
    """An accumulator for each element of the result of a chunk."""
    axes = _axes(axis, x.ndim)
    kept = [i for i in range(x.ndim) if i not in axes]
    rows = np.asarray(x).transpose([*kept, *axes]).reshape(int(np.prod([x.shape[i] for i in kept], dtype=np.int64)), -1)
    made = np.empty(len(rows), object)
    for i, row in enumerate(rows):
        made[i] = Accumulator(row)
    return made.reshape([1 if i in axes else n for i, n in enumerate(x.shape)])


def _merged(x: Any, axis: Any = None, keepdims: bool = True) -> Any:
    add: Any = np.add
    made = add.reduce(np.asarray(x, object), axis=_axes(axis, x.ndim), keepdims=keepdims)
    if isinstance(made, np.ndarray):
        return made
    whole = np.empty((), object)
    whole[()] = made
    return whole


def _whole(x: Any, axis: Any, keepdims: bool, mean: bool, result: np.dtype[Any]) -> Any:
    function = _statistics.mean if mean else _reductions.sum
    with np.errstate(all="ignore"):
        return function(np.asarray(x), axis=axis, keepdims=keepdims, dtype=result)


def _as_it_is(x: Any, axis: Any, keepdims: bool) -> Any:
    return x if keepdims else np.squeeze(x, axis)


def _finished(totals: Any, mean: bool, n: int, result: np.dtype[Any]) -> Any:
    made = np.empty(totals.shape, result)
    for i in np.ndindex(totals.shape):
        made[i] = _mean(totals[i], n, result) if mean else totals[i].round(result)
    return made


def _reduced(a: Any, axis: Any, keepdims: bool, result: np.dtype[Any], mean: bool) -> Any:
    import dask.array as da

    axes = _axes(axis, a.ndim)
    if not axes:
        return a.astype(result)
    n = int(np.prod([a.shape[i] for i in axes], dtype=np.int64))
    per_chunk = float(np.prod([max(a.chunks[i]) for i in axes], dtype=np.float64))
    if n == 0 or per_chunk * a.dtype.itemsize < _TOTAL:  # totals would be larger than what they are totals of
        whole = a.rechunk({i: a.shape[i] if i in axes or not a.size else "auto" for i in range(a.ndim)})
        return da.reduction(
            whole,
            functools.partial(_whole, mean=mean, result=result),
            _as_it_is,
            axis=axes,
            keepdims=keepdims,
            dtype=result,
            meta=np.empty((0,) * a.ndim, result),
        )

    none = np.empty((0,) * a.ndim, object)
    totals = da.reduction(a, _totals, _merged, axis=axes, keepdims=keepdims, combine=_merged, dtype=object, meta=none)
    return totals.map_blocks(
        _finished, mean=mean, n=n, result=result, dtype=result, meta=np.empty((0,) * totals.ndim, result)
    )


def _mean(total: Accumulator, n: int, result: np.dtype[Any]) -> Any:
    return rounded([total._exact() / n], result)[0] if total._finite() else total.round(result)


def sum(a: Any, axis: int | Sequence[int] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Any:
    """Sum over axes of a Dask array: the exact sum, rounded once, as `repmath.sum`.

    Where chunks are long along the summed axes, accumulators travel, 544 bytes for each
    element of the result and chunk, and Dask merges them in a tree. Elsewhere the chunks
    are put together along these axes first. Both have the same bits.

    Parameters
    ----------
    a : dask.array.Array
        Of float16, bfloat16, float32, float64, integers or bool.
    axis : int or sequence of ints, optional
        The axes to sum over; all by default.
    dtype : dtype, optional
        The format of the result: by default that of `a`, float64 for integers and bool.
    keepdims : bool, optional
        Keep the summed axes, with length 1.

    Returns
    -------
    dask.array.Array
        ``RN(sum of terms)``; zeros, NaN and infinities as in `repmath.sum`.

    Raises
    ------
    TypeError
        `a` is no Dask array, or its dtype or `dtype` is not supported.
    ValueError
        `axis` is repeated or out of range (numpy.exceptions.AxisError).
    """
    x = _array("a", a)
    return _reduced(x, axis, keepdims, _result(x, dtype), False)


def mean(a: Any, axis: int | Sequence[int] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Any:
    """Mean over axes of a Dask array: RN((exact sum)/n), as `repmath.mean`. Arguments and errors are those of `sum`."""
    x = _array("a", a)
    return _reduced(x, axis, keepdims, _result(x, dtype), True)


def matmul(a: Any, b: Any) -> Any:
    """Product of two Dask matrices: each element the exact sum of products, rounded once, as `repmath.matmul`.

    The chunks are put together along the summed axis, and each pair of a chunk of rows and
    a chunk of columns is one task.

    Parameters
    ----------
    a, b : dask.array.Array
        Of shapes (n, k) and (k, m), or (k,) for either, in formats that `repmath.matmul` takes.

    Returns
    -------
    dask.array.Array
        Of shape (n, m), without the axes that an operand lacks.

    Raises
    ------
    TypeError
        An operand is no Dask array, or its dtype is not supported.
    ValueError
        The shapes do not match.
    """
    import dask.array as da

    x, y = _array("a", a), _array("b", b)
    if not (1 <= x.ndim <= 2 and 1 <= y.ndim <= 2):
        raise ValueError(f"a and b must have one or two axes, not {x.ndim} and {y.ndim}")
    if x.shape[-1] != y.shape[0]:
        raise ValueError(f"the last axis of a has {x.shape[-1]} elements, the first one of b {y.shape[0]}")
    result = _reductions.matmul(np.ones((1, 1), x.dtype), np.ones((1, 1), y.dtype)).dtype
    left = (x[None] if x.ndim == 1 else x).rechunk({1: -1})
    right = (y[:, None] if y.ndim == 1 else y).rechunk({0: -1})
    made = da.blockwise(
        _product, "ij", left, "ik", right, "kj", concatenate=True, dtype=result, meta=np.empty((0, 0), result)
    )
    made = made[0] if x.ndim == 1 else made
    return made[..., 0] if y.ndim == 1 else made


def _product(a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        return _reductions.matmul(np.asarray(a), np.asarray(b))


__all__ = ["matmul", "mean", "sum"]

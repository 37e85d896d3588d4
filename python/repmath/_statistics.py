"""mean and norm: functions of exact sums, rounded once."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import _core
from ._dtypes import F64, NAMES, beyond_f64, check, is_integer
from ._narrow import narrow
from ._reductions import _axes, _check_out, _deliver, _result_dtype

_Axis = int | tuple[int, ...] | None


def _rows(x: np.ndarray, axis: _Axis, keepdims: bool) -> tuple[np.ndarray, tuple[int, ...]]:
    """x with the reduced axes as one, the last; and the shape of the result."""
    axes, kept, shape = _axes(x, axis, keepdims)
    rows = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
    return rows.reshape(math.prod(kept), math.prod(x.shape[i] for i in axes)), shape


def _apply(function: Callable[..., None], rows: np.ndarray, result: np.dtype[Any]) -> np.ndarray:
    """function is _core.mean_rows or _core.norm_rows; the elements of rows are of one of the formats."""
    rows = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("="))
    out = np.empty(len(rows), result)
    as_bytes = rows.view(np.uint8).reshape(len(rows), rows.shape[1] * rows.dtype.itemsize)
    function(NAMES[rows.dtype], NAMES[result], as_bytes, out.view(np.uint8).reshape(len(rows), result.itemsize))
    return out


def _mean_of_integers(rows: np.ndarray, result: np.dtype[Any]) -> np.ndarray:
    """For integers that float64 does not hold: Python's quotient of integers is rounded correctly, to float64."""
    if rows.shape[1] == 0:
        return np.full(len(rows), np.nan, result)
    totals = [int(t) for t in rows.astype(object).sum(axis=1)]
    means = np.array([t / rows.shape[1] for t in totals])
    if result == F64:
        return means

    def sign_of_rest(index: tuple[np.ndarray, ...]) -> np.ndarray:
        exact = [Fraction(totals[i], rows.shape[1]) - Fraction(means[i]) for i in index[0]]
        return np.array([(v > 0) - (v < 0) for v in exact], np.float64)

    narrowed: np.ndarray = narrow(means, result, sign_of_rest)
    return narrowed


def mean(
    a: ArrayLike,
    axis: _Axis = None,
    dtype: DTypeLike | None = None,
    out: np.ndarray | None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
) -> Any:
    """Mean over axes: the exact sum divided by the number of terms, rounded once.

    Parameters
    ----------
    a : array_like
        Of float16, bfloat16, float32, float64, integers or bool, any shape.
    axis : int or tuple of ints, optional
        The axes to average over; all by default. Negative ones count from the
        end.
    dtype : dtype, optional
        The format of the result: by default that of `a`, float64 for integers
        and bool. The exact mean is rounded once, to it.
    out : ndarray, optional
        Where to put the result: of its shape, and of a dtype that holds it.
    keepdims : bool, optional
        Keep the averaged axes, with length 1.
    where : array_like of bool, optional
        Which elements count. Broadcast to the shape of `a`.

    Returns
    -------
    ndarray or scalar
        ``RN((sum of terms) / n)``. The mean of no terms is NaN, an exact zero is
        +0. A NaN term, or infinities of both signs, give NaN; otherwise an
        infinity wins.

    Raises
    ------
    TypeError
        `a`, `dtype` or `out` has a dtype that is not supported.
    ValueError
        `out` is read-only or not of the result's shape; `axis` is repeated or
        out of range (numpy.exceptions.AxisError).
    """
    x = np.asarray(a)
    check("a", x.dtype)
    result = _result_dtype(dtype, x.dtype)
    rows, shape = _rows(x, axis, keepdims)
    if out is not None:
        _check_out(out, shape, result)

    def average(part: np.ndarray) -> np.ndarray:
        if not is_integer(part.dtype):
            return _apply(_core.mean_rows, part, result)
        if beyond_f64(part):
            return _mean_of_integers(part, result)
        return _apply(_core.mean_rows, part.astype(F64), result)

    if where is True:
        value = average(rows)
    else:
        chosen, _ = _rows(np.broadcast_to(np.asarray(where, dtype=bool), x.shape), axis, keepdims)
        value = np.empty(len(rows), result)
        for i, (row, mask) in enumerate(zip(rows, chosen, strict=True)):
            value[i] = average(row[mask][None])[0]
    return _deliver(value.reshape(shape), out)


def norm(
    x: ArrayLike,
    axis: _Axis = None,
    dtype: DTypeLike | None = None,
    out: np.ndarray | None = None,
    keepdims: bool = False,
) -> Any:
    """Euclidean norm over axes: the root of the exact sum of squares, rounded once.

    Parameters
    ----------
    x : array_like
        Of float16, bfloat16, float32, float64, integers or bool, any shape.
    axis : int or tuple of ints, optional
        The axes to take the norm over; all by default (of a matrix, the
        Frobenius norm).
    dtype : dtype, optional
        The format of the result: by default that of `x`, float64 for integers
        and bool. The exact norm is rounded once, to it.
    out : ndarray, optional
        Where to put the result: of its shape, and of a dtype that holds it.
    keepdims : bool, optional
        Keep the reduced axes, with length 1.

    Returns
    -------
    ndarray or scalar
        ``RN(sqrt(sum of x**2))``. No square overflows or underflows on the way.
        The norm of no elements is +0; a NaN gives NaN, otherwise an infinity
        +inf.

    Raises
    ------
    TypeError
        `x`, `dtype` or `out` has a dtype that is not supported.
    ValueError
        `out` is read-only or not of the result's shape; `axis` is repeated or
        out of range (numpy.exceptions.AxisError); an integer is beyond 2**53.
    """
    v = np.asarray(x)
    check("x", v.dtype)
    result = _result_dtype(dtype, v.dtype)
    if is_integer(v.dtype):
        if beyond_f64(v):
            raise ValueError("x has integers beyond 2**53; convert them to float64, which rounds them, or scale them")
        v = v.astype(F64)
    rows, shape = _rows(v, axis, keepdims)
    if out is not None:
        _check_out(out, shape, result)
    return _deliver(_apply(_core.norm_rows, rows, result).reshape(shape), out)

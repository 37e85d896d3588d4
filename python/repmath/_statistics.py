"""mean, norm, var, std and cumsum: functions of exact sums, rounded once."""

import math
from fractions import Fraction
from typing import Any, SupportsIndex

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import ArrayLike, DTypeLike

from . import _core
from ._arguments import integer
from ._blocks import BLOCK, halves
from ._dtypes import F64, NAMES, beyond_f64, check, check_held, is_integer
from ._environment import guarded
from ._memory import asarray, calls, contiguous, empty, on_device
from ._narrow import narrow
from ._reductions import _axes, _check_out, _deliver, _result_dtype, mask_of, sums_of_halves
from ._sums import over_axes

_Axis = int | tuple[int, ...] | None


def _rows(x: np.ndarray, axis: _Axis, keepdims: bool) -> tuple[np.ndarray, tuple[int, ...]]:
    """x with the reduced axes as one, the last; and the shape of the result."""
    axes, kept, shape = _axes(x, axis, keepdims)
    rows = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
    return rows.reshape(math.prod(kept), math.prod(x.shape[i] for i in axes)), shape


def _apply(
    what: str, rows: np.ndarray, result: np.dtype[Any], chosen: np.ndarray | None = None, ddof: float = 0.0
) -> np.ndarray:
    """The statistic of each row, of its elements where `chosen`; the elements are of one of the formats."""
    if on_device(rows):
        on_it = empty(rows.shape[:1], result, rows)
        calls(rows).row_statistic(what, NAMES[rows.dtype], NAMES[result], rows, on_it, chosen, ddof)
        return on_it
    rows = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("="))
    out = np.empty(len(rows), result)
    as_bytes = rows.view(np.uint8).reshape(len(rows), rows.shape[1] * rows.dtype.itemsize)
    mask = None if chosen is None else np.ascontiguousarray(chosen).view(np.uint8)
    out_bytes = out.view(np.uint8).reshape(len(rows), result.itemsize)
    _core.row_statistic(what, NAMES[rows.dtype], NAMES[result], as_bytes, out_bytes, mask, ddof)
    return out


def _in_blocks(
    what: str, x: np.ndarray, axis: _Axis, value: np.ndarray, where: np.ndarray | None = None, ddof: float = 0.0
) -> None:
    """Write the statistics of x over the axes into `value`, of the shape of the others, some at a time: what is converted or put into C
    order is a block, or the elements of one result."""
    if x.size > BLOCK and value.size > 1 and not on_device(x):
        axes = _axes(x, axis, False)[0]
        others = [i for i in range(x.ndim) if i not in axes]
        place = max(range(value.ndim), key=lambda i: value.shape[i])
        for half in halves(value.shape[place]):
            at, of_value = (slice(None),) * others[place] + (half,), (slice(None),) * place + (half,)
            _in_blocks(what, x[at], axis, value[of_value], None if where is None else where[at], ddof)
        return
    if what == "mean of integers":
        value[...] = _means_of_integers(x, axis, value.dtype, where).reshape(value.shape)
        return
    rows = _floats("a", _rows(x, axis, False)[0])
    chosen = None if where is None else _rows(where, axis, False)[0]
    value[...] = _apply(what, rows, value.dtype, chosen, ddof).reshape(value.shape)


def _statistic(
    what: str,
    name: str,
    x: np.ndarray,
    axis: _Axis,
    keepdims: bool,
    result: np.dtype[Any],
    where: Any,
    out: Any,
    ddof: float = 0.0,
) -> Any:
    """The result of the function of this name."""
    axes, kept, shape = _axes(x, axis, keepdims)
    if is_integer(x.dtype) and what != "mean of integers":
        check_held(name, x)
    if out is not None:
        _check_out(out, shape, result)
    mask = None if where is True else mask_of(where, x.shape)
    if on_device(x):
        value = _apply(what, _rows(x, axis, False)[0], result, None if mask is None else _rows(mask, axis, False)[0], ddof)
    else:
        made = over_axes(what, x, axes, result) if what == "mean" and mask is None else None
        value = np.empty(kept, result) if made is None else made
        if made is None:
            _in_blocks(what, x, axis, value, mask, ddof)
    return _deliver(value.reshape(shape), out)


def _floats(name: str, x: np.ndarray) -> np.ndarray:
    """x, integers as float64; ValueError when that does not hold them."""
    if not is_integer(x.dtype):
        return x
    check_held(name, x)
    return x.astype(F64)


def _quotients_of_integers(totals: list[int], n: int, result: np.dtype[Any]) -> np.ndarray:
    """RN(total / n): Python's quotient of integers is rounded correctly, to float64."""
    values = np.array([t / n for t in totals], F64)
    if result == F64:
        return values

    def sign_of_rest(index: tuple[np.ndarray, ...]) -> np.ndarray:
        exact = [Fraction(totals[i], n) - Fraction(values[i]) for i in index[0]]
        return np.array([(v > 0) - (v < 0) for v in exact], np.float64)

    narrowed: np.ndarray = narrow(values, result, sign_of_rest)
    return narrowed


def _means_of_integers(x: np.ndarray, axis: _Axis, result: np.dtype[Any], mask: np.ndarray | None) -> np.ndarray:
    """For integers of 64 bits that float64 does not hold: the two halves of each are added apart."""
    axes = _axes(x, axis, False)[0]
    if math.prod(x.shape[i] for i in axes) < 2**31:
        low, high = (half.astype(object) for half in sums_of_halves(x, axes, mask))
        totals = high * 2**32 + low
    else:  # as Python's integers, which NumPy makes of some at a time
        totals = np.sum(x, axis=axes, dtype=object, initial=0, where=True if mask is None else mask)
    terms = np.sum(np.broadcast_to(np.True_, x.shape) if mask is None else mask, axis=axes, dtype=np.int64)
    each = [
        _quotients_of_integers([int(total)], int(n), result)[0] if n else result.type(np.nan)
        for total, n in zip(np.ravel(totals), np.ravel(terms), strict=True)
    ]
    return np.array(each, result)


@guarded
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

    Examples
    --------
    >>> import repmath
    >>> repmath.mean([1e100, 3.0, -1e100]).item()
    1.0
    """
    x = asarray(a)
    check("a", x.dtype)
    result = _result_dtype(dtype, x.dtype)
    what = "mean of integers" if beyond_f64(x) else "mean"
    return _statistic(what, "a", x, axis, keepdims, result, where, out)


def _spread(
    what: str, a: ArrayLike, axis: _Axis, dtype: Any, out: Any, ddof: float, keepdims: bool, where: Any, correction: Any
) -> Any:
    """var or std."""
    x = asarray(a)
    check("a", x.dtype)
    result = _result_dtype(dtype, x.dtype)
    if correction is not None:
        if ddof != 0:
            raise ValueError("ddof and correction are two names of one argument; give one of them")
        ddof = correction
    if not math.isfinite(ddof) or float(ddof) != ddof:
        raise ValueError(f"ddof must be a finite number that float64 holds, not {ddof!r}")
    return _statistic(what, "a", x, axis, keepdims, result, where, out, ddof)


@guarded
def var(
    a: ArrayLike,
    axis: _Axis = None,
    dtype: DTypeLike | None = None,
    out: np.ndarray | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
    correction: float | None = None,
) -> Any:
    """Variance over axes: the mean squared difference from the exact mean, rounded once.

    Parameters
    ----------
    a : array_like
        Of float16, bfloat16, float32, float64, integers or bool, any shape.
    axis : int or tuple of ints, optional
        The axes to take the variance over; all by default.
    dtype : dtype, optional
        The format of the result: by default that of `a`, float64 for integers
        and bool. The exact variance is rounded once, to it.
    out : ndarray, optional
        Where to put the result: of its shape, and of a dtype that holds it.
    ddof : float, optional
        The divisor is ``n - ddof``, taken exactly; 0 when it is negative.
    keepdims : bool, optional
        Keep the reduced axes, with length 1.
    where : array_like of bool, optional
        Which elements count. Broadcast to the shape of `a`.
    correction : float, optional
        Another name of `ddof`, that of the array API standard.

    Returns
    -------
    ndarray or scalar
        ``RN(sum of (x - mean)**2 / (n - ddof))`` with the exact mean; +0 when all
        terms are equal. No square overflows or underflows on the way. NaN for
        no terms, and for a NaN or an infinity among them. A divisor of 0 gives
        NaN when all terms are equal, otherwise +inf.

    Raises
    ------
    TypeError
        `a`, `dtype` or `out` has a dtype that is not supported.
    ValueError
        `out` is read-only or not of the result's shape; `axis` is repeated or
        out of range (numpy.exceptions.AxisError); an integer is beyond 2**53;
        `ddof` is not finite, or needs more digits than a divisor holds (62 bits
        for ``n - ddof``); `ddof` and `correction` are both given.

    Examples
    --------
    >>> import repmath
    >>> repmath.var([1e9, 1e9 + 1, 1e9 + 2], ddof=1).item()
    1.0
    """
    return _spread("var", a, axis, dtype, out, ddof, keepdims, where, correction)


@guarded
def std(
    a: ArrayLike,
    axis: _Axis = None,
    dtype: DTypeLike | None = None,
    out: np.ndarray | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
    correction: float | None = None,
) -> Any:
    """Standard deviation over axes: the root of the exact variance, rounded once.

    Parameters
    ----------
    a, axis, dtype, out, ddof, keepdims, where, correction
        As in var.

    Returns
    -------
    ndarray or scalar
        ``RN(sqrt(sum of (x - mean)**2 / (n - ddof)))`` with the exact mean and the
        exact quotient: one rounding in all. Special cases as in var.

    Raises
    ------
    TypeError, ValueError
        As in var.

    Examples
    --------
    >>> import repmath
    >>> repmath.std([1.0, 2.0, 3.0, 4.0], ddof=0).item()
    1.118033988749895
    """
    return _spread("std", a, axis, dtype, out, ddof, keepdims, where, correction)


@guarded
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

    Examples
    --------
    >>> import repmath
    >>> repmath.norm([3e-200, 4e-200]).item()
    5e-200
    """
    v = asarray(x)
    check("x", v.dtype)
    result = _result_dtype(dtype, v.dtype)
    return _statistic("norm", "x", v, axis, keepdims, result, True, out)


def _cumsum_in_blocks(lines: np.ndarray, value: np.ndarray, beyond: bool) -> None:
    """Write into `value`, in C order, the cumulative sums of lines along the last axis: what is converted is a block, or one line."""
    count, length = math.prod(lines.shape[:-1]), lines.shape[-1]
    if lines.size > BLOCK and count > 1:
        axis = next(i for i, n in enumerate(lines.shape) if n > 1)  # the first: halves of value stay in C order
        for half in halves(lines.shape[axis]):
            at = (slice(None),) * axis + (half,)
            _cumsum_in_blocks(lines[at], value[at], beyond)
    elif beyond:
        totals = [int(t) for t in np.cumsum(lines.astype(object), axis=-1).ravel()]
        value[...] = _quotients_of_integers(totals, 1, value.dtype).reshape(value.shape)
    elif value.size:
        rows = np.ascontiguousarray(
            _floats("a", lines), dtype=None if is_integer(lines.dtype) else lines.dtype.newbyteorder("=")
        )
        as_bytes, out_bytes = (v.reshape(count, length).view(np.uint8) for v in (rows, value))
        _core.cumsum_axis(NAMES[rows.dtype], NAMES[value.dtype], 1, as_bytes, out_bytes)


@guarded
def cumsum(
    a: ArrayLike, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: np.ndarray | None = None
) -> Any:
    """Cumulative sums along an axis: each the exact sum of the elements up to it, rounded once.

    Parameters
    ----------
    a : array_like
        Of float16, bfloat16, float32, float64, integers or bool, any shape.
    axis : int, optional
        The axis to sum along; by default the elements in C order, as one axis.
    dtype : dtype, optional
        The format of the result: by default that of `a`, float64 for integers
        and bool. Each exact sum is rounded once, to it.
    out : ndarray, optional
        Where to put the result: of its shape, and of a dtype that holds it. It
        may be `a`.

    Returns
    -------
    ndarray
        ``RN(a[0] + ... + a[i])`` at i: no rounding is carried on, so that each
        element has the bits of the sum of the elements up to it. Special cases
        as in sum.

    Raises
    ------
    TypeError
        `a`, `dtype` or `out` has a dtype that is not supported.
    ValueError
        `out` is read-only or not of the result's shape; `axis` is out of range
        (numpy.exceptions.AxisError).

    Examples
    --------
    >>> import repmath
    >>> repmath.cumsum([1.0, 1e100, -1e100])
    array([1.e+000, 1.e+100, 1.e+000])
    """
    x = asarray(a)
    check("a", x.dtype)
    result = _result_dtype(dtype, x.dtype)
    if axis is None:
        x, axis = x.reshape(-1), 0
    if x.ndim == 0:
        x = x.reshape(1)
    axis = normalize_axis_index(integer("axis", axis), x.ndim)
    if out is not None:
        _check_out(out, x.shape, result)
    if x.dtype in NAMES and not on_device(x) and x.size and x.flags.c_contiguous:  # lines that are read where they are
        value, outer = np.empty(x.shape, result), math.prod(x.shape[:axis])
        as_bytes, out_bytes = (v.reshape(outer, -1).view(np.uint8) for v in (x, value))
        _core.cumsum_axis(NAMES[x.dtype], NAMES[result], math.prod(x.shape[axis + 1 :]), as_bytes, out_bytes)
        return _deliver(value, out)
    moved = np.moveaxis(x, axis, -1)
    if on_device(x):
        length = moved.shape[-1]
        lines = contiguous(moved).reshape(math.prod(moved.shape[:-1]), length)
        value = empty(lines.shape, result, x)
        calls(x).cumsum_rows(NAMES[x.dtype], NAMES[result], lines, value)
    else:
        value = np.empty(moved.shape, result)
        _cumsum_in_blocks(moved, value, beyond_f64(x))
    return _deliver(np.moveaxis(value.reshape(moved.shape), -1, axis), out)

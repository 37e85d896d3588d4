"""Exact sums into the elements that an index selects, rounded once. Arguments are normalised here; the C library computes."""

import operator
from typing import Any, NoReturn

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import ArrayLike

from . import _core
from ._arguments import integer
from ._dtypes import F64, NAMES, check, check_held, common, is_integer
from ._environment import guarded
from ._memory import as_bytes, asarray, calls, contiguous, copied, empty, on_device
from ._reductions import _check_out, _deliver, _terms

_Array = np.ndarray[Any, Any]


def _values(name: str, a: ArrayLike) -> _Array:
    """An array whose numbers one of the formats holds."""
    x = asarray(a)
    check_held(name, x)
    return x


def _integers(name: str, index: ArrayLike) -> _Array:
    """An index as int64. What int64 does not hold becomes negative, which is out of range too."""
    x = asarray(index)
    if on_device(x):
        return contiguous(x.astype(np.int64, copy=False))
    if x.size == 0 and x.dtype == F64 and not isinstance(index, np.ndarray):
        x = x.astype(np.int64)  # an empty list
    if x.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {x.dtype}; it must have integers")
    return np.asarray(x, dtype=np.int64, order="C")


def _size(name: str, value: Any) -> int:
    try:
        n = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None
    if n < 0:
        raise ValueError(f"{name} must not be negative, not {n}")
    return n


def _out_of_range(error: type[Exception], name: str, index: _Array, rows: int) -> NoReturn:
    bad = index[(index < 0) | (index >= rows)]
    raise error(
        f"{name} has {bad[0]}; its values must be from 0 to {rows - 1}"
        if rows
        else f"{name} must be empty: there is nothing to index"
    )


def _accumulate(
    add: bool, target: _Array, index: _Array, source: _Array, name: str, error: type[Exception] = IndexError
) -> None:
    """target[index[i]] += source[i], or target = these sums. target is C-contiguous and of a format; it is not written on an error."""
    rows, n = len(target), len(index)
    cols = target[:1].size if rows else 0
    size = target.dtype.itemsize
    source = contiguous(source.astype(target.dtype, copy=False)).reshape(n, source[:1].size if n else 0)
    both = as_bytes(target.reshape(rows, cols)), as_bytes(source)
    status = calls(target).scatter(add, NAMES[target.dtype], rows, cols, both[0], index, both[1])
    if status == _core.ERR_INDEX:
        _out_of_range(error, name, index, rows)
    if status:
        raise MemoryError(f"no memory to sort {n} contributions to {rows} rows of {cols * size} bytes")


@guarded
def index_add(x: ArrayLike, index: ArrayLike, source: ArrayLike, axis: int = 0, out: _Array | None = None) -> _Array:
    """Add slices of one array to the slices of another that an index names: exact sums, rounded once.

    As torch.index_add. Each element that receives something is ``RN(old value +
    sum of all its contributions)``, in no order.

    Parameters
    ----------
    x : array_like
        The old values, of one axis or more; of float16, bfloat16, float32,
        float64, integers or bool.
    index : array_like of ints
        One-dimensional: for each slice of `source`, which slice of `x` it is
        added to. Negative values do not count from the end: they are errors.
    source : array_like
        Of the shape of `x`, but along `axis` as long as `index`.
    axis : int, optional
        The axis that `index` is about. A negative one counts from the end.
    out : ndarray, optional
        Where to put the result: of its shape, and of a dtype that holds it.
        It may be `x`.

    Returns
    -------
    ndarray
        Of the shape of `x`, in the common format of `x` and `source` (float64 when
        both have integers). Slices that the index does not name are as they
        were. An exact zero is +0; a NaN term, or infinities of both signs, give
        NaN; otherwise an infinity wins.

    Raises
    ------
    IndexError
        A value of `index` is out of range.
    ValueError
        Shapes do not match; `axis` is out of range (numpy.exceptions.AxisError);
        `out` is read-only or of another shape; integers beyond 2**53.
    TypeError
        `x`, `source` or `out` has a dtype that is not supported, or `index` has no
        integers.
    """
    a, b, where = _values("x", x), _values("source", source), _integers("index", index)
    if a.ndim == 0:
        raise ValueError("x is a scalar; it must have at least one axis")
    axis = normalize_axis_index(integer("axis", axis), a.ndim)
    if where.ndim != 1:
        raise ValueError(f"index has shape {where.shape}; it must be one-dimensional")
    needed = (*a.shape[:axis], len(where), *a.shape[axis + 1 :])
    if b.shape != needed:
        raise ValueError(f"source has shape {b.shape}; for x of shape {a.shape} and this index it must have {needed}")
    result = common(a.dtype, b.dtype)
    if out is not None:
        _check_out(out, a.shape, result)
        in_place = out is x and axis == 0 and out.dtype == result and out.flags.c_contiguous
        if in_place and not (np.may_share_memory(out, b) or np.may_share_memory(out, where)):
            _accumulate(True, out, where, b, "index")
            return out
    if axis:
        a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    target = copied(a, result)
    _accumulate(True, target, where, b, "index")
    value: _Array = _deliver(contiguous(np.moveaxis(target, 0, axis)) if axis else target, out)
    return value


@guarded
def scatter_add(x: ArrayLike, axis: int, index: ArrayLike, src: ArrayLike, out: _Array | None = None) -> _Array:
    """Add elements of one array to the elements of another that an index names: exact sums, rounded once.

    As torch.scatter_add: ``src[i, j, k]`` is added to ``x[index[i, j, k], j, k]``
    for axis 0, to ``x[i, index[i, j, k], k]`` for axis 1, and so on. Each element
    that receives something is ``RN(old value + sum of all its contributions)``.

    Parameters
    ----------
    x : array_like
        The old values, of one axis or more; of float16, bfloat16, float32,
        float64, integers or bool.
    axis : int
        The axis that `index` is about. A negative one counts from the end.
    index : array_like of ints
        With as many axes as `x`, none longer than that of `src`, nor, but for
        `axis`, than that of `x`. Negative values do not count from the end: they
        are errors.
    src : array_like
        With as many axes as `x`. Elements beyond the shape of `index` are left out.
    out : ndarray, optional
        Where to put the result: of its shape, and of a dtype that holds it.
        It may be `x`.

    Returns
    -------
    ndarray
        Of the shape of `x`, in the common format of `x` and `src` (float64 when
        both have integers). Elements that the index does not name are as they
        were. Zeros, NaN and infinities as in `index_add`.

    Raises
    ------
    IndexError
        A value of `index` is out of range.
    ValueError
        Shapes do not match; `axis` is out of range (numpy.exceptions.AxisError);
        `out` is read-only or of another shape; integers beyond 2**53.
    TypeError
        `x`, `src` or `out` has a dtype that is not supported, or `index` has no
        integers.
    """
    a, b, where = _values("x", x), _values("src", src), _integers("index", index)
    if a.ndim == 0:
        raise ValueError("x is a scalar; it must have at least one axis")
    axis = normalize_axis_index(integer("axis", axis), a.ndim)
    if not a.ndim == b.ndim == where.ndim:
        raise ValueError(f"x, index and src must have equally many axes, not {a.ndim}, {where.ndim} and {b.ndim}")
    if any(i > s for i, s in zip(where.shape, b.shape, strict=True)):
        raise ValueError(f"index has shape {where.shape}, beyond that of src, {b.shape}")
    if any(i > s for k, (i, s) in enumerate(zip(where.shape, a.shape, strict=True)) if k != axis):
        raise ValueError(f"index has shape {where.shape}, beyond that of x, {a.shape}, in an axis other than {axis}")
    result = common(a.dtype, b.dtype)
    if out is not None:
        _check_out(out, a.shape, result)
    if where.size and where.view(np.uint64).max() >= a.shape[axis]:
        _out_of_range(IndexError, "index", where, a.shape[axis])
    others = [k for k in range(a.ndim) if k != axis and a.shape[k] > 1]
    strides = index.strides if isinstance(index, np.ndarray) else where.strides
    if others and where.size and all(strides[k] == 0 and where.shape[k] == a.shape[k] for k in others):
        # An index that repeats along all other axes names whole slices, which are neighbours in memory more often.
        line = where[tuple(slice(None) if k == axis else 0 for k in range(a.ndim))]
        slices: _Array = index_add(a, line, b[tuple(map(slice, where.shape))], axis, out)
        return slices
    # The place of each contribution in the flat array.
    place, step = where, 1
    for k in reversed(range(a.ndim)):
        if k == axis:
            place = place * step if place is where else place + where * (step - 1)
        elif a.shape[k] > 1:
            along = np.arange(where.shape[k]) * step
            place = place + along.reshape(-1, *[1] * (a.ndim - 1 - k))
        step *= a.shape[k]
    target = np.array(a, dtype=result, order="C")
    _accumulate(
        True,
        target.reshape(-1),
        np.ascontiguousarray(place).reshape(-1),
        b[tuple(map(slice, where.shape))].reshape(-1),
        "index",
    )
    value: _Array = _deliver(target, out)
    return value


@guarded
def segment_sum(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None) -> _Array:
    """Sum the slices of each segment: exact sums, rounded once.

    As jax.ops.segment_sum, but an id that is out of range is an error.

    Parameters
    ----------
    data : array_like
        Of one axis or more, summed over the first; of float16, bfloat16, float32,
        float64, integers or bool.
    segment_ids : array_like of ints
        One-dimensional, as long as the first axis of `data`, in any order: the
        segment of each slice.
    num_segments : int, optional
        How many segments there are; the largest id plus one by default.

    Returns
    -------
    ndarray
        Of shape ``(num_segments, *data.shape[1:])``, in the format of `data`
        (float64 for integers and bool): for each segment ``RN(sum of its slices)``,
        +0 for one without any. Zeros, NaN and infinities as in `index_add`.

    Raises
    ------
    ValueError
        An id is negative or not below `num_segments`; shapes do not match;
        `num_segments` is negative; integers beyond 2**53.
    TypeError
        `data` has a dtype that is not supported, `segment_ids` has no integers, or
        `num_segments` is no integer.
    """
    a, where = _values("data", data), _integers("segment_ids", segment_ids)
    if a.ndim == 0:
        raise ValueError("data is a scalar; it must have at least one axis")
    if where.shape != a.shape[:1]:
        raise ValueError(f"segment_ids has shape {where.shape}; for data of shape {a.shape} it must have {a.shape[:1]}")
    if num_segments is None:
        rows = max(int(where.max()) + 1, 0) if where.size else 0
    else:
        rows = _size("num_segments", num_segments)
    target = empty((rows, *a.shape[1:]), common(a.dtype), a)
    _accumulate(False, target, where, a, "segment_ids", ValueError)
    return target


@guarded
def embedding_grad(g: ArrayLike, index: ArrayLike, num_embeddings: int, padding_idx: int | None = None) -> _Array:
    """Gradient of an embedding table: for each row the exact sum of its gradients, rounded once.

    Parameters
    ----------
    g : array_like
        The gradient of ``table[index]``, of shape ``index.shape + (dim,)``; of
        float16, bfloat16, float32, float64, integers or bool.
    index : array_like of ints
        Which rows were looked up; any shape. Negative values do not count from
        the end: they are errors.
    num_embeddings : int
        Rows of the table.
    padding_idx : int, optional
        A row whose gradient is zero. A negative one counts from the end.

    Returns
    -------
    ndarray
        Of shape ``(num_embeddings, dim)``, in the format of `g` (float64 for
        integers and bool). Rows that were not looked up are +0. Zeros, NaN and
        infinities as in `index_add`.

    Raises
    ------
    IndexError
        A value of `index`, or `padding_idx`, is out of range.
    ValueError
        `g` has not the shape above; `num_embeddings` is negative; integers beyond
        2**53.
    TypeError
        `g` has a dtype that is not supported, `index` has no integers, or
        `num_embeddings` or `padding_idx` is no integer.
    """
    a, where = _values("g", g), _integers("index", index)
    rows = _size("num_embeddings", num_embeddings)
    if a.ndim != where.ndim + 1 or a.shape[:-1] != where.shape:
        raise ValueError(f"g has shape {a.shape}; for index of shape {where.shape} it must have {(*where.shape, 'dim')}")
    if padding_idx is not None:
        try:
            padding_idx = operator.index(padding_idx)
        except TypeError:
            raise TypeError(f"padding_idx must be an integer, not {type(padding_idx).__name__}") from None
        if not -rows <= padding_idx < rows:
            raise IndexError(f"padding_idx must be from {-rows} to {rows - 1}, not {padding_idx}")
    target = empty((rows, a.shape[-1]), common(a.dtype), a)
    _accumulate(False, target, where.reshape(-1), a.reshape(where.size, a.shape[-1]), "index")
    if padding_idx is not None:
        target[padding_idx] = 0
    return target


@guarded
def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0) -> _Array:
    """Count integers, or sum weights for each: exact sums, rounded once.

    As numpy.bincount.

    Parameters
    ----------
    x : array_like of ints
        One-dimensional, without negative values.
    weights : array_like, optional
        Of the shape of `x`; of float16, bfloat16, float32, float64, integers or
        bool.
    minlength : int, optional
        The minimum length of the result.

    Returns
    -------
    ndarray
        Of length ``max(max(x) + 1, minlength)``. Without weights the counts, int64.
        With weights ``RN(sum of weights[i] over x[i] == k)`` in their format, float64
        for integers, which count exactly, however large. Zeros, NaN and infinities
        as in `index_add`.

    Raises
    ------
    ValueError
        `x` has a negative value or not one axis; `weights` has another shape;
        `minlength` is negative.
    TypeError
        `x` has no integers, `weights` has a dtype that is not supported, or
        `minlength` is no integer.
    """
    where, minimum = _integers("x", x), _size("minlength", minlength)
    if where.ndim != 1:
        raise ValueError(f"x has shape {where.shape}; it must be one-dimensional")
    length = int(where.view(np.uint64).max()) + 1 if where.size else 0
    if length > 2**63:
        raise ValueError("x has negative values")
    if weights is None:
        return np.bincount(where, minlength=minimum).astype(np.int64, copy=False)
    w = np.asarray(weights)
    check("weights", w.dtype)
    if w.shape != where.shape:
        raise ValueError(f"weights has shape {w.shape}, x has {where.shape}")
    target = np.empty(max(length, minimum), common(w.dtype))
    terms = _terms(w, F64) if is_integer(w.dtype) else [w]
    if len(terms) > 1:
        where, terms = np.tile(where, len(terms)), [np.concatenate(terms)]
    _accumulate(False, target, where, terms[0], "x", ValueError)
    return target

"""Arguments of the operators: formats, axes and rows."""

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import ArrayLike, DTypeLike

from .._arguments import integer
from .._dtypes import F64, NAMES, check_held, common, is_integer
from .._memory import asarray, contiguous, move, on_device
from .._reductions import _result_dtype

Array = np.ndarray[Any, Any]


def operand(name: str, value: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """`value` as an array of one of the four formats; integers become float64."""
    if dtype is None and type(value) is np.ndarray and value.dtype in NAMES:
        return value
    x = asarray(value)
    check_held(name, x)
    if is_integer(x.dtype):
        x = x.astype(F64)
    result = _result_dtype(dtype, x.dtype)
    return x.astype(result.newbyteorder("="), copy=False)


def operands(**values: ArrayLike | None) -> list[Any]:
    """The arrays in their common format; None stays."""
    alike = {a.dtype if type(a) is np.ndarray else None for a in values.values() if a is not None}
    if len(alike) == 1 and not alike.isdisjoint(NAMES):
        return list(values.values())
    given = {name: operand(name, value) for name, value in values.items() if value is not None}
    result = common(*(a.dtype for a in given.values()))
    arrays = [given[name].astype(result, copy=False) if name in given else None for name in values]
    there = next((a for a in arrays if on_device(a)), None)
    return arrays if there is None else [move(a, there) if a is not None and a.ndim == 0 else a for a in arrays]


def same_shape(**arrays: Array) -> None:
    """Raise ValueError unless the arrays have one shape."""
    (first, a), *others = arrays.items()
    for name, b in others:
        if b.shape != a.shape:
            raise ValueError(f"{name} has shape {b.shape}, {first} has {a.shape}; they must be equal")


def axis_of(dim: int, ndim: int) -> int:
    """`dim` counted from the front; numpy.exceptions.AxisError when there is none."""
    return normalize_axis_index(integer("dim", dim), max(ndim, 1), "dim")


def rows(x: Array, axis: int) -> Array:
    """x as rows along an axis: a view where strides allow it."""
    moved = np.moveaxis(x, axis, -1) if x.ndim else x.reshape(1)
    return moved.reshape(math.prod(moved.shape[:-1]), moved.shape[-1])


def like_rows(y: Array, shape: tuple[int, ...], axis: int) -> Array:
    """The inverse of `rows` for a result of this shape, C-contiguous."""
    if not shape:
        return y.reshape(())
    moved = y.reshape(*(n for i, n in enumerate(shape) if i != axis), shape[axis])
    return contiguous(np.moveaxis(moved, -1, axis))

"""Arguments of linear algebra: stacks of matrices in float32 or float64."""

import math
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import ArrayLike

from ._dtypes import F32, F64, check_held, common

_Array = np.ndarray[Any, Any]


def operands(**arrays: ArrayLike) -> list[_Array]:
    """The arrays in their common format, float32 or float64."""
    given = {name: np.asarray(a) for name, a in arrays.items()}
    for name, a in given.items():
        check_held(name, a)
    result = common(*(a.dtype for a in given.values()))
    for name, a in given.items():
        if result not in (F32, F64):
            raise TypeError(f"{name} has dtype {a.dtype}; linear algebra is done in float32 and float64")
    return [a.astype(result, copy=False) for a in given.values()]


def check_matrices(name: str, a: _Array, square: bool = True) -> None:
    if a.ndim < 2:
        raise LinAlgError(f"{name} has {a.ndim} axes; it must have at least two")
    if square and a.shape[-1] != a.shape[-2]:
        raise LinAlgError(f"{name} has shape {a.shape}; its last two axes must be equally long")


def stack_of(a: _Array) -> _Array:
    """With one axis for all but the last two."""
    return a if a.ndim == 3 else a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])

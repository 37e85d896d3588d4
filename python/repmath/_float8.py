"""Numbers rounded once to an 8-bit format."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import _core
from ._dtypes import FLOAT8, is_float, is_integer
from ._environment import guarded


@guarded
def to_float8(x: ArrayLike, dtype: DTypeLike) -> Any:
    """Round numbers to an 8-bit format, to nearest, ties to even.

    One rounding of each number; `astype` of ml_dtypes rounds float64 twice,
    by way of float32.

    Parameters
    ----------
    x : array_like
        Of float16, float32, float64, bfloat16 or an 8-bit format, any shape.
        Integers and bool are converted to float64 first (exact up to 2**53).
    dtype : dtype
        float8_e4m3fn or float8_e5m2 of ml_dtypes.

    Returns
    -------
    y : ndarray or scalar
        Of the shape of `x`. Numbers that round beyond the largest finite one
        become infinite in float8_e5m2 and NaN in float8_e4m3fn, which has no
        infinities. A NaN is the canonical one.

    Raises
    ------
    TypeError
        `x` or `dtype` is of another type.
    """
    target: np.dtype[Any] = np.dtype(dtype)
    if target not in FLOAT8.values():
        raise TypeError(f"dtype must be float8_e4m3fn or float8_e5m2 of ml_dtypes, not {target}")
    given = np.asarray(x)
    if not (is_integer(given.dtype) or is_float(given.dtype) or given.dtype in FLOAT8.values()):
        raise TypeError(f"x has dtype {given.dtype}, which is not a real type of at most 64 bits")
    wide = np.ascontiguousarray(given, dtype=np.float64)
    codes = np.empty(wide.size, np.uint8)
    _core.round_float8(target.name, wide.reshape(-1), codes)
    result = codes.view(target).reshape(given.shape)
    return result if given.ndim else result[()]

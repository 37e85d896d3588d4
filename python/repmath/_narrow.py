"""Rounds an exact value once to a narrow format after the C library has rounded it to a wide one.

Let v be the exact value, s = RN_wide(v). A boundary of the narrow format (the midpoint of two neighbours) is a wide number,
and rounding is monotonic, so v and s lie on the same side of every boundary except when s is one. Only then RN_narrow(s) may
differ from RN_narrow(v); the sign of v - s decides. Those elements, a few in ten thousand, are moved to the neighbour of s on
v's side, which rounds as v does.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ._dtypes import BF16, F32, F64

_MANTISSA = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
_SMALLEST_NORMAL = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126}


def may_be_boundary(s: np.ndarray, target: np.dtype[Any]) -> Any:
    """Where s may be a boundary of the target: exact among its normal numbers, a superset among its subnormals."""
    dropped = _MANTISSA[s.dtype.name] - _MANTISSA[target.name]
    bits = s.view(f"u{s.dtype.itemsize}")
    half = bits.dtype.type(1 << (dropped - 1))
    boundary = (bits & (half + half - 1)) == half
    subnormal = np.abs(s) < s.dtype.type(_SMALLEST_NORMAL[target.name])
    return np.where(subnormal, (bits & (half - 1)) == 0, boundary) & np.isfinite(s) & (s != 0)


def narrow(s: np.ndarray, target: np.dtype[Any], sign_of_rest: Callable[[tuple[np.ndarray, ...]], np.ndarray]) -> Any:
    """Round exact values to `target`, given s, their roundings to a wider format.

    `sign_of_rest(index)` gives the sign (-1, 0, 1) of v - s for the elements at the index arrays `index`.
    """
    s = np.asarray(s)
    if s.dtype == target:
        return s
    with np.errstate(under="ignore"):
        where = np.nonzero(may_be_boundary(np.atleast_1d(s), target))
        if where[0].size:
            s = s.copy()
            flat = np.atleast_1d(s)  # the same memory
            sign = sign_of_rest(where)
            moved = np.nextafter(flat[where], np.copysign(np.inf, sign).astype(s.dtype))
            flat[where] = np.where(sign == 0, flat[where], moved)
        if s.dtype.itemsize == 8 and target.name == "bfloat16":
            # ml_dtypes would go through binary32, and round twice: s is the exact value for that step.
            single = s.astype(np.float32)
            return narrow(
                single, target, lambda at: np.sign(np.atleast_1d(s)[at] - np.atleast_1d(single)[at].astype(s.dtype))
            )
        return s.astype(target)


def convert_array(a: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    """Numbers of one format in another, each rounded once; every NaN is the same NaN."""
    with np.errstate(all="ignore"):
        if dtype == BF16 and a.dtype == F64:
            single = a.astype(F32)
            made = np.asarray(narrow(single, dtype, lambda at: np.sign(np.atleast_1d(a)[at] - np.atleast_1d(single)[at])))
        else:
            made = a.astype(dtype)
        nan = np.isnan(made)
        if np.count_nonzero(nan):
            made[nan] = np.nan
    return made


def nearest_odd(q: Fraction) -> float:
    """q rounded to odd in binary64, for a narrower format."""
    d = float(q)
    if Fraction(d) == q or np.float64(d).view(np.int64) & 1:
        return d
    return float(np.nextafter(d, np.inf if q > Fraction(d) else -np.inf))


def ratio(a: int, b: int) -> float:
    """RN(a/b) in binary64, b above 0: Python rounds quotients of integers once."""
    try:
        return a / b
    except OverflowError:
        return float("-inf") if a < 0 else float("inf")


def ratio_to_odd(a: int, b: int) -> float:
    """a/b rounded to odd in binary64, for a narrower format."""
    d = ratio(a, b)
    if d in (float("inf"), float("-inf")):
        return d
    m, q = d.as_integer_ratio()
    rest = a * q - m * b
    if rest == 0 or np.float64(d).view(np.int64) & 1:
        return d
    return float(np.nextafter(d, np.inf if rest > 0 else -np.inf))

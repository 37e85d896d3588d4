"""Equally spaced numbers: each is the exact one, rounded once."""

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from . import _core
from ._dtypes import F64
from ._narrow import convert_array, nearest_odd

_Array: TypeAlias = np.ndarray[Any, Any]
_Number: TypeAlias = float | int
_PIECE = 1 << 12


def _exactly(start: _Number, end: _Number, intervals: int, i: int) -> Fraction:
    return Fraction(start) + i * (Fraction(end) - Fraction(start)) / intervals


def _places(start: _Number, end: _Number, n: int, steps: int) -> _Array | None:
    """The numbers start + i (end - start)/n rounded to binary64, i < steps <= n + 1. None where limits are no numbers of middle size.

    They are (a + b)/n, a = (n - i) start and b = i end: products and sum in two parts, the quotient with its residual. Let u be
    2**-53 and M the larger limit, so that |a| + |b| <= n M. Second parts are at most 3 u n M, and 3 of them are rounded, 9 u**2 n M; the residual
    is exact, and with them at most 4 u n M, rounded twice, 8 u**2 n M. So the corrected quotient is within 17 u**2 M, less than 2**-101 M.
    """
    a, b = float(start), float(end)
    largest = max(abs(a), abs(b))
    if a != start or b != end or n >= 1 << 31 or not 2.0**-900 < largest < 2.0**900:
        return None
    made, fma, err = np.empty(steps), _core.ufuncs["fma"], largest * 2.0**-100
    for at in range(0, steps, _PIECE):
        i = np.arange(at, min(at + _PIECE, steps), dtype=F64)
        j = n - i
        first, second = j * a, i * b
        low = fma(j, a, -first) + fma(i, b, -second)
        total = first + second
        part = total - first
        low += (first - (total - part)) + (second - part)
        q = total / n
        low = (fma(-q, float(n), total) + low) / n
        below, above = q + (low - err), q + (low + err)
        for k in np.flatnonzero((below != above) | (np.signbit(below) != np.signbit(above))):
            above[k] = float(_exactly(start, end, n, at + int(k)))
        made[at : at + i.size] = above
    return made


def _narrow_places(start: _Number, end: _Number, n: int, steps: int, form: Any) -> _Array | None:
    """The same rounded to a format below binary64: each product, the sum and the quotient are rounded to binary64, within 4 u M in all."""
    a, b = float(start), float(end)
    largest = max(abs(a), abs(b))
    if a != start or b != end or n >= 1 << 31 or not 2.0**-900 < largest < 2.0**900:
        return None
    made, err = np.empty(steps, form), largest * 2.0**-50
    for at in range(0, steps, _PIECE):
        i = np.arange(at, min(at + _PIECE, steps), dtype=F64)
        q = ((n - i) * a + i * b) / n
        below, above = convert_array(q - err, form), convert_array(q + err, form)
        for k in np.flatnonzero((below != above) | (np.signbit(below) != np.signbit(above))):
            above[k] = convert_array(np.asarray(nearest_odd(_exactly(start, end, n, at + int(k)))), form)
        made[at : at + i.size] = above
    return made


def spaced(start: _Number, end: _Number, intervals: int, steps: int, form: Any) -> _Array:
    """start + i (end - start)/intervals for i < steps <= intervals + 1, of finite limits, in a format."""
    with np.errstate(all="ignore"):
        if form == F64:
            made = _places(start, end, intervals, steps)
        else:
            made = _narrow_places(start, end, intervals, steps, form)
    if made is not None:
        return made
    to = float if form == F64 else nearest_odd
    return convert_array(np.array([to(_exactly(start, end, intervals, i)) for i in range(steps)], F64), form)

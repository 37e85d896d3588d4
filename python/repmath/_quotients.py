"""Integer quotients and remainders: exact, rounded once."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from . import _core
from ._dtypes import F64
from ._narrow import convert_array, nearest_odd

_Array: TypeAlias = np.ndarray[Any, Any]
_PIECE = 1 << 13


def _by_pieces(f: Callable[..., _Array], dtype: Any, *arrays: _Array) -> _Array:
    """f of arrays of one shape, some elements at a time: what is made on the way stays in the cache."""
    order = sorted(range(arrays[0].ndim), key=lambda i: -arrays[0].strides[i])  # that of memory, where it is one for all
    if not all(a.transpose(order).flags.c_contiguous for a in arrays):
        order.sort()
    turned = [a.transpose(order) for a in arrays]
    made = np.empty(turned[0].shape, dtype)
    flat, to = [a.reshape(-1) for a in turned], made.reshape(-1)
    with np.errstate(all="ignore"):
        for i in range(0, to.size, _PIECE):
            to[i : i + _PIECE] = f(*(a[i : i + _PIECE] for a in flat))
    return made.transpose(np.argsort(order))


def _toward_zero(a: _Array, b: _Array) -> tuple[_Array, _Array]:
    """The quotients of numbers of binary64 rounded toward zero to whole numbers q, where they are below 2**53, and a - q b.

    The rounded quotient is on the right side of every whole number that it is not. Where it is one, a - q b has the wrong sign if the
    quotient is nearer to zero: fma rounds it once, and so has its sign.
    """
    q = np.trunc(_core.ufuncs["divide"](a, b))
    rest = _core.ufuncs["fma"](-q, b, a)
    past = (rest != 0) & (np.signbit(rest) != np.signbit(a))
    if past.any():
        q = np.where(past, q - np.copysign(1.0, q), q)
        rest = _core.ufuncs["fma"](-q, b, a)
    return q, rest


def _whole_part(a: _Array, b: _Array, mode: str, dtype: Any) -> _Array:
    a, b = a.astype(F64), b.astype(F64)
    q, rest = _toward_zero(a, b)
    large = ~(np.abs(q) < 2.0**53)  # or not finite
    zero = np.copysign(0.0, np.copysign(1.0, a) * np.copysign(1.0, b))
    if mode == "floor":
        down = (rest != 0) & (np.signbit(a) != np.signbit(b)) & ~large
        q = np.where(down, q - 1.0, q)
    q = np.where(q == 0, zero, q)
    if large.any() or not np.isfinite(b).all():
        at = np.nonzero(large | ~np.isfinite(b))
        q[at] = _large(a[at], b[at], mode, dtype)
    return convert_array(q, dtype)


def _large(wide: _Array, divisor: _Array, mode: str, dtype: Any) -> _Array:
    """Quotients that are not finite, are by infinities, or beyond 2**53 are made of integers; to odd for formats below binary64."""
    q = _core.ufuncs["divide"](wide, divisor)
    made: _Array = np.array(np.floor(q) if mode == "floor" else np.trunc(q))
    if mode == "floor":  # what PyTorch, and Python, return beside infinities
        made[np.isinf(wide)] = np.nan
        made[np.isinf(divisor) & (wide != 0) & np.isfinite(wide) & (np.signbit(wide) != np.signbit(divisor))] = -1
        made[divisor == 0] = q[divisor == 0]
    form = float if dtype == F64 else nearest_odd
    for i in np.nonzero((np.abs(q) >= 2.0**53) & np.isfinite(wide) & (divisor != 0))[0]:
        exact = Fraction(float(wide[i])) / Fraction(float(divisor[i]))
        number = exact.__floor__() if mode == "floor" else exact.__trunc__()
        if abs(number) < 2**1024:
            made[i] = form(Fraction(number))
    return made


def _rest_part(a: _Array, b: _Array, dtype: Any) -> _Array:
    a, b = a.astype(F64), b.astype(F64)
    q, rest = _toward_zero(a, b)
    rest = np.copysign(rest, a)
    other = ~(np.abs(q) < 2.0**53) | np.isinf(b)
    if other.any():  # the function of C is exact
        rest[other] = np.fmod(a[other], b[other])
    return convert_array(rest, dtype)


def whole(a: _Array, b: _Array, mode: str, dtype: Any) -> _Array:
    """Quotients of arrays of one shape, rounded down ("floor") or toward zero ("trunc") to whole numbers, and these once to a format."""
    return _by_pieces(lambda u, v: _whole_part(u, v, mode, dtype), dtype, a, b)


def rest(a: _Array, b: _Array) -> _Array:
    """a less the multiple of b toward zero, for arrays of one shape and format: a number of this format, with the sign of a."""
    return _by_pieces(lambda u, v: _rest_part(u, v, a.dtype), a.dtype, a, b)

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
    main = next((a for a in arrays if any(a.strides)), arrays[0])  # not a repeated single element, which has no order
    order = sorted(range(main.ndim), key=lambda i: -main.strides[i])  # that of memory, where it is one for all
    if not all(a.transpose(order).flags.c_contiguous or not any(a.strides) for a in arrays):
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


def _below(a: _Array, b: _Array, down: _Array | bool) -> _Array:
    """The whole numbers beside quotients of numbers of binary64 below 2**53: those below them, where `down` is not true those above them."""
    q, rest = _toward_zero(a, b)
    negative = np.signbit(a) != np.signbit(b)
    other = (rest != 0) & (negative == down)  # toward zero is the other side
    if other.any():
        q = q - np.where(other, np.where(down, 1.0, -1.0), 0.0)
    return q


def _whole_part(a: _Array, b: _Array, mode: str, dtype: Any) -> _Array:
    """A rounded quotient that is no whole number stands for one that is none, between the same two. Only the others have to be looked at."""
    a, b = a.astype(F64, copy=False), b.astype(F64, copy=False)
    quotient = _core.ufuncs["divide"](a, b)
    q: _Array = (np.floor if mode == "floor" else np.trunc)(quotient)
    at = np.flatnonzero(q == quotient)
    if dtype == F64 and mode == "trunc":
        at = at[np.abs(quotient[at]) < 2.0**106]  # as _beyond shows
    q = np.copysign(q, quotient)
    if at.size:
        q[at] = _beside_whole(a[at], b[at], quotient[at], mode, dtype)
    return convert_array(q, dtype)


def _beside_whole(a: _Array, b: _Array, quotient: _Array, mode: str, dtype: Any) -> _Array:
    """Where the rounded quotient is a whole number or infinite; to odd for formats below binary64."""
    made, size = quotient.copy(), np.abs(quotient)
    other = _core.ufuncs["fma"](-quotient, b, a) != 0  # or NaN
    near = np.flatnonzero(other & (size < 2.0**53) & np.isfinite(b))
    if near.size:
        made[near] = np.copysign(_below(a[near], b[near], mode == "floor" or ~np.signbit(quotient[near])), quotient[near])
    if mode == "floor":  # what PyTorch, and Python, return beside infinities
        made[np.isinf(b) & (a != 0) & np.signbit(quotient)] = -1
        made[np.isinf(a) & (b != 0)] = np.nan
    if dtype == F64:
        far = np.flatnonzero((size >= 2.0**53) & (size < 2.0**106))
        if far.size:
            made[far] = _beyond(a[far], b[far], quotient[far], mode)
        return made
    for i in np.flatnonzero((size >= 2.0**53) & np.isfinite(a) & (b != 0)):
        exact = Fraction(float(a[i])) / Fraction(float(b[i]))
        number = exact.__floor__() if mode == "floor" else exact.__trunc__()
        if abs(number) < 2**1024:
            made[i] = nearest_odd(Fraction(number))
    return made


def _beyond(a: _Array, b: _Array, q: _Array, mode: str) -> _Array:
    """The whole numbers beside quotients that are rounded to q, from 2**53 to 2**106, rounded to binary64.

    The quotient is q + r/b for r = a - q b, a number (a multiple of a last place of q times one of b), and so the whole number is q and the
    one beside r/b, whose sum is rounded once. With 2**j for the last place of q that is at most 2**(j-1) <= 2**52. A midpoint is m 2**(j-1),
    m below 2**54; the quotient A 2**c/B, A and B below 2**53, is none, since m B has more bits than A, and is off from it by a multiple of
    2**(j-1)/B: from q = 2**106 on, where j > 53, by 1 or more, so that there the whole number is rounded as the quotient is.
    """
    made: _Array = q + _below(_core.ufuncs["fma"](-q, b, a), b, mode == "floor" or q > 0)
    return made


def _far_rest(a: _Array, b: _Array) -> _Array:
    """|a| less the multiple of |b| toward zero, of finite numbers of binary64 of which b is not 0.

    |a| is below 2**e, e of frexp, and |b| at least 2**(f - 1). A step takes the multiple of |b| 2**k, k = e - f - 51 or 0: a number, at least
    2**(e - 52) where k is not 0. The quotient is below 2**52, so that the rest is exact (_toward_zero), and that is below 2**(e - 51), or |b|.
    """
    size, last = np.abs(a), np.abs(b)
    at = np.flatnonzero(size >= last)
    while at.size:
        big, small = size[at], last[at]
        k = np.maximum(np.frexp(big)[1] - np.frexp(small)[1] - 51, 0)
        size[at] = left = _toward_zero(big, np.ldexp(small, k))[1]
        at = at[left >= small]
    return size


def _rest_part(a: _Array, b: _Array, dtype: Any) -> _Array:
    a, b = a.astype(F64), b.astype(F64)
    q, rest = _toward_zero(a, b)
    rest = np.copysign(rest, a)
    other = ~(np.abs(q) < 2.0**53) | np.isinf(b)
    if other.any():
        x, y = a[other], b[other]
        made = np.where(np.isinf(y) & np.isfinite(x), x, np.nan)
        far = np.flatnonzero(np.isfinite(x) & np.isfinite(y) & (y != 0))
        made[far] = np.copysign(_far_rest(x[far], y[far]), x[far])
        rest[other] = made
    return convert_array(rest, dtype)


def whole(a: _Array, b: _Array, mode: str, dtype: Any) -> _Array:
    """Quotients of arrays of one shape, rounded down ("floor") or toward zero ("trunc") to whole numbers, and these once to a format."""
    return _by_pieces(lambda u, v: _whole_part(u, v, mode, dtype), dtype, a, b)


def rest(a: _Array, b: _Array) -> _Array:
    """a less the multiple of b toward zero, for arrays of one shape and format: a number of this format, with the sign of a."""
    return _by_pieces(lambda u, v: _rest_part(u, v, a.dtype), a.dtype, a, b)

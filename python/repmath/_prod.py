"""Products of many factors: RN of the exact product, whatever the order and however far partial products leave the range of a format.

A product is carried as (h + l) 2**e with h in [1/2, 1) and |l| at most half of its last place. A multiplication of two of these leaves out
the product of the low parts and rounds four times, each less than 3 2**-106 of the result: less than 2**-102 in all. What is then undecided
is computed with integers.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from . import _core
from ._dtypes import BF16, F16, F32, F64, NAMES
from ._narrow import convert_array, nearest_odd

_Array: TypeAlias = np.ndarray[Any, Any]


@dataclass
class _Products:
    high: _Array
    low: _Array
    exponent: _Array
    exact: _Array  # the product is `high` alone, and nothing was rounded

    def __getitem__(self, at: Any) -> "_Products":
        return _Products(self.high[at], self.low[at], self.exponent[at], self.exact[at])

    def __mul__(self, other: "_Products") -> "_Products":
        product = self.high * other.high
        rest = _core.ufuncs["fma"](self.high, other.high, -product)
        low = rest + (self.high * other.low + self.low * other.high)
        high = product + low
        low = low - (high - product)
        high, shift = np.frexp(high)
        return _Products(
            high,
            np.ldexp(low, -shift),
            self.exponent + other.exponent + shift,
            self.exact & other.exact & (rest == 0),
        )


def _factors(a: _Array) -> _Products:
    high, exponent = np.frexp(a)
    return _Products(high, np.zeros_like(a), exponent.astype(np.int64), np.ones(a.shape, bool))


def _total(p: _Products) -> _Products:
    """Over the last axis."""
    while p.high.shape[-1] > 1:
        n = p.high.shape[-1]
        last = p[..., n - n % 2 :]
        p = p[..., 0 : n - 1 : 2] * p[..., 1:n:2]
        if n % 2:
            p = _joined(p, last)
    return p[..., 0]


def _joined(p: _Products, q: _Products) -> _Products:
    pairs = ((p.high, q.high), (p.low, q.low), (p.exponent, q.exponent), (p.exact, q.exact))
    return _Products(*(np.concatenate(pair, -1) for pair in pairs))


def _partial(p: _Products) -> _Products:
    """Of the first 1, 2, ... along the last axis."""
    n, shift = p.high.shape[-1], 1
    while shift < n:
        p = _joined(p[..., :shift], p[..., shift:] * p[..., :-shift])
        shift *= 2
    return p


def _by_integers(factors: _Array, dtype: Any) -> float:
    """The product in binary64: rounded, or for a narrower format rounded to odd."""
    high, exponents = np.frexp(factors)
    numbers = [int(v) for v in np.ldexp(high, 53).tolist()]
    while len(numbers) > 1:
        numbers = [a * b for a, b in zip(numbers[::2], numbers[1::2], strict=False)] + numbers[len(numbers) // 2 * 2 :]
    size, exponent = abs(numbers[0]), int(exponents.sum()) - 53 * len(factors)
    more = max(size.bit_length() - 80, 0)  # bits of which it matters whether there are any
    size = size >> more | (size & ((1 << more) - 1) != 0)
    exponent += more
    top = size.bit_length() + exponent
    sign = -1.0 if numbers[0] < 0 else 1.0
    if top > 1024 or top < -1080:
        return sign * (np.inf if top > 0 else 0.0)
    exact = Fraction(size) * Fraction(2) ** exponent
    try:
        return sign * (float(exact) if dtype == F64 else nearest_odd(exact))
    except OverflowError:
        return sign * np.inf


def _rounded(p: _Products, count: int, dtype: Any) -> tuple[_Array, _Array]:
    """In the format, and where that is sure."""
    if dtype == F64:
        beyond = (count + 1) * 2.0**-100
        made, other = (p.high + (p.low + s * beyond) for s in (-1, 1))
        sure = (p.exact | (made == other)) & (p.exponent > -1020)
        return np.ldexp(np.where(p.exact, p.high, made), np.clip(p.exponent, -2200, 2200)), sure
    e = np.clip(p.exponent, -500, 500)  # beyond the range of every narrower format
    made, low, high = (
        convert_array(np.ldexp(v, e), dtype) for v in (p.high, np.nextafter(p.high, -np.inf), np.nextafter(p.high, np.inf))
    )
    return made, p.exact | (low == high)


_DIGITS = {F16: 11, BF16: 8, F32: 24}


def _by_binary64(a: _Array, dtype: Any, partial: bool) -> tuple[_Array, _Array] | None:
    """Products in binary64 for a narrower format, their exponents apart, and where their rounding is not sure (factors.h), or for binary64 in
    two numbers (factors.c); None of binary64 for a narrower format."""
    if dtype == F64:
        return _in_binary64(a, partial)
    if a.dtype == F64:
        return None
    n, shape = a.shape[-1], a.shape if partial else a.shape[:-1]
    rows = a.astype(F32, copy=False).reshape(-1, n)
    columns = n if partial else 1
    made, left = np.empty((len(rows), columns), dtype), np.empty((len(rows), columns), np.uint8)
    _core.products(rows, _DIGITS[a.dtype], NAMES[np.dtype(dtype)], partial, made, left)
    return made.reshape(shape), left.reshape(shape)


def _in_binary64(a: _Array, partial: bool) -> tuple[_Array, _Array]:
    n, shape = a.shape[-1], a.shape if partial else a.shape[:-1]
    rows = np.ascontiguousarray(a, F64).reshape(-1, n)
    made, left = np.empty((len(rows), n if partial else 1), F64), np.empty((len(rows), n if partial else 1), np.uint8)
    _core.wide_products(rows, partial, made, left)
    return made.reshape(shape), left.reshape(shape)


def product(a: _Array, dtype: Any, partial: bool) -> _Array:
    """Of the lines of the last axis, each product or all partial ones."""
    found = _by_binary64(a, dtype, partial) if a.size else None
    if found is None:
        return _product_in_parts(a, dtype, partial)
    made, left = found
    if dtype == F64:
        for at in np.argwhere(left):
            place = tuple(at)
            made[place] = _by_integers(np.asarray(a[place[:-1]][: at[-1] + 1] if partial else a[place], F64), dtype)
    elif left.any():
        lines = left.any(-1) if partial else left != 0
        made[lines] = _product_in_parts(a[lines], dtype, partial)
    return made


def scattered(x: _Array, index: _Array, source: _Array, include: bool) -> _Array | None:
    """x with each row that the index names multiplied by the rows of the source that it names it for, or replaced by their product. None of
    binary64."""
    if x.dtype == F64:
        return None
    rows, factors = (np.ascontiguousarray(v.reshape(len(v), -1), F32) for v in (x, source))
    made, left = np.empty(rows.shape, x.dtype), np.empty(rows.shape, np.uint8)
    _core.scattered_products(rows, index, factors, _DIGITS[x.dtype], NAMES[x.dtype], include, made, left)
    named = np.zeros(len(rows), bool)
    named[index] = True
    if not named.all():
        made[~named], left[~named] = x.reshape(rows.shape)[~named], 0
    for i, j in np.argwhere(left):
        terms = factors[index == i, j]
        made[i, j] = _product_in_parts(np.append(rows[i, j], terms) if include else terms, x.dtype, False)
    return made.reshape(x.shape)


def _product_in_parts(a: _Array, dtype: Any, partial: bool) -> _Array:
    """The same for any numbers."""
    n, shape = a.shape[-1], a.shape if partial else a.shape[:-1]
    if not a.size:
        return np.ones(shape, dtype)
    wide = np.asarray(a, F64).reshape(-1, n)
    with np.errstate(all="ignore"):
        special = (wide == 0) | ~np.isfinite(wide)
        lines = np.where(special, 1.0, wide)
        products = (_partial if partial else _total)(_factors(lines))
        made, sure = _rounded(products, n, dtype)
        if special.any():
            kinds = np.where(special, wide, np.copysign(1.0, wide))
            kinds = np.multiply.accumulate(kinds, -1) if partial else np.multiply.reduce(kinds, -1)
            known = np.abs(kinds) != 1
            made, sure = np.where(known, np.where(np.isnan(kinds), np.nan, kinds).astype(dtype), made), sure | known
        for at in np.argwhere(~sure):
            place = tuple(at)
            factors = lines[at[0], : at[1] + 1] if partial else lines[place]
            made[place] = convert_array(np.asarray(_by_integers(factors, dtype)), dtype)
    return made.reshape(shape)

"""Products of many factors: RN of the exact product, whatever the order and however far partial products leave the range of a format.

A product is carried in double-double with its exponent apart (src/reduce/products_kernels.c). What is then undecided is computed with integers.
"""

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from . import _core
from ._dtypes import BF16, F16, F32, F64, NAMES
from ._narrow import convert_array, nearest_odd

_Array: TypeAlias = np.ndarray[Any, Any]


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


_DIGITS = {F16: 11, BF16: 8, F32: 24}


def product(a: _Array, dtype: Any, partial: bool) -> _Array:
    """Of the lines of the last axis, each product or all partial ones."""
    shape = a.shape if partial else a.shape[:-1]
    if not a.size:
        return np.ones(shape, dtype)
    rows = np.ascontiguousarray(a).reshape(-1, a.shape[-1])
    made = np.empty((len(rows), rows.shape[1] if partial else 1), dtype)
    left = np.empty(made.shape, np.uint8)
    if _core.products(NAMES[rows.dtype], NAMES[made.dtype], rows, partial, made, left):
        for i, j in np.argwhere(left):
            factors = np.asarray(rows[i, : j + 1] if partial else rows[i], F64)
            made[i, j] = convert_array(np.asarray(_by_integers(factors, dtype)), dtype)
    return made.reshape(shape)


def scattered(x: _Array, index: _Array, source: _Array, include: bool) -> _Array | None:
    """x with each row that the index names multiplied by the rows of the source that it names it for, or replaced by their product. None of
    binary64."""
    if x.dtype == F64:
        return None
    rows, factors = (np.ascontiguousarray(v.reshape(len(v), -1)) for v in (x, source))
    made, left = np.empty_like(rows), np.empty(rows.shape, np.uint8)
    if not _core.scattered_products(NAMES[x.dtype], rows, index, factors, include, made, left):
        return made.reshape(x.shape)
    for i, j in np.argwhere(left):
        terms = factors[index == i, j]
        made[i, j] = product(np.append(rows[i, j], terms) if include else terms, x.dtype, False)
    return made.reshape(x.shape)

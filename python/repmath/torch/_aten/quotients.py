"""Integer quotients and remainders: exact, rounded once."""

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import torch

from ..._dtypes import F64
from .._formula import formula
from .._tensors import FORMATS, as_array, as_tensor
from .common import (
    UFUNCS,
    Array,
    Uncovered,
    apply,
    by_pieces,
    convert,
    convert_array,
    format_of,
    held,
    in_binary64,
    integers,
    kernel,
    nearest_odd,
)
from .elementwise import divide

_Number: TypeAlias = float | int


def _pair(x: Any, y: Any) -> tuple[torch.Tensor, torch.Tensor, torch.dtype]:
    """Both of one shape and format: that of the result where it holds them, else binary64."""
    dtype = format_of(x, y) if isinstance(x, torch.Tensor) else format_of(y, x)
    if dtype not in FORMATS:
        raise Uncovered(f"results of {dtype}")
    both = [v if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=torch.float64) for v in (x, y)]
    plain = all(held(v, dtype) for v in both)
    a, b = torch.broadcast_tensors(*(convert(v, dtype) if plain else in_binary64(v) for v in both))
    return a, b, dtype


def _by_number(x: Any, y: Any) -> bool:
    """Whether the divisor is a Python number that the formulas of quotients and remainders take as it is."""
    if not isinstance(x, torch.Tensor) or type(y) not in (float, int) or x.dtype not in FORMATS or x.dtype is torch.float64:
        return False
    return bool(2.0**-800 <= abs(y) <= 2.0**800 and float(y) == y)


def _toward_zero(a: Array, b: Array) -> tuple[Array, Array]:
    """The quotients of numbers of binary64 rounded toward zero to whole numbers q, where they are below 2**53, and a - q b.

    The rounded quotient is on the right side of every whole number that it is not. Where it is one, a - q b has the wrong sign if the
    quotient is nearer to zero: fma rounds it once, and so has its sign.
    """
    q = np.trunc(UFUNCS["divide"](a, b))
    rest = UFUNCS["fma"](-q, b, a)
    past = (rest != 0) & (np.signbit(rest) != np.signbit(a))
    if past.any():
        q = np.where(past, q - np.copysign(1.0, q), q)
        rest = UFUNCS["fma"](-q, b, a)
    return q, rest


def _whole_part(a: Array, b: Array, mode: str, dtype: Any) -> Array:
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


def _large(wide: Array, divisor: Array, mode: str, dtype: Any) -> Array:
    """Quotients that are not finite, are by infinities, or beyond 2**53 are made of integers; to odd for formats below binary64."""
    q = UFUNCS["divide"](wide, divisor)
    made: Array = np.array(np.floor(q) if mode == "floor" else np.trunc(q))
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


def _whole(x: Any, y: Any, mode: str) -> torch.Tensor:
    """The quotient rounded down or toward zero to a whole number, and this to the format."""
    if _by_number(x, y):
        return formula(mode, float(y), x)
    a, b, dtype = _pair(x, y)
    if a.dtype is dtype is not torch.float64:
        return formula(mode, 0.0, a, b)
    form = FORMATS[dtype]
    return as_tensor(by_pieces(lambda u, v: _whole_part(u, v, mode, form), form, as_array(a), as_array(b)))


@integers
@kernel
def divide_by_mode(x: Any, y: Any, *, rounding_mode: str | None = None) -> torch.Tensor:
    if rounding_mode is None:
        return divide(x, y)
    if rounding_mode not in ("floor", "trunc"):
        raise ValueError(f"rounding_mode={rounding_mode!r}")
    return _whole(x, y, rounding_mode)


@integers
@kernel
def floor_divide(x: Any, y: Any) -> torch.Tensor:
    return _whole(x, y, "floor")


@integers
@kernel
def fmod(x: Any, y: Any) -> torch.Tensor:
    """x less the multiple of y toward zero."""
    if _by_number(x, y):
        return formula("fmod", float(y), x)
    a, b, dtype = _pair(x, y)
    if a.dtype is dtype is not torch.float64:
        return formula("fmod", 0.0, a, b)
    return convert(_rest(a, b), dtype)


def _rest(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The remainder toward zero is a number of their format."""
    form = FORMATS[a.dtype]
    return as_tensor(by_pieces(lambda u, v: _rest_part(u, v, form), form, as_array(a), as_array(b)))


def _rest_part(a: Array, b: Array, dtype: Any) -> Array:
    a, b = a.astype(F64), b.astype(F64)
    q, rest = _toward_zero(a, b)
    rest = np.copysign(rest, a)
    other = ~(np.abs(q) < 2.0**53) | np.isinf(b)
    if other.any():  # the function of C is exact
        rest[other] = np.fmod(a[other], b[other])
    return convert_array(rest, dtype)


@integers
@kernel
def remainder(x: Any, y: Any) -> torch.Tensor:
    """x less the multiple of y below it."""
    if _by_number(x, y):
        return formula("remainder", float(y), x)
    a, b, dtype = _pair(x, y)
    if a.dtype is dtype is not torch.float64:
        return formula("remainder", 0.0, a, b)
    rest = _rest(a, b)
    other = (rest != 0) & ((rest < 0) != (b < 0))
    return torch.where(other, apply("add", rest, b, dtype=dtype), convert(rest, dtype))


@kernel
def frac(x: torch.Tensor) -> torch.Tensor:
    """The difference is a number of the format."""
    return apply("subtract", x, x.trunc())

"""Integer quotients and remainders: exact, rounded once."""

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _core
from ..._dtypes import F32, F64
from .._tensors import FORMATS, as_array, as_tensor
from .common import (
    Array,
    Uncovered,
    apply,
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


def _whole(x: Any, y: Any, mode: str) -> torch.Tensor:
    """The quotient rounded down or toward zero to a whole number, and this to the format.

    Binary64 rounded in the same direction does not pass a whole number up to 2**53; greater ones are made of integers.
    """
    a, b, dtype = _pair(x, y)
    wide, divisor = (as_array(t.to(torch.float64)) for t in (a, b))
    with np.errstate(all="ignore"):
        q = np.asarray(_core.rounded["down" if mode == "floor" else "toward_zero"]["divide"](wide, divisor))
        made: Array = np.array(np.floor(q) if mode == "floor" else np.trunc(q))
        if mode == "floor":  # what PyTorch, and Python, return beside infinities
            made[np.isinf(wide)] = np.nan
            made[np.isinf(divisor) & (wide != 0) & np.isfinite(wide) & (np.signbit(wide) != np.signbit(divisor))] = -1
            made[divisor == 0] = q[divisor == 0]
    form = float if dtype is torch.float64 else nearest_odd
    for at in np.argwhere((np.abs(q) >= 2.0**53) & np.isfinite(wide) & (divisor != 0)):
        place = tuple(at)
        exact = Fraction(float(wide[place])) / Fraction(float(divisor[place]))
        number = exact.__floor__() if mode == "floor" else exact.__trunc__()
        if abs(number) < 2**1024:
            made[place] = form(Fraction(number))
    return as_tensor(convert_array(made, FORMATS[dtype]))


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
    a, b, dtype = _pair(x, y)
    return convert(_rest(a, b), dtype)


def _rest(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The remainder toward zero is a number of their format: the function of C is exact."""
    own = F64 if a.dtype is torch.float64 else F32
    with np.errstate(all="ignore"):
        made = np.asarray(np.fmod(as_array(a).astype(own), as_array(b).astype(own)))
    return as_tensor(convert_array(made, FORMATS[a.dtype]))


@integers
@kernel
def remainder(x: Any, y: Any) -> torch.Tensor:
    """x less the multiple of y below it."""
    a, b, dtype = _pair(x, y)
    rest = _rest(a, b)
    other = (rest != 0) & ((rest < 0) != (b < 0))
    return torch.where(other, apply("add", rest, b, dtype=dtype), convert(rest, dtype))


@kernel
def frac(x: torch.Tensor) -> torch.Tensor:
    """The difference is a number of the format."""
    return apply("subtract", x, x.trunc())

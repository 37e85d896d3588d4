"""Integer quotients and remainders, by formulas in C and by repmath/_quotients.py."""

from typing import Any, TypeAlias

import torch

from ..._quotients import rest, whole
from .._formula import formula
from .._stepwise import HERE
from .._tensors import FORMATS, as_array, as_tensor
from .common import Uncovered, apply, convert, format_of, held, in_binary64, integers, kernel
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


def _whole(x: Any, y: Any, mode: str) -> torch.Tensor:
    """The quotient rounded down or toward zero to a whole number, and this to the format."""
    if _by_number(x, y):
        return formula(mode, float(y), x)
    a, b, dtype = _pair(x, y)
    if a.dtype is dtype is not torch.float64:
        return formula(mode, 0.0, a, b)
    return as_tensor(whole(as_array(a), as_array(b), mode, FORMATS[dtype]))


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
    return as_tensor(rest(as_array(a), as_array(b)))


@integers
@kernel
def remainder(x: Any, y: Any) -> torch.Tensor:
    """x less the multiple of y below it."""
    if _by_number(x, y):
        return formula("remainder", float(y), x)
    if HERE.steps is None and (_by_number(y, x) or (_by_number(y, 1) and type(x) in (float, int) and x == 0)):
        return formula("remainder_of", float(x), y)
    a, b, dtype = _pair(x, y)
    if a.dtype is dtype is not torch.float64:
        return formula("remainder", 0.0, a, b)
    left = _rest(a, b)
    other = (left != 0) & ((left < 0) != (b < 0))
    return torch.where(other, apply("add", left, b, dtype=dtype), convert(left, dtype))


@kernel
def frac(x: torch.Tensor) -> torch.Tensor:
    """The difference is a number of the format."""
    return apply("subtract", x, x.trunc())

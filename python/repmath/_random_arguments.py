"""Checks of what the functions of `repmath.random` have in common: seeds, places, shapes, formats."""

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ._dtypes import FORMATS

_Array = np.ndarray[Any, Any]
_Shape = int | tuple[int, ...]

# numbers from here on round to infinity
_BEYOND = {"f16": 65520.0, "bf16": (2 - 2.0**-8) * 2.0**127, "f32": (2 - 2.0**-24) * 2.0**127, "f64": math.inf}


def _integer(name: str, value: Any, low: int, high: int, limits: str) -> int:
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer, not bool")
    try:
        n = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None
    if not low <= n <= high:
        raise ValueError(f"{name} must be {limits}, not {n}")
    return n


def _real(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must be a real number, not {value!r}") from None


def _probability(p: Any) -> float:
    value = _real("p", p)
    if not 0 <= value <= 1:
        raise ValueError(f"p must be from 0 to 1, not {value}")
    return value


def _shape(shape: Any) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(_integer("shape", n, 0, 2**63 - 1, "not negative") for n in sizes)


def _format(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        wanted: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"dtype must be float16, bfloat16, float32 or float64, not {dtype!r}") from None
    if wanted not in FORMATS.values():
        raise TypeError(f"dtype must be float16, bfloat16, float32 or float64, not {wanted}")
    return wanted


def _place(seed: Any, stream: Any, offset: Any, n: int) -> tuple[int, int, int]:
    key = _integer("seed", seed, 0, 2**64 - 1, "from 0 to 2**64 - 1")
    which = _integer("stream", stream, 0, 2**64 - 1, "from 0 to 2**64 - 1")
    return key, which, _integer("offset", offset, 0, 2**63 - 1 - n, f"from 0 to 2**63 - 1 - {n}")

"""Checks of arrays that are updated in place and of numbers that are taken as exact, and how both are passed to the C library."""

import contextlib
import math
import operator
from collections.abc import Iterator
from typing import Any, TypeGuard

import numpy as np

from . import _arguments, _dlpack, _frameworks, _memory
from ._dtypes import NAMES

_Array = np.ndarray[Any, Any]


def is_array(a: Any) -> TypeGuard[_Array]:
    """Whether it is one array, of NumPy or of another library."""
    return isinstance(a, np.ndarray) or _dlpack.is_foreign(a)


def check_array(name: str, a: Any, writable: bool = False) -> _Array:
    """The array, of one of the formats, over the memory of another library's; TypeError or ValueError that names it otherwise."""
    if _dlpack.is_foreign(a):
        a = _frameworks.view(name, a)
    _arguments.check(name, a)
    if not _memory.is_array(a):
        raise TypeError(f"{name} must be a NumPy array, not {type(a).__name__}")
    if a.dtype not in NAMES:
        raise TypeError(
            f"{name} has dtype {a.dtype}; it must have float16, bfloat16, float32 or float64, in native byte order"
        )
    if writable and not a.flags.writeable:
        raise ValueError(f"{name} is read-only; it is updated in place")
    return a


def check_number(name: str, x: Any, minimum: float = 0.0, below: float = math.inf) -> float:
    """The number as a float equal to it, which must be finite, at least `minimum` and smaller than `below`."""
    try:
        value = float(x)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, not {type(x).__name__}") from None
    except OverflowError:
        value = math.inf
    if not minimum <= value < below:
        bounds = "finite" if below == math.inf else f"less than {below}"
        raise ValueError(f"{name} must be at least {minimum} and {bounds}, not {x}")
    return value


def check_count(name: str, n: Any, minimum: int = 0) -> int:
    """The integer, which is at least `minimum`."""
    try:
        count = operator.index(n)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(n).__name__}") from None
    if count < minimum:
        raise ValueError(f"{name} must be at least {minimum}, not {count}")
    return count


@contextlib.contextmanager
def whole(a: _Array) -> Iterator[_Array]:
    """A contiguous array with the elements of `a`: itself where it can be, else a copy, which is written back if nothing is raised."""
    if a.flags.c_contiguous:
        yield a
        return
    copy = _memory.contiguous(a)
    yield copy
    a[...] = copy

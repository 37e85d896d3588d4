"""Python's numbers inside of PyTorch's optimisers: makes `beta**step` correctly rounded, where the system's C library decides otherwise.

Unfused optimisers read the step number from its tensor and continue in Python's arithmetic. Sums, products and quotients follow IEEE 754
everywhere; powers come from the C library, which has another implementation for CPUs with fused multiply-add. Therefore the number read
from the tensor is a float subclass with correctly rounded powers, and so is every result computed from it.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core


@functools.lru_cache(256)
def _of_positive(x: float, y: float) -> float:
    """RN(x**y) of finite numbers, x > 0: those of one step are the same for all parameters."""
    with np.errstate(all="ignore"):
        return float(_core.ufuncs["pow"](np.float64(x), np.float64(y)))


def power(x: float, y: float) -> Any:
    """RN(x**y); zeros, infinities, NaN and what is not real as Python has them, and its errors."""
    if not (math.isfinite(x) and math.isfinite(y) and x) or (x < 0 and not y.is_integer()):
        return float.__pow__(x, y)
    made = _of_positive(abs(x), y)
    if math.isinf(made):
        raise OverflowError(34, "Numerical result out of range")
    return -made if x < 0 and y % 2 else made


def _kept(name: str) -> Callable[..., Any]:
    function = getattr(float, name)

    def call(self: float, *others: Any) -> Any:
        made = function(self, *others)
        return Number(made) if type(made) is float else made

    return call


class Number(float):
    """A float whose powers are correctly rounded. What is computed of it is one, too."""

    def __pow__(self, other: Any, modulus: None = None) -> Any:
        if modulus is not None or not isinstance(other, (int, float)):
            return NotImplemented
        return _number(power(float(self), float(other)))

    def __rpow__(self, other: Any, modulus: None = None) -> Any:
        if modulus is not None or not isinstance(other, (int, float)):
            return NotImplemented
        return _number(power(float(other), float(self)))

    def __reduce__(self) -> Any:
        return float, (float(self),)  # what is stored is a float


def _number(value: Any) -> Any:
    return Number(value) if type(value) is float else value


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "neg", "pos", "abs"):
    setattr(Number, f"__{_name}__", _kept(f"__{_name}__"))

"""Rationals, rounded once."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ._narrow import narrow


def rounded(values: Sequence[Fraction], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Exact rationals, each rounded once; beyond binary64 they are infinite."""
    wide = []
    for v in values:
        try:
            wide.append(float(v))
        except OverflowError:
            wide.append(math.inf if v > 0 else -math.inf)
    s = np.array(wide, np.float64)

    def sign_of_rest(index: tuple[np.ndarray[Any, Any], ...]) -> np.ndarray[Any, Any]:
        rest = [values[i] - Fraction(float(s[i])) for i in index[0]]
        return np.array([(v > 0) - (v < 0) for v in rest], np.float64)

    with np.errstate(over="ignore"):
        result: np.ndarray[Any, Any] = narrow(s, dtype, sign_of_rest)
    return result

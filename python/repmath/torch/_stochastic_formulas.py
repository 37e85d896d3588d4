"""What binary64 leaves open of the rational formulas of include/repmath/formulas.h, for stochastic()."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from .. import _core
from .._dtypes import NAMES
from .._random_balls import Last, rounded
from ._aten.common import RATIONAL


def settle(name: str, a: float, values: list[Any], flat: Any, left: Any, last: Last) -> None:
    """Writes the results of a formula at these places of a flat array, with these values of its arguments: those of finite numbers by rational arithmetic,
    others, and exact zeros, as rounded to nearest."""
    found = np.empty_like(values[0])
    x, y, z = [v.ctypes.data for v in values] + [0] * (3 - len(values))
    with _core.Environment():
        _core.formula(name, NAMES[found.dtype], found.size, a, x, y, z, found.ctypes.data)
    words = last.words(left.tolist())
    for i, row in enumerate(zip(*(v.tolist() for v in values), strict=True)):
        if all(map(math.isfinite, (a, *row))):
            try:
                value = RATIONAL[name](Fraction(a), *(Fraction(v) for v in row))
            except ZeroDivisionError:
                continue
            if value:
                found[i] = rounded(value, found.dtype.name, last.place[0], words[i])
    flat[left] = found

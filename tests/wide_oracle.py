"""Real values by mpmath at a high precision, rounded once to a format; a value too near a boundary of rounding is an error of the test."""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from exact_oracle import rounded

BITS = 1400  # more than the exponents of binary32 span, so that sums of its numbers are exact


def key_of(argument: Any) -> Any:
    """What tells one argument from another: of an array its bits, its shape and its type."""
    if isinstance(argument, np.ndarray):
        return argument.dtype.name, argument.shape, argument.tobytes()
    if isinstance(argument, (list, tuple)):
        return tuple(map(key_of, argument))
    return repr(argument) if isinstance(argument, float) else argument  # 0.0 == -0.0, but they are two arguments


def precise(function: Any) -> Any:
    """The function, evaluated with BITS bits. Values are kept: each instruction set is asked for the same ones."""
    known: dict[Any, Any] = {}

    def inside(*arguments: Any, **keywords: Any) -> Any:
        key = key_of(arguments), key_of(sorted(keywords.items()))
        if key not in known:
            with mpmath.workprec(BITS):
                known[key] = function(*arguments, **keywords)
        return known[key]

    return inside


def reals(x: Any) -> list[mpmath.mpf]:
    """Numbers of any format, exactly."""
    return [mpmath.mpf(float(v)) for v in np.asarray(x).ravel()]


def fraction(v: mpmath.mpf) -> Fraction:
    man, exp = v.man_exp  # of the magnitude
    size = Fraction(int(man)) * Fraction(2) ** int(exp)
    return -size if v < 0 else size


def rounded_real(v: mpmath.mpf, dtype: np.dtype, exact: bool = False) -> int:
    """The bits of RN(v), v off by at most 2^-(BITS - 100) relatively, or exact: then a boundary is rounded as such."""
    if mpmath.isinf(v) or mpmath.isnan(v):
        raise ValueError("not a real number")
    if v != 0 and abs(v) < mpmath.ldexp(1, -1200):  # below half of every least number
        return rounded(Fraction(1 if v > 0 else -1, 2**1200), dtype)
    middle = fraction(v)
    if exact or middle == 0:
        return rounded(middle, dtype)
    off = abs(middle) / 2 ** (BITS - 100)
    low, high = rounded(middle - off, dtype), rounded(middle + off, dtype)
    assert low == high, "the oracle's precision does not decide this rounding"
    return low

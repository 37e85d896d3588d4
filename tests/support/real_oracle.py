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


def kept(function: Any) -> Any:
    """The function, whose values are kept: each instruction set is asked for the same ones."""
    known: dict[Any, Any] = {}

    def inside(*arguments: Any, **keywords: Any) -> Any:
        key = key_of(arguments), key_of(sorted(keywords.items()))
        if key not in known:
            known[key] = function(*arguments, **keywords)
        return known[key]

    return inside


def precise(function: Any, bits: int = BITS) -> Any:
    """The function, evaluated with so many bits."""

    @kept
    def inside(*arguments: Any, **keywords: Any) -> Any:
        with mpmath.workprec(bits):
            return function(*arguments, **keywords)

    inside.function = function
    return inside


def reals(x: Any) -> list[mpmath.mpf]:
    """Numbers of any format, exactly."""
    return [mpmath.mpf(float(v)) for v in np.asarray(x).ravel()]


def fraction(v: mpmath.mpf) -> Fraction:
    man, exp = v.man_exp  # of the magnitude
    size = Fraction(int(man)) * Fraction(2) ** int(exp)
    return -size if v < 0 else size


def rounded_real(v: mpmath.mpf, dtype: np.dtype, exact: bool = False, bits: int | None = None) -> int:
    """The bits of RN(v), v off by at most 2^-(bits - 100) relatively, or exact: then a boundary is rounded as such. Without `bits` they
    are those of the evaluation, at least BITS."""
    if mpmath.isinf(v) or mpmath.isnan(v):
        raise ValueError("not a real number")
    if v != 0 and abs(v) < mpmath.ldexp(1, -1200):  # below half of every least number
        return rounded(Fraction(1 if v > 0 else -1, 2**1200), dtype)
    if abs(v) > mpmath.ldexp(1, 1100):  # beyond every number
        return rounded(Fraction(2**1100 if v > 0 else -(2**1100)), dtype)
    middle = fraction(v)
    if exact or middle == 0:
        return rounded(middle, dtype)
    off = abs(middle) / 2 ** ((bits or max(BITS, mpmath.mp.prec)) - 100)
    low, high = rounded(middle - off, dtype), rounded(middle + off, dtype)
    assert low == high, "the oracle's precision does not decide this rounding"
    return low


def rounded_recognised(v: mpmath.mpf, dtype: np.dtype) -> int:
    """The same of a v that may be an exact zero, or a boundary of rounding, of which roots and quotients leave a trace at the end of the
    precision: a number of few digits, or much smaller than all that it is made of."""
    precision = mpmath.mp.prec
    if abs(v) < mpmath.ldexp(1, -precision * 7 // 12):
        return 0
    with mpmath.workprec(precision * 5 // 12):
        near = +mpmath.mpf(v)
    exact = abs(near - v) < abs(v) * mpmath.ldexp(1, -precision * 5 // 6)
    return rounded_real(near if exact else v, dtype, exact=exact)

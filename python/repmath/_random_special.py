"""The functions of `special` under the modes "stochastic" and "random", in scopes: their results in binary64, and where these leave a rounding open the enclosures of `_special`."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from . import _random_calls
from ._dtypes import F64
from ._narrow import convert_array
from ._random_balls import Interval
from ._random_functions import At, _wide
from ._special import bessel, enclosures, functions

_Array = np.ndarray[Any, Any]

_HAIR = Fraction(1, 2**20000)
_LEAST, _LARGE = Fraction(1, 2**1090), Fraction(2**1100)


def _known(name: str, at: tuple[float, ...], bits: int) -> tuple[Fraction, Fraction] | None:
    """Of values that are returned at once though they are no number of a format: what encloses them, or, where they are below every number or beyond all, other
    such numbers of their sign."""
    x, sign = at[0], -1 if at[0] < 0 else 1
    if name in ("igamma", "igammac") and 0 < x < math.inf and 0 < at[1] < math.inf:
        known = functions.gamma_known(*at)
        if known is not None:
            return (_HAIR, _LEAST) if known == float(name == "igammac") else (1 - _LEAST, 1 - _HAIR)
    if (name in ("k0", "k1") and 760 < x < math.inf) or (name == "airy" and 110 < x < math.inf):
        return _HAIR, _LEAST
    if name == "zeta" and 1 < x < math.inf and 1 < at[1] < math.inf:
        return _HAIR, _LEAST
    if name == "beta" and 1 < min(at) and max(at) < math.inf:
        return _HAIR, _LEAST
    if (name in ("i0", "i1") and bessel.OVERFLOW < abs(x) < math.inf) or (name == "gamma" and 172 < x < math.inf):
        return (-_LARGE - 1, -_LARGE) if name == "i1" and sign < 0 else (_LARGE, _LARGE + 1)
    if name == "gamma" and -math.inf < x < -192 and x != math.floor(x):
        return (-_LEAST, -_HAIR) if math.floor(x) % 2 else (_HAIR, _LEAST)
    if name == "spherical_j0" and 0 < abs(x) < 1:  # sums of (-x^2)^k/(2 k + 1)! are above and below it in turn
        total = term = Fraction(1)
        square, k = Fraction(x) ** 2, 0
        while abs(term) * 2**bits > 1 or k < 2:
            k += 1
            term *= -square / (2 * k * (2 * k + 1))
            before, total = total, total + term
        return min(before, total), max(before, total)
    return None


def enclosed(name: str, function: Callable[..., float], at: tuple[float, ...], bits: int) -> Interval:
    """The value of a function of numbers, which gives its enclosure to `enclosures.decided`; NaN raises ValueError, a pole ZeroDivisionError."""
    if name == "zeta" and at[1] == 1 and 64 < at[0] < math.inf:
        s = at[0]
        held: Callable[[int], Any] | None = lambda bits: functions.hurwitz_zeta(s, 1.0, bits)  # noqa: E731
    else:
        held = enclosures.enclosed(function, *at)
    if held is None:
        known = _known(name, at, bits)
        if known is not None:
            return Interval(*known, 40000)
        value = function(*at, F64)  # at a limit, where it is exact
        if math.isinf(value):
            raise ZeroDivisionError(f"a pole of {name}")
        return Interval(Fraction(value), Fraction(value), bits)
    try:
        low, high, e = held(bits)
    except enclosures.TooWide:
        return Interval(Fraction(-1), Fraction(1), bits)
    return Interval(low * Fraction(2) ** e, high * Fraction(2) ** e, bits)


def _special(name: str, *names: str) -> Callable[..., _Array]:
    """A function of numbers that gives its enclosure to `enclosures.decided`."""
    inner = {"gammainc": "igamma", "gammaincc": "igammac"}.get(name, name)

    def one(*at: Any) -> float:
        if name in bessel.KINDS:
            return bessel.one(at[0], *bessel.KINDS[name], at[1])
        return functions.FUNCTIONS[inner](*at)

    def made(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
        columns = [np.broadcast_to(_held(call[n], nearest.dtype), nearest.shape).reshape(-1) for n in names]

        def value(i: int, bits: int) -> Interval:
            try:
                return enclosed(inner, one, tuple(float(c[i]) for c in columns), bits)
            except ZeroDivisionError:
                raise ValueError from None  # the result to nearest is that of every mode

        wide = call["function"](*(c.reshape(nearest.shape) for c in columns))
        return at.enclosed(nearest, value, np.asarray(wide))

    return made


def _held(x: Any, dtype: Any) -> _Array:
    """Arguments in binary64; Python's numbers are those of the result's format."""
    if type(x) in (bool, int, float):
        return np.asarray(convert_array(np.asarray(x, F64), dtype), F64)
    return _wide(x)


def enter(given: dict[str, Any]) -> None:
    """These functions, by their names, have the modes in scopes from here on."""
    names = {"zeta": ("x", "q"), "beta": ("a", "b"), "gammainc": ("a", "x"), "gammaincc": ("a", "x")}
    _random_calls.enter({name: (function, _special(name, *names.get(name, ("x",)))) for name, function in given.items()})

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
_LEAST = Fraction(1, 2**1090)


def _known(name: str, at: tuple[float, ...]) -> tuple[Fraction, Fraction] | None:
    """Of values that are returned at once though they are no number of a format: what encloses them."""
    if name in ("igamma", "igammac") and 0 < at[0] < math.inf and 0 < at[1] < math.inf:
        known = functions.gamma_known(*at)
        if known is not None:
            return (_HAIR, _LEAST) if known == float(name == "igammac") else (1 - _LEAST, 1 - _HAIR)
    if name in ("k0", "k1") and 760 < at[0] < math.inf:
        return _HAIR, _LEAST
    if name == "zeta" and 1 < at[0] < math.inf and 1 < at[1] < math.inf:
        return _HAIR, _LEAST
    return None


def _special(name: str, *names: str) -> Callable[..., _Array]:
    """A function of numbers that gives its enclosure to `enclosures.decided`."""
    inner = {"gammainc": "igamma", "gammaincc": "igammac"}.get(name, name)

    def one(*at: Any) -> float:
        if name in bessel.KINDS:
            return bessel.one(at[0], *bessel.KINDS[name], at[1])
        return functions.FUNCTIONS[inner](*at)

    def enclosure(*at: float) -> Callable[[int], Any] | None:
        if name == "zeta" and at[1] == 1 and 64 < at[0] < math.inf:
            return lambda bits: functions.hurwitz_zeta(at[0], 1.0, bits)
        return enclosures.enclosed(one, *at)

    def made(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
        columns = [np.broadcast_to(_held(call[n], nearest.dtype), nearest.shape).reshape(-1) for n in names]

        def value(i: int, bits: int) -> Interval:
            numbers = tuple(float(c[i]) for c in columns)
            if (held := enclosure(*numbers)) is None:
                known = _known(inner, numbers)
                if known is None:
                    raise ValueError
                return Interval(*known, 40000)
            try:
                low, high, e = held(bits)
            except enclosures.TooWide:
                return Interval(Fraction(-1), Fraction(1), bits)
            return Interval(low * Fraction(2) ** e, high * Fraction(2) ** e, bits)

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

"""Bessel, zeta and incomplete gamma functions, by SciPy's names: every result is the exact value at its arguments, rounded once.

Results have the format of the arguments, float16, bfloat16, float32 or float64; of several formats the smallest that holds all.
Integers and bools count as float64; a Python number beside an array takes the array's format, as in NumPy's ufuncs.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _random_special
from ._dtypes import F64, beyond_f64, common, is_float, is_integer
from ._environment import guarded
from ._narrow import convert_array
from ._special import bessel, functions

__all__ = [
    "beta",
    "gamma",
    "gammainc",
    "gammaincc",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "j0",
    "j1",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "y0",
    "y1",
    "zeta",
]

_Array = np.ndarray[Any, Any]


def _operand(name: str, x: Any) -> _Array:
    a = np.asarray(x)
    if not (is_float(a.dtype) or is_integer(a.dtype)):
        raise TypeError(
            f"{name} has dtype {a.dtype}; special functions exist for float16, bfloat16, float32, float64, integers and bool"
        )
    if beyond_f64(a):
        raise ValueError(f"{name} has integers beyond 2**53; convert them to float64, which rounds them")
    return a


def _one(name: str, x: Any) -> Any:
    a = _operand("x", x)
    target = common(a.dtype)
    points = np.ascontiguousarray(a, target).reshape(-1)
    if name in bessel.KINDS:
        made = bessel.values(name, target, points)
    else:
        made = functions.values(name, target, points.astype(F64, copy=False))
    return made.reshape(a.shape)[()]


def _two(name: str, **given: Any) -> Any:
    arrays = [_operand(key, v) for key, v in given.items()]
    weak = [type(v) in (bool, int, float) for v in given.values()]
    strong = [a.dtype for a, w in zip(arrays, weak, strict=True) if not w]
    target = common(*strong) if strong else F64
    try:
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError:
        shapes = " and ".join(f"{key} of shape {a.shape}" for key, a in zip(given, arrays, strict=True))
        raise ValueError(f"{shapes} do not broadcast") from None
    wide = [
        convert_array(a.astype(F64), target).astype(F64) if w else a.astype(F64) for a, w in zip(arrays, weak, strict=True)
    ]
    points = [np.ascontiguousarray(np.broadcast_to(a, shape)).reshape(-1) for a in wide]
    return functions.values(name, target, *points).reshape(shape)[()]


@guarded
def i0(x: ArrayLike) -> Any:
    """The modified Bessel function of the first kind of order 0, RN(I₀(x)).

    Parameters
    ----------
    x : array_like
        Real, of any shape.

    Returns
    -------
    ndarray or scalar
        Of the shape of `x`.

    Raises
    ------
    TypeError
        `x` is no array of real numbers.
    ValueError
        `x` has integers beyond 2**53, or a value is so near a boundary of rounding that 16,384 bits leave it undecided.
    """
    return _one("i0", x)


@guarded
def i0e(x: ArrayLike) -> Any:
    """RN(exp(-abs(x)) I₀(x)). Arguments and errors as of `i0`."""
    return _one("i0e", x)


@guarded
def i1(x: ArrayLike) -> Any:
    """The modified Bessel function of the first kind of order 1, RN(I₁(x)). Arguments and errors as of `i0`."""
    return _one("i1", x)


@guarded
def i1e(x: ArrayLike) -> Any:
    """RN(exp(-abs(x)) I₁(x)). Arguments and errors as of `i0`."""
    return _one("i1e", x)


@guarded
def j0(x: ArrayLike) -> Any:
    """The Bessel function of the first kind of order 0, RN(J₀(x)). Arguments and errors as of `i0`."""
    return _one("j0", x)


@guarded
def j1(x: ArrayLike) -> Any:
    """The Bessel function of the first kind of order 1, RN(J₁(x)). Arguments and errors as of `i0`."""
    return _one("j1", x)


@guarded
def y0(x: ArrayLike) -> Any:
    """The Bessel function of the second kind of order 0, RN(Y₀(x)): -inf at 0, NaN below. Arguments and errors as of `i0`."""
    return _one("y0", x)


@guarded
def y1(x: ArrayLike) -> Any:
    """The Bessel function of the second kind of order 1, RN(Y₁(x)): -inf at 0, NaN below. Arguments and errors as of `i0`."""
    return _one("y1", x)


@guarded
def k0(x: ArrayLike) -> Any:
    """The modified Bessel function of the second kind of order 0, RN(K₀(x)): inf at 0, NaN below. Arguments and errors as of `i0`."""
    return _one("k0", x)


@guarded
def k0e(x: ArrayLike) -> Any:
    """RN(exp(x) K₀(x)): inf at 0, NaN below. Arguments and errors as of `i0`."""
    return _one("k0e", x)


@guarded
def k1(x: ArrayLike) -> Any:
    """The modified Bessel function of the second kind of order 1, RN(K₁(x)): inf at 0, NaN below. Arguments and errors as of `i0`."""
    return _one("k1", x)


@guarded
def k1e(x: ArrayLike) -> Any:
    """RN(exp(x) K₁(x)): inf at 0, NaN below. Arguments and errors as of `i0`."""
    return _one("k1e", x)


@guarded
def zeta(x: ArrayLike, q: ArrayLike) -> Any:
    """Hurwitz's zeta function, RN(Σ_k (q + k)^(-x)) over k = 0, 1, ...; Riemann's for q = 1.

    inf for x = 1 and at the poles q = 0, -1, ...; NaN for x below 1, and for q below 0 unless x is a whole number.

    Parameters
    ----------
    x, q : array_like
        Real, of shapes that broadcast.

    Returns
    -------
    ndarray or scalar
        Of their common shape.

    Raises
    ------
    TypeError
        An argument is no array of real numbers.
    ValueError
        The shapes do not broadcast; else as in `i0`.
    """
    return _two("zeta", x=x, q=q)


@guarded
def gamma(x: ArrayLike) -> Any:
    """The gamma function, RN(Γ(x)): ±inf at ±0, NaN at negative integers and -inf. Arguments and errors as of `i0`."""
    return _one("gamma", x)


@guarded
def beta(a: ArrayLike, b: ArrayLike) -> Any:
    """The beta function of positive numbers, RN(∫_0^1 t^(a-1) (1-t)^(b-1) dt).

    inf where one argument is 0, 0 where one is inf; NaN below 0, and of 0 and inf. Arguments and errors as of `zeta`.
    """
    return _two("beta", a=a, b=b)


@guarded
def gammainc(a: ArrayLike, x: ArrayLike) -> Any:
    """The regularised lower incomplete gamma function, RN(P(a, x)), P = ∫_0^x t^(a-1) e^(-t) dt / Γ(a).

    P(0, x) = 1 and P(a, 0) = 0; NaN of (0, 0) and (inf, inf), and where an argument is below 0. Arguments and errors as of `zeta`; besides ValueError
    for `a` above 2**20 with `x` near it, unless P is less than e^(-770) from 0 or 1.
    """
    return _two("igamma", a=a, x=x)


@guarded
def gammaincc(a: ArrayLike, x: ArrayLike) -> Any:
    """The regularised upper incomplete gamma function, RN(1 - P(a, x)). Arguments and errors as of `gammainc`."""
    return _two("igammac", a=a, x=x)


_random_special.enter({name: globals()[name] for name in __all__})

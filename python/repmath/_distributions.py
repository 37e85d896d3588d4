"""Gamma, beta, Dirichlet, chi-square, Poisson and binomial numbers (specification, section 6a), for `repmath.random`."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ._draws import counts
from ._draws import gamma as numbers
from ._dtypes import F64, check_held
from ._environment import guarded
from ._random_arguments import _Array, _format, _place, _Shape, _shape

_LEAST, _MOST = 2.0**-50, 2.0**500
_MANY = 2**52


def _parameter(name: str, value: ArrayLike, low: float, high: float, limits: str) -> _Array:
    """A parameter as float64 numbers."""
    a = np.asarray(value)
    check_held(name, a)
    held: _Array = a.astype(F64)
    inside = (held >= low) & (held <= high)
    if not inside.all():
        raise ValueError(f"{name} must be {limits}, not {held[~inside].flat[0]}")
    return held


def _positive(name: str, value: ArrayLike, times: float = 1.0) -> _Array:
    limits = f"from 2**{round(math.log2(_LEAST * times))} to 2**{round(math.log2(_MOST * times))}"
    return _parameter(name, value, _LEAST * times, _MOST * times, limits)


def _factor(name: str, value: ArrayLike) -> _Array:
    return _parameter(name, value, math.ulp(0.0), math.nextafter(math.inf, 0.0), "positive and finite")


def _mean(name: str, value: ArrayLike) -> _Array:
    return _parameter(name, value, 0.0, _MANY, "from 0 to 2**52")


def _trials(name: str, value: ArrayLike) -> _Array:
    trials = _parameter(name, value, 0.0, _MANY, "from 0 to 2**52")
    if not (trials == np.floor(trials)).all():
        raise ValueError(f"{name} must be whole numbers, not {trials[trials != np.floor(trials)].flat[0]}")
    return trials


def _chance(name: str, value: ArrayLike) -> _Array:
    return _parameter(name, value, 0.0, 1.0, "from 0 to 1")


def _check_fits(name: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    try:
        fits = np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{name} of shape {shape} does not broadcast to the shape {wanted}")


def _spread(shape: _Shape | None, **parameters: _Array) -> tuple[tuple[int, ...], list[_Array]]:
    """The shape of the result, and the parameters as arrays of one axis of its elements."""
    together = np.broadcast_shapes(*(p.shape for p in parameters.values()))
    wanted = together if shape is None else _shape(shape)
    for name, p in parameters.items():
        _check_fits(name, p.shape, wanted)
    return wanted, [np.ascontiguousarray(np.broadcast_to(p, wanted)).reshape(-1) for p in parameters.values()]


def _whole(out: _Array, shape: tuple[int, ...]) -> Any:
    return out.reshape(shape) if shape else out[0]


def _gamma(place: tuple[int, int, int], shape: _Shape | None, dtype: DTypeLike, **parameters: _Array) -> Any:
    wanted = _format(dtype)
    full, (a, scale) = _spread(shape, **parameters)
    out: _Array = np.empty(a.size, wanted)
    numbers.gamma(_place(*place, a.size), a, scale, out)
    return _whole(out, full)


@guarded
def gamma(
    seed: int,
    shape: _Shape | None = None,
    a: ArrayLike = 1.0,
    scale: ArrayLike = 1.0,
    *,
    dtype: DTypeLike = np.float64,
    stream: int = 0,
    offset: int = 0,
) -> Any:
    """Gamma numbers: ``RN(scale * X)``, X by the method of Marsaglia and Tsang with exact decisions; one rounding.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    shape : int or tuple of ints, optional
        Shape of the result; else that to which the parameters broadcast.
    a, scale : array_like, optional
        The shape parameter, from 2**-50 to 2**500, and positive finite factors; they
        broadcast to `shape` and are taken exactly as float64.
    dtype : dtype, optional
        float16, bfloat16, float32 or float64.
    stream : int, optional
        From 0 to 2**64 - 1.
    offset : int, optional
        The first element, not negative.

    Returns
    -------
    ndarray or scalar
        Elements offset, offset + 1, ... in C order. X is a real number, a function of
        the numbers of the element's own sequence and of `a` (specification, section
        6a); it may round to 0 where `a` is small.

    Raises
    ------
    ValueError
        A parameter is out of range or does not broadcast; `seed`, `shape`, `stream` or
        `offset` is out of range.
    TypeError
        An argument is of another type.
    """
    return _gamma((seed, stream, offset), shape, dtype, a=_positive("a", a), scale=_factor("scale", scale))


@guarded
def chisquare(
    seed: int,
    shape: _Shape | None = None,
    df: ArrayLike = 1.0,
    *,
    dtype: DTypeLike = np.float64,
    stream: int = 0,
    offset: int = 0,
) -> Any:
    """Chi-square numbers: ``gamma(seed, shape, df/2, 2)``, of which nothing else is rounded.

    Parameters
    ----------
    seed, shape, dtype, stream, offset
        As for `gamma`.
    df : array_like, optional
        Degrees of freedom, from 2**-49 to 2**501.

    Returns
    -------
    ndarray or scalar

    Raises
    ------
    ValueError, TypeError
        As `gamma`.
    """
    half = 0.5 * _positive("df", df, 2.0)
    return _gamma((seed, stream, offset), shape, dtype, df=half, scale=np.asarray(2.0))


@guarded
def beta(
    seed: int,
    shape: _Shape | None = None,
    a: ArrayLike = 1.0,
    b: ArrayLike = 1.0,
    *,
    dtype: DTypeLike = np.float64,
    stream: int = 0,
    offset: int = 0,
) -> Any:
    """Beta numbers: ``RN(X/(X + Y))`` with gamma numbers X of `a` and Y of `b`; one rounding.

    Parameters
    ----------
    seed, shape, dtype, stream
        As for `gamma`.
    a, b : array_like, optional
        From 2**-50 to 2**500; they broadcast to `shape` and are taken exactly.
    offset : int, optional
        The first element, not negative. X is element 2i of `gamma`, Y element 2i + 1.

    Returns
    -------
    ndarray or scalar
        It may round to 0 or 1.

    Raises
    ------
    ValueError, TypeError
        As `gamma`.
    """
    wanted = _format(dtype)
    full, pair = _spread(shape, a=_positive("a", a), b=_positive("b", b))
    key, which, first = _place(seed, stream, offset, 2**62 + pair[0].size)
    out = np.empty((pair[0].size, 2), wanted)
    numbers.shares((key, which, 2 * first), np.stack(pair, axis=1), out, 1)
    return _whole(np.ascontiguousarray(out[:, 0]), full)


@guarded
def dirichlet(
    seed: int,
    shape: _Shape | None = None,
    alpha: ArrayLike = (1.0, 1.0),
    *,
    dtype: DTypeLike = np.float64,
    stream: int = 0,
    offset: int = 0,
) -> Any:
    """Dirichlet numbers: each of a row's gamma numbers over their sum, ``RN(X_c/(X_0 + X_1 + ...))``; one rounding each.

    Parameters
    ----------
    seed, dtype, stream, offset
        As for `gamma`.
    shape : int or tuple of ints, optional
        Shape of the result, whose last axis is that of the rows; else that of `alpha`.
    alpha : array_like, optional
        From 2**-50 to 2**500, with at least one axis; it broadcasts to `shape` and is
        taken exactly. X_c is the gamma number of its element of the result.

    Returns
    -------
    ndarray
        Rows whose exact numbers add up to 1.

    Raises
    ------
    ValueError
        `alpha` is a scalar, or as `gamma`.
    TypeError
        As `gamma`.
    """
    wanted = _format(dtype)
    full, (a,) = _spread(shape, alpha=_positive("alpha", alpha))
    if not full:
        raise ValueError("alpha must have at least one axis")
    place = _place(seed, stream, offset, a.size)
    out: _Array = np.empty(full, wanted)
    if out.size:
        rows = out.reshape(-1, full[-1])
        numbers.shares(place, a.reshape(rows.shape), rows, full[-1])
    return out


@guarded
def poisson(seed: int, shape: _Shape | None = None, mean: ArrayLike = 1.0, *, stream: int = 0, offset: int = 0) -> Any:
    """Poisson numbers, by the ratio of uniforms with exact decisions.

    Parameters
    ----------
    seed, shape, stream, offset
        As for `gamma`.
    mean : array_like, optional
        From 0 to 2**52; it broadcasts to `shape` and is taken exactly as float64.

    Returns
    -------
    ndarray or scalar of int64

    Raises
    ------
    ValueError
        `mean` is out of range or does not broadcast; `seed`, `shape`, `stream` or
        `offset` is out of range.
    TypeError
        An argument is of another type.
    """
    full, (means,) = _spread(shape, mean=_mean("mean", mean))
    out = np.empty(means.size, np.int64)
    counts.poisson(_place(seed, stream, offset, out.size), means, out)
    return _whole(out, full)


@guarded
def binomial(
    seed: int,
    shape: _Shape | None = None,
    n: ArrayLike = 1,
    p: ArrayLike = 0.5,
    *,
    stream: int = 0,
    offset: int = 0,
) -> Any:
    """Binomial numbers, by the ratio of uniforms with exact decisions.

    Parameters
    ----------
    seed, shape, stream, offset
        As for `gamma`.
    n : array_like, optional
        Numbers of trials: whole numbers from 0 to 2**52.
    p : array_like, optional
        Chances from 0 to 1; `n` and `p` broadcast to `shape` and are taken exactly.

    Returns
    -------
    ndarray or scalar of int64

    Raises
    ------
    ValueError
        `n` or `p` is out of range, `n` is not whole, or they do not broadcast; `seed`,
        `shape`, `stream` or `offset` is out of range.
    TypeError
        An argument is of another type.
    """
    full, (many, chances) = _spread(shape, n=_trials("n", n), p=_chance("p", p))
    out = np.empty(many.size, np.int64)
    counts.binomial(_place(seed, stream, offset, out.size), many, chances, out)
    return _whole(out, full)

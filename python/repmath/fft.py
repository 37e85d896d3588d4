"""Discrete Fourier transforms, by NumPy's names: every real and imaginary part is that of the exact transform, rounded once.

A transform over several axes is one definition and rounds once overall. Results are complex64 for float16, bfloat16, float32 and
complex64, complex128 for the others, or real of that precision. The bits do not depend on the machine, the algorithm or the number of threads.
"""

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import ArrayLike, DTypeLike

from . import _core
from ._arguments import integer, integers
from ._dtypes import F32, F64, check_held, is_float, is_integer
from ._environment import guarded
from ._fractions import rounded

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_Array = np.ndarray[Any, Any]
_Norm = str | None
_Several = int | Sequence[int] | None

C64, C128 = np.dtype(np.complex64), np.dtype(np.complex128)
_FORWARD = {None: "one", "backward": "one", "ortho": "root", "forward": "n"}
_INVERSE = {None: "n", "backward": "n", "ortho": "root", "forward": "one"}


def _scale(norm: Any, table: dict[Any, str]) -> str:
    if not isinstance(norm, (str, type(None))):
        raise TypeError(f"norm must be a string or None, not {type(norm).__name__}")
    if norm not in table:
        raise ValueError(f"norm must be 'backward', 'ortho' or 'forward', not {norm!r}")
    return table[norm]


def _input(a: Any, real: bool) -> _Array:
    """The elements as float32 or float64, complex64 or complex128, without a rounding."""
    x = np.asarray(a)
    dtype = x.dtype.newbyteorder("=")
    if dtype in (C64, C128):
        if real:
            raise TypeError(f"a must be real, not {dtype}")
        return x.astype(dtype, copy=False)
    if is_float(dtype) or is_integer(dtype):
        check_held("a", x)
        wanted = F64 if is_integer(dtype) or dtype == F64 else F32
        return x.astype(wanted, copy=False)
    raise TypeError(
        f"a has dtype {x.dtype}; transforms exist for real and complex numbers of 16 to 64 bits, integers and bool"
    )


def _one_length(name: str, n: Any, default: int) -> int:
    length = default if n is None else integer(name, n)
    if length < 1:
        raise ValueError(f"{name} must be at least 1: a transform has that many points, not {length}")
    return length


def _resized(x: _Array, axis: int, count: int) -> _Array:
    """The first `count` elements along an axis, zeros where there are fewer."""
    if x.shape[axis] >= count:
        return x[(slice(None),) * axis + (slice(count),)]
    longer = np.zeros(x.shape[:axis] + (count,) + x.shape[axis + 1 :], x.dtype)
    longer[(slice(None),) * axis + (slice(x.shape[axis]),)] = x
    return longer


HERE: ContextVar[Callable[..., _Array] | None] = ContextVar("transform", default=None)  # what rounds at random, in a scope


def _transform(x: _Array, axes: tuple[int, ...], lengths: tuple[int, ...], kind: str, sign: int, scale: str) -> _Array:
    return (HERE.get() or plain)(x, axes, lengths, kind, sign, scale)


def plain(x: _Array, axes: tuple[int, ...], lengths: tuple[int, ...], kind: str, sign: int, scale: str) -> _Array:
    """The transform over these axes, which are different, of these lengths; the last one is the halved one."""
    halves = lengths[:-1] + (lengths[-1] // 2 + 1,)
    for axis, count in zip(axes, halves if kind == "to real" else lengths, strict=True):
        x = _resized(x, axis, count)
    small = x.dtype in (F32, C64)
    if x.dtype.kind != "c" and kind != "from real":
        x = x.astype(C64 if small else C128)
    shape = list(x.shape)
    for axis, count in zip(axes, halves if kind == "from real" else lengths, strict=True):
        shape[axis] = count
    dtype = (F32 if small else F64) if kind == "to real" else (C64 if small else C128)
    out = np.empty(shape, dtype)
    last = tuple(range(x.ndim - len(axes), x.ndim))
    _core.fft("f32" if small else "f64", kind, sign, scale, lengths, np.moveaxis(x, axes, last), np.moveaxis(out, axes, last))
    return out


def _along(a: Any, n: Any, axis: Any, kind: str, sign: int, scale: str) -> _Array:
    """The transform of one axis."""
    x = _input(a, kind == "from real")
    place = normalize_axis_index(integer("axis", axis), x.ndim)
    count = x.shape[place]
    return _transform(x, (place,), (_one_length("n", n, 2 * (count - 1) if kind == "to real" else count),), kind, sign, scale)


def _over(a: Any, s: Any, axes: Any, kind: str, sign: int, scale: str) -> _Array:
    """The transform of several axes."""
    x = _input(a, kind == "from real")
    wanted = None if s is None else integers("s", s)
    if axes is None:
        places = tuple(range(x.ndim)) if wanted is None else tuple(range(x.ndim - len(wanted), x.ndim))
        if places and places[0] < 0:
            raise ValueError(f"s has {len(places)} lengths for an array of {x.ndim} axes")
    else:
        places = tuple(normalize_axis_index(axis, x.ndim) for axis in integers("axes", axes))
    if wanted is not None and len(wanted) != len(places):
        raise ValueError(f"s has {len(wanted)} lengths for {len(places)} axes")
    if len(set(places)) != len(places):
        raise ValueError(f"axes has an axis twice: {axes}")
    if not places:
        if kind != "complex":
            raise ValueError("axes must name at least one axis")
        return _transform(x[..., None], (x.ndim,), (1,), kind, sign, scale)[..., 0]
    lengths = []
    for i, place in enumerate(places):
        given = None if wanted is None else x.shape[place] if wanted[i] == -1 else wanted[i]
        halved = kind == "to real" and i == len(places) - 1
        lengths.append(_one_length("s", given, 2 * (x.shape[place] - 1) if halved else x.shape[place]))
    return _transform(x, places, tuple(lengths), kind, sign, scale)


@guarded
def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: _Norm = None) -> Any:
    """The discrete Fourier transform of one axis.

    Each part of each result is RN(factor · Σ_j a_j e^(-2πi jk/n)), rounded once.

    Parameters
    ----------
    a : array_like
        Real or complex.
    n : int, optional
        Length of the transform: `a` is cut, or padded with zeros.
    axis : int, optional
        The axis.
    norm : {"backward", "ortho", "forward"}, optional
        The factor: 1, 1/√n or 1/n.

    Returns
    -------
    ndarray
        Complex, of the precision of `a`.

    Raises
    ------
    ValueError
        `n` is below 1, `axis` is out of range, or `norm` is another.
    TypeError
        `a` has a type without a transform, or an argument is no integer.
    """
    return _along(a, n, axis, "complex", -1, _scale(norm, _FORWARD))


@guarded
def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: _Norm = None) -> Any:
    """The inverse transform of one axis.

    Each part of each result is RN(factor · Σ_k a_k e^(2πi jk/n)), rounded once.

    Parameters
    ----------
    a : array_like
        Real or complex.
    n : int, optional
        Length of the transform: `a` is cut, or padded with zeros.
    axis : int, optional
        The axis.
    norm : {"backward", "ortho", "forward"}, optional
        The factor: 1/n, 1/√n or 1.

    Returns
    -------
    ndarray
        Complex, of the precision of `a`.

    Raises
    ------
    ValueError, TypeError
        As in `fft`.
    """
    return _along(a, n, axis, "complex", 1, _scale(norm, _INVERSE))


@guarded
def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: _Norm = None) -> Any:
    """The transform of one axis of real numbers: its results 0 to n // 2, which determine the others.

    Parameters
    ----------
    a : array_like
        Real.
    n, axis, norm
        As in `fft`.

    Returns
    -------
    ndarray
        Complex, of the precision of `a`.

    Raises
    ------
    ValueError, TypeError
        As in `fft`; also if `a` is complex.
    """
    return _along(a, n, axis, "from real", -1, _scale(norm, _FORWARD))


@guarded
def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: _Norm = None) -> Any:
    """The inverse of `rfft`: real numbers from the first n // 2 + 1 results of their transform.

    Element j is the real part of factor · Σ w_k a_k e^(2πi jk/n) over these k, rounded once, where w_k is 1 for k = 0 and
    k = n/2, and else 2.

    Parameters
    ----------
    a : array_like
        Real or complex.
    n : int, optional
        Length of the result, by default 2 (m - 1) for m elements along the axis.
    axis, norm
        As in `ifft`.

    Returns
    -------
    ndarray
        Real, of the precision of `a`.

    Raises
    ------
    ValueError, TypeError
        As in `fft`.
    """
    return _along(a, n, axis, "to real", 1, _scale(norm, _INVERSE))


@guarded
def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: _Norm = None) -> Any:
    """The transform, which is real, of a signal of which the first n // 2 + 1 elements are given and the others are their conjugates.

    Parameters
    ----------
    a : array_like
        Real or complex.
    n, axis
        As in `irfft`.
    norm
        As in `fft`.

    Returns
    -------
    ndarray
        Real, of the precision of `a`.

    Raises
    ------
    ValueError, TypeError
        As in `fft`.
    """
    return _along(a, n, axis, "to real", -1, _scale(norm, _FORWARD))


@guarded
def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: _Norm = None) -> Any:
    """The inverse of `hfft`: elements 0 to n // 2 of the inverse transform of real numbers.

    Parameters
    ----------
    a : array_like
        Real.
    n, axis, norm
        As in `ifft`.

    Returns
    -------
    ndarray
        Complex, of the precision of `a`.

    Raises
    ------
    ValueError, TypeError
        As in `fft`; also if `a` is complex.
    """
    return _along(a, n, axis, "from real", 1, _scale(norm, _INVERSE))


@guarded
def fftn(a: ArrayLike, s: _Several = None, axes: _Several = None, norm: _Norm = None) -> Any:
    """The transform of several axes, rounded once overall.

    Parameters
    ----------
    a : array_like
        Real or complex.
    s : tuple of ints, optional
        Lengths of the transforms; -1 leaves an axis as it is.
    axes : tuple of ints, optional
        The axes, by default all, or the last len(s) ones.
    norm : {"backward", "ortho", "forward"}, optional
        As in `fft`, with the product of the lengths.

    Returns
    -------
    ndarray
        Complex, of the precision of `a`.

    Raises
    ------
    ValueError
        `s` and `axes` do not fit, an axis is out of range or named twice, a length is below 1, or `norm` is another.
    TypeError
        As in `fft`.
    """
    return _over(a, s, axes, "complex", -1, _scale(norm, _FORWARD))


@guarded
def ifftn(a: ArrayLike, s: _Several = None, axes: _Several = None, norm: _Norm = None) -> Any:
    """The inverse transform of several axes, rounded once overall.

    Parameters
    ----------
    a, s, axes
        As in `fftn`.
    norm
        As in `ifft`, with the product of the lengths.

    Returns
    -------
    ndarray
        Complex, of the precision of `a`.

    Raises
    ------
    ValueError, TypeError
        As in `fftn`.
    """
    return _over(a, s, axes, "complex", 1, _scale(norm, _INVERSE))


@guarded
def rfftn(a: ArrayLike, s: _Several = None, axes: _Several = None, norm: _Norm = None) -> Any:
    """The transform of several axes of real numbers, of which the last one is halved as in `rfft`; rounded once overall.

    Parameters
    ----------
    a : array_like
        Real.
    s, axes, norm
        As in `fftn`.

    Returns
    -------
    ndarray
        Complex, of the precision of `a`.

    Raises
    ------
    ValueError, TypeError
        As in `fftn`; also if `a` is complex.
    """
    return _over(a, s, axes, "from real", -1, _scale(norm, _FORWARD))


@guarded
def irfftn(a: ArrayLike, s: _Several = None, axes: _Several = None, norm: _Norm = None) -> Any:
    """The inverse of `rfftn`, rounded once overall.

    Parameters
    ----------
    a, axes
        As in `fftn`.
    s : tuple of ints, optional
        Lengths of the result; that of the last axis is by default 2 (m - 1) for m elements.
    norm
        As in `ifftn`.

    Returns
    -------
    ndarray
        Real, of the precision of `a`.

    Raises
    ------
    ValueError, TypeError
        As in `fftn`.
    """
    return _over(a, s, axes, "to real", 1, _scale(norm, _INVERSE))


@guarded
def fft2(a: ArrayLike, s: _Several = None, axes: _Several = (-2, -1), norm: _Norm = None) -> Any:
    """`fftn` over the last two axes."""
    return _over(a, s, axes, "complex", -1, _scale(norm, _FORWARD))


@guarded
def ifft2(a: ArrayLike, s: _Several = None, axes: _Several = (-2, -1), norm: _Norm = None) -> Any:
    """`ifftn` over the last two axes."""
    return _over(a, s, axes, "complex", 1, _scale(norm, _INVERSE))


@guarded
def rfft2(a: ArrayLike, s: _Several = None, axes: _Several = (-2, -1), norm: _Norm = None) -> Any:
    """`rfftn` over the last two axes."""
    return _over(a, s, axes, "from real", -1, _scale(norm, _FORWARD))


@guarded
def irfft2(a: ArrayLike, s: _Several = None, axes: _Several = (-2, -1), norm: _Norm = None) -> Any:
    """`irfftn` over the last two axes."""
    return _over(a, s, axes, "to real", 1, _scale(norm, _INVERSE))


def _frequencies(k: _Array, n: Any, d: Any, dtype: DTypeLike | None) -> _Array:
    """RN(k/(n d)) of integers."""
    form = F64 if dtype is None else np.dtype(dtype)
    if form not in (F32, F64):
        raise TypeError(f"dtype is {form}; it must be float32 or float64")
    count = _one_length("n", n, 0)
    if isinstance(d, (bool, str)) or not hasattr(d, "__float__"):
        raise TypeError(f"d must be a number, not {type(d).__name__}")
    spacing = float(d)
    if not math.isfinite(spacing) or spacing == 0.0:
        raise ValueError(f"d must be finite and not 0, not {d}")
    product = Fraction(count) * Fraction(spacing)
    if form == F32:
        return rounded([int(i) / product for i in k], F32)
    divisor = count * spacing
    if math.isfinite(divisor) and Fraction(divisor) == product and abs(divisor) >= 2.0**-900:
        return np.asarray(k / divisor + 0.0)

    def quotient(i: int) -> float:
        try:
            return i * product.denominator / product.numerator + 0.0
        except OverflowError:
            return math.inf if i * spacing > 0 else -math.inf

    return np.array([quotient(int(i)) for i in k], F64)


@guarded
def fftfreq(n: int, d: float = 1.0, *, dtype: DTypeLike | None = None) -> _Array:
    """The frequencies of the results of `fft`: RN(k/(n d)) for k = 0, 1, ..., -2, -1.

    Parameters
    ----------
    n : int
        Length of the transform.
    d : float, optional
        Spacing of the elements, exact.
    dtype : dtype, optional
        float32 or float64, by default float64.

    Returns
    -------
    ndarray
        Of the dtype.

    Raises
    ------
    ValueError
        `n` is below 1, or `d` is 0 or not finite.
    TypeError
        `n` is no integer, `d` no number, or `dtype` another.
    """
    count = _one_length("n", n, 0)
    return _frequencies(np.concatenate([np.arange((count + 1) // 2), np.arange(-(count // 2), 0)]), n, d, dtype)


@guarded
def rfftfreq(n: int, d: float = 1.0, *, dtype: DTypeLike | None = None) -> _Array:
    """The frequencies of the results of `rfft`: RN(k/(n d)) for k = 0 ... n // 2; arguments as in `fftfreq`."""
    return _frequencies(np.arange(_one_length("n", n, 0) // 2 + 1), n, d, dtype)


@guarded
def fftshift(x: ArrayLike, axes: _Several = None) -> Any:
    """The elements moved so that frequency 0 is in the middle of the axes, by default of all."""
    return np.fft.fftshift(np.asarray(x), axes)


@guarded
def ifftshift(x: ArrayLike, axes: _Several = None) -> Any:
    """The inverse of `fftshift`."""
    return np.fft.ifftshift(np.asarray(x), axes)

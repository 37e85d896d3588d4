"""Random numbers without state: `repmath.random.uniform(seed, shape, stream=..., offset=...)`.

Element i of stream s under seed k is a function of (k, s, i) alone, the same on every machine, whatever is computed before it and by
however many threads; the definitions are in section 6 of the specification. The elements of an array are offset, offset + 1, ... in
C order. Functions that use the same elements of the same stream give numbers that depend on each other: give each its own stream, or
let `Stream` count.
"""

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ._distributions import beta, binomial, chisquare, dirichlet, gamma, poisson
from ._dtypes import F64, NAMES, check_held, common
from ._environment import guarded
from ._frameworks import shape_of
from ._memory import asarray, calls, contiguous, empty
from ._random_arguments import _BEYOND, _Array, _format, _integer, _place, _probability, _real, _Shape, _shape


def _fill(what: str, place: tuple[Any, Any, Any], out: _Array, **parameters: Any) -> Any:
    calls(out).random_fill(what, _place(*place, out.size), out.reshape(-1), **parameters)
    return out if out.ndim else out[()]


@guarded
def bits(seed: int, shape: _Shape = (), *, dtype: DTypeLike = np.uint32, stream: int = 0, offset: int = 0) -> Any:
    """The generator's bits: words of 32 or draws of 64.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    shape : int or tuple of ints, optional
        Shape of the result.
    dtype : dtype, optional
        uint32: element i is word i mod 4 of block i // 4; uint64: word 2i plus 2**32
        times word 2i + 1.
    stream : int, optional
        From 0 to 2**64 - 1.
    offset : int, optional
        The first element, not negative.

    Returns
    -------
    ndarray or scalar

    Raises
    ------
    ValueError
        `seed`, `shape`, `stream` or `offset` is out of range.
    TypeError
        One of these is no integer, or `dtype` is another.
    """
    wanted: np.dtype[Any] = np.dtype(dtype)
    if wanted not in (np.dtype(np.uint32), np.dtype(np.uint64)):
        raise TypeError(f"dtype must be uint32 or uint64, not {wanted}")
    what = "words32" if wanted.itemsize == 4 else "words64"
    return _fill(what, (seed, stream, offset), np.empty(_shape(shape), wanted))


@guarded
def uniform(
    seed: int,
    shape: _Shape = (),
    low: float = 0.0,
    high: float = 1.0,
    *,
    dtype: DTypeLike = np.float64,
    stream: int = 0,
    offset: int = 0,
) -> Any:
    """Uniform numbers: ``RN(low + u * (high - low))``.

    Parameters
    ----------
    seed, shape, stream, offset
        As for `bits`.
    low, high : float, optional
        Any float64 numbers, ``low <= high``, that are finite in `dtype`.
    dtype : dtype, optional
        float16, bfloat16, float32 or float64.

    Returns
    -------
    ndarray or scalar
        ``u = m * 2**-p`` with p the bits of a significand (11, 8, 24, 53) and m the
        highest p bits of the element's word, for float64 of its draw. So u is
        below 1, but rounding may give `high`.

    Raises
    ------
    ValueError
        `low` exceeds `high` or one of them rounds to infinity; `seed`, `shape`,
        `stream` or `offset` is out of range.
    TypeError
        An argument is of another type.
    """
    wanted = _format(dtype)
    ends = _real("low", low), _real("high", high)
    for name, value in zip(("low", "high"), ends, strict=True):
        if not abs(value) < _BEYOND[NAMES[wanted]]:
            raise ValueError(f"{name} must be finite in {wanted}, not {value}")
    if ends[0] > ends[1]:
        raise ValueError(f"low must not exceed high: {ends[0]} > {ends[1]}")
    out = np.empty(_shape(shape), wanted)
    return _fill("uniform", (seed, stream, offset), out, format=NAMES[wanted], a=ends[0], b=ends[1])


@guarded
def normal(
    seed: int,
    shape: _Shape = (),
    mean: float = 0.0,
    std: float = 1.0,
    *,
    dtype: DTypeLike = np.float64,
    stream: int = 0,
    offset: int = 0,
) -> Any:
    """Normal numbers: ``RN(mean + std * z)``, z the quantile of the element's draw; one rounding.

    Parameters
    ----------
    seed, shape, stream, offset
        As for `bits`.
    mean, std : float, optional
        Any finite float64 numbers, `std` not negative; taken exactly.
    dtype : dtype, optional
        float16, bfloat16, float32 or float64.

    Returns
    -------
    ndarray or scalar
        With d the 64 bits of the element's draw, z is the real number of which the
        normal distribution has ``(d + 1/2) * 2**-64`` below it; it is between -9.2
        and 9.2.

    Raises
    ------
    ValueError
        `mean` or `std` is not finite, or `std` is negative; `seed`, `shape`, `stream`
        or `offset` is out of range.
    TypeError
        An argument is of another type.
    """
    wanted = _format(dtype)
    centre, spread = _real("mean", mean), _real("std", std)
    if not math.isfinite(centre):
        raise ValueError(f"mean must be finite, not {centre}")
    if not (math.isfinite(spread) and spread >= 0):
        raise ValueError(f"std must be finite and not negative, not {spread}")
    out = np.empty(_shape(shape), wanted)
    return _fill("normal", (seed, stream, offset), out, format=NAMES[wanted], a=centre, b=spread)


@guarded
def truncated_normal(
    seed: int,
    shape: _Shape = (),
    mean: float = 0.0,
    std: float = 1.0,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    dtype: DTypeLike = np.float64,
    stream: int = 0,
    offset: int = 0,
) -> Any:
    """Normal numbers between two ends: ``RN(mean + std * Phi^-1((1 - U) * Phi(a) + U * Phi(b)))``; one rounding.

    Parameters
    ----------
    seed, shape, stream, offset
        As for `bits`.
    mean, std : float, optional
        Of the distribution before it is cut off; ``abs(mean) <= 2**50 * std``.
    low, high : float, optional
        The ends, which may be infinite; at least ``2**-100 * std`` apart. What is
        between them must come within 30 `std` of `mean`.
    dtype : dtype, optional
        float16, bfloat16, float32 or float64.

    Returns
    -------
    ndarray or scalar
        Phi is the normal distribution function, ``a = (low - mean)/std``, ``b = (high
        - mean)/std`` and ``U = (d + 1/2) * 2**-64`` for the element's draw d, all
        real numbers. Rounding may give an end, as the format rounds it.

    Raises
    ------
    ValueError
        One of the parameters is out of range; `seed`, `shape`, `stream` or `offset`
        is.
    TypeError
        An argument is of another type.
    """
    wanted = _format(dtype)
    centre, spread = _real("mean", mean), _real("std", std)
    ends = _real("low", low), _real("high", high)
    if not math.isfinite(centre):
        raise ValueError(f"mean must be finite, not {centre}")
    if not (math.isfinite(spread) and spread > 0 and abs(centre) <= spread * 2.0**50):
        raise ValueError(f"std must be finite, positive and at least 2**-50 times the mean, not {spread}")
    if not ends[0] < centre + 30 * spread:
        raise ValueError(f"low must be less than 30 std above the mean, not {ends[0]}")
    if not (ends[1] > centre - 30 * spread and ends[1] - ends[0] >= spread * 2.0**-100):
        raise ValueError(f"high must exceed low and be less than 30 std below the mean, not {ends[1]}")
    out = np.empty(_shape(shape), wanted)
    return _fill("truncated_normal", (seed, stream, offset), out, format=NAMES[wanted], a=centre, b=spread, ends=ends)


@guarded
def bernoulli(seed: int, shape: _Shape = (), p: float = 0.5, *, stream: int = 0, offset: int = 0) -> Any:
    """True with probability p: where a float64 uniform number is below p.

    Parameters
    ----------
    seed, shape, stream, offset
        As for `bits`.
    p : float, optional
        From 0 to 1, taken exactly. The probability is p rounded up to a multiple of
        2**-53.

    Returns
    -------
    ndarray or scalar of bool

    Raises
    ------
    ValueError
        `p` is not from 0 to 1; `seed`, `shape`, `stream` or `offset` is out of range.
    TypeError
        An argument is of another type.
    """
    out = np.empty(_shape(shape), np.bool_)
    return _fill("bernoulli", (seed, stream, offset), out, a=_probability(p))


@guarded
def randint(
    seed: int,
    shape: _Shape = (),
    low: int = 0,
    high: int | None = None,
    *,
    dtype: DTypeLike = np.int64,
    stream: int = 0,
    offset: int = 0,
) -> Any:
    """Integers from low, included, to high, excluded.

    Parameters
    ----------
    seed, shape, stream, offset
        As for `bits`.
    low, high : int
        With one of them given, the integers are from 0 to it.
    dtype : dtype, optional
        An integer type that holds `low` and ``high - 1``.

    Returns
    -------
    ndarray or scalar
        ``low + floor((high - low) * U)``, with U the 192 bits of the element's draw and
        of a block of its own, as a fraction. Each integer has a probability that
        differs from ``1/(high - low)`` by less than 2**-192.

    Raises
    ------
    ValueError
        `high` does not exceed `low`, or `dtype` does not hold the integers; `seed`,
        `shape`, `stream` or `offset` is out of range.
    TypeError
        An argument is of another type.
    """
    wanted: np.dtype[Any] = np.dtype(dtype)
    if wanted.kind not in "iu":
        raise TypeError(f"dtype must be an integer type, not {wanted}")
    info = np.iinfo(wanted)
    first, end = (0, low) if high is None else (low, high)
    first = _integer("low", first, int(info.min), int(info.max), f"from {info.min} to {info.max} for {wanted}")
    end = _integer(
        "high", end, int(info.min) + 1, int(info.max) + 1, f"from {info.min + 1} to {int(info.max) + 1} for {wanted}"
    )
    if end <= first:
        raise ValueError(f"high must exceed low: {end} <= {first}")
    out = np.empty(_shape(shape), np.int64)
    unsigned = wanted == np.dtype(np.uint64)
    shift = 2**63 if unsigned else 0  # uint64 is int64 with the highest bit changed
    _fill("integers", (seed, stream, offset), out, a=first - shift, b=end - 1 - shift)
    result = out.view(np.uint64) ^ np.uint64(shift) if unsigned else out.astype(wanted, copy=False)
    return result if out.ndim else result[()]


@guarded
def permutation(seed: int, x: int | ArrayLike, *, stream: int = 0, offset: int = 0) -> Any:
    """The numbers from 0 to n - 1 in random order, or an array in the order that they name.

    Parameters
    ----------
    seed, stream, offset
        As for `bits`. An order of n numbers uses n elements of 64 bits.
    x : int or array_like
        n; or an array, which is copied with its first axis in the new order.

    Returns
    -------
    ndarray
        The numbers ordered by the draws of their elements; equal draws by 128 more
        bits of each.

    Raises
    ------
    ValueError
        `x` is negative or a scalar array; `seed`, `stream` or `offset` is out of range.
    TypeError
        An argument is of another type.
    """
    if isinstance(x, (int, np.integer)):
        n = _integer("x", x, 0, 2**63 - 1, "not negative")
        return _fill("permutation", (seed, stream, offset), np.empty(n, np.int64))
    a = np.asarray(x)
    if a.ndim == 0:
        raise ValueError("x must be an integer or have at least one axis")
    return a[_fill("permutation", (seed, stream, offset), np.empty(len(a), np.int64))]


@guarded
def dropout(x: ArrayLike, p: float, seed: int, *, stream: int = 0, offset: int = 0) -> Any:
    """Elements of x set to zero with probability p, the others scaled: ``RN(x/(1 - p))``.

    Parameters
    ----------
    x : array_like
        Of float16, bfloat16, float32 or float64; integers and bool become float64.
    p : float
        From 0 to 1, taken exactly.
    seed, stream, offset
        As for `bits`.

    Returns
    -------
    ndarray or scalar
        Of the shape and format of `x`: +0 where ``bernoulli(seed, x.shape, p,
        stream=stream, offset=offset)`` is true, even of a NaN.

    Raises
    ------
    ValueError
        `p` is not from 0 to 1; integers beyond 2**53; `seed`, `stream` or `offset` is
        out of range.
    TypeError
        An argument is of another type.
    """
    return _dropped("x", x, p, (seed, stream, offset))


def _dropped(name: str, x: ArrayLike, p: float, place: tuple[int, int, int]) -> Any:
    a = asarray(x)
    check_held(name, a)
    source = contiguous(a.astype(common(a.dtype), copy=False)).reshape(-1)
    out = empty(a.shape, source.dtype, source)
    return _fill("dropout", place, out, format=NAMES[out.dtype], a=_probability(p), x=source)


@guarded
def dropout_backward(g: ArrayLike, p: float, seed: int, *, stream: int = 0, offset: int = 0) -> Any:
    """Gradient of `dropout`: ``RN(g/(1 - p))`` where the element was kept, else +0.

    Parameters
    ----------
    g : array_like
        The gradient of the result, as `x` of `dropout`.
    p, seed, stream, offset
        Those of `dropout`.

    Returns
    -------
    ndarray or scalar

    Raises
    ------
    ValueError, TypeError
        As `dropout`.
    """
    return _dropped("g", g, p, (seed, stream, offset))


class Stream:
    """Random numbers one call after the other: a seed, a stream and a position in it.

    Each call takes the blocks of the generator from `position` on, four words or two
    draws each, and moves the position behind them, so that no two calls share any.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    stream : int, optional
        From 0 to 2**64 - 1. Different streams share no blocks.
    position : int, optional
        The first block that is used, not negative.

    Attributes
    ----------
    seed, stream, position : int

    Raises
    ------
    ValueError
        An argument is out of range; in a call, the stream has no more blocks.
    TypeError
        An argument is no integer.
    """

    def __init__(self, seed: int, stream: int = 0, position: int = 0) -> None:
        self.seed, self.stream, _ = _place(seed, stream, 0, 0)
        self.position = _integer("position", position, 0, 2**61 - 1, "from 0 to 2**61 - 1")

    def __repr__(self) -> str:
        return f"Stream(seed={self.seed}, stream={self.stream}, position={self.position})"

    def _take(self, function: Any, n: int, per_block: int, *arguments: Any, **keywords: Any) -> Any:
        """The function's result, for n elements of which a block has so many; the position moves when it has one."""
        place = {"stream": self.stream, "offset": self.position * per_block}
        result = function(*arguments, **keywords, **place)
        self.position += -(-n // per_block)
        return result

    def bits(self, shape: _Shape = (), *, dtype: DTypeLike = np.uint32) -> Any:
        """As the function of this name."""
        per_block = 4 if np.dtype(dtype) == np.dtype(np.uint32) else 2
        return self._take(bits, math.prod(_shape(shape)), per_block, self.seed, shape, dtype=dtype)

    def uniform(self, shape: _Shape = (), low: float = 0.0, high: float = 1.0, *, dtype: DTypeLike = np.float64) -> Any:
        """As the function of this name."""
        per_block = 2 if np.dtype(dtype) == F64 else 4
        return self._take(uniform, math.prod(_shape(shape)), per_block, self.seed, shape, low, high, dtype=dtype)

    def normal(self, shape: _Shape = (), mean: float = 0.0, std: float = 1.0, *, dtype: DTypeLike = np.float64) -> Any:
        """As the function of this name."""
        return self._take(normal, math.prod(_shape(shape)), 2, self.seed, shape, mean, std, dtype=dtype)

    def truncated_normal(
        self,
        shape: _Shape = (),
        mean: float = 0.0,
        std: float = 1.0,
        low: float = -math.inf,
        high: float = math.inf,
        *,
        dtype: DTypeLike = np.float64,
    ) -> Any:
        """As the function of this name."""
        n = math.prod(_shape(shape))
        return self._take(truncated_normal, n, 2, self.seed, shape, mean, std, low, high, dtype=dtype)

    def bernoulli(self, shape: _Shape = (), p: float = 0.5) -> Any:
        """As the function of this name."""
        return self._take(bernoulli, math.prod(_shape(shape)), 2, self.seed, shape, p)

    def randint(self, shape: _Shape = (), low: int = 0, high: int | None = None, *, dtype: DTypeLike = np.int64) -> Any:
        """As the function of this name."""
        return self._take(randint, math.prod(_shape(shape)), 2, self.seed, shape, low, high, dtype=dtype)

    def permutation(self, x: int | ArrayLike) -> Any:
        """As the function of this name."""
        size = operator.index(x) if isinstance(x, (int, np.integer)) else (shape_of("x", x) or (1,))[0]
        return self._take(permutation, size, 2, self.seed, x)

    def _advance(self, function: Any, per_block: int, *arguments: Any, **keywords: Any) -> Any:
        """The same for functions whose parameters decide how many elements there are."""
        result = function(self.seed, *arguments, **keywords, stream=self.stream, offset=self.position * per_block)
        self.position += -(-math.prod(shape_of("result", result)) // per_block)
        return result

    def gamma(
        self, shape: _Shape | None = None, a: ArrayLike = 1.0, scale: ArrayLike = 1.0, *, dtype: DTypeLike = np.float64
    ) -> Any:
        """As the function of this name."""
        return self._advance(gamma, 2, shape, a, scale, dtype=dtype)

    def chisquare(self, shape: _Shape | None = None, df: ArrayLike = 1.0, *, dtype: DTypeLike = np.float64) -> Any:
        """As the function of this name."""
        return self._advance(chisquare, 2, shape, df, dtype=dtype)

    def beta(
        self, shape: _Shape | None = None, a: ArrayLike = 1.0, b: ArrayLike = 1.0, *, dtype: DTypeLike = np.float64
    ) -> Any:
        """As the function of this name."""
        return self._advance(beta, 1, shape, a, b, dtype=dtype)

    def dirichlet(self, shape: _Shape | None = None, alpha: ArrayLike = (1.0, 1.0), *, dtype: DTypeLike = np.float64) -> Any:
        """As the function of this name."""
        return self._advance(dirichlet, 2, shape, alpha, dtype=dtype)

    def poisson(self, shape: _Shape | None = None, mean: ArrayLike = 1.0) -> Any:
        """As the function of this name."""
        return self._advance(poisson, 2, shape, mean)

    def binomial(self, shape: _Shape | None = None, n: ArrayLike = 1, p: ArrayLike = 0.5) -> Any:
        """As the function of this name."""
        return self._advance(binomial, 2, shape, n, p)

    def dropout(self, x: ArrayLike, p: float) -> Any:
        """As the function of this name. The position before the call is what the gradient needs, as ``offset=2 * position``."""
        return self._take(dropout, math.prod(shape_of("x", x)), 2, x, p, self.seed)


__all__ = [
    "Stream",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "chisquare",
    "dirichlet",
    "dropout",
    "dropout_backward",
    "gamma",
    "normal",
    "permutation",
    "poisson",
    "randint",
    "truncated_normal",
    "uniform",
]

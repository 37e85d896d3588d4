"""Accumulator: an exact sum to which numbers are added piece by piece."""

import threading
from fractions import Fraction
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import _core
from ._dtypes import F64, NAMES, check, is_integer
from ._environment import guarded
from ._reductions import _terms
from .rounding import MODES

_Float = TypeVar("_Float", bound=np.floating[Any])


def _pieces(name: str, a: ArrayLike) -> list[np.ndarray]:
    """Contiguous arrays of a supported format whose exact sum is a; integers that need more than 53 bits give two."""
    x = np.asarray(a)
    check(name, x.dtype)
    if is_integer(x.dtype):
        return _terms(x, F64)
    return [np.ascontiguousarray(x, dtype=x.dtype.newbyteorder("="))]


def _as_bytes(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8)


class Accumulator:
    """An exact sum: numbers and products are added in any order, totals are merged, and the total is rounded on request.

    Nothing is rounded before `round`, so the result does not depend on how the
    terms were split over calls, threads, processes or machines. A total of at
    least 2**60 terms fits, each as large as the largest product of two float64
    numbers.

    Parameters
    ----------
    terms : array_like, optional
        The first terms, as for `add`.

    Examples
    --------
    >>> a = Accumulator([1e300, 1.0])
    >>> a.add(-1e300)
    >>> float(a)
    1.0

    Notes
    -----
    A NaN term, a product 0*inf, or infinities of both signs make every later
    result NaN; otherwise an infinity wins. Methods may be called from several
    threads; one accumulator a thread, merged at the end, is faster.
    """

    __slots__ = ("_lock", "_sum")

    def __init__(self, terms: ArrayLike | None = None) -> None:
        self._sum = _core.ExactSum()
        self._lock = threading.Lock()
        if terms is not None:
            self.add(terms)

    @guarded
    def add(self, x: ArrayLike) -> None:
        """Add every element as a term.

        Parameters
        ----------
        x : array_like
            Of float16, bfloat16, float32, float64, integers or bool, any shape.

        Raises
        ------
        TypeError
            `x` is of another type.
        OverflowError
            The total would not fit; it stays as it was.
        """
        pieces = _pieces("x", x)
        self._feed(lambda total: [total.add(NAMES[piece.dtype], _as_bytes(piece)) for piece in pieces], len(pieces))

    def subtract(self, x: ArrayLike) -> None:
        """Add the negative of every element. Arguments and errors are those of `add`; OverflowError as in `merge`."""
        other = Accumulator()
        other.add(x)
        with self._lock:
            self._sum.subtract(other._sum)

    @guarded
    def add_products(self, x: ArrayLike, y: ArrayLike) -> None:
        """Add the exact products of the elements of x and y.

        Parameters
        ----------
        x, y : array_like
            Of float16, bfloat16, float32, float64, integers or bool, of shapes
            that broadcast.

        Raises
        ------
        TypeError
            `x` or `y` is of another type.
        ValueError
            The shapes do not broadcast.
        OverflowError
            The total would not fit; it stays as it was.
        """
        left, right = _pieces("x", x), _pieces("y", y)
        if left[0].dtype != right[0].dtype:  # float64 holds both
            left, right = ([piece.astype(F64) for piece in side] for side in (left, right))
        pairs = [np.broadcast_arrays(a, b) for a in left for b in right]
        self._feed(
            lambda total: [total.add_products(NAMES[a.dtype], _as_bytes(a), _as_bytes(b)) for a, b in pairs], len(pairs)
        )

    def _feed(self, add: Any, parts: int) -> None:
        """Adds to the total by calling add; several parts go through a temporary total, so that an error leaves the total unchanged."""
        if parts == 1:
            with self._lock:
                add(self._sum)
            return
        other = _core.ExactSum()
        add(other)
        with self._lock:
            self._sum.merge(other)

    def merge(self, other: "Accumulator") -> None:
        """Add the total of another accumulator, exactly.

        Raises
        ------
        TypeError
            `other` is not an Accumulator.
        OverflowError
            The total would not fit; it stays as it was.
        """
        self._combine(other, _core.ExactSum.merge)

    def _combine(self, other: "Accumulator", operation: Any) -> None:
        if not isinstance(other, Accumulator):
            raise TypeError(f"other must be an Accumulator, not {type(other).__name__}")
        copy = other.copy() if other is not self else self  # two locks are never held at once
        with self._lock:
            operation(self._sum, copy._sum)

    def __iadd__(self, other: Any) -> "Accumulator":
        if isinstance(other, Accumulator):
            self.merge(other)
        else:
            self.add(other)
        return self

    def __isub__(self, other: Any) -> "Accumulator":
        if isinstance(other, Accumulator):
            self._combine(other, _core.ExactSum.subtract)
        else:
            self.subtract(other)
        return self

    def __add__(self, other: Any) -> "Accumulator":
        if not isinstance(other, Accumulator):
            return NotImplemented
        result = self.copy()
        result += other
        return result

    def __sub__(self, other: Any) -> "Accumulator":
        if not isinstance(other, Accumulator):
            return NotImplemented
        result = self.copy()
        result -= other
        return result

    @overload
    def round(self, dtype: type[_Float], mode: str = "nearest") -> _Float: ...
    @overload
    def round(self, dtype: DTypeLike = ..., mode: str = "nearest") -> np.floating[Any]: ...
    def round(self, dtype: DTypeLike = np.float64, mode: str = "nearest") -> Any:
        """The total, rounded once.

        Parameters
        ----------
        dtype : dtype, optional
            float16, bfloat16, float32 or float64.
        mode : {"nearest", "toward_zero", "down", "up"}, optional
            To nearest with ties to even, toward zero, toward -infinity, toward
            +infinity.

        Returns
        -------
        scalar of `dtype`
            An exact zero, and the total of no terms, is +0. NumPy's errstate has
            no say: nothing warns.

        Raises
        ------
        TypeError
            `dtype` is none of these.
        ValueError
            `mode` is none of these.
        """
        result: np.dtype[Any] = np.dtype(dtype)
        if result not in NAMES:
            raise TypeError(f"dtype must be one of {', '.join(str(d) for d in NAMES)}, not {result}")
        if not isinstance(mode, str) or mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
        out = np.empty(1, result)
        with self._lock:
            self._sum.round(NAMES[result], out.view(np.uint8), mode)
        return out[0]

    def __float__(self) -> float:
        return float(self.round())

    def to_bytes(self) -> bytes:
        """The total as 544 bytes, the same on every machine for the same finite total."""
        with self._lock:
            data: bytes = self._sum.write()
        return data

    def _finite(self) -> bool:
        """Whether no term was an infinity or NaN, which the sixth byte names."""
        return self.to_bytes()[5] == 0

    def _exact(self) -> Fraction:
        """The total, all of whose terms are finite. After a header of 8 bytes follow digits of 32 bits; the lowest 68 are the fraction."""
        units = int.from_bytes(self.to_bytes()[8:], "little", signed=True)
        zeros = (
            min((units & -units).bit_length() - 1, 32 * 68) if units else 32 * 68
        )  # without them Fraction has little to divide
        return Fraction(units >> zeros, 1 << 32 * 68 - zeros)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Accumulator":
        """The accumulator that `to_bytes` wrote.

        Raises
        ------
        ValueError
            `data` is not such a string, or of another version.
        TypeError
            `data` has no bytes.
        """
        result = cls()
        result._sum.read(data)
        return result

    def copy(self) -> "Accumulator":
        """Another accumulator with the same total."""
        return Accumulator.from_bytes(self.to_bytes())

    def __copy__(self) -> "Accumulator":
        return self.copy()

    def __deepcopy__(self, memo: Any) -> "Accumulator":
        return self.copy()

    def __reduce__(self) -> Any:
        return Accumulator.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"<repmath.Accumulator, total about {float(self)!r}>"

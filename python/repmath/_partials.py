"""Parts of exact sums, which several processes join by adding binary64 numbers: repmath/partials.h for arrays in main memory.

A part has sums and two arrays whose products bound their errors. Parts of one array are joined by adding up all three, in any order; `rounded` gives the
result and the places that the bound leaves open, and `joined` adds the sums itself; windows of these, which every part makes, are added up as integers, and `decide`
rounds them.
"""

import ctypes
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._config import _loaded
from ._convolution import _Geometry
from ._dtypes import FORMATS, NAMES

_Array = np.ndarray[Any, Any]
WINDOW, MAX_JOINS = 21, 1 << 20  # of the header
_NUMBERS = {"f16": 0, "bf16": 1, "f32": 2, "f64": 3}


class Part(NamedTuple):
    """sums has the shape of the result. Errors are at most the roots of rows[i] cols[j], for sums as a matrix of len(rows) rows; of a convolution of several groups
    such a matrix for each, with a row of cols."""

    sums: _Array
    rows: _Array
    cols: _Array


def _address(a: _Array | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if a is None else a.ctypes.data)


def _call(name: str, *arguments: Any) -> None:
    """Arrays are their addresses, other integers of 64 bits. MemoryError or ValueError for a status that is not 0."""
    given = [_address(a) if isinstance(a, np.ndarray) else ctypes.c_int64(a) if type(a) is int else a for a in arguments]
    status = int(getattr(_loaded(), f"rm_{name}")(*given))
    if status:
        raise (MemoryError if status & 255 == 6 else ValueError)(_core.status_message(status))


def _format(dtype: np.dtype[Any]) -> ctypes.c_int:
    name = NAMES.get(dtype, "f64")
    if name == "f64":
        raise TypeError(f"parts are of float16, bfloat16 and float32, not of {dtype}")
    return ctypes.c_int(_NUMBERS[name])


class Sum:
    """Terms of a sum: `part` and `windows` are what processes join. The operands must stay as they are."""

    def __init__(self, name: str, given: tuple[Any, ...], *shapes: tuple[int, ...]) -> None:
        self._name, self._given, self._shapes = name, given, shapes

    def part(self, joins: int) -> Part:
        """joins: how many additions a sum passes at most where parts are joined before they are rounded, ranks - 1 for instance."""
        made = Part(*(np.empty(shape) for shape in self._shapes))
        _call(f"{self._name}_partial", *self._given, joins, *made)
        return made

    def windows(self, places: _Array) -> _Array:
        """An array of int64 of len(places) x WINDOW, for places in the order of C. A norm's weight has none."""
        at = np.ascontiguousarray(places, np.int64)
        found = np.empty((len(at), WINDOW), np.int64)
        _call(f"{self._name}_windows", *self._given, len(at), at, found)
        return found


def _operand(a: _Array) -> tuple[Any, ...]:
    return a, *a.strides


def product(a: _Array, b: _Array) -> Sum:
    """a b, of matrices of one format."""
    if a.dtype != b.dtype or a.shape[1:] != b.shape[:1]:
        raise ValueError(f"a and b have shapes {a.shape} and {b.shape}, and dtypes {a.dtype} and {b.dtype}")
    (m, k), n = a.shape, b.shape[1]
    return Sum("matmul", (_format(a.dtype), m, n, k, *_operand(a), *_operand(b)), (m, n), (m,), (n,))


def total(x: _Array) -> Sum:
    """The sum of the rows of a matrix, as a matrix of one row."""
    return product(np.broadcast_to(np.ones(1, x.dtype), (1, len(x))), x)


def scattered(values: _Array, index: _Array, rows: int) -> Sum:
    """A matrix of so many rows: the rows of values, each added to that which the index names."""
    at = np.ascontiguousarray(index, np.int64)
    if at.shape != values.shape[:1]:
        raise ValueError(f"index has shape {at.shape}, values {values.shape}")
    n, cols = values.shape
    given = (_format(values.dtype), rows, cols, n, at, 8, *_operand(values))
    return Sum("scatter", given, (rows, cols), (rows,), (cols,))


def convolved(
    x: _Array,
    shape: tuple[int, ...],
    g: _Array,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Sum:
    """The gradient of a convolution with respect to its weight of this shape, as conv1d_grad_weight and its like have it."""
    from ._cuda._structures import Conv

    dims = len(shape) - 2
    c = _Geometry(dims, x.shape, shape, stride, padding, dilation, groups)
    if g.shape != c.y_shape or g.dtype != x.dtype:
        raise ValueError(f"g has shape {g.shape} and dtype {g.dtype}; the convolution's result has {c.y_shape} and {x.dtype}")
    conv = Conv(dims, c.batch, c.channels_in, c.channels_out, c.groups, c.size, c.kernel, c.stride, c.dilation, c.low, c.high)
    strides = [(ctypes.c_ssize_t * 5)(*a.strides) for a in (x, g)]
    given = (_format(x.dtype), ctypes.byref(conv), x, strides[0], g, strides[1])
    return Sum("conv_grad_weight", given, shape, shape[:1], (groups, int(np.prod(shape[1:]))))


def normed(g: _Array, x: _Array, blocks: int, centered: bool, eps: float) -> Sum:
    """The gradient with respect to the weights of norms, of sets with their own statistics: g and x are of four axes, those of sets, blocks and elements. A weight
    belongs to each element, with blocks 0, or to each second index of a set, for 1, and to each block of those."""
    from ._cuda._structures import NormSets

    if g.shape != x.shape or g.dtype != x.dtype or x.ndim != 4:
        raise ValueError(f"g and x have shapes {g.shape} and {x.shape}, and dtypes {g.dtype} and {x.dtype}")
    sets = NormSets(centered, x.shape[:2], *x.shape[2:])
    strides = [(ctypes.c_ssize_t * 4)(*a.strides) for a in (g, x)]
    none = (ctypes.c_void_p(None),) * 4
    n = x.shape[1] * blocks if blocks else x.shape[3]
    given = (_format(x.dtype), ctypes.byref(sets), g, strides[0], x, strides[1], *none, ctypes.c_double(eps), blocks)
    return Sum("normalize_weight", given, (1, n), (1,), (n,))


def rounded(sums: _Array, rows: _Array, cols: _Array, dtype: np.dtype[Any]) -> tuple[_Array, _Array]:
    """Joined sums, a contiguous matrix or its rows, rounded to the dtype wherever their bounds decide; and the places of the others, in order."""
    out = np.empty((len(rows), len(cols)), dtype)
    if sums.dtype != FORMATS["f64"] or sums.shape != out.shape:
        raise ValueError(f"sums must be float64 of shape {out.shape}, not {sums.dtype} of {sums.shape}")
    arrays = [np.ascontiguousarray(a, np.float64) for a in (sums, rows, cols)]
    return _round("round_partials", (_format(out.dtype), *out.shape, *arrays), out)


def joined(
    parts: _Array, dtype: np.dtype[Any], first: int = 0, bounds: tuple[_Array, _Array] | None = None
) -> tuple[_Array, _Array]:
    """The sums of the rows of `parts`, rounded to the dtype wherever that is decided; and the places of the others, in order.

    bounds: those of all parts together, of rows and of columns, in which the elements lie from the place `first` on; None if each number is its exact sum, rounded.
    """
    if parts.dtype != FORMATS["f64"] or parts.ndim != 2 or (parts.size and parts.strides[1] != 8):
        raise ValueError(f"parts must be a matrix of float64 with contiguous rows, not {parts.dtype} of {parts.shape}")
    out = np.empty(parts.shape[1], dtype)
    if out.size == 0:  # of a rank whose share is empty; there may be no bounds of it
        return out, np.empty(0, np.int64)
    rows, cols = (None, None) if bounds is None else (np.ascontiguousarray(a, np.float64) for a in bounds)
    if rows is not None and cols is not None and len(rows) * len(cols) < first + out.size:
        raise ValueError(f"bounds of {len(rows)} rows and {len(cols)} columns for {out.size} elements from {first} on")
    step = ctypes.c_ssize_t(parts.strides[0])
    given = (_format(out.dtype), len(parts), out.size, parts, step, first, 0 if cols is None else len(cols))
    return _round("join_partials", (*given, *(ctypes.c_void_p(None) if a is None else a for a in (rows, cols))), out)


def _round(name: str, given: tuple[Any, ...], out: _Array) -> tuple[_Array, _Array]:
    places, count = np.empty(1 + out.size // 256, np.int64), np.zeros(1, np.int64)
    while True:
        _call(name, *given, out, len(places), places, count)
        if count[0] <= len(places):
            return out, places[: count[0]]
        places = np.empty(count[0], np.int64)


def decide(out: _Array, places: _Array, windows: _Array) -> None:
    """Round what added windows of these places say, into a contiguous array."""
    if not out.flags.c_contiguous or windows.shape != (len(places), WINDOW) or (len(places) and places.max() >= out.size):
        raise ValueError(f"windows have shape {windows.shape} for {len(places)} places of an array of shape {out.shape}")
    arrays = [np.ascontiguousarray(a, np.int64) for a in (windows, places)]
    _call("round_windows", ctypes.c_int(_NUMBERS[NAMES[out.dtype]]), len(places), *arrays, out)

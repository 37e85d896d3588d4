"""Parts of exact sums, which several processes join by adding binary64 numbers: repmath/partials.h for arrays in main memory.

A part has sums and two arrays whose products bound their errors. Parts of one array are joined by adding up all three, in any order; `rounded` gives the
result and the places that the bound leaves open; windows of these, which every part makes, are added up as integers, and `decide` rounds them.
"""

import ctypes
from collections.abc import Callable
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
    such a matrix for each, with a row of cols. windows(places) gives an array of int64 of len(places) x WINDOW, for places in the order of C."""

    sums: _Array
    rows: _Array
    cols: _Array
    windows: Callable[[_Array], _Array]


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


def _part(name: str, given: tuple[Any, ...], joins: int, *shapes: tuple[int, ...]) -> Part:
    made = [np.empty(shape) for shape in shapes]
    _call(f"{name}_partial", *given, joins, *made)

    def windows(places: _Array) -> _Array:
        at = np.ascontiguousarray(places, np.int64)
        found = np.empty((len(at), WINDOW), np.int64)
        _call(f"{name}_windows", *given, len(at), at, found)
        return found

    return Part(made[0], made[1], made[2], windows)


def _operand(a: _Array) -> tuple[Any, ...]:
    return a, *a.strides


def product(a: _Array, b: _Array, joins: int) -> Part:
    """a b, of matrices of one format. joins: how many additions a sum passes at most where parts are joined, ranks - 1 for instance."""
    if a.dtype != b.dtype or a.shape[1:] != b.shape[:1]:
        raise ValueError(f"a and b have shapes {a.shape} and {b.shape}, and dtypes {a.dtype} and {b.dtype}")
    (m, k), n = a.shape, b.shape[1]
    return _part("matmul", (_format(a.dtype), m, n, k, *_operand(a), *_operand(b)), joins, (m, n), (m,), (n,))


def total(x: _Array, joins: int) -> Part:
    """The sum of the rows of a matrix, as a matrix of one row."""
    return product(np.broadcast_to(np.ones(1, x.dtype), (1, len(x))), x, joins)


def scattered(values: _Array, index: _Array, rows: int, joins: int) -> Part:
    """A matrix of so many rows: the rows of values, each added to that which the index names."""
    at = np.ascontiguousarray(index, np.int64)
    if at.shape != values.shape[:1]:
        raise ValueError(f"index has shape {at.shape}, values {values.shape}")
    n, cols = values.shape
    given = (_format(values.dtype), rows, cols, n, at, 8, *_operand(values))
    return _part("scatter", given, joins, (rows, cols), (rows,), (cols,))


def convolved(
    x: _Array,
    shape: tuple[int, ...],
    g: _Array,
    joins: int,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Part:
    """The gradient of a convolution with respect to its weight of this shape, as conv1d_grad_weight and its like have it."""
    from ._cuda._structures import Conv

    dims = len(shape) - 2
    c = _Geometry(dims, x.shape, shape, stride, padding, dilation, groups)
    if g.shape != c.y_shape or g.dtype != x.dtype:
        raise ValueError(f"g has shape {g.shape} and dtype {g.dtype}; the convolution's result has {c.y_shape} and {x.dtype}")
    conv = Conv(dims, c.batch, c.channels_in, c.channels_out, c.groups, c.size, c.kernel, c.stride, c.dilation, c.low, c.high)
    strides = [(ctypes.c_ssize_t * 5)(*a.strides) for a in (x, g)]
    given = (_format(x.dtype), ctypes.byref(conv), x, strides[0], g, strides[1])
    return _part("conv_grad_weight", given, joins, shape, shape[:1], (groups, int(np.prod(shape[1:]))))


def rounded(sums: _Array, rows: _Array, cols: _Array, dtype: np.dtype[Any]) -> tuple[_Array, _Array]:
    """Joined sums, a contiguous matrix or its rows, rounded to the dtype wherever their bounds decide; and the places of the others, in order."""
    out = np.empty((len(rows), len(cols)), dtype)
    if sums.dtype != FORMATS["f64"] or sums.shape != out.shape:
        raise ValueError(f"sums must be float64 of shape {out.shape}, not {sums.dtype} of {sums.shape}")
    arrays = [np.ascontiguousarray(a, np.float64) for a in (sums, rows, cols)]
    places, count = np.empty(1 + out.size // 256, np.int64), np.zeros(1, np.int64)
    while True:
        _call("round_partials", _format(out.dtype), *out.shape, *arrays, out, len(places), places, count)
        if count[0] <= len(places):
            return out, places[: count[0]]
        places = np.empty(count[0], np.int64)


def decide(out: _Array, places: _Array, windows: _Array) -> None:
    """Round what added windows of these places say, into a contiguous array."""
    if not out.flags.c_contiguous or windows.shape != (len(places), WINDOW) or (len(places) and places.max() >= out.size):
        raise ValueError(f"windows have shape {windows.shape} for {len(places)} places of an array of shape {out.shape}")
    arrays = [np.ascontiguousarray(a, np.int64) for a in (windows, places)]
    _call("round_windows", ctypes.c_int(_NUMBERS[NAMES[out.dtype]]), len(places), *arrays, out)

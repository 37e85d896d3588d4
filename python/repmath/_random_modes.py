"""The random rounding modes (specification section 1a) and those of one direction: elementwise functions, exact sums and matrix products under them.

The word of an element depends on its place in C order of the result's shape alone, whatever memory the result lies in."""

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _reductions
from ._dtypes import FORMATS, NAMES, check_held, common
from ._environment import guarded
from ._scope import DIRECTED_MODES as DIRECTED_MODES
from ._scope import MODES as MODES
from ._scope import RANDOM_MODES as RANDOM_MODES

# Functions that the library lacks in float64 under "stochastic": each writes the results of a vector, in a place, into another one.
BY_ENCLOSURES: dict[str, Any] = {}


# Whose words the vector loops of products, convolutions and formulas take; the other modes have complete paths.
BY_WORDS = ("stochastic", "random")


def _loop(name: str, dtype: Any, vectors: Any, result: np.ndarray, at: tuple[str, int, int, int]) -> None:
    """A function of vectors."""
    if name in BY_ENCLOSURES and dtype == np.float64 and at[0] == "stochastic":
        BY_ENCLOSURES[name](name, np.ascontiguousarray(np.broadcast_to(vectors[0], result.shape)), at, result)
    else:
        _core.random_elementwise(name, NAMES[dtype], vectors, result, at)


APART = 1 << 40  # from the words of one array to those of the next one of a call


class Part(int):
    """A stream from an element on, which the elements of a result count from."""

    first = 0


def part(stream: int, first: int) -> Part:
    made = Part(stream)
    made.first = first
    return made


def in_two(x: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Two arrays whose exact sum is the factor times x, all of binary64; of numbers that are not finite the second is 0. None where the second would not be exact."""
    high = x * factor
    size = np.abs(high)
    if not np.isfinite(factor) or ((x != 0) & np.isfinite(x) & ~((size > 2.0**-900) & (size < 2.0**1000))).any():
        return None
    low = np.asarray(_core.ufuncs["fma"](x, factor, -high))
    return high, np.where(np.isfinite(high), low, 0.0)


def place(mode: Any, seed: Any, stream: Any) -> tuple[str, int, int, int]:
    """Checked, with the first element: 0, or that of a part."""
    if not isinstance(mode, str) or mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    numbers = []
    for name, value in (("seed", seed), ("stream", stream)):
        if type(value) is int and 0 <= value < 2**64:
            numbers.append(value)
            continue
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
        number = operator.index(value)
        if not 0 <= number < 2**64:
            raise ValueError(f"{name} must be from 0 to 2**64 - 1, not {number}")
        numbers.append(number)
    return mode, numbers[0], numbers[1], getattr(stream, "first", 0)


def _deliver(result: np.ndarray, out: Any, where: Any = True) -> Any:
    """The result, or out with the result copied to it where `where` is true."""
    if out is None:
        return result[()] if result.ndim == 0 else result
    if isinstance(out, tuple):
        (out,) = out
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be an ndarray, not {type(out).__name__}")
    if out.shape != result.shape:
        raise ValueError(f"out has shape {out.shape}; the result has {result.shape}")
    if out.dtype != result.dtype:
        raise TypeError(f"out has dtype {out.dtype}; the result has {result.dtype}")
    np.copyto(out, result, where=where)
    return out


def elementwise(name: str, arguments: tuple[Any, ...], mode: str, seed: Any, stream: Any, out: Any, where: Any) -> Any:
    """A function of repmath under a random mode. The formats are those of its ufunc, float16 and bfloat16 too."""
    at = place(mode, seed, stream)
    if where is not True and out is None:
        raise ValueError("where needs out: elements that are left out would have no value")
    shape: Any = getattr(arguments[0], "shape", None)
    dtype: Any = getattr(arguments[0], "dtype", None)
    quick = dtype in NAMES and name in _core.ufuncs
    for a in arguments if quick else ():
        quick = quick and (_as_it_is(a, shape, dtype) or _is_one(a, dtype))
    if quick:
        held = out is not None and where is True and _as_it_is(out, shape, dtype) and out.flags.writeable
        if out is None or (held and all(_apart(out, a) for a in arguments)):
            result = np.empty(shape, dtype) if out is None else out
            n = result.size
            if n:
                vectors = [
                    np.broadcast_to(a, n) if a.shape != shape else a if a.ndim == 1 else a.reshape(-1) for a in arguments
                ]
                _loop(name, dtype, vectors, result.reshape(-1), at)
            return _deliver(result, None) if out is None else out
    with _core.Environment():
        plain = [a if isinstance(a, (int, float)) and not isinstance(a, bool) else np.asarray(a) for a in arguments]
        kinds = [type(a) if isinstance(a, (int, float)) else a.dtype for a in plain]
        if all(isinstance(k, type) for k in kinds):
            kinds = [np.dtype(np.float64)] * len(kinds)
        power = _core.powers.get(name)
        if power is not None:
            kinds[1:] = [np.dtype(np.int64) if isinstance(a, int) else np.asarray(a).dtype for a in plain[1:]]
        dtypes = (power or _core.ufuncs[name]).resolve_dtypes((*kinds, None))
        dtype = dtypes[-1]
        if dtype not in NAMES:
            raise TypeError(f"{name} has no random rounding for {dtype}")
        arrays = [np.asarray(a, kind) for a, kind in zip(plain, dtypes[:-1], strict=True)]
        if any(a.shape != arrays[0].shape for a in arrays):
            arrays = list(np.broadcast_arrays(*arrays))
        fits = isinstance(out, np.ndarray) and where is True and out.shape == arrays[0].shape and out.dtype == dtype
        fits = fits and out.flags.c_contiguous and all(_apart(out, a) for a in arrays)
        result = out if fits else np.empty(arrays[0].shape, dtype)
        flat = [a.reshape(-1)[:1] if a.size and not any(a.strides) else np.ascontiguousarray(a).reshape(-1) for a in arrays]
        vectors = [np.broadcast_to(v, (result.size,)) if v.size != result.size else v for v in flat]
        if result.size:
            _loop(name, dtype, vectors, result.reshape(-1), at)
        return result if fits else _deliver(result, out, where)


def _as_it_is(a: Any, shape: Any, dtype: Any) -> bool:
    """Whether the loops can read an argument, of a call whose arguments all are of this shape and format, where it lies."""
    return type(a) is np.ndarray and a.shape == shape and a.dtype == dtype and bool(a.flags.c_contiguous)


def _is_one(a: Any, dtype: Any) -> bool:
    """Whether it is one number for all elements."""
    return type(a) is np.ndarray and a.ndim == 0 and a.dtype == dtype


def _apart(out: np.ndarray, array: np.ndarray) -> bool:
    """Whether out can be written element for element while the array is read."""
    same = array.ctypes.data == out.ctypes.data and array.strides == out.strides
    return same or not np.may_share_memory(out, array)


def balls(middle: np.ndarray, radius: Any, dtype: np.dtype[Any], place: tuple[str, int, int, int]) -> tuple[Any, Any]:
    """Binary64 numbers with the radii of their errors, rounded to a narrower format; and where the radius leaves that open."""
    middle = np.asarray(middle, np.float64, order="C")
    made, undecided = np.empty(middle.shape, dtype), np.empty(middle.shape, np.uint8)
    if middle.size:
        spread = (
            None if radius is None else np.ascontiguousarray(np.broadcast_to(radius, middle.shape), np.float64).reshape(-1)
        )
        with _core.Environment():
            _core.random_balls(NAMES[dtype], middle.reshape(-1), spread, made.reshape(-1), undecided.reshape(-1), place)
    return made, undecided.astype(bool)


def formula(name: str, a: float, arrays: list[Any], place: tuple[str, int, int, int], out: Any = None) -> tuple[Any, Any]:
    """A formula of repmath/formulas.h that is rational, of a number and arrays of one format narrower than binary64 and one shape, contiguous, rounded, into
    `out` if that can be; and the indices of the elements that its evaluation in binary64 leaves open, in order: these are not written."""
    shape, dtype = arrays[0].shape, arrays[0].dtype
    fits = out is not None and out.shape == shape and out.dtype == dtype and out.flags.c_contiguous and out.flags.writeable
    made = out if fits and all(_apart(out, v) for v in arrays) else np.empty(shape, dtype)
    left = np.empty(made.size, np.int64)  # memory that is not touched costs nothing
    with _core.Environment():
        count = _core.random_formula(name, NAMES[dtype], a, [v.reshape(-1) for v in arrays], made.reshape(-1), left, place)
    return made, np.sort(left[:count])


def _products(x: Any, y: Any, add: Any, target: np.dtype[Any], place: tuple[str, int, int, int]) -> Any:
    """Products of broadcast operands that binary32 holds, to their format or binary32."""
    made = np.empty((*x.shape[:-1], y.shape[-1]), target)
    count = int(np.prod(x.shape[:-2], dtype=np.int64))

    def in_line(v: Any) -> Any:
        return None if v is None else v.reshape(count, *v.shape[-2:])

    if made.size:
        _core.random_products(NAMES[x.dtype], NAMES[target], in_line(x), in_line(y), in_line(add), in_line(made), place)
    return made


def _operand(name: str, value: Any) -> np.ndarray:
    array = np.asarray(value)
    check_held(name, array)
    return array


def _target(dtype: Any, default: np.dtype[Any]) -> np.dtype[Any]:
    wanted = default if dtype is None else np.dtype(dtype)
    if wanted not in NAMES:
        raise TypeError(f"dtype must be one of {', '.join(str(d) for d in FORMATS.values())}, not {wanted}")
    return wanted


@guarded
def sum(
    x: ArrayLike,
    mode: str,
    axis: Any = None,
    *,
    keepdims: bool = False,
    dtype: Any = None,
    seed: int = 0,
    stream: int = 0,
    out: Any = None,
) -> Any:
    """The exact sum over axes, rounded once under a random mode or in one direction.

    Parameters
    ----------
    x : array_like
    mode : {"stochastic", "random", "up_down", "toward_zero", "down", "up"}
    axis : int or tuple of int, optional
        All by default.
    keepdims : bool
    dtype : dtype, optional
        The format of the result: by default that of x, or float64 for integers.
    seed, stream : int
        From 0 to 2**64 - 1. Element i of the result, in C order, has word i of this stream.
    out : ndarray, optional

    Returns
    -------
    ndarray or scalar
    """
    at = place(mode, seed, stream)
    array = _operand("x", x)
    held = common(array.dtype)
    target = _target(dtype, held)
    axes = tuple(range(array.ndim)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, array.ndim)
    kept = [d for d in range(array.ndim) if d not in axes]
    shape = tuple(array.shape[d] for d in kept)
    rows = int(np.prod(shape, dtype=np.int64))
    terms = array.size // max(rows, 1)
    result = np.empty(shape, target)
    if at[0] == "up_down" and axes and array.size:
        nearest = _reductions.sum(np.asarray(array, held), axis=axes, dtype=target, keepdims=keepdims)
        return _deliver(up_down(np.asarray(nearest), seed, stream, own=True), out)
    narrow = held.itemsize < 8 and (target == held or target.itemsize == 4) and at[0] in BY_WORDS
    if narrow and rows and terms and kept and kept[0] > max(axes, default=-1):
        down = np.ascontiguousarray(np.asarray(array, held)).reshape(terms, rows)  # sums down columns need no other order
        result = _products(np.ones((1, 1, terms), held), down[None], None, target, at).reshape(shape)
    else:
        moved = np.ascontiguousarray(np.asarray(array, held).transpose(*kept, *sorted(axes))).reshape(rows, terms)
        if narrow and rows and terms:
            result = _products(moved[None], np.ones((1, terms, 1), held), None, target, at).reshape(shape)
        else:
            _core.random_sums(NAMES[held], NAMES[target], moved, result.reshape(-1), at)
    if keepdims:
        result = result.reshape([1 if d in axes else n for d, n in enumerate(array.shape)])
    return _deliver(result, out)


@guarded
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    mode: str,
    *,
    bias: Any = None,
    dtype: Any = None,
    seed: int = 0,
    stream: int = 0,
    out: Any = None,
) -> Any:
    """The matrix product of exact sums, each rounded once under a random mode or in one direction; shapes are those of numpy.matmul.

    Parameters
    ----------
    a, b : array_like
    mode : {"stochastic", "random", "up_down", "toward_zero", "down", "up"}
    bias : array_like, optional
        Broadcasts to the result: one more term of each sum.
    dtype : dtype, optional
        The format of the result: by default that of a and b.
    seed, stream : int
        From 0 to 2**64 - 1. Element i of the result, in C order, has word i of this stream.
    out : ndarray, optional

    Returns
    -------
    ndarray or scalar
    """
    return _deliver(_matmul(a, b, bias, dtype, place(mode, seed, stream)), out)


def _matmul(a: Any, b: Any, bias: Any, dtype: Any, at: tuple[str, int, int, int]) -> np.ndarray:
    mode, seed, stream, first = at
    left, right = _operand("a", a), _operand("b", b)
    if left.ndim == 0 or right.ndim == 0:
        raise ValueError("a and b must have at least one axis")
    add = None if bias is None else _operand("bias", bias)
    held = common(*(v.dtype for v in (left, right, add) if v is not None))
    target = _target(dtype, held)
    x = np.asarray(left, held)[None] if left.ndim == 1 else np.asarray(left, held)
    y = np.asarray(right, held)[:, None] if right.ndim == 1 else np.asarray(right, held)
    (m, k), (inner, n) = x.shape[-2:], y.shape[-2:]
    if k != inner:
        raise ValueError(f"a and b do not match: {left.shape} and {right.shape}")
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    result = np.empty((*batch, m, n), target)
    x, y = np.broadcast_to(x, (*batch, m, k)), np.broadcast_to(y, (*batch, k, n))
    if add is not None:
        shaped = (*batch, *((m,) if left.ndim > 1 else ()), *((n,) if right.ndim > 1 else ()))
        add = np.broadcast_to(np.asarray(add, held), shaped).reshape(result.shape)
    if held.itemsize < 8 and (target == held or target.itemsize == 4) and mode in BY_WORDS:
        result = _products(x, y, add, target, (mode, seed, stream, first))
    elif mode == "up_down" and held == target and add is None and result.size and not first:
        result = up_down(np.asarray(_reductions.matmul(x, y)), seed, stream, own=True)
    else:
        for i, index in enumerate(np.ndindex(*batch)):
            more = None if add is None else add[index]
            _core.random_matmul(
                NAMES[held], NAMES[target], x[index], y[index], more, result[index], (mode, seed, stream, first + i * m * n)
            )
    if left.ndim == 1:
        result = result[..., 0, :]
    if right.ndim == 1:
        result = result[..., 0]
    return result


@guarded
def running(a: ArrayLike, b: ArrayLike, mode: str, terms: int, *, bias: Any, dtype: Any, seed: int, stream: int) -> Any:
    """As `matmul`, of sums that are rounded after every so many terms: the running sum after block j, of N elements, has the words from j N on."""
    at = place(mode, seed, stream)
    x, y = np.asarray(a), np.asarray(b)
    total, k = bias, x.shape[-1]
    for block, start in enumerate(range(0, max(k, 1), terms)):
        some = slice(start, start + terms)
        size = 0 if block == 0 else total.size
        rows = y[some] if y.ndim == 1 else y[..., some, :]
        total = _matmul(x[..., some], rows, total, dtype, (*at[:3], at[3] + block * size))
    return _deliver(np.asarray(total), None)


@guarded
def dot(x: ArrayLike, y: ArrayLike, mode: str, *, dtype: Any = None, seed: int = 0, stream: int = 0) -> Any:
    """The exact dot product of two vectors, rounded once under a random mode or in one direction: as `matmul`."""
    left, right = np.asarray(x), np.asarray(y)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(f"x and y must be vectors of one length, not {left.shape} and {right.shape}")
    return matmul(left, right, mode, dtype=dtype, seed=seed, stream=stream)


def up_down(array: np.ndarray, seed: int, stream: int, own: bool = False) -> np.ndarray:
    """Numbers that were rounded to nearest, each moved by one step of its magnitude: the last step of the mode up_down. own: the array itself may be
    changed, and is what is returned where its elements lie in C order. Of complex numbers the real parts are one array, the imaginary ones the next."""
    if array.dtype.kind == "c":
        pairs = np.array(array, order="C")
        pairs.real = up_down(array.real, seed, stream)
        pairs.imag = up_down(array.imag, seed, part(stream, APART))
        return pairs
    made = array if own and array.flags.c_contiguous and array.flags.writeable else np.array(array, order="C")
    if made.size:
        _core.random_steps(NAMES[made.dtype], made.reshape(-1), ("up_down", seed, stream, getattr(stream, "first", 0)))
    return made


def words(n: int, seed: int = 0, stream: int = 0) -> np.ndarray:
    """The words of elements 0 to n - 1 of a stream, as uint32."""
    _, seed, stream, _ = place("stochastic", seed, stream)
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"n must be an integer, not {type(n).__name__}")
    if n < 0:
        raise ValueError(f"n must not be negative: {n}")
    out = np.empty(n, np.uint32)
    _core.rounding_words(seed, stream, 0, out)
    return out

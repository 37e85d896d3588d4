"""A namespace of the array API standard (2024.12) over NumPy arrays: NumPy's functions that round nothing, and repmath's for those that round.

Functions of the standard that round and that repmath does not compute are not here, so that no result of this namespace depends on the machine;
`NOT_COVERED` names them. Complex numbers are taken by `fft` alone. Integers keep the standard's rules: sums and products of them are integers.
"""

import builtins
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import _contractions, _core, _reductions, _statistics
from . import fft as _fft
from . import linalg as _linalg
from ._dtypes import is_integer

__array_api_version__ = "2024.12"

_CONSTANTS = ["e", "inf", "nan", "newaxis", "pi"]
_DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
# What moves, compares and counts elements, or works on integers: NumPy's own.
_EXACT = """
    abs all any argmax argmin argsort asarray astype bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
    broadcast_arrays broadcast_to can_cast ceil clip concat conj copysign count_nonzero empty empty_like equal expand_dims eye finfo flip
    floor from_dlpack full full_like greater greater_equal iinfo imag isdtype isfinite isinf isnan less less_equal logical_and logical_not
    logical_or logical_xor matrix_transpose max maximum meshgrid min minimum moveaxis negative nextafter nonzero not_equal ones ones_like
    permute_dims positive real repeat reshape result_type roll round searchsorted sign signbit sort squeeze stack take take_along_axis tile
    tril triu trunc unique_all unique_counts unique_inverse unstack where zeros zeros_like
""".split()
# The standard's other functions, which round and are not computed here.
NOT_COVERED = {
    "": ["cumulative_prod", "floor_divide", "linspace", "prod", "remainder"],
    "linalg": ["cross", "eigh", "eigvalsh", "matrix_power", "matrix_rank", "pinv", "qr", "svd", "svdvals"],
}

# From here on `any`, `all`, `abs` and the like are NumPy's.
for _name in _CONSTANTS + _DTYPES + _EXACT:
    globals()[_name] = getattr(np, _name)


def _elementwise(name: str, of_integers: Any = None) -> Any:
    """The ufunc; of integers NumPy's function, where it rounds nothing."""
    ufunc = _core.ufuncs[name]
    if of_integers is None:
        return ufunc

    def function(x1: Any, x2: Any, /) -> Any:
        return of_integers(x1, x2) if _of_integers(x1, x2) else ufunc(x1, x2)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The array API's `{name}`: rounded once; of integers an integer."
    return function


for _name in "acos acosh asin asinh atan atan2 atanh cos cosh divide exp expm1 hypot log log10 log1p log2 logaddexp sin sinh sqrt tan tanh".split():
    globals()[_name] = _elementwise(_name)
for _name in ("add", "multiply", "subtract"):
    globals()[_name] = _elementwise(_name, getattr(np, _name))
globals()["pow"] = _elementwise("pow", np.pow)


def _of_integers(*arrays: Any) -> bool:
    return builtins.all(is_integer(np.asarray(x).dtype) for x in arrays)


def _to_integers(dtype: Any) -> bool:
    return dtype is not None and is_integer(np.dtype(dtype))


def reciprocal(x: ArrayLike, /) -> Any:
    """1/x, rounded once."""
    return _core.ufuncs["divide"](np.asarray(x).dtype.type(1), x)


def square(x: ArrayLike, /) -> Any:
    """x x, rounded once; of integers an integer."""
    return np.square(x) if _of_integers(x) else _core.ufuncs["multiply"](x, x)


def unique_values(x: ArrayLike, /) -> Any:
    """The different values in ascending order, each NaN by itself. NumPy's function leaves them in the order of a table of hashes."""
    return np.unique(np.asarray(x), equal_nan=False)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: DTypeLike | None = None, device: Any = None) -> Any:
    """Whole numbers from `start` to before `stop`. Others are not taken (TypeError): NumPy rounds them more than once."""
    if builtins.any(x is not None and not float(x).is_integer() for x in (start, stop, step)):
        raise TypeError("start, stop and step must be whole numbers: others are rounded more than once")
    first, last = (0, start) if stop is None else (start, stop)
    return np.arange(first, last, step, dtype=dtype, device=device)


def diff(x: ArrayLike, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along an axis, n times; each is rounded once."""
    whole = np.concatenate([np.asarray(part) for part in (prepend, x, append) if part is not None], axis=axis)
    for _ in range(n):
        ends = [slice(None)] * whole.ndim
        later, earlier = list(ends), list(ends)
        later[axis], earlier[axis] = slice(1, None), slice(None, -1)
        whole = globals()["subtract"](whole[tuple(later)], whole[tuple(earlier)])
    return whole


def sum(x: ArrayLike, /, *, axis: Any = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Any:
    """The exact sum over axes, rounded once to `dtype`; of integers an integer."""
    if _to_integers(dtype) or (dtype is None and _of_integers(x)):
        return np.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)
    return _reductions.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)


def cumulative_sum(
    x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> Any:
    """The exact sums of the elements up to each, rounded once; of integers integers. With `include_initial` a 0 comes first."""
    array = np.asarray(x)
    if axis is None and array.ndim != 1:
        raise ValueError(f"axis must be given for an array of {array.ndim} dimensions")
    if _to_integers(dtype) or (dtype is None and _of_integers(array)):
        return np.cumulative_sum(array, axis=axis, dtype=dtype, include_initial=include_initial)
    sums = _statistics.cumsum(array, axis=0 if axis is None else axis, dtype=dtype)
    if not include_initial:
        return sums
    first = np.zeros_like(np.take(sums, np.array([], np.intp), axis=axis or 0), shape=_with(sums.shape, axis or 0, 1))
    return np.concatenate([first, sums], axis=axis or 0)


def _with(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    changed = list(shape)
    changed[axis] = length
    return tuple(changed)


def mean(x: ArrayLike, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The exact mean over axes, rounded once."""
    return _statistics.mean(x, axis=axis, keepdims=keepdims)


def var(x: ArrayLike, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The exact variance over axes, with n - `correction` in the denominator, rounded once."""
    return _statistics.var(x, axis=axis, correction=correction, keepdims=keepdims)


def std(x: ArrayLike, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The root of the exact variance over axes, rounded once."""
    return _statistics.std(x, axis=axis, correction=correction, keepdims=keepdims)


def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """Matrix product: each element the exact sum of products, rounded once; of integers integers."""
    return np.matmul(x1, x2) if _of_integers(x1, x2) else _reductions.matmul(x1, x2)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Dot products along an axis: exact sums of products, rounded once; of integers integers."""
    vecdot: Any = np.vecdot  # whose types lack `axis`
    return vecdot(x1, x2, axis=axis) if _of_integers(x1, x2) else _contractions.vecdot(x1, x2, axis=axis)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Contraction of axes: exact sums of products, rounded once; of integers integers."""
    return np.tensordot(x1, x2, axes) if _of_integers(x1, x2) else _contractions.tensordot(x1, x2, axes)


def _outer(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """The product of each element of one vector with each of another, rounded once."""
    a, b = np.asarray(x1), np.asarray(x2)
    return globals()["multiply"](a[:, None], b[None, :])


def _trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Any:
    """The exact sum of a diagonal, rounded once."""
    return sum(np.linalg.diagonal(np.asarray(x), offset=offset), axis=-1, dtype=dtype)


def _vector_norm(x: ArrayLike, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    """The norm of the order 2, 1, 0, inf or -inf over axes: rounded once, or exact. Other orders raise ValueError."""
    array = np.asarray(x)
    if ord == 2:
        return _statistics.norm(array, axis=axis, keepdims=keepdims)
    if ord == 1:
        return _reductions.sum(np.abs(array), axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.asarray(np.count_nonzero(array, axis=axis, keepdims=keepdims)).astype(array.dtype)[()]
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(np.abs(array), axis=axis, keepdims=keepdims)
    raise ValueError(f"ord must be 2, 1, 0, inf or -inf, not {ord!r}")


def _matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm "fro", 1, -1, inf or -inf of matrices, rounded once. Other orders raise ValueError."""
    array = np.asarray(x)
    if isinstance(ord, str) and ord == "fro":
        return _statistics.norm(array, axis=(-2, -1), keepdims=keepdims)
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"ord must be 'fro', 1, -1, inf or -inf, not {ord!r}")
    sums = _reductions.sum(np.abs(array), axis=-2 if abs(ord) == 1 else -1, keepdims=True)
    return (np.max if ord > 0 else np.min)(sums, axis=(-2, -1), keepdims=keepdims)


def _cholesky(x: ArrayLike, /, *, upper: bool = False) -> Any:
    """Cholesky's factor by its recurrence, whose entries are rounded once."""
    return _linalg.cholesky(x, upper=upper)


linalg = SimpleNamespace(
    cholesky=_cholesky,
    det=_linalg.det,
    diagonal=np.linalg.diagonal,
    inv=_linalg.inv,
    matmul=matmul,
    matrix_norm=_matrix_norm,
    matrix_transpose=np.linalg.matrix_transpose,
    outer=_outer,
    slogdet=_linalg.slogdet,
    solve=_linalg.solve,
    tensordot=tensordot,
    trace=_trace,
    vecdot=vecdot,
    vector_norm=_vector_norm,
)
_TRANSFORMS = "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn".split()
fft = SimpleNamespace(**{name: getattr(_fft, name) for name in _TRANSFORMS})


class _Info:
    """What the namespace says of itself: NumPy's answers."""

    def __init__(self) -> None:
        self._numpy = np.__array_namespace_info__()

    def capabilities(self) -> Any:
        return self._numpy.capabilities()

    def default_device(self) -> Any:
        return self._numpy.default_device()

    def default_dtypes(self, *, device: Any = None) -> Any:
        return self._numpy.default_dtypes(device=device)

    def devices(self) -> Any:
        return self._numpy.devices()

    def dtypes(self, *, device: Any = None, kind: Any = None) -> Any:
        return self._numpy.dtypes(device=device, kind=kind)


def __array_namespace_info__() -> _Info:  # noqa: N807
    """The standard's inspection of devices, dtypes and capabilities."""
    return _Info()


def __getattr__(name: str) -> Any:
    if name in NOT_COVERED[""]:
        raise AttributeError(f"repmath.array_api has no {name}: it rounds, and repmath does not compute it correctly rounded")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

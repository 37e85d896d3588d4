"""A namespace of the array API standard (2024.12) over NumPy arrays: NumPy's functions that round nothing, and repmath's for those that round.

Every function of the standard is here. What it asks for and what is not computed raises, so that no result of this namespace depends on the
machine; docs/how-to/array-api.md lists it. Complex numbers are taken by `fft` alone. Integers keep the standard's rules: sums and products of
them are integers.
"""

import builtins
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import _contractions, _core, _orthogonal, _prod, _quotients, _reductions, _spaced, _statistics
from . import fft as _fft
from . import linalg as _linalg
from ._dtypes import F64, check, check_held, common, is_integer
from ._environment import guarded
from ._matrices import operands as _matrix_operands

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


def _operands(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Both of one shape, in the format of the result, which has the numbers of both."""
    given = [x if isinstance(x, (builtins.bool, int, float)) else np.asarray(x) for x in (x1, x2)]
    dtype = np.result_type(*given)
    check("x1 with x2", dtype)
    dtype = common(dtype)
    for name, x in zip(("x1", "x2"), given):
        check_held(name, np.asarray(x))
    return tuple(np.broadcast_arrays(*(np.asarray(x, dtype) for x in given)))  # type: ignore[return-value]


@guarded
def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """The largest whole number that is not above x1/x2, rounded once; of integers an integer. Beside infinities and 0 as in Python's `//` and `/`."""
    if _of_integers(x1, x2):
        return np.floor_divide(x1, x2)
    a, b = _operands(x1, x2)
    return _quotients.whole(a, b, "floor", a.dtype)[()]


@guarded
def remainder(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """x1 less the multiple of x2 that is next below it, with the sign of x2, rounded once; of integers an integer. By 0, or of an infinity, NaN."""
    if _of_integers(x1, x2):
        return np.remainder(x1, x2)
    a, b = _operands(x1, x2)
    rest = _quotients.rest(a, b)
    with np.errstate(all="ignore"):
        other = (rest != 0) & (np.signbit(rest) != np.signbit(b))
        rest = np.where(other, _core.ufuncs["add"](rest, b), np.where(rest == 0, np.copysign(rest, b), rest))
    return rest[()]


@guarded
def linspace(
    start: float, stop: float, /, num: int, *, dtype: DTypeLike | None = None, device: Any = None, endpoint: bool = True
) -> Any:
    """start + i (stop - start)/(num - 1) for i < num, or without the end point over num; each is rounded once. Limits must be finite (ValueError)
    and real, and the dtype one of floating-point numbers (TypeError)."""
    if builtins.any(isinstance(x, complex) for x in (start, stop)):
        raise TypeError("start and stop must be real numbers")
    form = F64 if dtype is None else np.dtype(dtype)
    if is_integer(form):
        raise TypeError(f"dtype is {form}; it must be a dtype of floating-point numbers")
    check("the result", form)
    form = common(form)
    if not (math.isfinite(start) and math.isfinite(stop)):
        raise ValueError(f"start and stop must be finite, not {start} and {stop}")
    if num < 0:
        raise ValueError(f"num must not be below 0, but is {num}")
    return np.asarray(_spaced.spaced(start, stop, builtins.max(num - 1 if endpoint else num, 1), num, form), device=device)


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
    array, along, of_integers = _line(x, axis, dtype)
    if of_integers:
        return np.cumulative_sum(array, axis=axis, dtype=dtype, include_initial=include_initial)
    sums = _statistics.cumsum(array, axis=along, dtype=dtype)
    if not include_initial:
        return sums
    first = np.zeros_like(np.take(sums, np.array([], np.intp), axis=along), shape=_with(sums.shape, along, 1))
    return np.concatenate([first, sums], axis=along)


def _line(x: ArrayLike, axis: int | None, dtype: DTypeLike | None) -> tuple[Any, int, bool]:
    """The array, the axis that is meant, and whether results are integers, which are NumPy's own."""
    array = np.asarray(x)
    if axis is None and array.ndim != 1:
        raise ValueError(f"axis must be given for an array of {array.ndim} dimensions")
    return array, axis or 0, _to_integers(dtype) or (dtype is None and _of_integers(array))


def _with(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    changed = list(shape)
    changed[axis] = length
    return tuple(changed)


def _factors(x: ArrayLike, dtype: Any) -> tuple[Any, Any]:
    """The factors in a format, and that of the product."""
    a = np.asarray(x)
    check_held("x", a)
    check("x", a.dtype)
    a = a.astype(common(a.dtype), copy=False)
    form = a.dtype if dtype is None else np.dtype(dtype)
    check("the result", form)
    return a, common(form)


@guarded
def prod(x: ArrayLike, /, *, axis: Any = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Any:
    """The exact product over axes, rounded once to `dtype`, however far partial products leave its range; of integers an integer."""
    if _to_integers(dtype) or (dtype is None and _of_integers(x)):
        of_integers: Any = np.prod  # whose types lack `dtype`
        return of_integers(x, axis=axis, dtype=dtype, keepdims=keepdims)
    a, form = _factors(x, dtype)
    taken = tuple(range(a.ndim)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, a.ndim, "axis")
    kept = [i for i in range(a.ndim) if i not in taken]
    lines = a.transpose(*kept, *taken).reshape(*(a.shape[i] for i in kept), math.prod(a.shape[i] for i in taken))
    made = _prod.product(lines, form, False)
    return (np.expand_dims(made, taken) if keepdims else made)[()]


@guarded
def cumulative_prod(
    x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> Any:
    """The exact products of the elements up to each, rounded once; of integers integers. With `include_initial` a 1 comes first."""
    array, along, of_integers = _line(x, axis, dtype)
    if of_integers:
        return np.cumulative_prod(array, axis=axis, dtype=dtype, include_initial=include_initial)
    a, form = _factors(array, dtype)
    made = np.moveaxis(_prod.product(np.moveaxis(a, along, -1), form, True), -1, along)
    return np.concatenate([np.ones(_with(made.shape, along, 1), form), made], axis=along) if include_initial else made


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
    """The norm "fro", 1, -1, inf or -inf of matrices, rounded once; "nuc", 2 and -2 by the singular values of `svd`. Other orders raise ValueError."""
    array = np.asarray(x)
    if (isinstance(ord, str) and ord == "nuc") or ord in (2, -2):
        (array,) = _matrix_operands(x=array)
        made = _orthogonal.spectral_norm(array, ord)
        return (np.expand_dims(made, (-2, -1)) if keepdims else made)[()]
    if isinstance(ord, str) and ord == "fro":
        return _statistics.norm(array, axis=(-2, -1), keepdims=keepdims)
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, not {ord!r}")
    sums = _reductions.sum(np.abs(array), axis=-2 if abs(ord) == 1 else -1, keepdims=True)
    return (np.max if ord > 0 else np.min)(sums, axis=(-2, -1), keepdims=keepdims)


def _cholesky(x: ArrayLike, /, *, upper: bool = False) -> Any:
    """Cholesky's factor by its recurrence, whose entries are rounded once."""
    return _linalg.cholesky(x, upper=upper)


def _cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Cross product of vectors of three elements, each element rounded once; of integers an integer."""
    return np.linalg.cross(x1, x2, axis=axis) if _of_integers(x1, x2) else _orthogonal.cross(x1, x2, axis=axis)


def _eigh(x: ArrayLike, /) -> Any:
    """Eigenvalues, ascending, and eigenvectors of symmetric matrices, as `repmath.linalg.eigh`."""
    return _orthogonal.eigh(x)


def _eigvalsh(x: ArrayLike, /) -> Any:
    """Eigenvalues of symmetric matrices, ascending."""
    return _orthogonal.eigvalsh(x)


def _matrix_power(x: ArrayLike, n: int, /) -> Any:
    """A whole power of square matrices, as `repmath.linalg.matrix_power`."""
    return _linalg.matrix_power(x, n)


def _matrix_rank(x: ArrayLike, /, *, rtol: Any = None) -> Any:
    """How many singular values are above `rtol` times the largest."""
    return _orthogonal.matrix_rank(x, rtol=rtol)


def _pinv(x: ArrayLike, /, *, rtol: Any = None) -> Any:
    """Pseudoinverse by singular values, as `repmath.linalg.pinv`."""
    return _orthogonal.pinv(x, rtol=rtol)


def _qr(x: ArrayLike, /, *, mode: str = "reduced") -> Any:
    """QR decomposition by reflections: `mode` "reduced" or "complete"."""
    if mode == "r":
        raise ValueError("mode must be 'reduced' or 'complete', not 'r'")
    return _orthogonal.qr(x, mode)


def _svd(x: ArrayLike, /, *, full_matrices: bool = True) -> Any:
    """Singular value decomposition, as `repmath.linalg.svd`."""
    return _orthogonal.svd(x, full_matrices)


linalg = SimpleNamespace(
    cholesky=_cholesky,
    cross=_cross,
    det=_linalg.det,
    diagonal=np.linalg.diagonal,
    eigh=_eigh,
    eigvalsh=_eigvalsh,
    inv=_linalg.inv,
    matmul=matmul,
    matrix_norm=_matrix_norm,
    matrix_power=_matrix_power,
    matrix_rank=_matrix_rank,
    matrix_transpose=np.linalg.matrix_transpose,
    outer=_outer,
    pinv=_pinv,
    qr=_qr,
    slogdet=_linalg.slogdet,
    solve=_linalg.solve,
    svd=_svd,
    svdvals=_orthogonal.svdvals,
    tensordot=tensordot,
    trace=_trace,
    vecdot=vecdot,
    vector_norm=_vector_norm,
)


def _on_device(name: str) -> Any:
    """The frequencies of a transform, with the standard's keywords."""

    def frequencies(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: Any = None) -> Any:
        return np.asarray(getattr(_fft, name)(n, d, dtype=dtype), device=device)

    frequencies.__name__ = frequencies.__qualname__ = name
    frequencies.__doc__ = f"As `repmath.fft.{name}`, on the device, which is the CPU."
    return frequencies


_TRANSFORMS = "fft fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftn".split()
fft = SimpleNamespace(
    fftfreq=_on_device("fftfreq"), rfftfreq=_on_device("rfftfreq"), **{name: getattr(_fft, name) for name in _TRANSFORMS}
)


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

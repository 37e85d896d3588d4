"""Arrays whose operators and functions are those of `repmath.array_api`: the array API standard with an array type of its own.

A library that asks an array for its namespace comes here: `x.__array_namespace__()` is this module. `asarray` makes an `Array` of a NumPy array,
and `numpy.asarray` makes a NumPy array of it, both without a copy. The names, their results and what is not covered are those of `repmath.array_api`.

>>> from repmath import arrays as xp
>>> x = xp.asarray([1e16, 1.0, -1e16])
>>> xp.sum(x), x @ x[::-1]
(Array(1.), Array(-2.e+32))
"""

import functools
import sys
import types
from typing import Any

import numpy as np

from . import array_api as _api

__all__ = ["Array", "fft", "linalg"]


def _operator(name: str, swapped: bool = False, in_place: bool = False) -> Any:
    """The method of an operator of two operands, which is a function of the namespace."""
    function = getattr(_api, name)

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            raise TypeError("the other operand is an array of NumPy: make it one of repmath.arrays by asarray")
        if not isinstance(other, (Array, bool, int, float, complex, np.generic)):
            return NotImplemented
        a, b = self._values, _bare(other)
        if not isinstance(other, Array):
            b = np.asarray(b, np.result_type(a.dtype, b))  # NumPy's rule for numbers, which the standard has too
        result = function(b, a) if swapped else function(a, b)
        if not in_place:
            return _wrapped(result)
        if result.dtype != a.dtype:
            raise TypeError(f"the result has dtype {result.dtype}, and the array to be changed {a.dtype}")
        a[...] = result
        return self

    return operator


def _operators(name: str) -> tuple[Any, Any, Any]:
    return _operator(name), _operator(name, swapped=True), _operator(name, in_place=True)


def _unary(name: str) -> Any:
    function = getattr(_api, name)
    return lambda self: _wrapped(function(self._values))


def _of_numpy(name: str) -> Any:
    return property(lambda self: getattr(self._values, name))


class Array:
    """A NumPy array behind the operators of the standard: each is the function of the namespace, so that `x @ y` and `x ** y` are rounded once.

    Made by `asarray` and the namespace's functions. Other operands are numbers; arrays of NumPy raise TypeError, since which operators
    were meant would be a guess.
    """

    __slots__ = ("_values",)
    __array_priority__ = 1000
    __array_ufunc__ = None  # NumPy's operators leave the work to those here
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self._values = values

    def __array_namespace__(self, *, api_version: str | None = None) -> types.ModuleType:
        """This module. Other versions of the standard than its own and older ones raise ValueError."""
        if api_version is not None and api_version not in ("2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(f"api_version must be at most {_api.__array_api_version__!r}, not {api_version!r}")
        return sys.modules[__name__]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self._values, dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()

    def __repr__(self) -> str:
        return "Array" + np.array_repr(self._values).removeprefix("array")

    def __getitem__(self, key: Any) -> Any:
        return _wrapped(self._values[_bare(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[_bare(key)] = _bare(value)

    def __len__(self) -> int:
        return len(self._values)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """The array itself: "cpu" is the only device."""
        return _wrapped(self._values.to_device(device, stream=stream))

    def __bool__(self) -> bool:
        return bool(self._values)

    def __int__(self) -> int:
        return int(self._values)

    def __float__(self) -> float:
        return float(self._values)

    def __complex__(self) -> complex:
        return complex(self._values)

    def __index__(self) -> int:
        return int(self._values.__index__())

    dtype, shape, ndim, size, device = map(_of_numpy, ("dtype", "shape", "ndim", "size", "device"))
    T: Any = property(lambda self: _wrapped(self._values.T))
    mT: Any = property(lambda self: _wrapped(self._values.mT))  # noqa: N815

    __add__, __radd__, __iadd__ = _operators("add")
    __sub__, __rsub__, __isub__ = _operators("subtract")
    __mul__, __rmul__, __imul__ = _operators("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _operators("divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _operators("floor_divide")
    __mod__, __rmod__, __imod__ = _operators("remainder")
    __pow__, __rpow__, __ipow__ = _operators("pow")
    __matmul__, __rmatmul__, __imatmul__ = _operators("matmul")
    __and__, __rand__, __iand__ = _operators("bitwise_and")
    __or__, __ror__, __ior__ = _operators("bitwise_or")
    __xor__, __rxor__, __ixor__ = _operators("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _operators("bitwise_left_shift")
    __rshift__, __rrshift__, __irshift__ = _operators("bitwise_right_shift")
    __eq__, __ne__ = _operator("equal"), _operator("not_equal")
    __lt__, __le__, __gt__, __ge__ = map(_operator, ("less", "less_equal", "greater", "greater_equal"))
    __neg__, __pos__, __abs__, __invert__ = map(_unary, ("negative", "positive", "abs", "bitwise_invert"))


def _bare(value: Any) -> Any:
    """The NumPy arrays of arguments, in containers too."""
    if isinstance(value, Array):
        return value._values
    if type(value) in (tuple, list):
        return type(value)(_bare(v) for v in value)
    return value


def _wrapped(value: Any) -> Any:
    """Arrays and numbers of NumPy become arrays here, in tuples too."""
    if isinstance(value, (np.ndarray, np.generic)):
        return Array(np.asarray(value))
    if isinstance(value, tuple):
        parts = [_wrapped(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return [_wrapped(v) for v in value] if isinstance(value, list) else value


def _function(function: Any) -> Any:
    def over(*arguments: Any, **options: Any) -> Any:
        return _wrapped(function(*map(_bare, arguments), **{name: _bare(v) for name, v in options.items()}))

    return functools.update_wrapper(over, function)


def __getattr__(name: str) -> Any:
    value = getattr(_api, name)
    # dtypes are classes, and the answers of __array_namespace_info__ are no arrays
    if not callable(value) or isinstance(value, type) or name.startswith("_"):
        return value
    return globals().setdefault(name, _function(value))


linalg = types.SimpleNamespace(**{name: _function(f) for name, f in vars(_api.linalg).items()})
fft = types.SimpleNamespace(**{name: _function(f) for name, f in vars(_api.fft).items()})

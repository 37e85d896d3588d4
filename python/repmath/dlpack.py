"""The elementwise functions for arrays of other libraries.

All functions of `repmath`, `repmath.nn`, `repmath.optim` and `repmath.random` take arrays that have ``__dlpack__``, except for the
elementwise ones, which are NumPy ufuncs and dispatch otherwise. This module has them under the same names for such arrays.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core, _dlpack, _frameworks
from ._cuda import _library
from ._cuda._array import Array


def from_dlpack(x: Any) -> np.ndarray[Any, Any]:
    """An array over the memory of another library's array, without a copy.

    As numpy.from_dlpack, but it knows bfloat16 and the 8-bit formats of ml_dtypes.

    Parameters
    ----------
    x : object with ``__dlpack__`` and ``__dlpack_device__``
        In main memory. A NumPy array is returned as it is.

    Returns
    -------
    ndarray
        Of the shape, strides and type of `x`. It is read-only when the producer says so, and when it hands over a capsule
        without a version, which cannot say it.

    Raises
    ------
    TypeError
        `x` has no ``__dlpack__``, or elements that NumPy and ml_dtypes have no type for.
    BufferError
        `x` is on another device, comes by another major version of DLPack, or its producer does not give it away: PyTorch
        none that requires a gradient.
    """
    if isinstance(x, np.ndarray):
        return x
    if not _dlpack.is_foreign(x):
        raise TypeError(f"x must have __dlpack__, {type(x).__name__} has not")
    return _frameworks.view("x", x)


def check_indices(x: Any) -> None:
    """Raises if an index or a target was out of range in a call with arrays on a GPU.

    Such a call reads its indices on the device and returns without waiting, so it cannot raise: all of its results are NaN. This
    function waits for the work on the current stream, and answers for all calls on the device of `x` since it was last asked. In main
    memory the call itself raises, and there is nothing to check.

    Parameters
    ----------
    x : array
        Any array on the device.

    Raises
    ------
    IndexError
        An index of `index_add` or its like, or a target of a loss, was out of range.
    TypeError
        `x` is no array.
    RuntimeError
        The device reports an error.
    """
    if not isinstance(x, np.ndarray) and not _dlpack.is_foreign(x):
        raise TypeError(f"x must be an array, not {type(x).__name__}")

    def check(array: Any) -> None:
        if isinstance(array, Array) and _library.index_errors(array.place):
            raise IndexError(
                "an index or a target was out of range in a call on this device since the last check; its results are NaN"
            )

    _frameworks.call(check, (x,), {}, ["x"])


def _make(name: str) -> Callable[..., Any]:
    ufunc = _core.ufuncs[name]
    names = ["g", "x"] if name.endswith("_backward") else ["x", "y", "z"][: ufunc.nin]

    def function(*args: Any, **kwargs: Any) -> Any:
        return _frameworks.call(ufunc, args, kwargs, names)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{name}({", ".join(names)}, **kwargs)

    `repmath.{name}` of arrays that have ``__dlpack__``; the result is of their library.

    Parameters
    ----------
    {", ".join(names)} : array or number
        At least one has ``__dlpack__``, or is a NumPy array{"; their shapes broadcast" if ufunc.nin > 1 else ""}.
    out, where, casting, order, dtype, subok, signature
        As for every NumPy ufunc; `out`, too, may be another library's array, if it is writable.

    Returns
    -------
    array of the library of the arguments

    Raises
    ------
    TypeError
        Elements are of a type that the function does not have, or the arguments of two libraries.
    BufferError
        As `from_dlpack`.
    """
    return function


__all__ = ["check_indices", "from_dlpack", *_core.ufuncs]
globals().update({name: _make(name) for name in _core.ufuncs})


def __getattr__(name: str) -> Callable[..., Any]:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

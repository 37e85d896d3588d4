"""Creates, copies and computes with arrays where they are, in main memory or on a device. For type checkers all are NumPy arrays."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, TypeGuard, cast

import numpy as np

from . import _core
from ._cuda import _calls
from ._cuda._array import Array as DeviceArray
from ._cuda._array import contiguous as _contiguous_on_device
from ._cuda._array import download, upload
from ._cuda._array import new as _new_on_device

_NDArray = np.ndarray[Any, Any]


def on_device(x: Any) -> bool:
    """Whether it is an array on a device."""
    return isinstance(x, DeviceArray)


def asarray(x: Any) -> _NDArray:
    """numpy.asarray, which leaves an array on a device where it is."""
    return cast(_NDArray, x if isinstance(x, DeviceArray) else np.asarray(x))


def is_array(x: Any) -> TypeGuard[_NDArray]:
    """Whether it is an array, in whatever memory."""
    return isinstance(x, (np.ndarray, DeviceArray))


def empty(shape: Sequence[int], dtype: Any, beside: Any) -> _NDArray:
    """An uninitialised array in the memory of another."""
    return cast(
        _NDArray, _new_on_device(beside.place, shape, dtype) if isinstance(beside, DeviceArray) else np.empty(shape, dtype)
    )


def zeros(shape: Sequence[int], dtype: Any, beside: Any) -> _NDArray:
    """An array of zeros, in the memory of another."""
    if not isinstance(beside, DeviceArray):
        return np.zeros(shape, dtype)
    result = _new_on_device(beside.place, shape, dtype)
    result[...] = upload(beside.place, np.zeros((), dtype))
    return cast(_NDArray, result)


def move(x: Any, beside: Any) -> _NDArray:
    """An array, copied to the memory of another if that is on a device and it is not."""
    return cast(
        _NDArray, upload(beside.place, x) if isinstance(beside, DeviceArray) and not isinstance(x, DeviceArray) else x
    )


def host(x: Any) -> _NDArray:
    """An array in main memory: the same, or a copy of one on a device."""
    return cast(_NDArray, download(x) if isinstance(x, DeviceArray) else np.asarray(x))


def copied(x: Any, dtype: Any) -> _NDArray:
    """A copy in C order, of this type."""
    return cast(_NDArray, x.astype(dtype) if isinstance(x, DeviceArray) else np.array(x, dtype, order="C"))


def contiguous(x: Any) -> _NDArray:
    """The array, or a copy in C order."""
    return cast(_NDArray, _contiguous_on_device(x) if isinstance(x, DeviceArray) else np.ascontiguousarray(x))


def exact_sum(beside: Any) -> Any:
    """An empty exact sum, in the memory of an array."""
    return calls(beside).ExactSum(beside.place) if isinstance(beside, DeviceArray) else _core.ExactSum()


def as_bytes(x: Any) -> _NDArray:
    """The bytes of an array in C order, as one axis; on a device the elements, which its functions take in place of bytes."""
    return cast(_NDArray, x.reshape(-1) if isinstance(x, DeviceArray) else x.reshape(-1).view(np.uint8))


def calls(x: Any) -> ModuleType:
    """The module of the C library's functions for an array's memory: `_core`, or `_cuda._calls` with the same names for a device."""
    return _calls if isinstance(x, DeviceArray) else _core

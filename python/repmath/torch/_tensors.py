"""Tensors as NumPy arrays, or those on a GPU as arrays there, and back, without a copy."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import torch

from .._cuda._array import Array as DeviceArray
from .._dtypes import BF16, F16, F32, F64
from . import _device_tensors
from ._dispatch_key import KEY

_Array = np.ndarray[Any, Any]

# The formats that operators round to.
FORMATS: dict[torch.dtype, Any] = {torch.float16: F16, torch.bfloat16: BF16, torch.float32: F32, torch.float64: F64}
_device_tensors.know(FORMATS)


def as_array(t: torch.Tensor) -> _Array:
    """The memory of a tensor as an array. It is not part of the autograd graph; bfloat16 has the type of ml_dtypes."""
    if not t.is_cpu and t.device.type in _device_tensors.KINDS:
        return cast(_Array, _device_tensors.as_device_array(t))
    if t.dtype is torch.bfloat16:
        bits: _Array = t.view(torch.int16).numpy(force=True)
        return bits.view(BF16)
    array: _Array = t.numpy(force=True)
    return array


def fills_memory(t: torch.Tensor) -> bool:
    """Whether the elements lie one after the other in some order of the axes, and none is another's. PyTorch's own question of this kind imports
    a library of symbols when it is first asked, which takes seconds."""
    if t.layout is not torch.strided:
        return False
    place = 1
    for stride, size in sorted(zip(t.stride(), t.shape, strict=True)):
        if size == 1:
            continue
        if stride != place:
            return False
        place *= size
    return True


_excluded, _exclude = torch._C._dispatch_tls_is_dispatch_key_excluded, torch._C._dispatch_tls_set_dispatch_key_excluded


def _inside(function: Callable[[Any], Any], value: Any) -> Any:
    """For handlers of operators, whose mode, or the key in its place, would see each of the calls that PyTorch makes for it."""
    before = _excluded(KEY)
    _exclude(KEY, True)
    try:
        with torch._C._DisableTorchDispatch():
            return function(value)
    finally:
        _exclude(KEY, before)


def array_inside(t: torch.Tensor) -> _Array:
    """as_array for handlers of operators."""
    made: _Array = _inside(as_array, t)
    return made


def tensor_inside(a: Any) -> torch.Tensor:
    """as_tensor for handlers of operators."""
    made: torch.Tensor = _inside(as_tensor, a)
    return made


def as_tensor(a: Any) -> torch.Tensor:
    """A tensor over the memory of an array that is writable and has no negative stride, or of a NumPy scalar."""
    if isinstance(a, DeviceArray):
        return _device_tensors.as_device_tensor(a)
    a = np.asarray(a)
    if a.dtype == BF16:
        bits = torch.from_numpy(a.view(np.int16))
        # No view of another tensor: an operator must not return one.
        return torch.empty(0, dtype=torch.bfloat16).set_(bits.untyped_storage(), 0, bits.shape, bits.stride())
    return torch.from_numpy(a)

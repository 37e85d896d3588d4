"""Tensors on a GPU as arrays of `_cuda`, and back, without a copy. PyTorch allocates the memory, and work goes to its current stream."""

from typing import Any

import numpy as np
import torch

from .._cuda._array import Array, Lent, Place, Unsupported
from ._deviations import HEAD, eps_before, remember

# The types of devices, beside the CPU, whose tensors operators take.
KINDS = {"cuda"}

_DTYPES: dict[torch.dtype, np.dtype[Any]] = {
    t: np.dtype(str(t).removeprefix("torch."))
    for t in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)
}


def know(formats: dict[torch.dtype, Any]) -> None:
    """Adds the floating-point formats with their dtypes of NumPy."""
    _DTYPES.update((t, np.dtype(dtype)) for t, dtype in formats.items())


_LEGACY = 1  # CUDA's handle of the default stream


class _TensorPlace(Place):
    """A device and PyTorch's current stream there; results are in memory that PyTorch allocates."""

    def __init__(self, device: torch.device) -> None:
        self.torch_device = device
        number = device.index or 0
        stream = torch._C._cuda_getCurrentRawStream(number) if device.type == "cuda" else 0
        super().__init__(number, stream or _LEGACY, True, "torch")

    def memory(self, size: int) -> Any:
        return Lent(torch.empty(size, dtype=torch.uint8, device=self.torch_device))


def sent(t: torch.Tensor, device: torch.device) -> torch.Tensor:
    """The tensor on a device. What precedes the deviations of a norm in their storage is copied too."""
    if t.layout is not torch.strided or t.storage_offset() * t.itemsize != HEAD:
        return t.to(device)
    storage = t.untyped_storage()
    whole = torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,)).to(device)
    remember(whole, eps_before(t) if t.is_cpu else None)
    return torch.empty(0, dtype=t.dtype, device=device).set_(whole.untyped_storage(), t.storage_offset(), t.shape, t.stride())


def is_on_device(x: Any) -> bool:
    """Whether x is a tensor on such a device."""
    return isinstance(x, torch.Tensor) and not x.is_cpu and x.device.type in KINDS


def as_device_array(t: torch.Tensor) -> Array:
    """The memory of a tensor on a GPU as an array there."""
    if t.is_conj() or t.is_neg() or t.layout is not torch.strided or t.dtype not in _DTYPES or t.device.type not in KINDS:
        raise Unsupported("a tensor whose elements are not those in memory")
    dtype = _DTYPES[t.dtype]
    strides = [s * dtype.itemsize for s in t.stride()]
    return Array(_TensorPlace(t.device), t.data_ptr(), t.shape, strides, dtype, Lent(t))


def as_device_tensor(a: Array) -> torch.Tensor:
    """A tensor over the memory of an array that came from one, or was made beside it."""
    owner: Any = a.owner
    made: torch.Tensor = owner.over(a)
    return made

"""Tensors on a GPU as arrays of the library for it, and back, without a copy. Memory is PyTorch's; work goes to its current stream."""

from typing import Any

import numpy as np
import torch

from .._cuda._array import Array, Place, Unsupported

# The types of devices whose tensors operators compute with, beside the CPU.
KINDS = {"cuda"}

_DTYPES: dict[torch.dtype, np.dtype[Any]] = {
    t: np.dtype(str(t).removeprefix("torch."))
    for t in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)
}
_TENSORS: dict[Any, torch.dtype] = {dtype: t for t, dtype in _DTYPES.items()}


def know(formats: dict[torch.dtype, Any]) -> None:
    """The floating-point formats, and NumPy's types of them."""
    for t, dtype in formats.items():
        _DTYPES[t] = np.dtype(dtype)
        _TENSORS[_DTYPES[t]] = t


_LEGACY = 1  # CUDA's handle of the default stream


class _Memory:
    """The memory of a tensor."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor, self.address = tensor, tensor.data_ptr()


class _TensorPlace(Place):
    """A device and PyTorch's current stream there; results are in memory that PyTorch allocates."""

    def __init__(self, device: torch.device) -> None:
        self.torch_device = device
        number = device.index or 0
        stream = torch._C._cuda_getCurrentRawStream(number) if device.type == "cuda" else 0
        super().__init__(number, stream or _LEGACY, True)

    def memory(self, size: int) -> Any:
        return _Memory(torch.empty(size, dtype=torch.uint8, device=self.torch_device))


def is_on_device(x: Any) -> bool:
    """Whether it is a tensor on such a device."""
    return isinstance(x, torch.Tensor) and not x.is_cpu and x.device.type in KINDS


def as_device_array(t: torch.Tensor) -> Array:
    """The memory of a tensor on a GPU as an array there."""
    if t.is_conj() or t.is_neg() or t.layout is not torch.strided or t.dtype not in _DTYPES or t.device.type not in KINDS:
        raise Unsupported("a tensor whose elements are not those in memory")
    dtype = _DTYPES[t.dtype]
    strides = [s * dtype.itemsize for s in t.stride()]
    return Array(_TensorPlace(t.device), t.data_ptr(), t.shape, strides, dtype, _Memory(t))


def as_device_tensor(a: Array) -> torch.Tensor:
    """A tensor over the memory of an array that came from one, or was made beside it."""
    place: Any = a.place
    dtype = _TENSORS[a.dtype]
    made = torch.empty(a.shape if not a.size else 0, dtype=dtype, device=place.torch_device)
    if not a.size:
        return made
    owner: Any = a.owner
    storage = owner.tensor.untyped_storage()
    # No view of another tensor: an operator must not return one.
    offset = (a.address - storage.data_ptr()) // a.itemsize
    return made.set_(storage, offset, a.shape, [s // a.itemsize for s in a.strides])

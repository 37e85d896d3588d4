"""Arrays on a GPU: memory, shape, strides and NumPy's views. Only the library reads and writes their elements."""

import ctypes
import math
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from . import _library


class Unsupported(AttributeError):
    """The operation is available in main memory only; the call is repeated there."""


class Place:
    """A device, the stream on which work is enqueued, and the framework that memory is taken from ("torch"), or None."""

    def __init__(self, device: int, stream: int, is_current: bool = False, lender: str | None = None) -> None:
        self.device, self.stream, self.lender = device, stream, lender
        self.is_current = is_current  # whether it is the stream that the caller's other work is on

    @property
    def queue(self) -> ctypes.c_void_p:
        """The stream as an argument of the library, which knows whose memory its workspaces are to be."""
        return _library.Queue(self.stream, self.memory if self.lender == "torch" and self.is_current else None)

    def memory(self, size: int) -> Any:
        """Memory of so many bytes, which has an address and lasts as long as the object."""
        if self.lender != "torch":
            return Memory(self, size)
        torch = sys.modules["torch"]
        return Lent(torch.empty(size, dtype=torch.uint8, device=torch.device("cuda", self.device)))


class Lent:
    """The memory of a tensor on a device. PyTorch's allocator knows the streams that use it (record_stream) and serves the next call from
    what this one frees."""

    def __init__(self, tensor: Any) -> None:
        self.tensor, self.address = tensor, int(tensor.data_ptr())

    def over(self, array: "Array") -> Any:
        """A tensor over the elements of an array that lies in this memory. It is no view of another one: an operator must not return that."""
        torch, size = sys.modules["torch"], array.itemsize
        storage = self.tensor.untyped_storage()
        made = torch.empty(0, dtype=getattr(torch, array.dtype.name), device=self.tensor.device)
        offset = (array.address - storage.data_ptr()) // size if array.size else 0
        return made.set_(storage, offset, array.shape, [stride // size for stride in array.strides])


class Memory:
    """Device memory, released in stream order with the last array that uses it."""

    def __init__(self, place: Place, size: int) -> None:
        self.address, self.device, self.stream = 0, place.device, place.stream
        got = ctypes.c_void_p()
        _library.checked("rm_cuda_allocate", ctypes.c_size_t(size), ctypes.byref(got), place.queue)
        self.address = got.value or 0

    def __del__(self) -> None:
        if self.address:
            try:
                with _library.on_device(self.device):
                    _library.call("rm_cuda_release", ctypes.c_void_p(self.address), ctypes.c_void_p(self.stream))
            except Exception:  # at the end of the process the device may be gone before
                pass


_VIEWS = {np.moveaxis, np.swapaxes, np.transpose, np.broadcast_to, np.expand_dims, np.squeeze}


class Array:
    """An array on a device. What it lacks of an ndarray raises Unsupported.

    NumPy's functions of shapes (moveaxis, broadcast_to, ...) take it, ufuncs of repmath compute with it.
    """

    apply_ufunc: ClassVar[Callable[..., Any]]  # set by _ufuncs, which is written in terms of this class

    def __init__(
        self,
        place: Place,
        address: int,
        shape: Sequence[int],
        strides: Sequence[int],
        dtype: np.dtype[Any],
        owner: Any,
        writeable: bool = True,
    ) -> None:
        self.place, self.address, self.owner, self.dtype = place, address, owner, dtype
        self.shape, self.strides = tuple(shape), tuple(strides)
        self.flags = types.SimpleNamespace(writeable=writeable, c_contiguous=self._in_order())

    def __getattr__(self, name: str) -> Any:
        raise Unsupported(f"an array on a device has no {name}")

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        raise Unsupported("an array on a device is no array in main memory")

    def __bool__(self) -> bool:
        raise Unsupported("a value on a device is not known here")

    def __array_function__(self, function: Any, kinds: Any, arguments: Any, keywords: Any) -> Any:
        if function in _VIEWS and arguments and arguments[0] is self:
            return self._viewed(lambda shadow: function(shadow, *arguments[1:], **keywords))
        if function is np.reshape:
            return self.reshape(*arguments[1:], **keywords)
        if function is np.shape:
            return self.shape
        if function in (np.may_share_memory, np.shares_memory):
            return overlap(*arguments[:2])
        raise Unsupported(f"{function.__name__} is not for arrays on a device")

    def __array_ufunc__(self, ufunc: Any, method: str, *arguments: Any, **keywords: Any) -> Any:
        return Array.apply_ufunc(ufunc, method, arguments, keywords)

    def _in_order(self) -> bool:
        """Whether the elements lie one after the other, in C order."""
        ordered = zip(self.shape, self.strides, c_strides(self.shape, self.itemsize), strict=True)
        return self.size == 0 or all(n == 1 or stride == step for n, stride, step in ordered)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def T(self) -> "Array":
        return self.transpose()

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def pointer(self) -> ctypes.c_void_p:
        """The address as an argument of the library; NULL of an array without elements."""
        return ctypes.c_void_p(self.address if self.size else None)

    def _viewed(self, view: Callable[[Any], Any]) -> "Array":
        """Applies `view`, which reads no element, to an array of this shape and these strides."""
        shadow = as_strided(np.empty(1, self.dtype), self.shape, self.strides)
        seen = view(shadow)
        offset = _start(seen) - _start(shadow)
        return Array(
            self.place, self.address + offset, seen.shape, seen.strides, self.dtype, self.owner, self.flags.writeable
        )

    def broadcast_to(self, shape: Sequence[int]) -> "Array":
        return self._viewed(lambda shadow: np.broadcast_to(shadow, tuple(shape)))

    def transpose(self, *axes: Any) -> "Array":
        return self._viewed(lambda shadow: shadow.transpose(*axes))

    def __getitem__(self, index: Any) -> "Array":
        parts = index if isinstance(index, tuple) else (index,)
        if not all(p is None or p is Ellipsis or type(p) in (int, slice) for p in parts):
            raise Unsupported("elements on a device are chosen by slices and integers")
        full = parts if Ellipsis in parts else (*parts, ...)  # with an ellipsis an element, too, is an array
        return self._viewed(lambda shadow: shadow[full])

    def __setitem__(self, index: Any, value: Any) -> None:
        copy(value, self[index])

    def reshape(self, *shape: Any) -> "Array":
        """Over the same memory where the elements lie in order, otherwise a copy."""
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        made = _completed((wanted,) if isinstance(wanted, int) else tuple(wanted), self.size)
        source = self if self.flags.c_contiguous else self._merged(made)
        if source is None:
            source = contiguous(self)
        strides = c_strides(made, self.itemsize) if source.flags.c_contiguous else source.strides
        return Array(self.place, source.address, made, strides, self.dtype, source.owner, source.flags.writeable)

    def _merged(self, shape: Sequence[int]) -> "Array | None":
        """This array in a shape that only joins or splits axes which the strides allow to; None when a copy is needed."""
        strides: list[int] = []
        old = [(n, s) for n, s in zip(self.shape, self.strides, strict=True) if n != 1]
        new = list(shape)
        at = 0
        while new and at < len(old):
            group, n, m = [old[at]], old[at][0], 1
            at += 1
            taken: list[int] = []
            while True:
                while m < n and new:
                    taken.append(new.pop(0))
                    m *= taken[-1]
                if m == n:
                    break
                if at == len(old):
                    return None
                group.append(old[at])
                n *= old[at][0]
                at += 1
            if any(a[1] != b[1] * b[0] for a, b in zip(group, group[1:], strict=False)):
                return None
            step, own = group[-1][1], []
            for length in reversed(taken):
                own.append(step)
                step *= length
            strides += reversed(own)
        strides += [self.itemsize] * len(new)  # lengths of 1
        return Array(self.place, self.address, tuple(shape), strides, self.dtype, self.owner, self.flags.writeable)

    def order(self, stream: int | None) -> None:
        """Makes a consumer's stream (its DLPack number) wait for the work that computes this array; memory is released in that order."""
        if stream == -1:
            return
        number = 1 if stream is None else stream
        if number < 1:  # 0 is said to be ambiguous
            raise BufferError(f"stream must be a stream of CUDA, 1, 2, -1 or None, not {stream}")
        with _library.on_device(self.place.device):
            _library.checked("rm_cuda_wait_for", ctypes.c_void_p(number), self.place.queue)
        if isinstance(self.owner, Memory):
            self.owner.stream = number

    def ravel(self, order: str = "C") -> "Array":
        if order not in ("C", "K"):
            raise Unsupported(f"order {order}")
        return self.reshape(-1)

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> "Array":
        if np.dtype(dtype) != self.dtype:
            raise Unsupported("elements on a device keep their type")
        return duplicate(self) if copy else self

    def copy(self) -> "Array":
        return duplicate(self)


def _completed(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The shape of so many elements, with a -1 replaced."""
    known = math.prod(n for n in shape if n != -1)
    if shape.count(-1) == 1 and known and size % known == 0:
        return tuple(size // known if n == -1 else n for n in shape)
    if -1 in shape or known != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
    return shape


def _start(a: np.ndarray[Any, Any]) -> int:
    return int(a.__array_interface__["data"][0])


def c_strides(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """Strides of elements of this size in C order."""
    strides = []
    for n in reversed(shape):
        strides.append(size)
        size *= max(n, 1)
    return tuple(reversed(strides))


def span(a: Array) -> tuple[int, int]:
    """The first byte of an array and the one after its last."""
    if a.size == 0:
        return a.address, a.address
    ends = [(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)]
    return a.address + sum(e for e in ends if e < 0), a.address + sum(e for e in ends if e > 0) + a.itemsize


def overlap(a: Any, b: Any) -> bool:
    """Whether two arrays may have memory in common."""
    if not (isinstance(a, Array) and isinstance(b, Array)):
        return False
    (low, high), (first, last) = span(a), span(b)
    return low < last and first < high


def new(place: Place, shape: Sequence[int], dtype: Any) -> Array:
    """An uninitialised array in C order."""
    kind: np.dtype[Any] = np.dtype(dtype)
    made = tuple(shape)
    memory = place.memory(math.prod(made) * kind.itemsize)
    return Array(place, memory.address, made, c_strides(made, kind.itemsize), kind, memory)


def strides_of(a: Array | None, axes: int = 5) -> Any:
    """The strides as an argument of the library, padded with zeros."""
    values = () if a is None else a.strides
    return (ctypes.c_ssize_t * max(axes, len(values), 1))(*values)


def _copied(source: Array, target: Array) -> None:
    shape = (ctypes.c_int64 * max(1, source.ndim))(*source.shape)
    arguments = source.pointer, strides_of(source, source.ndim), target.pointer, strides_of(target, source.ndim)
    _library.checked(
        "rm_cuda_copy", _library.Int(source.itemsize), _library.Int(source.ndim), shape, *arguments, source.place.queue
    )


def copy(source: Any, target: Array) -> None:
    """Write an array of the same type, broadcast, to another."""
    if not isinstance(source, Array) or source.dtype != target.dtype:
        raise Unsupported("elements on a device keep their type")
    full = source if source.shape == target.shape else source.broadcast_to(target.shape)
    _copied(duplicate(full) if overlap(full, target) else full, target)


def duplicate(a: Array) -> Array:
    """A copy in C order."""
    result = new(a.place, a.shape, a.dtype)
    _copied(a, result)
    return result


def contiguous(a: Array) -> Array:
    """The array, or a copy in C order."""
    return a if a.flags.c_contiguous else duplicate(a)


def upload(place: Place, a: np.ndarray[Any, Any]) -> Array:
    """A copy on the device."""
    host = np.ascontiguousarray(a)
    result = new(place, a.shape, a.dtype)
    _library.checked(
        "rm_cuda_write",
        ctypes.c_size_t(host.nbytes),
        ctypes.c_void_p(_start(host)),
        ctypes.c_void_p(result.address),
        place.queue,
    )
    return result


def download(a: Array) -> np.ndarray[Any, Any]:
    """A copy in main memory."""
    source = contiguous(a)
    host = np.empty(a.shape, a.dtype)
    _library.checked(
        "rm_cuda_read",
        ctypes.c_size_t(host.nbytes),
        ctypes.c_void_p(source.address),
        ctypes.c_void_p(_start(host)),
        a.place.queue,
    )
    return host

"""Calls with arrays on a device are computed there if the library has the function, otherwise in main memory, with the same bits."""

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dlpack
from . import _library
from ._array import Array, Place, Unsupported, copy, download, upload

# Frameworks that say which stream their work is on; others synchronise with the default stream.
_STREAMS: dict[str, Callable[[Any, int], int]] = {
    "torch": lambda torch, number: torch.cuda.current_stream(number).cuda_stream,
    "cupy": lambda cupy, number: cupy.cuda.get_current_stream().ptr,
}
_DEFAULT = 1  # DLPack's number, and CUDA's handle, of the stream that all others wait for

#: How calls with arrays on a device were made so far: "on the device" or "in main memory".
calls: Counter[str] = Counter()


def place_of(home: str | None, number: int) -> Place:
    """The device and the stream that a framework's arrays are computed with on."""
    if home in _STREAMS:
        return Place(number, _STREAMS[home](sys.modules[home], number) or _DEFAULT, True, home)
    return Place(number, _DEFAULT)


def take(name: str, x: Any, place: Place, version: tuple[int, int]) -> Array:
    """The array of a framework, ready for the stream of the place."""
    try:
        capsule = x.__dlpack__(stream=place.stream, max_version=version)
    except TypeError:  # from before there were versions
        capsule = x.__dlpack__(stream=place.stream)
    address, shape, strides, dtype, read_only, memory = _dlpack.on_device(name, capsule)
    return Array(place, address, shape, strides, dtype, memory, not read_only)


class _Copies:
    """Copies of arrays in main memory, for one call."""

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays, self.place = arrays, arrays[0].place
        self.hosts = [download(a) for a in arrays]
        self.before = [host.tobytes() for host in self.hosts]
        for a, host in zip(arrays, self.hosts, strict=True):
            host.flags.writeable = a.flags.writeable

    def of(self, x: Any) -> Any:
        """The copy of an argument, or the argument."""
        return next((host for a, host in zip(self.arrays, self.hosts, strict=True) if a is x), x)

    def write_back(self) -> None:
        """What the call has changed."""
        for a, host, before in zip(self.arrays, self.hosts, self.before, strict=True):
            if a.flags.writeable and host.tobytes() != before:
                copy(upload(self.place, host), a)

    def returned(self, x: Any) -> Any:
        """A result, on the device; one that is an argument stays it."""
        if isinstance(x, (np.ndarray, np.generic)):
            own = next((a for a, host in zip(self.arrays, self.hosts, strict=True) if host is x), None)
            return upload(self.place, np.asarray(x)) if own is None else own
        if not isinstance(x, (tuple, list)):
            return x
        kind: Any = getattr(type(x), "_make", type(x))  # a named tuple stays one
        return kind(map(self.returned, x))


def _through_main_memory(function: Callable[..., Any], arrays: list[Array], arguments: Any, keywords: Any) -> Any:
    copies = _Copies(arrays)
    result = function(*map(copies.of, arguments), **{name: copies.of(x) for name, x in keywords.items()})
    copies.write_back()
    return copies.returned(result)


def run(function: Callable[..., Any], arrays: list[Array], arguments: Any, keywords: Any) -> Any:
    """Calls the function with arguments of which `arrays` are on a device; its results are on that device."""
    place = arrays[0].place
    with _library.on_device(place.device):
        try:
            result = function(*arguments, **keywords)
            where = "on the device"
        except Unsupported:
            where = "in main memory"
        if where == "in main memory":
            result = _through_main_memory(function, arrays, arguments, keywords)
        calls[where] += 1
        if not place.is_current and any(a.flags.writeable for a in arrays):
            # What was written to them must be there for streams that are not known here.
            _library.checked("rm_cuda_wait", place.queue)
    return result

"""librepmath_cuda for Python. It is loaded when the first array on a GPU is passed."""

import ctypes
import functools
import os
import pathlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core

_VARIABLE = "REPMATH_CUDA_LIBRARY"
_FORMATS = {"f16": 0, "bf16": 1, "f32": 2, "f64": 3}  # enum of core.h
_ERR_MEMORY, _ERR_DEVICE = 6, 9

Int = ctypes.c_int  # an argument that C has as int; other integers are of 64 bits


def format_of(name: str) -> ctypes.c_int:
    """The C library's number of a format."""
    return Int(_FORMATS[name])


@functools.cache
def load() -> ctypes.CDLL:
    """The library that REPMATH_CUDA_LIBRARY names, that of the package, or that of the system; ImportError when there is none."""
    named = os.environ.get(_VARIABLE)
    file = "repmath_cuda.dll" if sys.platform == "win32" else "librepmath_cuda.so"
    inside = pathlib.Path(__file__).resolve().parent.parent / "lib" / file
    path = named or (str(inside) if inside.exists() else file)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"the CUDA library of repmath cannot be loaded ({error}); install repmath with -C cmake.define.REPMATH_CUDA=ON, or name "
            f"the library in {_VARIABLE} (docs/dlpack.md#how-are-arrays-on-a-gpu-computed)"
        ) from None
    library.rm_cuda_devices.restype = Int
    library.rm_cuda_message.restype = ctypes.c_char_p
    return library


def call(name: str, *arguments: Any) -> int:
    """A function of the library: Python's integers are of 64 bits, floats binary64, None is NULL. Returns its status."""
    function = getattr(load(), name)
    converted = [
        ctypes.c_int64(a)
        if type(a) is int
        else ctypes.c_double(a)
        if type(a) is float
        else ctypes.c_void_p()
        if a is None
        else a
        for a in arguments
    ]
    return int(function(*converted))


def checked(name: str, *arguments: Any) -> None:
    """The same; a status that is no success is raised: MemoryError, RuntimeError of the device, or ValueError."""
    check(call(name, *arguments))


def check(status: int) -> None:
    """Raise what a status says."""
    if status:
        message = _core.status_message(status)
        code = status & 0xFF
        if code == _ERR_DEVICE:
            message += f" ({load().rm_cuda_message().decode()})"
        raise (MemoryError if code == _ERR_MEMORY else RuntimeError if code == _ERR_DEVICE else ValueError)(message)


def is_index_error(status: int) -> bool:
    """Whether an index was out of range."""
    return status & 0xFF == int(_core.ERR_INDEX)


def index_errors(place: Any) -> bool:
    """Whether a call on the device of a place has met an index out of range, in work of its stream, since this was last asked."""
    seen = Int()
    with on_device(place.device):
        checked("rm_cuda_index_errors", ctypes.byref(seen), place.queue)
    return bool(seen.value)


@contextmanager
def on_device(number: int) -> Iterator[None]:
    """Makes this the thread's current device inside of a with block."""
    before = Int()
    checked("rm_cuda_get_device", ctypes.byref(before))
    if before.value != number:
        checked("rm_cuda_set_device", Int(number))
    try:
        yield
    finally:
        if before.value != number:
            call("rm_cuda_set_device", before)

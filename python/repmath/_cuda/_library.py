"""librepmath_cuda for Python. It is loaded when the first array on a GPU is passed."""

import ctypes
import functools
import os
import pathlib
import re
import sys
from collections.abc import Callable, Iterator
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


class Queue(ctypes.c_void_p):
    """A stream, and what makes memory of so many bytes for the workspaces of calls on it: None is the library's pool."""

    def __init__(self, stream: int, memory: Callable[[int], Any] | None) -> None:
        super().__init__(stream)
        self.memory = memory


# Functions without a workspace: those of one element at a time, but for the tables of 16-bit numbers, and those of memory and streams.
_WITHOUT_WORKSPACE = re.compile(r"rm_cuda_(v\w+_f(32|64)|copy|read|write|wait|wait_for|allocate|release|index_errors)")


def call(name: str, *arguments: Any) -> int:
    """A function of the library: Python's integers are of 64 bits, floats binary64, None is NULL. Returns its status.

    If the last argument is a queue with memory of its own, the function is called twice, first to measure its workspace."""
    library = load()
    function = getattr(library, name)
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
    lend = getattr(arguments[-1], "memory", None) if arguments else None
    if lend is None or _WITHOUT_WORKSPACE.fullmatch(name):
        return int(function(*converted))
    size = ctypes.c_size_t()
    library.rm_cuda_measure_workspace()
    status = int(function(*converted))
    library.rm_cuda_end_workspace(ctypes.byref(size))
    if status:
        return status
    lent = lend(size.value) if size.value else None
    check(library.rm_cuda_use_workspace(size, ctypes.c_void_p(lent.address if lent else None)))
    status = int(function(*converted))
    library.rm_cuda_end_workspace(None)
    return status


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

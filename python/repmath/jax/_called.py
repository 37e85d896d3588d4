"""Functions that Python computes inside compiled programs: the handler `called` (src/xla/called.c) gives them the memory of arguments and result.

A compiled program knows a function by its number, which is its place in `NAMES`.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from .. import _core
from . import _library
from ._primitive import Rule, by_handler

_Array = np.ndarray[Any, Any]

NAMES = (
    *("beta", "gamma", "gammainc", "gammaincc", "i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1", "k1e", "y0", "y1", "zeta"),
    *("gammainc_slope", "draw_gamma", "draw_beta", "draw_dirichlet", "draw_poisson", "draw_binomial", "draw_chisquare", "draw_slope"),
)  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {}  # of arrays; the last argument is written

_TYPES = {
    1: np.bool_,
    4: np.int32,
    5: np.int64,
    8: np.uint32,
    10: np.float16,
    11: np.float32,
    12: np.float64,
    16: jnp.bfloat16,
}


class _Buffer(ctypes.Structure):
    """XLA_FFI_Buffer of src/xla/ffi_abi.h."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
    )


_Buffers = ctypes.POINTER(ctypes.POINTER(_Buffer))


def _array(buffer: Any) -> _Array:
    shape, dtype = tuple(buffer.dims[: buffer.rank]), np.dtype(_TYPES[buffer.dtype])
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if not size:
        return np.empty(shape, dtype)
    memory = (ctypes.c_char * size).from_address(buffer.data)
    return np.frombuffer(memory, dtype).reshape(shape)


@ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, _Buffers, _Buffers, ctypes.c_void_p)
def _call(number: int, count: int, arguments: Any, results: Any, message: int) -> int:
    try:
        with _core.Environment(), np.errstate(all="ignore"):
            given = [_array(arguments[i].contents) for i in range(count)]
            FUNCTIONS[NAMES[number]](*given, _array(results[0].contents))
    except BaseException as error:
        text = f"repmath: {error}".encode()[:255]
        ctypes.memmove(message, text + b"\0", len(text) + 1)
        return 6 if isinstance(error, MemoryError) else 10  # RM_ERR_MEMORY, RM_ERR_RANGE
    return 0


_library.LIBRARY.rm_xla_set_function(_call)


def by_python() -> Rule:
    """Lower to a call of the function whose name is the parameter `function`."""
    return by_handler("called", lambda function, **_: {"number": NAMES.index(function)})

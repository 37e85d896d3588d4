"""The handlers of librepmath_xla, registered with XLA for the CPU."""

import ctypes
import pathlib
import sys

import jax

from .. import (
    _config,
    _core,  # noqa: F401  its library is then loaded, and the one here finds it
)

TARGETS = (
    "adam",
    "along",
    "convolution",
    "cross_entropy",
    "dropout",
    "elementwise",
    "matmul",
    "normalize",
    "pair_loss",
    "pool",
    "random",
    "scaled_matmul",
    "segment_sum",
    "sgd",
    "take",
)


def _register() -> str:
    folder = pathlib.Path(_config.get_include()).parent / "lib"
    path = folder / ("librepmath_xla.dylib" if sys.platform == "darwin" else "librepmath_xla.so")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"repmath.jax cannot load its handlers: {error}; install repmath again") from error
    for target in TARGETS:
        handler = getattr(library, f"rm_xla_{target}")
        jax.ffi.register_ffi_target(f"rm_xla_{target}", jax.ffi.pycapsule(handler), platform="cpu")
    return str(path)


PATH = _register()

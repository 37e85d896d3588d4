"""The handlers of librepmath_xla, registered with XLA for the CPU."""

import ctypes
import pathlib
import sys
from typing import Any

import jax
import jax.export

from .. import (
    _config,
    _core,  # noqa: F401  its library is then loaded, and the one here finds it
)

TARGETS = (
    "adam",
    "along",
    "called",
    "convolution",
    "cross_entropy",
    "dropout",
    "elementwise",
    "matmul",
    "normalize",
    "pair_loss",
    "pool",
    "powers",
    "random",
    "scaled_matmul",
    "segment_sum",
    "sgd",
    "take",
)


def _register() -> tuple[str, ctypes.CDLL]:
    folder = pathlib.Path(_config.get_include()).parent / "lib"
    path = folder / ("librepmath_xla" + {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so"))
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"repmath.jax cannot load its handlers: {error}; install repmath again") from error
    for target in TARGETS:
        handler = getattr(library, f"rm_xla_{target}")
        jax.ffi.register_ffi_target(f"rm_xla_{target}", jax.ffi.pycapsule(handler), platform="cpu")
    return str(path), library


PATH, LIBRARY = _register()


def export_checks() -> list[Any]:
    """What `jax.export.export` needs as `disabled_checks` to export a function that calls this package.

    Returns
    -------
    list of jax.export.DisabledSafetyCheck
        One for each handler. JAX warns by this check that a program which loads the exported function must have the handlers:
        it imports `repmath.jax` of a version with the same specification.
    """
    return [jax.export.DisabledSafetyCheck.custom_call(f"rm_xla_{target}") for target in TARGETS]

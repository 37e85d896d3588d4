"""What is installed: versions, instruction sets and the path of the C library."""

import ctypes
import functools
import pathlib
import platform
import sys
from typing import Any

import numpy as np

from . import _core

_PACKAGE = pathlib.Path(__file__).resolve().parent


def get_include() -> str:
    """Return the directory of the C headers.

    Returns
    -------
    str
        For ``cc -I``; a program includes ``<repmath/repmath.h>``.
    """
    return str(_PACKAGE / "include")


def _library() -> str:
    """The path of the C library that the extension module uses, for ctypes."""
    names = ("librepmath.so", "librepmath.dylib", "librepmath.dll")
    for name in names:
        path = _PACKAGE / "lib" / name
        if path.exists():
            return str(path)
    raise FileNotFoundError(f"the package holds none of {', '.join('lib/' + name for name in names)}")


_C_TYPES = {"f32": ctypes.c_float, "f64": ctypes.c_double}


def c_function(name: str, format: str = "f64") -> Any:
    """The C function of one value, which compiled code calls: numba's, or what takes a pointer to a function.

    Parameters
    ----------
    name : str
        An elementwise function, as in `repmath.exp`.
    format : {"f64", "f32"}, optional
        The type of its arguments and of its result.

    Returns
    -------
    ctypes function
        `rm_<name>_<format>`, with its types.

    Raises
    ------
    ValueError
        There is no function of this name, or no such format.
    """
    if name not in _core.ufuncs:
        raise ValueError(f"name must be an elementwise function, not {name!r}")
    if format not in _C_TYPES:
        raise ValueError(f"format must be 'f32' or 'f64', not {format!r}")
    kind, nin = _C_TYPES[format], _core.ufuncs[name].nin
    return ctypes.CFUNCTYPE(kind, *[kind] * nin)((f"rm_{name}_{format}", _loaded()))


@functools.cache
def _loaded() -> ctypes.CDLL:
    return ctypes.CDLL(_library())


def config() -> dict[str, object]:
    """Return what show_config prints, as a dict of plain values."""
    return {
        "repmath": _core.library_version(),
        "specification": _core.SPEC_VERSION,
        "compiler": _core.COMPILER,
        "isa": _core.isa(),
        "available isas": list(_core.available_isas()),
        "threads": _core.get_num_threads(),
        "functions": list(_core.ufuncs),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "system": sys.platform,
    }


def show_config() -> None:
    """Print versions, the compiler, the instruction sets and the number of threads."""
    items = config()
    width = max(map(len, items)) + 2
    for key, value in items.items():
        print(f"{key + ':':{width}}{' '.join(value) if isinstance(value, list) else value}")

"""What is installed: versions, instruction sets and the path of the C library."""

import pathlib
import platform
import sys

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
    names = ("librepmath.so", "librepmath.dylib")
    for name in names:
        path = _PACKAGE / "lib" / name
        if path.exists():
            return str(path)
    raise FileNotFoundError(f"the package holds none of {', '.join('lib/' + name for name in names)}")


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

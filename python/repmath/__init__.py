"""Correctly rounded math and exact reductions.

Every function returns the value of its mathematical definition, computed as
if exactly and then rounded once. The bits therefore do not depend on the
machine, the instruction set, the thread count or the layout of the arrays.
"""

import importlib as _importlib
import os as _os
import sys as _sys
import typing as _typing

if _sys.platform == "win32":  # which looks for the libraries of a module in its own folder and in those that are named
    _os.add_dll_directory(_os.path.join(_os.path.dirname(_os.path.abspath(__file__)), "lib"))  # type: ignore[attr-defined]

from . import _aliases, _core, _dlpack, _dtypes, certificate, dlpack, fft, init, linalg, nn, optim, random, rounding
from ._accumulator import Accumulator
from ._config import c_function, config, get_include, show_config
from ._contractions import einsum, matvec, tensordot, vdot, vecdot, vecmat
from ._convolution import (
    conv1d,
    conv1d_grad_input,
    conv1d_grad_weight,
    conv2d,
    conv2d_grad_input,
    conv2d_grad_weight,
    conv3d,
    conv3d_grad_input,
    conv3d_grad_weight,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from ._core import get_num_threads, reset_stats, set_num_threads, stats
from ._digest import digest
from ._float8 import to_float8
from ._reductions import dot, matmul, sum
from ._scatter import bincount, embedding_grad, index_add, scatter_add, segment_sum
from ._statistics import cumsum, mean, norm, std, var

from . import _random_calls as _random_calls  # isort: skip  # which enters functions in scopes, after all others

__version__ = _core.library_version()

_dtypes.register(_core, _dlpack)
# One ufunc for each line of crlibm/functions.def; __init__.pyi names them for type checkers.
globals().update(_core.ufuncs)
globals().update(_core.powers)
globals().update({alias: _core.ufuncs[name] for alias, name in _aliases.NAMES.items()})


def __getattr__(name: str) -> _typing.Any:
    if name == "special":  # whose code is long, and needed by few
        return _importlib.import_module("repmath.special")
    raise AttributeError(f"module 'repmath' has no attribute {name!r}")


__all__ = [
    "Accumulator",
    "bincount",
    "c_function",
    "certificate",
    "config",
    "conv1d",
    "conv1d_grad_input",
    "conv1d_grad_weight",
    "conv2d",
    "conv2d_grad_input",
    "conv2d_grad_weight",
    "conv3d",
    "conv3d_grad_input",
    "conv3d_grad_weight",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cumsum",
    "digest",
    "dlpack",
    "dot",
    "einsum",
    "embedding_grad",
    "fft",
    "get_include",
    "get_num_threads",
    "index_add",
    "init",
    "linalg",
    "matmul",
    "matvec",
    "mean",
    "nn",
    "norm",
    "random",
    "optim",
    "reset_stats",
    "rounding",
    "scatter_add",
    "segment_sum",
    "set_num_threads",
    "show_config",
    "special",
    "stats",
    "std",
    "sum",
    "tensordot",
    "to_float8",
    "var",
    "vdot",
    "vecdot",
    "vecmat",
    *_core.ufuncs,
    *_core.powers,
    *_aliases.NAMES,
]

"""Bessel functions, those of the orders 0 and 1 by `_special/bessel.py`, Airy's Ai, Hurwitz's zeta, the incomplete gamma functions and sin(x)/x
(`_special/functions.py`), of tensors."""

from typing import Any

import numpy as np
import torch

from ... import _core
from ..._special import bessel, functions
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Uncovered, convert, deciding, format_of, in_binary64

# The series of a Bessel function, which is a prepared call too.
CALLS: dict[str, _core.Special] = {name: bessel.series(name) for name in bessel.KINDS}


def _enter_bessel(name: str) -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        if x.is_complex():
            raise Uncovered("complex numbers")
        dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
        if dtype not in FORMATS:
            raise Uncovered(f"results of {dtype}")
        if not x.is_floating_point() and bool((x.abs() > 2**53).any()):
            raise Uncovered("integers beyond 2**53")
        points = as_array(convert(x, x.dtype if x.is_floating_point() else torch.float64).contiguous()).reshape(-1)
        with deciding():
            return as_tensor(bessel.values(name, FORMATS[dtype], points)).view(x.shape)

    KERNELS[name] = call


def _evaluated(name: str, dtype: torch.dtype, *values: Any) -> torch.Tensor:
    """The function of tensors and numbers in their common shape, rounded once to the format."""
    if dtype.is_complex:
        raise Uncovered("complex numbers")
    if dtype not in FORMATS:
        raise Uncovered(f"results of {dtype}")
    wide = [in_binary64(v) if isinstance(v, torch.Tensor) else torch.tensor(float(v), dtype=torch.float64) for v in values]
    joined = torch.broadcast_tensors(*wide)
    points = [np.ascontiguousarray(as_array(v)).reshape(-1) for v in joined]
    with deciding():
        return as_tensor(functions.values(name, FORMATS[dtype], *points)).view(joined[0].shape)


def _enter_one(name: str) -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        return _evaluated(name, x.dtype if x.is_floating_point() or x.is_complex() else torch.get_default_dtype(), x)

    KERNELS[name] = call


def _enter_two(name: str) -> None:
    def call(a: Any, x: Any) -> torch.Tensor:
        dtype = format_of(a, x)
        if name == "zeta" and not dtype.is_floating_point and not dtype.is_complex:
            dtype = torch.get_default_dtype()
        return _evaluated(name, dtype, a, x)

    KERNELS[name] = call


OF_TWO = ("zeta", "igamma", "igammac")
for _name in functions.FUNCTIONS:
    (_enter_two if _name in OF_TWO else _enter_one)(_name)
for _name in CALLS:
    _enter_bessel(_name)

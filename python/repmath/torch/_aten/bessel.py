"""Bessel functions of the orders 0 and 1 (`_special/bessel.py`), of tensors."""

import torch

from ... import _core
from ..._special import bessel
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Uncovered, convert, deciding

# The series of a function, which is a prepared call too.
CALLS: dict[str, _core.Special] = {name: bessel.series(name) for name in bessel.KINDS}


def _enter(name: str) -> None:
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


for _name in CALLS:
    _enter(_name)

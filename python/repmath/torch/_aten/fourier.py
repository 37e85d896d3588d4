"""Fourier transforms: each part of a result is rounded once."""

from collections.abc import Sequence
from typing import TypeAlias

import torch

from ...fft import _transform
from .._tensors import as_array, as_tensor
from .common import Uncovered, kernel

_Tensor: TypeAlias = torch.Tensor

_SCALES = ("one", "root", "n")
_KINDS = {torch.float32: False, torch.float64: False, torch.complex64: True, torch.complex128: True}


def _transformed(x: _Tensor, dim: Sequence[int], lengths: Sequence[int], kind: str, sign: int, normalization: int) -> _Tensor:
    if x.dtype not in _KINDS:
        raise Uncovered(f"tensors of {x.dtype}")
    if not dim:
        return x.clone()
    axes = tuple(d % x.ndim for d in dim)
    made: _Tensor = as_tensor(_transform(as_array(x), axes, tuple(lengths), kind, sign, _SCALES[normalization]))
    return made


@kernel
def fft_c2c(x: _Tensor, dim: Sequence[int], normalization: int, forward: bool) -> _Tensor:
    return _transformed(x, dim, [x.shape[d] for d in dim], "complex", -1 if forward else 1, normalization)


@kernel
def fft_r2c(x: _Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> _Tensor:
    lengths = [x.shape[d] for d in dim]
    if not dim:
        raise Uncovered("dim=()")
    return _transformed(x, dim, lengths, "from real" if onesided else "complex", -1, normalization)


@kernel
def fft_c2r(x: _Tensor, dim: Sequence[int], normalization: int, last_dim_size: int) -> _Tensor:
    if not dim:
        raise Uncovered("dim=()")
    lengths = [*(x.shape[d] for d in dim[:-1]), last_dim_size]
    return _transformed(x, dim, lengths, "to real", 1, normalization)

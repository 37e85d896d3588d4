"""Maxima of windows whose places random numbers shift. The places are whole numbers of exact quotients, and so no rounding moves them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ... import _core
from ..._dtypes import F64
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Array


def _starts(samples: Array, size: int, window: int, made: int) -> Array:
    """Where the windows of an axis begin: whole parts of (i + u) r less that of u r, r = (size - window)/(made - 1), and the last at the end.

    With D = size - window and M = made - 1 the whole part of (i + u) D/M is that of (i D + d)/M, d that of u D, which is that of the product
    rounded down.
    """
    shift = np.floor(np.asarray(_core.rounded["down"]["multiply"](samples, np.float64(size - window)))).astype(np.int64)[
        ..., None
    ]
    i = np.arange(made)
    starts = (i * (size - window) + shift) // max(made - 1, 1) - shift // max(made - 1, 1)
    starts[..., -1:] = size - window
    return np.asarray(starts)


def _pooled(x: torch.Tensor, kernel: Sequence[int], size: Sequence[int], samples: torch.Tensor, dims: int) -> Any:
    if x.dtype not in FORMATS or samples.dtype is not x.dtype or x.ndim not in (dims + 1, dims + 2):
        raise ValueError("a tensor of another shape, or samples of another format")
    a = x if x.ndim == dims + 2 else x[None]
    n, c = a.shape[:2]
    sizes = a.shape[2:]
    if samples.shape != (n, c, dims) or len(kernel) != dims or len(size) != dims:
        raise ValueError("samples that are not of shape (batches, channels, axes)")
    room = 1 if dims == 3 else 0  # that PyTorch asks for
    if not all(k > 0 and m > 0 and m + k - 1 + room <= s for k, m, s in zip(kernel, size, sizes, strict=True)):
        raise ValueError("windows that do not fit")
    if not bool(((samples >= 0) & (samples < 1)).all()):
        raise ValueError("samples that are not at least 0 and below 1")
    shifts = as_array(samples).astype(F64)
    at: Any = 0
    for axis in range(dims):
        sample = shifts[..., dims - 1 - axis if dims == 2 else axis]  # of two axes the last one has the first sample
        places = _starts(sample, sizes[axis], kernel[axis], size[axis])[..., None] + np.arange(kernel[axis])
        shape = [1] * (2 * dims)
        shape[axis], shape[dims + axis] = size[axis], kernel[axis]
        at = at * sizes[axis] + places.reshape(n, c, *shape)
    planes, count = n * c, math.prod(kernel)
    at = at.reshape(planes, math.prod(size) * count)
    lines = as_array(a.reshape(planes, sizes.numel()))
    windows, at = (v.reshape(n, c, *size, count) for v in (np.take_along_axis(lines, at, 1), at))
    nan = np.isnan(windows)
    best = np.where(nan, -np.inf, windows.astype(F64)).argmax(-1)
    last = at.shape[-1] - 1 - nan[..., ::-1].argmax(-1)  # as PyTorch has it, the place of the last NaN
    best = np.where(nan.any(-1), last, best)[..., None]
    made, where = (np.ascontiguousarray(np.take_along_axis(v, best, -1)[..., 0]) for v in (windows, at))
    return tuple(t if x.ndim == dims + 2 else t[0] for t in (as_tensor(made), as_tensor(where)))


def _define(dims: int) -> None:
    def call(x: torch.Tensor, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: torch.Tensor) -> Any:
        return _pooled(x, kernel_size, output_size, random_samples, dims)

    def gradient(
        g: torch.Tensor, x: torch.Tensor, kernel_size: Sequence[int], output_size: Sequence[int], indices: torch.Tensor
    ) -> torch.Tensor:
        if g.dtype is not x.dtype or g.shape != indices.shape:
            raise ValueError("a gradient of another format or shape")
        flat = x.new_zeros((*x.shape[:-dims], x.shape[-dims:].numel()))
        made = KERNELS["scatter_add"](flat, -1, indices.flatten(-dims), g.contiguous().flatten(-dims))
        return made.view(x.shape)

    KERNELS[f"fractional_max_pool{dims}d"], KERNELS[f"fractional_max_pool{dims}d_backward"] = call, gradient


_define(2)
_define(3)

"""Numbers rounded to a few whole multiples of a scale, as integers of a few bits would hold them."""

from typing import Any

import numpy as np
import torch

from ..._dtypes import F64
from .._tensors import as_array, as_tensor
from .common import KERNELS, Array, Uncovered, kernel, odd, widened


def _quantized(x: torch.Tensor, scale: Array, zero_point: Array, low: int, high: int) -> tuple[torch.Tensor, torch.Tensor]:
    """RN((q - z)*scale), q the whole number nearest to x/scale, plus z, between low and high; and where it was between them before.

    A quotient that is rounded to odd is a half of a whole number where the exact one is, and else on its side.
    """
    if not ((scale > 0) & np.isfinite(scale)).all():
        raise Uncovered("a scale that is not positive")
    wide = as_array(widened(x))
    quotients = np.rint(odd("divide", wide, np.broadcast_to(scale, wide.shape))) + zero_point
    with np.errstate(all="ignore"):
        inside = (quotients >= low) & (quotients <= high)
        whole = np.clip(quotients, low, high) - zero_point
    made = KERNELS["multiply"](
        as_tensor(whole),
        as_tensor(np.array(np.broadcast_to(scale, wide.shape))),
        out=torch.empty_like(x, memory_format=torch.contiguous_format),
    )
    return made, as_tensor(np.asarray(inside))


def _check(low: int, high: int, zero_point: Array) -> None:
    if low > high or not ((zero_point >= low) & (zero_point <= high)).all():
        raise ValueError("quant_min, zero_point and quant_max are not in order")


@kernel
def fake_quantize(x: torch.Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Any:
    _check(quant_min, quant_max, np.asarray(zero_point))
    return _quantized(x, np.asarray(scale, F64), np.asarray(zero_point, F64), quant_min, quant_max)


@kernel
def fake_quantize_by_tensors(
    x: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor, enabled: torch.Tensor, quant_min: int, quant_max: int
) -> Any:
    if zero_point.is_floating_point():
        raise Uncovered("a zero_point that is no integer")
    if not int(enabled):
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    return _quantized(x, np.asarray(float(scale)), np.asarray(int(zero_point), F64), quant_min, quant_max)


@kernel
def fake_quantize_channels(
    x: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor, axis: int, quant_min: int, quant_max: int
) -> Any:
    if zero_point.is_floating_point():
        raise Uncovered("a zero_point that is no integer")
    n = x.shape[axis]
    if scale.dtype is not torch.float32 or scale.shape != (n,) or zero_point.shape != (n,):
        raise ValueError("a scale and a zero point for each channel")
    shape = [n if i == axis % x.ndim else 1 for i in range(x.ndim)]
    zeros = as_array(zero_point).astype(F64)
    _check(quant_min, quant_max, zeros)
    return _quantized(x, as_array(widened(scale)).reshape(shape), zeros.reshape(shape), quant_min, quant_max)

"""Windows of signals. The place i of d (the length, or one less without periodic) counts from the nearer end, so that windows are symmetric: j = min(i, d - i)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..._dtypes import F64
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, UFUNCS, Array, Uncovered, convert_array, kernel, once


def _window(
    operator: Any,
    arguments: tuple[Any, ...],
    dtype: torch.dtype | None,
    options: dict[str, Any],
    of: Callable[[Array, np.float64, Any], Array],
) -> torch.Tensor:
    """`of` makes the numbers from j, d and the format; PyTorch's own are those of one element, and what has no numbers."""
    own: torch.Tensor = operator(*arguments, dtype=dtype, **options)
    if own.dtype not in FORMATS:
        raise Uncovered(f"dtype={own.dtype}")
    if own.device.type not in ("cpu", "meta"):
        raise Uncovered(f"device={own.device}")
    length, periodic = arguments[:2]
    if own.device.type == "meta" or length < 2:
        return own
    i, width = np.arange(length, dtype=F64), np.float64(length if periodic else length - 1)
    return as_tensor(convert_array(of(np.minimum(i, width - i), width, FORMATS[own.dtype]), FORMATS[own.dtype]))


@kernel
def hann_window(
    window_length: int, periodic: bool = True, *, dtype: torch.dtype | None = None, **options: Any
) -> torch.Tensor:
    def of(j: Array, width: np.float64, _: Any) -> Array:
        s: Array = UFUNCS["sinpi"](j / width)
        return s * s

    return _window(torch.ops.aten.hann_window.periodic, (window_length, periodic), dtype, options, of)


@kernel
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> torch.Tensor:
    def of(j: Array, width: np.float64, _: Any) -> Array:
        made: Array = float(alpha) - float(beta) * UFUNCS["cospi"](2 * j / width)
        return made

    arguments = window_length, periodic, alpha, beta
    return _window(torch.ops.aten.hamming_window.periodic_alpha_beta, arguments, dtype, options, of)


@kernel
def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: torch.dtype | None = None, **options: Any
) -> torch.Tensor:
    def of(j: Array, width: np.float64, _: Any) -> Array:
        made: Array = (0.42 - 0.5 * UFUNCS["cospi"](2 * j / width)) + 0.08 * UFUNCS["cospi"](4 * j / width)
        return made

    return _window(torch.ops.aten.blackman_window.periodic, (window_length, periodic), dtype, options, of)


@kernel
def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: torch.dtype | None = None, **options: Any
) -> torch.Tensor:
    def of(j: Array, width: np.float64, form: Any) -> Array:
        return 2 * j / width if form == F64 else once("divide", form, 2 * j, width)

    return _window(torch.ops.aten.bartlett_window.periodic, (window_length, periodic), dtype, options, of)


@kernel
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: torch.dtype | None = None, **options: Any
) -> torch.Tensor:
    """Zeros of the root are at the ends alone, where I0 is 1."""

    def of(j: Array, width: np.float64, _: Any) -> Array:
        inside = np.append(2 * np.sqrt(j * (width - j)) / width * abs(float(beta)), abs(float(beta)))
        bessel = as_array(KERNELS["i0"](as_tensor(inside)))
        made: Array = bessel[:-1] / bessel[-1]
        return made

    return _window(torch.ops.aten.kaiser_window.beta, (window_length, periodic, beta), dtype, options, of)

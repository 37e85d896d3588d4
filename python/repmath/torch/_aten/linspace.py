"""linspace, arange and the like: each number is the exact one, rounded once."""

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import torch

from ..._dtypes import F64
from .._tensors import FORMATS, as_tensor
from .common import UFUNCS, Uncovered, convert_array, kernel, nearest_odd, odd

_Number: TypeAlias = float | int


def _float_result(dtype: torch.dtype | None, numbers: tuple[_Number, ...]) -> torch.dtype | None:
    """The format of the result; None where it holds integers."""
    if dtype is None:
        return torch.get_default_dtype() if any(isinstance(v, float) for v in numbers) else None
    if dtype.is_floating_point and dtype not in FORMATS:
        raise Uncovered(f"dtype={dtype}")
    return dtype if dtype in FORMATS else None


def _elsewhere(t: torch.Tensor) -> bool:
    """Whether it has no numbers; raises where they are not the CPU's."""
    if t.device.type not in ("cpu", "meta"):
        raise Uncovered(f"device={t.device}")
    return bool(t.device.type == "meta")


def _arange(
    operator: Any, start: _Number, end: _Number, step: _Number, dtype: torch.dtype | None, options: Any
) -> torch.Tensor:
    result = _float_result(dtype, (start, end, step))
    if result is None and any(isinstance(v, float) for v in (start, end, step)):
        raise Uncovered(f"dtype={dtype} of numbers that are floats")
    own: torch.Tensor = operator(start, end, step, dtype=dtype, **options)  # PyTorch says how many there are
    if result is None or _elsewhere(own):
        return own
    index = np.arange(own.numel(), dtype=F64)
    with np.errstate(all="ignore"):
        if FORMATS[result] == F64:
            return as_tensor(UFUNCS["fma"](float(step), index, float(start)))
        return as_tensor(convert_array(odd("fma", float(step), index, float(start)), FORMATS[result]))


@kernel
def arange(start: _Number, end: Any = None, *, dtype: torch.dtype | None = None, **options: Any) -> torch.Tensor:
    """arange(end) or arange(start, end)."""
    if end is None:
        start, end = 0, start
    return _arange(torch.ops.aten.arange.start_step, start, end, 1, dtype, options)


@kernel
def arange_step(
    start: _Number, end: _Number, step: _Number = 1, *, dtype: torch.dtype | None = None, **options: Any
) -> torch.Tensor:
    return _arange(torch.ops.aten.arange.start_step, start, end, step, dtype, options)


def _spaced(operator: Any, start: Any, end: Any, steps: int, numbers: tuple[Any, ...], dtype: Any, options: Any) -> Any:
    """A tensor for the result, of the shape that the operator says, and the exact numbers; None where it has none."""
    if any(isinstance(v, torch.Tensor) and (v.ndim or v.is_complex()) for v in (start, end)):
        raise ValueError("limits that are not numbers")
    start, end = (v.item() if isinstance(v, torch.Tensor) else v for v in (start, end))
    own: torch.Tensor = operator(start, end, steps, *numbers, dtype=dtype, **options)
    if own.dtype not in FORMATS:
        raise Uncovered(f"dtype={own.dtype}")
    if _elsewhere(own):
        return own, None
    if not (np.isfinite(float(start)) and np.isfinite(float(end))):
        raise Uncovered("limits that are not finite")
    first, last, intervals = Fraction(start), Fraction(end), max(steps - 1, 1)
    return own, [first + i * (last - first) / intervals for i in range(steps)]


@kernel
def linspace(start: Any, end: Any, steps: int, *, dtype: torch.dtype | None = None, **options: Any) -> torch.Tensor:
    own, exact = _spaced(torch.ops.aten.linspace.default, start, end, steps, (), dtype, options)
    if exact is None:
        return own
    form = float if own.dtype is torch.float64 else nearest_odd
    return as_tensor(convert_array(np.array([form(q) for q in exact], F64), FORMATS[own.dtype]))


@kernel
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: torch.dtype | None = None, **options: Any
) -> torch.Tensor:
    """The exponents are rounded to binary64, and so are the powers."""
    own, exact = _spaced(torch.ops.aten.logspace.default, start, end, steps, (base,), dtype, options)
    if exact is None:
        return own
    with np.errstate(all="ignore"):
        powers = UFUNCS["pow"](np.float64(base), np.array([float(q) for q in exact], F64))
    return as_tensor(convert_array(powers, FORMATS[own.dtype]))

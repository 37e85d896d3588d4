"""linspace, arange and the like: each number is the exact one, rounded once."""

import functools
import math
from typing import Any, TypeAlias

import numpy as np
import torch

from ..._dtypes import F64
from ..._spaced import spaced
from .._stepwise import HERE
from .._tensors import FORMATS, as_tensor
from .common import DIGITS, UFUNCS, Array, Uncovered, convert_array, kernel, once

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
    own: torch.Tensor = operator(start, end, step, dtype=dtype, **options)  # PyTorch says how many there are
    if result is None or _elsewhere(own):  # of integers from floats it takes the whole parts
        return own
    if _held_by(result, start, step, own.numel()):
        return own
    if HERE.steps is not None:
        return as_tensor(HERE.steps.multiples(start, step, own.numel(), FORMATS[result]))
    index = np.arange(own.numel(), dtype=F64)
    with np.errstate(all="ignore"):
        if FORMATS[result] == F64:
            return as_tensor(UFUNCS["fma"](float(step), index, float(start)))
        return as_tensor(once("fma", FORMATS[result], np.float64(step), index, np.float64(start)))


def _held_by(dtype: torch.dtype, start: _Number, step: _Number, n: int) -> bool:
    """Whether the format has all numbers of a range, and the products by its step: PyTorch's own arithmetic is exact then. They are multiples
    of the last places of its start and step, and none is larger than twice the sum of the magnitudes of its ends."""
    if n > 1 << 53 or not (np.isfinite(float(start)) and np.isfinite(float(step))):
        return False
    (first, whole), (by, other) = start.as_integer_ratio(), step.as_integer_ratio()
    place = max(whole, other)  # powers of 2
    limits = torch.finfo(dtype)
    largest = 2 * (abs(first) * (place // whole) + n * abs(by) * (place // other))  # in units of 1/place
    return bool(largest <= 2 ** DIGITS[dtype] and largest <= place * limits.max and place * limits.smallest_normal <= 1)


def is_own(start: _Number, end: Any = None, step: _Number = 1, *, dtype: torch.dtype | None = None, **_: Any) -> bool:
    """Whether PyTorch's own numbers are those of arange on every device: integers, or numbers that need no rounding."""
    if end is None:
        start, end = 0, start
    result = _float_result(dtype, (start, end, step))
    if result is None:
        return not any(isinstance(v, float) for v in (start, end, step))
    if not all(math.isfinite(v) for v in (start, end, step)) or step == 0:
        return False
    return _held_by(result, start, step, int(abs((end - start) / step)) + 2)


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
    """A tensor for the result, of the shape that the operator says, and the limits; None where it has no numbers."""
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
    return own, (start, end)


def _rounded(limits: tuple[_Number, _Number], steps: int, form: Any, base: float | None = None) -> Array:
    """The spaced numbers, or the powers of a base with these exponents, rounded to a format. Few of them are kept for the next calls; zeros of both
    signs are two limits."""
    if HERE.steps is not None:
        drawn: Array = HERE.steps.spaced(limits, steps, form, base)
        return drawn
    if steps > 1 << 10 or not all(abs(v) < 1e300 for v in limits):
        return _of_base(base, *limits, steps, form)
    return _kept(base, *limits, steps, form, *(math.copysign(1.0, v) for v in (*limits, base or 0.0))).copy()


@functools.lru_cache(maxsize=64)
def _kept(base: float | None, start: _Number, end: _Number, steps: int, form: Any, *signs: float) -> Array:
    return _of_base(base, start, end, steps, form)


def _of_base(base: float | None, start: _Number, end: _Number, steps: int, form: Any) -> Array:
    if base is None:
        return spaced(start, end, max(steps - 1, 1), steps, form)
    with np.errstate(all="ignore"):
        return convert_array(UFUNCS["pow"](np.float64(base), spaced(start, end, max(steps - 1, 1), steps, F64)), form)


@kernel
def linspace(start: Any, end: Any, steps: int, *, dtype: torch.dtype | None = None, **options: Any) -> torch.Tensor:
    own, limits = _spaced(torch.ops.aten.linspace.default, start, end, steps, (), dtype, options)
    return own if limits is None else as_tensor(_rounded(limits, steps, FORMATS[own.dtype]))


@kernel
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: torch.dtype | None = None, **options: Any
) -> torch.Tensor:
    """The exponents are rounded to binary64, and so are the powers."""
    own, limits = _spaced(torch.ops.aten.logspace.default, start, end, steps, (base,), dtype, options)
    return own if limits is None else as_tensor(_rounded(limits, steps, FORMATS[own.dtype], float(base)))

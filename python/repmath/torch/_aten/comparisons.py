"""Comparisons of exact values. PyTorch rounds a number, a tensor without axes and an integer to the format of the other side first,
so that `torch.tensor([0.1]) > 0.1` is False there: the number of binary32 is above that of binary64."""

import math
from typing import Any

import torch

from .._tensors import FORMATS
from .common import in_binary64, same_number
from .moves import below

_NAMES = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
# For a number that the dtype does not have, the comparison with the greatest number of the dtype below it that says the same.
_BELOW = {"gt": "gt", "ge": "gt", "lt": "le", "le": "le"}
_DTYPES = frozenset(FORMATS) | {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}


def _floor(value: float | int, dtype: torch.dtype) -> Any:
    """The greatest number of the dtype that is not above a finite number; an infinity where the number is beyond the dtype."""
    if dtype not in FORMATS:
        whole, limits = math.floor(value), torch.iinfo(dtype)
        return -math.inf if whole < limits.min else math.inf if whole > limits.max else whole
    greatest = torch.finfo(dtype).max
    if abs(value) > greatest:
        return greatest if value > 0 else -math.inf
    return float(below(value, dtype))


def _is_held(value: float | int, dtype: torch.dtype) -> bool:
    """Whether PyTorch compares with the number itself: one of the tensor's format, or an integer beside integers."""
    if dtype not in FORMATS:
        return isinstance(value, int)
    if -256 <= value <= 256 and value == int(value):  # of every format
        return True
    return same_number(value, dtype) is not None


def comparison(overload: Any) -> Any:
    """What runs in place of a comparison; None for another operator."""
    name = overload.overloadpacket.__name__
    base, end = name.rstrip("_"), name[len(name.rstrip("_")) :]
    if base not in _NAMES:
        return None
    other = getattr(getattr(torch.ops.aten, _BELOW[base] + end), overload._overloadname) if base in _BELOW else None

    def beside_number(x: Any, value: Any, **kwargs: Any) -> Any:
        dtype = x.dtype
        finite = isinstance(value, (int, float)) and (isinstance(value, int) or math.isfinite(value))
        if not finite or dtype not in _DTYPES or _is_held(value, dtype):
            return overload(x, value, **kwargs)
        if other is not None:
            return other(x, _floor(value, dtype), **kwargs)
        return overload(x, math.nan, **kwargs)  # equal to none, as the number is

    def beside_tensor(x: Any, y: Any, **kwargs: Any) -> Any:
        if x.dtype is y.dtype or (x.dtype not in FORMATS and y.dtype not in FORMATS):
            return overload(x, y, **kwargs)
        if any(t.dtype not in _DTYPES and t.dtype is not torch.bool or t.device.type != "cpu" for t in (x, y)):
            return overload(x, y, **kwargs)
        if end:
            return x.copy_(getattr(torch.ops.aten, base).Tensor(in_binary64(x), in_binary64(y).expand(x.shape)))
        return overload(in_binary64(x), in_binary64(y), **kwargs)

    call: Any = beside_number if overload._overloadname.startswith("Scalar") else beside_tensor
    call.moves = call.compares = True
    return call

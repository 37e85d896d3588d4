"""What the operators do with their arguments: operands of one format, numbers, results."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _core
from ..._dtypes import BF16, F32, F64
from ..._narrow import narrow
from .._tensors import FORMATS, as_array, as_tensor

Array: TypeAlias = np.ndarray[Any, Any]
Kernel: TypeAlias = Callable[..., Any]

# name in operators.txt -> function
KERNELS: dict[str, Kernel] = {}

UFUNCS = _core.ufuncs


class Uncovered(Exception):
    """This call of an operator of the table is not covered; the text says which argument."""


def kernel(function: Kernel) -> Kernel:
    """Enter a function under its name."""
    KERNELS[function.__name__] = function
    return function


def integers(function: Kernel) -> Kernel:
    """A kernel for what rounds; calls of integers alone, for a result of integers, are PyTorch's own, which are exact."""
    function.integers = True  # type: ignore[attr-defined]
    return function


def convert(t: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The tensor in a format, each element rounded once."""
    if t.dtype is dtype:
        return t
    if t.is_complex() or dtype.is_complex:
        raise Uncovered("complex numbers")
    if dtype not in FORMATS:
        if t.dtype in FORMATS and dtype.is_floating_point:
            raise Uncovered(f"conversion to {dtype}")
        return t.to(dtype)
    if t.dtype not in FORMATS:
        if t.dtype.itemsize <= 2 or t.dtype is torch.bool:
            return convert(t.to(torch.float32), dtype)
        if t.numel() and (int(t.max()) > 2**53 or int(t.min()) < -(2**53)):
            raise Uncovered(f"integers beyond 2**53 to {dtype}")
        return convert(t.to(torch.float64), dtype)
    wider = torch.promote_types(t.dtype, dtype) is dtype  # which holds every element
    if wider and dtype is torch.float32:
        return t.to(dtype)
    return as_tensor(convert_array(as_array(t), FORMATS[dtype]))


def widened(t: torch.Tensor) -> torch.Tensor:
    """A tensor of one of the formats, in binary64."""
    if t.dtype not in FORMATS:
        raise Uncovered(f"tensors of {t.dtype}")
    return convert(t, torch.float64)


def convert_array(a: Array, dtype: Any) -> Array:
    with np.errstate(all="ignore"):
        if dtype == BF16 and a.dtype == F64:
            single = a.astype(F32)
            made = np.asarray(narrow(single, dtype, lambda at: np.sign(np.atleast_1d(a)[at] - np.atleast_1d(single)[at])))
        else:
            made = a.astype(dtype)
        nan = np.isnan(made)
        if nan.any():
            made[nan] = np.nan
    return made


def format_of(*values: Any) -> torch.dtype:
    """PyTorch's result type of tensors and numbers."""
    first, *rest = values
    if not rest:
        return first.dtype
    result = torch.result_type(first, rest[0])
    for other in rest[1:]:
        result = torch.promote_types(result, torch.result_type(first, other))
    return result


def odd(name: str, *arrays: Any) -> Array:
    """A function in binary64, rounded to odd: what is then rounded to any narrower format is rounded as if once.

    Boldo and Melquiond, "When double rounding is odd", 2005: 53 bits suffice for formats of at most 51.
    """
    with np.errstate(all="ignore"):
        low = np.asarray(_core.rounded["down"][name](*arrays))
        high = np.asarray(_core.rounded["up"][name](*arrays))
        return np.where((low.view(np.int64) & 1 != 0) | np.isnan(low), low, high)


def same_number(value: float, dtype: torch.dtype) -> Any:
    """The number as a scalar of the format; None where the format has no such number."""
    if dtype not in FORMATS:
        raise Uncovered(f"results of {dtype}")
    with np.errstate(all="ignore"):
        held = np.asarray(value, F64).astype(FORMATS[dtype])
    return held if float(held) == value or value != value else None


def apply(name: str, *values: Any, dtype: torch.dtype | None = None, out: torch.Tensor | None = None) -> torch.Tensor:
    """An elementwise function of tensors and numbers, rounded once to their common format. Numbers are exact binary64."""
    result = format_of(*values) if dtype is None else dtype
    if result not in FORMATS:
        raise Uncovered(f"results of {result}")
    arrays: list[Any] = []
    exact = True
    for v in values:
        if isinstance(v, torch.Tensor):
            arrays.append(as_array(v if v.dtype is result else convert(v, result)))
        else:
            number = same_number(float(v), result)
            exact = exact and number is not None
            arrays.append(np.asarray(float(v), F64) if number is None else number)
    with np.errstate(all="ignore"):
        if exact:
            if out is not None and out.dtype is result:
                UFUNCS[name](*arrays, out=as_array(out))
                return out
            made = as_tensor(UFUNCS[name](*arrays))
        else:
            made = as_tensor(convert_array(odd(name, *(a.astype(F64) for a in arrays)), FORMATS[result]))
    return made if out is None else out.copy_(made)

"""torch.tensor and other functions that make elements from Python's numbers. PyTorch rounds to 16 bits by way of binary32; here it is one rounding."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ._aten.common import near

_TENSOR, _NEW_TENSOR = torch.tensor, torch.Tensor.new_tensor
_SIXTEEN = (torch.float16, torch.bfloat16)


def _narrow(data: Any) -> bool:
    """Whether PyTorch's own conversion rounds once, or not at all."""
    if isinstance(data, (np.ndarray, np.generic)):
        return data.dtype == np.float32 or data.dtype.itemsize <= 2 or data.dtype.kind == "c"
    return isinstance(data, torch.Tensor) or (hasattr(data, "__dlpack__") and not isinstance(data, (list, tuple)))


def _made(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.tensor and the like: in binary64 first, where the result has 16 bits."""
    method = func is _NEW_TENSOR
    dtype = kwargs.get("dtype")
    if dtype is None and method:
        dtype = args[0].dtype
    data = args[1 if method else 0] if len(args) > method else kwargs.get("data", kwargs.get("obj"))
    if dtype is None and torch.get_default_dtype() in _SIXTEEN and not _narrow(data):
        dtype = func(*args, **{**kwargs, "requires_grad": False} if func is _TENSOR else kwargs).dtype
    if dtype not in _SIXTEEN or _narrow(data):
        return func(*args, **(kwargs if dtype is None else {**kwargs, "dtype": dtype}))
    wanting = bool(kwargs.get("requires_grad"))
    rest = {key: v for key, v in kwargs.items() if key != "requires_grad"}
    return func(*args, **{**rest, "dtype": torch.float64}).to(dtype).requires_grad_(wanting)


def _assigned(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """x[index] = number"""
    x, index, value = args
    return func(x, index, near(value, x.dtype) if isinstance(value, (int, float)) and x.dtype in _SIXTEEN else value)


# Whose attribute the function is, its name, and what is called in its place.
NUMBERS: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
    (torch, "tensor", _made),
    (torch, "as_tensor", _made),
    (torch, "asarray", _made),
    (torch.Tensor, "new_tensor", _made),
    (torch.Tensor, "__setitem__", _assigned),
)

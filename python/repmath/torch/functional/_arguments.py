"""Converts the arguments of torch.nn.functional to those of the operators."""

from typing import Any, TypeAlias

import torch

from .._ops.elementwise import scalar
from .._tensors import FORMATS

Tensor: TypeAlias = torch.Tensor


def tensor(name: str, t: Any) -> Tensor:
    """The tensor; TypeError naming the argument when it is none."""
    if not isinstance(t, torch.Tensor):
        raise TypeError(f"{name} must be a Tensor, not {type(t).__name__}")
    return t


def each(name: str, value: Any, dims: int) -> list[Any]:
    """An integer, or one for each dimension, as a list."""
    values = list(value) if isinstance(value, (tuple, list)) else [value] * dims
    if len(values) == 1:
        values = values * dims
    if len(values) != dims:
        raise RuntimeError(f"{name} must have {dims} values, not {len(values)}")
    return values


def together(names: tuple[str, ...], values: tuple[Any, ...]) -> list[Tensor]:
    """Tensors and numbers in one format: the tensors' common one, as torch.promote_types has it, to which numbers are rounded."""
    dtype: torch.dtype | None = None
    for name, v in zip(names, values, strict=True):
        if isinstance(v, torch.Tensor):
            if v.dtype not in FORMATS:
                raise TypeError(f"{name} has dtype {v.dtype}; it must be float16, bfloat16, float32 or float64")
            dtype = v.dtype if dtype is None else torch.promote_types(dtype, v.dtype)
        elif isinstance(v, bool) or not isinstance(v, (int, float, torch.SymInt, torch.SymFloat)):
            raise TypeError(f"{name} must be a Tensor or a number, not {type(v).__name__}")
    if dtype is None:
        raise TypeError(f"one of {', '.join(names)} must be a Tensor")
    return [v.to(dtype) if isinstance(v, torch.Tensor) else scalar(float(v), dtype) for v in values]


def batched(input: Tensor, dims: int) -> tuple[Tensor, bool]:
    """The input with a batch; whether it had one."""
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"input must have {dims + 2} axes (batch, channels, {dims} more), or no batch, not shape {tuple(input.shape)}"
        )
    return (input, True) if input.ndim == dims + 2 else (input.unsqueeze(0), False)

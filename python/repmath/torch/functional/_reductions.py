"""Sums, means, moments and the softmax family."""

from typing import Any

import torch

from .._ops import moments, reductions
from .._ops import softmax as rows
from .._ops.reductions import axes
from .._tensors import FORMATS
from ._arguments import Tensor, tensor

_Dim = int | tuple[int, ...] | list[int] | None
# How many bits a significand has: a format with more holds every number of one with less, but for bfloat16 in float16.
_WIDER = {
    torch.float16: {torch.float16, torch.float32, torch.float64},
    torch.bfloat16: {torch.bfloat16, torch.float32, torch.float64},
    torch.float32: {torch.float32, torch.float64},
    torch.float64: {torch.float64},
}


def _in(input: Tensor, dtype: torch.dtype | None) -> Tensor:
    """The tensor in a format that holds it."""
    tensor("input", input)
    if dtype is None or dtype == input.dtype:
        return input
    if dtype not in FORMATS:
        raise TypeError(f"dtype must be float16, bfloat16, float32 or float64, not {dtype}")
    if input.dtype in FORMATS and dtype not in _WIDER[input.dtype]:
        raise TypeError(
            f"dtype {dtype} does not hold the numbers of input, {input.dtype}; round the result, or input, with Tensor.to"
        )
    return input.to(dtype)


def sum(input: Tensor, dim: _Dim = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Tensor:
    """The exact sum over axes, rounded once; see `repmath.sum`.

    Parameters
    ----------
    input : Tensor
        Of float16, bfloat16, float32 or float64.
    dim : int or tuple of ints, optional
        All axes by default.
    keepdim : bool
    dtype : torch.dtype, optional
        The format of the result; it must hold that of `input`.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        A dtype is not supported.
    IndexError, RuntimeError
        `dim` is out of range, or names an axis twice.
    """
    x = _in(input, dtype)
    return reductions.SUM.overload(x, axes(dim, x.ndim), keepdim)


def mean(input: Tensor, dim: _Dim = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Tensor:
    """``RN(exact sum / n)`` over axes; see `repmath.mean`. Arguments and errors are those of `sum`."""
    x = _in(input, dtype)
    return reductions.MEAN.overload(x, axes(dim, x.ndim), keepdim)


def var(input: Tensor, dim: _Dim = None, *, correction: float = 1, keepdim: bool = False) -> Tensor:
    """``RN(sum of (x - mean)**2 / (n - correction))``, the mean exact; see `repmath.var`. Errors are those of `sum`."""
    return moments.VAR(tensor("input", input), axes(dim, input.ndim), keepdim, float(correction))


def std(input: Tensor, dim: _Dim = None, *, correction: float = 1, keepdim: bool = False) -> Tensor:
    """The root of the exact variance, rounded once; see `repmath.std`. Arguments and errors are those of `var`."""
    return moments.STD(tensor("input", input), axes(dim, input.ndim), keepdim, float(correction))


def norm(input: Tensor, dim: _Dim = None, keepdim: bool = False) -> Tensor:
    """``RN(sqrt(sum of x**2))`` over axes; see `repmath.norm`. Errors are those of `sum`."""
    return moments.NORM(tensor("input", input), axes(dim, input.ndim), keepdim)


def _axis(input: Tensor, dim: Any) -> int:
    if not isinstance(dim, int):
        raise TypeError(f"dim must be an integer, not {type(dim).__name__}")
    return axes(dim, input.ndim)[0] if input.ndim else axes(dim, 1)[0]


def cumsum(input: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    """Sums of the elements up to each along an axis, each exact and rounded once. Arguments and errors are those of `sum`."""
    x = _in(input, dtype)
    return moments.CUMSUM(x, _axis(x, dim)) if x.ndim else x.clone()


def logsumexp(input: Tensor, dim: _Dim, keepdim: bool = False) -> Tensor:
    """``RN(log(sum of exp(x)))`` over axes; see `repmath.nn.logsumexp`. Errors are those of `sum`."""
    x = tensor("input", input)
    dims = axes(dim, x.ndim)
    shape = [1 if i in dims else n for i, n in enumerate(x.shape) if keepdim or i not in dims]
    if not dims:
        return x.clone()
    if len(dims) > 1:
        x = x.movedim(dims, list(range(x.ndim - len(dims), x.ndim))).flatten(x.ndim - len(dims))
        dims = [x.ndim - 1]
    return rows.LOGSUMEXP(x, dims[0]).reshape(shape)


def softmax(input: Tensor, dim: int = -1, dtype: torch.dtype | None = None) -> Tensor:
    """``RN(exp(x_i) / sum of exp(x_k))`` along an axis; see `repmath.nn.softmax`.

    Parameters
    ----------
    input : Tensor
        Of float16, bfloat16, float32 or float64.
    dim : int
    dtype : torch.dtype, optional
        The format of the result; it must hold that of `input`.

    Returns
    -------
    Tensor
        Of the shape of `input`.

    Raises
    ------
    TypeError
        A dtype is not supported.
    IndexError
        `dim` is out of range.
    """
    x = _in(input, dtype)
    return rows.SOFTMAX.overload(x, _axis(x, dim))


def log_softmax(input: Tensor, dim: int = -1, dtype: torch.dtype | None = None) -> Tensor:
    """``RN(x_i - log(sum of exp(x_k)))`` along an axis. Arguments and errors are those of `softmax`."""
    x = _in(input, dtype)
    return rows.LOG_SOFTMAX.overload(x, _axis(x, dim))

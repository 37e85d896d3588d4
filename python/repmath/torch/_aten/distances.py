"""Distances between rows, and renormalisation of rows to a maximum norm."""

from typing import Any, TypeAlias

import torch

from ... import _reductions, _scatter
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Uncovered, apply, convert, kernel, widened

_Number: TypeAlias = float | int
_AT_ONCE = 1 << 22  # differences that are in memory


def _norm(differences: torch.Tensor, p: float, dtype: torch.dtype) -> torch.Tensor:
    if not differences.shape[-1]:
        return torch.zeros(differences.shape[:-1], dtype=dtype)
    return convert(KERNELS["vector_norm"](differences, p, [-1], dtype=dtype), dtype)


def _blocks(x1: torch.Tensor, x2: torch.Tensor) -> Any:
    """Rows of x1 in blocks, and their differences from all rows of x2, rounded to binary64."""
    if x1.dtype not in FORMATS or x1.dtype is not x2.dtype:
        raise Uncovered(f"tensors of {x1.dtype} and {x2.dtype}")
    if x1.shape[-1] != x2.shape[-1]:
        raise ValueError("rows of several lengths")
    a, b = widened(x1), widened(x2)
    step = max(1, _AT_ONCE // max(1, b.numel()))
    for first in range(0, max(a.shape[-2], 1), step):
        rows = slice(first, first + step)
        yield rows, apply("subtract", a[..., rows, None, :], b[..., None, :, :])


@kernel
def cdist_forward(x1: torch.Tensor, x2: torch.Tensor, p: float = 2.0, compute_mode: int | None = None) -> torch.Tensor:
    if not p >= 0:
        raise ValueError(f"p={p}")
    return torch.cat([_norm(d, p, x1.dtype) for _, d in _blocks(x1, x2)], -2)


def _slopes(g: torch.Tensor, d: torch.Tensor, p: float, distance: torch.Tensor) -> torch.Tensor:
    """g times the derivatives of the distance with respect to the differences d, one rounding per step; 0 where there is none."""
    if p == 0:
        return torch.zeros_like(d)
    gradient, size = widened(g).unsqueeze(-1), d.abs()
    zero = d.new_zeros(())
    signed = apply("multiply", gradient, d.sign())
    if p == 1:
        return signed
    if p == float("inf"):
        return torch.where(convert(size, distance.dtype) == distance.unsqueeze(-1), signed, zero)
    whole = widened(distance).unsqueeze(-1)
    if p == 2:
        made = apply("divide", apply("multiply", gradient, d), whole)
    else:
        made = apply("divide", apply("multiply", apply("pow", size, p - 1), signed), apply("pow", whole, p - 1))
    return torch.where((whole == 0) | (d == 0), zero, made)


@kernel
def cdist_backward(g: torch.Tensor, x1: torch.Tensor, x2: torch.Tensor, p: float, distance: torch.Tensor) -> torch.Tensor:
    parts = [
        as_tensor(
            _reductions.sum(as_array(_slopes(g[..., r, :], d, p, distance[..., r, :])), axis=-2, dtype=FORMATS[x1.dtype])
        )
        for r, d in _blocks(x1, x2)
    ]
    return torch.cat(parts, -2)


def _pairs(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Each row and each later one; their differences."""
    if x.ndim != 2:
        raise ValueError(f"{x.ndim} dimensions")
    first, second = torch.triu_indices(len(x), len(x), 1)
    rows = widened(x)
    return first, second, apply("subtract", rows[first], rows[second])


@kernel
def pdist_forward(x: torch.Tensor, p: float = 2.0) -> torch.Tensor:
    return _norm(_pairs(x)[2], p, x.dtype)


@kernel
def pdist_backward(g: torch.Tensor, x: torch.Tensor, p: float, distance: torch.Tensor) -> torch.Tensor:
    first, second, d = _pairs(x)
    slopes = _slopes(g, d, p, distance)
    places = as_array(torch.cat((first, second)))
    return convert(as_tensor(_scatter.segment_sum(as_array(torch.cat((slopes, slopes.neg()))), places, len(x))), x.dtype)


@kernel
def renorm(x: torch.Tensor, p: _Number, dim: int, maxnorm: _Number) -> torch.Tensor:
    """x times maxnorm/(norm + 1e-7) where the norm is above maxnorm."""
    if x.ndim < 2 or not p > 0 or maxnorm < 0:
        raise ValueError(f"p={p}, maxnorm={maxnorm} of {x.ndim} dimensions")
    others = [d for d in range(x.ndim) if d != dim % x.ndim]
    norms = KERNELS["vector_norm"](widened(x), float(p), others, True)
    held = apply("divide", torch.full_like(norms, float(maxnorm)), KERNELS["add"](norms, 1e-7))
    made = convert(apply("multiply", widened(x), held), x.dtype)
    return torch.where(norms > float(maxnorm), made, x)


@kernel
def embedding_renorm(weight: torch.Tensor, indices: torch.Tensor, max_norm: float, norm_type: float) -> torch.Tensor:
    """renorm of the rows that are named."""
    rows = indices.reshape(-1).unique()
    made = weight.clone()
    made[rows] = renorm(weight[rows], norm_type, 0, max_norm)
    return made

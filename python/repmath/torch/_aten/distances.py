"""Distances between rows, and renormalisation of rows to a maximum norm."""

import math
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _reductions
from .._stepwise import HERE
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Array, Uncovered, apply, convert, convert_array, kernel, segment_sum, total, widened

_Number: TypeAlias = float | int
_AT_ONCE = 1 << 22  # differences that are in memory
_CACHED = 1 << 15  # distances whose numbers in binary64 stay in the cache
_UNIT = 2.0**-53  # the unit roundoff of binary64


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


def _by_products(x1: torch.Tensor, x2: torch.Tensor) -> tuple[Array, Array]:
    """Euclidean distances in a format narrower than binary64, from s = X + Y - 2 G, and where their rounding is sure.

    X and Y are the sums of squares of a row of x1 and of one of x2, of K numbers each, G is their product, u = 2**-53. Products of two
    such numbers are exact in binary64, whose range no sum of them leaves. So X + Y is within K u (X + Y) of what it stands for, and 2 G,
    rounded once, within u (X + Y); the two operations that make s add 3 u (X + Y). The definition rounds the differences to binary64:
    their squares, at most 2 (X + Y), become larger or smaller by the 2 u + u^2 of it. In all, s is within (K + 8.1) u (X + Y) of the
    square that is wanted, for K below 2^31. The bound has 3.9 u (X + Y) more: its own rounding, and those of s minus and plus it.
    """
    rows, others = as_array(x1), as_array(x2)
    a, b = as_array(widened(x1)), as_array(widened(x2))
    with np.errstate(all="ignore"):
        size = np.einsum("...i,...i->...", a, a)[..., :, None] + np.einsum("...i,...i->...", b, b)[..., None, :]
        infinite = np.isinf(size)
        if infinite.any():  # what these rows hold is looked at below
            rows, others = (np.where(np.isfinite(w), x, np.zeros((), x.dtype)) for w, x in ((a, rows), (b, others)))
        square = size - 2.0 * _reductions.matmul(rows, others.swapaxes(-1, -2), dtype=np.float64)
        beyond = (x1.shape[-1] + 12) * _UNIT * size
        low = np.nextafter(np.sqrt(np.maximum(square - beyond, 0.0)), 0.0)
        made = convert_array(np.nextafter(np.sqrt(square + beyond), np.inf), FORMATS[x1.dtype])
    nan = np.isnan(size)  # of a row that holds NaN: sums of squares have no other
    sure = nan | (made == convert_array(low, FORMATS[x1.dtype]))
    if infinite.any():  # of rows that hold infinities: one beside the same one differs by NaN, and all others by an infinity
        signed = (np.concatenate((w == np.inf, w == -np.inf), -1).astype(np.float32) for w in (a, b))
        held, other = (torch.from_numpy(w) for w in signed)  # PyTorch's product, on its threads: sums of ones are 0 or not
        meet = torch.matmul(held, other.transpose(-1, -2)).numpy()
        made[infinite] = convert_array(np.where(meet > 0, np.nan, np.inf), FORMATS[x1.dtype])[infinite]
        sure |= infinite
    return made, sure


def _euclidean(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor | None:
    """Distances by products, and the few that these leave open by differences; None where many are left."""
    stack = math.prod(torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2]))
    parts = [_by_products(rows, x2) for rows in x1.split(max(1, _CACHED // (stack * x2.shape[-2])), -2)]
    made, sure = (np.concatenate(part, -2) for part in zip(*parts, strict=True))
    left = sure.size - int(np.count_nonzero(sure))
    if 4 * left > sure.size:
        return None
    distances = as_tensor(made)
    if left:
        step = max(1, _AT_ONCE // x1.shape[-1])
        shape = made.shape[:-2]
        a, b = (x.expand(*shape, *x.shape[-2:]) for x in (x1, x2))
        at = [torch.from_numpy(k) for k in np.nonzero(~sure)]
        for first in range(0, left, step):
            *above, i, j = (k[first : first + step] for k in at)
            apart = apply("subtract", widened(a[(*above, i)]), widened(b[(*above, j)]))
            distances[(*above, i, j)] = _norm(apart, 2.0, x1.dtype)
    return distances


@kernel
def cdist_forward(x1: torch.Tensor, x2: torch.Tensor, p: float = 2.0, compute_mode: int | None = None) -> torch.Tensor:
    if not p >= 0:
        raise ValueError(f"p={p}")
    if p == 2 and HERE.steps is None and x1.dtype in FORMATS and x1.dtype is x2.dtype is not torch.float64:
        if x1.shape[-1] == x2.shape[-1] and x1.numel() and x2.numel():
            distances = _euclidean(x1, x2)
            if distances is not None:
                return distances
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
        as_tensor(total(as_array(_slopes(g[..., r, :], d, p, distance[..., r, :])), -2, dtype=FORMATS[x1.dtype]))
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
    return convert(as_tensor(segment_sum(as_array(torch.cat((slopes, slopes.neg()))), places, len(x))), x.dtype)


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

"""Weights of a direction and a length, and grids of an affine map."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import torch

from ... import _reductions
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Array, Uncovered, apply, convert, kernel, widened


def _axes(v: torch.Tensor, dim: int) -> list[int]:
    """All but `dim`."""
    if not -v.ndim <= dim < v.ndim:
        raise IndexError(f"dim={dim}")
    return [d for d in range(v.ndim) if d != dim % v.ndim]


@kernel
def weight_norm(v: torch.Tensor, g: torch.Tensor, dim: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """g v/norm, and the norms."""
    norms = KERNELS["vector_norm"](widened(v), 2, _axes(v, dim), True)
    made = apply("divide", apply("multiply", widened(v), widened(g)), norms)
    return convert(made, v.dtype), convert(norms, v.dtype)


@kernel
def weight_norm_backward(
    received: torch.Tensor, v: torch.Tensor, g: torch.Tensor, norms: torch.Tensor, dim: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """By g the sum of r v over the norm; by v the difference of r and v times this over the norm, times g/norm."""
    axes, wide, r = _axes(v, dim), widened(v), widened(received)
    norm = KERNELS["vector_norm"](wide, 2, axes, True)
    lines = [as_array(t.movedim(dim, 0).reshape(v.shape[dim], -1)) for t in (r, wide)]
    sums = as_tensor(_reductions.matmul(lines[0][:, None], lines[1][..., None])).view(norm.shape)
    by_g = apply("divide", sums, norm)
    rest = apply("subtract", r, apply("multiply", wide, apply("divide", by_g, norm)))
    by_v = apply("divide", apply("multiply", rest, widened(g)), norm)
    return convert(by_v, v.dtype), convert(by_g, g.dtype)


def _line(n: int, align_corners: bool) -> Array:
    """n places from -1 to 1, or in the middle of n parts of this."""
    if align_corners:
        return np.array([float(Fraction(2 * i, n - 1) - 1) if n > 1 else 0.0 for i in range(n)])
    return np.array([float(Fraction(2 * i + 1, n) - 1) for i in range(n)])


@kernel
def affine_grid(theta: torch.Tensor, size: Sequence[int], align_corners: bool) -> torch.Tensor:
    """The places are rounded to binary64; sums of their products with theta are rounded once."""
    dims = len(size) - 2
    if theta.dtype not in FORMATS:
        raise Uncovered(f"tensors of {theta.dtype}")
    if dims not in (2, 3) or tuple(theta.shape) != (size[0], dims, dims + 1):
        raise ValueError(f"theta of shape {tuple(theta.shape)} for size {tuple(size)}")
    axes = np.meshgrid(*(_line(n, align_corners) for n in size[2:]), indexing="ij")
    places = np.stack([*axes[::-1], np.ones_like(axes[0])], -1).reshape(-1, dims + 1)
    made = _reductions.matmul(places, as_array(widened(theta)).swapaxes(1, 2), dtype=FORMATS[theta.dtype])
    return as_tensor(np.ascontiguousarray(made)).view(size[0], *size[2:], dims)

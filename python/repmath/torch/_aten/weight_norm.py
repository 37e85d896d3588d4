"""weight_norm: weights given as a direction and a length."""

import torch

from .._tensors import as_array, as_tensor
from .common import KERNELS, apply, convert, kernel, products, widened


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
    sums = as_tensor(products(lines[0][:, None], lines[1][..., None])).view(norm.shape)
    by_g = apply("divide", sums, norm)
    rest = apply("subtract", r, apply("multiply", wide, apply("divide", by_g, norm)))
    by_v = apply("divide", apply("multiply", rest, widened(g)), norm)
    return convert(by_v, v.dtype), convert(by_g, g.dtype)

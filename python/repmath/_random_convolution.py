"""Convolutions and their gradients as matrix products over copies of the windows, under a random mode."""

from collections.abc import Callable
from typing import Any

import numpy as np

Product = Callable[..., Any]  # of a, b and a bias: their matrix product, rounded


def _windows(x: Any, size: Any, stride: Any, dilation: Any) -> Any:
    """Every window of x (..., *S) as (..., *L, *size)."""
    d = len(size)
    spread = [(k - 1) * e + 1 for k, e in zip(size, dilation, strict=True)]
    seen = np.lib.stride_tricks.sliding_window_view(x, spread, axis=tuple(range(x.ndim - d, x.ndim)))
    places = (slice(None),) * (x.ndim - d)
    return seen[(*places, *(slice(None, None, s) for s in stride), *(slice(None, None, e) for e in dilation))]


def _padded(x: Any, before: Any, after: Any) -> Any:
    """x with zeros around its last axes; negative numbers cut off."""
    d = len(before)
    room = [(0, 0)] * (x.ndim - d) + [(max(b, 0), max(a, 0)) for b, a in zip(before, after, strict=True)]
    x = np.pad(x, room)
    cut = tuple(slice(max(-b, 0), n - max(-a, 0)) for b, a, n in zip(before, after, x.shape[x.ndim - d :], strict=True))
    return x[(slice(None),) * (x.ndim - d) + cut]


def _columns(windows: Any, groups: int, d: int) -> Any:
    """Windows (N, C, *L, *K) as (N, groups, C/groups * K, L)."""
    n, c = windows.shape[:2]
    count = int(np.prod(windows.shape[2 : 2 + d]))
    moved = np.moveaxis(windows, tuple(range(2, 2 + d)), tuple(range(-d, 0)))  # N, C, *K, *L
    return moved.reshape(n, groups, -1, count)


def _multiplied(product: Product, left: Any, columns: Any, bias: Any, last: bool) -> Any:
    """Kernels (1, groups, O/groups, K) times columns (N, groups, K, L), as (N, O, L), or (N, L, O) for `last`: elements have words in the order of the result."""
    n, groups, k, count = columns.shape
    if not last:
        add = None
        if bias is not None:
            add = np.broadcast_to(bias.reshape(1, groups, -1, 1), (n, groups, left.shape[2], count))
        return product(left, columns, add)
    kernels = np.zeros((groups, k, groups, left.shape[2]), left.dtype)  # zeros of other groups add nothing
    for g in range(groups):
        kernels[g, :, g] = left[0, g].T
    rows = columns.reshape(n, groups * k, count).swapaxes(1, 2)
    return product(
        rows, kernels.reshape(groups * k, -1), None if bias is None else np.broadcast_to(bias, (n, count, bias.size))
    )


def _laid(made: Any, n: int, channels: int, sizes: Any, last: bool) -> Any:
    return made.reshape(n, *sizes, channels) if last else made.reshape(n, channels, *sizes)


def forward(
    product: Product, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, last: bool = False
) -> Any:
    d = w.ndim - 2
    windows = _windows(_padded(x, padding, padding), w.shape[2:], stride, dilation)
    columns = _columns(windows, groups, d)
    left = w.reshape(1, groups, w.shape[0] // groups, -1)
    made = _multiplied(product, left, columns, bias, last)
    return _laid(made, x.shape[0], w.shape[0], windows.shape[2 : 2 + d], last)


def grad_weight(product: Product, g: Any, x: Any, shape: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    d, n = len(shape) - 2, x.shape[0]
    windows = _windows(_padded(x, padding, padding), shape[2:], stride, dilation)
    windows = windows[(slice(None),) * 2 + tuple(slice(0, k) for k in g.shape[2:])]
    columns = _columns(windows, groups, d)  # N, groups, C K, L
    right = columns.transpose(1, 0, 3, 2).reshape(groups, -1, columns.shape[2])
    left = g.reshape(n, groups, shape[0] // groups, -1).transpose(1, 2, 0, 3).reshape(groups, shape[0] // groups, -1)
    return product(left, right, None).reshape(shape)


def grad_input(
    product: Product,
    g: Any,
    w: Any,
    shape: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    bias: Any = None,
    last: bool = False,
) -> Any:
    """A convolution of the gradient, with zeros between its elements, and the kernel turned around; with a bias, a transposed convolution."""
    d, size = w.ndim - 2, w.shape[2:]
    spread = np.zeros((*g.shape[:2], *((k - 1) * s + 1 for k, s in zip(g.shape[2:], stride, strict=True))), g.dtype)
    spread[(slice(None),) * 2 + tuple(slice(None, None, s) for s in stride)] = g
    before = [e * (k - 1) - p for k, e, p in zip(size, dilation, padding, strict=True)]
    after = [
        n + e * (k - 1) - b - m for n, k, e, b, m in zip(shape[2:], size, dilation, before, spread.shape[2:], strict=True)
    ]
    columns = _columns(_windows(_padded(spread, before, after), size, (1,) * d, dilation), groups, d)
    turned = w[(slice(None),) * 2 + (slice(None, None, -1),) * d]
    left = (
        turned.reshape(groups, w.shape[0] // groups, w.shape[1], -1).transpose(0, 2, 1, 3).reshape(1, groups, w.shape[1], -1)
    )
    return _laid(_multiplied(product, left, columns, bias, last), shape[0], shape[1], shape[2:], last)

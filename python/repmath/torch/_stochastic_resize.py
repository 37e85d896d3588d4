"""Resized images, and their gradients, in blocks of stochastic(): along each axis exact sums of weights times numbers, each array of which is rounded with
words of its own. The weights are those of reproducible(), rounded to nearest."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ._aten.interpolation import SIZED
from ._tensors import FORMATS
from ._tensors import array_inside as as_array


def _along(at: Any, a: Any, axis: int, places: Any, weights: Any) -> Any:
    """Weighted sums along an axis; places and weights are (taps, elements), a place of -1 takes nothing."""
    lines = np.moveaxis(a, axis, -1)
    pairs = [
        (
            np.where(p < 0, 0.0, lines[..., np.maximum(p, 0)].astype(np.float64)),
            np.broadcast_to(w, (*lines.shape[:-1], p.size)),
        )
        for p, w in zip(places, weights, strict=True)
    ]
    shape = (*lines.shape[:-1], places.shape[1])
    back = np.moveaxis(np.arange(int(np.prod(shape))).reshape(shape), -1, axis)  # words count in the order of the result
    flat = [(v.reshape(-1)[back.reshape(-1)], w.reshape(-1)[back.reshape(-1)]) for v, w in pairs]
    return at.combination(*flat, dtype=a.dtype).reshape(back.shape)


def _handler(name: str, back: bool) -> Callable[..., Any]:
    dims, terms = SIZED[name]

    def function(at: Any, x: torch.Tensor, made: Any, *rest: Any) -> Any:
        size, align, *scales = (rest[0][2:], *rest[1:]) if back else (x.shape[2:], *rest)
        if x.dtype not in FORMATS or x.ndim != dims + 2 or not x.is_cpu or not x.numel() or not all(made):
            raise at.lacks("of such tensors it is")
        a = as_array(x)
        order = range(dims) if back else reversed(range(dims))
        for number, axis in enumerate(order):
            if number:
                at.next()
            scale = scales[axis] if axis < len(scales) else None
            a = _along(at, a, axis + 2, *terms(back)(size[axis], made[axis], align, scale, x.dtype))
        return np.ascontiguousarray(a)

    return function


HANDLERS: dict[str, Callable[..., Any]] = {
    **{f"{name}.default": _handler(name, False) for name in SIZED},
    **{f"{name}_backward.default": _handler(name, True) for name in SIZED},
}
# How many arrays a call rounds, one after the other.
ROUNDINGS = {f"{name}{back}.default": dims for name, (dims, _) in SIZED.items() for back in ("", "_backward")}

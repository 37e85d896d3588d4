"""What random operators round beside their draws, for stochastic(): quotients of dropout, products of rrelu, and attention, whose weights may be dropped. What is drawn is
rounded to nearest, and which elements are dropped is as under `reproducible()`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .. import _random_calls
from ..random import dropout
from ._aten.compositions import _slope
from ._random import unsigned
from ._stochastic_call import _Lacks
from ._tensors import array_inside as as_array


def _rounded(at: Any, nearest: Any, x: torch.Tensor, skip: Any, formula: Callable[..., Any], other: Any) -> Any:
    """A formula of each element and another number; where `skip` is true, and of what is not finite, the result is known."""
    a = np.asarray(as_array(x)).astype(np.float64).reshape(-1, 1)
    other = np.broadcast_to(np.asarray(other, np.float64), nearest.shape).reshape(-1, 1)
    skip = skip | ~np.isfinite(a).reshape(nearest.shape)
    values = np.where(skip.reshape(-1, 1), 0.0, a), other
    made = at.last(nearest, skip).formula(formula, *values, place=lambda r: r.reshape(nearest.shape))
    return np.where(skip | ((made == 0) & (nearest == 0)), nearest, made)  # an exact zero has the sign of x


def _dropped(at: Any, nearest: Any, x: torch.Tensor, kept: Any, p: float) -> Any:
    """x/(1 - p) where it is kept, p exact; of p = 1 nothing is."""
    return _rounded(at, nearest, x, ~kept, lambda a, q: a / (1.0 - q), p if p < 1 else 0.0)


def native_dropout(at: Any, nearest: Any, x: torch.Tensor, p: float, train: bool | None) -> Any:
    made, kept = nearest
    return made if train is False else _dropped(at, made, x, np.asarray(kept), float(p)), kept


def own_dropout(at: Any, nearest: Any, x: torch.Tensor, p: float, seed: int, stream: int, offset: int) -> Any:
    kept = dropout(np.ones(nearest.shape, np.float32), p, unsigned(seed), stream=unsigned(stream), offset=offset)
    return _dropped(at, nearest, x, np.asarray(kept) != 0, float(p))


def rrelu_with_noise(
    at: Any, nearest: Any, x: torch.Tensor, noise: torch.Tensor, lower: Any = 1 / 8, upper: Any = 1 / 3, training: bool = False, generator: Any = None,
) -> Any:  # fmt: skip
    """The slopes are in `noise` now, and ones of what is above 0."""
    a = np.asarray(as_array(x))
    slopes = np.asarray(as_array(noise)) if training else np.where(a.astype(np.float64) > 0, 1.0, _slope(lower, upper))
    return _rounded(at, nearest, x, np.zeros(nearest.shape, bool), lambda a, b: a * b, slopes)


def _attention(backward: bool) -> Callable[..., Any]:
    name = "scaled_dot_product_attention" + "_backward" * backward

    def made(at: Any, *arguments: Any) -> Any:
        (*tensors, mask), (causal, scale, p, *place) = arguments[: 4 + backward], arguments[4 + backward :]
        arrays = [as_array(t) for t in tensors], None if mask is None else as_array(mask)
        words = dict(zip(("seed", "stream", "offset"), (unsigned(place[0]), unsigned(place[1]), place[2]), strict=True))
        options = {"attn_mask": arrays[1], "dropout_p": p, "is_causal": causal, "scale": scale, **words}
        try:
            return _random_calls.call(name, at.words["mode"], tuple(arrays[0]), options, at.words["seed"], at.words["stream"])
        except TypeError as error:
            raise _Lacks(str(error)) from None

    return made


HANDLERS: dict[str, Callable[..., Any]] = {
    f"repmath::scaled_dot_product_attention{'_backward' * b}.default": _attention(b) for b in (False, True)
}
FORMULAS: dict[str, Callable[..., Any]] = {
    "native_dropout.default": native_dropout,
    "repmath::dropout.default": own_dropout,
    **{f"rrelu_with_noise{mark}.default": rrelu_with_noise for mark in ("", "_")},
}

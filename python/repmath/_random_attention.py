"""Attention and its gradient under the modes "stochastic" and "random": each of its steps is an array of the call, in the order of its definition."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from . import _random_modes
from ._random_arguments import _probability
from ._random_functions import At, Lacks, _softmax, _softmax_backward, _wide
from .nn import _attention
from .nn._softmax import softmax, softmax_backward
from .random import dropout, dropout_backward

_Array = np.ndarray[Any, Any]


class _Steps:
    """Rounds the arrays of a call, the r-th with the words from element r * 2^40 on."""

    def __init__(self, at: At, dtype: Any) -> None:
        self.at, self.dtype, self.arrays = at, dtype, 0

    def next(self) -> At:
        self.arrays += 1
        stream = _random_modes.part(self.at.stream, (self.arrays - 1) * _random_modes.APART)
        return At(self.at.mode, self.at.seed, stream)

    def product(self, a: _Array, b: _Array, scale: float = 1.0, added: Any = None) -> _Array:
        """scale a b + added. The scaled a is the sum of two binary64 numbers, a row of twice as many terms."""
        at = self.next()
        if scale == 1:
            made = _random_modes.matmul(a, b, at.mode, bias=added, dtype=self.dtype, seed=at.seed, stream=at.stream)
            return np.asarray(made)
        y, parts = b.astype(np.float64), _random_modes.in_two(a.astype(np.float64), scale)
        if parts is None:
            raise Lacks("numbers that scale brings out of the range of float64")
        left, right = np.concatenate(parts, -1), np.concatenate((y, y), -2)
        wide = None if added is None else added.astype(np.float64)
        made = _random_modes.matmul(left, right, at.mode, bias=wide, dtype=self.dtype, seed=at.seed, stream=at.stream)
        return np.asarray(made)

    def weights(self, q: _Array, k: _Array, mask: Any, scale: float) -> _Array:
        scores = self.product(q, np.swapaxes(k, -1, -2), scale, mask)
        made = _softmax(False)(self.next(), np.asarray(softmax(scores, -1)), {"input": scores, "dim": -1})
        if mask is not None:
            made[np.isneginf(scores).all(axis=-1)] = 0
        return made

    def dropped(self, a: _Array, p: float, place: Any) -> _Array:
        if _attention._dropped(a, p, place) is a:
            return a
        return dropped(self.next(), np.asarray(_attention._dropped(a, p, place)), a, p, *place)


def dropped(at: At, nearest: _Array, a: _Array, p: Any, seed: int, stream: int, offset: int) -> _Array:
    """a/(1 - p) where it is kept."""
    wide = _wide(a)
    kept = np.asarray(dropout(np.ones(a.shape), p, seed, stream=stream, offset=offset)).reshape(-1) != 0
    flat, rest = wide.reshape(-1), 1 - Fraction(_probability(p))

    def value(i: int) -> Fraction:
        return Fraction(float(flat[i])) / rest if kept[i] else Fraction(0)

    return at.rational(nearest, value, np.asarray(dropout(wide, p, seed, stream=stream, offset=offset)))


def _drop(name: str) -> Callable[..., _Array]:
    def made(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
        return dropped(at, nearest, np.asarray(call[name]), *(call[n] for n in ("p", "seed", "stream", "offset")))

    return made


def _arguments(call: dict[str, Any]) -> tuple[Any, ...]:
    q, k, v = _attention._together(call["query"], call["key"], call["value"])
    mask = _attention._mask(call["attn_mask"], call["is_causal"], (*q.shape[:-1], k.shape[-2]), q)
    place = call["dropout_p"], tuple(call[n] for n in ("seed", "stream", "offset"))
    return q, k, v, mask, _attention._scale(call["scale"], q.shape[-1]), place


def _forward(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    """Scores, weights, weights after dropout, the result."""
    q, k, v, mask, scale, place = _arguments(call)
    steps = _Steps(at, q.dtype)
    return steps.product(steps.dropped(steps.weights(q, k, mask, scale), *place), v)


def _backward(at: At, nearest: Any, call: dict[str, Any]) -> Any:
    """Scores, weights and weights after dropout; the gradients of the value, of the weights, of these before dropout, of the scores, of query and key."""
    q, k, v, mask, scale, place = _arguments(call)
    g = np.asarray(call["grad_output"]).astype(q.dtype)
    steps = _Steps(at, q.dtype)
    p = steps.weights(q, k, mask, scale)
    of_value = steps.product(np.swapaxes(steps.dropped(p, *place), -1, -2), g)
    slope = steps.dropped(steps.product(g, np.swapaxes(v, -1, -2)), *place)
    near = np.asarray(softmax_backward(slope, p, -1))
    slope = _softmax_backward(steps.next(), near, {"grad_output": slope, "output": p, "dim": -1})
    return steps.product(slope, k, scale), steps.product(np.swapaxes(slope, -1, -2), q, scale), of_value


FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "scaled_dot_product_attention": (_attention.scaled_dot_product_attention, _forward),
    "scaled_dot_product_attention_backward": (_attention.scaled_dot_product_attention_backward, _backward),
    "dropout": (dropout, _drop("x")),
    "dropout_backward": (dropout_backward, _drop("g")),
}

"""More norms of stochastic(): by running statistics, the gradients of RMS norm, and batch norm of its newer operators. Formulas as in `_stochastic_rows`."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .._random_balls import over_roots
from ._stochastic_rows import _channels, _finite, _number, _weight, _wide, _without_value, batch_norm
from ._stochastic_rows import batch_norm_backward as of_batch
from ._tensors import array_inside as as_array


def _by_variance(g: Any, w: Any, v: Any, eps: Any) -> Any:
    return g * w / (v + eps).sqrt()


def _weight_by_variance(g: Any, x: Any, m: Any, v: Any, eps: Any) -> Any:
    return (g * (x - m)).total() / (v + eps).sqrt()


def _running(at: Any, nearest: Any, g: Any, x: Any, weight: Any, mean: Any, var: Any, eps: float) -> Any:
    """The gradients of a batch norm whose statistics are given."""
    (rows, back), (grads, _) = _channels(_wide(x)), _channels(_wide(g))
    w, m, v = (_weight(t, (rows.shape[0], 1), d) for t, d in ((weight, 1.0), (mean, 0.0), (var, 1.0)))
    good = np.isfinite(m + w) & np.isfinite(v) & (v + eps > 0)
    held = np.where(good, v, 1.0)

    def of_x() -> Any:
        skip = back(~(np.isfinite(grads) & good))
        made = at.last(nearest[0], skip).formula(_by_variance, _finite(grads), _finite(w), held, _number(eps), place=back)
        return at.known(made, nearest[0], skip)

    def of_weight() -> Any:
        bad = ~(np.isfinite(grads).all(1) & np.isfinite(rows).all(1) & good[:, 0])
        values = (np.where(bad[:, None], 0.0, a) for a in (grads, rows))
        made = at.last(nearest[1], bad).formula(
            _weight_by_variance, *values, _finite(m), held, _number(eps), place=lambda r: r.reshape(-1)
        )
        return at.known(made, nearest[1], bad)

    return at.each(nearest, (of_x, of_weight, lambda: at.total(np.moveaxis(as_array(g), 1, 0).reshape(rows.shape), 1)))


def batch_norm_backward(
    at: Any, nearest: Any, g: Any, x: Any, weight: Any, mean: Any, var: Any, save_mean: Any, save_root: Any, train: bool,
    eps: float, mask: Any, *reserve: Any,
) -> Any:  # fmt: skip
    if train:
        return of_batch(at, nearest, g, x, weight, mean, var, save_mean, save_root, train, eps, mask)
    return _running(at, nearest, g, x, weight, mean, var, eps)


def batch_norm_of_update(
    at: Any, nearest: Any, x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float
) -> Any:
    """With PyTorch's buffer, which is empty."""
    return *batch_norm(at, nearest[:3], x, weight, bias, mean, var, True, momentum, eps), nearest[3]


def _of_squares(g: Any, x: Any, w: Any, eps: Any, n: Any) -> Any:
    variance = (x * x).total() / n + eps
    h = g * w
    return (h - x * (h.dot(x) / (variance * n))) / variance.sqrt()


def _weight_of_squares(g: Any, x: Any, sets: Any, eps: Any, n: Any) -> Any:
    """Of rows of gradients and elements of a weight, (W, S); the sets are (1, S, n)."""
    variance = ((sets * sets).total() / n + eps).at((..., 0))
    return over_roots(g * x, variance)


def rms_norm_backward(at: Any, nearest: Any, g: Any, x: Any, shape: Any, weight: Any, eps: float) -> Any:
    a, h = _wide(x), _wide(g)
    size = int(np.prod(shape))
    rows, grads = a.reshape(-1, size), h.reshape(-1, size)
    w = _weight(weight, (1, size), 1.0)
    bad = ~(np.isfinite(rows) & np.isfinite(grads)).all(-1, keepdims=True)
    if not eps > 0:
        for i in np.flatnonzero(~bad[:, 0]).tolist():
            bad[i] = sum((Fraction(v) ** 2 for v in rows[i].tolist()), Fraction(0)) / size + Fraction(eps) <= 0

    def of_x() -> Any:
        skip = (bad | ~np.isfinite(w)).reshape(a.shape)
        values = np.where(bad, 0.0, grads), np.where(bad, 1.0, rows), _finite(w), _number(eps), _number(float(size))
        made = at.last(nearest[0], skip).formula(_of_squares, *values, place=lambda r: r.reshape(a.shape))
        return at.known(made, nearest[0], skip)

    def of_weight() -> Any:
        if bad.any():
            return _without_value(at, nearest[1])
        values = grads.T, rows.T, rows[None], _number(eps, 3), _number(float(size), 3)
        made = at.last(nearest[1]).formula(_weight_of_squares, *values, place=lambda r: r[:, 0])
        return made.reshape(nearest[1].shape)

    made = of_x()
    if not nearest[1].size:
        return made, *nearest[1:]
    at.next()
    return made, of_weight(), nearest[2]


HANDLERS: dict[str, Callable[..., Any]] = {
    "_native_batch_norm_legit.no_stats": lambda at, nearest, x, w, b, *options: batch_norm(
        at, nearest, x, w, b, None, None, *options
    ),
    "_native_batch_norm_legit_no_training.default": lambda at, nearest, x, w, b, mean, var, *options: batch_norm(
        at, nearest, x, w, b, mean, var, False, *options
    ),
    "_batch_norm_with_update.default": batch_norm_of_update,
    "native_batch_norm_backward.default": batch_norm_backward,
    "batch_norm_backward.default": batch_norm_backward,
    "repmath::rms_norm_backward.default": rms_norm_backward,
}

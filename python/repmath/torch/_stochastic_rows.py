"""Operators of stochastic() whose value is a formula: softmax, norms, losses, means, sums by index. Each formula is that of the specification
(sections 4 and 5), written over the arithmetics of `_random_balls`, for all formats; each element of f64 is computed in double-double.

A formula's value that is a boundary of rounding, or a threshold, is decided only where it is computed exactly. It is, since

- sums, products and quotients of numbers are rational, and roots of rational squares are;
- Σ exp(x_k - m) over the x_k that are not m is a sum of powers of e with distinct exponents that are algebraic and not 0; with the whole number of those
  that are m it is irrational, as are its quotients by one of its terms, times rational numbers other than 0 (Lindemann, Weierstrass), and exact where all
  are m;
- a sum of logarithms of such sums, or of 1 + exp(-|x|), is irrational unless each is the logarithm of 1: the product of sums of powers of e with
  positive factors is one power of e only if each factor is, and each has the term 1;
- a rational number times an irrational root, plus a rational number, is irrational or the product is 0. Of sums of different roots (the gradient with
  respect to the weight of a norm) `Enclosures.over_roots` tells those that are rational."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from .._random_balls import Balls, Interval, over_roots
from ._aten import common
from ._aten.layers import _eps, _with_eps
from ._tensors import array_inside as as_array


def _wide(t: Any) -> Any:
    return np.asarray(as_array(t)).astype(np.float64)


def _finite(a: Any) -> Any:
    """The array with zeros for what is not finite, which the formulas do not meet."""
    return np.where(np.isfinite(a), a, 0.0)


def _rows(a: Any, dim: int) -> tuple[Any, Callable[[Any], Any]]:
    """Rows along an axis, and what brings rows back."""
    if a.ndim == 0:
        return a.reshape(1, 1), lambda r: np.ascontiguousarray(r).reshape(())
    moved = np.moveaxis(a, dim, -1)
    shape = moved.shape
    return moved.reshape(-1, shape[-1]), lambda r: np.ascontiguousarray(np.moveaxis(r.reshape(shape), -1, dim))


# --- softmax


def _shares(x: Any, m: Any, w: Any) -> Any:
    e = (x - m).exp() * w
    return e / e.total()


def _logs(x: Any, m: Any, w: Any) -> Any:
    return (x - m) - ((x - m).exp() * w).total().log()


def _softmax_rows(x: Any) -> tuple[Any, Any, Any, Any]:
    """Rows without what is not finite, their maxima, factors 0 and 1, and which rows have a value."""
    finite = np.isfinite(x)
    good = (finite | (x == -np.inf)).all(-1, keepdims=True) & finite.any(-1, keepdims=True)
    m = np.where(finite, x, -np.inf).max(-1, keepdims=True, initial=-np.inf)
    m = np.where(good, m, 0.0)
    use = finite & good
    use |= ~good  # other rows have ones, so that nothing is divided by 0
    return np.where(finite & good, x, m), m, use.astype(np.float64), good


def softmax(at: Any, nearest: Any, x: torch.Tensor, dim: int, *options: Any) -> Any:
    rows, back = _rows(_wide(x), dim)
    values, m, w, good = _softmax_rows(rows)
    skip = back(np.broadcast_to(~good, rows.shape))
    made = at.last(nearest, skip).formula(_shares, values, m, w, place=back)
    return at.known(made, nearest, skip)


def log_softmax(at: Any, nearest: Any, x: torch.Tensor, dim: int, *options: Any) -> Any:
    rows, back = _rows(_wide(x), dim)
    values, m, w, good = _softmax_rows(rows)
    skip = back(~good | ~np.isfinite(rows))
    made = at.last(nearest, skip).formula(_logs, values, m, w, place=back)
    return at.known(made, nearest, skip)


def _of_softmax(g: Any, y: Any) -> Any:
    return y * (g - (g * y).total())


def _of_log_softmax(g: Any, y: Any, w: Any) -> Any:
    return g - y.exp() * w * g.total()


def softmax_backward(at: Any, nearest: Any, g: torch.Tensor, y: torch.Tensor, dim: int, *options: Any) -> Any:
    (a, back), (b, _) = _rows(_wide(g), dim), _rows(_wide(y), dim)
    skip = back(np.broadcast_to(~(np.isfinite(a) & np.isfinite(b)).all(-1, keepdims=True), a.shape))
    made = at.last(nearest, skip).formula(_of_softmax, _finite(a), _finite(b), place=back)
    return at.known(made, nearest, skip)


def log_softmax_backward(at: Any, nearest: Any, g: torch.Tensor, y: torch.Tensor, dim: int, *options: Any) -> Any:
    (a, back), (b, _) = _rows(_wide(g), dim), _rows(_wide(y), dim)
    none = b == -np.inf  # exp(y) = 0
    bad = ~np.isfinite(a).all(-1, keepdims=True) | ~(np.isfinite(b) | none)
    skip = back(np.broadcast_to(bad, a.shape))
    made = at.last(nearest, skip).formula(_of_log_softmax, _finite(a), _finite(b), (~none).astype(float), place=back)
    return at.known(made, nearest, skip)


# --- norms: rows are the sets, whose mean and variance are exact


def _centred(x: Any, eps: Any, n: Any) -> tuple[Any, Any, Any]:
    mean = x.total() / n
    d = x - mean
    return mean, d, d.dot(d) / n + eps


def _normalised(x: Any, w: Any, b: Any, eps: Any, n: Any) -> Any:
    _, d, variance = _centred(x, eps, n)
    return d * w / variance.sqrt() + b


def _set_mean(x: Any, n: Any) -> Any:
    return x.total() / n


def _set_root(x: Any, eps: Any, n: Any) -> Any:
    return 1.0 / _centred(x, eps, n)[2].sqrt()


def _of_normalised(g: Any, x: Any, w: Any, eps: Any, n: Any) -> Any:
    _, d, variance = _centred(x, eps, n)
    h = g * w
    return (h - h.total() / n - d * (h.dot(d) / (variance * n))) / variance.sqrt()


def _of_weights(g: Any, d: Any, x: Any, eps: Any, n: Any) -> Any:
    """Of rows of gradients and elements of a weight, (W, S); the sets are x, (1, S, n)."""
    mean, _, variance = _centred(x, eps, n)
    return over_roots(g * (d - _flat(mean)), _flat(variance))


def _flat(a: Any) -> Any:
    """(1, S, 1) as (1, S)."""
    return a.at((..., 0))


class _Sets:
    """The sets of a norm as rows of binary64 numbers; those without a value are left to the rounded call."""

    def __init__(self, x: Any, eps: float, *others: Any) -> None:
        self.n, self.eps = float(x.shape[-1]), eps
        self.bad = ~np.isfinite(x).all(-1, keepdims=True)
        for other in others:
            self.bad = self.bad | ~np.isfinite(other).all(-1, keepdims=True)
        if not eps > 0:
            self.bad = self.bad | (x == x[..., :1]).all(-1, keepdims=True)
        if eps < 0:
            for at in zip(*np.nonzero(~self.bad[..., 0]), strict=True):
                row = [Fraction(v) for v in x[at].tolist()]
                self.bad[at] = sum(v * v for v in row) * len(row) - sum(row) ** 2 <= -Fraction(eps) * len(row) ** 2
        plain = np.ones_like(x)
        plain[..., ::2] = -1.0
        self.x = np.where(self.bad, plain if x.shape[-1] > 1 else 0.0, x)

    def skip(self, shape: Any, back: Callable[[Any], Any] = lambda a: a) -> Any:
        return back(np.broadcast_to(self.bad, shape))


def _number(value: float, axes: int = 2) -> Any:
    return np.full((1,) * axes, value)


def _normalise(
    at: Any, nearest: Sequence[Any], sets: _Sets, w: Any, b: Any, back: Callable[[Any], Any], statistics: Callable[[Any], Any]
) -> list[Any]:
    """The three results of a norm: w and b are (sets or 1, n or 1)."""
    e, n = _number(sets.eps), _number(sets.n)
    skip = sets.skip(sets.x.shape, back)
    skip = skip | ~np.isfinite(back(np.broadcast_to(w + b, sets.x.shape)))
    made = at.last(nearest[0], skip).formula(_normalised, sets.x, _finite(w), _finite(b), e, n, place=back)
    found = [at.known(made, nearest[0], skip)]
    for number, formula, values in ((1, _set_mean, (sets.x, n)), (2, _set_root, (sets.x, e, n))):
        at.next()
        some = statistics(sets.bad)
        found.append(
            at.known(at.last(nearest[number], some).formula(formula, *values, place=statistics), nearest[number], some)
        )
    return found


def _weight(t: Any, shape: Any, default: float) -> Any:
    return np.full(shape, default) if t is None else _wide(t).reshape(shape)


def layer_norm(at: Any, nearest: Any, x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    a = _wide(x)
    rows = a.reshape(-1, int(np.prod(shape)))
    w, b = (_weight(t, (1, rows.shape[1]), v) for t, v in ((weight, 1.0), (bias, 0.0)))
    stats = nearest[1].shape
    made = _normalise(
        at, nearest, _Sets(rows, eps), w, b, lambda r: np.ascontiguousarray(r).reshape(a.shape), lambda r: r.reshape(stats)
    )
    return made[0], made[1], _with_eps(np.asarray(made[2]), eps)


def _without_value(at: Any, nearest: Any) -> Any:
    """A gradient of a weight where a set, or a gradient, is not finite: all NaN, or not known here."""
    if not np.isnan(nearest).all():
        raise at.lacks("of infinities and NaN it is")
    return nearest


def _weight_gradient(at: Any, nearest: Any, g: Any, x: Any, sets: _Sets, member: Any) -> Any:
    """g and x are (W, S): what belongs to each element of the weight; member gives the set of each column, as an index."""
    if sets.bad.any() or not np.isfinite(g).all():
        return _without_value(at, nearest)
    every = sets.x[member][None]
    made = at.last(nearest).formula(
        _of_weights, g, x, every, _number(sets.eps, 3), _number(sets.n, 3), place=lambda r: r[:, 0]
    )
    return made.reshape(nearest.shape)


def layer_norm_backward(
    at: Any, nearest: Any, g: Any, x: Any, shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any, mask: Any
) -> Any:
    a, h = _wide(x), _wide(g)
    size = int(np.prod(shape))
    rows, grads, eps = a.reshape(-1, size), h.reshape(-1, size), _eps(rstd)
    w = _weight(weight, (1, size), 1.0)

    def of_x() -> Any:
        sets = _Sets(rows, eps, grads)
        skip = sets.skip(rows.shape, lambda r: r.reshape(a.shape)) | ~np.isfinite(w).all()
        values = np.where(sets.bad, 0.0, grads), sets.x, _finite(w), _number(eps), _number(sets.n)
        made = at.last(nearest[0], skip).formula(_of_normalised, *values, place=lambda r: r.reshape(a.shape))
        return at.known(made, nearest[0], skip)

    def of_weight() -> Any:
        return _weight_gradient(at, nearest[1], grads.T, rows.T, _Sets(rows, eps), np.arange(rows.shape[0]))

    def of_bias() -> Any:
        return at.total(as_array(g).reshape(-1, size), 0).reshape(nearest[2].shape)

    return at.each(nearest, (of_x, of_weight, of_bias))


def _channels(a: Any) -> tuple[Any, Callable[[Any], Any]]:
    """(N, C, ...) as (C, N*...), and what brings it back."""
    moved = np.moveaxis(a, 1, 0)
    return moved.reshape(a.shape[1], -1), lambda r: np.ascontiguousarray(np.moveaxis(r.reshape(moved.shape), 0, 1))


def _by_running(x: Any, mean: Any, variance: Any, w: Any, b: Any, eps: Any) -> Any:
    return (x - mean) * w / (variance + eps).sqrt() + b


def batch_norm(
    at: Any, nearest: Any, x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float
) -> Any:
    """The running statistics, if any, were rounded to nearest by the call that made `nearest`."""
    rows, back = _channels(_wide(x))
    w, b = (_weight(t, (rows.shape[0], 1), v) for t, v in ((weight, 1.0), (bias, 0.0)))
    if training:
        return tuple(_normalise(at, nearest, _Sets(rows, eps), w, b, back, lambda r: r.reshape(-1)))
    m, v = (_weight(t, (rows.shape[0], 1), 0.0) for t in (mean, var))
    bad = ~np.isfinite(rows) | ~np.isfinite(m + v + w + b) | ~(v + eps > 0)
    skip = back(bad)
    values = np.where(bad, 0.0, rows), _finite(m), np.where(v + eps > 0, v, 1.0), _finite(w), _finite(b), _number(eps)
    made = at.last(nearest[0], skip).formula(_by_running, *values, place=back)
    return at.known(made, nearest[0], skip), *nearest[1:]


def batch_norm_backward(
    at: Any, nearest: Any, g: Any, x: Any, weight: Any, mean: Any, var: Any, save_mean: Any, save_root: Any, train: bool,
    eps: float, mask: Any,
) -> Any:  # fmt: skip
    if not train:
        raise at.lacks("by running statistics it is")
    (rows, back), (grads, _) = _channels(_wide(x)), _channels(_wide(g))
    w = _weight(weight, (rows.shape[0], 1), 1.0)
    sets = _Sets(rows, eps, grads)
    good = np.where(sets.bad, 0.0, grads)

    def of_x() -> Any:
        skip = sets.skip(rows.shape, back) | ~np.isfinite(back(np.broadcast_to(w, rows.shape)))
        values = good, sets.x, _finite(w), _number(eps), _number(sets.n)
        made = at.last(nearest[0], skip).formula(_of_normalised, *values, place=back)
        return at.known(made, nearest[0], skip)

    def of_weight() -> Any:
        def formula(g: Any, x: Any, e: Any, n: Any) -> Any:
            _, d, variance = _centred(x, e, n)
            return g.dot(d) / variance.sqrt()

        made = at.last(nearest[1], sets.bad[:, 0]).formula(
            formula, good, sets.x, _number(eps), _number(sets.n), place=lambda r: r.reshape(-1)
        )
        return at.known(made, nearest[1], sets.bad[:, 0])

    def of_bias() -> Any:
        return at.total(np.moveaxis(as_array(g), 1, 0).reshape(rows.shape), 1)

    return at.each(nearest, (of_x, of_weight, of_bias))


def group_norm(
    at: Any, nearest: Any, x: Any, weight: Any, bias: Any, n: int, c: int, inner: int, group: int, eps: float
) -> Any:
    a = _wide(x)
    rows = a.reshape(n * group, -1)
    each = (np.repeat(_weight(t, (c,), v), inner).reshape(group, -1) for t, v in ((weight, 1.0), (bias, 0.0)))
    w, b = (np.tile(v, (n, 1)) for v in each)
    made = _normalise(
        at, nearest, _Sets(rows, eps), w, b, lambda r: np.ascontiguousarray(r).reshape(a.shape), lambda r: r.reshape(n, group)
    )
    return made[0], made[1], _with_eps(np.asarray(made[2]), eps)


def group_norm_backward(
    at: Any,
    nearest: Any,
    g: Any,
    x: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    n: int,
    c: int,
    inner: int,
    group: int,
    mask: Any,
) -> Any:
    a, h, eps = _wide(x), _wide(g), _eps(rstd)
    rows, grads = a.reshape(n * group, -1), h.reshape(n * group, -1)
    w = np.tile(np.repeat(_weight(weight, (c,), 1.0), inner).reshape(group, -1), (n, 1))

    def of_x() -> Any:
        sets = _Sets(rows, eps, grads)
        skip = (sets.bad | ~np.isfinite(w)).reshape(a.shape)
        values = np.where(sets.bad, 0.0, grads), sets.x, _finite(w), _number(eps), _number(sets.n)
        made = at.last(nearest[0], skip).formula(_of_normalised, *values, place=lambda r: r.reshape(a.shape))
        return at.known(made, nearest[0], skip)

    def by_channel(v: Any) -> Any:
        return np.moveaxis(v.reshape(n, c, inner), 1, 0).reshape(c, -1)

    def of_weight() -> Any:
        """The sets of a channel are those of its group."""
        sets = _Sets(rows, eps)
        if sets.bad.any() or not np.isfinite(grads).all():
            return _without_value(at, nearest[1])
        own = (np.arange(c) // (c // group))[:, None] + group * np.arange(n)  # (c, n)
        every = np.repeat(sets.x[own], inner, axis=1)  # (c, n * inner, size of a set)
        made = at.last(nearest[1]).formula(
            _of_weights,
            by_channel(grads),
            by_channel(rows),
            every,
            _number(eps, 3),
            _number(sets.n, 3),
            place=lambda r: r[:, 0],
        )
        return made.reshape(nearest[1].shape)

    def of_bias() -> Any:
        return at.total(np.moveaxis(as_array(g).reshape(n, c, inner), 1, 0).reshape(c, -1), 1)

    return at.each(nearest, (of_x, of_weight, of_bias))


def _by_squares(x: Any, w: Any, eps: Any, n: Any) -> Any:
    return x * w / ((x * x).total() / n + eps).sqrt()


def rms_norm(at: Any, nearest: Any, x: Any, shape: Any, weight: Any, eps: float) -> Any:
    a = _wide(x)
    rows = a.reshape(-1, int(np.prod(shape)))
    w = _weight(weight, (1, rows.shape[1]), 1.0)
    bad = ~np.isfinite(rows).all(-1, keepdims=True)
    if not eps > 0:  # of a mean of squares + eps that is not positive nothing is rounded
        least = -Fraction(eps) * rows.shape[1]
        for k in np.flatnonzero(~bad[:, 0]):
            bad[k] = sum(Fraction(v) ** 2 for v in rows[k].tolist()) <= least
    skip = (bad | ~np.isfinite(w)).reshape(a.shape)
    values = np.where(bad, 1.0 + abs(eps), rows), _finite(w), _number(eps), _number(float(rows.shape[1]))
    made = at.last(nearest, skip).formula(_by_squares, *values, place=lambda r: r.reshape(a.shape))
    return at.known(made, nearest, skip)


# --- means, norms, quotients


def _quotient(x: Any, y: Any) -> Any:
    return x / y


def held(x: torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether a format has all numbers of a tensor."""
    with torch._C._DisableTorchDispatch():
        return common.held(x, dtype)


def convert(at: Any, nearest: Any, x: torch.Tensor, **options: Any) -> Any:
    """A conversion to a narrower format, or of integers."""
    a = _wide(x)
    if not x.is_floating_point() and a.size and float(np.abs(a).max()) >= 2.0**53:
        made, values = np.array(nearest, order="C"), np.asarray(as_array(x)).reshape(-1).tolist()
        at.last(made).enclosed(
            made.reshape(-1),
            [i for i, v in enumerate(values) if v],
            lambda places, bits: [Interval(Fraction(values[i]), Fraction(values[i]), bits) for i in places],
        )
        return made
    if nearest.dtype == np.float64:
        return nearest
    plain = np.isfinite(a) & (a != 0)
    return np.where(plain, at.last(nearest).settle(np.where(plain, a, 0.0), None, lambda places, bits: []), nearest)


def mean(at: Any, nearest: Any, x: torch.Tensor, axes: tuple[int, ...]) -> Any:
    a = _wide(x)
    kept = [d for d in range(a.ndim) if d not in axes]
    rows = a.transpose(*kept, *axes).reshape(int(np.prod([a.shape[d] for d in kept])), -1)
    bad = ~np.isfinite(rows).all(-1, keepdims=True)
    skip = bad.reshape(nearest.shape)
    values = np.where(bad, 0.0, rows), _number(float(rows.shape[1]))
    made = at.last(nearest, skip).formula(_set_mean, *values, place=lambda r: r.reshape(nearest.shape))
    return at.known(made, nearest, skip)


def vector_norm(at: Any, nearest: Any, x: torch.Tensor, order: Any = 2, dim: Any = None, *options: Any, **more: Any) -> Any:
    if order != 2:
        raise at.lacks("of another order than 2 it is")
    a = _wide(x)
    axes = (
        tuple(range(a.ndim))
        if dim is None or dim == [] or not a.ndim
        else tuple(d % a.ndim for d in ([dim] if isinstance(dim, int) else dim))
    )
    kept = [d for d in range(a.ndim) if d not in axes]
    rows = a.transpose(*kept, *axes).reshape(int(np.prod([a.shape[d] for d in kept])), -1)
    bad = ~np.isfinite(rows).all(-1, keepdims=True)
    skip = bad.reshape(nearest.shape)

    def formula(x: Any) -> Any:
        return (x * x).total().sqrt()

    made = at.last(nearest, skip).formula(formula, np.where(bad, 0.0, rows), place=lambda r: r.reshape(nearest.shape))
    return at.known(made, nearest, skip)


def elementwise(at: Any, nearest: Any, formula: Callable[..., Any], *values: Any, divisors: tuple[int, ...] = ()) -> Any:
    """A formula of each element; values are tensors or numbers, those named in `divisors` not 0."""
    columns = np.broadcast_arrays(*(_wide(v) if isinstance(v, torch.Tensor) else np.float64(v) for v in values), nearest)[:-1]
    flat = [c.reshape(-1, 1) for c in columns]
    bad = ~np.logical_and.reduce([np.isfinite(c) for c in flat])
    for i in divisors:
        bad |= flat[i] == 0
    held = [np.where(bad, 1.0 if i in divisors else 0.0, c) for i, c in enumerate(flat)]
    skip = bad.reshape(nearest.shape)
    made = at.last(nearest, skip).formula(formula, *held, place=lambda r: r.reshape(nearest.shape))
    return at.known(made, nearest, skip)


def divide(at: Any, nearest: Any, x: Any, y: Any) -> Any:
    made = elementwise(at, nearest, _quotient, x, y, divisors=(1,))
    return np.where((made == 0) & (nearest == 0), nearest, made) if made.size else made  # a quotient of 0 has its sign


def addcmul(at: Any, nearest: Any, x: Any, a: Any, b: Any, *, value: Any = 1) -> Any:
    return elementwise(at, nearest, lambda x, a, b, v: x + v * (a * b), x, a, b, value)


def addcdiv(at: Any, nearest: Any, x: Any, a: Any, b: Any, *, value: Any = 1) -> Any:
    return elementwise(at, nearest, lambda x, a, b, v: x + v * a / b, x, a, b, value, divisors=(2,))


def lerp(at: Any, nearest: Any, x: Any, y: Any, weight: Any) -> Any:
    return elementwise(at, nearest, lambda x, y, w: x + w * (y - x), x, y, weight)


def _bent(at: Any, nearest: Any, factor: Any, x: Any, slope: float) -> Any:
    """factor (slope x + 3)/6 where |x| <= 3, the factor above, 0 below: one rounding in formats that binary64 holds products of."""
    a = _wide(x)
    if x.dtype is torch.float64:
        raise at.lacks("of float64 it is")
    inside, above = (np.abs(a) <= 3).astype(float), (a > 3).astype(float)
    parts = factor, x, inside * slope, inside * 3.0 + above * 6.0, 6.0
    made = elementwise(at, nearest, lambda f, x, s, c, six: f * (x * s + c) / six, *parts)
    return np.where((made == 0) & (nearest == 0), nearest, made)


def hardswish(at: Any, nearest: Any, x: Any) -> Any:
    return _bent(at, nearest, x, x, 1.0)


def hardswish_backward(at: Any, nearest: Any, g: Any, x: Any) -> Any:
    return _bent(at, nearest, g, x, 2.0)


# --- losses

_REDUCTIONS = {0: "none", 1: "mean", 2: "sum", "none": "none", "mean": "mean", "sum": "sum"}


def _reduced(at: Any, nearest: Any, formula: Callable[..., Any], count: int, reduction: Any, *values: Any) -> Any:
    """Losses of rows (R, n) or (R, 1), as they are, added, or their mean over `count`; without a value where a row has none."""
    kind = _REDUCTIONS[reduction]
    if kind == "none":
        return at.last(nearest).formula(formula, *values, place=lambda r: r.reshape(nearest.shape))

    def whole(n: Any, *parts: Any) -> Any:
        return formula(*(_down(p) for p in parts)).total(0) / n

    inside = [np.asarray(v)[None] for v in values]
    n = _number(float(count if kind == "mean" else 1))
    return at.last(nearest).formula(whole, n, *inside, place=lambda r: r.reshape(()))


def _down(a: Any) -> Any:
    """(1, R, n) as (R, n)."""
    return a.at(0)


def _plain(at: Any, *arrays: Any) -> None:
    if not all(np.isfinite(a).all() for a in arrays):
        raise at.lacks("of infinities and NaN it is")


def mse_loss(at: Any, nearest: Any, x: Any, y: Any, reduction: Any = 1) -> Any:
    a, b = np.broadcast_arrays(_wide(x), _wide(y))
    _plain(at, a, b)
    values = a.reshape(-1, 1), b.reshape(-1, 1)
    return _reduced(at, nearest, lambda x, y: (x - y) * (x - y), a.size, reduction, *values)


def mse_loss_backward(at: Any, nearest: Any, g: Any, x: Any, y: Any, reduction: Any) -> Any:
    n = float(x.numel()) if _REDUCTIONS[reduction] == "mean" else 1.0
    if g.numel() not in (1, x.numel()) or (_REDUCTIONS[reduction] != "none" and g.numel() != 1):
        raise at.lacks("of second derivatives it is")
    return elementwise(at, nearest, lambda g, x, y, n: g * 2.0 * (x - y) / n, g, x, y, n)


def _cross_entropy(x: Any, m: Any, t: Any) -> Any:
    return (x - m).exp().total().log() + (m - t)


def _classes(at: Any, x: Any, target: Any, weight: Any, ignore: int, smoothing: float) -> tuple[Any, Any, Any]:
    """Rows of logits, their classes, and which count."""
    if weight is not None or smoothing or target.is_floating_point():
        raise at.lacks("with weights, smoothing or shares of classes it is")
    a, t = _wide(x), target.numpy().reshape(-1)
    rows = np.moveaxis(a, 1, -1).reshape(-1, a.shape[1]) if a.ndim > 1 else a.reshape(1, -1)
    _plain(at, rows)
    return rows, np.where(t == ignore, 0, t), t != ignore


class _Weighted:
    """Rows of logits with the share and weight of each class: of a class as target (1 - ε) w_t and ε/C w_c of every class, of shares p_c
    ((1 - ε) p_c + ε/C) w_c. A mean is over the sum of the targets' weights, or over rows with shares."""

    def __init__(self, at: Any, x: Any, target: Any, weight: Any, ignore: int, smoothing: float) -> None:
        a = _wide(x)
        c = a.shape[1] if a.ndim > 1 else a.shape[0]
        self.rows = np.moveaxis(a, 1, -1).reshape(-1, c) if a.ndim > 1 else a.reshape(1, -1)
        self.weights = np.ones((1, c)) if weight is None else _wide(weight).reshape(1, c)
        shares = target.is_floating_point()
        if shares:
            p = _wide(target)
            self.shares = np.moveaxis(p, 1, -1).reshape(-1, c) if p.ndim > 1 else p.reshape(1, -1)
            self.counts = np.ones((self.rows.shape[0], 1))
            self.parts = self.counts
        else:
            t = target.numpy().reshape(-1)
            used = t != ignore
            self.shares = np.zeros(self.rows.shape)
            self.shares[np.arange(t.size), np.where(used, t, 0)] = 1.0
            self.counts = used.astype(float)[:, None]
            self.parts = self.counts * (self.shares * self.weights).sum(
                -1, keepdims=True
            )  # one term that is not 0 in each row
        _plain(at, self.rows, self.weights, self.shares)
        self.top = self.rows.max(-1, keepdims=True)
        self.numbers = _number(float(smoothing)), _number(float(c))

    def given(self) -> tuple[Any, ...]:
        """The arguments of `_shares_of` and the logits, after their highest."""
        return self.rows, self.top, self.shares, self.weights, self.counts, *self.numbers


def _shares_of(p: Any, w: Any, counts: Any, eps: Any, c: Any) -> Any:
    return (p * (1.0 - eps) + eps / c) * w * counts


def _weighted_loss(x: Any, m: Any, p: Any, w: Any, counts: Any, eps: Any, c: Any) -> Any:
    u, d = _shares_of(p, w, counts, eps, c), m - x
    return (x - m).exp().total().log() * u.total() + (u * d).total()


def _weighted_cross_entropy(at: Any, nearest: Any, given: _Weighted, reduction: str) -> Any:
    if reduction == "none":
        made = at.last(nearest).formula(_weighted_loss, *given.given(), place=lambda r: r.reshape(nearest.shape))
        return made
    if reduction == "mean" and math.fsum(given.parts.flat) == 0:
        return nearest

    def whole(n: Any, *values: Any) -> Any:
        return _weighted_loss(*(_down(v) for v in values)).total(0) / _down(n).total(0)

    n = given.parts if reduction == "mean" else np.ones((1, 1))
    return at.last(nearest).formula(whole, n[None], *(v[None] for v in given.given()), place=lambda r: r.reshape(()))


def _weighted_gradient(x: Any, m: Any, p: Any, w: Any, counts: Any, eps: Any, c: Any, g: Any, n: Any) -> Any:
    u, e = _shares_of(p, w, counts, eps, c), (x - m).exp()
    return (e / e.total() * u.total() - u) * g / n.total()


def cross_entropy(
    at: Any, nearest: Any, x: Any, target: Any, weight: Any, ignore: int, reduction: str, smoothing: float
) -> Any:
    if weight is not None or smoothing or target.is_floating_point():
        return _weighted_cross_entropy(at, nearest, _Weighted(at, x, target, weight, ignore, smoothing), reduction)
    rows, t, counts = _classes(at, x, target, weight, ignore, smoothing)
    if reduction == "mean" and not counts.any():
        return nearest
    m, chosen = rows.max(-1, keepdims=True), rows[np.arange(t.size), t][:, None]
    w = counts.astype(float)[:, None]
    return _reduced(
        at, nearest, lambda x, m, c, w: _cross_entropy(x, m, c) * w, int(counts.sum()), reduction, rows, m, chosen, w
    )


def cross_entropy_backward(
    at: Any, nearest: Any, g: Any, x: Any, target: Any, weight: Any, ignore: int, reduction: str, smoothing: float
) -> Any:
    if weight is not None or smoothing or target.is_floating_point():
        given, h = _Weighted(at, x, target, weight, ignore, smoothing), _wide(g)
        _plain(at, h)
        if reduction == "mean" and math.fsum(given.parts.flat) == 0:
            return nearest
        factor = np.broadcast_to(h.reshape(-1, 1), (given.rows.shape[0], 1))
        n = given.parts.reshape(1, -1) if reduction == "mean" else _number(1.0)
        back = (lambda r: np.ascontiguousarray(r).reshape(-1)) if x.ndim == 1 else _back(x)
        return at.last(nearest).formula(_weighted_gradient, *given.given(), factor, n, place=back)
    rows, t, counts = _classes(at, x, target, weight, ignore, smoothing)
    h = _wide(g)
    _plain(at, h)
    n = float(counts.sum()) if reduction == "mean" else 1.0
    if not n:
        return nearest
    one = np.zeros(rows.shape)
    one[np.arange(t.size), t] = 1.0
    factor = np.broadcast_to(h.reshape(-1, 1), (t.size, 1)) * counts[:, None]
    m = rows.max(-1, keepdims=True)
    place = (lambda r: np.ascontiguousarray(r).reshape(-1)) if x.ndim == 1 else _back(x)

    return at.last(nearest).formula(_of_cross_entropy, rows, m, one, factor, _number(n), place=place)


def _of_cross_entropy(x: Any, m: Any, one: Any, g: Any, n: Any) -> Any:
    e = (x - m).exp()
    return (e / e.total() - one) * g / n


def _back(x: Any) -> Callable[[Any], Any]:
    shape = (x.shape[0], *x.shape[2:], x.shape[1])
    return lambda r: np.ascontiguousarray(np.moveaxis(r.reshape(shape), -1, 1))


def nll_loss_forward(at: Any, nearest: Any, x: Any, target: Any, weight: Any, reduction: int, ignore: int) -> Any:
    rows, t, counts = _classes(at, x, target, weight, ignore, 0.0)
    if reduction == 1 and not counts.any():
        return nearest
    chosen = np.where(counts, rows[np.arange(t.size), t], 0.0)[:, None]
    made = _reduced(at, nearest[0], lambda x: -x, int(counts.sum()), reduction, chosen)
    return made, nearest[1]


def nll_loss_backward(
    at: Any, nearest: Any, g: Any, x: Any, target: Any, weight: Any, reduction: int, ignore: int, total: Any
) -> Any:
    rows, t, counts = _classes(at, x, target, weight, ignore, 0.0)
    n = float(counts.sum()) if reduction == 1 else 1.0
    if not n:
        return nearest
    one = np.zeros(rows.shape)
    one[np.arange(t.size), t] = counts
    factor = np.broadcast_to(_wide(g).reshape(-1, 1), (t.size, 1))
    _plain(at, factor)
    place = (lambda r: np.ascontiguousarray(r).reshape(-1)) if x.ndim == 1 else _back(x)
    return at.last(nearest).formula(lambda g, o, n: -(g * o) / n, factor, one, _number(n), place=place)


def _logits(at: Any, x: Any, y: Any, *others: Any) -> list[Any]:
    if any(o is not None for o in others):
        raise at.lacks("with weights it is")
    a, b = (v.reshape(-1, 1) for v in np.broadcast_arrays(_wide(x), _wide(y)))
    _plain(at, a, b)
    return [a, b, np.abs(a), (a >= 0).astype(float)]


def bce_with_logits(
    at: Any, nearest: Any, x: Any, y: Any, weight: Any = None, pos_weight: Any = None, reduction: Any = 1
) -> Any:
    def formula(x: Any, y: Any, size: Any, up: Any) -> Any:
        return x * up - x * y + ((-size).exp() + 1.0).log()

    return _reduced(at, nearest, formula, x.numel(), reduction, *_logits(at, x, y, weight, pos_weight))


def bce_with_logits_backward(
    at: Any, nearest: Any, g: Any, x: Any, y: Any, weight: Any = None, pos_weight: Any = None, reduction: Any = 1
) -> Any:
    values = _logits(at, x, y, weight, pos_weight)
    h = np.broadcast_to(_wide(g).reshape(-1, 1), values[0].shape)
    _plain(at, h)
    n = float(x.numel()) if _REDUCTIONS[reduction] == "mean" else 1.0

    def formula(x: Any, y: Any, size: Any, up: Any, g: Any, n: Any) -> Any:
        e = (-size).exp()
        return ((e * (1.0 - up) + up) / (e + 1.0) - y) * g / n

    return at.last(nearest).formula(formula, *values, h, _number(n), place=lambda r: r.reshape(nearest.shape))


# --- sums of elements by their index


def scattered(at: Any, nearest: Any, terms: Any, index: Any) -> Any:
    """Row i of the result, (V, n), is the sum of the rows of terms, (R, n), whose index is i."""
    rows, n = terms.shape
    order = np.argsort(index, kind="stable")
    places, starts, counts = np.unique(index[order], return_index=True, return_counts=True)
    flat = nearest.reshape(-1, n)
    middle, radius = np.zeros(flat.shape), np.zeros(flat.shape)
    for count in np.unique(counts).tolist():
        chosen = counts == count
        members = order[starts[chosen][:, None] + np.arange(count)]
        ball = Balls(terms[members]).total(1)
        middle[places[chosen]], radius[places[chosen]] = ball.middle[:, 0], ball.radius[:, 0]
    last = at.last(nearest, np.isnan(nearest))

    def enclose(where: list[int], bits: int) -> list[Interval]:
        from fractions import Fraction

        found = []
        for i in where:
            exact = sum((Fraction(v) for v in terms[index == i // n, i % n].tolist()), Fraction(0))
            found.append(Interval(exact, exact, bits))
        return found

    return last.settle(middle.reshape(nearest.shape), radius.reshape(nearest.shape), enclose)


def embedding_dense_backward(at: Any, nearest: Any, g: Any, index: Any, count: int, padding: int, scale: bool) -> Any:
    if scale:
        raise at.lacks("by the frequency of a row it is")
    terms, i = _wide(g).reshape(index.numel(), -1), index.numpy().reshape(-1)
    _plain(at, terms)
    used = i != padding
    return scattered(at, nearest, terms[used], i[used])


def max_pool2d_backward(at: Any, nearest: Any, g: Any, x: Any, *options: Any) -> Any:
    kernel, stride, _, dilation, _, indices = options
    sizes = (list(v) * 2 if len(v) == 1 else v for v in (kernel, stride or kernel, dilation))
    if all(s >= e * (k - 1) + 1 for k, s, e in zip(*sizes, strict=True)):
        return nearest  # windows have no element in common, so that each sum is one of the gradients, or 0
    indices = indices.numpy()
    terms = _wide(g).reshape(-1, 1)
    _plain(at, terms)
    size = int(np.prod(x.shape[-2:]))
    planes = np.arange(terms.size) // max(int(np.prod(g.shape[-2:])), 1)
    return scattered(at, nearest, terms, planes * size + indices.reshape(-1))


HANDLERS: dict[str, Callable[..., Any]] = {
    "_to_copy.default": convert,
    "_softmax.default": softmax,
    "_safe_softmax.default": softmax,
    "_log_softmax.default": log_softmax,
    "_softmax_backward_data.default": softmax_backward,
    "_log_softmax_backward_data.default": log_softmax_backward,
    "native_layer_norm.default": layer_norm,
    "native_layer_norm_backward.default": layer_norm_backward,
    "native_group_norm.default": group_norm,
    "native_group_norm_backward.default": group_norm_backward,
    "native_batch_norm.default": batch_norm,
    "_native_batch_norm_legit.default": batch_norm,
    "native_batch_norm_backward.default": batch_norm_backward,
    "addcmul.default": addcmul,
    "addcmul_.default": addcmul,
    "addcdiv.default": addcdiv,
    "addcdiv_.default": addcdiv,
    "lerp.Scalar": lerp,
    "lerp_.Scalar": lerp,
    "linalg_vector_norm.default": vector_norm,
    "mse_loss.default": mse_loss,
    "mse_loss_backward.default": mse_loss_backward,
    **{f"hardswish{mark}.default": hardswish for mark in ("", "_")},
    "hardswish_backward.default": hardswish_backward,
    "nll_loss_forward.default": nll_loss_forward,
    "nll_loss_backward.default": nll_loss_backward,
    "nll_loss2d_forward.default": nll_loss_forward,
    "nll_loss2d_backward.default": nll_loss_backward,
    "binary_cross_entropy_with_logits.default": bce_with_logits,
    "embedding_dense_backward.default": embedding_dense_backward,
    "max_pool2d_with_indices_backward.default": max_pool2d_backward,
    "repmath::cross_entropy.default": cross_entropy,
    "repmath::cross_entropy_backward.default": cross_entropy_backward,
    "repmath::binary_cross_entropy_with_logits.default": lambda at, nearest, x, y, w, kind, p: bce_with_logits(
        at, nearest, x, y, w, p, kind
    ),
    "repmath::binary_cross_entropy_with_logits_backward.default": lambda at, nearest, g, x, y, w, kind, p: (
        bce_with_logits_backward(at, nearest, g, x, y, w, p, kind)
    ),
    "repmath::rms_norm.default": rms_norm,
    "repmath::softmax.default": softmax,
    "repmath::softmax_backward.default": softmax_backward,
    "repmath::log_softmax.default": log_softmax,
    "repmath::log_softmax_backward.default": log_softmax_backward,
}

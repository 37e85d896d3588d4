"""Rows of stochastic() at the speed of rows that are rounded to nearest: softmax, log_softmax, layer, group and batch norm, and their gradients.

The library gives the ball of each result, which it rounds to nearest elsewhere (`rm_balls_of_next`). Under the mode stochastic it rounds the balls by their
words, and in double-double what these leave, a few in 2^20 results. What remains, and under the other modes what balls leave, `Last.some` decides by the
formulas of `_stochastic_rows`, on their rows alone. Rows of which no ball is known, such as those of a
NaN, raise Slow: then the formula of `_stochastic_rows` has the whole array.

What is above 0 and below 2^-245 may be given as 0: the least threshold of stochastic rounding is 2^-34 of a quantum, 2^-183 in binary32. The other modes
move such a number: there a 0 without a radius is undecided, but where the arguments say that it is one."""

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .. import _core
from .._dtypes import NAMES
from .._random_balls import Balls
from ..nn import _normalization as _norms
from . import _stochastic_rows as _rows
from ._aten.layers import _eps, _with_eps
from ._tensors import array_inside as as_array


class Slow(Exception):
    """Not here: the formula of `_stochastic_rows` has it."""


_held = threading.local()
_MOST = 1 << 21  # numbers of a kept array
_FEW = 64  # results that are decided one by one, beside a sixteenth of all


def _scratch(name: str, n: int) -> Any:
    """An array of n binary64 numbers, which the next call of this thread with this name overwrites: new memory takes longer than the rows."""
    if n > _MOST:
        return np.empty(n)
    kept = getattr(_held, name, None)
    if kept is None or kept.size < n:
        kept = np.empty(n)
        setattr(_held, name, kept)
    return kept[:n]


def _balls(n: int) -> tuple[Any, Any]:
    return _scratch("middle", n), _scratch("radius", n)


def _ask(at: Any, made: Any, *balls: Any) -> tuple[Any, Any]:
    """What _core takes in place of middles and radii, and room for the results that are left, where the library rounds the results itself."""
    if at.words["mode"] != "stochastic":
        return balls, None
    left = np.empty(made.size, np.int64)  # memory that is not touched costs nothing
    return (*balls, *(None,) * (6 - len(balls)), left, at.last(made).place), left


def _settle(
    at: Any,
    made: Any,
    balls: Any,
    split: Callable[[Any], Any],
    formula: Any,
    inputs: Callable[[Any], Any],
    zero: Callable[[], Any] = lambda: False,
    left: Any = None,
) -> Any:
    """Rounds balls into `made`, but where the library did, with the results at these places left. split(places) gives row and column of results, inputs(rows)
    what the formula takes of these rows, zero() which results are 0."""
    middle, radius = balls
    last = at.last(made)
    if left is None:
        undecided = np.empty(middle.size, np.uint8)
        with _core.Environment():
            _core.random_balls(NAMES[made.dtype], middle, radius, made.reshape(-1), undecided, last.place)
        if at.words["mode"] != "stochastic":
            undecided |= (middle == 0) & (radius == 0) & ~np.broadcast_to(zero(), made.shape).reshape(-1)
        left = np.flatnonzero(undecided) if undecided.any() else undecided[:0]
    if not left.size:
        return made
    if left.size > _FEW + made.size // 16 or not np.isfinite(radius[left]).all():
        raise Slow
    row, column = split(left)
    rows, local = np.unique(row, return_inverse=True)
    last.some(made.reshape(-1), left, (local, column), formula, *inputs(rows))
    return made


def _array(*tensors: Any) -> Any:
    """Contiguous arrays of one format below binary64; None for None."""
    kinds = {t.dtype for t in tensors if t is not None}
    if len(kinds) != 1 or kinds.pop() not in (torch.float16, torch.bfloat16, torch.float32):
        raise Slow
    if any(t is not None and not t.is_cpu for t in tensors):
        raise Slow
    return [None if t is None else np.ascontiguousarray(as_array(t)) for t in tensors]


def _same(options: Any, dtype: Any) -> None:
    """The result has the format of the arguments."""
    for option in options:
        if option is True or (isinstance(option, torch.dtype) and option is not dtype):
            raise Slow


def _last_axis(x: torch.Tensor, dim: int) -> int:
    if x.ndim == 0 or dim % x.ndim != x.ndim - 1 or not x.numel():
        raise Slow
    return int(x.shape[-1])


def _some(left: Any, count: int) -> Any:
    """The places that were left, in order."""
    return None if left is None else np.sort(left[:count])


def _by_row(n: int) -> Callable[[Any], Any]:
    return lambda places: np.divmod(places, n)


def _softmax(what: str, formula: Any) -> Callable[..., Any]:
    def function(at: Any, x: torch.Tensor, dim: int, *options: Any) -> Any:
        n = _last_axis(x, dim)
        _same(options, x.dtype)
        (a,) = _array(x)
        flat, balls, made = a.reshape(-1, n), _balls(a.size), np.empty_like(a)
        asked, left = _ask(at, made, *balls)
        with _core.Environment():
            count = _core.softmax(what, NAMES[a.dtype], flat, None, made.reshape(-1, n), asked)

        def inputs(rows: Any) -> Any:
            return _rows._softmax_rows(flat[rows].astype(np.float64))[:3]

        return _settle(at, made, balls, _by_row(n), formula, inputs, lambda: a == -np.inf, _some(left, count))

    return function


def _softmax_backward(what: str, formula: Any) -> Callable[..., Any]:
    def function(at: Any, g: torch.Tensor, y: torch.Tensor, dim: int, *options: Any) -> Any:
        n = _last_axis(y, dim)
        _same(options, y.dtype)
        a, b = _array(g, y)
        first, second, balls, made = a.reshape(-1, n), b.reshape(-1, n), _balls(a.size), np.empty_like(a)
        asked, left = _ask(at, made, *balls)
        with _core.Environment():
            count = _core.softmax(what, NAMES[a.dtype], first, second, made.reshape(-1, n), asked)

        def inputs(rows: Any) -> Any:
            h, z = first[rows].astype(np.float64), second[rows].astype(np.float64)
            if what == "softmax_backward":
                return h, z
            return h, _rows._finite(z), (z != -np.inf).astype(np.float64)

        zero = (lambda: b == 0) if what == "softmax_backward" else (lambda: False)
        return _settle(at, made, balls, _by_row(n), formula, inputs, zero, _some(left, count))

    return function


# --- norms


def _by_rows(x: Any, n: int) -> Any:
    return _norms._by_rows(x, n), _by_row(n), lambda rows: x.reshape(-1, n)[rows].astype(np.float64)


def _by_channels(x: Any) -> Any:
    length = math.prod(x.shape[2:])
    if length == 1:
        raise Slow  # the elements of a block are not neighbours
    channels = x.shape[1]
    planes = x.reshape(x.shape[0], channels, length)

    def split(places: Any) -> Any:
        plane, inside = np.divmod(places, length)
        return plane % channels, plane // channels * length + inside

    def rows(chosen: Any) -> Any:
        return planes[:, chosen].transpose(1, 0, 2).reshape(len(chosen), -1).astype(np.float64)

    return _norms._by_channels(x), split, rows


def _number(v: float) -> Any:
    return _rows._number(v)


def _norm(
    at: Any, x: Any, w: Any, b: Any, eps: float, group: Any, shape: Any, factor: Callable[[Any, float, Any], Any]
) -> Any:
    """Results, means and roots; factor gives the weights of some rows for the formula."""
    sets, split, rows = group(x)
    a = sets.of(x)
    count, n = math.prod(shape), x.size // math.prod(shape)
    made, statistics = np.empty_like(x), (np.empty(count, x.dtype), np.empty(count, x.dtype))
    of = [*_balls(x.size), *(_scratch(name, count) for name in ("mean", "mean_radius", "root", "root_radius"))]
    weights = sets.weights(w, a), sets.weights(b, a)
    asked, left = _ask(at, made, *of)
    with _core.Environment():
        left_over = _core.normalize(
            "found", NAMES[x.dtype], True, a, None, *weights, *statistics, eps, sets.of(made), None, asked
        )
    e, size = _number(eps), _number(float(n))
    found = [
        _settle(
            at,
            made,
            of[:2],
            split,
            _rows._normalised,
            lambda r: (rows(r), factor(w, 1.0, r), factor(b, 0.0, r), e, size),
            left=_some(left, left_over),
        )
    ]
    each = lambda places: (places, np.zeros_like(places))  # noqa: E731
    at.next()
    found.append(_settle(at, np.empty(shape, x.dtype), of[2:4], each, _rows._set_mean, lambda r: (rows(r), size)))
    at.next()
    found.append(_settle(at, np.empty(shape, x.dtype), of[4:6], each, _rows._set_root, lambda r: (rows(r), e, size)))
    return found


def _of_x(at: Any, g: Any, x: Any, w: Any, eps: float, group: Any, factor: Callable[[Any, float, Any], Any]) -> Any:
    sets, split, rows = group(x)
    a, n = sets.of(x), x.size // math.prod(sets.of(x).shape[:2])
    made, balls = np.empty_like(x), _balls(x.size)
    others = group(g)[2]
    asked, left = _ask(at, made, *balls)
    with _core.Environment():
        count = _core.normalize(
            "input",
            NAMES[x.dtype],
            True,
            a,
            sets.of(g),
            sets.weights(w, a),
            None,
            None,
            None,
            eps,
            sets.of(made),
            None,
            asked,
        )

    def inputs(r: Any) -> Any:
        return others(r), rows(r), factor(w, 1.0, r), _number(eps), _number(float(n))

    return _settle(at, made, balls, split, _rows._of_normalised, inputs, left=_some(left, count))


def _of_weight(
    at: Any, g: Any, x: Any, shape: Any, eps: float, group: Any, formula: Any, inputs: Callable[[Any], Any]
) -> Any:
    sets = group(x)[0]
    made, balls = np.empty(shape, x.dtype), _balls(math.prod(shape))
    strides = tuple(s * x.dtype.itemsize for s in sets.strides)
    with _core.Environment():
        _core.normalize(
            "weight", NAMES[x.dtype], True, sets.of(x), sets.of(g), None, None, None, None, eps, made, strides, balls
        )
    each = lambda places: (places, np.zeros_like(places))  # noqa: E731
    return _settle(at, np.empty(shape, x.dtype), balls, each, formula, inputs)


def _plain_eps(eps: float) -> float:
    if not eps > 0:
        raise Slow
    return float(eps)


def _shared(w: Any, otherwise: float, rows: Any) -> Any:
    """The weights of a row are those of each row."""
    return np.full((1, 1), otherwise) if w is None else w.reshape(1, -1).astype(np.float64)


def _own(w: Any, otherwise: float, rows: Any) -> Any:
    """Each row has one weight."""
    return np.full((1, 1), otherwise) if w is None else w[rows].reshape(-1, 1).astype(np.float64)


def layer_norm(at: Any, x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    size = math.prod(shape)
    if not x.numel():
        raise Slow
    a, w, b = _array(x, weight, bias)
    statistics = (*x.shape[: x.ndim - len(shape)], *(1 for _ in shape))
    made = _norm(at, a, w, b, _plain_eps(eps), lambda v: _by_rows(v, size), statistics, _shared)
    return made[0], made[1], _with_eps(made[2], eps)


def layer_norm_backward(at: Any, g: Any, x: Any, shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any, mask: Any) -> Any:
    size, eps = math.prod(shape), _plain_eps(_eps(rstd))
    if not x.numel():
        raise Slow
    h, a, w = _array(g, x, weight)
    group = lambda v: _by_rows(v, size)  # noqa: E731

    def of_weight() -> Any:
        flat, rows = h.reshape(-1, size), a.reshape(-1, size)
        if rows.shape[0] > 1 << 13:
            raise Slow

        def inputs(columns: Any) -> Any:
            every = rows.astype(np.float64)[None]
            of = flat[:, columns].T.astype(np.float64), rows[:, columns].T.astype(np.float64)
            return *of, every, _rows._number(eps, 3), _rows._number(float(size), 3)

        return _of_weight(at, h, a, tuple(shape), eps, group, _rows._of_weights, inputs)

    functions = (
        lambda: _of_x(at, h, a, w, eps, group, _shared),
        of_weight,
        lambda: at.total(h.reshape(-1, size), 0).reshape(tuple(shape)),
    )
    return at.each([True if m else None for m in mask], functions)


def batch_norm(
    at: Any, x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float
) -> Any:
    if not training or not x.numel() or x.ndim < 2:
        raise Slow
    a, w, b = _array(x, weight, bias)
    return tuple(_norm(at, a, w, b, _plain_eps(eps), _by_channels, (x.shape[1],), _own))


def _channel_sum(g: Any, x: Any, e: Any, n: Any) -> Any:
    _, d, variance = _rows._centred(x, e, n)
    return g.dot(d) / variance.sqrt()


def batch_norm_backward(
    at: Any,
    g: Any,
    x: Any,
    weight: Any,
    mean: Any,
    var: Any,
    save_mean: Any,
    save_root: Any,
    train: bool,
    eps: float,
    mask: Any,
) -> Any:
    if not train or not x.numel() or x.ndim < 2:
        raise Slow
    eps = _plain_eps(eps)
    h, a, w = _array(g, x, weight)
    _, _, rows = _by_channels(a)
    others = _by_channels(h)[2]
    n = float(a.size // a.shape[1])

    def of_weight() -> Any:
        def inputs(chosen: Any) -> Any:
            return others(chosen), rows(chosen), _number(eps), _number(n)

        return _of_weight(at, h, a, (a.shape[1],), eps, _by_channels, _channel_sum, inputs)

    functions = (
        lambda: _of_x(at, h, a, w, eps, _by_channels, _own),
        of_weight,
        lambda: at.total(h.swapaxes(0, 1).reshape(a.shape[1], -1), 1),
    )
    return at.each([True if m else None for m in mask], functions)


def group_norm(at: Any, x: Any, weight: Any, bias: Any, n: int, c: int, inner: int, group: int, eps: float) -> Any:
    if not x.numel():
        raise Slow
    a, w, b = _array(x, weight, bias)
    shaped = a.reshape(n, c, inner)
    size = c // group * inner

    def groups(v: Any) -> Any:
        return _norms._by_groups(v, group), _by_row(size), lambda rows: v.reshape(-1, size)[rows].astype(np.float64)

    def factor(v: Any, otherwise: float, rows: Any) -> Any:
        each = np.full((1, 1), otherwise) if v is None else np.repeat(v, inner).reshape(group, -1)[rows % group]
        return each.astype(np.float64)

    made = _norm(at, shaped, w, b, _plain_eps(eps), groups, (n, group), factor)
    return made[0].reshape(x.shape), made[1], _with_eps(made[2], eps)


def rms_norm(at: Any, x: Any, shape: Any, weight: Any, eps: float) -> Any:
    size, eps = math.prod(shape), _plain_eps(eps)
    if not x.numel():
        raise Slow
    a, w = _array(x, weight)
    sets, split, rows = _by_rows(a, size)
    made, balls, as_sets = np.empty_like(a), _balls(a.size), sets.of(a)
    weights = sets.weights(w, as_sets)
    asked, left = _ask(at, made, *balls)
    with _core.Environment():
        count = _core.normalize(
            "forward", NAMES[a.dtype], False, as_sets, None, weights, None, None, None, eps, sets.of(made), None, asked
        )

    def inputs(chosen: Any) -> Any:
        return rows(chosen), _shared(w, 1.0, chosen), _number(eps), _number(float(size))

    return _settle(at, made, balls, split, _rows._by_squares, inputs, left=_some(left, count))


# --- cross entropy


def _classes(what: str, x: Any, target: Any, weight: Any, ignore: int, reduction: str, smoothing: float) -> Any:
    """The balls of a softmax, (rows, classes); and classes, which rows count, and what the losses are divided by."""
    if weight is not None or smoothing or target.is_floating_point() or x.ndim != 2 or not x.numel() or reduction == "none":
        raise Slow
    (a,) = _array(x)
    t = np.asarray(as_array(target)).reshape(-1)
    counts = t != ignore
    if not counts.any():
        raise Slow
    balls = _balls(a.size)
    with _core.Environment():
        _core.softmax(what, NAMES[a.dtype], a, None, np.empty_like(a), balls)
    number = float(counts.sum()) if reduction == "mean" else 1.0
    return [v.reshape(a.shape) for v in balls], np.where(counts, t, 0), counts, number


def cross_entropy(at: Any, x: Any, target: Any, weight: Any, ignore: int, reduction: str, smoothing: float) -> Any:
    (middle, radius), t, counts, number = _classes("log_softmax", x, target, weight, ignore, reduction, smoothing)
    places = np.flatnonzero(counts), t[counts]
    if at.words["mode"] != "stochastic" and ((middle[places] == 0) & (radius[places] == 0)).any():
        raise Slow
    with np.errstate(all="ignore"):
        loss = Balls(-middle[places], radius[places]).total() / number
    return _settle(at, np.empty((), as_array(x).dtype), (loss.middle, loss.radius), _undecided, None, _undecided)


def _undecided(places: Any) -> Any:
    raise Slow


def cross_entropy_backward(
    at: Any, g: Any, x: Any, target: Any, weight: Any, ignore: int, reduction: str, smoothing: float
) -> Any:
    """share g/n, and for the class of a row the other shares -g/n, whose sum in binary64 is off by less than 2^-46 of itself for up to 2^20 classes; the
    shares that count as 0 there are below 2^-225 together. Two more operations round by less than 2^-51 together."""
    if g.numel() != 1 or g.dtype is not x.dtype or x.shape[-1] > 1 << 20:
        raise Slow
    (middle, radius), t, counts, number = _classes("softmax", x, target, weight, ignore, reduction, smoothing)
    h = float(as_array(g).reshape(-1)[0])
    slope, every = h / number, np.arange(t.size)
    if not 2.0**-500 < slope < 2.0**500:
        raise Slow
    middle[every, t] = radius[every, t] = 0.0
    others, spread = middle.sum(-1), radius.sum(-1)
    middle[every, t] = -others
    radius[every, t] = (spread + others * 2.0**-46) * (1 + 2.0**-40) + 2.0**-225
    middle *= slope
    radius *= slope
    radius += np.abs(middle) * 2.0**-51
    radius *= 1 + 2.0**-48
    middle[~counts] = radius[~counts] = 0.0
    a = as_array(x)

    def inputs(rows: Any) -> Any:
        v, one, factor = a[rows].astype(np.float64), np.zeros((rows.size, a.shape[1])), np.full((rows.size, 1), h)
        one[np.arange(rows.size), t[rows]] = 1.0
        return v, v.max(-1, keepdims=True), one, factor * counts[rows, None], _number(number)

    balls = middle.reshape(-1), radius.reshape(-1)
    return _settle(
        at, np.empty(x.shape, a.dtype), balls, _by_row(a.shape[1]), _rows._of_cross_entropy, inputs, lambda: ~counts[:, None]
    )


HANDLERS: dict[str, Callable[..., Any]] = {
    **{
        name: _softmax("softmax", _rows._shares)
        for name in ("_softmax.default", "_safe_softmax.default", "repmath::softmax.default")
    },
    **{name: _softmax("log_softmax", _rows._logs) for name in ("_log_softmax.default", "repmath::log_softmax.default")},
    **{
        name: _softmax_backward("softmax_backward", _rows._of_softmax)
        for name in ("_softmax_backward_data.default", "repmath::softmax_backward.default")
    },
    **{
        name: _softmax_backward("log_softmax_backward", _rows._of_log_softmax)
        for name in ("_log_softmax_backward_data.default", "repmath::log_softmax_backward.default")
    },
    "native_layer_norm.default": layer_norm,
    "native_layer_norm_backward.default": layer_norm_backward,
    "native_group_norm.default": group_norm,
    "repmath::rms_norm.default": rms_norm,
    "repmath::cross_entropy.default": cross_entropy,
    "repmath::cross_entropy_backward.default": cross_entropy_backward,
    "native_batch_norm.default": batch_norm,
    "_native_batch_norm_legit.default": batch_norm,
    "native_batch_norm_backward.default": batch_norm_backward,
}
# These write running statistics, to nearest, beside their results.
WRITES = {"native_batch_norm.default", "_native_batch_norm_legit.default"}

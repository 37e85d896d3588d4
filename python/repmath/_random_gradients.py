"""Gradients of norms, convolutions and pools, and what is rational, of NumPy arrays under the modes "stochastic" and "random": as `_random_functions`. Of several results each is
an array of its own, the r-th with the words from element r * 2^40 on."""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from . import (
    _convolution,
    _orthogonal,
    _random_convolution,
    _random_layers,
    _random_matrices,
    _random_modes,
    _scatter,
    array_api,
    fft,
    linalg,
    nn,
)
from ._random_balls import over_roots
from ._random_functions import At, _checked, _finite, _number, _wide, parts
from ._random_layers import of_finite
from ._random_matrices import Rounder, all_rounded, exactly
from .nn import _pooling

_Array = np.ndarray[Any, Any]
Made = Callable[[At, Any, dict[str, Any]], Any]

# --- norms


def _centred(x: Any, eps: Any, n: Any) -> tuple[Any, Any]:
    d = x - x.total() / n
    return d, d.dot(d) / n + eps


def _squares(x: Any, eps: Any, n: Any) -> tuple[Any, Any]:
    return x, (x * x).total() / n + eps


def _of_input(sets: Callable[..., Any], means: bool) -> Callable[..., Any]:
    """Of rows."""

    def formula(g: Any, x: Any, w: Any, eps: Any, n: Any) -> Any:
        d, variance = sets(x, eps, n)
        h = g * w
        rest = h - d * (h.dot(d) / (variance * n))
        return (rest - h.total() / n if means else rest) / variance.sqrt()

    return formula


def _of_weight(squares: bool) -> Callable[..., Any]:
    """Of rows of gradients and elements of a weight, (W, S); the sets are x, (1 or W, S, n)."""

    def formula(g: Any, d: Any, x: Any, eps: Any, n: Any) -> Any:
        variance = (_squares if squares else _centred)(x, eps, n)[1]
        d = d if squares else d - (x.total() / n).at((..., 0))
        return over_roots(g * d, variance.at((..., 0)))

    return formula


class _Norm:
    """Sets of numbers in rows, with their gradients and a factor of each element."""

    def __init__(
        self, call: dict[str, Any], rows: Callable[[Any], Any], back: Callable[[Any], Any], w: Any, eps: float
    ) -> None:
        x, g = (_wide(call[n]) for n in ("input", "grad_output"))
        self.x, self.g, self.back, self.w, self.eps = rows(x), rows(g), back, w, eps
        self.bad = ~(np.isfinite(self.x) & np.isfinite(self.g)).all(-1, keepdims=True)

    def input(self, at: At, nearest: _Array, squares: bool) -> _Array:
        skip = self.back(np.broadcast_to(self.bad | ~np.isfinite(self.w), self.x.shape)) | np.isnan(nearest)
        x, g = (np.where(self.bad, 0.0, v) for v in (self.x, self.g))
        formula = _of_input(_squares if squares else _centred, not squares)
        n = float(self.x.shape[1])
        return at.formula(nearest, skip, formula, g, x, _finite(self.w), _number(self.eps), _number(n), place=self.back)

    def weight(self, at: At, nearest: _Array, columns: Callable[[Any], Any], sets: Any, squares: bool) -> _Array:
        """columns brings rows to (W, S); `sets` is the set of each of these."""
        x, g = (np.where(self.bad, 0.0, v) for v in (self.x, self.g))  # what they reach is NaN
        every, n = x[sets], float(self.x.shape[1])
        values = columns(g), columns(x), every, _number(self.eps, 3), _number(n, 3)
        return at.formula(
            nearest,
            np.isnan(nearest),
            _of_weight(squares),
            *values,
            place=lambda r: r[:, 0].reshape(nearest.shape),
        )


def _bias(at: At, nearest: _Array, call: dict[str, Any], columns: Callable[[Any], Any]) -> _Array:
    terms = columns(np.asarray(call["grad_output"], nearest.dtype))
    return at.matmul(terms, np.ones((terms.shape[1], 1), terms.dtype), nearest.dtype).reshape(nearest.shape)


def _by_last_axes(squares: bool) -> Made:
    def made(at: At, nearest: Any, call: dict[str, Any]) -> Any:
        shape = call["normalized_shape"]
        size = math.prod(shape) if isinstance(shape, (tuple, list)) else int(shape)
        eps = nn._normalization._rms_eps(call["eps"], nearest[0]) if squares else float(call["eps"])
        w = np.ones((1, size)) if call["weight"] is None else _wide(call["weight"]).reshape(1, size)
        norm = _Norm(call, lambda v: v.reshape(-1, size), lambda r: np.ascontiguousarray(r).reshape(nearest[0].shape), w, eps)
        sets = np.arange(len(norm.x))[None]
        return parts(
            at,
            nearest,
            lambda at, near: norm.input(at, near, squares),
            lambda at, near: norm.weight(at, near, lambda rows: rows.T, sets, squares),
            lambda at, near: _bias(at, near, call, lambda v: v.reshape(-1, size).T),
        )

    return made


def _by_groups(at: At, nearest: Any, call: dict[str, Any]) -> Any:
    x = np.asarray(call["input"])
    n, c = x.shape[:2]
    inner = math.prod(x.shape[2:])
    groups = int(call["num_groups"]) if "num_groups" in call else c
    w = np.ones(c) if call["weight"] is None else _wide(call["weight"])
    rows = np.tile(np.repeat(w, inner).reshape(groups, -1), (n, 1))
    norm = _Norm(
        call,
        lambda v: v.reshape(n * groups, -1),
        lambda r: np.ascontiguousarray(r).reshape(x.shape),
        rows,
        float(call["eps"]),
    )

    def by_channel(v: Any) -> Any:
        return np.moveaxis(v.reshape(n, c, inner), 1, 0).reshape(c, -1)

    sets = np.repeat((np.arange(c) // (c // groups))[:, None] + groups * np.arange(n), inner, axis=1)
    return parts(
        at,
        nearest,
        lambda at, near: norm.input(at, near, False),
        lambda at, near: norm.weight(at, near, by_channel, sets, False),
        lambda at, near: _bias(at, near, call, by_channel),
    )


def _by_running(at: At, nearest: Any, norm: _Norm, call: dict[str, Any], rows: Callable[[Any], Any]) -> Any:
    """Of batch norm by running statistics."""
    mean, var = (_wide(call[n]).reshape(-1, 1) for n in ("running_mean", "running_var"))
    good = np.isfinite(mean) & np.isfinite(var) & (var + norm.eps > 0)
    var, eps = np.where(good, var, 1.0), _number(max(norm.eps, 0.0) if norm.eps >= 0 else norm.eps)

    def of_input(at: At, near: _Array) -> _Array:
        bad = ~(good & np.isfinite(norm.g) & np.isfinite(norm.w))
        values = np.where(bad, 0.0, norm.g), np.where(good, norm.w, 0.0), var, eps
        return at.formula(near, norm.back(bad), lambda g, w, v, e: g * w / (v + e).sqrt(), *values, place=norm.back)

    def of_weight(at: At, near: _Array) -> _Array:
        bad = norm.bad | ~good
        values = (np.where(bad, 0.0, v) for v in (norm.g, norm.x))

        def formula(g: Any, x: Any, m: Any, v: Any, e: Any) -> Any:
            return g.dot(x - m) / (v + e).sqrt()

        m = np.where(good, mean, 0.0)
        return at.formula(near, bad[:, 0] | ~np.isfinite(near), formula, *values, m, var, eps, place=lambda r: r.reshape(-1))

    return parts(at, nearest, of_input, of_weight, lambda at, near: _bias(at, near, call, rows))


def _by_channels(at: At, nearest: Any, call: dict[str, Any]) -> Any:
    x = np.asarray(call["input"])
    moved = np.moveaxis(x, 1, 0).shape
    c = x.shape[1]

    def rows(v: Any) -> Any:
        return np.moveaxis(v, 1, 0).reshape(c, -1)

    w = np.ones((c, 1)) if call["weight"] is None else _wide(call["weight"]).reshape(c, 1)
    norm = _Norm(call, rows, lambda r: np.ascontiguousarray(np.moveaxis(r.reshape(moved), 0, 1)), w, float(call["eps"]))
    if not call["training"]:
        return _by_running(at, nearest, norm, call, rows)

    def of_weight(at: At, near: _Array) -> _Array:
        """Each has one set."""
        values = (np.where(norm.bad, 0.0, v) for v in (norm.g, norm.x))

        def formula(g: Any, x: Any, eps: Any, n: Any) -> Any:
            d, variance = _centred(x, eps, n)
            return g.dot(d) / variance.sqrt()

        n = float(norm.x.shape[1])
        return at.formula(
            near,
            norm.bad[:, 0] | np.isnan(near),
            formula,
            *values,
            _number(norm.eps),
            _number(n),
            place=lambda r: r.reshape(-1),
        )

    return parts(
        at, nearest, lambda at, near: norm.input(at, near, False), of_weight, lambda at, near: _bias(at, near, call, rows)
    )


# --- convolutions


def _geometry(call: dict[str, Any], x_shape: Any, w_shape: Any) -> Any:
    return _convolution._Geometry(
        int(call["dims"]), tuple(x_shape), tuple(w_shape), call["stride"], call["padding"], call["dilation"], call["groups"]
    )


def _of_conv_input(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    last, shape = bool(call["channels_last"]), tuple(call["shape"])
    w, g = call["w"], _convolution._channels_second(call["g"], last)
    s = _geometry(call, (shape[0], shape[-1], *shape[1:-1]) if last else shape, w.shape)
    product = _random_layers._products(at, nearest.dtype)
    made = _random_convolution.grad_input(product, g, w, s.x_shape, s.stride, s.low, s.dilation, s.groups, None, last)
    return np.asarray(made)


def _of_conv_weight(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    x, g = (_convolution._channels_second(call[n], call["channels_last"]) for n in ("x", "g"))
    s = _geometry(call, x.shape, call["shape"])
    padded = _random_convolution._padded(x, s.low, s.high)
    product = _random_layers._products(at, nearest.dtype)
    none = (0,) * len(s.low)
    return np.asarray(_random_convolution.grad_weight(product, g, padded, s.w_shape, s.stride, none, s.dilation, s.groups))


def _conv_transpose(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    last, dims = bool(call["channels_last"]), int(call["dims"])
    x, w = call["x"], call["w"]
    bias = None if call["bias"] is None else _checked(call["bias"])[0]
    x = _convolution._channels_second(x if x.ndim == dims + 2 else x[None], last)
    stride, dilation = (_convolution._each(n, call[n], dims, 1) for n in ("stride", "dilation"))
    padding = _convolution._each("padding", call["padding"], dims, 0)
    groups, shape = int(call["groups"]), nearest.shape if nearest.ndim == dims + 2 else (1, *nearest.shape)
    shape = (shape[0], shape[-1], *shape[1:-1]) if last else shape
    made = _random_convolution.grad_input(
        _random_layers._products(at, nearest.dtype), x, w, shape, stride, padding, dilation, groups, bias, last
    )
    return np.asarray(made).reshape(nearest.shape)


# --- pools


def _pool_gradient(
    windows: Callable[[dict[str, Any], Any], tuple[Any, Callable[[int, int], tuple[int, int, int]], int]],
) -> Made:
    """Of average pools: windows gives the sizes of a plane, start, end and counted length of a window along an axis, and the divisor, if one is given."""

    def made(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
        dims = int(call["dims"])
        g = _wide(call["grad_output"])
        out, sizes = g.shape[-dims:], nearest.shape[-dims:]
        w, window, divisor = windows(call, nearest.shape)
        lines = g.reshape(-1, *out)
        meet: list[list[list[int]]] = []  # of each place along an axis: the windows that hold it
        for d in range(dims):
            ends = [window(d, k) for k in range(out[d])]
            meet.append([[k for k, (a, b, _) in enumerate(ends) if a <= i < b] for i in range(sizes[d])])

        def value(place: int) -> Fraction:
            plane, *where = np.unravel_index(place, (len(lines), *sizes))
            total = Fraction(0)
            for at_ in np.ndindex(*(len(meet[d][i]) for d, i in enumerate(where))):
                k = [meet[d][int(i)][j] for d, (i, j) in enumerate(zip(where, at_, strict=True))]
                n = divisor or math.prod(window(d, v)[2] for d, v in enumerate(k))
                index: Any = (int(plane), *k)
                total += Fraction(float(lines[index])) / n
            return total

        options = {k: v for k, v in call.items() if k not in ("function", "old", "grad_output")}
        return at.rational(nearest, value, np.asarray(call["function"](grad_output=g, **options)))

    return made


def _adaptive(call: dict[str, Any], shape: Any) -> Any:
    dims = int(call["dims"])
    out = np.shape(call["grad_output"])[-dims:]
    sizes = shape[-dims:]

    def window(d: int, k: int) -> tuple[int, int, int]:
        start, end = k * sizes[d] // out[d], -(-(k + 1) * sizes[d] // out[d])
        return start, end, end - start

    return None, window, 0


def _sums_at(at: At, nearest: _Array, terms: _Array, places: _Array, wide: Any) -> _Array:
    """Elements are sums of the terms at their places; those below 0 have none."""
    terms, places = terms.reshape(-1), places.reshape(-1)
    order = np.argsort(places, kind="stable")
    ends = np.searchsorted(places[order], np.arange(nearest.size + 1))

    def value(i: int) -> Fraction:
        return sum(map(Fraction, terms[order[ends[i] : ends[i + 1]]].tolist()), Fraction(0))

    return at.rational(nearest, value, np.asarray(wide))


def _max_pool_backward(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    dims = int(call["dims"])
    g, index = _wide(call["grad_output"]), np.asarray(call["indices"]).astype(np.int64)
    plane = math.prod(nearest.shape[-dims:])
    lines = index.reshape(-1, math.prod(index.shape[-dims:]))
    places = np.where(lines >= 0, lines + plane * np.arange(len(lines))[:, None], -1)
    wide = call["function"](dims, g, call["input_size"], index)
    return _sums_at(at, nearest, g, places, wide)


def _embedding_grad(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    g, index = _wide(call["g"]), np.asarray(call["index"]).astype(np.int64).reshape(-1)
    options = [call[n] for n in ("index", "num_embeddings", "padding_idx")]
    wide = _scatter.embedding_grad(g, *options)
    skip = index == (-1 if call["padding_idx"] is None else int(call["padding_idx"]) % max(nearest.shape[0], 1))
    width = nearest.shape[1]
    places = np.where(skip[:, None], -1, index[:, None] * width + np.arange(width))
    return _sums_at(at, nearest, g, places, wide)


# --- what is rational


def _frequencies(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    n, d = operator.index(call["n"]), Fraction(float(call["d"]))
    half = nearest.size == n // 2 + 1 and "rfftfreq" in call["function"].__name__

    def value(i: int) -> Fraction:
        return Fraction(i if half or i < (n + 1) // 2 else i - n) / (n * d)

    return at.rational(nearest, value, np.asarray(call["function"](n, call["d"], dtype=np.float64)))


def _linspace(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    start, stop = Fraction(call["start"]), Fraction(call["stop"])
    steps = max(int(call["num"]) - bool(call["endpoint"]), 1)
    wide = call["function"](call["start"], call["stop"], call["num"], endpoint=call["endpoint"])
    return at.rational(nearest, lambda i: start + i * (stop - start) / steps, np.asarray(wide))


def _divided(rest: bool) -> Made:
    """The whole part of a quotient, or what it leaves."""

    def made(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
        wide = [np.broadcast_to(_wide(call[n]), nearest.shape) for n in ("x1", "x2")]
        x, y = (v.reshape(-1) for v in wide)

        def value(i: int) -> Fraction:
            a, b = Fraction(float(x[i])), Fraction(float(y[i]))
            if not b:
                raise ValueError
            return a - b * (a // b) if rest else Fraction(a // b)

        return at.rational(nearest, value, np.asarray(call["function"](*wide)))

    return made


def _cross(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    axis = int(call["axis"])
    a, b = np.broadcast_arrays(*(np.moveaxis(v, axis, -1) for v in _checked(call["x1"], call["x2"])))
    after, before = [1, 2, 0], [2, 0, 1]
    rows, columns = (
        np.ascontiguousarray(np.moveaxis(np.stack(pair, -1), -2, axis if axis >= 0 else axis - 1))
        for pair in ((a[..., after], -a[..., before]), (b[..., before], b[..., after]))
    )
    made = at.matmul(rows.reshape(-1, 1, 2), columns.reshape(-1, 2, 1), nearest.dtype)
    return made.reshape(nearest.shape)


def _matrix_power(rounder: Rounder, made: _Array, call: dict[str, Any]) -> _Array:
    """The inverse, if it is asked for, and the products in their order."""
    (x,) = _random_layers._matrices(call["a"])
    n = operator.index(call["n"])
    if n < 0:
        x, n = _random_layers._inv(rounder, np.asarray(linalg.inv(x)), {"a": x}), -n
    found: Any = None

    def product(a: Any, b: Any) -> Any:
        at = _random_modes.part(rounder.stream, rounder.arrays << _random_matrices.APART)
        rounder.arrays += 1
        return _random_modes.matmul(a, b, rounder.mode, seed=rounder.seed, stream=at)

    while n:
        if n & 1:
            found = x if found is None else product(found, x)
        n >>= 1
        x = product(x, x) if n else x
    return made if found is None else np.array(found)


def _lu_solve(rounder: Rounder, made: _Array, call: dict[str, Any]) -> _Array:
    """Two triangular systems, one after the other."""
    lu, b = _random_layers._matrices(call["lu_and_piv"][0], call["b"])
    vector = b.ndim == 1
    pairs, size = _random_layers._pairs(lu, b)
    n = lu.shape[-1]
    batch = np.broadcast_shapes(lu.shape[:-2], (b[..., None] if vector else b).shape[:-2])
    orders = []
    for line in np.broadcast_to(np.asarray(call["lu_and_piv"][1]), (*batch, n)).reshape(-1, n).tolist():
        order = list(range(n))
        for i, j in enumerate(line):
            order[i], order[j] = order[j], order[i]
        orders.append(order)
    turned = bool(call["trans"])
    steps = ((True, False), (False, True)) if turned else ((True, True), (False, False))
    found = [exactly(q) for _, q in pairs]
    if not turned:
        found = [[q[i] for i in order] for q, order in zip(found, orders, strict=True)]
    for step, (lower, unit) in enumerate(steps):
        rounder.next(made.size)
        for k, (m, _) in enumerate(pairs):
            matrix = exactly(m.T if turned else m)
            x = _random_matrices.triangular(matrix, found[k], lower, unit)
            if turned and step:
                placed = list(x)
                for i, row in zip(orders[k], x, strict=True):
                    placed[i] = row
                x = placed
            found[k] = all_rounded(rounder, x, k * size)
    return _random_layers._delivered(found, made)


FUNCTIONS: dict[str, tuple[Any, Made]] = {
    "layer_norm_backward": (nn.layer_norm_backward, _by_last_axes(False)),
    "rms_norm_backward": (nn.rms_norm_backward, _by_last_axes(True)),
    "group_norm_backward": (nn.group_norm_backward, _by_groups),
    "instance_norm_backward": (nn.instance_norm_backward, _by_groups),
    "batch_norm_backward": (nn.batch_norm_backward, _by_channels),
    "_grad_input": (_convolution._grad_input, of_finite(_of_conv_input, "w", "g")),
    "_grad_weight": (_convolution._grad_weight, of_finite(_of_conv_weight, "x", "g")),
    "_conv_transpose": (_convolution._conv_transpose, of_finite(_conv_transpose, "x", "w")),
    "_avg_pool_backward": (_pooling._avg_pool_backward, _pool_gradient(_random_layers.averaged)),
    "_adaptive_avg_pool_backward": (_pooling._adaptive_avg_pool_backward, _pool_gradient(_adaptive)),
    "_max_pool_backward": (_pooling._max_pool_backward, _max_pool_backward),
    "embedding_grad": (_scatter.embedding_grad, _embedding_grad),
    "fftfreq": (fft.fftfreq, _frequencies),
    "rfftfreq": (fft.rfftfreq, _frequencies),
    "linspace": (array_api.linspace, _linspace),
    "floor_divide": (array_api.floor_divide, _divided(False)),
    "remainder": (array_api.remainder, _divided(True)),
    "cross": (_orthogonal.cross, _cross),
}
MATRICES: dict[str, tuple[Any, Callable[[Rounder, Any, dict[str, Any]], Any]]] = {
    "matrix_power": (linalg.matrix_power, _matrix_power),
    "lu_solve": (linalg.lu_solve, _lu_solve),
}

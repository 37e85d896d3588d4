"""Convolutions, pools, batch norm, more losses, their gradients and linear algebra of NumPy arrays under the modes "stochastic" and "random": as `_random_functions`."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from . import _convolution, _orthogonal, _random_convolution, _random_matrices, _random_modes, linalg, nn
from ._matrices import operands
from ._random_functions import At, _checked, _finite, _number, _weight, _wide, with_statistics
from ._random_matrices import Rounder, all_rounded, exactly, stacked, turned
from .nn import _pooling

_Array = np.ndarray[Any, Any]

# --- convolutions


def _products(at: At, dtype: Any) -> Callable[..., Any]:
    def product(a: Any, b: Any, bias: Any) -> Any:
        return _random_modes.matmul(a, b, at.mode, bias=bias, dtype=dtype, seed=at.seed, stream=at.stream)

    return product


def of_finite(
    build: Callable[[At, _Array, dict[str, Any]], _Array], first: str, second: str
) -> Callable[[At, _Array, dict[str, Any]], _Array]:
    """Padding must not meet infinities and NaN: what they reach is as to nearest."""

    def made(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
        call = call | dict(zip((first, second), _checked(call[first], call[second]), strict=True))
        bad = {n: ~np.isfinite(call[n]) for n in (first, second)}
        if not any(v.any() for v in bad.values()):
            return build(at, nearest, call)
        found = build(at, nearest, call | {n: np.where(v, v.dtype.type(0), call[n]) for n, v in bad.items()})
        options = {k: v for k, v in call.items() if k not in ("function", "old")} | {
            n: None for n in ("bias", "out") if n in call
        }
        reached = np.zeros(nearest.shape, bool)
        for n, v in bad.items():
            both = {k: v if k == n else np.ones(v.shape) for k, v in bad.items()}
            reached |= np.asarray(call["function"](**options | {k: v.astype(np.float64) for k, v in both.items()})) != 0
        return np.where(reached, nearest, found)

    return made


def _conv(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    last, dims = bool(call["channels_last"]), int(call["dims"])
    x, w = call["x"], call["w"]
    bias = None if call["bias"] is None else _checked(call["bias"])[0]
    x = _convolution._channels_second(x if x.ndim == dims + 2 else x[None], last)
    g = _convolution._Geometry(dims, x.shape, w.shape, call["stride"], call["padding"], call["dilation"], call["groups"])
    low = g.low
    if g.low != g.high:
        x, low = _random_convolution._padded(x, g.low, g.high), (0,) * dims
    made = _random_convolution.forward(_products(at, nearest.dtype), x, w, bias, g.stride, low, g.dilation, g.groups, last)
    return np.asarray(made).reshape(nearest.shape)


# --- pools


def _averages(
    call: dict[str, Any], sizes: Any, out: Any, windows: Callable[[int, int], tuple[int, int, int]], divisor: int
) -> Any:
    """The value at a place: windows gives start, end and counted length of a window along an axis."""
    dims = len(sizes)
    x = _wide(call["input"]).reshape(-1, *sizes)

    def value(place: int) -> Fraction:
        plane, *at = np.unravel_index(place, (len(x), *out))
        each = [windows(d, int(k)) for d, k in enumerate(at)]
        index: Any = (int(plane), *(slice(a, b) for a, b, _ in each))
        part = x[index]
        n = divisor or math.prod(each[d][2] for d in range(dims))
        return sum(map(Fraction, part.reshape(-1).tolist()), Fraction(0)) / n

    return value


def averaged(call: dict[str, Any], shape: Any) -> Any:
    """Of an average pool: its windows, where one begins and ends along an axis and what it counts, and the divisor, if one is given."""
    dims = int(call["dims"])
    size, steps, pads = (call[n] for n in ("kernel_size", "stride", "padding"))
    w = _pooling.Windows(dims, (1, 1, *shape[-dims:]), size, steps, pads, 1, call["ceil_mode"])
    kernel, steps, _, pads = w.windows

    def window(d: int, k: int) -> tuple[int, int, int]:
        start = k * steps[d] - pads[d]
        end = min(start + kernel[d], w.size[d] + pads[d])
        inside = max(start, 0), min(end, w.size[d])
        return *inside, end - start if call["count_include_pad"] else inside[1] - inside[0]

    return w, window, _pooling._divisor(call["divisor_override"])


def _avg_pool(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    w, window, divisor = averaged(call, np.shape(call["input"]))
    dims, value = int(call["dims"]), _averages(call, w.size, w.out, window, divisor)
    options = [call[n] for n in ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")]
    return at.rational(nearest, value, np.asarray(call["function"](dims, _wide(call["input"]), *options)))


def _adaptive_avg_pool(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
    dims = int(call["dims"])
    sizes, out = np.shape(call["input"])[-dims:], nearest.shape[-dims:]

    def window(d: int, k: int) -> tuple[int, int, int]:
        start, end = k * sizes[d] // out[d], -(-(k + 1) * sizes[d] // out[d])
        return start, end, end - start

    value = _averages(call, sizes, out, window, 0)
    return at.rational(nearest, value, np.asarray(call["function"](dims, _wide(call["input"]), call["output_size"])))


# --- norms and losses


def _batch_norm(at: At, nearest: Any, call: dict[str, Any]) -> Any:
    """Of the running statistics the mean is the next array of the call, the variance the one after it."""
    x, eps = _wide(call["input"]), float(call["eps"])
    moved = np.moveaxis(x, 1, 0)
    rows = moved.reshape(x.shape[1], -1)
    w, b = (_weight(call, n, (len(rows), 1)) for n in ("weight", "bias"))

    def back(r: Any) -> _Array:
        return np.ascontiguousarray(np.moveaxis(r.reshape(moved.shape), 0, 1))

    if call["training"]:
        made = with_statistics(at, nearest, rows, w, b, eps, back, False)
        _renew(at, len(made) if isinstance(made, tuple) else 1, call)
        return made
    mean, var = (_wide(call[n]).reshape(-1, 1) for n in ("running_mean", "running_var"))
    bad = ~np.isfinite(rows) | ~np.isfinite(mean + var + w + b) | ~(var + eps > 0)
    values = np.where(bad, 0.0, rows), _finite(mean), np.where(var + eps > 0, var, 1.0), _finite(w), _finite(b), _number(eps)

    def formula(x: Any, m: Any, v: Any, w: Any, b: Any, e: Any) -> Any:
        return (x - m) * w / (v + e).sqrt() + b

    return at.formula(nearest, back(bad), formula, *values, place=back)


def _renew(at: At, number: int, call: dict[str, Any]) -> None:
    """(1 - m) old + m new, in place of what rounding to nearest has written."""
    x, m = np.asarray(call["input"]), Fraction(float(call["momentum"]))
    for moment in ("mean", "var"):
        running, old = call[f"running_{moment}"], call["old"][f"running_{moment}"]
        if running is None or not x.size:
            continue
        good = np.flatnonzero(np.isfinite(x).all(axis=(0, *range(2, x.ndim))) & np.isfinite(old))
        news = nn._normalization._exact_news(x, good, moment)
        values = {c: (1 - m) * Fraction(float(old[c])) + m * v for c, v in zip(good.tolist(), news, strict=True)}
        wide = np.array([float(values.get(c, 0)) for c in range(old.size)])
        own = At(at.mode, at.seed, _random_modes.part(at.stream, number * _random_modes.APART))

        def value(c: int, values: dict[int, Fraction] = values) -> Fraction:
            return values.get(c, Fraction(0))

        running[...] = own.rational(np.array(running), value, wide)
        number += 1


def _loss_gradient(slope: Callable[[Fraction, Fraction], Fraction], limit: str = "") -> Callable[..., _Array]:
    """g times the slope of a loss of pairs, over their number for the mean."""

    def made(at: At, nearest: _Array, call: dict[str, Any]) -> _Array:
        wide = {n: _wide(call[n]) for n in ("grad_output", "input", "target")}
        g, x, y = (np.broadcast_to(wide[n], nearest.shape).reshape(-1) for n in ("grad_output", "input", "target"))
        size = Fraction(float(call[limit])) if limit else Fraction(1)
        n = x.size if call["reduction"] == "mean" else 1

        def value(i: int) -> Fraction:
            return Fraction(float(g[i])) * slope(Fraction(float(x[i])) - Fraction(float(y[i])), size) / n

        options = {limit: call[limit]} if limit else {}
        return at.rational(
            nearest, value, np.asarray(call["function"](*wide.values(), reduction=call["reduction"], **options))
        )

    return made


def _sign(d: Fraction) -> Fraction:
    return Fraction((d > 0) - (d < 0))


# --- linear algebra: each is given the rounder of the call, what it returned to nearest and its arguments


def _matrices(*arrays: Any) -> list[_Array]:
    return operands(**{f"operand {i}": a for i, a in enumerate(arrays)})


def _delivered(rows: Any, like: Any) -> _Array:
    return np.array([[[float(v) for v in row] for row in m] for m in rows], np.float64).astype(like.dtype).reshape(like.shape)


def _pairs(x: _Array, b: _Array) -> tuple[list[tuple[_Array, _Array]], int]:
    b = b[..., None] if b.ndim == 1 else b
    batch = np.broadcast_shapes(x.shape[:-2], b.shape[:-2])
    stacks = (stacked(np.broadcast_to(v, (*batch, *v.shape[-2:]))) for v in (x, b))
    return list(zip(*stacks, strict=True)), b.shape[-2] * b.shape[-1]


def _systems(rounder: Rounder, made: _Array, x: _Array, b: _Array, solve: Callable[[Any, Any], Any]) -> _Array:
    pairs, size = _pairs(x, b)
    rounder.next(made.size)
    return _delivered([all_rounded(rounder, solve(exactly(m), exactly(r)), k * size) for k, (m, r) in enumerate(pairs)], made)


def _solve(rounder: Rounder, made: _Array, call: dict[str, Any]) -> _Array:
    x, b = _matrices(call["a"], call["b"])
    return _systems(rounder, made, x, b, _random_matrices.solve)


def _inv(rounder: Rounder, made: _Array, call: dict[str, Any]) -> _Array:
    (x,) = _matrices(call["a"])
    return _systems(rounder, made, x, np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape), _random_matrices.solve)


def _solve_triangular(rounder: Rounder, made: _Array, call: dict[str, Any]) -> _Array:
    x, b = _matrices(call["a"], call["b"])
    lower = bool(call["lower"])
    if call["trans"]:
        x, lower = np.swapaxes(x, -1, -2), not lower
    x = np.tril(x) if lower else np.triu(x)
    return _systems(rounder, made, x, b, lambda m, r: _random_matrices.triangular(m, r, lower, bool(call["unit_diagonal"])))


def _det(rounder: Rounder, made: Any, call: dict[str, Any]) -> Any:
    (x,) = _matrices(call["a"])
    rounder.next(max(np.size(made), 1))
    values = [[[rounder(k, _random_matrices.determinant(exactly(m)))]] for k, m in enumerate(stacked(x))]
    return _delivered(values, np.asarray(made))[()]


def _slogdet(rounder: Rounder, made: Any, call: dict[str, Any]) -> Any:
    (x,) = _matrices(call["a"])
    rounder.next(max(np.size(made.logabsdet), 1))
    logs = np.array(made.logabsdet, order="C")
    for k, m in enumerate(stacked(x)):
        size = abs(_random_matrices.determinant(exactly(m)))
        if size:
            logs.reshape(-1)[k] = float(rounder.of(k, _random_matrices.logarithm(size)))
    return linalg.SlogdetResult(made.sign, logs[()])


def _cholesky(rounder: Rounder, made: _Array, call: dict[str, Any]) -> _Array:
    (x,) = _matrices(call["a"])
    upper, n = bool(call["upper"]), x.shape[-1]
    rounder.next(x.size)
    factors = []
    for k, m in enumerate(stacked(x)):
        factor = _random_matrices.cholesky(rounder, exactly(np.tril(m.T if upper else m)), k * n * n, upper)
        factors.append(turned(factor) if upper else factor)
    return _delivered(factors, made)


def _cho_factor(rounder: Rounder, made: Any, call: dict[str, Any]) -> Any:
    return _cholesky(rounder, made[0], {"a": call["a"], "upper": not call["lower"]}), made[1]


def _lu_factor(rounder: Rounder, made: Any, call: dict[str, Any]) -> Any:
    (x,) = _matrices(call["a"])
    rounder.next(x.size)
    size = x.shape[-1] * x.shape[-2]
    found = [_random_matrices.lu(rounder, exactly(m), k * size) for k, m in enumerate(stacked(x))]
    return _delivered([f for f, _ in found], made[0]), np.array([p for _, p in found], made[1].dtype).reshape(made[1].shape)


def _cho_solve(rounder: Rounder, made: _Array, call: dict[str, Any]) -> _Array:
    """Two triangular systems, one after the other."""
    factor, lower = call["c_and_lower"]
    c, b = _matrices(factor, call["b"])
    c = np.tril(c) if lower else np.tril(np.swapaxes(c, -1, -2))
    pairs, size = _pairs(c, b)
    between, found = [], []
    rounder.next(made.size)
    for k, (m, r) in enumerate(pairs):
        between.append(all_rounded(rounder, _random_matrices.triangular(exactly(m), exactly(r), True, False), k * size))
    rounder.next(made.size)
    for k, ((m, _), y) in enumerate(zip(pairs, between, strict=True)):
        found.append(all_rounded(rounder, _random_matrices.triangular(turned(exactly(m)), y, False, False), k * size))
    return _delivered(found, made)


FUNCTIONS: dict[str, tuple[Any, Callable[[At, _Array, dict[str, Any]], _Array]]] = {
    "_conv": (_convolution._conv, of_finite(_conv, "x", "w")),
    "_avg_pool": (_pooling._avg_pool, _avg_pool),
    "_adaptive_avg_pool": (_pooling._adaptive_avg_pool, _adaptive_avg_pool),
    "batch_norm": (nn.batch_norm, _batch_norm),
    "mse_loss_backward": (nn.mse_loss_backward, _loss_gradient(lambda d, size: 2 * d)),
    "l1_loss_backward": (nn.l1_loss_backward, _loss_gradient(lambda d, size: _sign(d))),
    "smooth_l1_loss_backward": (
        nn.smooth_l1_loss_backward,
        _loss_gradient(lambda d, size: d / size if abs(d) < size else _sign(d), "beta"),
    ),
    "huber_loss_backward": (nn.huber_loss_backward, _loss_gradient(lambda d, size: max(-size, min(d, size)), "delta")),
}
MATRICES: dict[str, tuple[Any, Callable[[Rounder, Any, dict[str, Any]], Any]]] = {
    "solve": (linalg.solve, _solve),
    "inv": (linalg.inv, _inv),
    "solve_triangular": (linalg.solve_triangular, _solve_triangular),
    "det": (linalg.det, _det),
    "slogdet": (linalg.slogdet, _slogdet),
    "cholesky": (linalg.cholesky, _cholesky),
    "cho_factor": (linalg.cho_factor, _cho_factor),
    "lu_factor": (linalg.lu_factor, _lu_factor),
    "cho_solve": (linalg.cho_solve, _cho_solve),
}
# Their steps are those of `_decompositions`.
DECOMPOSED: dict[str, Any] = {
    "qr": _orthogonal.qr,
    "eigh": _orthogonal.eigh,
    "eigvalsh": _orthogonal.eigvalsh,
    "svd": _orthogonal.svd,
    "svdvals": _orthogonal.svdvals,
    "spectral_norm": _orthogonal.spectral_norm,
    "pinv": _orthogonal.pinv,
    "matrix_rank": _orthogonal.matrix_rank,
}

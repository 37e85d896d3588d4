"""Sums, means and the softmax family: one axis of a stack, by one handler."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax.interpreters import ad

from ._elementwise import apply
from ._primitive import bind, by_function, by_handler, define, expand, expand_p, is_zero, size_of, zero_of
from ._types import together

# The kinds that the handler knows; arrays are (..., n, inner).
_SUM, _MEAN, _LOGSUMEXP, _SOFTMAX, _LOG_SOFTMAX, _SOFTMAX_BACKWARD, _LOG_SOFTMAX_BACKWARD, _QUOTIENT, _SUM_AROUND = range(9)


def _kind(kind: int) -> Any:
    return by_handler("along", lambda **params: {"kind": kind} | params)


# Axes on a mesh: a row is read as a whole.
_REDUCED: Any = lambda count, **params: (["ni"], ["i"])  # noqa: E731
_ROWS: Any = lambda count, **params: (["Ni"] * count, ["Ni"])  # noqa: E731


def _without_axis(x: Any) -> Any:
    return (*x.shape[:-2], x.shape[-1]), x.dtype


def _same(x: Any, *_: Any, **params: Any) -> Any:
    return x.shape, x.dtype


def _over(x: Any, like: Any) -> Any:
    """A number for each row, repeated along the axis."""
    return expand(x[..., None, :], like.shape)


def _linear(p: Any) -> Any:
    """The derivative of a linear primitive of one argument."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        y = bind(p(), *primals, **params)
        (t,) = tangents
        return y, zero_of(y) if is_zero(t) else bind(p(), t, **params)

    return jvp


sum_p: Any = define(
    "sum",
    _without_axis,
    _kind(_SUM),
    jvp=_linear(lambda: sum_p),
    transpose=lambda ct, x: [ad.Zero(x.aval) if is_zero(ct) else _over(ct, x.aval)],
    axes=_REDUCED,
)

# (..., before, places, after): sums over the first and the last of the three, such as those of a bias of channels.
sum_around_p: Any = define(
    "sum_around",
    lambda x: ((*x.shape[:-3], x.shape[-2]), x.dtype),
    _kind(_SUM_AROUND),
    jvp=_linear(lambda: sum_around_p),
    transpose=lambda ct, x: [ad.Zero(x.aval) if is_zero(ct) else expand(ct[..., None, :, None], x.aval.shape)],
    axes=lambda count: (["ano"], ["n"]),
)

# RN(x/divisor) for an integer that the format need not hold.
quotient_p: Any = define(
    "quotient",
    _same,
    _kind(_QUOTIENT),
    jvp=_linear(lambda: quotient_p),
    transpose=lambda ct, x, *, divisor: [ct if is_zero(ct) else bind(quotient_p, ct, divisor=divisor)],
    axes=lambda count, **params: ([""], [""]),
)

mean_p: Any = define(
    "mean",
    _without_axis,
    _kind(_MEAN),
    jvp=_linear(lambda: mean_p),
    transpose=lambda ct, x: [
        ad.Zero(x.aval) if is_zero(ct) else _over(bind(quotient_p, ct, divisor=x.aval.shape[-2]), x.aval)
    ],
    axes=_REDUCED,
)


def _total(x: Any) -> Any:
    return _over(bind(sum_p, x), x)


def _of(name: str, *arrays: Any) -> Any:
    return apply(name, *arrays)


# y (g - sum of g y), by g its own transpose.
def _softmax_backward_jvp(primals: Any, tangents: Any) -> Any:
    (g, y), (tg, ty) = primals, tangents
    out = bind(softmax_backward_p, g, y)
    parts = [] if is_zero(tg) else [bind(softmax_backward_p, tg, y)]
    if not is_zero(ty):
        parts.append(_of("multiply", ty, _of("subtract", g, _total(_of("multiply", g, y)))))
        parts.append(-_of("multiply", _total(_of("multiply", ty, g)), y))
    return out, add_all(parts, out)


softmax_backward_p: Any = define(
    "softmax_backward",
    _same,
    _kind(_SOFTMAX_BACKWARD),
    jvp=_softmax_backward_jvp,
    transpose=lambda ct, g, y: [ct if is_zero(ct) else bind(softmax_backward_p, ct, y), None],
    axes=_ROWS,
)


def add_all(parts: Sequence[Any], value: Any) -> Any:
    """The sum of tangents; a symbolic zero of none."""
    if not parts:
        return zero_of(value)
    total = parts[0]
    for part in parts[1:]:
        total = apply("add", total, part)
    return total


def _softmax_jvp(primals: Any, tangents: Any) -> Any:
    y = bind(softmax_p, *primals)
    return y, add_all([bind(softmax_backward_p, t, y) for t in tangents if not is_zero(t)], y)


softmax_p: Any = define("softmax", _same, _kind(_SOFTMAX), jvp=_softmax_jvp, axes=_ROWS)


# t - sum of t e^y, and its transpose g - e^y (sum of g), y the logarithms of a softmax.
def _log_softmax_tangent(t: Any, y: Any) -> Any:
    return _of("subtract", t, _total(_of("multiply", t, _of("exp", y))))


def _log_softmax_tangent_jvp(primals: Any, tangents: Any) -> Any:
    (t, y), (dt, dy) = primals, tangents
    out = bind(log_softmax_tangent_p, t, y)
    parts = [] if is_zero(dt) else [bind(log_softmax_tangent_p, dt, y)]
    if not is_zero(dy):
        parts.append(-_total(_of("multiply", dy, _of("multiply", t, _of("exp", y)))))
    return out, add_all(parts, out)


def _log_softmax_backward_jvp(primals: Any, tangents: Any) -> Any:
    (g, y), (dg, dy) = primals, tangents
    out = bind(log_softmax_backward_p, g, y)
    parts = [] if is_zero(dg) else [bind(log_softmax_backward_p, dg, y)]
    if not is_zero(dy):
        parts.append(-_of("multiply", dy, _of("multiply", _total(g), _of("exp", y))))
    return out, add_all(parts, out)


log_softmax_tangent_p: Any = define(
    "log_softmax_tangent",
    _same,
    by_function(_log_softmax_tangent),
    jvp=_log_softmax_tangent_jvp,
    transpose=lambda ct, t, y: [ct if is_zero(ct) else bind(log_softmax_backward_p, ct, y), None],
)
log_softmax_backward_p: Any = define(
    "log_softmax_backward",
    _same,
    _kind(_LOG_SOFTMAX_BACKWARD),
    jvp=_log_softmax_backward_jvp,
    transpose=lambda ct, g, y: [ct if is_zero(ct) else bind(log_softmax_tangent_p, ct, y), None],
    axes=_ROWS,
)


def _log_softmax_jvp(primals: Any, tangents: Any) -> Any:
    y = bind(log_softmax_p, *primals)
    return y, add_all([bind(log_softmax_tangent_p, t, y) for t in tangents if not is_zero(t)], y)


log_softmax_p: Any = define("log_softmax", _same, _kind(_LOG_SOFTMAX), jvp=_log_softmax_jvp, axes=_ROWS)


def _logsumexp_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    y = bind(logsumexp_p, x)
    return y, add_all([] if is_zero(t) else [bind(sum_p, _of("multiply", t, bind(softmax_p, x)))], y)


logsumexp_p: Any = define("logsumexp", _without_axis, _kind(_LOGSUMEXP), jvp=_logsumexp_jvp, axes=_REDUCED)


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front, in order; all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    given = (axis,) if not isinstance(axis, (tuple, list)) else tuple(axis)
    found = []
    for a in given:
        if not -ndim <= a < ndim:
            raise ValueError(f"axis {a} is out of bounds for an array of {ndim} dimensions")
        found.append(a % ndim)
    if len(set(found)) != len(found):
        raise ValueError(f"axis names one axis twice: {axis}")
    return tuple(sorted(found))


def _reduce(p: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    axes = _axes(axis, x.ndim)
    kept = [i for i in range(x.ndim) if i not in axes]
    shape = tuple(x.shape[i] for i in kept)
    n = size_of([x.shape[i] for i in axes])
    if p is logsumexp_p and axes and axes[-1] != x.ndim - 1:  # rows are faster than columns, and moving them is a small part
        lines = jnp.transpose(x, (*kept, *axes)).reshape(*shape, n, 1)
    elif axes and axes[-1] - axes[0] + 1 == len(axes):  # neighbours: nothing has to move
        lines = x.reshape(*x.shape[: axes[0]], n, size_of(x.shape[axes[-1] + 1 :]))
    elif p is sum_p and _around(axes, kept, x.ndim):
        p = sum_around_p
        lines = x.reshape(size_of(x.shape[: kept[0]]), size_of(shape), size_of(x.shape[kept[-1] + 1 :]))
    else:
        lines = jnp.transpose(x, (*kept, *axes)).reshape(*shape, n, 1)
    return bind(p, lines).reshape([1 if i in axes else s for i, s in enumerate(x.shape)] if keepdims else shape)


def _around(axes: Sequence[int], kept: Sequence[int], ndim: int) -> bool:
    """Whether the kept axes are neighbours between the first and the last, which are not kept."""
    return bool(kept) and bool(axes) and kept[-1] - kept[0] + 1 == len(kept) and axes[0] == 0 and axes[-1] == ndim - 1


def sum(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The exact sum over axes, rounded once, as `repmath.sum`; jax.numpy.sum's arguments. Integers become floating point numbers.

    The gradient repeats that of the result.
    """
    (x,) = together(a=a)
    return _reduce(sum_p, x, axis, keepdims)


def mean(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """RN((exact sum)/n) over axes, as `repmath.mean`; NaN of no elements. The gradient is RN(g/n), repeated."""
    (x,) = together(a=a)
    return _reduce(mean_p, x, axis, keepdims)


def sum_to(x: Any, shape: Sequence[int]) -> Any:
    """The transpose of broadcasting from `shape`: exact sums over the axes that it repeated."""
    shape = tuple(shape)
    lead = x.ndim - len(shape)
    axes = [*range(lead), *(lead + i for i, n in enumerate(shape) if n == 1 and x.shape[lead + i] != 1)]
    return (_reduce(sum_p, x, axes, False) if axes else x).reshape(shape)


def _expand_transpose(ct: Any, x: Any, *, shape: tuple[int, ...]) -> Any:
    return [ad.Zero(x.aval) if is_zero(ct) else sum_to(ct, x.aval.shape)]


ad.primitive_transposes[expand_p] = _expand_transpose


def _rowwise(p: Any, x: Any, axis: int) -> Any:
    """An operator along one axis of an array."""
    (at,) = _axes(axis, max(x.ndim, 1))
    shape = x.shape or (1,)
    rows = jnp.moveaxis(x.reshape(shape), at, -1)  # rows are faster than columns, and moving them is a small part
    y = bind(p, rows[..., None])[..., 0]
    return jnp.moveaxis(y, -1, at).reshape(x.shape)


def softmax(x: Any, axis: int = -1) -> Any:
    """RN(e^x_i / sum of e^x_k) along an axis, as `repmath.nn.softmax`; jax.nn.softmax's arguments.

    The gradient is RN(y_i (g_i - sum of g_k y_k)) with the rounded y.
    """
    (a,) = together(x=x)
    return _rowwise(softmax_p, a, axis)


def log_softmax(x: Any, axis: int = -1) -> Any:
    """RN(x_i - log(sum of e^x_k)) along an axis, as `repmath.nn.log_softmax`. The gradient is RN(g_i - e^y_i (sum of g_k))."""
    (a,) = together(x=x)
    return _rowwise(log_softmax_p, a, axis)


def logsumexp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """RN(log(sum of e^x_k)) over axes, as `repmath.nn.logsumexp`. The gradient is RN(g softmax(x)) with the rounded softmax."""
    (x,) = together(a=a)
    return _reduce(logsumexp_p, x, axis, keepdims)

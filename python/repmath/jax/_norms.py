"""layer_norm, rms_norm, group_norm, instance_norm and batch_norm: values and the gradients of input and weight, each rounded once."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..nn import _normalization as _numpy
from ._composite import Composite, add, divide, full, multiply, subtract
from ._elementwise import apply
from ._primitive import by_function, by_handler, expand, size_of
from ._rows import mean as exact_mean
from ._rows import sum as exact_sum
from ._types import together

_FORWARD, _BACKWARD, _BACKWARD_WEIGHT = range(3)
_LAYER, _GROUP, _BATCH = range(3)


def _spread(w: Any, like: Any, layout: int) -> Any:
    """Weights (..., C) or (..., S) beside (..., N, C, S)."""
    return expand(w[..., None, None, :] if layout == _LAYER else w[..., None, :, None], like.shape)


def _formula(
    x: Any, *others: Any, layout: int, groups: int, centered: int, eps: float, weight: int, bias: int, statistics: int
) -> Any:
    arrays = list(others)
    w = arrays.pop(0) if weight else None
    b = arrays.pop(0) if bias else None
    sets = x.reshape(*x.shape[:-2], groups, -1) if layout == _GROUP else x
    axes = (-3, -1) if layout == _BATCH else -1
    if statistics:
        d = subtract(sets, _spread(arrays[0], sets, layout))
        variance = _spread(arrays[1], sets, layout)
    else:
        d = subtract(sets, exact_mean(sets, axes, True)) if centered else sets
        variance = exact_mean(multiply(d, d), axes, True)
    y = divide(d, apply("sqrt", add(variance, full(variance, eps)))).reshape(x.shape)
    if w is not None:
        y = multiply(y, _spread(w, y, layout))
    return y if b is None else add(y, _spread(b, y, layout))


def _bias_gradient(ct: Any, *_: Any, layout: int, **params: Any) -> Any:
    return exact_sum(ct, (-3, -2) if layout == _LAYER else (-3, -1))


def _axes(count: int, layout: int, statistics: int, **params: Any) -> Any:
    """Axes on a mesh: rows, the samples whose groups are normalised, or channels may be divided; with given statistics samples too."""
    x, w = {_LAYER: ("abN", "N"), _GROUP: ("aCS", "C"), _BATCH: ("acS" if statistics else "BcS", "c")}[layout]
    return [x, *[w] * (count - 1)], [x]


@functools.cache
def _operator(weight: int, bias: int) -> Composite:
    def lower(kind: int) -> Any:
        return by_handler("normalize", lambda **params: {"kind": kind} | params)

    gradients = {0: lower(_BACKWARD)}
    if weight:
        gradients[1] = lower(_BACKWARD_WEIGHT)
    if bias:
        gradients[1 + weight] = by_function(_bias_gradient)
    name = "normalize" + "_weight" * weight + "_bias" * bias
    return Composite(name, lambda x, *_, **params: (x.shape, x.dtype), lower(_FORWARD), _formula, gradients, _axes)


def _normalize(
    x: Any, w: Any, b: Any, eps: float, layout: int, groups: int = 1, centered: bool = True, statistics: Any = ()
) -> Any:
    given = [a for a in (w, b) if a is not None]
    return _operator(int(w is not None), int(b is not None))(
        x,
        *given,
        *statistics,
        layout=layout,
        groups=groups,
        centered=int(centered),
        eps=_numpy._eps(eps),
        weight=int(w is not None),
        bias=int(b is not None),
        statistics=int(bool(statistics)),
    )


def _rows(x: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float, centered: bool) -> Any:
    shape = _numpy._normalized(x, normalized_shape)
    _numpy._check_weight(shape, weight=weight, bias=bias)
    n = size_of(shape)
    w, b = (None if a is None else a.reshape(n) for a in (weight, bias))
    lines = x.reshape(1, x.size // n if n else 0, n)
    return _normalize(lines, w, b, eps, _LAYER, centered=centered).reshape(x.shape)


def layer_norm(
    input: Any, normalized_shape: int | Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """RN((x - mean)/sqrt(variance + eps) w + b) over the last axes, as `repmath.nn.layer_norm`.

    The gradients of `input`, `weight` and `bias` are one formula each, rounded once. Tangents of forward mode and second derivatives
    follow the formula in rounded steps; so it is for the other norms.
    """
    x, w, b = together(input=input, weight=weight, bias=bias)
    return _rows(x, normalized_shape, w, b, eps, True)


def rms_norm(input: Any, normalized_shape: int | Sequence[int], weight: Any = None, eps: float | None = None) -> Any:
    """RN(x/sqrt(mean(x**2) + eps) w) over the last axes, as `repmath.nn.rms_norm`."""
    x, w = together(input=input, weight=weight)
    return _rows(x, normalized_shape, w, None, float(jnp.finfo(x.dtype).eps) if eps is None else eps, False)


def _channels(x: Any, **weights: Any) -> Any:
    if x.ndim < 2:
        raise ValueError(f"input must have at least two axes (batch, channels, ...), not shape {x.shape}")
    _numpy._check_weight((x.shape[1],), **weights)
    return x.reshape(x.shape[0], x.shape[1], size_of(x.shape[2:]))


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """RN((x - mean)/sqrt(variance + eps) w + b) of groups of channels, as `repmath.nn.group_norm`."""
    x, w, b = together(input=input, weight=weight, bias=bias)
    planes = _channels(x, weight=w, bias=b)
    return _normalize(planes, w, b, eps, _GROUP, _numpy._groups(num_groups, x)).reshape(x.shape)


def instance_norm(input: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """group_norm with a group for each channel, as `repmath.nn.instance_norm`."""
    return group_norm(input, jnp.shape(input)[1] if jnp.ndim(input) > 1 else 1, weight, bias, eps)


def batch_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    eps: float = 1e-5,
) -> Any:
    """RN((x - mean)/sqrt(variance + eps) w + b) of each channel, as `repmath.nn.batch_norm`.

    With `training` the mean and the variance are those of `input`, and `batch_norm_statistics` gives the new running ones; without it
    they are `running_mean` and `running_var`, by which there is a derivative too.
    """
    x, w, b, m, v = together(input=input, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var)
    planes = _channels(x, weight=w, bias=b, running_mean=m, running_var=v)
    if not training and (m is None or v is None):
        raise ValueError("running_mean and running_var must be given unless training")
    statistics = () if training else (m, v)
    return _normalize(planes, w, b, eps, _BATCH, statistics=statistics).reshape(x.shape)


def batch_norm_statistics(input: Any, running_mean: Any, running_var: Any, momentum: float = 0.1) -> tuple[Any, Any]:
    """New running statistics: RN((1 - momentum) old + momentum new), with the exact new mean and (unbiased) variance.

    What `repmath.nn.batch_norm` writes into its arguments in training. No derivative is taken through them. Computed in Python, by a
    callback: exact rational numbers of one batch.
    """
    x, m, v = together(input=jax.lax.stop_gradient(input), running_mean=running_mean, running_var=running_var)
    _channels(x, running_mean=m, running_var=v)

    def update(batch: Any, mean: Any, variance: Any) -> Any:
        new = np.array(mean), np.array(variance)
        _numpy._update(*new, np.asarray(batch), momentum)
        return new

    shapes = tuple(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in (m, v))
    old = jax.lax.stop_gradient((m, v))
    return jax.pure_callback(update, shapes, x, *old, vmap_method="sequential")  # type: ignore[no-any-return]

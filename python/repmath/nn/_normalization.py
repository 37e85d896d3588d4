"""layer_norm, rms_norm, group_norm, instance_norm and batch_norm, with gradients: sets of elements and their exact statistics."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._accumulator import Accumulator
from .._arguments import integer, integers
from .._blocks import BLOCK
from .._dtypes import F64, NAMES
from .._environment import guarded
from .._fractions import rounded
from .._memory import asarray, calls, contiguous, empty, is_array, on_device, zeros
from .._narrow import narrow
from .._reductions import sum as exact_sum
from .._statistics import mean, var
from ._arrays import Array, operands, same_shape

_Gradients = tuple[Array, Array | None, Array | None]


def _eps(eps: float) -> float:
    try:
        value = float(eps)
    except (TypeError, ValueError):
        raise TypeError(f"eps must be a number, not {type(eps).__name__}") from None
    if not math.isfinite(value):
        raise ValueError(f"eps must be finite, not {eps!r}")
    return value


class _Sets:
    """How an array and its weights are grouped into sets, as four axes (sets, sets, blocks, elements)."""

    def __init__(
        self, x: Array, shape: tuple[int, ...], order: tuple[int, ...], weight: tuple[int, ...], strides: tuple[int, ...]
    ):
        self.whole = x.shape
        self.shape = shape  # of the array as sets, before its axes are put in order
        self.order = order
        self.weight = weight  # the shape of a weight as sets
        self.strides = strides  # of a weight, in elements

    def of(self, x: Array | None) -> Array | None:
        return None if x is None else x.reshape(self.shape).transpose(self.order)

    def weights(self, w: Array | None, sets: Array) -> Array | None:
        return None if w is None else np.broadcast_to(contiguous(w).reshape(self.weight), sets.shape)


def _by_rows(x: Array, n: int) -> _Sets:
    return _Sets(x, (x.size // n if n else 0, 1, 1, n), (0, 1, 2, 3), (1, 1, 1, n), (0, 0, 0, 1))


def _by_groups(x: Array, groups: int) -> _Sets:
    channels, size = x.shape[1], math.prod(x.shape[2:])
    each = channels // groups
    return _Sets(x, (x.shape[0], groups, each, size), (0, 1, 2, 3), (1, groups, each, 1), (0, each, 1, 0))


def _by_channels(x: Array) -> _Sets:
    channels, size = x.shape[1], math.prod(x.shape[2:])
    return _Sets(x, (1, x.shape[0], channels, size), (0, 2, 1, 3), (1, channels, 1, 1), (0, 1, 0, 0))


def _statistic(value: Array | None, sets: Array) -> Array | None:
    """One number per channel, as sets."""
    return None if value is None else np.broadcast_to(contiguous(value).reshape(1, -1, 1, 1), sets.shape)


def _forward(
    sets: _Sets,
    centered: bool,
    x: Array,
    w: Array | None,
    b: Array | None,
    eps: float,
    mean: Any = None,
    variance: Any = None,
) -> Array:
    a = sets.of(x)
    assert a is not None
    out = empty(x.shape, x.dtype, x)
    if x.size:
        given = _statistic(mean, a), _statistic(variance, a)
        calls(x).normalize(
            "forward", NAMES[x.dtype], centered, a, None, sets.weights(w, a), sets.weights(b, a), *given, eps, sets.of(out)
        )
    return out


def _forward_with_statistics(
    sets: _Sets, centered: bool, x: Array, w: Array | None, b: Array | None, eps: float, shape: tuple[int, ...]
) -> tuple[Array, ...]:
    """The result, and of each set the mean, unless not centered, and 1/sqrt(variance + eps), in an array of `shape`; NaN of no elements."""
    a = sets.of(x)
    assert a is not None
    out = empty(x.shape, x.dtype, x)
    found = tuple(empty(shape, x.dtype, x) for _ in range(1 + centered))
    if x.size:
        weights, statistics = (sets.weights(w, a), sets.weights(b, a)), (found[0] if centered else None, found[-1])
        calls(x).normalize("found", NAMES[x.dtype], centered, a, None, *weights, *statistics, eps, sets.of(out))
    else:
        for statistic in found:
            statistic[...] = np.nan
    return out, *found


def _backward(
    sets: _Sets,
    centered: bool,
    g: Array,
    x: Array,
    w: Array | None,
    bias_axes: tuple[int, ...] | None,
    eps: float,
    mean: Any = None,
    variance: Any = None,
) -> _Gradients:
    a, h = sets.of(x), sets.of(g)
    assert a is not None
    format, given = NAMES[x.dtype], (_statistic(mean, a), _statistic(variance, a))
    dx = empty(x.shape, x.dtype, x)
    dw = None if w is None else zeros(w.shape, x.dtype, x)
    if x.size:
        calls(x).normalize("input", format, centered, a, h, sets.weights(w, a), None, *given, eps, sets.of(dx))
        if dw is not None:
            strides = tuple(s * x.dtype.itemsize for s in sets.strides)
            calls(x).normalize("weight", format, centered, a, h, None, None, *given, eps, dw, strides)
    db = None
    if w is not None and bias_axes is not None:
        db = asarray(exact_sum(g, axis=bias_axes)).reshape(w.shape)
    return dx, dw, db


def _check_weight(shape: tuple[int, ...], **weights: Array | None) -> None:
    for name, w in weights.items():
        if w is not None and w.shape != shape:
            raise ValueError(f"{name} has shape {w.shape}, it must be {shape}")


def _normalized(x: Array, normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    shape = integers("normalized_shape", normalized_shape)
    if not shape or x.shape[max(0, x.ndim - len(shape)) :] != shape:
        raise ValueError(f"normalized_shape is {shape}; input of shape {x.shape} must end in it")
    return shape


def _outer(x: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an array with one element per set over the last axes."""
    return (*x.shape[: x.ndim - len(shape)], *(1 for _ in shape))


@guarded
def layer_norm(
    input: ArrayLike,
    normalized_shape: int | Sequence[int],
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    eps: float = 1e-5,
    return_statistics: bool = False,
) -> Any:
    """Layer normalization: ``RN((x - mean) / sqrt(variance + eps) * w + b)``.

    Mean and variance (of squared deviations, divided by their number) are the
    exact ones of each set of elements over the last axes.

    Parameters
    ----------
    input : array_like
        Of float16, bfloat16, float32 or float64, in the common format of all
        arguments.
    normalized_shape : int or sequence of ints
        The shape of a set: the last axes of `input`.
    weight, bias : array_like, optional
        Of this shape; 1 and 0 by default.
    eps : float
        At least 0, taken exactly.
    return_statistics : bool
        Also return the statistics.

    Returns
    -------
    ndarray, or three
        Of the shape of `input`. A set with a NaN or an infinity, and one with
        variance + eps = 0, is NaN. The statistics are ``RN(mean)`` and ``RN(1 /
        sqrt(variance + eps))`` of each set, with axes of one element for the last ones.

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError
        A shape does not fit, or `eps` is not finite.
    """
    x, w, b = operands(input=input, weight=weight, bias=bias)
    shape = _normalized(x, normalized_shape)
    _check_weight(shape, weight=w, bias=b)
    sets, x, value = _by_rows(x, math.prod(shape)), contiguous(x), _eps(eps)
    if return_statistics:
        return _forward_with_statistics(sets, True, x, w, b, value, _outer(x, shape))
    return _forward(sets, True, x, w, b, value)


@guarded
def layer_norm_backward(
    grad_output: ArrayLike,
    input: ArrayLike,
    normalized_shape: int | Sequence[int],
    weight: ArrayLike | None = None,
    eps: float = 1e-5,
) -> _Gradients:
    """Gradients of `layer_norm` with respect to input, weight and bias (None without a weight).

    With v = variance + eps, n elements a set and h = g w, each rounded once:
    ``(h - sum(h)/n - (x - mean) * sum(h * (x - mean)) / (n * v)) / sqrt(v)`` by the
    input; ``sum(g * (x - mean) / sqrt(v))`` and ``sum(g)`` over all sets by weight
    and bias. Arguments and errors are those of `layer_norm`.
    """
    g, x, w = operands(grad_output=grad_output, input=input, weight=weight)
    same_shape(input=x, grad_output=g)
    shape = _normalized(x, normalized_shape)
    _check_weight(shape, weight=w)
    g, x = contiguous(g), contiguous(x)
    return _backward(_by_rows(x, math.prod(shape)), True, g, x, w, tuple(range(x.ndim - len(shape))), _eps(eps))


def _rms_eps(eps: float | None, x: Array) -> float:
    """The default is the machine epsilon of the format."""
    return {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}[NAMES[x.dtype]] if eps is None else _eps(eps)


@guarded
def rms_norm(
    input: ArrayLike,
    normalized_shape: int | Sequence[int],
    weight: ArrayLike | None = None,
    eps: float | None = None,
    return_statistics: bool = False,
) -> Any:
    """Root mean square normalization: ``RN(x / sqrt(mean(x**2) + eps) * w)`` over the last axes.

    `eps` is the machine epsilon of the format by default. The statistic is ``RN(1 /
    sqrt(mean(x**2) + eps))``. The rest is as in `layer_norm`.
    """
    x, w = operands(input=input, weight=weight)
    shape = _normalized(x, normalized_shape)
    _check_weight(shape, weight=w)
    sets, x, value = _by_rows(x, math.prod(shape)), contiguous(x), _rms_eps(eps, x)
    if return_statistics:
        return _forward_with_statistics(sets, False, x, w, None, value, _outer(x, shape))
    return _forward(sets, False, x, w, None, value)


@guarded
def rms_norm_backward(
    grad_output: ArrayLike,
    input: ArrayLike,
    normalized_shape: int | Sequence[int],
    weight: ArrayLike | None = None,
    eps: float | None = None,
) -> tuple[Array, Array | None]:
    """Gradients of `rms_norm` with respect to input and weight (None without one).

    With v = mean(x**2) + eps and h = g w, each rounded once:
    ``(h - x * sum(h * x) / (n * v)) / sqrt(v)`` with respect to the input, ``sum(g * x / sqrt(v))``
    over all sets with respect to the weight.
    """
    g, x, w = operands(grad_output=grad_output, input=input, weight=weight)
    same_shape(input=x, grad_output=g)
    shape = _normalized(x, normalized_shape)
    _check_weight(shape, weight=w)
    g, x = contiguous(g), contiguous(x)
    dx, dw, _ = _backward(_by_rows(x, math.prod(shape)), False, g, x, w, None, _rms_eps(eps, x))
    return dx, dw


def _check_channels(x: Array, **weights: Array | None) -> None:
    if x.ndim < 2:
        raise ValueError(f"input must have at least two axes, (N, C, ...), not shape {x.shape}")
    for name, w in weights.items():
        if w is not None and w.shape != (x.shape[1],):
            raise ValueError(f"{name} has shape {w.shape}, it must be ({x.shape[1]},), one for each channel")


def _groups(num_groups: int, x: Array) -> int:
    groups = integer("num_groups", num_groups)
    if groups < 1 or x.shape[1] % groups:
        raise ValueError(f"num_groups must divide the {x.shape[1]} channels, not {num_groups!r}")
    return groups


@guarded
def group_norm(
    input: ArrayLike,
    num_groups: int,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    eps: float = 1e-5,
    return_statistics: bool = False,
) -> Any:
    """Group normalization of (N, C, ...): each sample's channels in groups, ``RN((x - mean) / sqrt(variance + eps) * w + b)``.

    Parameters
    ----------
    input : array_like
        Of shape (N, C, ...).
    num_groups : int
        Divides C.
    weight, bias : array_like, optional
        Of shape (C,).
    eps : float
        At least 0, taken exactly.
    return_statistics : bool
        Also return the statistics.

    Returns
    -------
    ndarray, or three
        Of the shape of `input`; NaN as in `layer_norm`. The statistics are those of
        `layer_norm`, of shape (N, num_groups).

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError
        A shape or `num_groups` does not fit, or `eps` is not finite.
    """
    x, w, b = operands(input=input, weight=weight, bias=bias)
    _check_channels(x, weight=w, bias=b)
    groups, x, value = _groups(num_groups, x), contiguous(x), _eps(eps)
    if return_statistics:
        return _forward_with_statistics(_by_groups(x, groups), True, x, w, b, value, (x.shape[0], groups))
    return _forward(_by_groups(x, groups), True, x, w, b, value)


@guarded
def group_norm_backward(
    grad_output: ArrayLike, input: ArrayLike, num_groups: int, weight: ArrayLike | None = None, eps: float = 1e-5
) -> _Gradients:
    """Gradients of `group_norm` with respect to input, weight and bias (None without a weight); formulas as in `layer_norm_backward`."""
    g, x, w = operands(grad_output=grad_output, input=input, weight=weight)
    same_shape(input=x, grad_output=g)
    _check_channels(x, weight=w)
    g, x = contiguous(g), contiguous(x)
    axes = (0, *range(2, x.ndim))
    return _backward(_by_groups(x, _groups(num_groups, x)), True, g, x, w, axes, _eps(eps))


_FEW = 4096  # elements of a channel that are added as integers of Python


def _exact_news(x: Array, channels: Array, moment: str) -> list[Fraction]:
    """The exact mean, or the exact variance with n - 1, of channels of finite numbers."""
    n = x.size // x.shape[1]
    news = []
    for c in channels:
        if n > _FEW:
            s, k = Accumulator(x[:, c])._exact(), 0
        else:
            high, exponents = np.frexp(np.asarray(x[:, c], F64).reshape(-1))
            k = int(exponents.min()) - 53
            shifts = (exponents - (k + 53)).tolist()
            terms = [v << i for v, i in zip(np.ldexp(high, 53).astype(np.int64).tolist(), shifts, strict=True)]
            s = Fraction(sum(terms))
        if moment == "mean":
            news.append(s / n * Fraction(2) ** k)
        elif n > _FEW:
            squares = Accumulator()
            squares.add_products(x[:, c], x[:, c])
            news.append((squares._exact() - s * s / n) / (n - 1))
        else:
            news.append(Fraction(n * sum([v * v for v in terms]) - int(s) ** 2, n * (n - 1)) * Fraction(2) ** (2 * k))
    return news


def _mixed(running: Array, old: Array, new: Array, momentum: float, exact_zeros: bool) -> tuple[Array, Array]:
    """The mixture rounded to a format narrower than binary64, and where that is certain.

    With u = 2^-53, `new` has a relative error of at most u. So 1 - m, its product with `old`, and m times `new` have errors of at most u,
    2u and 2u, relative, and their sum adds u: 3u (|a| + |b|) and terms in u^2, below 4u (|a| + |b|). Products below the normal numbers
    add 2^-1075 each. A zero is certain where its sign is: `new` is 0 only where the statistic is, but for one of binary64, which may be
    below its numbers; these are not taken for zeros there."""
    a, b = (1 - momentum) * old, momentum * new
    nothing = ((old == 0) | (momentum == 1)) & ((new == 0) | (momentum == 0))
    value, error = (
        np.where(nothing, 0.0, a + b),
        np.where(nothing & exact_zeros, 0.0, 2.0**-51 * (abs(a) + abs(b)) + 2.0**-1070),
    )
    low, high = (_nearest(value + e, running.dtype) for e in (-error, error))
    certain: Array = (low == high) & (np.signbit(low) == np.signbit(high))
    return low, certain


def _nearest(v: Array, dtype: np.dtype[Any]) -> Array:
    """Numbers of binary64 rounded once; NumPy's conversion to bfloat16 rounds twice."""
    if dtype.name != "bfloat16":
        return v.astype(dtype)
    result: Array = narrow(v, dtype, lambda at: np.zeros(len(at[0])))
    return result


def _update(running_mean: Array | None, running_var: Array | None, x: Array, momentum: float) -> None:
    """Running statistics, in place: each the exact mixture, rounded once to its dtype. The variance is divided by n - 1."""
    m = Fraction(float(momentum))
    if on_device(x):
        a, asked = _by_channels(x).of(x), ((running_mean, None), (None, running_var))
        if running_mean is not None and running_var is not None and running_mean.dtype == running_var.dtype:
            asked = ((running_mean, running_var),)  # type: ignore[assignment]
        for mean_there, var_there in asked:
            there = mean_there if mean_there is not None else var_there
            if there is not None:
                name = NAMES[there.dtype]
                calls(x).norm_statistics(NAMES[x.dtype], True, a, 0.0, None, None, momentum, name, mean_there, var_there)
        return
    axes = (0, *range(2, x.ndim))
    if x.ndim > 2 and x.size <= BLOCK:  # one copy serves both statistics
        x, axes = np.ascontiguousarray(x.reshape(*x.shape[:2], -1).swapaxes(0, 1)).reshape(x.shape[1], -1).T, (0,)
    changes = []  # nothing is written before all is known
    for running, moment in ((running_mean, "mean"), (running_var, "var")):
        if running is None:
            continue
        old = running.astype(F64)
        if running.dtype == F64:  # no bound is close enough
            finite = np.isfinite(x).all(axis=axes)
            result, certain = old.copy(), np.zeros_like(finite)
        else:
            with np.errstate(all="ignore"):
                # Correctly rounded; infinite or NaN for a channel that is not finite.
                new = mean(x, axis=axes, dtype=F64) if moment == "mean" else var(x, axis=axes, dtype=F64, ddof=1)
                # Statistics of finite numbers may be beyond float64.
                finite = np.isfinite(x).all(axis=axes) if x.dtype == F64 else np.isfinite(new)
                result, certain = _mixed(running, old, new, float(momentum), x.dtype != F64)
        open_ones = np.flatnonzero(finite & ~certain & np.isfinite(old))
        if len(open_ones):
            news = _exact_news(x, open_ones, moment)
            mixed = [(1 - m) * Fraction(float(running[c])) + m * v for c, v in zip(open_ones, news, strict=True)]
            result[open_ones] = rounded(mixed, running.dtype)
        result[~finite] = np.nan
        changed = np.isfinite(old) | ~finite
        changes.append((running, changed, result))
    for running, changed, result in changes:
        running[changed] = result[changed]


def _running(name: str, value: Any, x: Array) -> Array | None:
    if value is not None and (not is_array(value) or value.dtype not in NAMES):
        raise TypeError(f"{name} must be an array of one of the four formats; it is updated in place")
    if value is not None and not value.flags.writeable:
        raise ValueError(f"{name} is read-only")
    _check_channels(x, **{name: value})
    return value


def _given(name: str, value: ArrayLike, x: Array) -> Array:
    """A running statistic that is used, in the format of x, a value for each channel."""
    a = asarray(value)
    if not np.can_cast(a.dtype, x.dtype, "safe"):
        raise TypeError(f"{name} has dtype {a.dtype}, which {x.dtype}, the format of input, does not hold")
    result = a.astype(x.dtype)
    _check_channels(x, **{name: result})
    return result


@guarded
def batch_norm(
    input: ArrayLike,
    running_mean: Array | None,
    running_var: Array | None,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    return_statistics: bool = False,
) -> Any:
    """Batch normalization of (N, C, ...): ``RN((x - mean) / sqrt(variance + eps) * w + b)``, a mean and a variance for each channel.

    Training, they are the exact ones of the batch, and running statistics are
    updated in place: ``RN((1 - momentum) * old + momentum * new)``, new the exact
    mean, or the sum of squared deviations divided by n - 1. Otherwise they are
    the running ones.

    Parameters
    ----------
    input : array_like
        Of shape (N, C, ...).
    running_mean, running_var : ndarray or None
        Of shape (C,), in the format of `input` when they are used. Needed
        unless `training`.
    weight, bias : array_like, optional
        Of shape (C,).
    training : bool
        Use the batch's statistics.
    momentum, eps : float
        Taken exactly.
    return_statistics : bool
        Also return the batch's statistics; only when `training`.

    Returns
    -------
    ndarray, or three
        Of the shape of `input`. NaN for a channel with a NaN or an infinity in
        its statistics, and where variance + eps is not positive. The statistics are
        those of `layer_norm`, of shape (C,).

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError
        A shape does not fit, statistics are missing or read-only, there is but
        one value a channel to train with, or the batch's statistics are wanted
        unless `training`.
    """
    x, w, b = operands(input=input, weight=weight, bias=bias)
    _check_channels(x, weight=w, bias=b)
    value, x = _eps(eps), contiguous(x)
    if not training:
        if return_statistics:
            raise ValueError("return_statistics=True needs training=True: otherwise the statistics are the running ones")
        if running_mean is None or running_var is None:
            raise ValueError("running_mean and running_var are needed unless training")
        mean, variance = _given("running_mean", running_mean, x), _given("running_var", running_var, x)
        return _forward(_by_channels(x), True, x, w, b, value, mean, variance)
    if x.size and x.size // x.shape[1] < 2:
        raise ValueError(f"training needs more than one value for each channel, input has shape {x.shape}")
    means, variances = _running("running_mean", running_mean, x), _running("running_var", running_var, x)
    result: Any
    if return_statistics:
        result = _forward_with_statistics(_by_channels(x), True, x, w, b, value, x.shape[1:2])
    else:
        result = _forward(_by_channels(x), True, x, w, b, value)
    if x.size and (means is not None or variances is not None):
        _update(means, variances, x, momentum)
    return result


@guarded
def batch_norm_backward(
    grad_output: ArrayLike,
    input: ArrayLike,
    running_mean: ArrayLike | None = None,
    running_var: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    training: bool = True,
    eps: float = 1e-5,
) -> _Gradients:
    """Gradients of `batch_norm` by input, weight and bias (None without a weight).

    Training, the formulas are those of `layer_norm_backward` over each channel;
    otherwise ``g * w / sqrt(running_var + eps)`` with respect to the input, and ``sum(g * (x -
    running_mean) / sqrt(running_var + eps))`` with respect to the weight. Each is rounded once.
    """
    g, x, w = operands(grad_output=grad_output, input=input, weight=weight)
    same_shape(input=x, grad_output=g)
    _check_channels(x, weight=w)
    g, x = contiguous(g), contiguous(x)
    mean = variance = None
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("running_mean and running_var are needed unless training")
        mean, variance = _given("running_mean", running_mean, x), _given("running_var", running_var, x)
    return _backward(_by_channels(x), True, g, x, w, (0, *range(2, x.ndim)), _eps(eps), mean, variance)


@guarded
def instance_norm(
    input: ArrayLike, weight: ArrayLike | None = None, bias: ArrayLike | None = None, eps: float = 1e-5
) -> Array:
    """Instance normalization of (N, C, ...): each channel of each sample by its own mean and variance.

    It is `group_norm` with a group for each channel.
    """
    x, w, b = operands(input=input, weight=weight, bias=bias)
    _check_channels(x, weight=w, bias=b)
    return _forward(_by_groups(x, x.shape[1] or 1), True, contiguous(x), w, b, _eps(eps))


@guarded
def instance_norm_backward(
    grad_output: ArrayLike, input: ArrayLike, weight: ArrayLike | None = None, eps: float = 1e-5
) -> _Gradients:
    """Gradients of `instance_norm` by input, weight and bias (None without a weight)."""
    g, x, w = operands(grad_output=grad_output, input=input, weight=weight)
    same_shape(input=x, grad_output=g)
    _check_channels(x, weight=w)
    g, x = contiguous(g), contiguous(x)
    return _backward(_by_groups(x, x.shape[1] or 1), True, g, x, w, (0, *range(2, x.ndim)), _eps(eps))

"""Losses: values and gradients have kernels, each one formula rounded once; other derivatives come from the formulas here."""

import math
from typing import Any

import jax.numpy as jnp

from ..nn._losses import check_reduction, parameter
from ._composite import Composite, add, divide, full, multiply, subtract
from ._elementwise import apply
from ._primitive import bind, by_function, by_handler, expand, size_of
from ._rows import log_softmax_p, mean_p, sum_p
from ._types import integers, together

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
_NONE, _MEAN, _SUM = range(3)


# Cross entropy of rows (..., rows, n), by classes (..., rows) or probabilities, with weights (..., n) of classes or none.


def _rows(x: Any, target: Any, *weight: Any, reduction: int, **params: Any) -> Any:
    return (x.shape[:-1] if reduction == _NONE else x.shape[:-2]), x.dtype


def _along(x: Any) -> Any:
    """Sums over the last axis."""
    return bind(sum_p, x[..., None])[..., 0]


def _cross_entropy_formula(
    x: Any,
    target: Any,
    *weights: Any,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
    likelihood: int,
) -> Any:
    n = x.shape[-1]
    logs = x if likelihood else bind(log_softmax_p, x[..., None])[..., 0]
    by_class = target.dtype.kind == "i"
    weight = expand(weights[0][..., None, :], x.shape) if weights else full(x, 1)
    counts: Any = True
    if by_class:
        counts = (target != ignore_index)[..., None]
        chosen = (target[..., None] == jnp.arange(n, dtype=target.dtype)) & counts
        p = chosen.astype(x.dtype)
        divisor = _along(_along(multiply(p, weight))) if reduction == _MEAN else None
    else:
        p = target
        divisor = jnp.full(x.shape[:-2], x.shape[-2], x.dtype)
    if label_smoothing and not likelihood:
        p = add(multiply(p, full(p, 1 - label_smoothing)), full(p, label_smoothing / n))
    q = jnp.where(counts, multiply(p, weight), jnp.zeros_like(x))
    used = (q != 0) if by_class and not label_smoothing else counts  # an infinite logarithm that does not count
    losses = -_along(multiply(q, jnp.where(used, logs, jnp.zeros_like(x))))
    if reduction == _NONE:
        return losses
    total = _along(losses)
    return divide(total, divisor) if reduction == _MEAN else total


def _cross_entropy_lower(backward: int) -> Any:
    return by_handler("cross_entropy", lambda **params: {"backward": backward} | params)


cross_entropy_op = Composite(
    "cross_entropy", _rows, _cross_entropy_lower(0), _cross_entropy_formula, {0: _cross_entropy_lower(1)}
)


def _problem(logits: Any, target: Any, weight: Any, axis: int) -> Any:
    """Rows of logits, targets and weights; the shape of the losses."""
    by_class = jnp.asarray(target).dtype.kind in "iu"
    x, p, w = together(logits=logits, target=None if by_class else target, weight=weight)
    if x.ndim == 0:
        raise ValueError("logits must have an axis of classes")
    at = axis % x.ndim if -x.ndim <= axis < x.ndim else None
    if at is None:
        raise ValueError(f"axis {axis} is out of bounds for logits of {x.ndim} dimensions")
    shape = x.shape[:at] + x.shape[at + 1 :]
    wanted = shape if by_class else x.shape
    if jnp.shape(target) != wanted:
        raise ValueError(f"target has shape {jnp.shape(target)}, it must be {wanted}")
    if w is not None and w.shape != (x.shape[at],):
        raise ValueError(f"weight has shape {w.shape}, it must be ({x.shape[at]},), one for each class")
    t = integers("target", target).reshape(-1) if by_class else jnp.moveaxis(p, at, -1).reshape(size_of(shape), x.shape[at])
    rows = jnp.moveaxis(x, at, -1).reshape(size_of(shape), x.shape[at])
    return (rows, t) if w is None else (rows, t, w), shape


def _class_axis(logits: Any) -> int:
    return 1 if jnp.ndim(logits) > 1 else 0


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Cross entropy of logits, as `repmath.nn.cross_entropy`: summed or averaged before the one rounding.

    Arguments are those of torch.nn.functional.cross_entropy; classes are axis 1, or the only axis. Targets are classes, or
    probabilities. A class out of range raises an error when the program runs.

    The gradient with respect to `input` is RN(g/divisor (softmax(x)_j (sum of q_c) - q_j)). Those of probabilities and weights, tangents of forward
    mode and second derivatives follow the formula in rounded steps.
    """
    check_reduction(reduction)
    if not 0 <= float(label_smoothing) <= 1:
        raise ValueError(f"label_smoothing must be between 0 and 1, not {label_smoothing!r}")
    arrays, shape = _problem(input, target, weight, _class_axis(input))
    loss = cross_entropy_op(
        *arrays,
        reduction=_REDUCTIONS[reduction],
        ignore_index=int(ignore_index),
        label_smoothing=float(label_smoothing),
        likelihood=0,
    )
    return loss.reshape(shape) if reduction == "none" else loss


def nll_loss(input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """Negative log likelihood, as `repmath.nn.nll_loss`: -w x of each row's target, summed or averaged before the one rounding.

    The gradient with respect to `input` is -g w, for a mean over the exact sum of the weights, at the targets.
    """
    check_reduction(reduction)
    arrays, shape = _problem(input, integers("target", target), weight, _class_axis(input))
    loss = cross_entropy_op(
        *arrays, reduction=_REDUCTIONS[reduction], ignore_index=int(ignore_index), label_smoothing=0.0, likelihood=1
    )
    return loss.reshape(shape) if reduction == "none" else loss


# Losses of pairs (..., n).

_REGRESSION, _BCE, _BCE_WEIGHT, _BCE_POS_WEIGHT, _BCE_BOTH, _KL_DIV = range(6)
_MSE, _L1, _SMOOTH_L1, _HUBER = range(4)


def _pair_shapes(x: Any, *others: Any, reduction: int, **params: Any) -> Any:
    return (x.shape if reduction == _NONE else x.shape[:-1]), x.dtype


def _pair_lower(backward: int) -> Any:
    return by_handler("pair_loss", lambda **params: {"backward": backward} | params)


def _square(x: Any) -> Any:
    return multiply(x, x)


def _regression(option: int, p: float, x: Any, y: Any) -> Any:
    d = subtract(x, y)
    size = jnp.where(jnp.signbit(d), -d, d)
    if option == _MSE:
        return _square(d)
    if option == _L1:
        return size
    if option == _SMOOTH_L1:
        near = multiply(_square(d), full(d, 0.5 / p)) if p else size
        return jnp.where(size < p, near, subtract(size, full(d, p / 2)))
    return jnp.where(size <= p, multiply(_square(d), full(d, 0.5)), multiply(full(d, p), subtract(size, full(d, p / 2))))


def _pair_formula(x: Any, y: Any, *weights: Any, kind: int, reduction: int, option: int, count: int, p: float) -> Any:
    if kind == _REGRESSION:
        losses = _regression(option, p, x, y)
    elif kind == _KL_DIV:
        if option:
            losses = multiply(apply("exp", y), subtract(y, x))
        else:
            positive = y != 0
            logs = apply("log", jnp.where(positive, y, full(y, 1)))
            losses = jnp.where(positive, multiply(y, subtract(logs, x)), jnp.zeros_like(y))
    else:
        one = full(x, 1)
        softplus = apply("softplus", -x)
        scale = one
        if kind in (_BCE_POS_WEIGHT, _BCE_BOTH):
            scale = add(one, multiply(subtract(weights[-1], one), y))
        losses = add(multiply(subtract(one, y), x), multiply(scale, softplus))
        if kind in (_BCE_WEIGHT, _BCE_BOTH):
            losses = multiply(weights[0], losses)
    if reduction == _NONE:
        return losses
    lines = losses[..., None]
    if reduction == _MEAN and kind != _KL_DIV:
        return bind(mean_p, lines)[..., 0]
    total = bind(sum_p, lines)[..., 0]
    return divide(total, full(total, count)) if reduction == _MEAN else total


pair_op = Composite("pair_loss", _pair_shapes, _pair_lower(0), _pair_formula, {0: _pair_lower(1)})


def _target_gradient(ct: Any, x: Any, y: Any, **params: Any) -> Any:
    return -bind(regression_op.kernels[0], ct, x, y, **params)


# Of x - y: the gradient with respect to y is the negative of that with respect to x.
regression_op = Composite(
    "regression_loss", _pair_shapes, _pair_lower(0), _pair_formula, {0: _pair_lower(1), 1: by_function(_target_gradient)}
)


def _pair(kind: int, reduction: str, arrays: list[Any], option: int = 0, count: int = 1, p: float = 0.0) -> Any:
    x = arrays[0]
    flat = [expand(a, x.shape).reshape(-1) for a in arrays]
    loss = (regression_op if kind == _REGRESSION else pair_op)(
        *flat, kind=kind, reduction=_REDUCTIONS[reduction], option=option, count=count, p=p
    )
    return loss.reshape(x.shape) if reduction == "none" else loss


def _same_shape(x: Any, y: Any) -> None:
    if x.shape != y.shape:
        raise ValueError(f"target has shape {y.shape}, input has {x.shape}; they must be equal")


def _regression_loss(option: int, p: float, input: Any, target: Any, reduction: str) -> Any:
    check_reduction(reduction)
    x, y = together(input=input, target=target)
    _same_shape(x, y)
    return _pair(_REGRESSION, reduction, [x, y], option=option, p=p)


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """(x - y)**2, or the exact sum or mean, as `repmath.nn.mse_loss`. The gradient with respect to `input` is one rounded formula."""
    return _regression_loss(_MSE, 0.0, input, target, reduction)


def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """``|x - y|``, or the exact sum or mean, as `repmath.nn.l1_loss`."""
    return _regression_loss(_L1, 0.0, input, target, reduction)


def smooth_l1_loss(input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    """As `repmath.nn.smooth_l1_loss`: ``d**2/(2 beta)`` where ``|d| < beta``, else ``|d| - beta/2``; or the exact sum or mean."""
    return _regression_loss(_SMOOTH_L1, parameter("beta", beta, 0, True), input, target, reduction)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    """As `repmath.nn.huber_loss`: ``d**2/2`` where ``|d| <= delta``, else ``delta (|d| - delta/2)``; or the exact sum or mean."""
    return _regression_loss(_HUBER, parameter("delta", delta, 0, False), input, target, reduction)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """As `repmath.nn.binary_cross_entropy_with_logits`, summed or averaged before the one rounding; weights broadcast."""
    check_reduction(reduction)
    x, y, w, q = together(input=input, target=target, weight=weight, pos_weight=pos_weight)
    _same_shape(x, y)
    kind = {(0, 0): _BCE, (1, 0): _BCE_WEIGHT, (0, 1): _BCE_POS_WEIGHT, (1, 1): _BCE_BOTH}[w is not None, q is not None]
    return _pair(kind, reduction, [x, y, *(a for a in (w, q) if a is not None)])


def kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    """As `repmath.nn.kl_div`: t (log t - x), with `log_target` e^t (t - x); "batchmean" divides the sum by the first size."""
    if reduction != "batchmean":
        check_reduction(reduction)
    x, y = together(input=input, target=target)
    _same_shape(x, y)
    if reduction == "batchmean" and x.ndim == 0:
        raise ValueError("input has no axes; reduction='batchmean' divides by the size of the first one")
    count = x.shape[0] if reduction == "batchmean" else max(math.prod(x.shape), 0)
    named = "mean" if reduction == "batchmean" else reduction
    return _pair(_KL_DIV, named, [x, y], option=int(log_target), count=count)

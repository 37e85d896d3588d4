"""binary_cross_entropy_with_logits and its gradient."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._dtypes import NAMES
from .._environment import guarded
from .._memory import calls, empty
from ._arrays import Array, operands, same_shape
from ._losses import check_gradient, check_reduction


def _spread(name: str, a: Any, shape: tuple[int, ...]) -> Any:
    """A weight for each element, as one axis."""
    if a is None:
        return None
    try:
        return np.broadcast_to(a, shape).reshape(-1)
    except ValueError:
        raise ValueError(f"{name} has shape {a.shape}, which does not broadcast to that of input, {shape}") from None


def _run(reduction: str, grad_output: Any, input: Any, target: Any, weight: Any, pos_weight: Any) -> Array:
    check_reduction(reduction)
    g, x, y, w, p = operands(grad_output=grad_output, input=input, target=target, weight=weight, pos_weight=pos_weight)
    same_shape(input=x, target=y)
    if g is not None:
        check_gradient(g, x.shape, reduction)
        g = g.reshape(-1)
    out = empty(x.shape if reduction == "none" or g is not None else (), x.dtype, x)
    w, p = _spread("weight", w, x.shape), _spread("pos_weight", p, x.shape)
    calls(x).bce_with_logits(NAMES[x.dtype], reduction, g, x.reshape(-1), y.reshape(-1), w, p, out.reshape(-1))
    return out


@guarded
def binary_cross_entropy_with_logits(
    input: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    reduction: str = "mean",
    pos_weight: ArrayLike | None = None,
) -> Array:
    """``w * ((1 - y) * x + (1 + (p - 1) * y) * log(1 + exp(-x)))``, rounded once, or the mean or sum of the exact values.

    Parameters
    ----------
    input, target : array_like
        Logits x and targets y, of one shape; of float16, bfloat16, float32 or
        float64, in the common format of all; integers count as float64.
    weight : array_like, optional
        w, of a shape that broadcasts to that of `input`; 1 by default.
    reduction : {'none', 'mean', 'sum'}
        A loss for each element, their mean, or their sum.
    pos_weight : array_like, optional
        p, likewise.

    Returns
    -------
    ndarray
        Of the shape of `input`, or of no axes. At an infinite logit the limit; the
        sum of nothing is 0, the mean of nothing NaN.

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError
        The shapes do not fit, or `reduction` is none of the three.
    """
    return _run(reduction, None, input, target, weight, pos_weight)


@guarded
def binary_cross_entropy_with_logits_backward(
    grad_output: ArrayLike,
    input: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    reduction: str = "mean",
    pos_weight: ArrayLike | None = None,
) -> Array:
    """Gradient of the logits: ``RN(g * w * ((1 - y) - (1 + (p - 1) * y) / (1 + exp(x))))``, for a mean divided by their number.

    `grad_output` has the shape of the loss. The rest is as in
    `binary_cross_entropy_with_logits`.
    """
    return _run(reduction, grad_output, input, target, weight, pos_weight)

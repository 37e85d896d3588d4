"""nll_loss and its gradient."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._arguments import integer
from .._dtypes import NAMES, is_integer
from .._environment import guarded
from .._memory import asarray, calls, contiguous, empty, move
from ._arrays import Array
from ._cross_entropy import _check_index, _problem
from ._losses import check_gradient


def _run(input: Any, target: Any, weight: Any, ignore_index: int, reduction: str, grad_output: Any) -> Array:
    if not is_integer(asarray(target).dtype):
        raise TypeError(f"target must have integers, classes, not {asarray(target).dtype}")
    x, lines, targets, _, w, shape, axis = _problem(input, target, weight, reduction, 0.0)
    g = None
    if grad_output is not None:
        g = asarray(grad_output)
        if not np.can_cast(g.dtype, x.dtype, "safe"):
            raise TypeError(f"grad_output has dtype {g.dtype}, the loss has {x.dtype}")
        check_gradient(g, shape, reduction)
        g = move(contiguous(g.reshape(-1).astype(x.dtype, copy=False)), x)
    shape_of_loss = lines.shape[:1] if reduction == "none" else (1,)
    out = empty(shape_of_loss if g is None else lines.shape, x.dtype, x)
    code = calls(x).cross_entropy(
        False, NAMES[x.dtype], lines, targets, None, w, integer("ignore_index", ignore_index), 0.0, reduction, g, out
    )
    _check_index(code, targets, lines.shape[1])
    if g is None:
        return out.reshape(shape if reduction == "none" else ())
    if x.ndim == 1:
        return out.reshape(x.shape)
    return contiguous(np.moveaxis(out.reshape(*shape, x.shape[axis]), -1, axis))


@guarded
def nll_loss(
    input: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Array:
    """Negative log likelihood of log probabilities: ``RN(-w_t * x_t)`` at each target t, summed or averaged before the rounding.

    A mean divides by the sum of the targets' weights.

    Parameters
    ----------
    input : array_like
        Of shape (C,), (N, C) or (N, C, ...), C classes; of float16, bfloat16,
        float32 or float64, integers count as float64.
    target : array_like of ints
        Classes, of the shape of `input` without C.
    weight : array_like, optional
        A weight for each class; 1 by default.
    ignore_index : int
        A target whose loss is 0 and that does not count.
    reduction : {'none', 'mean', 'sum'}
        A loss for each target, their mean, or their sum.

    Returns
    -------
    ndarray
        Of the shape of `target`, or of no axes, in the common format of `input` and
        `weight`. A mean of no targets is NaN.

    Raises
    ------
    IndexError
        A target is neither a class nor `ignore_index`.
    TypeError
        A dtype is not supported, or `target` has no integers.
    ValueError
        The shapes do not fit, or `reduction` is none of the three.
    """
    return _run(input, target, weight, ignore_index, reduction, None)


@guarded
def nll_loss_backward(
    grad_output: ArrayLike,
    input: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Array:
    """Gradient of `nll_loss` with respect to its input: ``RN(-g * w_t)`` at each target, over the sum of weights for a mean; 0 elsewhere.

    `grad_output` has the shape of the loss; it is taken in the format of the
    other arguments. The rest is as in `nll_loss`.
    """
    return _run(input, target, weight, ignore_index, reduction, grad_output)

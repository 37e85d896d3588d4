"""cross_entropy and its gradient."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._arguments import integer
from .._dtypes import NAMES, is_integer
from .._environment import guarded
from .._memory import asarray, calls, contiguous, empty, move
from ._arrays import Array, operands, rows


def _problem(input: Any, target: Any, weight: Any, reduction: str, label_smoothing: float) -> tuple[Any, ...]:
    """Rows of logits; targets or probabilities as rows; the weight; the shape of the losses; the axis of classes."""
    t = asarray(target)
    by_class = is_integer(t.dtype)
    if by_class:
        x, w = operands(input=input, weight=weight)
        p = None
    else:
        x, p, w = operands(input=input, target=target, weight=weight)
    if x.ndim == 0:
        raise ValueError("input must have an axis of classes")
    axis = 0 if x.ndim == 1 else 1
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    if by_class and t.shape != shape:
        raise ValueError(f"target has shape {t.shape}, it must be {shape}, that of input without its classes")
    if not by_class and t.shape != x.shape:
        raise ValueError(f"target has shape {t.shape}, probabilities must have that of input, {x.shape}")
    if w is not None and w.shape != (x.shape[axis],):
        raise ValueError(f"weight has shape {w.shape}, it must be ({x.shape[axis]},), one for each class")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction must be 'none', 'mean' or 'sum', not {reduction!r}")
    if not 0 <= float(label_smoothing) <= 1:
        raise ValueError(f"label_smoothing must be between 0 and 1, not {label_smoothing!r}")
    targets = contiguous(t.astype(np.int64, copy=False)).reshape(-1) if by_class else None
    probabilities = None if p is None else rows(p, axis)
    return x, rows(x, axis), targets, probabilities, w, shape, axis


def _check_index(code: int, targets: Any, n: int) -> None:
    if code == _core.ERR_INDEX:
        raise IndexError(f"target has a class that is neither one of {n} nor ignore_index")


@guarded
def cross_entropy(
    input: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Array:
    """Cross entropy of logits: ``RN(sum of q_c * (log(sum of exp(x_k)) - x_c))``, summed or averaged before the rounding.

    q_c is ``((1 - label_smoothing) * p_c + label_smoothing / C) * w_c``, where p_c
    is 1 for the target and 0 for other classes, or the given probability. A
    mean divides by the sum of the targets' weights, or by the number of rows
    where targets are probabilities.

    Parameters
    ----------
    input : array_like
        Of shape (C,), (N, C) or (N, C, ...), C classes.
    target : array_like
        Of integers: classes, of the shape of `input` without C. Otherwise
        probabilities, of the shape of `input`.
    weight : array_like, optional
        Of shape (C,).
    ignore_index : int
        A target that does not count.
    reduction : {'mean', 'sum', 'none'}
    label_smoothing : float
        Between 0 and 1, taken exactly.

    Returns
    -------
    ndarray
        Without axes, or of the losses' shape with 'none', where ignored ones
        are 0. The mean of nothing is NaN.

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError
        A shape or an option does not fit.
    IndexError
        A target is not a class.
    """
    x, lines, targets, probabilities, w, shape, _ = _problem(input, target, weight, reduction, label_smoothing)
    out = empty(lines.shape[:1] if reduction == "none" else (1,), x.dtype, x)
    code = calls(x).cross_entropy(
        True,
        NAMES[x.dtype],
        lines,
        targets,
        probabilities,
        w,
        integer("ignore_index", ignore_index),
        float(label_smoothing),
        reduction,
        None,
        out,
    )
    _check_index(code, targets, lines.shape[1])
    return out.reshape(shape if reduction == "none" else ())


@guarded
def cross_entropy_backward(
    grad_output: ArrayLike,
    input: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Array:
    """Gradient of `cross_entropy` with respect to its input: ``RN(g / d * (softmax(x)_c * sum(q) - q_c))``, d what a mean divides by.

    `grad_output` has the shape of the loss; it is taken in the format of the
    other arguments. The rest is as in `cross_entropy`.
    """
    x, lines, targets, probabilities, w, shape, axis = _problem(input, target, weight, reduction, label_smoothing)
    expected = shape if reduction == "none" else ()
    g = asarray(grad_output)
    if not np.can_cast(g.dtype, x.dtype, "safe"):
        raise TypeError(f"grad_output has dtype {g.dtype}, the loss has {x.dtype}")
    if g.shape != expected:
        raise ValueError(f"grad_output has shape {g.shape}, it must be {expected}, that of the loss")
    g = move(contiguous(g.reshape(-1).astype(x.dtype, copy=False)), x)
    out = empty(lines.shape, x.dtype, x)
    code = calls(x).cross_entropy(
        True,
        NAMES[x.dtype],
        lines,
        targets,
        probabilities,
        w,
        integer("ignore_index", ignore_index),
        float(label_smoothing),
        reduction,
        g,
        out,
    )
    _check_index(code, targets, lines.shape[1])
    if x.ndim == 1:
        return out.reshape(x.shape)
    moved = out.reshape(*shape, x.shape[axis])
    assert math.prod(moved.shape) == x.size
    return contiguous(np.moveaxis(moved, -1, axis))

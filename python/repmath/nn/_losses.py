"""Losses over pairs of numbers: mse_loss, l1_loss, smooth_l1_loss, huber_loss and gradients."""

from typing import Any

from numpy.typing import ArrayLike

from .._dtypes import NAMES
from .._environment import guarded
from .._memory import calls, empty
from ._arrays import Array, operands, same_shape

REDUCTIONS = ("none", "mean", "sum")


def check_reduction(reduction: str) -> None:
    """Raise ValueError unless it is one of the three."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction must be 'none', 'mean' or 'sum', not {reduction!r}")


def parameter(name: str, value: float, minimum: float, inclusive: bool) -> float:
    """A finite number above the minimum, or equal to it if inclusive."""
    number = float(value)
    if not (number >= minimum if inclusive else number > minimum) or number == float("inf"):
        raise ValueError(f"{name} must be finite and {'at least' if inclusive else 'above'} {minimum:g}, not {value!r}")
    return number


def check_gradient(g: Array, shape: tuple[int, ...], reduction: str) -> None:
    """Raise ValueError unless g is that of a result: of this shape, or one number for a mean or a sum."""
    if reduction == "none" and g.shape != shape:
        raise ValueError(f"grad_output has shape {g.shape}, input has {shape}; with reduction='none' they must be equal")
    if reduction != "none" and g.size != 1:
        raise ValueError(f"grad_output has shape {g.shape}; with reduction={reduction!r} it must be one number")


def _loss(what: str, p: float, reduction: str, input: Any, target: Any) -> Array:
    check_reduction(reduction)
    x, y = operands(input=input, target=target)
    same_shape(input=x, target=y)
    out = empty(x.shape if reduction == "none" else (), x.dtype, x)
    calls(x).regression_loss(what, p, NAMES[x.dtype], reduction, None, x.reshape(-1), y.reshape(-1), out.reshape(-1))
    return out


def _gradient(what: str, p: float, reduction: str, grad_output: Any, input: Any, target: Any) -> Array:
    check_reduction(reduction)
    g, x, y = operands(grad_output=grad_output, input=input, target=target)
    same_shape(input=x, target=y)
    check_gradient(g, x.shape, reduction)
    out = empty(x.shape, x.dtype, x)
    calls(x).regression_loss(what, p, NAMES[x.dtype], reduction, g.reshape(-1), x.reshape(-1), y.reshape(-1), out.reshape(-1))
    return out


@guarded
def mse_loss(input: ArrayLike, target: ArrayLike, *, reduction: str = "mean") -> Array:
    """Squared error, ``RN((input - target)**2)``, or the mean or sum of the exact squares, rounded once.

    Parameters
    ----------
    input, target : array_like
        Of one shape; of float16, bfloat16, float32 or float64, in their common
        format; integers count as float64.
    reduction : {'none', 'mean', 'sum'}
        A loss for each element, their mean, or their sum.

    Returns
    -------
    ndarray
        Of the shape of `input`, or of no axes. The sum of nothing is 0, the mean
        of nothing NaN.

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError
        The shapes differ, or `reduction` is none of the three.
    """
    return _loss("mse", 0.0, reduction, input, target)


@guarded
def mse_loss_backward(grad_output: ArrayLike, input: ArrayLike, target: ArrayLike, *, reduction: str = "mean") -> Array:
    """Gradient of `mse_loss` with respect to its input: ``RN(2 * g * (input - target))``, for a mean divided by the number of elements.

    Parameters
    ----------
    grad_output : array_like
        The gradient g with respect to the result: of the shape of `input` for
        ``reduction='none'``, else one number.
    input, target : array_like
        As for `mse_loss`.
    reduction : {'none', 'mean', 'sum'}
        That of the loss.

    Returns
    -------
    ndarray
        Of the shape of `input`, in the common format of all three. The gradient
        by `target` is its negative.

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError
        The shapes do not fit, or `reduction` is none of the three.
    """
    return _gradient("mse", 0.0, reduction, grad_output, input, target)


@guarded
def l1_loss(input: ArrayLike, target: ArrayLike, *, reduction: str = "mean") -> Array:
    """Absolute error, ``RN(abs(input - target))``, or the mean or sum of the exact values, rounded once.

    Parameters, result and errors are those of `mse_loss`.
    """
    return _loss("l1", 0.0, reduction, input, target)


@guarded
def l1_loss_backward(grad_output: ArrayLike, input: ArrayLike, target: ArrayLike, *, reduction: str = "mean") -> Array:
    """Gradient of `l1_loss` with respect to its input: ``RN(g * sign(input - target))``, for a mean divided by the number of elements.

    The sign of 0 is 0. Parameters, result and errors are those of `mse_loss_backward`.
    """
    return _gradient("l1", 0.0, reduction, grad_output, input, target)


@guarded
def smooth_l1_loss(input: ArrayLike, target: ArrayLike, *, reduction: str = "mean", beta: float = 1.0) -> Array:
    """Smooth absolute error of ``d = input - target``, rounded once, or the mean or sum of the exact values.

    ``d**2 / (2 * beta)`` where ``abs(d) < beta``, else ``abs(d) - beta / 2``.

    Parameters
    ----------
    input, target : array_like
        As for `mse_loss`.
    reduction : {'none', 'mean', 'sum'}
        A loss for each element, their mean, or their sum.
    beta : float
        Not negative, finite; taken exactly, as float64. With 0 it is `l1_loss`.

    Returns
    -------
    ndarray
        As of `mse_loss`.

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError
        The shapes differ, `beta` is negative or not finite, or `reduction` is none
        of the three.
    """
    return _loss("smooth_l1", parameter("beta", beta, 0.0, True), reduction, input, target)


@guarded
def smooth_l1_loss_backward(
    grad_output: ArrayLike, input: ArrayLike, target: ArrayLike, *, reduction: str = "mean", beta: float = 1.0
) -> Array:
    """Gradient of `smooth_l1_loss` with respect to its input, rounded once, for a mean divided by the number of elements.

    ``g * d / beta`` where ``abs(d) < beta``, else ``g * sign(d)``. Parameters,
    result and errors are those of `mse_loss_backward` and `smooth_l1_loss`.
    """
    return _gradient("smooth_l1", parameter("beta", beta, 0.0, True), reduction, grad_output, input, target)


@guarded
def huber_loss(input: ArrayLike, target: ArrayLike, *, reduction: str = "mean", delta: float = 1.0) -> Array:
    """Huber's loss of ``d = input - target``, rounded once, or the mean or sum of the exact values.

    ``d**2 / 2`` where ``abs(d) <= delta``, else ``delta * (abs(d) - delta / 2)``.

    Parameters
    ----------
    input, target : array_like
        As for `mse_loss`.
    reduction : {'none', 'mean', 'sum'}
        A loss for each element, their mean, or their sum.
    delta : float
        Positive, finite; taken exactly, as float64.

    Returns
    -------
    ndarray
        As of `mse_loss`.

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError
        The shapes differ, `delta` is not positive or not finite, or `reduction` is
        none of the three.
    """
    return _loss("huber", parameter("delta", delta, 0.0, False), reduction, input, target)


@guarded
def huber_loss_backward(
    grad_output: ArrayLike, input: ArrayLike, target: ArrayLike, *, reduction: str = "mean", delta: float = 1.0
) -> Array:
    """Gradient of `huber_loss` with respect to its input, rounded once, for a mean divided by the number of elements.

    ``g * d`` with d brought between ``-delta`` and ``delta``. Parameters, result
    and errors are those of `mse_loss_backward` and `huber_loss`.
    """
    return _gradient("huber", parameter("delta", delta, 0.0, False), reduction, grad_output, input, target)

"""kl_div and its gradient."""

from typing import Any

from numpy.typing import ArrayLike

from .._dtypes import NAMES
from .._environment import guarded
from .._memory import calls, empty
from ._arrays import Array, operands, same_shape
from ._losses import check_gradient, check_reduction


def _run(reduction: str, log_target: bool, grad_output: Any, input: Any, target: Any) -> Array:
    if reduction != "batchmean":
        check_reduction(reduction)
    g, x, t = operands(grad_output=grad_output, input=input, target=target)
    same_shape(input=x, target=t)
    count = x.size
    if reduction == "batchmean":
        if x.ndim == 0:
            raise ValueError("input has no axes; reduction='batchmean' divides by the size of the first one")
        reduction, count = "mean", x.shape[0]
    if g is not None:
        check_gradient(g, x.shape, reduction)
        g = g.reshape(-1)
    out = empty(x.shape if reduction == "none" or g is not None else (), x.dtype, x)
    calls(x).kl_div(NAMES[x.dtype], reduction, log_target, count, g, x.reshape(-1), t.reshape(-1), out.reshape(-1))
    return out


@guarded
def kl_div(input: ArrayLike, target: ArrayLike, *, reduction: str = "mean", log_target: bool = False) -> Array:
    """Kullback-Leibler divergence: ``RN(t * (log(t) - x))``, or the mean or sum of the exact values, rounded once.

    Parameters
    ----------
    input, target : array_like
        Logarithms of probabilities x and probabilities t, of one shape; of
        float16, bfloat16, float32 or float64, in the common format of both;
        integers count as float64.
    reduction : {'mean', 'none', 'sum', 'batchmean'}
        The mean of the losses, a loss for each element, their sum, or their sum
        divided by the size of the first axis.
    log_target : bool, optional
        `target` holds logarithms of probabilities: ``exp(t) * (t - x)``.

    Returns
    -------
    ndarray
        Of the shape of `input`, or of no axes. A target of probability 0 counts 0
        whatever x is; a target below 0 that is no logarithm gives NaN. The sum of
        nothing is 0, the mean of nothing NaN.

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError
        The shapes differ, or `reduction` is none of the four.
    """
    return _run(reduction, log_target, None, input, target)


@guarded
def kl_div_backward(
    grad_output: ArrayLike, input: ArrayLike, target: ArrayLike, *, reduction: str = "mean", log_target: bool = False
) -> Array:
    """Gradient with respect to `input`: ``RN(-g * t)``, with `log_target` ``RN(-g * exp(t))``, for a mean divided by what it is divided by.

    `grad_output` has the shape of the loss. The rest is as in `kl_div`.
    """
    return _run(reduction, log_target, grad_output, input, target)

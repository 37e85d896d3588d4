"""softmax, log_softmax, logsumexp and gradients."""

from typing import Any

from numpy.typing import ArrayLike, DTypeLike

from .._dtypes import NAMES
from .._environment import guarded
from .._memory import calls, empty
from ._arrays import Array, axis_of, like_rows, operand, operands, rows, same_shape


def _apply(what: str, axis: int, x: Array, y: Array | None = None) -> Array:
    """An operator along an axis whose result has the shape of x."""
    lines = rows(x, axis)
    out = empty(lines.shape, x.dtype, x)
    calls(x).softmax(what, NAMES[x.dtype], lines, None if y is None else rows(y, axis), out)
    return like_rows(out, x.shape, axis)


@guarded
def softmax(input: ArrayLike, dim: int = -1, dtype: DTypeLike | None = None) -> Array:
    """Softmax along an axis: ``RN(exp(x_i) / sum of exp(x_k))``.

    Parameters
    ----------
    input : array_like
        Of float16, bfloat16, float32 or float64, any shape; integers count as
        float64.
    dim : int
        The axis of the sum.
    dtype : dtype, optional
        Convert `input` to it first, which may round.

    Returns
    -------
    ndarray
        Of the shape and the dtype of `input`. Where a row has a NaN, or its
        largest element is infinite, the row is NaN.

    Raises
    ------
    TypeError
        `input` or `dtype` is not supported.
    numpy.exceptions.AxisError
        There is no axis `dim`.
    """
    x = operand("input", input, dtype)
    return _apply("softmax", axis_of(dim, x.ndim), x)


@guarded
def log_softmax(input: ArrayLike, dim: int = -1, dtype: DTypeLike | None = None) -> Array:
    """Logarithm of the softmax along an axis: ``RN(x_i - log(sum of exp(x_k)))``.

    Parameters, dtypes, NaN rows and errors are those of `softmax`. An element of
    minus infinity gives minus infinity.
    """
    x = operand("input", input, dtype)
    return _apply("log_softmax", axis_of(dim, x.ndim), x)


@guarded
def logsumexp(input: ArrayLike, dim: int = -1, keepdim: bool = False) -> Array:
    """``RN(log(sum of exp(x_k)))`` along an axis.

    Parameters
    ----------
    input : array_like
        Of float16, bfloat16, float32 or float64, any shape; integers count as
        float64.
    dim : int
        The axis of the sum.
    keepdim : bool, optional
        Keep the axis, with length 1.

    Returns
    -------
    ndarray
        Of the shape of `input` without the axis. NaN where a term is NaN;
        otherwise the largest element where that is infinite. That of no terms
        is minus infinity.

    Raises
    ------
    TypeError
        `input` is not supported.
    numpy.exceptions.AxisError
        There is no axis `dim`.
    """
    x = operand("input", input)
    axis = axis_of(dim, x.ndim)
    lines = rows(x, axis)
    out = empty(lines.shape[:1], x.dtype, x)
    calls(x).softmax("logsumexp", NAMES[x.dtype], lines, None, out)
    shape = tuple(1 if i == axis else n for i, n in enumerate(x.shape) if keepdim or i != axis)
    return out.reshape(shape)


def _gradient(what: str, grad_output: Any, output: Any, dim: int) -> Array:
    g, y = operands(grad_output=grad_output, output=output)
    same_shape(output=y, grad_output=g)
    return _apply(what, axis_of(dim, g.ndim), g, y)


@guarded
def softmax_backward(grad_output: ArrayLike, output: ArrayLike, dim: int = -1) -> Array:
    """Gradient of `softmax` with respect to its input: ``RN(y_i * (g_i - sum of g_k * y_k))``.

    Parameters
    ----------
    grad_output, output : array_like
        The gradient g with respect to the result, and the result y; of one shape. Of
        float16, bfloat16, float32 or float64, in their common format.
    dim : int
        The axis of the softmax.

    Returns
    -------
    ndarray
        Of their shape. A sum that is not finite follows the rules of reductions.

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError
        The shapes differ.
    numpy.exceptions.AxisError
        There is no axis `dim`.
    """
    return _gradient("softmax_backward", grad_output, output, dim)


@guarded
def log_softmax_backward(grad_output: ArrayLike, output: ArrayLike, dim: int = -1) -> Array:
    """Gradient of `log_softmax` with respect to its input: ``RN(g_i - exp(y_i) * sum of g_k)``.

    Parameters and errors are those of `softmax_backward`.
    """
    return _gradient("log_softmax_backward", grad_output, output, dim)

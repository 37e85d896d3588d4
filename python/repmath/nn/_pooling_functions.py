"""The public functions of pooling: each function here, over one, two and three spatial axes. Its docstring is a template for theirs."""

import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from numpy.typing import ArrayLike

from . import _pooling
from ._arrays import Array

_Sizes = int | tuple[int, ...]
_P = ParamSpec("_P")
_R = TypeVar("_R")


def max_pool(
    dims: int,
    input: ArrayLike,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Maximum of each window, over {axes}.

    The first of equal ones, in the order of memory, is taken, and so is the first
    NaN where a window has one. Padding has no numbers.

    Parameters
    ----------
    input : array_like
        Of shape (batch, channels, spatial...) or without a batch; of float16,
        bfloat16, float32 or float64, integers count as float64.
    kernel_size : int or tuple of ints
        The size of a window.
    stride : int or tuple of ints, optional
        From window to window; `kernel_size` by default.
    padding : int or tuple of ints
        Positions added at both ends, at most half of a window's extent.
    dilation : int or tuple of ints
        From element to element of a window.
    ceil_mode : bool
        Whether windows may reach beyond the padding, if they begin before it.
    return_indices : bool
        Also return where the numbers were.

    Returns
    -------
    ndarray, or two
        The numbers, in the dtype of `input`; int64 positions in the plane of the
        spatial axes. -infinity and -1 of a window without elements.

    Raises
    ------
    TypeError
        The dtype of `input` is not supported, or a size is no integer.
    ValueError
        The shape of `input` does not fit, or a size is out of range.
    """
    return _pooling._max_pool(dims, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool_backward(dims: int, grad_output: ArrayLike, input_size: tuple[int, ...], indices: ArrayLike) -> Array:
    """Gradient of `max_pool{d}d` or `adaptive_max_pool{d}d`: for each element the exact sum of the gradients that meet there, rounded once.

    Parameters
    ----------
    grad_output : array_like
        The gradient with respect to the result.
    input_size : tuple of ints
        The shape of the input.
    indices : array_like of ints
        The positions that the function returned; of the shape of `grad_output`.

    Returns
    -------
    ndarray
        Of shape `input_size`, in the dtype of `grad_output`.

    Raises
    ------
    IndexError
        A position is outside the plane.
    TypeError
        A dtype is not supported, or `indices` has no integers.
    ValueError
        The shapes do not fit.
    """
    return _pooling._max_pool_backward(dims, grad_output, input_size, indices)


def avg_pool(
    dims: int,
    input: ArrayLike,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """Average of each window, over {axes}: ``RN(exact sum / divisor)``.

    Parameters
    ----------
    input, kernel_size, stride, padding, ceil_mode
        As for `max_pool{d}d`.
    count_include_pad : bool
        Whether the divisor counts the positions of the window that padding adds,
        or only elements.
    divisor_override : int, optional
        A divisor of its own, at least 1.

    Returns
    -------
    ndarray
        The averages, in the dtype of `input`. Sums that are not finite follow the
        rules of reductions.

    Raises
    ------
    TypeError
        The dtype of `input` is not supported, or a size is no integer.
    ValueError
        The shape of `input` does not fit, or a size is out of range.
    """
    return _pooling._avg_pool(dims, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool_backward(
    dims: int,
    grad_output: ArrayLike,
    input_size: tuple[int, ...],
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """Gradient of `avg_pool{d}d`: for each element the exact sum of gradient over divisor, of the windows it is in, rounded once.

    Parameters
    ----------
    grad_output : array_like
        The gradient with respect to the result.
    input_size : tuple of ints
        The shape of the input.
    kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        As for `avg_pool{d}d`.

    Returns
    -------
    ndarray
        Of shape `input_size`, in the dtype of `grad_output`.

    Raises
    ------
    TypeError
        The dtype of `grad_output` is not supported, or a size is no integer.
    ValueError
        The shapes do not fit, or a size is out of range.
    """
    return _pooling._avg_pool_backward(
        dims, grad_output, input_size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def adaptive_max_pool(
    dims: int, input: ArrayLike, output_size: int | None | tuple[int | None, ...], return_indices: bool = False
) -> Any:
    """Maximum of each of `output_size` windows, over {axes}.

    Window p of m along an axis of n has the elements from ``floor(p * n / m)`` up
    to ``ceil((p + 1) * n / m)``.

    Parameters
    ----------
    input : array_like
        As for `max_pool{d}d`.
    output_size : int or tuple of ints
        How many windows; None: as many as elements.
    return_indices : bool
        Also return where the numbers were.

    Returns
    -------
    ndarray, or two
        As of `max_pool{d}d`.

    Raises
    ------
    TypeError
        The dtype of `input` is not supported, or a size is no integer.
    ValueError
        The shape of `input` does not fit, or a size is negative.
    """
    return _pooling._adaptive_max_pool(dims, input, output_size, return_indices)


def adaptive_avg_pool(dims: int, input: ArrayLike, output_size: int | None | tuple[int | None, ...]) -> Array:
    """Average of each of `output_size` windows, over {axes}: ``RN(exact sum / number)``.

    Windows, parameters and errors are those of `adaptive_max_pool{d}d`.
    """
    return _pooling._adaptive_avg_pool(dims, input, output_size)


def adaptive_avg_pool_backward(dims: int, grad_output: ArrayLike, input_size: tuple[int, ...]) -> Array:
    """Gradient of `adaptive_avg_pool{d}d`: for each element the exact sum of gradient over number, of the windows it is in, rounded once.

    Parameters, result and errors are those of `avg_pool{d}d_backward`.
    """
    return _pooling._adaptive_avg_pool_backward(dims, grad_output, input_size)


def _spatial(function: Callable[Concatenate[int, _P], _R], dims: int) -> Callable[_P, _R]:
    """The function over so many spatial axes."""

    def pool(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return function(dims, *args, **kwargs)

    pool.__name__ = pool.__qualname__ = function.__name__.replace("pool", f"pool{dims}d")
    pool.__doc__ = (function.__doc__ or "").format(
        d=dims, axes=("one spatial axis", "two spatial axes", "three spatial axes")[dims - 1]
    )
    signature = inspect.signature(function)
    pool.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore[attr-defined]
    return pool


max_pool1d = _spatial(max_pool, 1)
max_pool2d = _spatial(max_pool, 2)
max_pool3d = _spatial(max_pool, 3)
max_pool1d_backward = _spatial(max_pool_backward, 1)
max_pool2d_backward = _spatial(max_pool_backward, 2)
max_pool3d_backward = _spatial(max_pool_backward, 3)
avg_pool1d = _spatial(avg_pool, 1)
avg_pool2d = _spatial(avg_pool, 2)
avg_pool3d = _spatial(avg_pool, 3)
avg_pool1d_backward = _spatial(avg_pool_backward, 1)
avg_pool2d_backward = _spatial(avg_pool_backward, 2)
avg_pool3d_backward = _spatial(avg_pool_backward, 3)
adaptive_max_pool1d = _spatial(adaptive_max_pool, 1)
adaptive_max_pool2d = _spatial(adaptive_max_pool, 2)
adaptive_max_pool3d = _spatial(adaptive_max_pool, 3)
adaptive_avg_pool1d = _spatial(adaptive_avg_pool, 1)
adaptive_avg_pool2d = _spatial(adaptive_avg_pool, 2)
adaptive_avg_pool3d = _spatial(adaptive_avg_pool, 3)
adaptive_avg_pool1d_backward = _spatial(adaptive_avg_pool_backward, 1)
adaptive_avg_pool2d_backward = _spatial(adaptive_avg_pool_backward, 2)
adaptive_avg_pool3d_backward = _spatial(adaptive_avg_pool_backward, 3)

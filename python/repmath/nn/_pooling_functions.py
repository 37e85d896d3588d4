"""The public functions of pooling: each is one of _pooling.py with its number of spatial axes."""

from typing import Any

from numpy.typing import ArrayLike

from . import _pooling
from ._arrays import Array

_Sizes = int | tuple[int, ...]


def max_pool2d(
    input: ArrayLike,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Greatest number of each window, over two spatial axes.

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
    return _pooling._max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool1d(
    input: ArrayLike,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`max_pool2d` over one spatial axis, with sizes of 1 value."""
    return _pooling._max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: ArrayLike,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`max_pool2d` over three spatial axes, with sizes of 3 values."""
    return _pooling._max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d_backward(grad_output: ArrayLike, input_size: tuple[int, ...], indices: ArrayLike) -> Array:
    """Gradient of `max_pool2d` or `adaptive_max_pool2d`: for each element the exact sum of the gradients that meet there, rounded once.

    Parameters
    ----------
    grad_output : array_like
        The gradient by the result.
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
    return _pooling._max_pool_backward(2, grad_output, input_size, indices)


def max_pool1d_backward(grad_output: ArrayLike, input_size: tuple[int, ...], indices: ArrayLike) -> Array:
    """`max_pool2d_backward` over one spatial axis, with sizes of 1 value."""
    return _pooling._max_pool_backward(1, grad_output, input_size, indices)


def max_pool3d_backward(grad_output: ArrayLike, input_size: tuple[int, ...], indices: ArrayLike) -> Array:
    """`max_pool2d_backward` over three spatial axes, with sizes of 3 values."""
    return _pooling._max_pool_backward(3, grad_output, input_size, indices)


def avg_pool2d(
    input: ArrayLike,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """Average of each window, over two spatial axes: ``RN(exact sum / divisor)``.

    Parameters
    ----------
    input, kernel_size, stride, padding, ceil_mode
        As for `max_pool2d`.
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
    return _pooling._avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool1d(
    input: ArrayLike,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """`avg_pool2d` over one spatial axis, with sizes of 1 value."""
    return _pooling._avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: ArrayLike,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """`avg_pool2d` over three spatial axes, with sizes of 3 values."""
    return _pooling._avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool2d_backward(
    grad_output: ArrayLike,
    input_size: tuple[int, ...],
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """Gradient of `avg_pool2d`: for each element the exact sum of gradient over divisor, of the windows it is in, rounded once.

    Parameters
    ----------
    grad_output : array_like
        The gradient by the result.
    input_size : tuple of ints
        The shape of the input.
    kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        As for `avg_pool2d`.

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
        2, grad_output, input_size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool1d_backward(
    grad_output: ArrayLike,
    input_size: tuple[int, ...],
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """`avg_pool2d_backward` over one spatial axis, with sizes of 1 value."""
    return _pooling._avg_pool_backward(
        1, grad_output, input_size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d_backward(
    grad_output: ArrayLike,
    input_size: tuple[int, ...],
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """`avg_pool2d_backward` over three spatial axes, with sizes of 3 values."""
    return _pooling._avg_pool_backward(
        3, grad_output, input_size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def adaptive_max_pool2d(
    input: ArrayLike, output_size: int | None | tuple[int | None, ...], return_indices: bool = False
) -> Any:
    """Greatest number of each of `output_size` windows, over two spatial axes.

    Window p of m along an axis of n has the elements from ``floor(p * n / m)`` up
    to ``ceil((p + 1) * n / m)``.

    Parameters
    ----------
    input : array_like
        As for `max_pool2d`.
    output_size : int or tuple of ints
        How many windows; None: as many as elements.
    return_indices : bool
        Also return where the numbers were.

    Returns
    -------
    ndarray, or two
        As of `max_pool2d`.

    Raises
    ------
    TypeError
        The dtype of `input` is not supported, or a size is no integer.
    ValueError
        The shape of `input` does not fit, or a size is negative.
    """
    return _pooling._adaptive_max_pool(2, input, output_size, return_indices)


def adaptive_max_pool1d(
    input: ArrayLike, output_size: int | None | tuple[int | None, ...], return_indices: bool = False
) -> Any:
    """`adaptive_max_pool2d` over one spatial axis, with sizes of 1 value."""
    return _pooling._adaptive_max_pool(1, input, output_size, return_indices)


def adaptive_max_pool3d(
    input: ArrayLike, output_size: int | None | tuple[int | None, ...], return_indices: bool = False
) -> Any:
    """`adaptive_max_pool2d` over three spatial axes, with sizes of 3 values."""
    return _pooling._adaptive_max_pool(3, input, output_size, return_indices)


def adaptive_avg_pool2d(input: ArrayLike, output_size: int | None | tuple[int | None, ...]) -> Array:
    """Average of each of `output_size` windows, over two spatial axes: ``RN(exact sum / number)``.

    Windows, parameters and errors are those of `adaptive_max_pool2d`.
    """
    return _pooling._adaptive_avg_pool(2, input, output_size)


def adaptive_avg_pool1d(input: ArrayLike, output_size: int | None | tuple[int | None, ...]) -> Array:
    """`adaptive_avg_pool2d` over one spatial axis, with sizes of 1 value."""
    return _pooling._adaptive_avg_pool(1, input, output_size)


def adaptive_avg_pool3d(input: ArrayLike, output_size: int | None | tuple[int | None, ...]) -> Array:
    """`adaptive_avg_pool2d` over three spatial axes, with sizes of 3 values."""
    return _pooling._adaptive_avg_pool(3, input, output_size)


def adaptive_avg_pool2d_backward(grad_output: ArrayLike, input_size: tuple[int, ...]) -> Array:
    """Gradient of `adaptive_avg_pool2d`: for each element the exact sum of gradient over number, of the windows it is in, rounded once.

    Parameters, result and errors are those of `avg_pool2d_backward`.
    """
    return _pooling._adaptive_avg_pool_backward(2, grad_output, input_size)


def adaptive_avg_pool1d_backward(grad_output: ArrayLike, input_size: tuple[int, ...]) -> Array:
    """`adaptive_avg_pool2d_backward` over one spatial axis, with sizes of 1 value."""
    return _pooling._adaptive_avg_pool_backward(1, grad_output, input_size)


def adaptive_avg_pool3d_backward(grad_output: ArrayLike, input_size: tuple[int, ...]) -> Array:
    """`adaptive_avg_pool2d_backward` over three spatial axes, with sizes of 3 values."""
    return _pooling._adaptive_avg_pool_backward(3, grad_output, input_size)

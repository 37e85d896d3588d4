"""Pooling, under the names of torch.nn.functional."""

from typing import Any

from .._ops import pooling
from ._arguments import Tensor, batched, each, tensor

_Sizes = int | tuple[int, ...] | list[int]


def _one(y: Tensor, has_batch: bool) -> Tensor:
    return y if has_batch else y.squeeze(0)


def _stride(stride: Any, kernel: list[int], dims: int) -> list[int]:
    return kernel if stride is None or stride == [] or stride == () else each("stride", stride, dims)


def _maximum(overload: Any, x: Tensor, has_batch: bool, return_indices: bool, *sizes: Any) -> Any:
    values, indices = overload(x, *sizes)
    return (_one(values, has_batch), _one(indices, has_batch)) if return_indices else _one(values, has_batch)


def _max_pool(
    dims: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    x, has_batch = batched(tensor("input", input), dims)
    kernel = each("kernel_size", kernel_size, dims)
    sizes = _stride(stride, kernel, dims), each("padding", padding, dims), each("dilation", dilation, dims)
    return _maximum(pooling.MAX_POOL.overload, x, has_batch, return_indices, kernel, *sizes, ceil_mode)


def max_pool1d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`max_pool2d` over one spatial axis."""
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Greatest number of each window: the first of equal ones, the first NaN where there is one; as `repmath.nn.max_pool2d`.

    Parameters
    ----------
    input : Tensor
        Of shape (batch, channels, height, width), or without the batch.
    kernel_size, stride, padding, dilation : int or tuple of ints
        As for torch.nn.functional.max_pool2d.
    ceil_mode, return_indices : bool

    Returns
    -------
    Tensor, or two
        The numbers; int64 places in the plane. The gradient is an exact sum at each place.

    Raises
    ------
    TypeError
        The dtype is not supported.
    RuntimeError, ValueError
        The shape or a size does not fit.
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`max_pool2d` over three spatial axes."""
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _avg_pool(
    dims: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    x, has_batch = batched(tensor("input", input), dims)
    kernel = each("kernel_size", kernel_size, dims)
    if divisor_override is not None and divisor_override < 1:
        raise RuntimeError(f"divisor_override must be at least 1, not {divisor_override}")
    sizes = kernel, _stride(stride, kernel, dims), each("padding", padding, dims)
    return _one(pooling.AVG_POOL.overload(x, *sizes, ceil_mode, count_include_pad, divisor_override or 0), has_batch)


def avg_pool1d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """`avg_pool2d` over one spatial axis."""
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Average of each window: ``RN(exact sum / divisor)``, as `repmath.nn.avg_pool2d`.

    Parameters and errors are those of `max_pool2d` and torch.nn.functional.avg_pool2d.
    """
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """`avg_pool2d` over three spatial axes."""
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _output_size(output_size: Any, x: Tensor, dims: int) -> list[Any]:
    sizes = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * dims
    if len(sizes) != dims:
        raise RuntimeError(f"output_size must have {dims} values, not {len(sizes)}")
    return [n if s is None else s for s, n in zip(sizes, x.shape[2:], strict=True)]


def _adaptive_max_pool(dims: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    x, has_batch = batched(tensor("input", input), dims)
    overload = pooling.ADAPTIVE_MAX_POOL.overload
    return _maximum(overload, x, has_batch, return_indices, _output_size(output_size, x, dims))


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool2d` over one spatial axis."""
    return _adaptive_max_pool(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Greatest number of each of `output_size` windows, as torch.nn.functional.adaptive_max_pool2d; None: as many as elements."""
    return _adaptive_max_pool(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool2d` over three spatial axes."""
    return _adaptive_max_pool(3, input, output_size, return_indices)


def _adaptive_avg_pool(dims: int, input: Tensor, output_size: Any) -> Tensor:
    x, has_batch = batched(tensor("input", input), dims)
    return _one(pooling.ADAPTIVE_AVG_POOL.overload(x, _output_size(output_size, x, dims)), has_batch)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """`adaptive_avg_pool2d` over one spatial axis."""
    return _adaptive_avg_pool(1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """``RN(exact sum / number)`` of each of `output_size` windows, as torch.nn.functional.adaptive_avg_pool2d."""
    return _adaptive_avg_pool(2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """`adaptive_avg_pool2d` over three spatial axes."""
    return _adaptive_avg_pool(3, input, output_size)
